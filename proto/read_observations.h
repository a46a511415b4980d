/* Streaming reader of imported results: bytes in, observations out one by one. Memory is bounded by one of
 * them.
 *
 * JSON: {"observations": [{"candidate": 5, "value": 0.3}, {"parameters": {…}, "values": {…}, "repeats": 3}]}
 * A candidate is given by "candidate", by its "key" or by its features ("point").
 * "std_error" or "std_errors" is optional.
 * CSV: a header with "value" or the objective's name, and "candidate", "key", the names of all features, or those
 * of the parameters; "repeats", "std_error" (of the first objective), other metrics ("<name>" or "values.<name>")
 * and their "std_errors.<name>" are optional. Features without names are called x0, x1, … Other columns of an
 * exported table are skipped, and so are rows whose "state" is not "completed"; without that
 * column every row must have a value. An empty cell leaves a parameter out. A parameter may also be called
 * "parameters.<name>". Then, and only then, a column with the short name is the table's own column of that
 * name, if there is one. */
#ifndef PROTO_READ_OBSERVATIONS_H
#define PROTO_READ_OBSERVATIONS_H

#include "proto/wire.h"

typedef enum wire_observations_format {
    WIRE_OBSERVATIONS_CSV,
    WIRE_OBSERVATIONS_JSON
} wire_observations_format;

typedef struct wire_observation {
    int64_t candidate;        /* −1 in a space, and with features or a key; may not exist */
    const char *key;          /* of a candidate that is given by it; otherwise NULL */
    const double *features;   /* of a candidate that is given by them; otherwise NULL */
    const double *parameters; /* of a space: coded, complete; otherwise NULL */
    const char *broken;       /* the constraint that it breaks; NULL: none */
    bool has_value;
    double value;                   /* "value" */
    const wire_named_value *values; /* "values", or NULL */
    size_t n_values;
    int64_t repeats; /* at least 1 */
    wire_number std_error;
    const wire_named_value *std_errors; /* "std_errors", or NULL */
    size_t n_std_errors;
    double cost; /* 0: none is given */
} wire_observation;

/* Takes observation `index` (from 0, in the order given); borrowed. Returns false to refuse it, and has then added
 * its problem, with a pointer or a detail that begins with `place` ("/observations/3", or "line 4, row 3"). */
typedef bool wire_observation_sink(void *arg, size_t index, const char *place,
                                   const wire_observation *observation, wire_errors *errors);

typedef struct wire_observations_reader wire_observations_reader;

/* `study` is borrowed: its domain says what an observation looks like. */
wire_status wire_observations_reader_new(wire_observations_reader **out, wire_observations_format format,
                                         const wire_study *study, wire_observation_sink *sink, void *arg);
/* In CSV, skips the columns with these names, which are separated by commas. Before the first bytes. */
wire_status wire_observations_reader_ignore(wire_observations_reader *reader, const char *names);
/* Takes observations that break a constraint as well. Before the first bytes. */
void wire_observations_reader_take_broken(wire_observations_reader *reader);
/* The first observation with a problem ends the reading; all its problems are listed. */
wire_status wire_observations_reader_feed(wire_observations_reader *reader, const char *bytes, size_t n,
                                          wire_errors *errors);
/* End of input. At least one observation. */
wire_status wire_observations_reader_finish(wire_observations_reader *reader, wire_errors *errors);

/* In tables, the prefix of a parameter whose name is also the name of a column of every table. */
#define WIRE_PARAMETER_PREFIX "parameters."

/* Is it the name of a column of every table ("value", "state", …; not "key", which only some have), or does it start
 * with the prefix of such a column? */
bool wire_is_table_column(const char *name);

size_t wire_observations_reader_count(const wire_observations_reader *reader);
void wire_observations_reader_free(wire_observations_reader *reader);

#endif
