/* What is learned from few rewards: how they are standardized, by quantiles counted here; which lengthscale a
 * feature has and what is taken for its range; what is set aside, and when a fit is due. */
#include "core/learning/hyperparameters.h"

#include "bandit/fit.h"
#include "bandit/space.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64 };

static const double lengthscales[] = {0.5, 2.0, 1.0};

static bandit_arms *make_arms(size_t n, size_t d, const double *rows)
{
    bandit_arms *arms;
    bandit_error err;
    must(bandit_arms_new(&arms, n, d, &err), &err);
    must(bandit_arms_set_rows(arms, 0, n, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, &err), &err);
    return arms;
}

/* Points on a line, 1 / 8 apart. */
static bandit_arms *line(size_t n)
{
    double rows[MOST];
    for (size_t i = 0; i < n; i++)
        rows[i] = (double)i / 8.0;
    return make_arms(n, 1, rows);
}

/* Rewards are standardized; nothing else is learned but their variance. */
static bandit_options standardizing(size_t n_lengthscales)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.kernel.type = BANDIT_KERNEL_GAUSSIAN;
    o.kernel.lengthscales = lengthscales;
    o.kernel.n_lengthscales = n_lengthscales;
    o.standardize_rewards = true;
    o.noise_std = 0.3;
    return o;
}

/* ---- features ------------------------------------------------------------------------------------------ */

static void features_have_the_lengthscales_that_are_given(void **state)
{
    const double rows[] = {0, 5, 1, 1, 5, 4, 2, 5, 9, 3, 5, 16};
    /* sqrt(12) deviations: 12 * 1.25; a constant; 12 * 33.25 */
    const double extents[] = {sqrt(15.0), 1.0, sqrt(12.0 * 32.25)};
    bandit_arms *arms = make_arms(4, 3, rows);
    bandit_error err;
    (void)state;
    for (int learned = 0; learned < 2; learned++) {
        for (size_t given = 1; given <= 3; given += 2) {
            bandit_fit_settings how;
            bandit_fitted prior;
            bandit_options o = standardizing(given);
            o.learn_lengthscale = learned;
            must(bandit_fit_settings_init(&how, &o, arms, &err), &err);
            bool single = !learned && given == 1;
            assert_int_equal(how.n_lengthscales, single ? 1 : 3);
            for (size_t j = 0; j < 3; j++) {
                assert_int_equal(how.group[j], single ? 0 : j);
                if (!single)
                    assert_equal_reals(how.extent[j], extents[j]);
            }
            if (single)
                assert_equal_reals(how.extent[0], extents[2]); /* the widest */
            must(bandit_fitted_prior(&prior, &how, &err), &err);
            assert_int_equal(prior.n_lengthscales, how.n_lengthscales);
            for (size_t j = 0; j < how.n_lengthscales && !learned; j++)
                assert_true(prior.lengthscales[j] == lengthscales[j]);
            assert_equal_reals(prior.noise, 0.09);
            assert_true(prior.scale == 1.0 && prior.offset == 0.0 && prior.fitted_on == 0);
            bandit_fitted_clear(&prior);
            bandit_fit_settings_clear(&how);
        }
    }
    bandit_arms_free(arms);
}

/* Wherever it stands. */
static void one_lengthscale_is_seen_over_the_widest_feature(void **state)
{
    bandit_error err;
    (void)state;
    for (size_t widest = 0; widest < 3; widest++) {
        double rows[2 * 3] = {0};
        for (size_t j = 0; j < 3; j++)
            rows[3 + j] = j == widest ? 4.0 : 1.0;
        bandit_arms *arms = make_arms(2, 3, rows);
        bandit_fit_settings how;
        bandit_options o = standardizing(1);
        must(bandit_fit_settings_init(&how, &o, arms, &err), &err);
        assert_int_equal(how.n_lengthscales, 1);
        assert_equal_reals(how.extent[0], sqrt(12.0) * 2.0);
        bandit_fit_settings_clear(&how);
        bandit_arms_free(arms);
    }
}

/* One lengthscale a feature, up to a hundred of them; one for all of more. */
static void many_features_share_a_lengthscale(void **state)
{
    bandit_error err;
    (void)state;
    for (size_t d = 100; d <= 101; d++) {
        double rows[2 * 101];
        for (size_t i = 0; i < 2 * d; i++)
            rows[i] = i < d ? 0.0 : (double)(i - d + 1);
        bandit_arms *arms = make_arms(2, d, rows);
        bandit_options o = standardizing(1);
        bandit_fit_settings how;
        o.learn_lengthscale = true;
        must(bandit_fit_settings_init(&how, &o, arms, &err), &err);
        assert_int_equal(how.n_lengthscales, d == 100 ? 100 : 1);
        assert_equal_reals(how.extent[0], sqrt(12.0) * 0.5 * (d == 100 ? 1.0 : 101.0));
        bandit_fit_settings_clear(&how);
        bandit_arms_free(arms);
    }
}

