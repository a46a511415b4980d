/* What a study's trials look like outside: a table in CSV, a curve for plots, and lines of NDJSON. */
#ifndef PROTO_ENCODE_EXPORT_H
#define PROTO_ENCODE_EXPORT_H

#include "proto/wire.h"

/* The table that wire_observations_reader takes back: trial, candidate or the parameters, value, state,
 * attempt, worker, reason, told_at, repeats, and values.<name> of each recorded metric. A parameter that has
 * the name of one of these is parameters.<name>. */
void wire_write_table_header(wire_writer *w, const wire_study *study);
/* trial->parameters: needed in a space. */
void wire_write_table_row(wire_writer *w, const wire_study *study, const wire_trial *trial);

/* A point of GET …/series. */
typedef struct wire_series_point {
    int64_t trial;
    double value, best; /* best: so far */
    int64_t told_at;    /* ms */
} wire_series_point;

/* {"items": [{"trial", "value", "best", "told_at"}, …], "count"}; count: values that the items are of. */
void wire_encode_series(wire_writer *w, const wire_series_point *points, size_t n, int64_t count);

/* Streaming reader of lines (NDJSON): bytes in, lines out, memory bounded by one of them. */
#define WIRE_LINE_MAX 16777216 /* bytes */

/* Line `number` (from 1) without its end, borrowed and NUL-terminated; blank lines are left out. Anything but
 * WIRE_OK ends the reading. */
typedef wire_status wire_line(void *arg, size_t number, const char *text, size_t n, wire_errors *errors);

/* Transparent; starts as {.line = …, .arg = …}. */
typedef struct wire_lines {
    wire_line *line;
    void *arg;
    char *text; /* of a line that may go on in the next chunk */
    size_t n, capacity;
    size_t number; /* of lines so far */
    size_t max;    /* bytes of a line; 0: WIRE_LINE_MAX */
} wire_lines;

wire_status wire_lines_feed(wire_lines *lines, const char *bytes, size_t n, wire_errors *errors);
/* End of input: the last line needs no end of its own. */
wire_status wire_lines_finish(wire_lines *lines, wire_errors *errors);
void wire_lines_clear(wire_lines *lines);

#endif
