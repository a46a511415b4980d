/* Shared by read_observations.c (rows and JSON) and observations_header.c (the header of a CSV table). */
#ifndef PROTO_OBSERVATIONS_INTERNAL_H
#define PROTO_OBSERVATIONS_INTERNAL_H

#include "proto/csv.h"
#include "proto/json_list.h"
#include "proto/keys.h"
#include "proto/read_observations.h"

#include <string.h>

/* The meaning of a CSV column. */
typedef enum column {
    COLUMN_CANDIDATE,
    COLUMN_KEY,
    COLUMN_VALUE,
    COLUMN_REPEATS,
    COLUMN_STATE,
    COLUMN_PASSED_OVER,
    COLUMN_STD_ERROR,
    COLUMN_COST,
    COLUMN_PARAMETER /* plus the index of the parameter, or of the feature; then the value of each metric,
                        then the standard error of each metric */
} column;

#define NO_COLUMN SIZE_MAX
enum { COLUMNS_MAXIMUM = 12000 }; /* more than any exported table has */

/* The possible meanings of a name in the header; NO_COLUMN: not this one. */
typedef struct header_cell {
    size_t parameter, own;
    bool prefixed; /* the parameter's name has the prefix */
} header_cell;

struct wire_observations_reader {
    wire_observations_format format;
    const wire_study *study;
    wire_observation_sink *sink;
    void *arg;
    wire_status status; /* the first failure stays */
    size_t count;
    double *parameters; /* n_places: of a space, one coded point; of candidates, features. NaN: not given */
    size_t n_places;
    wire_json_list list;

    wire_csv csv;
    header_cell *header; /* until its end */
    size_t *columns;     /* column, or COLUMN_PARAMETER + the parameter's index */
    size_t n_columns, capacity;
    bool header_done, has_state;
    bool takes_broken;
    bool by_number; /* a column "candidate" exists; it takes precedence over keys and features */
    bool by_key;    /* a column "key" exists, and none for numbers; it takes precedence over features */
    char key[WIRE_MAX_KEY + 1]; /* of the row */
    char *ignored;              /* see wire_ignored_new; NULL: none. Owned */
    wire_observation row;
    double *metrics;         /* the row's values of metrics, then their standard errors; NaN: not given */
    wire_named_value *named; /* room for as many */
    bool completed;          /* the row's state, if there is such a column */
};

static inline bool is_space(const wire_observations_reader *r)
{
    return r->study->domain_type == WIRE_DOMAIN_SPACE;
}

static inline size_t observations_metric_column(const wire_observations_reader *r)
{
    return COLUMN_PARAMETER + r->n_places;
}

static inline bool is_text(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(text, word, n) == 0;
}

/* Takes a cell of the header. */
wire_status observations_take_name(wire_observations_reader *r, const char *text, size_t n,
                                   wire_errors *errors);
/* Decides what each column means. */
wire_status observations_end_header(wire_observations_reader *r, wire_errors *errors);

/* The name of a parameter or a feature; `room` is for one that has none of its own. */
const char *observations_place_name(const wire_observations_reader *r, size_t place, char room[24]);

/* A hint about what a spreadsheet may have done to the text; "" if there is none. */
const char *observations_hint(const char *text, size_t n);

#endif
