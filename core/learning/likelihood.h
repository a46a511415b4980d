/* The objective of bandit_fit: the log marginal likelihood, or a lower bound, plus log priors, as a function
 * of theta = (log lengthscales, log s^2, log tau).
 *
 * Exact, with A = s^2 R + tau C^{-1}, C = diag(counts), y the means less mu:
 *   −1/2 (y'A^{-1}y + log det A + n log 2 pi + sum log c_i + w (log 2 pi tau) + W / tau),
 * where W and w are the sum of squares within points and its degrees of freedom. This is the log density of
 * all single rewards.
 *
 * Sparse, with inducing points Z, P = s^2 R_ZZ, U = s^2 R_ZX: A is replaced by U'P^{-1}U + tau C^{-1}, and
 *   1/(2 tau) sum_i c_i (k_ii − u_i'P^{-1}u_i)
 * is subtracted.
 *
 * Warped: y is the warp of the means less mu, and sum_i log dz_i/dv_i is added.
 *
 * Profiled: A is divided by s^2, and
 *   s^2 = (y'A^{-1}y + W / tau) / (n + w),  at least 1e-6,
 * maximizes the value for given theta; then y and the root of W are divided by s, and (n + w) log s is
 * subtracted.
 *
 * Reported variances v_i: tau c_i^{-1} is replaced by (tau + v_i) / c_i throughout, which is tau / c~_i with
 * the counts c~_i = c_i tau / (tau + v_i). The log densities of the squares within points with reported
 * variances are added.
 *
 * mu maximizes value and prior for given theta, so that gradients may treat it as constant. */
#ifndef CORE_LEARNING_LIKELIHOOD_H
#define CORE_LEARNING_LIKELIHOOD_H

#include "bandit/fit.h"
#include "core/simd/simd.h"

#include <stdint.h>

typedef struct bandit_likelihood {
    const bandit_fit_data *data; /* borrowed */
    const bandit_simd *simd;
    bool exact;
    size_t m;                /* number of inducing points; n when exact */
    uint32_t *inducing;      /* m of the n points, by number */
    double *scaled;          /* n (in whole tiles) x dimension, column-major: coordinates / lengthscales */
    double *scaled_inducing; /* m (in whole tiles) x dimension likewise (sparse) */
    double *centre;          /* dimension */
    double *point;           /* dimension: the point of one column */
    double *cross;           /* m x n: s^2 R of inducing points with all points */
    double *slope;           /* m x n: s^2 dR / d(r^2) */
    double *square;          /* m x m: s^2 R of inducing points with themselves (sparse) */
    double *square_slope;
    double *factor, *gradient;    /* m x m */
    double *inverse;              /* m x m (sparse) */
    double *solved;               /* m x n (sparse) */
    double *alpha, *ones, *right; /* n, or m */
    double *sums;                 /* m + n */
    double *product;              /* n x dimension */
    double *values;               /* n: the means; warped if the data are */
    double *by_power;             /* n: their derivatives with respect to the power (warped) */
    double *noise;                /* n: variances of the means, including reported ones (told) */
    double *weight;               /* n: tau / noise: counts that give these under tau alone (told) */
    const double *count;          /* n: the data's, or `weight` */
    double within;                /* W; divided by s^2 if that is profiled out */
    double mean, root;            /* mu and s of the last evaluation; s = 1 unless it is profiled out */
} bandit_likelihood;

/* Prepares evaluation with at most max_inducing inducing points. They are chosen by the largest remaining
 * variance under `lengthscales` (pivoted Cholesky). Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_likelihood_init(bandit_likelihood *out, const bandit_fit_data *data, size_t max_inducing,
                                     const double *lengthscales, bandit_error *err);
void bandit_likelihood_clear(bandit_likelihood *objective);

/* Whether s^2 is maximized in closed form. The entry log s^2 of theta is then unused. */
static inline bool bandit_likelihood_profiles(const bandit_fit_data *data)
{
    return data->warped && data->learn_signal && data->learn_noise && !data->variance;
}

/* Number of entries of theta: n_lengthscales + 2, plus one for the power of warped data, whichever of them
 * are learned. */
size_t bandit_likelihood_size(const bandit_fit_data *data);

/* Computes the value at theta, and the gradient with respect to all entries (NULL: none). Returns false if a
 * matrix is not positive definite to working precision; the value is then −infinity. Allocates nothing. */
bool bandit_likelihood_evaluate(bandit_likelihood *objective, const double *theta, double *value,
                                double *gradient);

/* Computes the value at theta, and the squared standardized residual of each point's mean given all others;
 * out: n. Returns false as above. */
bool bandit_likelihood_surprise(bandit_likelihood *objective, const double *theta, double *value,
                                double *out);

/* Log density of the priors at theta; adds its gradient unless that is NULL. */
double bandit_likelihood_prior(const bandit_fit_data *data, const double *theta, double *gradient);

#endif
