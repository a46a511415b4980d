/* What a fit maximizes: the bound against a dense computation with a row a reward, its gradient against
 * finite differences, its priors, and leave-one-out residuals against solves without the row. */
#include "core/learning/likelihood.h"

#include "tests/support/dense_gp.h"
#include "tests/support/fit_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const double log_two_pi = 1.83787706640934548356;

/* log N(y | mu, Q + tau I) − sum_i (k_ii − q_ii) / (2 tau), a row a reward, Q = K_xZ (K_ZZ)^{-1} K_Zx with
 * the inducing points given, or K itself; and the prior on mu, which is maximized by golden section. */
static double dense_bound(const fit_problem *p, const double *theta, const uint32_t *inducing, size_t m)
{
    size_t t = p->n_rows, q = p->data.n_lengthscales;
    double s2 = exp(theta[q]), tau = exp(theta[q + 1]), missing = 0.0;
    double *a = dense_alloc(t * t, sizeof *a), *z = dense_alloc(t * (m + 1), sizeof *z);
    double *k_zz = dense_alloc(m * m + 1, sizeof *k_zz);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            k_zz[i * m + j] =
                s2 * (fit_problem_kernel(p, theta, inducing[i], inducing[j]) + (i == j ? 1e-8 : 0.0));
    dense_factorize(k_zz, m);
    for (size_t i = 0; i < t; i++) {
        for (size_t k = 0; k < m; k++)
            z[i * m + k] = s2 * fit_problem_kernel(p, theta, inducing[k], p->row_of[i]);
        dense_substitute(k_zz, m, z + i * m);
    }
    for (size_t i = 0; i < t; i++) {
        for (size_t j = 0; j < t; j++) {
            double k = s2 * fit_problem_kernel(p, theta, p->row_of[i], p->row_of[j]),
                   approximate = m > 0 ? 0.0 : k;
            for (size_t l = 0; l < m; l++)
                approximate += z[i * m + l] * z[j * m + l];
            a[i * t + j] = approximate + (i == j ? tau : 0.0);
            if (i == j)
                missing += k - approximate;
        }
    }
    dense_factorize(a, t);
    double log_det = 0.0, one_one = 0.0, one_y = 0.0, y_y = 0.0;
    double *y = dense_alloc(t, sizeof *y), *ones = dense_alloc(t, sizeof *ones);
    for (size_t i = 0; i < t; i++) {
        log_det += 2.0 * log(a[i * t + i]);
        y[i] = p->reward[i];
        ones[i] = 1.0;
    }
    dense_substitute(a, t, y);
    dense_substitute(a, t, ones);
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

static void random_theta(const fit_problem *p, uint64_t seed, double *theta)
{
    uint64_t state = seed;
    size_t q = p->data.n_lengthscales;
    for (size_t i = 0; i < q; i++)
        theta[i] = log(0.2 + dense_uniform(&state));
    theta[q] = log(0.5 + dense_uniform(&state));
    theta[q + 1] = log(0.02 + 0.2 * dense_uniform(&state));
}

static const struct {
    bandit_kernel_type kernel;
    double nu, short_share;
} kernels[] = {{BANDIT_KERNEL_GAUSSIAN, 2.5, 0.0}, {BANDIT_KERNEL_GAUSSIAN, 2.5, 0.3},
               {BANDIT_KERNEL_MATERN, 0.5, 0.0},   {BANDIT_KERNEL_MATERN, 1.5, 0.2},
               {BANDIT_KERNEL_MATERN, 2.5, 0.0},   {BANDIT_KERNEL_MATERN, 2.5, 0.3},
               {BANDIT_KERNEL_LINEAR, 2.5, 0.0}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static void kernel_problem(fit_problem *p, uint64_t seed, size_t k, size_t n, size_t d)
{
    fit_problem_init(p, seed, kernels[k].kernel, kernels[k].nu, n, d);
    p->data.short_share = kernels[k].short_share;
    if (kernels[k].kernel == BANDIT_KERNEL_LINEAR)
        fit_problem_make_linear(p);
}

/* Whole tiles and parts of one, one point, one feature. */
static const struct {
    size_t n, d;
} shapes[] = {{30, 4}, {30, 1}, {16, 2}, {17, 3}, {33, 1}, {2, 1}, {1, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void bound_equals_the_dense_computation(void **unused)
{
    (void)unused;
    static fit_problem p;
    double theta[FIT_PROBLEM_DIMENSION + 2], value;
    for (size_t k = 0; k < KERNELS * SHAPES; k++) {
        size_t n = shapes[k / KERNELS].n, d = shapes[k / KERNELS].d;
        for (size_t inducing = 1 + n / 10; inducing <= n + 18; inducing += n > 2 ? 15 : 1) {
            kernel_problem(&p, 10 * k + inducing, k % KERNELS, n, d);
            p.data.has_mean = k != 1;
            random_theta(&p, k, theta);
            bandit_likelihood o;
            double some[FIT_PROBLEM_DIMENSION] = {0.5, 0.5, 0.5, 0.5};
            assert_int_equal(bandit_likelihood_init(&o, &p.data, inducing, some, NULL), BANDIT_OK);
            assert_true(bandit_likelihood_evaluate(&o, theta, &value, NULL));
            double dense = dense_bound(&p, theta, o.inducing, o.exact ? 0 : o.m);
            dense += bandit_likelihood_prior(&p.data, theta, NULL);
            assert_true(relative_to_size(value, dense) < 1e-7);
            assert_true(o.exact == (inducing >= n));
            bandit_likelihood_clear(&o);
        }
    }
}

/* No more inducing points than a kernel matrix has directions, but one in any case. */
static void inducing_points_are_independent(void **unused)
{
    (void)unused;
    static fit_problem p;
    for (size_t d = 0; d <= FIT_PROBLEM_DIMENSION; d++) {
        bandit_likelihood o;
        kernel_problem(&p, 40 + d, KERNELS - 1, 30, d > 0 ? d : 1); /* the linear kernel, of rank d */
        for (size_t i = 0; i < 30 * 30 && d == 0; i++)
            p.gram[i] = 0.0;
        assert_int_equal(bandit_likelihood_init(&o, &p.data, 9, NULL, NULL), BANDIT_OK);
        assert_int_equal(o.m, d > 0 ? d : 1);
        for (size_t i = 0; i < o.m; i++) {
            assert_true(o.inducing[i] < 30);
            for (size_t k = 0; k < i; k++)
                assert_true(o.inducing[k] != o.inducing[i]);
        }
        bandit_likelihood_clear(&o);
    }
}

/* Fewer inducing points, a lower bound. */
static void bound_grows_to_the_exact_value(void **unused)
{
    (void)unused;
    static fit_problem p;
    double theta[FIT_PROBLEM_DIMENSION + 2], previous = -INFINITY;
    fit_problem_init(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 40, 2);
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
    static fit_problem p;
    double lengthscales[2], theta[4], slope[4] = {0.0};
    bandit_hyperparameters peak = {.lengthscales = lengthscales};
    fit_problem_init(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 20, 2);
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
    static fit_problem p;
    for (size_t d = 1; d <= FIT_PROBLEM_DIMENSION; d++) {
        double peak[FIT_PROBLEM_DIMENSION + 2], deviation[FIT_PROBLEM_DIMENSION + 2],
            theta[FIT_PROBLEM_DIMENSION + 2];
        double slope[FIT_PROBLEM_DIMENSION + 2], log_density = 0.0;
        uint64_t state = d;
        fit_problem_init(&p, 5, BANDIT_KERNEL_MATERN, 2.5, 20, d);
        for (size_t i = 0; i < d + 2; i++) {
            if (i < d)
                p.extent[i] = 0.5 + 3.0 * dense_uniform(&state);
            peak[i] = i < d ? 0.35 * sqrt((double)d) * p.extent[i] : i == d ? 1.0 : 3e-3;
            deviation[i] = i < d ? 1.2 : i == d ? 1.0 : 2.0;
            theta[i] = dense_normal(&state);
            slope[i] = 7.0; /* is added to */
            log_density -= pow((theta[i] - log(peak[i])) / deviation[i], 2.0) / 2.0;
        }
        assert_true(relative_to_size(bandit_likelihood_prior(&p.data, theta, slope), log_density) < 1e-12);
        assert_true(bandit_likelihood_prior(&p.data, theta, NULL) ==
                    bandit_likelihood_prior(&p.data, theta, slope));
        for (size_t i = 0; i < d + 2; i++)
            assert_true(relative_to_size((slope[i] - 7.0) / 2.0,
                                         (log(peak[i]) - theta[i]) / (deviation[i] * deviation[i])) < 1e-12);
        for (int kept = 0; kept < 8; kept++) {
            double lengthscales[FIT_PROBLEM_DIMENSION] = {9.0, 9.0, 9.0, 9.0};
            bandit_hyperparameters h = {
                .lengthscales = lengthscales, .signal = 8.0, .noise = 7.0, .mean = 6.0};
            p.data.learn_lengthscale = !(kept & 1);
            p.data.learn_signal = !(kept & 2);
            p.data.learn_noise = !(kept & 4);
            bandit_fit_prior(&p.data, &h);
            for (size_t i = 0; i < d; i++)
                assert_true(relative_to_size(lengthscales[i], kept & 1 ? 9.0 : peak[i]) < 1e-12);
            assert_true(relative_to_size(h.signal, kept & 2 ? 8.0 : 1.0) < 1e-12);
            assert_true(relative_to_size(h.noise, kept & 4 ? 7.0 : 3e-3) < 1e-12);
            assert_true(h.mean == 0.0);
        }
    }
}

static void gradient_is_that_of_finite_differences(void **unused)
{
    (void)unused;
    static fit_problem p;
    for (size_t k = 0; k < KERNELS * SHAPES; k++) {
        size_t n = shapes[k / KERNELS].n, d = shapes[k / KERNELS].d;
        for (size_t inducing = n / 4 + 1; inducing <= 2 * n + 3; inducing += n + 2) {
            for (int grouped = 0; grouped < 2; grouped++) {
                double theta[FIT_PROBLEM_DIMENSION + 2], slope[FIT_PROBLEM_DIMENSION + 2],
                    some[] = {0.5, 0.5, 0.5, 0.5};
                kernel_problem(&p, 77 + k, k % KERNELS, n, d);
                if (grouped && d == FIT_PROBLEM_DIMENSION && !p.data.gram) {
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
                    assert_true(relative_to_size(slope[i], (above - below) / (2.0 * h)) < 1e-5);
                }
                bandit_likelihood_clear(&o);
            }
        }
    }
}

/* Far from the origin, as near it: coordinates are taken about their mean before they are squared. */
static void where_points_are_does_not_matter(void **unused)
{
    (void)unused;
    static fit_problem p;
    for (size_t round = 0; round < 2 * (KERNELS - 1); round++) {
        double theta[4], value[2], slope[2][4], some[2] = {0.5, 0.5};
        kernel_problem(&p, 3 + round, round / 2, 30, 2);
        random_theta(&p, 4, theta);
        for (size_t i = 0; i < 60; i++) /* so that the shift is exact */
            p.points[i] = ldexp(rint(ldexp(p.points[i], 20)), -20);
        for (size_t far = 0; far < 2; far++) {
            bandit_likelihood o;
            for (size_t i = 0; i < 60; i++)
                p.points[i] += far ? 0x1p27 : 0.0;
            assert_int_equal(bandit_likelihood_init(&o, &p.data, round % 2 ? 8 : 30, some, NULL), BANDIT_OK);
            assert_true(bandit_likelihood_evaluate(&o, theta, &value[far], slope[far]));
            bandit_likelihood_clear(&o);
        }
        assert_true(relative_to_size(value[1], value[0]) < 1e-7);
        for (size_t i = 0; i < 4; i++)
            assert_true(relative_to_size(slope[1][i], slope[0][i]) < 1e-6);
    }
}

/* q = K_xZ (K_ZZ)^{-1} K_Zx at the points, with the inducing points given, or K itself; n x n. */
static void covariances(const fit_problem *p, const double *theta, const uint32_t *inducing, size_t m,
                        double *q)
{
    static double k_zz[FIT_PROBLEM_POINTS * FIT_PROBLEM_POINTS], z[FIT_PROBLEM_POINTS * FIT_PROBLEM_POINTS];
    size_t n = p->data.n;
    double s2 = exp(theta[p->data.n_lengthscales]);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            k_zz[i * m + j] =
                s2 * (fit_problem_kernel(p, theta, inducing[i], inducing[j]) + (i == j ? 1e-8 : 0.0));
    dense_factorize(k_zz, m);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < m; k++)
            z[i * m + k] = s2 * fit_problem_kernel(p, theta, inducing[k], i);
        dense_substitute(k_zz, m, z + i * m);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            q[i * n + j] = m > 0 ? 0.0 : s2 * fit_problem_kernel(p, theta, i, j);
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
    static fit_problem p;
    static double a[FIT_PROBLEM_POINTS * FIT_PROBLEM_POINTS], q[FIT_PROBLEM_POINTS * FIT_PROBLEM_POINTS];
    double theta[FIT_PROBLEM_DIMENSION + 2], value, surprise[FIT_PROBLEM_POINTS],
        some[] = {0.5, 0.5, 0.5, 0.5}, k[FIT_PROBLEM_POINTS], y[FIT_PROBLEM_POINTS];
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
            dense_factorize(a, N - 1);
            dense_substitute(a, N - 1, k);
            dense_substitute(a, N - 1, y);
            double mean = mu, variance = s2 * fit_problem_kernel(&p, theta, left, left) + tau / p.count[left];
            for (size_t i = 0; i < N - 1; i++) {
                mean += k[i] * y[i];
                variance -= k[i] * k[i];
            }
            assert_true(relative_to_size(surprise[left], pow(p.mean[left] - mean, 2.0) / variance) < 1e-8);
        }
        bandit_likelihood_clear(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_equals_the_dense_computation),
        cmocka_unit_test(inducing_points_are_independent),
        cmocka_unit_test(bound_grows_to_the_exact_value),
        cmocka_unit_test(the_prior_is_largest_at_its_peak),
        cmocka_unit_test(the_prior_is_as_documented),
        cmocka_unit_test(gradient_is_that_of_finite_differences),
        cmocka_unit_test(where_points_are_does_not_matter),
        cmocka_unit_test(surprise_is_leave_one_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
