/* The sparse variational posterior on inducing features, and its samples: [VPA21] section 3.3, eq. 7.
 *
 * The inducing variables are the coefficients of the first m functions psi_j = sqrt(lambda_j) phi_j of an
 * expansion of the prior (prior_features.h): the eigenfunctions with the largest eigenvalues, or the
 * coordinates of a linear kernel. Then K_ZZ^{-1/2} k_Z(x) = psi(x), so that in the notation of
 * sparse_posterior.h
 *
 *   z(x) = psi_{1..m}(x),   V = lambda I + sum_i n_i z_i z_i' = L_V L_V',   g = L_V^{-1} sum_i r_i z_i,
 *   mean = w' g,  variance = (k(x, x) − |z|^2) / lambda + |w|^2 (paper's scale),  w = L_V^{-1} z.
 *
 * The coefficients u of the first m functions have the posterior N(V^{-1} sum r z, lambda V^{-1}); those of
 * the other functions keep the prior N(0, I). A sample is the sum of all M functions with such weights, its
 * deviation from the mean multiplied by alpha:
 *
 *   f~ = sum_{j <= m} c_j psi_j + alpha sum_{m < j <= M} w_j psi_j,
 *   c  = L_V^{-T} (g + alpha sqrt(lambda) e),   e, w ~ N(0, I).
 *
 * No kernel matrix is formed: O(m^2) once per pulled arm, O(M) per point of a sample. The eigenfunctions
 * belong to a bounded box, so |z|^2 only approximates k and may exceed it; the residual is therefore clamped
 * at 0. */
#ifndef CORE_POSTERIOR_FEATURE_POSTERIOR_H
#define CORE_POSTERIOR_FEATURE_POSTERIOR_H

#include "core/posterior/prior_features.h"
#include "core/posterior/sparse_posterior.h"

typedef struct bandit_feature_posterior {
    const bandit_features *features; /* borrowed; NULL: not built yet */
    double lambda;
    size_t m;
    double *L_V; /* m x m, column-major, lower */
    double *g;   /* m */
    double *z;   /* m x BANDIT_TILE scratch: column j is psi_j of a tile's arms */
    double *scratch;
    double log_det_ratio;       /* log det V − m log lambda */
    double effective_dimension; /* sum_i n_i sigma^2(x_i) */
    size_t capacity_L_V, capacity_g, capacity_z, capacity_scratch;
} bandit_feature_posterior;

/* Builds the posterior on the first m <= features->n functions. Fourier features are not allowed, and a
 * linear kernel needs all of its functions. *posterior is {0} or was built before; sums as for
 * bandit_posterior_build. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL; *posterior may then only be rebuilt or
 * cleared. */
bandit_status bandit_feature_posterior_build(bandit_feature_posterior *posterior,
                                             const bandit_features *features, size_t m, double lambda,
                                             const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);
void bandit_feature_posterior_clear(bandit_feature_posterior *posterior);

/* |V^{-1} sum_i r_i z_i|: the norm of the mean in the span of the features. Uses the scratch memory. */
double bandit_feature_posterior_mean_norm(bandit_feature_posterior *posterior);

/* Mean and variance of one arm. Uses the scratch memory. */
bandit_embedding bandit_feature_posterior_embed(bandit_feature_posterior *posterior, uint32_t arm);

/* As bandit_posterior_predict. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_feature_posterior_predict(const bandit_feature_posterior *posterior, double width,
                                               const uint32_t *arms, const double *coordinates, size_t n,
                                               bandit_prediction *out, bandit_error *err);

/* Sets draw->weight to all M weights of sample number `sample` < 2^24 of the batch. bandit_features_evaluate
 * then gives f~. */
void bandit_feature_posterior_draw(const bandit_feature_posterior *posterior, double alpha, uint64_t seed,
                                   uint64_t batch, uint64_t sample, bandit_prior_draw *draw);

/* Bytes held. */
size_t bandit_feature_posterior_memory(const bandit_feature_posterior *posterior);

#endif
