/* The results of a study with several modelled metrics: those that keep all bounds, and the front among them. */
#ifndef SERVER_DATA_OBSERVED_FRONT_H
#define SERVER_DATA_OBSERVED_FRONT_H

#include "server/data/definition.h"

typedef struct observed_result {
    int64_t trial, observation; /* the number of a trial, or of an imported result; the other one is 0 */
    int64_t candidate, told_at, told_seq;
    double values[WIRE_MAX_MODELLED]; /* as reported */
} observed_result;

typedef struct observed_results {
    observed_result *list; /* n, those that keep all bounds; owned */
    size_t n, capacity;
    const study_config *config; /* borrowed */
    size_t *front;              /* n_front: indices of those that no other dominates; owned */
    size_t n_front;
    double reference[WIRE_MAX_OBJECTIVES]; /* in the units of the metrics */
    bool has_reference, inferred;
    bool has_volume;
    double volume;
    bool failed; /* out of memory, or a stored row is not valid */
} observed_results;

/* Reads all results of the study. STORE_NO_MEMORY also if stored values are not valid. */
store_status observed_results_read(observed_results *out, store *s, int64_t study,
                                   const study_config *config);
void observed_results_clear(observed_results *results);

/* Finds the front, the reference point and the volume. Without thresholds the reference point is, in each objective,
 * the worse of two: a tenth of the front's range beyond its worst value, and the worse quartile of all values.
 * STORE_NO_MEMORY. */
store_status observed_results_rank(observed_results *results);

/* The rewards of the objectives of result i: out has as many entries. */
void observed_results_rewards(const observed_results *results, size_t i, double *out);

/* Calls `add` with the volume of the front after each result, in the order of trials; imported results are placed among
 * them by time. *whole is false if it ended early, because there are too many results for a volume. Needs the reference
 * point. STORE_NO_MEMORY. */
typedef void observed_volume(void *arg, const observed_result *result, double volume);
store_status observed_results_volumes(observed_results *results, observed_volume *add, void *arg,
                                      bool *whole);

#endif
