/* Which arms the sparse posterior stands on. */
#ifndef CORE_SELECTION_DICTIONARY_H
#define CORE_SELECTION_DICTIONARY_H

#include "core/posterior/ledger.h"
#include "core/posterior/sparse_posterior.h"

/* An arm offered to the new dictionary, with all its pulls, pending ones included. */
typedef struct bandit_offer {
    uint32_t arm;
    uint64_t count;
} bandit_offer;

/* The pulled and the pending arms, ascending. *out is allocated here, the caller's to free. */
bandit_status bandit_offers_new(bandit_offer **out, size_t *n_out, const bandit_ledger *ledger,
                                const bandit_pick *pending, size_t n_pending, bandit_error *err);

/* What the inclusion probabilities are computed from: the batch that has just ended. */
typedef struct bandit_resampling {
    double q_bar;
    uint64_t seed;
    bool per_pull;  /* BANDIT_RESAMPLE_PER_PULL */
    uint64_t batch; /* the one to begin; for BANDIT_RESAMPLE_PERSISTENT always 0 */
    const bandit_covariance *covariance;
    double lambda;
    const bandit_posterior *posterior; /* of the batch that ended; for bandit_dictionary_resample */
    const double
        *variance; /* of all arms under `posterior`, as computed for all at once; < 0: not computed */
} bandit_resampling;

/* As `options` say, for the batch with number `batch`, which is about to begin with so many observations.
 * The pointers are borrowed; posterior and variance are those of the batch that ended, as above. */
bandit_resampling bandit_resampling_of(const bandit_options *options, uint64_t batch,
                                       const bandit_covariance *covariance, uint64_t observations,
                                       const bandit_posterior *posterior, const double *variance);

/* [BBKB] Alg. 1, l. 11–16: arm i with probability min(1, n_i p), or per pull 1 − (1 − p)^{n_i},
 * p = min(1, q_bar sigma^2(x_i)); the arm with the largest variance when none is drawn (the lowest index of
 * several). `dictionary` is the caller's, n entries; receives *size arms, ascending. n >= 1. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_dictionary_resample(uint32_t *dictionary, size_t *size, const bandit_offer *offers,
                                         size_t n, const bandit_resampling *how, bandit_error *err);

/* A checkpoint's dictionary, copied; *dictionary has room for *capacity arms and grows. Errors:
 * BANDIT_NO_MEMORY, BANDIT_INVALID_STATE unless ascending and of arms < n_arms. */
bandit_status bandit_dictionary_restore(uint32_t **dictionary, size_t *capacity,
                                        const bandit_checkpoint *checkpoint, size_t n_arms,
                                        bandit_error *err);

#endif
