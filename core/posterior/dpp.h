/* Inducing points by a k-DPP: subsets Z of k arms with probability proportional to det K_Z, sampled by a
 * Markov chain that exchanges one member at a time (Anari, Gharan, Rezaei 2016; for sparse Gaussian processes
 * Burt, Rasmussen, van der Wilk 2019, [VPA21] 3.3). The chain starts at the greedy set (pivoted Cholesky), so
 * that it never has to leave a region where the determinant is zero. */
#ifndef CORE_POSTERIOR_DPP_H
#define CORE_POSTERIOR_DPP_H

#include "core/arms/covariance.h"

#include <stddef.h>
#include <stdint.h>

typedef struct bandit_dpp_options {
    size_t k;         /* size of the subset, >= 1 */
    size_t steps;     /* steps of the chain */
    double tolerance; /* > 0, relative to kappa^2; a residual variance below it counts as zero */
    uint64_t seed, batch;
    /* Of the greedy maximization alone: n_ground factors > 0 of the residual variances; NULL: all are 1. Borrowed. */
    const double *weights;
} bandit_dpp_options;

/* Greedy maximization of the determinant: repeatedly adds the arm with the largest weighted residual variance among
 * those whose residual exceeds the tolerance (ties: the first in `ground`) until there are k arms or no such arm is left.
 *   ground  n_ground arms without repeats
 *   out     k entries, owned by the caller; the first *n_out are set, in the order found
 * O(n_ground k^2) time, n_ground k doubles during the call. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_dpp_greedy(const bandit_covariance *covariance, const uint32_t *ground, size_t n_ground,
                                const bandit_dpp_options *options, uint32_t *out, size_t *n_out,
                                bandit_error *err);

/* A sample of the k-DPP over `ground`. Starting from the greedy set, it makes `steps` proposals to exchange a
 * uniformly chosen member for a uniformly chosen non-member, each accepted with probability min(1, det
 * K_Z' / det K_Z). Sets that are singular to the tolerance have probability 0. The result is ascending, and
 * has fewer than k arms if the kernel matrix has a lower rank. O(k^2) per step. Errors: BANDIT_NO_MEMORY,
 * BANDIT_NUMERICAL. */
bandit_status bandit_dpp_sample(const bandit_covariance *covariance, const uint32_t *ground, size_t n_ground,
                                const bandit_dpp_options *options, uint32_t *out, size_t *n_out,
                                bandit_error *err);

#endif