static bool count_pause(void *context)
{
    ++*(size_t *)context;
    return false;
}

/* Each of the two passes over a feature has a checkpoint at every 2^14th of many arms. */
static void others_are_let_in_while_extents_are_taken(void **state)
{
    enum { MANY = 3 << 14, FEATURES = 2 };
    double *rows = calloc((size_t)MANY * FEATURES, sizeof *rows);
    size_t pauses = 0;
    bandit_error err;
    bandit_fit_settings how;
    bandit_options o = standardizing(FEATURES);
    (void)state;
    assert_non_null(rows);
    for (size_t i = 0; i < (size_t)MANY * FEATURES; i++)
        rows[i] = (double)(i % 7);
    bandit_arms *arms = make_arms(MANY, FEATURES, rows);
    bandit_on_pause(count_pause, &pauses);
    must(bandit_fit_settings_init(&how, &o, arms, &err), &err);
    bandit_on_pause(NULL, NULL);
    assert_true(pauses >= (size_t)2 * FEATURES * 3);
    bandit_fit_settings_clear(&how);
    bandit_arms_free(arms);
    free(rows);
}

/* Words of a parameter share its lengthscale; a space's features are of range 1. */
static void a_parameter_has_one_lengthscale(void **state)
{
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 7, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 1, .parent = BANDIT_NO_PARENT},
    };
    bandit_arms *arms;
    bandit_error err;
    bandit_fit_settings how;
    bandit_options o = standardizing(1);
    (void)state;
    o.learn_lengthscale = true;
    must(bandit_arms_new_space(&arms, parameters, 3, &err), &err);
    must(bandit_fit_settings_init(&how, &o, arms, &err), &err);
    assert_int_equal(how.n_lengthscales, 3);
    size_t d = bandit_arms_dimension(arms);
    assert_int_equal(d, 5);
    for (size_t j = 0; j < d; j++)
        assert_int_equal(how.group[j], j == 0 ? 0 : j < 4 ? 1 : 2);
    for (size_t g = 0; g < 3; g++)
        assert_true(how.extent[g] == 1.0);
    bandit_fit_settings_clear(&how);
    bandit_arms_free(arms);
}

/* ---- when ---------------------------------------------------------------------------------------------- */

static void fits_are_due_when_rewards_have_grown(void **state)
{
    /* after a fit on so many: each, then a sixth more, a half more, twice as many */
    static const uint64_t next[][2] = {{0, 1},       {1, 2},       {7, 8},       {8, 9},     {11, 12},
                                       {12, 14},     {60, 70},     {255, 297},   {256, 384}, {300, 450},
                                       {1023, 1534}, {1024, 2048}, {5000, 10000}};
    (void)state;
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        const bandit_fitted learned = {.fitted_on = next[i][0]};
        assert_false(bandit_refit_is_due(&(bandit_fit_settings){0}, &learned, next[i][1] - 1));
        assert_true(bandit_refit_is_due(&(bandit_fit_settings){0}, &learned, next[i][1]));
        assert_true(bandit_refit_is_due(&(bandit_fit_settings){0}, &learned, next[i][1] + 1));
    }
}

/* ---- rewards ------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The q-quantile, linear between order statistics (type 7 of Hyndman and Fan). */
static double quantile(const double *values, size_t n, double q)
{
    double sorted[MOST];
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, ascending);
    double place = (double)(n - 1) * q, below = floor(place);
    size_t i = (size_t)below;
    return i == n - 1 ? sorted[i] : (1.0 - (place - below)) * sorted[i] + (place - below) * sorted[i + 1];
}

typedef struct learner {
    bandit_arms *arms;
    bandit_fit_settings how;
    bandit_fitted learned;
    bandit_arm_sum sums[MOST];
} learner;

static void open_learner(learner *x, size_t n, const bandit_options *o)
{
    bandit_error err;
    *x = (learner){.arms = line(n)};
    must(bandit_fit_settings_init(&x->how, o, x->arms, &err), &err);
    must(bandit_fitted_prior(&x->learned, &x->how, &err), &err);
}

static void close_learner(learner *x)
{
    bandit_fitted_clear(&x->learned);
    bandit_fit_settings_clear(&x->how);
    bandit_arms_free(x->arms);
}

