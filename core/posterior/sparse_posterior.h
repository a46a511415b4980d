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
 * For all arms at once mean and variance come from the kernel column alone, with one triangular product:
 *
 *   variance    k(x,x) / lambda − |R k_S(x)|^2,  R'R = L^{-T} (I − lambda V^{-1}) L^{-1} / lambda
 *   mean        weights' k_S(x),                 weights = L^{-T} L_V^{-1}' g
 *
 * which cancels where the variance is small: variance_error says how much. Whatever decides between arms is
 * computed again by bandit_posterior_embed.
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
    bandit_points points; /* the members kept, in pivot order */
    size_t m;
    double *L;                  /* lower triangle */
    double *L_V;                /* lower triangle */
    double *g;                  /* m */
    double log_det_ratio;       /* log det V − m log lambda: twice the information gain */
    double residual_sum;        /* sum_i n_i (k(x_i,x_i) − |z_i|^2) / lambda */
    double effective_dimension; /* sum_i n_i variance(x_i), paper's scale */
    double variance_error;      /* of evaluate_all, at most; paper's scale */
    double mean_error;          /* likewise */
    bool one_factor;            /* evaluate_all uses R: */
    double *R;       /* packed by bandit_simd_pack, or m x m where the version multiplies by BLAS */
    double *weights; /* m: mean = weights' k(x) */
    size_t capacity_L, capacity_L_V, capacity_g, capacity_R, capacity_weights, capacity_work;
    double *work; /* build's and evaluate_all's */
} bandit_posterior;

/* Builds the posterior; *posterior is {0} or one built before, whose memory is used again.
 *   dictionary  n_dictionary arms, in any order, without repeats
 *   sums        n_sums pulled arms with counts n_i and reward sums r_i, ascending by arm
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL; *posterior may then only be built again or cleared. */
bandit_status bandit_posterior_build(bandit_posterior *posterior, const bandit_covariance *covariance,
                                     double lambda, const uint32_t *dictionary, size_t n_dictionary,
                                     const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);

/* |V^{-1} sum_i r_i z_i|: the norm of the mean in the kernel's space. */
double bandit_posterior_mean_norm(const bandit_posterior *posterior);

/* Makes evaluate_all use the two-norm form by triangular solves, after build: slower, and the plain path that
 * the other is tested against. */
void bandit_posterior_evaluate_plainly(bandit_posterior *posterior);

void bandit_posterior_clear(bandit_posterior *posterior);

/* log det(I + c (V − lambda I) / lambda), c >= 1. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_posterior_log_det(const bandit_posterior *posterior, double c, double *out,
                                       bandit_error *err);

/* Means and variances of all arms; the caller's, one entry an arm each. Allocates for the first call after
 * build only. Errors: BANDIT_NO_MEMORY; BANDIT_NUMERICAL when a variance before clamping is below
 * −1e-8 kappa^2 / lambda and below −variance_error. */
bandit_status bandit_posterior_evaluate_all(bandit_posterior *posterior, const bandit_executor *executor,
                                            double *mean, double *variance, bandit_error *err);

/* The same for n <= BANDIT_TILE arms from their kernel columns, where one_factor is set.
 *   tile      m x BANDIT_TILE: k(x, member) of each arm in its lane; overwritten
 *   mean      n
 *   variance  n, clamped at 0
 * Returns the smallest variance before clamping. Allocates nothing. */
double bandit_posterior_evaluate_tile(const bandit_posterior *posterior, double *tile, const uint32_t *arms,
                                      size_t n, double *mean, double *variance);

/* BANDIT_NUMERICAL where the smallest variance before clamping, of `n` arms from `first` on, is below the
 * limits of bandit_posterior_evaluate_all. */
bandit_status bandit_posterior_check_smallest(const bandit_posterior *posterior, double smallest,
                                              size_t first, size_t n, bandit_error *err);

/* One arm, by substitution with L and L_V: the form without cancellation, which decides between arms. */
typedef struct bandit_embedding {
    double mean;
    double residual; /* (k − |z|^2) / lambda, clamped at 0 */
    double norm2;    /* |w|^2; variance = residual + norm2 */
} bandit_embedding;

/* What the API says of it: the Bayesian variance, and the mean plus `width` paper's standard deviations. */
static inline bandit_prediction bandit_embedding_prediction(bandit_embedding e, double lambda, double width)
{
    double variance = e.residual + e.norm2;
    return (bandit_prediction){
        .mean = e.mean, .variance = lambda * variance, .ucb = e.mean + width * sqrt(variance)};
}

/* Doubles of scratch that the two functions below want. */
size_t bandit_posterior_scratch(const bandit_posterior *posterior);

/* `w`: m entries, BANDIT_ALIGNMENT aligned; receives w(x). The result is a function of the arm's features
 * and the posterior alone, to the bit. */
bandit_embedding bandit_posterior_embed(const bandit_posterior *posterior, uint32_t arm, double *w,
                                        double *scratch);

/* The same with z(x), m entries aligned as w, for covariances between arms. The kernel column comes in
 * tiles of members, a member a lane: the least work for a single arm. `scratch` has as many doubles as the kernel's
 * `dimension` more. */
bandit_embedding bandit_posterior_embed_both(const bandit_posterior *posterior, uint32_t arm, double *z,
                                             double *w, double *scratch);

/* The same for a point that need not be an arm: `dimension` coordinates, scaled as the arms are. */
bandit_embedding bandit_posterior_embed_at(const bandit_posterior *posterior, const double *coordinates,
                                           double *w, double *scratch);

/* Predictions for n arms, or for n x dimension scaled coordinates where `arms` is NULL; the bound is mean +
 * width * standard deviation, width for the paper's scale. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_posterior_predict(const bandit_posterior *posterior, double width, const uint32_t *arms,
                                       const double *coordinates, size_t n, bandit_prediction *out,
                                       bandit_error *err);

/* Bytes held. */
size_t bandit_posterior_memory(const bandit_posterior *posterior);

#endif
