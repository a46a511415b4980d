/* The selector by expected gain: its picks against all arms evaluated anew for each, by other means. */
#include "core/selection/gain.h"

#include "core/base/allocate.h"
#include "core/selection/acquisition.h"
#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 600, DIMENSION = 2, MEMBERS = 12, PULLED = 15, PICKS = 90 };

typedef struct problem {
    double x[ARMS * DIMENSION], mean[ARMS], variance[ARMS];
    bandit_arms *arms;
    bandit_kernel kernel;
    bandit_covariance covariance;
    bandit_posterior posterior;
    bandit_arm_sum sums[PULLED];
    double lambda, incumbent, second;
    uint32_t leader;
    uint64_t state;
} problem;

static const double lengthscale = 0.25;

static void setup(problem *p, double lambda)
{
    uint32_t dictionary[MEMBERS];
    *p = (problem){.kernel = {BANDIT_KERNEL_MATERN, 2.5, &lengthscale, 1},
                   .lambda = lambda,
                   .incumbent = -INFINITY,
                   .second = -INFINITY,
                   .state = 5};
    for (size_t i = 0; i < ARMS * DIMENSION; i++)
        p->x[i] = dense_uniform(&p->state);
    memcpy(p->x + 2 * 500, p->x + 2 * 501, 2 * sizeof(double)); /* twins */
    for (uint32_t i = 0; i < PULLED; i++) {
        const double *x = p->x + 2 * (size_t)(40 * i);
        p->sums[i] = (bandit_arm_sum){.arm = 40 * i, .count = 1, .sum = sin(5.0 * x[0]) + cos(4.0 * x[1])};
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        dictionary[i] = 40 * i;
    assert_int_equal(bandit_arms_new(&p->arms, ARMS, DIMENSION, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(p->arms, 0, ARMS, p->x, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&p->covariance, &p->kernel, p->arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_posterior_build(&p->posterior, &p->covariance, lambda, dictionary, MEMBERS,
                                            p->sums, PULLED, NULL),
                     BANDIT_OK);
    assert_int_equal(
        bandit_posterior_evaluate_all(&p->posterior, &bandit_executor_serial, p->mean, p->variance, NULL),
        BANDIT_OK);
    for (size_t i = 0; i < PULLED; i++) {
        if (p->mean[p->sums[i].arm] > p->incumbent) {
            p->incumbent = p->mean[p->sums[i].arm];
            p->leader = p->sums[i].arm;
        }
    }
    for (size_t i = 0; i < PULLED; i++)
        if (p->sums[i].arm != p->leader)
            p->second = fmax(p->second, p->mean[p->sums[i].arm]);
}

static void teardown(problem *p)
{
    bandit_posterior_clear(&p->posterior);
    bandit_covariance_clear(&p->covariance);
    bandit_arms_free(p->arms);
}

static void start(bandit_gain_selector *s, problem *p, bool once)
{
    assert_int_equal(bandit_gain_start(s, &p->posterior, once, p->mean, p->variance, p->sums, PULLED, NULL),
                     BANDIT_OK);
}

static double take(bandit_gain_selector *s, uint32_t arm)
{
    assert_int_equal(bandit_gain_reserve(s, 1, NULL), BANDIT_OK);
    return bandit_gain_take_out(s, arm);
}

/* ---- the value ----------------------------------------------------------------------------------------- */

/* E max(0, gap + s~ N) by the trapezoidal rule. */
static double gain_by_quadrature(double gap, double variance, double lambda)
{
    enum { STEPS = 200000 };
    double s = 2.0 * lambda * variance / sqrt(lambda * variance + lambda), sum = 0.0, h = 24.0 / STEPS;
    for (int i = 0; i <= STEPS; i++) {
        double n = -12.0 + h * i;
        sum += fmax(0.0, gap + s * n) * exp(-0.5 * n * n);
    }
    return log(sum * h / sqrt(2.0 * acos(-1.0)));
}

static void is_the_log_of_an_expectation(void **state)
{
    (void)state;
    static const double gaps[] = {-2.0, -0.5, -1e-3, 0.0, 0.3}, variances[] = {0.3, 4.0, 500.0};
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 3; j++) {
            double lambda = 0.3, value = bandit_log_gain(gaps[i], variances[j], lambda, 1e-12);
            if (value > -20.0)
                assert_true(fabs(value - gain_by_quadrature(gaps[i], variances[j], lambda)) < 1e-6);
        }
    }
    /* what is known as well as its noise allows is worth less the better it is known */
    assert_true(bandit_log_gain(0.0, 0.01, 0.3, 1e-12) < bandit_log_gain(0.0, 0.1, 0.3, 1e-12) - 2.0);
    assert_true(isfinite(bandit_log_gain(-1.0, 0.0, 0.3, 1e-9)));
}

static void bound_is_above_and_near(void **state)
{
    (void)state;
    uint64_t random = 9;
    for (int i = 0; i < 100000; i++) {
        double gap = dense_normal(&random) * exp(4.0 * dense_normal(&random));
        double variance = exp(6.0 * dense_normal(&random)), lambda = exp(3.0 * dense_normal(&random));
        double value = bandit_log_gain(gap, variance, lambda, 1e-9);
        double bound = bandit_log_gain_bound(gap, variance, lambda, 1e-9);
        assert_true(bound >= value - 1e-9 * (1.0 + fabs(value)));
        assert_true(bound <= value + 0.5 + 1e-9 * fabs(value));
        assert_true(bandit_log_gain(gap, 0.9 * variance, lambda, 1e-9) <= value + 1e-9 * (1.0 + fabs(value)));
    }
}

/* With the variance of the table, one step nearer at most, the gain is below the threshold; above it, it is not. */
static void threshold_is_where_gains_reach_it(void **state)
{
    (void)state;
    static const double lambdas[] = {1e-6, 0.01, 2.0}, wanted[] = {-30.0, -6.0, -1.5};
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            bandit_gain_threshold t;
            double lambda = lambdas[i], most = 1.0 / lambda, last = 0.0;
            bandit_gain_threshold_set(&t, 0.7, wanted[j], lambda, most);
            assert_true(bandit_gain_threshold_variance(&t, 0.7) == 0.0);
            assert_true(bandit_gain_threshold_variance(&t, 0.8) == 0.0);
            assert_true(isinf(bandit_gain_threshold_variance(&t, -1e9)));
            for (int k = 1; k < 2000; k++) {
                double gap = k * 0.004, least = bandit_gain_threshold_variance(&t, 0.7 - gap);
                double begin = floor(gap * t.per_gap) / t.per_gap; /* of the step */
                assert_true(least >= last);
                last = least;
                if (isinf(least)) {
                    assert_true(bandit_log_gain(-gap, most, lambda, 1e-12) < wanted[j] + 1e-6);
                    continue;
                }
                assert_true(bandit_log_gain(-gap, 0.999 * least, lambda, 1e-12) < wanted[j]);
                assert_true(bandit_log_gain_bound(-begin, 1.001 * least + 1e-12, lambda, 1e-12) >=
                            wanted[j] - 1e-6);
            }
        }
    }
}

