/* Streaming readers of candidate uploads: bytes in, blocks of rows out. Memory is bounded by one block. */
#ifndef PROTO_POINTS_H
#define PROTO_POINTS_H

#include "proto/wire.h"

typedef enum wire_points_format {
    WIRE_POINTS_CSV,
    WIRE_POINTS_JSON,
    WIRE_POINTS_NDJSON,
    WIRE_POINTS_NPY
} wire_points_format;

typedef struct wire_points_reader wire_points_reader;

/* Takes n rows (n x dimension, row-major, borrowed), numbered from `first`. Returns false to stop; the reader
 * then returns WIRE_INVALID without adding an error. */
typedef bool wire_points_sink(void *arg, size_t first, size_t n, size_t dimension, const double *rows);

/* dimension 0: taken from the first row. block_rows: rows per call of the sink (the last may be smaller). */
wire_status wire_points_reader_new(wire_points_reader **out, wire_points_format format, size_t dimension,
                                   size_t block_rows, wire_points_sink *sink, void *arg);

/* Names the features, as many as the reader's dimension: a header of CSV must then have these names, in any
 * order. Before the first bytes. WIRE_NO_MEMORY. */
wire_status wire_points_reader_set_names(wire_points_reader *reader, char *const *names, size_t n);

/* CSV: a header may also have other names, which then replace those that were set. Before the first bytes. */
void wire_points_reader_rename(wire_points_reader *reader);

/* CSV: a header must have a column of keys, which may also have this name. `name` is borrowed. Before the first
 * bytes. */
void wire_points_reader_call_keys(wire_points_reader *reader, const char *name);

/* CSV: columns of a header with these names, separated by commas, are skipped. Before the first bytes.
 * WIRE_NO_MEMORY. */
wire_status wire_points_reader_ignore(wire_points_reader *reader, const char *names);

/* Each format may give candidates keys: the column "key" in CSV with a header (unless the study has a feature of that
 * name), "keys" in JSON, as many as points, or "key" in a line of NDJSON. The reader checks them; none may occur
 * twice. */

/* CSV: an optional header line (a first line with any cell that is not a number), `,` as separator, quotes allowed,
 * CRLF or LF, empty lines skipped. JSON: {"points": [[…], …], "keys": […]}. NDJSON: one line {"point": […]} per
 * candidate. NPY: NumPy's format, real numbers or booleans of any size, shape (rows, dimension); an array in Fortran
 * order is held in memory as it was sent. Errors have a pointer such as "/points/12/3" for JSON, and a detail with
 * line, row and column for CSV and NPY. The first error ends the reading. */
wire_status wire_points_reader_feed(wire_points_reader *reader, const char *bytes, size_t n,
                                    wire_errors *errors);
/* End of input: passes the last rows to the sink. There must be at least one row. */
wire_status wire_points_reader_finish(wire_points_reader *reader, wire_errors *errors);

/* The names in a header of CSV, trimmed, in the order of the rows; *n is 0 if there was no header, or if the features
 * have names that it cannot replace. Borrowed. */
char *const *wire_points_reader_header(const wire_points_reader *reader, size_t *n);

/* The keys of all rows, "" for a row without one; borrowed. NULL: no candidate has one. Call it after the end of
 * input. */
const struct wire_keys *wire_points_reader_keys(const wire_points_reader *reader);

size_t wire_points_reader_rows(const wire_points_reader *reader);
size_t wire_points_reader_dimension(const wire_points_reader *reader);
void wire_points_reader_free(wire_points_reader *reader);

#endif