/* `counts` NULL: each arm once. */
static void learn(learner *x, size_t n, const double *means, const uint64_t *counts)
{
    bandit_fitted next;
    bandit_error err;
    bandit_ledger ledger = {.sums = x->sums, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        uint64_t count = counts ? counts[i] : 1;
        x->sums[i] = (bandit_arm_sum){.arm = i, .count = count, .sum = (double)count * means[i]};
        ledger.observations += count;
    }
    must(bandit_refit(&next, &x->learned, &x->how, &ledger, NULL, &(bandit_repeated){0},
                      &bandit_executor_serial, &err),
         &err);
    bandit_fitted_clear(&x->learned);
    x->learned = next;
    assert_int_equal(next.fitted_on, ledger.observations);
}

static void rewards_are_standardized_by_quantiles(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 23; n++) {
        learner x;
        double means[MOST];
        uint64_t counts[MOST];
        bandit_options o = standardizing(1);
        o.noise_std = 4.0;
        open_learner(&x, n, &o);
        for (size_t i = 0; i < n; i++) {
            means[i] = 100.0 + 7.0 * sin(3.7 * (double)i) + (double)i;
            counts[i] = 1 + i % 3;
        }
        learn(&x, n, means, counts);
        double low = quantile(means, n, 0.25), high = quantile(means, n, 0.75), range = high - low;
        const bandit_fitted *l = &x.learned;
        assert_equal_reals(l->offset, quantile(means, n, 0.5));
        assert_equal_reals(l->scale, n == 1 ? 1.0 : range / 1.349);
        assert_equal_reals(l->noise, pow(4.0 / l->scale, 2.0));
        if (n >= 8) {
            assert_equal_reals(l->low, low - range);
            assert_equal_reals(l->high, high + 20.0 * range);
            assert_equal_reals(l->range, range);
        } else {
            assert_true(l->low == -INFINITY && l->high == INFINITY && l->range == 1.0);
        }
        assert_int_equal(l->n_aside, 0);
        close_learner(&x);
    }
}

/* More than half of them equal: the whole spread stands for the quartiles'; all of them, or all but for their
 * last digits: 1. */
static void equal_rewards_have_a_scale(void **state)
{
    static const struct {
        double usual, other, offset, scale;
    } cases[] = {{5.0, 9.0, 5.0, 2.0},  {5.0, 1.0, 5.0, 2.0},        {5.0, 5.0, 5.0, 1.0},
                 {0.0, 0.0, 0.0, 1.0},  {5.0, 5.0 + 1e-9, 5.0, 1.0}, {5.0, 5.0 + 2e-8, 5.0, 1e-8},
                 {-3.0, 3.0, -3.0, 3.0}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        learner x;
        double means[9];
        bandit_options o = standardizing(1);
        o.noise_std = 1e-9;
        open_learner(&x, 9, &o);
        for (size_t i = 0; i < 9; i++)
            means[i] = i == 4 ? cases[k].other : cases[k].usual;
        learn(&x, 9, means, NULL);
        assert_true(x.learned.offset == cases[k].offset);
        assert_true(fabs(x.learned.scale - cases[k].scale) <= 1e-6 * cases[k].scale);
        assert_true(x.learned.low == -INFINITY && x.learned.high == INFINITY); /* no range to fold by */
        close_learner(&x);
    }
}

/* A noise of nearly nothing is one of 1e-4 scales. */
static void noise_has_a_floor(void **state)
{
    learner x;
    double means[12];
    bandit_options o = standardizing(1);
    (void)state;
    o.noise_std = 1e-9;
    open_learner(&x, 12, &o);
    assert_equal_reals(x.learned.noise, 1e-8);
    for (size_t i = 0; i < 12; i++)
        means[i] = sin((double)i);
    learn(&x, 12, means, NULL);
    assert_equal_reals(x.learned.noise, 1e-8);
    close_learner(&x);
}

/* ---- strays -------------------------------------------------------------------------------------------- */

static double smooth(size_t i)
{
    return sin((double)i / 8.0);
}

