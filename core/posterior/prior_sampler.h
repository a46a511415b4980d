/* Draws of GP(0, k), jointly over all arms: what a Thompson sample starts from (bandit_exact_condition makes
 * the posterior's draw of it).
 *
 * One of three ways, by the kernel and the number of arms A; `describe` tells which:
 *   factor    f = F g with F F' = K over the arms, F from a pivoted Cholesky of rank r, g ~ N(0, I).
 *             Precomputed kernels, and A <= BANDIT_PRIOR_EXACT_ARMS: r is K's rank to rounding. O(A r^2)
 *             once, O(A r) a draw, A r doubles held. Gaussian kernels of more arms: columns are taken until
 *             no residual variance is above 1e-10; if BANDIT_PRIOR_MAX_RANK columns do not suffice, features.
 *   linear    f(x) = x'g, for any A.
 *   features  BANDIT_PRIOR_FEATURES random Fourier features (prior_features.h), drawn anew for each draw.
 *             Stationary kernels. Mean and covariance are exactly those of GP(0, k); only the distribution's
 *             shape, a mixture of normals that share frequencies, is approximate. O(A M d) a draw.
 *
 * The first two are exact to rounding (1e-10 in a covariance for the Gaussian of many arms). */
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

/* Bytes that a sampler for this kernel and set may hold while it is made. */
size_t bandit_prior_sampler_need(const bandit_covariance *covariance);

/* `covariance` is borrowed. The caller owns *out. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_prior_sampler_new(bandit_prior_sampler **out, const bandit_covariance *covariance,
                                       bandit_error *err);
void bandit_prior_sampler_free(bandit_prior_sampler *sampler); /* NULL is fine */

bandit_prior_way bandit_prior_sampler_way(const bandit_prior_sampler *sampler);
size_t bandit_prior_sampler_memory(const bandit_prior_sampler *sampler);

/* The draw keyed by (seed, batch, number), number < 2^24: f has an entry an arm and padding up to whole
 * tiles. Its random numbers are those of BANDIT_PURPOSE_POSTERIOR and _FEATURES at indices number << 40 + i,
 * i < 2^39. Allocates nothing. Not to be called for one sampler on two threads at once. */
void bandit_prior_sampler_draw(bandit_prior_sampler *sampler, uint64_t seed, uint64_t batch, uint64_t number,
                               const bandit_executor *executor, double *f);

#endif
