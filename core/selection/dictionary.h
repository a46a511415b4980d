/* Choosing the dictionary, the arms that the sparse posterior is built on. */
#ifndef CORE_SELECTION_DICTIONARY_H
#define CORE_SELECTION_DICTIONARY_H

#include "core/posterior/ledger.h"
#include "core/posterior/sparse_posterior.h"

/* An arm that may enter the new dictionary, with the number of its pulls, pending ones included. */
typedef struct bandit_offer {
    uint32_t arm;
    double count; /* pulls; weighted pulls count by their precision */
} bandit_offer;

/* Lists the pulled and the pending arms, ascending. The caller frees *out. */
bandit_status bandit_offers_new(bandit_offer **out, size_t *n_out, const bandit_ledger *ledger,
                                const bandit_pick *pending, size_t n_pending, bandit_error *err);

/* The batch that has just ended, from which the inclusion probabilities are computed. */
typedef struct bandit_resampling {
    double q_bar;
    uint64_t seed;
    bool per_pull;  /* sample each pull separately (BANDIT_RESAMPLE_PER_PULL) */
    uint64_t batch; /* the batch about to start; always 0 for BANDIT_RESAMPLE_PERSISTENT */
    const bandit_covariance *covariance;
    double lambda;
    const bandit_posterior *posterior; /* of the batch that ended; only bandit_dictionary_resample uses it */
    const double
        *variance; /* one per arm under `posterior`, from the evaluation of all arms; < 0: not computed */
} bandit_resampling;

/* The resampling that `options` prescribe for batch number `batch`, which is about to start with this many
 * observations. The pointers are borrowed; posterior and variance are those of the batch that ended, as
 * above. */
bandit_resampling bandit_resampling_of(const bandit_options *options, uint64_t batch,
                                       const bandit_covariance *covariance, uint64_t observations,
                                       const bandit_posterior *posterior, const double *variance);

/* [BBKB] Alg. 1, l. 11–16: arm i enters with probability min(1, n_i p), or per pull 1 − (1 − p)^{n_i}, where
 * p = min(1, q_bar sigma^2(x_i)). If no arm enters, the one with the largest variance does (the lowest of
 * several). n >= 1. `dictionary` is the caller's, with n entries; it receives *size arms, ascending. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_dictionary_resample(uint32_t *dictionary, size_t *size, const bandit_offer *offers,
                                         size_t n, const bandit_resampling *how, bandit_error *err);

/* Copies a checkpoint's dictionary. *dictionary has memory for *capacity arms, and grows. Errors:
 * BANDIT_NO_MEMORY, BANDIT_INVALID_STATE unless the arms are ascending and < n_arms. */
bandit_status bandit_dictionary_restore(uint32_t **dictionary, size_t *capacity,
                                        const bandit_checkpoint *checkpoint, size_t n_arms,
                                        bandit_error *err);

#endif