/* ---- picks --------------------------------------------------------------------------------------------- */

/* May the arm be picked? */
static bool is_free(const problem *p, bool once, const uint32_t *picks, size_t n, uint32_t arm)
{
    bool result = false, out = false;
    for (size_t i = 0; i < PULLED; i++)
        result |= p->sums[i].arm == arm;
    for (size_t i = 0; i < n; i++)
        out |= picks[i] == arm;
    return once ? !result && !out : !out || (result && ARMS / BANDIT_GAIN_FEW <= n);
}

/* All arms' variances after the picks, from columns of the covariance: the dense way. */
static void take_densely(const problem *p, double *process, uint32_t arm)
{
    double *column = dense_alloc(ARMS, sizeof *column);
    memcpy(column, process + (size_t)arm * ARMS, ARMS * sizeof *column);
    double by = 1.0 / (1.0 + column[arm]);
    for (size_t i = 0; i < ARMS; i++)
        for (size_t j = 0; j < ARMS; j++)
            process[i * ARMS + j] -= column[i] * column[j] * by;
    free(column);
    (void)p;
}

/* c(x, x') of all arms from their embeddings. */
static double *process_of(const problem *p)
{
    size_t m = p->posterior.m;
    double *z = dense_alloc((size_t)ARMS * m, sizeof *z), *w = dense_alloc((size_t)ARMS * m, sizeof *w);
    double *process = dense_alloc((size_t)ARMS * ARMS, sizeof *process),
           *scratch = bandit_alloc(bandit_posterior_scratch(&p->posterior) + 64, 8);
    for (uint32_t a = 0; a < ARMS; a++)
        bandit_posterior_embed_both(&p->posterior, a, z + a * m, w + a * m, scratch);
    for (size_t a = 0; a < ARMS; a++) {
        for (size_t b = 0; b < ARMS; b++) {
            double dx = p->x[2 * a] - p->x[2 * b], dy = p->x[2 * a + 1] - p->x[2 * b + 1];
            double r = sqrt(5.0 * (dx * dx + dy * dy)) / lengthscale, zz = 0.0, ww = 0.0;
            for (size_t i = 0; i < m; i++) {
                zz += z[a * m + i] * z[b * m + i];
                ww += w[a * m + i] * w[b * m + i];
            }
            process[a * ARMS + b] = ((1.0 + r + r * r / 3.0) * exp(-r) - zz) / p->lambda + ww;
        }
    }
    free(z);
    free(w);
    free(scratch);
    return process;
}

