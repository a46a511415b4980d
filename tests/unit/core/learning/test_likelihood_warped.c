/* The likelihood of warped rewards: against a dense computation, its signal against a search, its gradient
 * against differences. */
#include "core/learning/likelihood.h"
#include "core/learning/warp.h"

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

enum { SIZE = FIT_PROBLEM_DIMENSION + 3 };

static void warped_problem(fit_problem *p, uint64_t seed, size_t n, size_t d)
{
    fit_problem_init(p, seed, BANDIT_KERNEL_MATERN, 2.5, n, d);
    if (seed % 5 == 4)
        fit_problem_make_linear(p);
    p->data.warped = p->data.learn_power = true;
}

static void random_theta(const fit_problem *p, uint64_t seed, double *theta)
{
    uint64_t state = seed;
    size_t q = p->data.n_lengthscales;
    for (size_t i = 0; i < q; i++)
        theta[i] = log(0.2 + dense_uniform(&state));
    theta[q] = log(0.5 + dense_uniform(&state));
    theta[q + 1] = log(0.02 + 0.2 * dense_uniform(&state));
    theta[q + 2] = 0.5 + 3.0 * dense_uniform(&state);
}

static double value_at(const fit_problem *p, size_t inducing, const double *theta, double *gradient,
                       double *s2)
{
    const double some[] = {0.5, 0.5, 0.5, 0.5};
    bandit_likelihood o;
    double value;
    assert_int_equal(bandit_likelihood_init(&o, &p->data, inducing, some, NULL), BANDIT_OK);
    assert_true(bandit_likelihood_evaluate(&o, theta, &value, gradient));
    if (s2)
        *s2 = o.root * o.root;
    bandit_likelihood_clear(&o);
    return value;
}

/* Two of three points have told variances; the squares of one point were told with one as well. */
typedef struct told_problem {
    fit_problem p;
    double variance[FIT_PROBLEM_POINTS];
    bandit_fit_within within;
} told_problem;

static void tell_variances(told_problem *t, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = 0; i < t->p.data.n; i++)
        t->variance[i] = i % 3 ? 0.3 * dense_uniform(&state) : 0.0;
    t->within = (bandit_fit_within){.squares = 0.7, .degrees = 3.0, .variance = 0.2};
    t->p.data.variance = t->variance;
    t->p.data.told = &t->within;
    t->p.data.n_told = 1;
}

/* log N(z | mu, s^2 K + diag((tau + v) / c)) of the means, with what is known of the rest. */
static double dense_told_density(const told_problem *t, const double *theta)
{
    const fit_problem *p = &t->p;
    size_t n = p->data.n, q = p->data.n_lengthscales;
    double s2 = exp(theta[q]), tau = exp(theta[q + 1]), power = p->data.warped ? theta[q + 2] : 1.0;
    double *a = dense_alloc(n * n, sizeof *a), *z = dense_alloc(n, sizeof *z),
           *ones = dense_alloc(n, sizeof *ones);
    double log_det = 0.0, one_one = p->data.warped ? 0.0 : 1.0, one_z = 0.0, z_z = 0.0, rest = 0.0;
    for (size_t i = 0; i < n; i++) {
        double log_slope = (power - 1.0) * (p->mean[i] < 0.0 ? -1.0 : 1.0) * log(1.0 + fabs(p->mean[i]));
        double own = (tau + t->variance[i] * exp(2.0 * log_slope)) / p->count[i];
        z[i] = bandit_warp(p->mean[i], power);
        ones[i] = 1.0;
        rest += 2.0 * log_slope - log(p->count[i]);
        for (size_t j = 0; j < n; j++)
            a[i * n + j] = s2 * fit_problem_kernel(p, theta, i, j) + (i == j ? own : 0.0);
    }
    rest -= p->data.within_degrees * (1.83787706640934548356 + log(tau)) + p->data.within / tau;
    rest -= 3.0 * (1.83787706640934548356 + log(tau + 0.2)) + 0.7 / (tau + 0.2);
    dense_factorize(a, n);
    dense_substitute(a, n, z);
    dense_substitute(a, n, ones);
    for (size_t i = 0; i < n; i++) {
        log_det += 2.0 * log(a[i * n + i]);
        one_one += ones[i] * ones[i];
        one_z += ones[i] * z[i];
        z_z += z[i] * z[i];
    }
    free(a);
    free(z);
    free(ones);
    return -0.5 * (z_z - one_z * one_z / one_one + log_det + (double)n * 1.83787706640934548356 - rest);
}

