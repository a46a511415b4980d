/* Samples of GP(0, k), jointly over all arms. A Thompson sample starts from one, and bandit_exact_condition
 * turns it into a sample of the posterior.
 *
 * The sampler works in one of three ways, chosen by the kernel and the number of arms A;
 * bandit_prior_sampler_way returns which:
 *   factor    f = F g with F F' = K over the arms, F from a pivoted Cholesky of rank r, g ~ N(0, I).
 *             For precomputed kernels, and for A <= BANDIT_PRIOR_EXACT_ARMS: r is K's rank to rounding.
 *             O(A r^2) once, O(A r) per draw, A r doubles of memory. For Gaussian kernels with more arms,
 *             columns are added until no residual variance exceeds 1e-10 (relative); if
 *             BANDIT_PRIOR_MAX_RANK columns do not suffice, the sampler uses features.
 *   linear    f(x) = x'g, for any A.
 *   features  BANDIT_PRIOR_FEATURES random Fourier features (prior_features.h), new ones for each draw.
 *             For stationary kernels. Mean and covariance are exactly those of GP(0, k). Only the shape of
 *             the distribution, a mixture of normals that share frequencies, is approximate. O(A M d) per
 *             draw for M features in d dimensions.
 *
 * The first two are exact to rounding (to 1e-10 in a covariance for a Gaussian kernel with many arms). */
#ifndef CORE_POSTERIOR_PRIOR_SAMPLER_H
#define CORE_POSTERIOR_PRIOR_SAMPLER_H

#include "bandit/executor.h"
#include "bandit/status.h"
#include "core/arms/covariance.h"

#include <stddef.h>
#include <stdint.h>

enum {
    BANDIT_PRIOR_EXACT_ARMS = 4096,
    BANDIT_PRIOR_LOW_RANK_ARMS = 65536,
    BANDIT_PRIOR_MAX_RANK = 1024,
    BANDIT_PRIOR_FEATURES = 2048
};

typedef enum bandit_prior_way {
    BANDIT_PRIOR_FACTOR,
    BANDIT_PRIOR_LINEAR,
    BANDIT_PRIOR_RANDOM_FEATURES
} bandit_prior_way;

typedef struct bandit_prior_sampler bandit_prior_sampler;

/* The largest number of bytes that a sampler for this covariance holds while it is built. */
size_t bandit_prior_sampler_need(const bandit_covariance *covariance);

/* `covariance` is borrowed. The caller owns *out. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_prior_sampler_new(bandit_prior_sampler **out, const bandit_covariance *covariance,
                                       bandit_error *err);
void bandit_prior_sampler_free(bandit_prior_sampler *sampler); /* accepts NULL */

bandit_prior_way bandit_prior_sampler_way(const bandit_prior_sampler *sampler);
size_t bandit_prior_sampler_memory(const bandit_prior_sampler *sampler);

/* Draws the sample keyed by (seed, batch, number), number < 2^24. f has one entry per arm, padded to whole
 * tiles. The random numbers are those of BANDIT_PURPOSE_POSTERIOR and _FEATURES at indices number << 40 + i,
 * i < 2^39. Allocates nothing. Two threads must not use one sampler at the same time. */
void bandit_prior_sampler_draw(bandit_prior_sampler *sampler, uint64_t seed, uint64_t batch, uint64_t number,
                               const bandit_executor *executor, double *f);

#endif
