/* The likelihood on inducing points, a lower bound of the exact one (Titsias 2009), its gradient, and
 * leave-one-out residuals: the form of bandit_likelihood with m x n matrices. */
#include "core/learning/likelihood_parts.h"

#include "core/base/linalg.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Added to the diagonal of P, relative to s^2, because inducing points may nearly coincide. */
static const double jitter = 1e-8;

/* While the points are chosen, `cross` holds the rows of the pivoted Cholesky factor. */
void bandit_likelihood_choose_inducing(bandit_likelihood *o, const double *lengthscales)
{
    size_t n = o->data->n;
    double *left = o->right, *column = o->alpha, *unused = o->ones;
    if (o->data->dimension > 0)
        bandit_likelihood_scale(o, lengthscales);
    for (size_t i = 0; i < n; i++)
        left[i] = bandit_likelihood_diagonal(o->data, i);
    size_t found = 0;
    for (; found < o->m; found++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            if (left[i] > left[best])
                best = i;
        if (!(left[best] > 1e-10))
            break;
        double root = sqrt(left[best]);
        o->inducing[found] = (uint32_t)best;
        bandit_likelihood_column(o, 1.0, bandit_all_rows(o), 0, best, column, unused);
        for (size_t k = 0; k < found; k++)
            cblas_daxpy((int)n, -o->cross[k * n + best], o->cross + k * n, 1, column, 1);
        for (size_t i = 0; i < n; i++) {
            o->cross[found * n + i] = column[i] / root;
            left[i] -= column[i] / root * (column[i] / root);
        }
        left[best] = 0.0;
    }
    if (found == 0)
        o->inducing[found++] = 0;
    o->m = found;
}

/* P = L L', z = L^{-1} U, B = I + z C z' / tau = L_B L_B', b = z C y, e = L_B^{-1} b:
 *   −1/2 ((n + w) log(2 pi tau) + log det B + (y'Cy − e'e / tau + W + sum_i c_i (k_ii − |z_i|^2)) / tau).
 * Leaves L in `square`, z in `solved`, L_B in `factor` and e in `right`. */
bool bandit_likelihood_sparse_value(bandit_likelihood *o, double signal, double noise, double *value)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, m = o->m;
    double *L = o->square, *z = o->solved, *B = o->factor, *weighted = o->cross;
    for (size_t k = 0; k < m; k++) {
        bandit_likelihood_column(o, signal, bandit_inducing_rows(o), 0, o->inducing[k], L + k * m,
                                 o->square_slope + k * m);
        L[k * m + k] += jitter * signal;
    }
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)m, L, (int)m) != 0)
        return false;
    double squares = 0.0, one_y = 0.0, one_one = 0.0, residual = 0.0;
    for (size_t i = 0; i < n; i++)
        bandit_likelihood_column(o, signal, bandit_inducing_rows(o), 0, i, z + i * m, o->slope + i * m);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, L,
                (int)m, z, (int)m);
    memset(o->right, 0, m * sizeof *o->right);
    memset(o->ones, 0, m * sizeof *o->ones);
    for (size_t i = 0; i < n; i++) {
        double c = o->count[i], y = o->values[i], root = sqrt(c / noise);
        squares += c * y * y;
        one_y += c * y;
        one_one += c;
        residual += c * (signal * bandit_likelihood_diagonal(data, i) -
                         cblas_ddot((int)m, z + i * m, 1, z + i * m, 1));
        cblas_daxpy((int)m, c * y, z + i * m, 1, o->right, 1);
        cblas_daxpy((int)m, c, z + i * m, 1, o->ones, 1);
        for (size_t k = 0; k < m; k++)
            weighted[i * m + k] = root * z[i * m + k];
    }
    memset(B, 0, m * m * sizeof *B);
    for (size_t k = 0; k < m; k++)
        B[k * m + k] = 1.0;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)m, (int)n, 1.0, weighted, (int)m, 1.0, B,
                (int)m);
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (int)m, B, (int)m) != 0)
        return false;
    double *e = o->right, *e1 = o->ones;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, B, (int)m, e, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, B, (int)m, e1, 1);
    o->mean = bandit_likelihood_best_mean(data, (one_y - cblas_ddot((int)m, e1, 1, e, 1) / noise) / noise,
                                          (one_one - cblas_ddot((int)m, e1, 1, e1, 1) / noise) / noise);
    cblas_daxpy((int)m, -o->mean, e1, 1, e, 1);
    squares += o->mean * (o->mean * one_one - 2.0 * one_y);
    double q = cblas_ddot((int)m, e, 1, e, 1), within = o->within, profiled;
    double factor = bandit_likelihood_profile(o, (squares - q / noise + within) / noise, &profiled);
    cblas_dscal((int)m, factor, e, 1);
    squares *= factor * factor;
    q *= factor * factor;
    double told = 0.0;
    for (size_t i = 0; i < n && data->variance; i++)
        told += log(data->count[i] / o->count[i]);
    *value = profiled - 0.5 * told -
             0.5 * (((double)n + data->within_degrees) * (BANDIT_LOG_TWO_PI + log(noise)) +
                    bandit_log_det(B, m, m) + (squares - q / noise + o->within + residual) / noise +
                    bandit_likelihood_precision(data) * o->mean * o->mean);
    return isfinite(*value);
}

