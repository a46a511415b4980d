/* Small requests that change a study or one of its trials. Rules of decoding: proto/wire.h. */
#ifndef PROTO_CHANGES_H
#define PROTO_CHANGES_H

#include "proto/wire.h"

/* New goals of one metric, which is given by its name. */
typedef struct wire_metric_patch {
    char *name;
    wire_number threshold, at_least, at_most;
} wire_metric_patch;

/* PATCH /v1/studies/{id}: the changes. */
typedef struct wire_study_patch {
    char *display_name; /* NULL: unchanged, here and below */
    char *labels;       /* JSON object text: the new set */
    char *metadata;     /* JSON object text: the new value */
    char *state;        /* "active", "paused" or "finished" */
    wire_integer horizon;
    wire_number lease_seconds;
    wire_integer max_attempts, min_in_flight;
    wire_stop_when *stop_when; /* the new rules, perhaps none, if new_stop_when */
    size_t n_stop_when;
    bool new_stop_when;
    wire_metric_patch *metrics; /* n_metrics, the changed ones only */
    size_t n_metrics;
    bool no_display_name, no_labels, no_metadata, no_horizon; /* null was given: the value is removed */
} wire_study_patch;

wire_status wire_decode_study_patch(wire_study_patch **out, const char *body, size_t size,
                                    wire_errors *errors);
void wire_study_patch_free(wire_study_patch *patch);

/* POST …/fork: {"id": "b", "at_trial": 17} */
typedef struct wire_fork {
    char *id;
    wire_integer at_trial; /* not given: everything */
    char *changes; /* of the definition: a JSON object of members that a fork may change; NULL: none */
} wire_fork;

wire_status wire_decode_fork(wire_fork **out, const char *body, size_t size, wire_errors *errors);
void wire_fork_free(wire_fork *fork);

/* Makes a request for a new study: the definition with the fork's changes and id, and with the results of study
 * `from`. If the fork changes the aim but not the algorithm, the algorithm is left out. A definition without an aim
 * has the aim "regret". Constraints belong to the domain. The caller frees *out. WIRE_INVALID, WIRE_MALFORMED: the
 * definition is not valid. */
wire_status wire_change_definition(char **out, size_t *size, const char *definition, const wire_fork *fork,
                                   const char *from);

/* POST …/candidates: rows as read by a wire_points_reader. */
typedef struct wire_points {
    double *rows; /* n x dimension, row-major */
    size_t n, dimension;
    const struct wire_keys *keys; /* n of them; NULL: none was given */
} wire_points;

/* {"candidates": [first, first + 1, … n of them]} */
void wire_encode_added(wire_writer *w, int64_t first, int64_t n);

/* POST …/candidates/retire: {"candidates": […]} or {"keys": […]} */
typedef struct wire_retire {
    int64_t
        *candidates; /* as given: unsorted, may contain duplicates. The numbers of `keys` are found later */
    struct wire_keys *keys; /* NULL: numbers were given */
    size_t n;
} wire_retire;

wire_status wire_decode_retire(wire_retire **out, const char *body, size_t size, wire_errors *errors);
void wire_retire_free(wire_retire *retire);

/* {"retired": number of newly retired candidates, "cancelled": number of their queued trials} */
void wire_encode_retired(wire_writer *w, int64_t retired, int64_t cancelled);

/* POST …/candidates/restore takes the same body. {"restored": number of newly restored candidates} */
void wire_encode_restored(wire_writer *w, int64_t restored);

/* POST …/trials: a proposed point, {"candidate": 3}, {"key": "…"} or {"parameters": {…}}. */
typedef struct wire_proposal {
    int64_t candidate;           /* −1: parameters or a key are given */
    char *key;                   /* of a candidate; NULL */
    wire_assignments parameters; /* see wire_code_parameters */
} wire_proposal;

wire_status wire_decode_proposal(wire_proposal **out, const char *body, size_t size, wire_errors *errors);
void wire_proposal_free(wire_proposal *proposal);

/* POST …/trials/{n}/heartbeat; an empty body means the defaults. Owns nothing. */
typedef struct wire_heartbeat {
    wire_number lease_seconds;
    wire_integer attempt; /* the attempt whose lease is renewed */
} wire_heartbeat;

wire_status wire_decode_heartbeat(wire_heartbeat *out, const char *body, size_t size, wire_errors *errors);

/* POST …/trials/{n}/measurements. Owns nothing. */
typedef struct wire_measurement {
    int64_t step; /* >= 0 */
    double value;
    wire_integer attempt;
} wire_measurement;

wire_status wire_decode_measurement(wire_measurement *out, const char *body, size_t size,
                                    wire_errors *errors);
/* {"should_stop": …} */
void wire_encode_measurement_answer(wire_writer *w, bool should_stop);

/* POST …/trials/{n}/amend: {"value" | "values" | "state": "failed" | "infeasible", "repeats", "reason"} */
typedef struct wire_amendment {
    wire_result result; /* without trial, attempt, retry and metadata */
} wire_amendment;

wire_status wire_decode_amendment(wire_amendment **out, const char *body, size_t size, wire_errors *errors);
void wire_amendment_free(wire_amendment *amendment);

#endif
