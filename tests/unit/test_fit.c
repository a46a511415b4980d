/* Learning hyper-parameters: the objective against a dense computation with a row a reward, its gradient
 * against finite differences, and what is learned from data whose hyper-parameters are known. */
#include "bandit/fit.h"
#include "likelihood.h"
#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64, ROWS = 256, MOST_DIMENSION = 4 };

static const double log_two_pi = 1.83787706640934548356;

/* ---- problems ------------------------------------------------------------------------------------------ */

typedef struct problem {
    bandit_fit_data data;
    double points[MOST * MOST_DIMENSION], gram[MOST * MOST], count[MOST], mean[MOST];
    double extent[MOST_DIMENSION];
    size_t group[MOST_DIMENSION];
    size_t n_rows; /* single rewards */
    size_t row_of[ROWS];
    double reward[ROWS];
} problem;

static void fill(problem *p, uint64_t seed, bandit_kernel_type kernel, double nu, size_t n, size_t d)
{
    uint64_t state = seed;
    *p = (problem){.data = {.kernel = kernel,
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

/* A kernel without lengthscales, by its matrix. */
static void make_linear(problem *p)
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

/* k(a, b) without s^2 by the textbook formulas. */
static double kernel(const problem *p, const double *theta, size_t a, size_t b)
{
    const bandit_fit_data *data = &p->data;
    if (data->gram)
        return data->gram[a * data->n + b];
    double r2 = 0.0;
    for (size_t j = 0; j < data->dimension; j++) {
        double l = exp(theta[data->group ? data->group[j] : j]);
        r2 += pow((p->points[a * data->dimension + j] - p->points[b * data->dimension + j]) / l, 2.0);
    }
    double r = sqrt(r2);
    if (data->kernel == BANDIT_KERNEL_GAUSSIAN)
        return exp(-0.5 * r2);
    if (data->nu == 0.5)
        return exp(-r);
    if (data->nu == 1.5)
        return (1.0 + sqrt(3.0) * r) * exp(-sqrt(3.0) * r);
    return (1.0 + sqrt(5.0) * r + 5.0 / 3.0 * r2) * exp(-sqrt(5.0) * r);
}

/* ---- the dense computation ----------------------------------------------------------------------------- */

/* Cholesky in place, row-major lower; solve for one right side; log det. */
static void factorize(double *a, size_t n)
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

static void substitute(const double *l, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
}

/* log N(y | mu, Q + tau I) − sum_i (k_ii − q_ii) / (2 tau), a row a reward, Q = K_xZ (K_ZZ)^{-1} K_Zx with
 * the inducing points given, or K itself; and the prior on mu, which is maximized by golden section. */
static double dense_bound(const problem *p, const double *theta, const uint32_t *inducing, size_t m)
{
    size_t t = p->n_rows, q = p->data.n_lengthscales;
    double s2 = exp(theta[q]), tau = exp(theta[q + 1]), missing = 0.0;
    double *a = dense_alloc(t * t, sizeof *a), *z = dense_alloc(t * (m + 1), sizeof *z);
    double *k_zz = dense_alloc(m * m + 1, sizeof *k_zz);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            k_zz[i * m + j] = s2 * (kernel(p, theta, inducing[i], inducing[j]) + (i == j ? 1e-8 : 0.0));
    factorize(k_zz, m);
    for (size_t i = 0; i < t; i++) {
        for (size_t k = 0; k < m; k++)
            z[i * m + k] = s2 * kernel(p, theta, inducing[k], p->row_of[i]);
        substitute(k_zz, m, z + i * m);
    }
    for (size_t i = 0; i < t; i++) {
        for (size_t j = 0; j < t; j++) {
            double k = s2 * kernel(p, theta, p->row_of[i], p->row_of[j]), approximate = m > 0 ? 0.0 : k;
            for (size_t l = 0; l < m; l++)
                approximate += z[i * m + l] * z[j * m + l];
            a[i * t + j] = approximate + (i == j ? tau : 0.0);
            if (i == j)
                missing += k - approximate;
        }
    }
    factorize(a, t);
    double log_det = 0.0, one_one = 0.0, one_y = 0.0, y_y = 0.0;
    double *y = dense_alloc(t, sizeof *y), *ones = dense_alloc(t, sizeof *ones);
    for (size_t i = 0; i < t; i++) {
        log_det += 2.0 * log(a[i * t + i]);
        y[i] = p->reward[i];
        ones[i] = 1.0;
    }
    substitute(a, t, y);
    substitute(a, t, ones);
    for (size_t i = 0; i < t; i++) {
        one_one += ones[i] * ones[i];
        one_y += ones[i] * y[i];
        y_y += y[i] * y[i];
    }
    /* A parabola in mu: its largest value, found without its formula. */
    double low = -50.0, high = 50.0, best = -INFINITY;
    for (int step = 0; step < 200 && p->data.has_mean; step++) {
        double third = (high - low) / 3.0, u = low + third, v = high - third;
        double at_u = 2.0 * u * one_y - u * u * (one_one + 1.0);
        double at_v = 2.0 * v * one_y - v * v * (one_one + 1.0);
        best = fmax(best, fmax(at_u, at_v));
        if (at_u < at_v)
            low = u;
        else
            high = v;
    }
    if (!p->data.has_mean)
        best = 0.0;
    free(a);
    free(z);
    free(k_zz);
    free(y);
    free(ones);
    return -0.5 * (y_y - best + log_det + (double)t * log_two_pi + missing / tau);
}

static void random_theta(const problem *p, uint64_t seed, double *theta)
{
    uint64_t state = seed;
    size_t q = p->data.n_lengthscales;
    for (size_t i = 0; i < q; i++)
        theta[i] = log(0.2 + dense_uniform(&state));
    theta[q] = log(0.5 + dense_uniform(&state));
    theta[q + 1] = log(0.02 + 0.2 * dense_uniform(&state));
}

static double close_to(double a, double b)
{
    return fabs(a - b) / (1.0 + fabs(b));
}

static const struct {
    bandit_kernel_type kernel;
    double nu;
} kernels[] = {{BANDIT_KERNEL_GAUSSIAN, 2.5},
               {BANDIT_KERNEL_MATERN, 0.5},
               {BANDIT_KERNEL_MATERN, 1.5},
               {BANDIT_KERNEL_MATERN, 2.5},
               {BANDIT_KERNEL_LINEAR, 2.5}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void kernel_problem(problem *p, uint64_t seed, size_t k, size_t n, size_t d)
{
    fill(p, seed, kernels[k].kernel, kernels[k].nu, n, d);
    if (kernels[k].kernel == BANDIT_KERNEL_LINEAR)
        make_linear(p);
}

/* Whole tiles and parts of one, one point, one feature. */
static const struct {
    size_t n, d;
} shapes[] = {{30, 4}, {30, 1}, {16, 2}, {17, 3}, {33, 1}, {2, 1}, {1, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void bound_equals_the_dense_computation(void **unused)
{
    (void)unused;
    static problem p;
    double theta[MOST_DIMENSION + 2], value;
    for (size_t k = 0; k < KERNELS * SHAPES; k++) {
        size_t n = shapes[k / KERNELS].n, d = shapes[k / KERNELS].d;
        for (size_t inducing = 1 + n / 10; inducing <= n + 18; inducing += n > 2 ? 15 : 1) {
            kernel_problem(&p, 10 * k + inducing, k % KERNELS, n, d);
            p.data.has_mean = k != 1;
            random_theta(&p, k, theta);
            bandit_likelihood o;
            double some[MOST_DIMENSION] = {0.5, 0.5, 0.5, 0.5};
            assert_int_equal(bandit_likelihood_init(&o, &p.data, inducing, some, NULL), BANDIT_OK);
            assert_true(bandit_likelihood_evaluate(&o, theta, &value, NULL));
            double dense = dense_bound(&p, theta, o.inducing, o.exact ? 0 : o.m);
            dense += bandit_likelihood_prior(&p.data, theta, NULL);
            assert_true(close_to(value, dense) < 1e-7);
            assert_true(o.exact == (inducing >= n));
            bandit_likelihood_clear(&o);
        }
    }
}

/* Fewer inducing points, a lower bound. */
static void bound_grows_to_the_exact_value(void **unused)
{
    (void)unused;
    static problem p;
    double theta[MOST_DIMENSION + 2], previous = -INFINITY;
    fill(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
    random_theta(&p, 3, theta);
    for (size_t inducing = 5; inducing <= 40; inducing += 5) {
        bandit_likelihood o;
        double value, some[2] = {0.5, 0.5};
        assert_int_equal(bandit_likelihood_init(&o, &p.data, inducing, some, NULL), BANDIT_OK);
        assert_true(bandit_likelihood_evaluate(&o, theta, &value, NULL));
        assert_true(value > previous - 1e-6);
        previous = value;
        bandit_likelihood_clear(&o);
    }
}

/* Priors are counted from their peak, which bandit_fit_prior tells. */
static void the_prior_is_largest_at_its_peak(void **unused)
{
    (void)unused;
    static problem p;
    double lengthscales[2], theta[4], slope[4] = {0.0};
    bandit_hyperparameters peak = {.lengthscales = lengthscales};
    fill(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 20, 2);
    bandit_fit_prior(&p.data, &peak);
    theta[0] = log(lengthscales[0]);
    theta[1] = log(lengthscales[1]);
    theta[2] = log(peak.signal);
    theta[3] = log(peak.noise);
    assert_true(fabs(bandit_likelihood_prior(&p.data, theta, slope)) < 1e-20);
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs(slope[i]) < 1e-12);
        theta[i] += 0.5;
        assert_true(bandit_likelihood_prior(&p.data, theta, NULL) < -0.01);
        theta[i] -= 0.5;
    }
}

/* Log-normal, less its peak's: lengthscales about 0.35 root d of a range, s^2 about 1, tau about 3e-3, with
 * standard deviations of their logarithms of 1.2, 1 and 2. What is not learned is as it was. */
static void the_prior_is_as_documented(void **unused)
{
    (void)unused;
    static problem p;
    for (size_t d = 1; d <= MOST_DIMENSION; d++) {
        double peak[MOST_DIMENSION + 2], deviation[MOST_DIMENSION + 2], theta[MOST_DIMENSION + 2];
        double slope[MOST_DIMENSION + 2], log_density = 0.0;
        uint64_t state = d;
        fill(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 20, d);
        for (size_t i = 0; i < d + 2; i++) {
            if (i < d)
                p.extent[i] = 0.5 + 3.0 * dense_uniform(&state);
            peak[i] = i < d ? 0.35 * sqrt((double)d) * p.extent[i] : i == d ? 1.0 : 3e-3;
            deviation[i] = i < d ? 1.2 : i == d ? 1.0 : 2.0;
            theta[i] = dense_normal(&state);
            slope[i] = 7.0; /* is added to */
            log_density -= pow((theta[i] - log(peak[i])) / deviation[i], 2.0) / 2.0;
        }
        assert_true(close_to(bandit_likelihood_prior(&p.data, theta, slope), log_density) < 1e-12);
        assert_true(bandit_likelihood_prior(&p.data, theta, NULL) ==
                    bandit_likelihood_prior(&p.data, theta, slope));
        for (size_t i = 0; i < d + 2; i++)
            assert_true(close_to((slope[i] - 7.0) / 2.0,
                                 (log(peak[i]) - theta[i]) / (deviation[i] * deviation[i])) < 1e-12);
        for (int kept = 0; kept < 8; kept++) {
            double lengthscales[MOST_DIMENSION] = {9.0, 9.0, 9.0, 9.0};
            bandit_hyperparameters h = {
                .lengthscales = lengthscales, .signal = 8.0, .noise = 7.0, .mean = 6.0};
            p.data.learn_lengthscale = !(kept & 1);
            p.data.learn_signal = !(kept & 2);
            p.data.learn_noise = !(kept & 4);
            bandit_fit_prior(&p.data, &h);
            for (size_t i = 0; i < d; i++)
                assert_true(close_to(lengthscales[i], kept & 1 ? 9.0 : peak[i]) < 1e-12);
            assert_true(close_to(h.signal, kept & 2 ? 8.0 : 1.0) < 1e-12);
            assert_true(close_to(h.noise, kept & 4 ? 7.0 : 3e-3) < 1e-12);
            assert_true(h.mean == 0.0);
        }
    }
}

static void gradient_is_that_of_finite_differences(void **unused)
{
    (void)unused;
    static problem p;
    for (size_t k = 0; k < KERNELS * SHAPES; k++) {
        size_t n = shapes[k / KERNELS].n, d = shapes[k / KERNELS].d;
        for (size_t inducing = n / 4 + 1; inducing <= 2 * n + 3; inducing += n + 2) {
            for (int grouped = 0; grouped < 2; grouped++) {
                double theta[MOST_DIMENSION + 2], slope[MOST_DIMENSION + 2], some[] = {0.5, 0.5, 0.5, 0.5};
                kernel_problem(&p, 77 + k, k % KERNELS, n, d);
                if (grouped && d == MOST_DIMENSION && !p.data.gram) {
                    memcpy(p.group, (size_t[]){0, 1, 1, 0}, sizeof p.group);
                    p.data.group = p.group;
                    p.data.n_lengthscales = 2;
                }
                random_theta(&p, 5 + k, theta);
                bandit_likelihood o;
                double value, above, below;
                assert_int_equal(bandit_likelihood_init(&o, &p.data, inducing, some, NULL), BANDIT_OK);
                assert_true(bandit_likelihood_evaluate(&o, theta, &value, slope));
                for (size_t i = 0; i < bandit_likelihood_size(&p.data); i++) {
                    const double h = 1e-5;
                    double kept = theta[i];
                    theta[i] = kept + h;
                    assert_true(bandit_likelihood_evaluate(&o, theta, &above, NULL));
                    theta[i] = kept - h;
                    assert_true(bandit_likelihood_evaluate(&o, theta, &below, NULL));
                    theta[i] = kept;
                    assert_true(close_to(slope[i], (above - below) / (2.0 * h)) < 1e-5);
                }
                bandit_likelihood_clear(&o);
            }
        }
    }
}

/* q = K_xZ (K_ZZ)^{-1} K_Zx at the points, with the inducing points given, or K itself; n x n. */
static void covariances(const problem *p, const double *theta, const uint32_t *inducing, size_t m, double *q)
{
    static double k_zz[MOST * MOST], z[MOST * MOST];
    size_t n = p->data.n;
    double s2 = exp(theta[p->data.n_lengthscales]);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            k_zz[i * m + j] = s2 * (kernel(p, theta, inducing[i], inducing[j]) + (i == j ? 1e-8 : 0.0));
    factorize(k_zz, m);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++)
            z[i * m + k] = s2 * kernel(p, theta, inducing[k], i);
        substitute(k_zz, m, z + i * m);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            q[i * n + j] = m > 0 ? 0.0 : s2 * kernel(p, theta, i, j);
            for (size_t k = 0; k < m; k++)
                q[i * n + j] += z[i * m + k] * z[j * m + k];
        }
    }
}

/* Leave-one-out residuals against fits of all other rows: posterior of one point by a dense solve, in the
 * exact model and in the one of the inducing points. */
static void surprise_is_leave_one_out(void **unused)
{
    (void)unused;
    static problem p;
    static double a[MOST * MOST], q[MOST * MOST];
    double theta[MOST_DIMENSION + 2], value, surprise[MOST], some[] = {0.5, 0.5, 0.5, 0.5}, k[MOST], y[MOST];
    enum { N = 25 };
    static const size_t inducing[] = {N, 12, 4, 2};
    enum { WAYS = sizeof inducing / sizeof *inducing };
    for (size_t way = 0, round = 0; round < 2 * KERNELS * WAYS; way = ++round % WAYS) {
        size_t kind = round / WAYS % KERNELS;
        bool linear = kernels[kind].kernel == BANDIT_KERNEL_LINEAR;
        if (linear && inducing[way] > 4 && inducing[way] < N) /* of rank four */
            continue;
        kernel_problem(&p, 9 + round, kind, N, linear ? 4 : 2);
        p.data.has_mean = round < KERNELS * WAYS;
        random_theta(&p, 8, theta);
        bandit_likelihood o;
        assert_int_equal(bandit_likelihood_init(&o, &p.data, inducing[way], some, NULL), BANDIT_OK);
        assert_true(bandit_likelihood_surprise(&o, theta, &value, surprise));
        assert_int_equal(o.exact ? N : o.m, inducing[way]);
        size_t q_entries = p.data.n_lengthscales;
        double s2 = exp(theta[q_entries]), tau = exp(theta[q_entries + 1]), mu = o.mean;
        assert_true(p.data.has_mean ? mu != 0.0 : mu == 0.0);
        covariances(&p, theta, o.inducing, o.exact ? 0 : o.m, q);
        for (size_t left = 0; left < N; left++) {
            size_t rows = 0;
            for (size_t i = 0; i < N; i++) {
                if (i == left)
                    continue;
                size_t column = 0;
                for (size_t j = 0; j < N; j++) {
                    if (j != left)
                        a[rows * (N - 1) + column++] = q[i * N + j] + (i == j ? tau / p.count[i] : 0.0);
                }
                k[rows] = q[i * N + left];
                y[rows++] = p.mean[i] - mu;
            }
            factorize(a, N - 1);
            substitute(a, N - 1, k);
            substitute(a, N - 1, y);
            double mean = mu, variance = s2 * kernel(&p, theta, left, left) + tau / p.count[left];
            for (size_t i = 0; i < N - 1; i++) {
                mean += k[i] * y[i];
                variance -= k[i] * k[i];
            }
            assert_true(close_to(surprise[left], pow(p.mean[left] - mean, 2.0) / variance) < 1e-8);
        }
        bandit_likelihood_clear(&o);
    }
}

/* ---- learning ------------------------------------------------------------------------------------------ */

static const bandit_fit_limits limits = {.max_inducing = 64, .max_evaluations = 60};

/* A draw of a Gaussian process at the problem's points, plus noise. */
static void draw(problem *p, const double *theta, uint64_t seed)
{
    size_t n = p->data.n, q = p->data.n_lengthscales;
    uint64_t state = seed;
    static double a[MOST * MOST];
    double z[MOST];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = exp(theta[q]) * (kernel(p, theta, i, j) + (i == j ? 1e-9 : 0.0));
        z[i] = dense_normal(&state);
    }
    factorize(a, n);
    for (size_t i = 0; i < n; i++) {
        p->mean[i] = sqrt(exp(theta[q + 1])) * dense_normal(&state);
        p->count[i] = 1.0;
        for (size_t k = 0; k <= i; k++)
            p->mean[i] += a[i * n + k] * z[k];
    }
    p->data.within = p->data.within_degrees = 0.0;
}

static void lengthscales_of_a_draw_are_found(void **unused)
{
    (void)unused;
    static problem p;
    double relevant[2] = {0.0, 0.0}, irrelevant = INFINITY;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        const double truth[] = {log(0.3), log(0.3), log(50.0), log(1.0), log(1e-4)};
        double found[3] = {1.0, 1.0, 1.0};
        fill(&p, seed, BANDIT_KERNEL_MATERN, 2.5, 64, 3);
        draw(&p, truth, 100 + seed);
        bandit_hyperparameters h = {.lengthscales = found, .signal = 1.0, .noise = 0.01};
        double objective, true_value;
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, &objective, NULL, NULL, &bandit_executor_serial, NULL),
            BANDIT_OK);
        bandit_likelihood o;
        assert_int_equal(bandit_likelihood_init(&o, &p.data, 64, found, NULL), BANDIT_OK);
        assert_true(bandit_likelihood_evaluate(&o, truth, &true_value, NULL));
        assert_true(objective > true_value); /* the maximum is no worse than the truth */
        bandit_likelihood_clear(&o);
        relevant[0] += log(found[0]) / 5.0;
        relevant[1] += log(found[1]) / 5.0;
        irrelevant = fmin(irrelevant, found[2]);
        assert_true(found[2] > 4.0 * found[0] && found[2] > 4.0 * found[1]);
    }
    /* within a factor of two, on average over five draws */
    assert_true(fabs(relevant[0] - log(0.3)) < log(2.0) && fabs(relevant[1] - log(0.3)) < log(2.0));
    assert_true(irrelevant > 1.5);
}

