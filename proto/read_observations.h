/* Streaming reader of imported results: bytes in, observations out one by one, memory bounded by one of them.
 *
 * JSON: {"observations": [{"candidate": 5, "value": 0.3}, {"parameters": {…}, "values": {…}, "repeats": 3}]}
 * CSV: a header with "value", and "candidate" or the names of the parameters; "repeats" is optional. The
 * other columns of an exported table are passed over, and so are rows whose "state" is not "completed";
 * without that column a row needs a value. An empty cell of a parameter: it is not given. Parameters may be
 * called "parameters.<name>", too; then, and only then, a column of the short name is the table's own, if it
 * has one of that name. */
#ifndef PROTO_READ_OBSERVATIONS_H
#define PROTO_READ_OBSERVATIONS_H

#include "proto/wire.h"

typedef enum wire_observations_format {
    WIRE_OBSERVATIONS_CSV,
    WIRE_OBSERVATIONS_JSON
} wire_observations_format;

typedef struct wire_observation {
    int64_t candidate;        /* −1 in a space; may be beyond the last */
    const double *parameters; /* of a space: coded, complete; otherwise NULL */
    bool has_value;
    double value;                   /* "value" */
    const wire_named_value *values; /* "values", or NULL */
    size_t n_values;
    int64_t repeats; /* at least 1 */
} wire_observation;

/* Takes observation `index` (from 0, in the order given); borrowed. False to refuse it: adds its problem,
 * with a pointer below or a detail after the `place` that it is given ("/observations/3", or "line 4, row
 * 3"). */
typedef bool wire_observation_sink(void *arg, size_t index, const char *place,
                                   const wire_observation *observation, wire_errors *errors);

typedef struct wire_observations_reader wire_observations_reader;

/* `study` is borrowed: its domain says what an observation looks like. */
wire_status wire_observations_reader_new(wire_observations_reader **out, wire_observations_format format,
                                         const wire_study *study, wire_observation_sink *sink, void *arg);
/* The first observation with a problem ends the reading; all its problems are listed. */
wire_status wire_observations_reader_feed(wire_observations_reader *reader, const char *bytes, size_t n,
                                          wire_errors *errors);
/* End of input. At least one observation. */
wire_status wire_observations_reader_finish(wire_observations_reader *reader, wire_errors *errors);

/* In tables, before the name of a parameter that has the name of a column that every table has. */
#define WIRE_PARAMETER_PREFIX "parameters."

/* Is it a column of tables ("value", "state", …), or would it be read as one with a prefix? */
bool wire_is_table_column(const char *name);

size_t wire_observations_reader_count(const wire_observations_reader *reader);
void wire_observations_reader_free(wire_observations_reader *reader);

#endif
