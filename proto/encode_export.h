/* Exports of a study's trials: a CSV table, a curve for plots, and lines of NDJSON. */
#ifndef PROTO_ENCODE_EXPORT_H
#define PROTO_ENCODE_EXPORT_H

#include "proto/trials.h"

/* The table, which wire_observations_reader can read back: trial, candidate or the parameters, value, state, attempt,
 * worker, reason, told_at, repeats, values.<name> of each recorded metric, origin, observation, batch, issued_at,
 * metadata, std_error, and std_errors.<name> of each other modelled metric. The features of candidates follow their
 * numbers, by name or as x0, x1 … A parameter or feature whose name equals one of these columns is written as
 * parameters.<name>. */
void wire_write_table_header(wire_writer *w, const wire_study *study, bool with_keys);
typedef enum wire_row_origin { WIRE_ROW_TRIAL, WIRE_ROW_LATE, WIRE_ROW_IMPORT } wire_row_origin;

/* trial->parameters is required in a space, trial->point for candidates with features. observation: the number of an
 * imported result, for which trial->id and trial->attempt are left empty. The row of a late result has its trial, its
 * attempt and what was reported with it. */
void wire_write_table_row(wire_writer *w, const wire_study *study, wire_row_origin origin,
                          const wire_trial *trial, int64_t observation);

/* A point of GET …/series. */
typedef struct wire_series_point {
    int64_t trial, observation; /* one of the two; the other is 0 */
    double value, best;         /* best: of all values so far; NaN, shown as null: none */
    int64_t told_at;            /* ms */
    double cost;                /* of the results so far; NaN: left out */
} wire_series_point;

/* What the values of a series are. */
typedef enum wire_series_kind {
    WIRE_SERIES_VALUES, /* "value" and "best" */
    WIRE_SERIES_PLAIN,  /* "value" alone: there is no better or worse */
    WIRE_SERIES_VOLUMES /* "hypervolume" */
} wire_series_kind;

/* The value of one recorded metric, from the stored text of all (NULL or "": none); NaN if there is none of that
 * name. */
double wire_recorded_value(const char *recorded, const char *name);

/* {"items": [{"trial" or "observation", "value", "best", "told_at", "cost"}, …], "count"}; count: the number of
 * values that the items represent. */
void wire_encode_series(wire_writer *w, wire_series_kind kind, const wire_series_point *points, size_t n,
                        int64_t count);

/* Streaming reader of lines (NDJSON): bytes in, lines out. Memory is bounded by one line. */
#define WIRE_LINE_MAX 16777216 /* bytes */

/* Takes line `number` (from 1) without its line break, borrowed and NUL-terminated. Blank lines are skipped.
 * Any result but WIRE_OK ends the reading. */
typedef wire_status wire_line(void *arg, size_t number, const char *text, size_t n, wire_errors *errors);

/* Transparent; starts as {.line = …, .arg = …}. */
typedef struct wire_lines {
    wire_line *line;
    void *arg;
    char *text; /* of a line that may continue in the next chunk */
    size_t n, capacity;
    size_t number; /* of lines so far */
    size_t max;    /* bytes of a line; 0: WIRE_LINE_MAX */
} wire_lines;

wire_status wire_lines_feed(wire_lines *lines, const char *bytes, size_t n, wire_errors *errors);
/* End of input. The last line need not end with a line break. */
wire_status wire_lines_finish(wire_lines *lines, wire_errors *errors);
void wire_lines_clear(wire_lines *lines);

#endif