static void noise_is_found(void **unused)
{
    (void)unused;
    static problem p;
    for (double noise = 1e-3; noise < 1.0; noise *= 10.0) {
        const double truth[] = {log(0.5), log(0.5), log(1.0), log(noise)};
        double found[2] = {1.0, 1.0};
        fill(&p, 3, BANDIT_KERNEL_MATERN, 2.5, 64, 2);
        draw(&p, truth, 41);
        bandit_hyperparameters h = {.lengthscales = found, .signal = 1.0, .noise = 0.01};
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, NULL, NULL, NULL, &bandit_executor_serial, NULL), BANDIT_OK);
        assert_true(h.noise > noise / 3.0 && h.noise < noise * 3.0);
    }
}

static void what_is_not_learned_stays(void **unused)
{
    (void)unused;
    static problem p;
    fill(&p, 3, BANDIT_KERNEL_MATERN, 2.5, 20, 2);
    for (int kept = 0; kept < 8; kept++) {
        double found[2] = {0.123, 4.56};
        bandit_hyperparameters h = {.lengthscales = found, .signal = 7.0, .noise = 0.89};
        p.data.learn_lengthscale = !(kept & 1);
        p.data.learn_signal = !(kept & 2);
        p.data.learn_noise = !(kept & 4);
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, NULL, NULL, NULL, &bandit_executor_serial, NULL), BANDIT_OK);
        assert_true((close_to(found[0], 0.123) < 1e-12 && close_to(found[1], 4.56) < 1e-12) == (kept & 1));
        assert_true((close_to(h.signal, 7.0) < 1e-12) == !!(kept & 2));
        assert_true((close_to(h.noise, 0.89) < 1e-12) == !!(kept & 4));
    }
}