/* What makes no sense is set aside from ten arms on, a tenth of them at most, and the worst. */
static void strays_are_set_aside(void **state)
{
    static const struct {
        size_t n, strays[3], n_strays, aside[3], n_aside;
    } cases[] = {
        {9, {4}, 1, {0}, 0},
        {10, {4}, 1, {4}, 1},
        {24, {20, 3}, 2, {3, 20}, 2},
        {29, {20, 3, 9}, 3, {0}, 2},
        {30, {20, 3, 9}, 3, {3, 9, 20}, 3},
        {30, {29}, 1, {29}, 1},
        {30, {0}, 1, {0}, 1},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        learner x;
        double means[MOST];
        bandit_options o = standardizing(1);
        o.noise_std = 0.05;
        open_learner(&x, cases[k].n, &o);
        for (size_t i = 0; i < cases[k].n; i++)
            means[i] = smooth(i);
        for (size_t s = 0; s < cases[k].n_strays; s++) /* arm 20 is the least of them */
            means[cases[k].strays[s]] = cases[k].strays[s] == 20 ? 60.0 : 80.0 + 9.0 * (double)s;
        learn(&x, cases[k].n, means, NULL);
        if (x.learned.n_aside != cases[k].n_aside)
            fail_msg("case %zu: %zu set aside", k, x.learned.n_aside);
        for (size_t s = 0; s < cases[k].n_aside && cases[k].n != 29; s++) {
            const bandit_arm_sum *aside = &x.learned.aside[s];
            assert_int_equal(aside->arm, cases[k].aside[s]);
            assert_int_equal(aside->count, 1);
            assert_true(aside->sum == means[aside->arm]);
        }
        close_learner(&x);
    }
}

/* What is out of place is judged by hyper-parameters that its own fit had no part in, once those were learned
 * from ten rewards: if they would expect anything, nothing is. */
static void the_fit_before_judges_from_ten_rewards_on(void **state)
{
    const double shorter = 0.25;
    (void)state;
    for (uint64_t before = 8; before <= 12; before++) {
        learner x;
        double means[24];
        bandit_options o = standardizing(1);
        o.kernel.lengthscales = &shorter;
        o.noise_std = 0.05;
        open_learner(&x, 24, &o);
        for (size_t i = 0; i < 24; i++)
            means[i] = i == 4 ? 80.0 : smooth(i);
        x.learned.fitted_on = before;
        x.learned.signal = 1e8;
        learn(&x, 24, means, NULL);
        assert_int_equal(x.learned.n_aside, before < 10 ? 1 : 0);
        close_learner(&x);
    }
}

/* An arm's later pulls are judged apart from those that were set aside: if they are as they should be, only
 * the first are out; if they too make no sense, all of them are, as one. */
static void later_pulls_of_a_stray_are_judged_anew(void **state)
{
    (void)state;
    for (int strays_again = 0; strays_again < 2; strays_again++) {
        learner x;
        double means[40];
        uint64_t counts[40];
        bandit_options o = standardizing(1);
        o.noise_std = 0.05;
        open_learner(&x, 40, &o);
        for (size_t i = 0; i < 40; i++) {
            means[i] = smooth(i);
            counts[i] = 1;
        }
        means[7] = 50.0;
        means[31] = 70.0;
        learn(&x, 40, means, counts);
        assert_int_equal(x.learned.n_aside, 2);
        counts[7] = 3;
        means[7] = (50.0 + 2.0 * (strays_again ? 65.0 : smooth(7))) / 3.0;
        learn(&x, 40, means, counts);
        assert_int_equal(x.learned.n_aside, 2);
        assert_int_equal(x.learned.aside[0].arm, 7);
        assert_int_equal(x.learned.aside[0].count, strays_again ? 3 : 1);
        assert_true(fabs(x.learned.aside[0].sum - (strays_again ? 180.0 : 50.0)) < 1e-9);
        assert_int_equal(x.learned.aside[1].arm, 31);
        assert_int_equal(x.learned.aside[1].count, 1);
        assert_true(fabs(x.learned.noise - pow(0.05 / x.learned.scale, 2.0)) < 1e-12);
        close_learner(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_have_the_lengthscales_that_are_given),
        cmocka_unit_test(one_lengthscale_is_seen_over_the_widest_feature),
        cmocka_unit_test(many_features_share_a_lengthscale),
        cmocka_unit_test(others_are_let_in_while_extents_are_taken),
        cmocka_unit_test(a_parameter_has_one_lengthscale),
        cmocka_unit_test(fits_are_due_when_rewards_have_grown),
        cmocka_unit_test(rewards_are_standardized_by_quantiles),
        cmocka_unit_test(equal_rewards_have_a_scale),
        cmocka_unit_test(noise_has_a_floor),
        cmocka_unit_test(strays_are_set_aside),
        cmocka_unit_test(the_fit_before_judges_from_ten_rewards_on),
        cmocka_unit_test(later_pulls_of_a_stray_are_judged_anew),
    };
    return cmocka_run_group_tests_name("learning", tests, NULL, NULL);
}