static void picks_are_the_best_of_all(double lambda, bool once)
{
    static problem p;
    setup(&p, lambda);
    bandit_gain_selector s = {0};
    double *process = process_of(&p), incumbent = p.incumbent;
    uint32_t picks[PICKS];
    start(&s, &p, once);
    for (size_t i = 0; i < PICKS; i++) {
        double best = -INFINITY, value = 0.0;
        uint32_t arm = ARMS;
        assert_true(bandit_gain_best(&s, NULL, 0, BANDIT_GAIN_USUAL, &arm));
        for (uint32_t a = 0; a < ARMS; a++) {
            double mean = a == p.leader ? p.second : p.mean[a];
            double v =
                bandit_log_gain(mean - incumbent, fmax(0.0, process[(size_t)a * ARMS + a]), lambda, 1e-9);
            value = a == arm ? v : value;
            if (is_free(&p, once, picks, i, a))
                best = fmax(best, v);
        }
        assert_true(is_free(&p, once, picks, i, arm));
        assert_true(fabs(value - best) < 1e-5);
        assert_true(fabs(bandit_gain_value(&s, arm) - value) < 1e-5);
        picks[i] = arm;
        assert_true(take(&s, arm) >= 0.0);
        take_densely(&p, process, arm);
        incumbent = once ? fmax(incumbent, p.mean[arm]) : incumbent;
    }
    assert_int_equal(s.n_out, PICKS);
    free(process);
    bandit_gain_clear(&s);
    teardown(&p);
}

static void picks_equal_full_recomputation(void **state)
{
    (void)state;
    picks_are_the_best_of_all(1e-4, true);
    picks_are_the_best_of_all(0.05, false);
    picks_are_the_best_of_all(1.0, false);
}

/* Values never grow while a batch does, and do not depend on what else was looked at; nor do picks on how the
 * bounds of the start were made. Variances that were only bounded are computed where they matter, and only there. */
static void values_fall_and_picks_depend_on_nothing_else(void **state)
{
    (void)state;
    static problem p;
    static double before[ARMS], loose[ARMS];
    setup(&p, 0.02);
    bandit_gain_selector s = {0}, other = {0};
    size_t computed = 0, left = 0;
    for (size_t a = 0; a < ARMS; a++)
        loose[a] = a % 3 ? -(p.variance[a] * (1.0 + (double)(a % 7)) + 1e-9) : p.variance[a];
    start(&s, &p, false);
    assert_int_equal(bandit_gain_start(&other, &p.posterior, false, p.mean, loose, p.sums, PULLED, NULL),
                     BANDIT_OK);
    for (uint32_t a = 0; a < ARMS; a++)
        before[a] = bandit_gain_value(&s, a);
    for (size_t i = 0; i < PICKS; i++) {
        uint32_t arm, same;
        assert_true(bandit_gain_best(&s, NULL, 0, BANDIT_GAIN_USUAL, &arm));
        assert_true(bandit_gain_best(&other, NULL, 0, BANDIT_GAIN_USUAL, &same));
        assert_int_equal(arm, same);
        assert_true(take(&s, arm) == take(&other, same));
        for (uint32_t a = (uint32_t)i % 11; a < ARMS; a += 11) {
            double now = bandit_gain_value(&s, a);
            assert_true(now <= before[a] + 1e-9 * (1.0 + fabs(before[a])));
            assert_true(i % 20 != 0 || now == bandit_gain_value(&other, a));
            before[a] = now;
        }
    }
    for (size_t a = 0; a < ARMS; a++) {
        left += loose[a] < 0.0;
        computed += a % 3 && loose[a] >= 0.0;
        if (loose[a] >= 0.0)
            assert_true(fabs(loose[a] - p.variance[a]) <= 2.0 * p.posterior.variance_error);
    }
    print_message("%zu variances computed, %zu still bounded\n", computed, left);
    assert_true(computed > 0 && left > 0);
    assert_true(bandit_gain_memory(&s) > 0);
    bandit_gain_clear(&s);
    bandit_gain_clear(&other);
    teardown(&p);
}

