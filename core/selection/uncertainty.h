/* Uncertainty sampling before the first reward: [BBKB] Algorithm 3. */
#ifndef CORE_SELECTION_UNCERTAINTY_H
#define CORE_SELECTION_UNCERTAINTY_H

#include "core/arms/covariance.h"

/* Repeatedly picks the arm with the largest exact variance given the picks so far (the lowest of several;
 * repeats allowed), until the largest is below 1 / parallelism in the paper's scale, or there are max_picks.
 * There is at least one pick. The caller frees *picks. Errors: BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT when
 * more than most_bytes would be needed on the way. */
bandit_status bandit_uncertainty_picks(uint32_t **picks, size_t *n_picks, const bandit_covariance *covariance,
                                       double lambda, double parallelism, size_t max_picks, double most_bytes,
                                       bandit_error *err);

#endif