static void told_variances_join_the_noise(void **state)
{
    (void)state;
    static told_problem t;
    for (uint64_t seed = 0; seed < 20; seed++) {
        double theta[SIZE];
        warped_problem(&t.p, 500 + seed, 5 + seed, 1 + seed % 4);
        tell_variances(&t, seed);
        t.p.data.warped = seed % 2;
        random_theta(&t.p, seed, theta);
        assert_false(bandit_likelihood_profiles(&t.p.data));
        double dense = dense_told_density(&t, theta) + bandit_likelihood_prior(&t.p.data, theta, NULL);
        assert_true(relative_to_size(value_at(&t.p, 64, theta, NULL, NULL), dense) < 1e-8);
    }
}

/* With every point an inducing one, the bound is the value; its slopes are those of differences. */
static void told_variances_are_in_the_gradient(void **state)
{
    (void)state;
    static told_problem t;
    for (uint64_t round = 0; round < 40; round++) {
        double theta[SIZE], slope[SIZE];
        size_t n = 5 + round, inducing = round % 2 ? 64 : 1 + n / 4;
        warped_problem(&t.p, 700 + round, n, 1 + round % 4);
        tell_variances(&t, round);
        t.p.data.warped = round % 4 < 2;
        random_theta(&t.p, round, theta);
        value_at(&t.p, inducing, theta, slope, NULL);
        for (size_t i = 0; i < bandit_likelihood_size(&t.p.data); i++) {
            const double h = 1e-5, kept = theta[i];
            theta[i] = kept + h;
            double above = value_at(&t.p, inducing, theta, NULL, NULL);
            theta[i] = kept - h;
            double below = value_at(&t.p, inducing, theta, NULL, NULL);
            theta[i] = kept;
            assert_true(relative_to_size(slope[i], (above - below) / (2.0 * h)) < 1e-5);
        }
    }
}

/* log N(z | mu, s^2 K + tau I) of single rewards about their warped means, mu the best, and the log slopes. */
static double dense_density(const fit_problem *p, const double *theta)
{
    size_t t = p->n_rows, q = p->data.n_lengthscales;
    double s2 = exp(theta[q]), tau = exp(theta[q + 1]), power = theta[q + 2];
    double *a = dense_alloc(t * t, sizeof *a), *z = dense_alloc(t, sizeof *z),
           *ones = dense_alloc(t, sizeof *ones);
    double log_det = 0.0, one_one = 0.0, one_z = 0.0, z_z = 0.0, slopes = 0.0;
    for (size_t i = 0; i < t; i++) {
        double mean = p->mean[p->row_of[i]];
        z[i] = bandit_warp(mean, power) + p->reward[i] - mean;
        ones[i] = 1.0;
        for (size_t j = 0; j < t; j++)
            a[i * t + j] =
                s2 * fit_problem_kernel(p, theta, p->row_of[i], p->row_of[j]) + (i == j ? tau : 0.0);
    }
    dense_factorize(a, t);
    dense_substitute(a, t, z);
    dense_substitute(a, t, ones);
    for (size_t i = 0; i < t; i++) {
        log_det += 2.0 * log(a[i * t + i]);
        one_one += ones[i] * ones[i];
        one_z += ones[i] * z[i];
        z_z += z[i] * z[i];
    }
    for (size_t i = 0; i < p->data.n; i++)
        slopes += (power - 1.0) * (p->mean[i] < 0.0 ? -1.0 : 1.0) * log(1.0 + fabs(p->mean[i]));
    free(a);
    free(z);
    free(ones);
    return -0.5 * (z_z - one_z * one_z / one_one + log_det + (double)t * 1.83787706640934548356) + slopes;
}

static void the_density_is_the_dense_one(void **state)
{
    (void)state;
    static fit_problem p;
    for (uint64_t seed = 0; seed < 20; seed++) {
        double theta[SIZE];
        warped_problem(&p, seed, 5 + seed, 1 + seed % 4);
        p.data.learn_signal = false;
        random_theta(&p, seed, theta);
        double dense = dense_density(&p, theta) + bandit_likelihood_prior(&p.data, theta, NULL);
        assert_true(relative_to_size(value_at(&p, 64, theta, NULL, NULL), dense) < 1e-8);
    }
}

