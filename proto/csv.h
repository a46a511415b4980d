/* Reads CSV as the bytes arrive: RFC 4180, and slightly more. A line ends with CR, LF or CRLF. Lines that
 * contain only blanks, and a byte order mark, are skipped. Memory is bounded by one cell. */
#ifndef PROTO_CSV_H
#define PROTO_CSV_H

#include "proto/wire.h"

#define WIRE_CSV_CELL_MAX 4096 /* bytes of a cell; enough for the metadata of a result */

/* Takes a cell without its quotes, borrowed. Any result but WIRE_OK ends the reading. */
typedef wire_status wire_csv_cell(void *arg, const char *text, size_t n, wire_errors *errors);
/* Called at the end of a row of `columns` cells. */
typedef wire_status wire_csv_row(void *arg, size_t columns, wire_errors *errors);

/* Transparent, so that it can be a member of its user; starts as {.cell = …, .row = …, .arg = …}. */
typedef struct wire_csv {
    wire_csv_cell *cell;
    wire_csv_row *row;
    void *arg;
    size_t line;     /* of the row, from 0 */
    size_t new_line; /* of the next byte, from 0 */
    size_t column;   /* of the cell, from 0 */
    enum {
        WIRE_CSV_START,
        WIRE_CSV_PLAIN,      /* in a cell without quotes */
        WIRE_CSV_QUOTED,     /* between quotes */
        WIRE_CSV_QUOTE,      /* after a quote between quotes: its end, or half of "" */
        WIRE_CSV_AFTER_QUOTE /* blanks between a closing quote and the separator */
    } state;
    unsigned mark;                /* bytes of a byte order mark matched at the start; 3: behind it */
    bool after_return;            /* the last byte was CR: an LF that follows belongs to it */
    bool quoted;                  /* the cell has quotes */
    char text[WIRE_CSV_CELL_MAX]; /* of a cell that may continue in the next chunk */
    size_t n_text;
} wire_csv;

wire_status wire_csv_feed(wire_csv *csv, const char *bytes, size_t n, wire_errors *errors);
/* End of input. The last line need not end with a line break. */
wire_status wire_csv_finish(wire_csv *csv, wire_errors *errors);

/* Removes the surrounding blanks. */
void wire_csv_trim(const char **text, size_t *n);

#endif
