#include "tests/support/fit_problem.h"

#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void fit_problem_init(fit_problem *p, uint64_t seed, bandit_kernel_type kernel, double nu, size_t n, size_t d)
{
    uint64_t state = seed;
    *p = (fit_problem){.data = {.kernel = kernel,
                                .nu = nu,
                                .n = n,
                                .dimension = d,
                                .points = p->points,
                                .count = p->count,
                                .mean = p->mean,
                                .extent = p->extent,
                                .n_lengthscales = d,
                                .learn_lengthscale = true,
                                .learn_signal = true,
                                .learn_noise = true,
                                .has_mean = true}};
    for (size_t i = 0; i < n * d; i++)
        p->points[i] = dense_uniform(&state);
    for (size_t j = 0; j < d; j++)
        p->extent[j] = 1.0;
    for (size_t i = 0; i < n; i++) {
        size_t times = 1 + (size_t)(3.0 * dense_uniform(&state));
        double value = sin(4.0 * p->points[i * d]) + 0.3 * dense_normal(&state);
        for (size_t k = 0; k < times; k++) {
            double reward = value + 0.2 * dense_normal(&state);
            p->row_of[p->n_rows] = i;
            p->reward[p->n_rows++] = reward;
            p->count[i] += 1.0;
            p->mean[i] += reward / (double)times;
        }
    }
    for (size_t k = 0; k < p->n_rows; k++)
        p->data.within += pow(p->reward[k] - p->mean[p->row_of[k]], 2.0);
    p->data.within_degrees = (double)(p->n_rows - n);
}

void fit_problem_make_linear(fit_problem *p)
{
    size_t n = p->data.n, d = p->data.dimension;
    for (size_t a = 0; a < n; a++) {
        for (size_t b = 0; b < n; b++) {
            p->gram[a * n + b] = 0.0;
            for (size_t j = 0; j < d; j++)
                p->gram[a * n + b] += p->points[a * d + j] * p->points[b * d + j];
        }
    }
    p->data.kernel = BANDIT_KERNEL_LINEAR;
    p->data.gram = p->gram;
    p->data.dimension = p->data.n_lengthscales = 0;
}

/* A stationary kernel at the squared distance r2. */
static double profile(const bandit_fit_data *data, double r2)
{
    double r = sqrt(r2);
    if (data->kernel == BANDIT_KERNEL_GAUSSIAN)
        return exp(-0.5 * r2);
    if (data->nu == 0.5)
        return exp(-r);
    if (data->nu == 1.5)
        return (1.0 + sqrt(3.0) * r) * exp(-sqrt(3.0) * r);
    return (1.0 + sqrt(5.0) * r + 5.0 / 3.0 * r2) * exp(-sqrt(5.0) * r);
}

double fit_problem_kernel(const fit_problem *p, const double *theta, size_t a, size_t b)
{
    const bandit_fit_data *data = &p->data;
    if (data->gram)
        return data->gram[a * data->n + b];
    double r2 = 0.0;
    for (size_t j = 0; j < data->dimension; j++) {
        double l = exp(theta[data->group ? data->group[j] : j]);
        r2 += pow((p->points[a * data->dimension + j] - p->points[b * data->dimension + j]) / l, 2.0);
    }
    double near = r2 / (BANDIT_SHORT_RANGE * BANDIT_SHORT_RANGE);
    return (1.0 - data->short_share) * profile(data, r2) + data->short_share * profile(data, near);
}

void dense_factorize(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            assert_true(i != j || sum > 0.0);
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    }
}

void dense_substitute(const double *l, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
}

double relative_to_size(double a, double b)
{
    return fabs(a - b) / (1.0 + fabs(b));
}