/* ---- the gradient --------------------------------------------------------------------------------------
 *
 * With alpha = L^{-T} B^{-1} b / tau, d value = sum G_P o dP + sum G_U o dU and the diagonal's part, where
 *   G_P = −1/2 (L^{-T} (B^{-1} + B − 2I) L^{-1} + alpha alpha')
 *   G_U = −1/tau (L^{-T} (B^{-1} − I) z + alpha (U'alpha − y)') C. */

/* The entries of the noise with reported variances, and of the power through these. With s_i the variance of
 * the i-th mean, r_i its deviation and h_i = z_i'B^{-1}z_i,
 *   d value / d log s_i = −1/2 (1 − (h_i + r_i^2 + k_ii − |z_i|^2) / s_i). */
static void add_told_noise_entry(bandit_likelihood *o, double signal, double noise, const double *inverse,
                                 const double *deviation, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t m = o->m, p = data->n_lengthscales;
    double *v = o->alpha;
    gradient[p + 1] -= 0.5 * (data->within_degrees - o->within / noise);
    for (size_t i = 0; i < data->n; i++) {
        const double *z = o->solved + i * m;
        double s = o->noise[i];
        cblas_dsymv(CblasColMajor, CblasLower, (int)m, 1.0, inverse, (int)m, z, 1, 0.0, v, 1);
        double rest = cblas_ddot((int)m, z, 1, v, 1) + deviation[i] * deviation[i] +
                      signal * bandit_likelihood_diagonal(data, i) - cblas_ddot((int)m, z, 1, z, 1);
        double by_log = -0.5 * (1.0 - rest / s);
        gradient[p + 1] += by_log * noise / data->count[i] / s;
        if (data->warped)
            gradient[p + 2] += by_log * bandit_likelihood_noise_by_power(o, noise, i) / s;
    }
}

/* Adds the entries of the noise and the power. `inverse` is B^{-1}, `weight` B^{-1} b, q = |L_B^{-1} b|^2.
 * Leaves y − U'alpha of all points in o->product (the posterior mean is z'weight / tau). Returns sum_i c_i
 * k_ii / s^2. */
static double add_noise_entry(bandit_likelihood *o, double signal, double noise, const double *inverse,
                              const double *weight, double q, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, m = o->m;
    double *z = o->solved, *deviation = o->product;
    double weight2 = cblas_ddot((int)m, weight, 1, weight, 1);
    double squares = 0.0, counts = 0.0, residual = 0.0, trace = 0.0;
    for (size_t i = 0; i < n; i++) {
        double y = (o->values[i] - o->mean) / o->root, c = o->count[i];
        deviation[i] = y - cblas_ddot((int)m, z + i * m, 1, weight, 1) / noise;
        squares += c * y * y;
        counts += c * bandit_likelihood_diagonal(data, i);
        residual += c * (signal * bandit_likelihood_diagonal(data, i) -
                         cblas_ddot((int)m, z + i * m, 1, z + i * m, 1));
    }
    for (size_t k = 0; k < m; k++)
        trace += inverse[k * m + k];
    if (data->variance)
        add_told_noise_entry(o, signal, noise, inverse, deviation, gradient);
    else
        gradient[data->n_lengthscales + 1] +=
            -0.5 * ((double)n + data->within_degrees - ((double)m - trace) - squares / noise +
                    (q + weight2) / noise / noise - (o->within + residual) / noise);
    for (size_t i = 0; i < n && data->warped; i++)
        gradient[data->n_lengthscales + 2] -= o->count[i] * deviation[i] / noise * o->by_power[i] / o->root;
    return counts;
}

/* o->gradient = L^{-T} (B^{-1} + B − 2I) L^{-1}. B is recomputed from the weighted z that the value left in
 * o->cross. */
static void form_inducing_weights(bandit_likelihood *o, const double *inverse)
{
    size_t n = o->data->n, m = o->m;
    double *L = o->square, *G = o->gradient;
    memcpy(G, inverse, m * m * sizeof *G);
    for (size_t k = 0; k < m; k++)
        G[k * m + k] -= 1.0;
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)m, (int)n, 1.0, o->cross, (int)m, 1.0, G,
                (int)m);
    bandit_mirror_lower(G, m);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)m, 1.0, L,
                (int)m, G, (int)m);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)m, 1.0, L,
                (int)m, G, (int)m);
}

