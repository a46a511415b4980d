/* Finite expansions of the prior: f(x) = sum_j w_j psi_j(x), psi_j = sqrt(lambda_j) phi_j and w_j standard
 * normal, for samples that cost O(M) per point ([VPA21] 3.2; Wilson et al. 2020).
 *
 *   Fourier  random Fourier features (Rahimi, Recht 2007), for stationary kernels: M/2 frequencies sampled
 *            from the spectral density, with a cosine and a sine for each. Every sample has new frequencies,
 *            so that the covariance over samples is k itself, not an approximation of it †.
 *   eigen    eigenfunctions of the Laplacian on a box around the arms (Riutort-Mayol et al. 2020), for
 *            stationary kernels in up to 3 dimensions; the M with the largest eigenvalues for all samples.
 *   linear   the coordinates: exact for the linear kernel.
 *
 * Coordinates are those of the arms as stored (scaled, not yet divided by lengthscales), one tile at a time:
 * dimension x BANDIT_TILE, as in arms_storage.h.   († our choice, not from the papers) */
#ifndef CORE_POSTERIOR_PRIOR_FEATURES_H
#define CORE_POSTERIOR_PRIOR_FEATURES_H

#include "core/arms/covariance.h"

#include <stddef.h>
#include <stdint.h>

typedef enum bandit_expansion {
    BANDIT_EXPANSION_FOURIER,
    BANDIT_EXPANSION_EIGEN,
    BANDIT_EXPANSION_LINEAR
} bandit_expansion;

#define BANDIT_EIGEN_DIMENSIONS 3

typedef struct bandit_features {
    bandit_expansion expansion;
    const bandit_covariance *covariance; /* borrowed */
    size_t dimension;
    size_t n; /* M; even for Fourier */
    /* For the eigen expansion: psi_j(x) = root[j] prod_k sin(pi order[j, k] (x_k − low[k]) / width[k]) */
    uint32_t *order;                           /* n x dimension, entries >= 1 */
    double *root;                              /* n */
    uint32_t highest[BANDIT_EIGEN_DIMENSIONS]; /* largest order in each dimension */
    double low[BANDIT_EIGEN_DIMENSIONS], width[BANDIT_EIGEN_DIMENSIONS];
} bandit_features;

/* A sample of the prior. Fourier: f(x) = sum_j amplitude[j] cos(2 pi (phase[j] + frequency[j] . x)), with n/2
 * terms; Box–Muller gives the amplitude and phase of w cos + w' sin. Other expansions: f = sum_j weight[j]
 * psi_j. */
typedef struct bandit_prior_draw {
    double *frequency; /* n/2 x dimension, turns per unit of the stored coordinates */
    double *phase;     /* n/2, turns */
    double *amplitude; /* n/2 */
    double *weight;    /* n */
} bandit_prior_draw;

/* Initializes n >= 1 features (rounded up to even for Fourier; n is the dimension for linear). The expansion
 * must suit the kernel, and eigen requires dimension <= BANDIT_EIGEN_DIMENSIONS. The caller owns *out, and
 * the covariance is borrowed; clear with bandit_features_clear. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_features_init(bandit_features *out, bandit_expansion expansion,
                                   const bandit_covariance *covariance, size_t n, bandit_error *err);
void bandit_features_clear(bandit_features *features);

/* Allocates memory for a draw; *out is {0} before. Errors: BANDIT_NO_MEMORY (nothing is then held). */
bandit_status bandit_prior_draw_init(bandit_prior_draw *out, const bandit_features *features,
                                     bandit_error *err);
void bandit_prior_draw_clear(bandit_prior_draw *draw);

/* Draws sample number `sample` < 2^24 of batch `batch`: a pure function of the features, these two numbers
 * and the seed. */
void bandit_features_draw(const bandit_features *features, uint64_t seed, uint64_t batch, uint64_t sample,
                          bandit_prior_draw *draw);

/* Number of doubles of scratch that the functions below need. */
size_t bandit_features_scratch(const bandit_features *features);

/* out[lane] = f(x_lane) for the BANDIT_TILE points of `tile`. */
void bandit_features_evaluate(const bandit_features *features, const bandit_prior_draw *draw,
                              const double *tile, double *out, double *scratch);

/* f and its gradient at one point, given by `dimension` coordinates as stored. Only for Fourier and linear
 * features. */
double bandit_features_slopes(const bandit_features *features, const bandit_prior_draw *draw,
                              const double *coordinates, double *gradient);

/* out[j * BANDIT_TILE + lane] = psi_j(x_lane), j < count <= n. Not for Fourier features. */
void bandit_features_columns(const bandit_features *features, const double *tile, size_t count, double *out,
                             double *scratch);

/* Bytes held. */
size_t bandit_features_memory(const bandit_features *features);

#endif
