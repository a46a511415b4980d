/* The sparse posterior of [BBKB] eq. 1–3 on a dictionary S of arms.
 *
 *   K_S = L L'         pivoted Cholesky; members that depend on others to working precision are left out
 *   z(x) = L^{-1} k_S(x)
 *   V    = sum_i n_i z_i z_i' + lambda I = L_V L_V'
 *   w(x) = L_V^{-1} z(x),  g = L_V^{-1} sum_i r_i z_i
 *
 *   mean        w(x)' g
 *   variance    (k(x,x) − |z(x)|^2) / lambda + |w(x)|^2             paper's scale: Bayesian / lambda
 *   covariance  (k(x,x') − z(x)'z(x')) / lambda + w(x)'w(x')
 *
 * For all arms at once, a cheaper form computes mean and variance from the kernel column alone, with one
 * triangular product:
 *
 *   variance    k(x,x) / lambda − |R k_S(x)|^2,  R'R = L^{-T} (I − lambda V^{-1}) L^{-1} / lambda
 *   mean        weights' k_S(x),                 weights = L^{-T} L_V^{-1}' g
 *
 * It suffers from cancellation where the variance is small; variance_error bounds the error. A value that
 * decides between arms is therefore recomputed by bandit_posterior_embed.
 *
 * If `discounts` is set, what the dictionary does not explain of an arm counts as noise of its mean: in V and g, n_i is
 * divided by 1 + n_i (k(x_i,x_i) − |z_i|^2) / lambda, and r_i with it. This is FITC (Snelson and Ghahramani 2006). Where
 * lambda is tiny and the dictionary small, arms that it cannot follow would otherwise distort the mean elsewhere.
 *
 * m is the number of members kept. Matrices are m x m, column-major. */
#ifndef CORE_POSTERIOR_SPARSE_POSTERIOR_H
#define CORE_POSTERIOR_SPARSE_POSTERIOR_H

#include "bandit/engine.h"
#include "bandit/executor.h"
#include "core/arms/covariance.h"

#include <math.h>

typedef struct bandit_posterior {
    const bandit_covariance *covariance; /* borrowed */
    double lambda;
    bool discounts;       /* set before the build: see above */
    bandit_points points; /* the members kept, in pivot order */
    size_t m;
    double *L;                  /* lower triangle */
    double *L_V;                /* lower triangle */
    double *g;                  /* m */
    double log_det_ratio;       /* log det V − m log lambda: twice the information gain */
    double residual_sum;        /* sum_i n_i (k(x_i,x_i) − |z_i|^2) / lambda, with n_i as in V */
    double effective_dimension; /* sum_i n_i variance(x_i), paper's scale */
    double variance_error;      /* bound on the error of evaluate_all; paper's scale */
    double mean_error;          /* likewise, for the mean */
    bool one_factor;            /* evaluate_all uses the single-norm form, with R */
    double *R;       /* packed by bandit_simd_pack; plain m x m where the SIMD version multiplies by BLAS */
    double *weights; /* m: mean = weights' k(x) */
    size_t capacity_L, capacity_L_V, capacity_g, capacity_R, capacity_weights, capacity_work;
    double *work; /* scratch of build and evaluate_all */
} bandit_posterior;

/* Builds the posterior. *posterior is {0} or was built before; its memory is then reused.
 *   dictionary  n_dictionary arms, in any order, without repeats
 *   sums        n_sums pulled arms with counts n_i and reward sums r_i, ascending by arm
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL; *posterior may then only be rebuilt or cleared. */
bandit_status bandit_posterior_build(bandit_posterior *posterior, const bandit_covariance *covariance,
                                     double lambda, const uint32_t *dictionary, size_t n_dictionary,
                                     const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);

/* |V^{-1} sum_i r_i z_i|: the RKHS norm of the mean. */
double bandit_posterior_mean_norm(const bandit_posterior *posterior);

/* After build: makes evaluate_all use the two-norm form by triangular solves. It is slower; tests compare the
 * faster form with it. */
