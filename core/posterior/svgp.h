/* Samples of the sparse variational posterior of Titsias (2009) as functions, [VPA21] sections 3.3 and 4.
 *
 * With inducing points Z, in the notation of sparse_posterior.h (S = Z, z(x) = L^{-1} k_Z(x), lambda = tau),
 * Titsias' optimum q(u) = N(m, S) is u = L u', u' ~ N(V^{-1} sum_i r_i z_i, lambda V^{-1}): the mean is that
 * of sparse_posterior.h, and the covariance is lambda times its covariance. A sample by Matheron's rule (eq.
 * 6; Wilson et al. 2020), with f a sample of the prior and e ~ N(0, I), is
 *
 *   f^(x) = f(x) + k_Z(x)' K_ZZ^{-1} (u − f(Z)),   u = L L_V^{-T} (g + sqrt(lambda) e),
 *
 * whose deviation from the mean is then multiplied by alpha, f~ = mu + alpha (f^ − mu):
 *
 *   f~(x) = alpha f(x) + sum_j v_j k(x, z_j),
 *   v = L^{-T} (L_V^{-T} (g + alpha sqrt(lambda) e) − alpha L^{-1} f(Z)).
 *
 * O(m^2) per sample, then O(m + M) per point; nothing is quadratic in the number of arms. */
#ifndef CORE_POSTERIOR_SVGP_H
#define CORE_POSTERIOR_SVGP_H

#include "bandit/engine.h"
#include "core/posterior/prior_features.h"
#include "core/posterior/sparse_posterior.h"

#include <stdbool.h>

/* Upper limits, both of the schedules below and of the options. */
#define BANDIT_MAX_INDUCING       2000
#define BANDIT_MAX_PRIOR_FEATURES 20000

/* The numbers m of inducing points and M of prior features that [VPA21] section 5.4 prescribes for a horizon
 * of T, capped by the limits above: Matérn m = T^{d/(2 nu − d)} for inducing points (the limit where 2
 * nu <= d), T^{d/(2 nu)} for inducing features, M = T^{3d/(2 nu)}; Gaussian m = log^{d/2} T, M = log^d T;
 * linear both d. The paper's epsilon in the exponents is 0 here. */
size_t bandit_svgp_inducing_for(const bandit_kernel *kernel, bandit_posterior_kind kind, size_t dimension,
                                uint64_t horizon);
size_t bandit_svgp_features_for(const bandit_kernel *kernel, size_t dimension, uint64_t horizon);

/* The collapsed lower bound on the log marginal likelihood, [VPA21] eq. 4:
 *   −1/2 (y'(Q + lambda I)^{-1} y + log det(Q + lambda I) + t log 2 pi + theta / lambda),
 * for t observations with the given sum of squares. The gap to the exact value is KL(q || posterior). */
double bandit_svgp_bound(const bandit_posterior *posterior, uint64_t observations, double sum_squares);

typedef struct bandit_best_arm {
    double value;
    uint32_t arm;
    bool found;
} bandit_best_arm;

typedef struct bandit_svgp_sampler {
    const bandit_posterior *posterior; /* borrowed */
    const bandit_features *features;   /* borrowed */
    bandit_prior_draw draw;
    double alpha;
    double *weight, *work; /* m entries each: v, and an intermediate result */
    double *scratch;       /* stride doubles per worker */
    bandit_best_arm *best; /* one entry per part of the arms */
    size_t stride, n_parts, workers;
    size_t capacity_weight, capacity_work, capacity_scratch, capacity_best;
} bandit_svgp_sampler;

/* Reserves memory for samples of this posterior; *sampler is {0} or used before. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_svgp_sampler_prepare(bandit_svgp_sampler *sampler, const bandit_posterior *posterior,
                                          const bandit_features *features, const bandit_executor *executor,
                                          bandit_error *err);
void bandit_svgp_sampler_clear(bandit_svgp_sampler *sampler);

/* Draws sample number `sample` < 2^24 of the batch. It is a pure function of the posterior, the features and
 * the arguments. Allocates nothing. */
void bandit_svgp_draw(bandit_svgp_sampler *sampler, double alpha, uint64_t seed, uint64_t batch,
                      uint64_t sample);

/* out[lane] = f~(x_lane) for the BANDIT_TILE arms of `tile`; scratch: `stride` doubles, aligned. */
void bandit_svgp_evaluate(const bandit_svgp_sampler *sampler, size_t tile, double *out, double *scratch);

/* The arm with the largest value among those not withheld (ascending); ties go to the lowest arm. Returns
 * false when all are withheld. The executor must not have more workers than the one passed to prepare.
 * Allocates nothing. */
bool bandit_svgp_argmax(const bandit_svgp_sampler *sampler, const bandit_executor *executor,
                        const uint32_t *withheld, size_t n_withheld, uint32_t *arm);

/* Bytes held. */
size_t bandit_svgp_sampler_memory(const bandit_svgp_sampler *sampler);

#endif
