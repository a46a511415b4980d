/* CSV, byte by byte: RFC 4180 and a little wider. CR, LF or CRLF end a line, lines with nothing but blanks
 * are skipped, and so is a byte order mark. Memory is bounded by a cell. */
#ifndef PROTO_CSV_H
#define PROTO_CSV_H

#include "proto/wire.h"

#define WIRE_CSV_CELL_MAX 1024 /* bytes of a cell */

/* A cell, without its quotes; borrowed. Anything but WIRE_OK ends the reading. */
typedef wire_status wire_csv_cell(void *arg, const char *text, size_t n, wire_errors *errors);
/* The row is over; `columns` cells were there. */
typedef wire_status wire_csv_row(void *arg, size_t columns, wire_errors *errors);

/* Transparent, so that it can be a part of its user; starts as {.cell = …, .row = …, .arg = …}. */
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
    unsigned mark;                /* bytes of a byte order mark matched at the very start; 3: past it */
    bool after_return;            /* the last byte was CR: an LF now belongs to it */
    bool quoted;                  /* the cell was */
    char text[WIRE_CSV_CELL_MAX]; /* of a cell that may go on in the next chunk */
    size_t n_text;
} wire_csv;

wire_status wire_csv_feed(wire_csv *csv, const char *bytes, size_t n, wire_errors *errors);
/* End of input: the last line needs no end of its own. */
wire_status wire_csv_finish(wire_csv *csv, wire_errors *errors);

/* Without the blanks around it. */
void wire_csv_trim(const char **text, size_t *n);

#endif