static void withheld_arms_are_passed_over(void **state)
{
    (void)state;
    static problem p;
    static uint32_t all[ARMS];
    setup(&p, 1e-4);
    bandit_gain_selector s = {0};
    uint32_t best, second, again;
    start(&s, &p, true);
    for (uint32_t a = 0; a < ARMS; a++)
        all[a] = a;
    assert_true(bandit_gain_best(&s, NULL, 0, BANDIT_GAIN_USUAL, &best));
    assert_true(bandit_gain_best(&s, &best, 1, BANDIT_GAIN_USUAL, &second));
    assert_true(second != best);
    assert_true(bandit_gain_best(&s, NULL, 0, BANDIT_GAIN_USUAL, &again));
    assert_int_equal(again, best);
    assert_false(bandit_gain_best(&s, all, ARMS, BANDIT_GAIN_ANY, &again));
    /* the only arm left has a result: it is picked again where that is asked for alone */
    assert_false(bandit_gain_best(&s, all + 1, ARMS - 1, BANDIT_GAIN_USUAL, &again));
    assert_true(bandit_gain_best(&s, all + 1, ARMS - 1, BANDIT_GAIN_ANY, &again));
    assert_int_equal(again, 0);
    bandit_gain_clear(&s);
    teardown(&p);
}

/* Of two arms at one point the lower index is picked. */
static void twins_go_by_index(void **state)
{
    (void)state;
    static problem p;
    static uint32_t others[ARMS];
    size_t n = 0;
    setup(&p, 0.05);
    bandit_gain_selector s = {0};
    uint32_t arm;
    start(&s, &p, true);
    for (uint32_t a = 0; a < ARMS; a++)
        if (a != 500 && a != 501)
            others[n++] = a;
    assert_true(bandit_gain_best(&s, others, n, BANDIT_GAIN_USUAL, &arm));
    assert_int_equal(arm, 500);
    assert_true(bandit_gain_value(&s, 500) == bandit_gain_value(&s, 501));
    bandit_gain_clear(&s);
    teardown(&p);
}

/* Failures around the best arm move the pick away; when they are gone it is the best again. */
static void failures_lower_values(void **state)
{
    (void)state;
    static problem p;
    setup(&p, 1e-4);
    bandit_gain_selector s = {0};
    bandit_feasibility f = {0};
    uint32_t best, arm;
    start(&s, &p, true);
    assert_true(bandit_gain_best(&s, NULL, 0, BANDIT_GAIN_USUAL, &best));
    double value = bandit_gain_value(&s, best);
    assert_int_equal(bandit_feasibility_start(&f, 24, DIMENSION, NULL), BANDIT_OK);
    f.scale[0] = f.scale[1] = 1.0;
    for (size_t i = 0; i < f.n; i++) {
        const double *x = p.x + 2 * (i < 12 ? (size_t)best : (size_t)(40 * i));
        f.failed[i] = i < 12;
        memcpy(f.points + 2 * i, x, 2 * sizeof(double));
    }
    bandit_feasibility_learn(&f);
    double penalty = BANDIT_GAIN_PENALTY * bandit_feasibility_shortfall(&f, p.x + 2 * (size_t)best, NULL);
    assert_true(penalty > 1e8);
    assert_int_equal(bandit_gain_heed(&s, &f, NULL), BANDIT_OK);
    assert_true(fabs(bandit_gain_value(&s, best) - value + penalty) < 1e-5);
    assert_true(bandit_gain_best(&s, NULL, 0, BANDIT_GAIN_USUAL, &arm));
    for (uint32_t a = 0; a < ARMS; a++)
        assert_true(!is_free(&p, true, NULL, 0, a) || bandit_gain_value(&s, a) <= bandit_gain_value(&s, arm));
    assert_int_equal(bandit_gain_heed(&s, NULL, NULL), BANDIT_OK);
    assert_true(bandit_gain_best(&s, NULL, 0, BANDIT_GAIN_USUAL, &arm));
    assert_int_equal(arm, best);
    bandit_feasibility_clear(&f);
    bandit_gain_clear(&s);
    teardown(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_log_of_an_expectation),
                                       cmocka_unit_test(bound_is_above_and_near),
                                       cmocka_unit_test(threshold_is_where_gains_reach_it),
                                       cmocka_unit_test(picks_equal_full_recomputation),
                                       cmocka_unit_test(values_fall_and_picks_depend_on_nothing_else),
                                       cmocka_unit_test(withheld_arms_are_passed_over),
                                       cmocka_unit_test(twins_go_by_index),
                                       cmocka_unit_test(failures_lower_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