/* One reward, equal rewards, equal points, all at once: always finite, and the same twice. */
static void poor_data_are_survived(void **unused)
{
    (void)unused;
    static problem p;
    for (size_t n = 1; n <= 12; n++) {
        for (int trouble = 0; trouble < 4; trouble++) {
            fill(&p, n, BANDIT_KERNEL_GAUSSIAN, 2.5, n, 2);
            for (size_t i = 0; i < n; i++) {
                if (trouble & 1)
                    p.mean[i] = 0.0;
                if (trouble & 2)
                    memcpy(p.points + 2 * i, p.points, 2 * sizeof(double));
            }
            double found[2][2];
            bandit_hyperparameters h[2];
            for (int again = 0; again < 2; again++) {
                found[again][0] = found[again][1] = 1.0;
                h[again] =
                    (bandit_hyperparameters){.lengthscales = found[again], .signal = 1.0, .noise = 0.01};
                bandit_fit_limits few = {.max_inducing = 4, .max_evaluations = 60};
                assert_int_equal(bandit_fit(&p.data, &few, &h[again], &h[again], NULL, NULL, NULL,
                                            &bandit_executor_serial, NULL),
                                 BANDIT_OK);
                assert_true(isfinite(found[again][0]) && isfinite(found[again][1]));
                assert_true(h[again].signal > 0.0 && h[again].noise > 0.0 && isfinite(h[again].mean));
            }
            assert_memory_equal(found[0], found[1], sizeof found[0]);
            assert_true(h[0].signal == h[1].signal && h[0].noise == h[1].noise && h[0].mean == h[1].mean);
        }
    }
}

