/* Uncertainty sampling before the first reward: [BBKB] Algorithm 3. */
#ifndef CORE_SELECTION_UNCERTAINTY_H
#define CORE_SELECTION_UNCERTAINTY_H

#include "core/arms/covariance.h"

/* Picks the arm with the largest exact variance given the picks so far (lowest index of several; repeats
 * allowed), until the largest is below 1 / parallelism in the paper's scale, or max_picks are made; at least
 * one. *picks is allocated here, the caller's to free. Errors: BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT, before
 * more than most_bytes are held on the way. */
bandit_status bandit_uncertainty_picks(uint32_t **picks, size_t *n_picks, const bandit_covariance *covariance,
                                       double lambda, double parallelism, size_t max_picks, double most_bytes,
                                       bandit_error *err);

#endif
