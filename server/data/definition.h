/* A study's definition in force: a request completed with defaults and checked against its algorithm, and the
 * engine's options made from it. */
#ifndef SERVER_DATA_DEFINITION_H
#define SERVER_DATA_DEFINITION_H

#include "bandit/engine.h"
#include "bandit/space.h"
#include "proto/wire.h"
#include "server/store/store.h"

typedef struct study_config {
    wire_study *wire; /* every value in force; without points */
    bandit_options options;
    bandit_scaling scaling;
    double *lengthscales;         /* that options.kernel borrows */
    bandit_parameter *parameters; /* of a space; borrows from `wire`; NULL */
    bool minimize;
    const wire_metric *objective; /* of wire->metrics */
    bool precomputed;             /* the candidates are known by their kernel matrix alone */
    bool asynchronous;            /* feedback */
    unsigned max_arm_failures;
    struct study_config *next; /* the one it replaced, while engine jobs may be reading it */
} study_config;

/* Reads a definition, or a request for a study: wire_decode_study with the engine's algorithms. */
wire_status study_config_decode(wire_study **out, const char *text, size_t size, wire_errors *errors);

/* Fills in the defaults of algorithms.md's parameter table, draws id and seed where they are left out, and
 * lists what does not fit in *errors: then WIRE_INVALID. */
wire_status study_config_complete(wire_study *request, wire_errors *errors);

/* Takes a completed definition (also when it fails). WIRE_INVALID with *errors when the engine refuses a
 * value. */
wire_status study_config_new(study_config **out, wire_study *definition, wire_errors *errors);
void study_config_free(study_config *config);

/* A definition that is stored; the caller's. STORE_CORRUPT when it is none, STORE_NO_MEMORY. */
store_status study_config_read(wire_study **out, const char *definition);

/* What a decoder's or study_config_new's status means of something stored. */
store_status study_config_status(wire_status status);

#endif
