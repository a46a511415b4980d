/* Shared by the files of the likelihood: likelihood.c (priors, memory, evaluation), likelihood_kernel.c
 * (kernel matrices), likelihood_exact.c and likelihood_sparse.c (its two forms). Symbols as in
 * likelihood.h. */
#ifndef CORE_LEARNING_LIKELIHOOD_PARTS_H
#define CORE_LEARNING_LIKELIHOOD_PARTS_H

#include "core/arms/arms_storage.h"
#include "core/learning/likelihood.h"
#include "core/learning/warp.h"

#define BANDIT_LOG_TWO_PI 1.83787706640934548356

/* The precision of the prior mu ~ N(0, 1): standardized rewards have about unit variance, and are about 0. */
#define BANDIT_MEAN_PRECISION 1.0

/* The precision for these data: 0 if mu has no prior. */
static inline double bandit_likelihood_precision(const bandit_fit_data *data)
{
    return data->warped ? 0.0 : BANDIT_MEAN_PRECISION;
}

/* The best mu, given 1'A^{-1}y and 1'A^{-1}1. */
static inline double bandit_likelihood_best_mean(const bandit_fit_data *data, double one_y, double one_one)
{
    return data->has_mean ? one_y / (one_one + bandit_likelihood_precision(data)) : 0.0;
}

/* The derivative of the variance of the i-th mean with respect to the power of the warp. */
static inline double bandit_likelihood_noise_by_power(const bandit_likelihood *o, double noise, size_t i)
{
    const bandit_fit_data *data = o->data;
    return 2.0 * bandit_warp_log_slope_by_power(data->mean[i]) * (o->noise[i] - noise / data->count[i]);
}

/* ---- likelihood_kernel.c ------------------------------------------------------------------------------- */

/* The points in the rows of a matrix: their coordinates, column-major with a leading dimension of n rounded
 * up to tiles, and their numbers among all points (NULL: they are all points). Borrowed. */
typedef struct bandit_row_points {
    const double *coordinates;
    const uint32_t *number;
    size_t n;
} bandit_row_points;

static inline bandit_row_points bandit_all_rows(const bandit_likelihood *o)
{
    return (bandit_row_points){o->scaled, NULL, o->data->n};
}

static inline bandit_row_points bandit_inducing_rows(const bandit_likelihood *o)
{
    return (bandit_row_points){o->scaled_inducing, o->inducing, o->m};
}

/* The diagonal entry of R at point i of all. */
static inline double bandit_likelihood_diagonal(const bandit_fit_data *data, size_t i)
{
    return data->gram ? data->gram[i * data->n + i] : 1.0;
}

/* Set o->scaled for these lengthscales, and o->scaled_inducing from o->scaled. */
void bandit_likelihood_scale(bandit_likelihood *o, const double *lengthscales);
void bandit_likelihood_scale_inducing(bandit_likelihood *o);

/* Sets k[i] = s^2 R and slope[i] = s^2 dR / d(r^2), for rows i = first … rows.n − 1 of the column for point
 * number `column` of all, under o->scaled. Overwrites o->point. */
void bandit_likelihood_column(const bandit_likelihood *o, double signal, bandit_row_points rows, size_t first,
                              size_t column, double *k, double *slope);

/* gradient[lengthscale of j] −= 2 sum_ab T_ab (x_a − x_b)^2 in coordinate j, where a runs over the row points
 * and b over the column points. T: rows.n x columns.n, column-major, symmetric if o->exact. Overwrites
 * o->sums and o->ones. */
void bandit_likelihood_add_distances(bandit_likelihood *o, const double *T, bandit_row_points rows,
                                     bandit_row_points columns, double *gradient);

/* ---- likelihood.c -------------------------------------------------------------------------------------- */

/* If s^2 is profiled out: sets o->root and o->within from the quadratic form y'A^{-1}y + W / tau, sets *value
 * to what must be added to the value, and returns the factor by which y must be multiplied. Otherwise *value
 * is 0, and it returns 1. */
double bandit_likelihood_profile(bandit_likelihood *o, double quadratic, double *value);

/* ---- likelihood_exact.c -------------------------------------------------------------------------------- */

/* The value under o->scaled (and o->scaled_inducing) and o->mean, mu. Returns false if a matrix is not
 * positive definite. After it, one of the other two may be called once: the gradient adds to all entries of
 * theta, and the surprise sets out[n] to the squared standardized leave-one-out residuals. */
bool bandit_likelihood_exact_value(bandit_likelihood *o, double signal, double noise, double *value);
bool bandit_likelihood_exact_gradient(bandit_likelihood *o, double noise, double *gradient);
bool bandit_likelihood_exact_surprise(bandit_likelihood *o, double *out);

/* ---- likelihood_sparse.c ------------------------------------------------------------------------------- */

/* The same with inducing points. */
bool bandit_likelihood_sparse_value(bandit_likelihood *o, double signal, double noise, double *value);
bool bandit_likelihood_sparse_gradient(bandit_likelihood *o, double signal, double noise, double *gradient);
bool bandit_likelihood_sparse_surprise(bandit_likelihood *o, double signal, double noise, double *out);

/* Sets o->inducing, and lowers o->m if fewer points suffice: each is the point with the largest variance
 * given those before, by pivoted Cholesky under these lengthscales. Overwrites o->cross, o->scaled and
 * vectors of n. */
void bandit_likelihood_choose_inducing(bandit_likelihood *o, const double *lengthscales);

#endif