void bandit_posterior_evaluate_plainly(bandit_posterior *posterior);

void bandit_posterior_clear(bandit_posterior *posterior);

/* L^{-T} L_V^{-T} g, m entries: the weights of the members in the mean, weights' k_S(x). */
void bandit_posterior_member_weights(const bandit_posterior *posterior, double *out);

/* log det(I + c (V − lambda I) / lambda), c >= 1. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_posterior_log_det(const bandit_posterior *posterior, double c, double *out,
                                       bandit_error *err);

/* Means and variances of all arms, written to the caller's arrays of one entry per arm. Allocates only in the
 * first call after build. Errors: BANDIT_NO_MEMORY; BANDIT_NUMERICAL when a variance before clamping is below
 * both −1e-8 kappa^2 / lambda and −variance_error. */
bandit_status bandit_posterior_evaluate_all(bandit_posterior *posterior, const bandit_executor *executor,
                                            double *mean, double *variance, bandit_error *err);

/* The same for n <= BANDIT_TILE arms from their kernel columns; one_factor must be set.
 *   tile      m x BANDIT_TILE: k(x, member) of each arm in its lane; overwritten
 *   mean      n
 *   variance  n, clamped at 0
 * Returns the smallest variance before clamping. Allocates nothing. */
double bandit_posterior_evaluate_tile(const bandit_posterior *posterior, double *tile, const uint32_t *arms,
                                      size_t n, double *mean, double *variance);

/* Returns BANDIT_NUMERICAL if `smallest`, the smallest variance before clamping among `n` arms from `first`
 * on, is below the limits of bandit_posterior_evaluate_all. */
bandit_status bandit_posterior_check_smallest(const bandit_posterior *posterior, double smallest,
                                              size_t first, size_t n, bandit_error *err);

/* One arm, by substitution with L and L_V. This two-norm form has no cancellation, so it is used to decide
 * between arms. */
typedef struct bandit_embedding {
    double mean;
    double residual; /* (k − |z|^2) / lambda, clamped at 0 */
    double norm2;    /* |w|^2; variance = residual + norm2 */
} bandit_embedding;

/* The prediction that the API returns: the Bayesian variance, and the mean plus `width` standard deviations
 * of the paper's scale. */
static inline bandit_prediction bandit_embedding_prediction(bandit_embedding e, double lambda, double width)
{
    double variance = e.residual + e.norm2;
    return (bandit_prediction){
        .mean = e.mean, .variance = lambda * variance, .ucb = e.mean + width * sqrt(variance)};
}

/* Number of doubles of scratch that the two functions below need. */
size_t bandit_posterior_scratch(const bandit_posterior *posterior);

/* `w` has m entries aligned to BANDIT_ALIGNMENT, and receives w(x). To the bit, the result depends only on
 * the arm's features and the posterior. */
bandit_embedding bandit_posterior_embed(const bandit_posterior *posterior, uint32_t arm, double *w,
                                        double *scratch);

/* The same with z(x), m entries aligned as w, for covariances between arms. The kernel column is computed in
 * tiles of members, one member per lane, which is the least work for a single arm. `scratch` has the kernel's
 * `dimension` more doubles. */
bandit_embedding bandit_posterior_embed_both(const bandit_posterior *posterior, uint32_t arm, double *z,
                                             double *w, double *scratch);

/* bandit_posterior_embed for a point that need not be an arm, given by `dimension` coordinates scaled as the
 * arms are. */
bandit_embedding bandit_posterior_embed_at(const bandit_posterior *posterior, const double *coordinates,
                                           double *w, double *scratch);

/* Predictions for n arms, or for n x dimension scaled coordinates when `arms` is NULL. The upper bound is
 * mean + width * standard deviation; the width belongs to the paper's scale. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_posterior_predict(const bandit_posterior *posterior, double width, const uint32_t *arms,
                                       const double *coordinates, size_t n, bandit_prediction *out,
                                       bandit_error *err);

/* Bytes held. */
size_t bandit_posterior_memory(const bandit_posterior *posterior);

#endif
