/* The exact likelihood of means about a constant, its gradient, and leave-one-out residuals: the form of
 * bandit_likelihood with a matrix of all points. */
#include "core/learning/likelihood_parts.h"

#include "core/base/linalg.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* The part of the value without the quadratic form and the determinant, for single rewards about their
 * means. */
static double value_within(const bandit_likelihood *o, double noise)
{
    const bandit_fit_data *data = o->data;
    double value = data->within_degrees * (BANDIT_LOG_TWO_PI + log(noise)) + o->within / noise;
    for (size_t i = 0; i < data->n; i++)
        value += log(data->count[i]);
    return -0.5 * value;
}

/* Only the lower triangles of symmetric matrices are set. */
bool bandit_likelihood_exact_value(bandit_likelihood *o, double signal, double noise, double *value)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n;
    double *A = o->factor;
    for (size_t b = 0; b < n; b++) {
        bandit_likelihood_column(o, signal, bandit_all_rows(o), b, b, o->cross + b * n, o->slope + b * n);
        memcpy(A + b * n + b, o->cross + b * n + b, (n - b) * sizeof *A);
        A[b * n + b] += noise / o->count[b];
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)n, A, (int)n) != 0)
        return false;
    double *y = o->alpha, *ones = o->ones;
    for (size_t i = 0; i < n; i++) {
        y[i] = o->values[i];
        ones[i] = 1.0;
    }
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, A, (int)n, y, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, A, (int)n, ones, 1);
    o->mean = bandit_likelihood_best_mean(data, cblas_ddot((int)n, ones, 1, y, 1),
                                          cblas_ddot((int)n, ones, 1, ones, 1));
    cblas_daxpy((int)n, -o->mean, ones, 1, y, 1);
    double profiled;
    cblas_dscal((int)n,
                bandit_likelihood_profile(o, cblas_ddot((int)n, y, 1, y, 1) + o->within / noise, &profiled),
                y, 1);
    *value = profiled -
             0.5 * (cblas_ddot((int)n, y, 1, y, 1) + bandit_log_det(A, n, n) + (double)n * BANDIT_LOG_TWO_PI +
                    bandit_likelihood_precision(data) * o->mean * o->mean) +
             value_within(o, noise);
    return isfinite(*value);
}

/* Call after the value. With G = −1/2 (A^{-1} − alpha alpha'), d value = tr(G dA). */
bool bandit_likelihood_exact_gradient(bandit_likelihood *o, double noise, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, p = data->n_lengthscales;
    double *alpha = o->alpha, *inverse = o->factor, *T = o->gradient, by_signal = 0.0;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, o->factor, (int)n, alpha, 1);
    if (bandit_invert_from_cholesky(inverse, n, NULL) != BANDIT_OK)
        return false;
    gradient[p + 1] += -0.5 * (data->within_degrees - o->within / noise);
    for (size_t i = 0; i < n && data->warped; i++)
        gradient[p + 2] -= alpha[i] * o->by_power[i] / o->root;
    for (size_t b = 0; b < n; b++) {
        for (size_t a = b; a < n; a++) {
            double G = -0.5 * (inverse[b * n + a] - alpha[a] * alpha[b]);
            by_signal += (a == b ? 1.0 : 2.0) * G * o->cross[b * n + a];
            T[b * n + a] = G * o->slope[b * n + a];
            if (a == b)
                gradient[p + 1] += G * noise / data->count[a];
            if (a == b && data->variance && data->warped)
                gradient[p + 2] += G * bandit_likelihood_noise_by_power(o, noise, a);
        }
    }
    gradient[p] += by_signal;
    if (data->dimension > 0) {
        bandit_mirror_lower(T, n);
        bandit_likelihood_add_distances(o, T, bandit_all_rows(o), bandit_all_rows(o), gradient);
    }
    return true;
}

/* Call after the value. Rasmussen and Williams 2006, eq. 5.10–5.12: deviation alpha_i / [A^{-1}]_ii, variance
 * 1 / [A^{-1}]_ii. */
bool bandit_likelihood_exact_surprise(bandit_likelihood *o, double *out)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)n, o->factor, (int)n, o->alpha, 1);
    if (bandit_invert_from_cholesky(o->factor, n, NULL) != BANDIT_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = o->alpha[i] * o->alpha[i] / o->factor[i * n + i];
    return true;
}