/* Profiled: as the largest over s^2 with tau in proportion, but for the priors. */
static void the_signal_is_the_best_one(void **state)
{
    (void)state;
    static fit_problem p;
    for (uint64_t round = 0; round < 20; round++) {
        double theta[SIZE], s2;
        size_t n = 10 + round, inducing = round % 2 ? 64 : 6;
        warped_problem(&p, 100 + round, n, 2);
        random_theta(&p, round, theta);
        size_t q = p.data.n_lengthscales;
        double profiled = value_at(&p, inducing, theta, NULL, &s2), ratio = theta[q + 1];
        profiled -= bandit_likelihood_prior(&p.data, theta, NULL);
        p.data.learn_signal = false;
        double best = -INFINITY;
        for (int k = -20; k <= 20; k++) {
            theta[q] = log(s2) + 0.05 * k;
            theta[q + 1] = ratio + theta[q];
            double value =
                value_at(&p, inducing, theta, NULL, NULL) - bandit_likelihood_prior(&p.data, theta, NULL);
            assert_true(value <= profiled + 1e-9 * (1.0 + fabs(profiled)));
            if (k == 0)
                assert_true(relative_to_size(value, profiled) < 1e-9);
            best = fmax(best, value);
        }
        assert_true(relative_to_size(best, profiled) < 1e-9);
    }
}

static void gradient_is_that_of_finite_differences(void **state)
{
    (void)state;
    static fit_problem p;
    for (uint64_t round = 0; round < 40; round++) {
        double theta[SIZE], slope[SIZE];
        size_t n = 5 + round, inducing = round % 2 ? 64 : 1 + n / 4;
        warped_problem(&p, 300 + round, n, 1 + round % 4);
        p.data.learn_signal = round % 3 != 0;
        random_theta(&p, round, theta);
        value_at(&p, inducing, theta, slope, NULL);
        for (size_t i = 0; i < bandit_likelihood_size(&p.data); i++) {
            const double h = 1e-5, kept = theta[i];
            if (i == p.data.n_lengthscales && bandit_likelihood_profiles(&p.data))
                continue; /* has no meaning */
            theta[i] = kept + h;
            double above = value_at(&p, inducing, theta, NULL, NULL);
            theta[i] = kept - h;
            double below = value_at(&p, inducing, theta, NULL, NULL);
            theta[i] = kept;
            assert_true(relative_to_size(slope[i], (above - below) / (2.0 * h)) < 1e-5);
        }
    }
}

/* exp(2 f) warped is nearer to normal with a power below 1, −exp(2 f) with one above; rewards that are all the
 * same have a finite value. */
static void the_power_follows_the_skew(void **state)
{
    (void)state;
    static fit_problem p;
    for (int kind = 0; kind < 3; kind++) {
        double lengthscales[2], value;
        bandit_hyperparameters h = {.lengthscales = lengthscales, .signal = 1.0, .noise = 1e-3, .power = 1.0};
        bandit_fit_limits limits = {.max_inducing = 64, .max_evaluations = 60};
        bandit_error err;
        warped_problem(&p, 5, 40, 2);
        for (size_t i = 0; i < 40; i++) {
            double f = sin(4.0 * p.points[2 * i]) + p.points[2 * i + 1];
            p.mean[i] = kind == 2 ? 0.0 : kind ? 2.0 - exp(2.0 * f) : exp(2.0 * f) - 2.0;
        }
        p.data.within = p.data.within_degrees = 0.0;
        bandit_fit_prior(&p.data, &h);
        assert_int_equal(
            bandit_fit(&p.data, &limits, &h, &h, &value, NULL, NULL, &bandit_executor_serial, &err),
            BANDIT_OK);
        assert_true(isfinite(value) && h.signal > 0.0 && h.noise > 0.0 && isfinite(h.mean));
        if (kind < 2)
            assert_true(kind ? h.power > 1.3 : h.power < 0.7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_density_is_the_dense_one),
        cmocka_unit_test(the_signal_is_the_best_one),
        cmocka_unit_test(gradient_is_that_of_finite_differences),
        cmocka_unit_test(told_variances_join_the_noise),
        cmocka_unit_test(told_variances_are_in_the_gradient),
        cmocka_unit_test(the_power_follows_the_skew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