/* Sets o->cross to G_U without its factor −C / tau, and o->alpha to alpha. Subtracts I from `inverse`. */
static void form_point_weights(bandit_likelihood *o, double noise, double *inverse, const double *weight)
{
    size_t n = o->data->n, m = o->m;
    double *L = o->square, *GU = o->cross, *alpha = o->alpha;
    for (size_t k = 0; k < m; k++)
        inverse[k * m + k] -= 1.0;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)m, 1.0, inverse, (int)m,
                o->solved, (int)m, 0.0, GU, (int)m);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)n, 1.0, L,
                (int)m, GU, (int)m);
    memcpy(alpha, weight, m * sizeof *alpha);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)m, L, (int)m, alpha, 1);
    cblas_dscal((int)m, 1.0 / noise, alpha, 1);
    cblas_dger(CblasColMajor, (int)m, (int)n, -1.0, alpha, 1, o->product, 1, GU, (int)m);
}

/* The entry of the signal, in which P and U are linear: tr(G_P P) and tr(G_U U'), from the matrices U = L z
 * and P = L L'. Multiplies G_P and G_U by the kernel's slopes. */
static double signal_entry(bandit_likelihood *o, double signal, double noise, double counts)
{
    size_t n = o->data->n, m = o->m;
    double *G = o->gradient, *GU = o->cross;
    const double *alpha = o->alpha;
    double by_signal = -0.5 * signal * counts / noise;
    for (size_t b = 0; b < m; b++) {
        bandit_likelihood_column(o, signal, bandit_inducing_rows(o), 0, o->inducing[b], o->sums, o->ones);
        o->sums[b] += jitter * signal;
        for (size_t a = 0; a < m; a++) {
            double g = -0.5 * (G[b * m + a] + alpha[a] * alpha[b]);
            by_signal += g * o->sums[a];
            G[b * m + a] = g * o->square_slope[b * m + a];
        }
    }
    for (size_t i = 0; i < n; i++) {
        double factor = -o->count[i] / noise;
        bandit_likelihood_column(o, signal, bandit_inducing_rows(o), 0, i, o->sums, o->ones);
        for (size_t k = 0; k < m; k++) {
            double g = factor * GU[i * m + k];
            by_signal += g * o->sums[k];
            GU[i * m + k] = g * o->slope[i * m + k];
        }
    }
    return by_signal;
}

/* Call after the value. */
bool bandit_likelihood_sparse_gradient(bandit_likelihood *o, double signal, double noise, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t m = o->m;
    double *inverse = o->inverse, *weight = o->right;
    double q = cblas_ddot((int)m, weight, 1, weight, 1);
    memcpy(inverse, o->factor, m * m * sizeof *inverse);
    if (bandit_invert_from_cholesky(inverse, m, NULL) != BANDIT_OK)
        return false;
    bandit_mirror_lower(inverse, m);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)m, o->factor, (int)m, weight, 1);

    double counts = add_noise_entry(o, signal, noise, inverse, weight, q, gradient);
    form_inducing_weights(o, inverse);
    form_point_weights(o, noise, inverse, weight);
    gradient[data->n_lengthscales] += signal_entry(o, signal, noise, counts);
    if (data->dimension > 0) {
        /* add_distances overwrites o->product, whose deviations are no longer needed */
        bandit_likelihood_add_distances(o, o->gradient, bandit_inducing_rows(o), bandit_inducing_rows(o),
                                        gradient);
        bandit_likelihood_add_distances(o, o->cross, bandit_inducing_rows(o), bandit_all_rows(o), gradient);
    }
    return true;
}

/* Call after the value. The leave-one-out residuals are as in the exact form under the bound's A; the part of
 * k_ii that the inducing points do not explain is added to the variance. */
bool bandit_likelihood_sparse_surprise(bandit_likelihood *o, double signal, double noise, double *out)
{
    const bandit_fit_data *data = o->data;
    size_t n = data->n, m = o->m;
    double *v = o->alpha;
    for (size_t i = 0; i < n; i++) {
        const double *z = o->solved + i * m;
        double c = o->count[i] / noise;
        double left =
            fmax(0.0, signal * bandit_likelihood_diagonal(data, i) - cblas_ddot((int)m, z, 1, z, 1));
        memcpy(v, z, m * sizeof *v);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, o->factor, (int)m, v, 1);
        double mean = cblas_ddot((int)m, v, 1, o->right, 1) / noise;
        double precision = c - c * c * cblas_ddot((int)m, v, 1, v, 1);
        precision = fmax(precision, 1e-12 * c);
        double deviation = c * ((o->values[i] - o->mean) / o->root - mean) / precision;
        out[i] = deviation * deviation / (1.0 / precision + left);
    }
    return true;
}
