/* Writes JSON into a growing buffer. An allocation failure is remembered: later calls do nothing, and
 * wire_writer_finish says so. Doubles are written with the fewest of 15, 16 or 17 significant digits that
 * read back to the same bits (fewer than 15 where zeros follow), and always with a point or an exponent; a
 * non-finite one is an error of the caller (assert). The process must stay in the "C" locale. */
#ifndef PROTO_JSON_WRITER_H
#define PROTO_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wire_writer {
    char *data; /* NUL-terminated after wire_writer_finish */
    size_t size, capacity;
    bool failed;
    bool comma; /* the next value or key needs one before it */
} wire_writer;

#define WIRE_WRITER_INIT                                                                                     \
    {                                                                                                        \
        0                                                                                                    \
    }

void wire_object_begin(wire_writer *w);
void wire_object_end(wire_writer *w);
void wire_array_begin(wire_writer *w);
void wire_array_end(wire_writer *w);
void wire_key(wire_writer *w, const char *key);
void wire_string(wire_writer *w, const char *text); /* UTF-8; a byte that is not becomes U+FFFD */
void wire_integer_value(wire_writer *w, int64_t number);
void wire_real(wire_writer *w, double number);
void wire_boolean(wire_writer *w, bool truth);
void wire_null(wire_writer *w);
void wire_time(wire_writer *w, int64_t milliseconds); /* RFC 3339 UTC with milliseconds, quoted */
void wire_raw(wire_writer *w, const char *json);      /* a value that is JSON already */

/* The members of an object that is JSON already, into the one being written; "" has none. */
void wire_raw_members(wire_writer *w, const char *object);

/* Lines: NDJSON has one JSON value a line. CSV has cells: any of the functions above that writes a number, a
 * truth or a time, and wire_cell for text, in quotes where it needs them. */
void wire_cell(wire_writer *w, const char *text);
void wire_line_end(wire_writer *w);

/* True: *out owns the text (caller frees), *size without the NUL, and the writer is as new. False: out of
 * memory; *out is NULL. */
bool wire_writer_finish(wire_writer *w, char **out, size_t *size);
void wire_writer_clear(wire_writer *w);

#endif