/* Parts in another order, each with a worker's memory of its own. */
static void backwards(void *context, size_t n, bandit_task *task, void *arg)
{
    size_t workers = *(const size_t *)context;
    for (size_t i = n; i-- > 0;)
        task(arg, i, (i + 1) % workers);
}

static void executors_change_nothing(void **unused)
{
    (void)unused;
    static problem p;
    size_t workers = 3;
    const bandit_executor executors[] = {bandit_executor_serial,
                                         {.for_each = backwards, .context = &workers, .workers = workers}};
    for (size_t inducing = 8; inducing <= 64; inducing *= 8) {
        double found[2][2], surprise[2][40], objective[2];
        bandit_hyperparameters h[2];
        const bandit_fit_limits some = {.max_inducing = inducing, .max_evaluations = 30};
        fill(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
        for (int i = 0; i < 2; i++) {
            found[i][0] = found[i][1] = 1.0;
            h[i] = (bandit_hyperparameters){.lengthscales = found[i], .signal = 1.0, .noise = 0.01};
            assert_int_equal(bandit_fit(&p.data, &some, &h[i], &h[i], &objective[i], surprise[i], NULL,
                                        &executors[i], NULL),
                             BANDIT_OK);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
        assert_memory_equal(surprise[0], surprise[1], sizeof surprise[0]);
        assert_true(h[0].signal == h[1].signal && h[0].noise == h[1].noise && h[0].mean == h[1].mean);
        assert_true(objective[0] == objective[1]);
    }
}

/* A second fit of the same data with what the first knows, from elsewhere: as without. */
static void fixed_ends_change_nothing(void **unused)
{
    (void)unused;
    static problem p;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        double theta[4], found[2][2], objective[2];
        bandit_fit_fixed fixed = {.theta = theta};
        bandit_hyperparameters h[2];
        fill(&p, seed, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
        for (int i = 0; i < 4; i++) { /* the last without */
            int k = i == 3;
            double from = i == 0 ? 1.0 : i == 1 ? 0.2 : 5.0;
            found[k][0] = found[k][1] = from;
            h[k] = (bandit_hyperparameters){.lengthscales = found[k], .signal = 1.0, .noise = 0.01};
            assert_int_equal(bandit_fit(&p.data, &limits, &h[k], &h[k], &objective[k], NULL,
                                        k ? NULL : &fixed, &bandit_executor_serial, NULL),
                             BANDIT_OK);
            assert_true(fixed.known);
        }
        assert_memory_equal(found[0], found[1], sizeof found[0]);
        assert_true(h[0].signal == h[1].signal && h[0].noise == h[1].noise && h[0].mean == h[1].mean);
        assert_true(objective[0] == objective[1]);
    }
}

/* What is known of the other ascents, as if they had come to nothing: only the one from the start counts. */
static bandit_fit_fixed none_else(double *theta)
{
    return (bandit_fit_fixed){.known = true, .value = -INFINITY, .theta = theta};
}

/* The first evaluation is at the start, brought inside the bounds: with no second one that is the result. */
static void starts_are_brought_inside_the_bounds(void **unused)
{
    enum { D = 3 };
    static const double extent[D] = {1.0, 0.25, 40.0};
    static problem p;
    const bandit_fit_limits once = {.max_inducing = 64, .max_evaluations = 1};
    (void)unused;
    fill(&p, 9, BANDIT_KERNEL_MATERN, 1.5, 12, D);
    memcpy(p.extent, extent, sizeof extent);
    for (int high = 0; high < 2; high++) {
        double theta[D + 2] = {0}, found[D], objective, value;
        bandit_fit_fixed fixed = none_else(theta);
        bandit_hyperparameters h = {
            .lengthscales = found, .signal = high ? 1e7 : 1e-7, .noise = high ? 1e7 : 1e-15};
        for (size_t j = 0; j < D; j++)
            found[j] = high ? 1e6 : 1e-6;
        assert_int_equal(
            bandit_fit(&p.data, &once, &h, &h, &objective, NULL, &fixed, &bandit_executor_serial, NULL),
            BANDIT_OK);
        for (size_t j = 0; j < D; j++) {
            theta[j] = log((high ? 200.0 : 0.005) * extent[j]);
            assert_true(close_to(found[j], exp(theta[j])) < 1e-12);
        }
        theta[D] = log(high ? 1e3 : 1e-2);
        theta[D + 1] = log(high ? 1e2 : 1e-8);
        assert_true(close_to(h.signal, exp(theta[D])) < 1e-12);
        assert_true(close_to(h.noise, exp(theta[D + 1])) < 1e-12);
        bandit_likelihood o;
        assert_int_equal(bandit_likelihood_init(&o, &p.data, 64, found, NULL), BANDIT_OK);
        assert_true(bandit_likelihood_evaluate(&o, theta, &value, NULL));
        assert_true(close_to(objective, value) < 1e-9);
        bandit_likelihood_clear(&o);
    }
}

/* With an evaluation for each ascent the result is the best of the four places where they begin: what is
 * given, the priors' peak, and there with lengthscales that are exp(1.4) times less and more. */
static void ascents_begin_at_four_places(void **unused)
{
    enum { D = 2, PLACES = 4 };
    static const double aside[PLACES] = {0.0, 0.0, -1.4, 1.4};
    static problem p;
    const bandit_fit_limits once = {.max_inducing = 64, .max_evaluations = 1};
    size_t best_at[PLACES] = {0};
    (void)unused;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        double peak[D], theta[PLACES][D + 2], fixed_theta[D + 2], found[D], value[PLACES], objective;
        bandit_hyperparameters prior = {.lengthscales = peak, .signal = 1.0, .noise = 1.0};
        bandit_fit_fixed fixed = {.theta = fixed_theta};
        fill(&p, seed, BANDIT_KERNEL_GAUSSIAN, 0.0, 40, D);
        bandit_fit_prior(&p.data, &prior);
        for (size_t k = 0; k < PLACES; k++) {
            for (size_t j = 0; j < D; j++)
                theta[k][j] = k == 0 ? log(0.4) : log(peak[j]) + aside[k];
            theta[k][D] = k == 0 ? log(3.0) : log(prior.signal);
            theta[k][D + 1] = k == 0 ? log(0.5) : log(prior.noise);
        }
        draw(&p, theta[seed % PLACES], 50 + seed);
        size_t best = 0, best_else = 1;
        for (size_t k = 0; k < PLACES; k++) {
            bandit_likelihood o;
            assert_int_equal(bandit_likelihood_init(&o, &p.data, 64, NULL, NULL), BANDIT_OK);
            assert_true(bandit_likelihood_evaluate(&o, theta[k], &value[k], NULL));
            bandit_likelihood_clear(&o);
            best = value[k] > value[best] ? k : best;
            best_else = k > 0 && value[k] > value[best_else] ? k : best_else;
        }
        best_at[best]++;
        found[0] = found[1] = 0.4;
        bandit_hyperparameters h = {.lengthscales = found, .signal = 3.0, .noise = 0.5};
        assert_int_equal(
            bandit_fit(&p.data, &once, &h, &h, &objective, NULL, &fixed, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_true(close_to(objective, value[best]) < 1e-9);
        for (size_t j = 0; j < D; j++)
            assert_true(close_to(found[j], exp(theta[best][j])) < 1e-12);
        assert_true(close_to(h.signal, exp(theta[best][D])) < 1e-12);
        assert_true(close_to(h.noise, exp(theta[best][D + 1])) < 1e-12);
        assert_true(fixed.known && close_to(fixed.value, value[best_else]) < 1e-9);
        for (size_t j = 0; j < D + 2; j++)
            assert_true(fabs(fixed_theta[j] - theta[best_else][j]) < 1e-12);
    }
    for (size_t k = 0; k < PLACES; k++)
        assert_true(best_at[k] > 0);
}

/* A fit that goes on from where one ended finds next to nothing. */
static void ascents_end_at_a_maximum(void **unused)
{
    static problem p;
    (void)unused;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        double theta[4] = {0}, found[2] = {1.0, 1.0}, objective, further;
        bandit_fit_fixed fixed = none_else(theta);
        bandit_hyperparameters h = {.lengthscales = found, .signal = 1.0, .noise = 0.01};
        fill(&p, seed, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, &objective, NULL, NULL, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, &further, NULL, &fixed, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_true(further >= objective && further - objective < 1e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_equals_the_dense_computation),
        cmocka_unit_test(bound_grows_to_the_exact_value),
        cmocka_unit_test(the_prior_is_largest_at_its_peak),
        cmocka_unit_test(the_prior_is_as_documented),
        cmocka_unit_test(gradient_is_that_of_finite_differences),
        cmocka_unit_test(surprise_is_leave_one_out),
        cmocka_unit_test(lengthscales_of_a_draw_are_found),
        cmocka_unit_test(noise_is_found),
        cmocka_unit_test(what_is_not_learned_stays),
        cmocka_unit_test(poor_data_are_survived),
        cmocka_unit_test(executors_change_nothing),
        cmocka_unit_test(fixed_ends_change_nothing),
        cmocka_unit_test(starts_are_brought_inside_the_bounds),
        cmocka_unit_test(ascents_begin_at_four_places),
        cmocka_unit_test(ascents_end_at_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
