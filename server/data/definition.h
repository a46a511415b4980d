/* The current definition of a study: a request that is completed with defaults and checked against its
 * algorithm, and the options of the engine. */
#ifndef SERVER_DATA_DEFINITION_H
#define SERVER_DATA_DEFINITION_H

#include "bandit/engine.h"
#include "bandit/space.h"
#include "proto/wire.h"
#include "server/store/store.h"

typedef struct study_config {
    wire_study *wire; /* complete definition, without points */
    bandit_options options;
    bandit_scaling scaling;
    double *lengthscales;                    /* borrowed by options.kernel */
    bandit_source sources[WIRE_MAX_SOURCES]; /* borrowed by options.sources; they borrow from `wire` */
    bandit_parameter *parameters;            /* of a space; borrows from `wire`; NULL */
    bool minimize;                           /* the first objective */
    const wire_metric *objective;            /* of wire->metrics: the first objective */
    /* The modelled metrics: objectives and constraints. */
    const wire_metric *modelled[WIRE_MAX_MODELLED]; /* of wire->metrics; the first is `objective` */
    size_t n_modelled, n_objectives;
    double signs[WIRE_MAX_MODELLED];          /* −1 or 1: the factor that turns a value into a reward */
    bool several;                             /* there are several modelled metrics, or there are bounds */
    bool bounded;                             /* there are bounds */
    bandit_metric metrics[WIRE_MAX_MODELLED]; /* for options.metrics, if `several` */
    bool precomputed;                         /* the domain is a kernel matrix */
    bool asynchronous;                        /* feedback */
    bool seeks_best;  /* the aim is `best`; a definition older than this option has none, and means regret */
    bool has_repeats; /* the definition has the member "repeats"; older ones do not */
    bool never_repeats;     /* "repeats" is "never" */
    bool estimates_stopped; /* the model learns an estimate of each stopped trial (estimates.h) */
    unsigned max_arm_failures;
    struct study_config *next; /* the definition it replaced, which engine jobs may still read */
} study_config;

/* Reads a definition, or a request for a study: wire_decode_study with the engine's algorithms. */
wire_status study_config_decode(wire_study **out, const char *text, size_t size, wire_errors *errors);

/* Adds the defaults of the parameter table in algorithms.md, and draws id and seed if they are left out.
 * WIRE_INVALID: *errors lists the problems. */
wire_status study_config_complete(wire_study *request, wire_errors *errors);

/* How features are scaled; "standardize" if the definition does not say. */
bandit_scaling study_scaling(const wire_study *definition);

/* Takes ownership of a completed definition, also on failure. WIRE_INVALID with *errors if the engine refuses a
 * value. */
wire_status study_config_new(study_config **out, wire_study *definition, wire_errors *errors);
void study_config_free(study_config *config);

/* Sets the sources of config->options from the frozen sources of config->wire. WIRE_INVALID if one is not valid. */
wire_status study_config_take_sources(study_config *config, wire_errors *errors);

/* Must an ask get as many trials as it requests, even if the batch's rule allows fewer? Definitions that are older than
 * "repeats", and those that set min_in_flight, follow the rule. */
bool study_config_serves_in_full(const study_config *config);

/* Reads a stored definition, owned by the caller. STORE_CORRUPT if it is not valid, or STORE_NO_MEMORY. */
store_status study_config_read(wire_study **out, const char *definition);

/* The store status that corresponds to a decoder's status for stored data. */
store_status study_config_status(wire_status status);

#endif
