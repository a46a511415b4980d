#include "core/learning/source_weights.h"

#include "bandit/source.h"
#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double kernel(const bandit_fit_data *data, const double *lengthscales, size_t a, size_t b)
{
    size_t d = data->dimension;
    double sum = 0.0;
    for (size_t j = 0; j < d; j++) {
        double off = data->points[a * d + j] - data->points[b * d + j];
        off /= lengthscales[data->group ? data->group[j] : j];
        sum += off * off;
    }
    if (data->kernel == BANDIT_KERNEL_GAUSSIAN)
        return exp(-0.5 * sum);
    double r = sqrt(2.0 * data->nu * sum);
    return exp(-r) * (data->nu == 0.5 ? 1.0 : data->nu == 1.5 ? 1.0 + r : 1.0 + r + r * r / 3.0);
}

/* The factor of B, in `out`. */
static bandit_status factor(const bandit_fit_data *data, const bandit_hyperparameters *h, const double *noise,
                            double *out, bandit_error *err)
{
    size_t n = data->n;
    for (size_t b = 0; b < n && !bandit_pause(); b++) {
        for (size_t a = b; a < n; a++)
            out[b * n + a] = 1.0 + h->signal * kernel(data, h->lengthscales, a, b);
        out[b * n + b] += noise[b];
    }
    bandit_status status = bandit_pause_status(err);
    return status == BANDIT_OK ? bandit_cholesky(out, n, n, "the covariance of rewards", err) : status;
}

typedef struct small_system {
    size_t n;
    double G[BANDIT_MOST_SOURCES * BANDIT_MOST_SOURCES], b[BANDIT_MOST_SOURCES];
} small_system;

/* The weights under this rho, and the gain. */
static bandit_status solve(const small_system *s, double rho, double *weights, double *gain,
                           bandit_error *err)
{
    double A[BANDIT_MOST_SOURCES * BANDIT_MOST_SOURCES], precision = (double)s->n / rho;
    memcpy(A, s->G, sizeof A);
    memcpy(weights, s->b, s->n * sizeof *weights);
    for (size_t i = 0; i < s->n; i++)
        A[i * s->n + i] += precision;
    bandit_status status = bandit_cholesky(A, s->n, s->n, "the covariance of the sources' weights", err);
    if (status != BANDIT_OK)
        return status;
    int n = (int)s->n;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, A, n, weights, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, n, A, n, weights, 1);
    *gain = 0.5 * (cblas_ddot(n, s->b, 1, weights, 1) - bandit_log_det(A, s->n, s->n) +
                   (double)s->n * log(precision));
    return BANDIT_OK;
}

static bandit_status choose(const small_system *s, double *weights, double *gain, bandit_error *err)
{
    static const double shares[] = {0.1, 0.3, 1.0};
    bandit_status status = BANDIT_OK;
    *gain = -INFINITY;
    for (size_t i = 0; i < sizeof shares / sizeof *shares && status == BANDIT_OK; i++) {
        double tried[BANDIT_MOST_SOURCES], value;
        status = solve(s, shares[i], tried, &value, err);
        if (status != BANDIT_OK || !(value > *gain))
            continue;
        *gain = value;
        memcpy(weights, tried, s->n * sizeof *weights);
    }
    return status;
}

bandit_status bandit_source_weights(const bandit_fit_data *data, const bandit_hyperparameters *h,
                                    const double *z, const double *noise, const double *values,
                                    size_t n_sources, double *weights, double *gain, bandit_error *err)
{
    size_t n = data->n;
    small_system system = {.n = n_sources};
    double *B = bandit_alloc(n, n * sizeof *B), *right = bandit_alloc(n, (n_sources + 1) * sizeof *right);
    bandit_status status = BANDIT_OK;
    if (!B || !right)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = factor(data, h, noise, B, err);
    if (status == BANDIT_OK) { /* L^{-1} (M, z), of which G and b are products */
        memcpy(right, values, n * n_sources * sizeof *right);
        memcpy(right + n * n_sources, z, n * sizeof *right);
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)n,
                    (int)n_sources + 1, 1.0, B, (int)n, right, (int)n);
        for (size_t i = 0; i < n_sources; i++) {
            for (size_t k = 0; k < n_sources; k++)
                system.G[i * n_sources + k] = cblas_ddot((int)n, right + i * n, 1, right + k * n, 1);
            system.b[i] = cblas_ddot((int)n, right + i * n, 1, right + n_sources * n, 1);
        }
        status = choose(&system, weights, gain, err);
    }
    free(B);
    free(right);
    return status;
}
