/* Inducing points by a k-DPP: subsets Z of k arms with probability proportional to det K_Z, sampled by a
 * Markov chain that exchanges one member at a time (Anari, Gharan, Rezaei 2016; for sparse Gaussian
 * processes Burt, Rasmussen, van der Wilk 2019, [VPA21] 3.3). The chain starts at the greedy set (pivoted
 * Cholesky), so that it need not climb out of sets of no volume. */
#ifndef CORE_POSTERIOR_DPP_H
#define CORE_POSTERIOR_DPP_H

#include "core/arms/covariance.h"

#include <stddef.h>
#include <stdint.h>

typedef struct bandit_dpp_options {
    size_t k;         /* wanted, >= 1 */
    size_t steps;     /* of the chain */
    double tolerance; /* > 0, relative to kappa^2: a residual variance below it counts as none */
    uint64_t seed, batch;
} bandit_dpp_options;

/* Greedy maximization of the determinant: repeatedly the arm of the largest residual variance, ties to the
 * first in `ground`, until k are found or no residual exceeds the tolerance.
 *   ground  n_ground arms without repeats
 *   out     k entries, the caller's; *n_out of them are filled, in the order found
 * O(n_ground k^2) time, n_ground k doubles for the call. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_dpp_greedy(const bandit_covariance *covariance, const uint32_t *ground, size_t n_ground,
                                const bandit_dpp_options *options, uint32_t *out, size_t *n_out,
                                bandit_error *err);

/* A sample of the k-DPP over `ground`: the greedy set, then `steps` proposals to exchange a uniform member
 * for a uniform non-member, accepted with probability min(1, det K_Z' / det K_Z); sets singular to the
 * tolerance have probability 0. Fewer than k arms where the kernel matrix has no such rank. The result is
 * ascending. O(k^2) a step. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_dpp_sample(const bandit_covariance *covariance, const uint32_t *ground, size_t n_ground,
                                const bandit_dpp_options *options, uint32_t *out, size_t *n_out,
                                bandit_error *err);

#endif
