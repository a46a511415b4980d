/* What is learned of warped rewards: scales, the warp's inverse, when a fit is due, what is set aside. */
#include "core/learning/hyperparameters.h"

#include "bandit/fit.h"
#include "tests/support/must.h"
#include "tests/support/repeats.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 64 };

typedef struct learner {
    bandit_arms *arms;
    bandit_fit_settings how;
    bandit_fitted learned;
    double within_degrees; /* of agreeing repeats that are told beside the rewards */
} learner;

/* Points on a line. */
static void open_learner_at(learner *x, const double *rows, bool learns_noise)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_error err;
    o.algorithm = BANDIT_LOG_EI;
    o.learn_lengthscale = o.standardize_rewards = o.warp_rewards = true;
    o.learn_noise = learns_noise;
    o.noise_std = 0.05;
    *x = (learner){0};
    must(bandit_arms_new(&x->arms, MOST, 1, &err), &err);
    must(bandit_arms_set_rows(x->arms, 0, MOST, rows, &err), &err);
    must(bandit_arms_finish(x->arms, BANDIT_SCALING_NONE, MOST, &err), &err);
    must(bandit_fit_settings_init(&x->how, &o, x->arms, &err), &err);
    must(bandit_fitted_prior(&x->learned, &x->how, &err), &err);
}

/* 1 / 8 apart. */
static void open_learner(learner *x, bool learns_noise)
{
    double rows[MOST];
    for (size_t i = 0; i < MOST; i++)
        rows[i] = (double)i / 8.0;
    open_learner_at(x, rows, learns_noise);
}

static void close_learner(learner *x)
{
    bandit_fitted_clear(&x->learned);
    bandit_fit_settings_clear(&x->how);
    bandit_arms_free(x->arms);
}

static void learn(learner *x, size_t n, const double *rewards)
{
    bandit_fitted next;
    bandit_error err;
    bandit_arm_sum sums[MOST];
    bandit_ledger ledger = {.sums = sums, .n = n, .observations = n};
    for (uint32_t i = 0; i < n; i++)
        sums[i] = (bandit_arm_sum){.arm = i, .count = 1, .sum = rewards[i]};
    must(bandit_refit(&next, &x->learned, &x->how, &ledger, NULL,
                      &(bandit_repeated){.degrees = x->within_degrees}, &bandit_executor_serial, &err),
         &err);
    bandit_fitted_clear(&x->learned);
    x->learned = next;
}

static void fits_are_due_at_each_of_a_hundred(void **state)
{
    (void)state;
    for (uint64_t t = 0; t < 400; t++) {
        const bandit_fitted warped = {.fitted_on = t, .warped = true}, folded = {.fitted_on = t};
        for (uint64_t more = 0; more <= t + 1; more++)
            assert_true(
                bandit_refit_is_due(&(bandit_fit_settings){0}, &warped, t + more) ==
                (t < 100 ? more > 0 : bandit_refit_is_due(&(bandit_fit_settings){0}, &folded, t + more)));
    }
}

/* Without rewards the warp is the identity; of a fit, all that was told comes back, and nothing is infinite. */
static void what_is_told_comes_back(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        learner x;
        double rewards[MOST], worst = INFINITY;
        open_learner(&x, kind != 3);
        assert_true(x.learned.warped && x.learned.power == 1.0);
        assert_true(bandit_fitted_fold(&x.learned, -3.0) == -3.0 &&
                    bandit_fitted_unfold(&x.learned, 5.0) == 5.0);
        for (size_t i = 0; i < 40; i++) {
            double f = sin((double)i / 6.0);
            rewards[i] = kind == 0   ? 1e6 + f
                         : kind == 1 ? -1e-3 * exp(4.0 * f)
                         : kind == 2 ? 1e5 * exp(3.0 * f)
                         : kind == 3 ? -pow(2.0 + f, 6.0)
                                     : 7.0;
            worst = fmin(worst, rewards[i]);
        }
        for (size_t n = 1; n <= 40; n += n < 12 ? 1 : 7)
            learn(&x, n, rewards);
        learn(&x, 40, rewards);
        const bandit_fitted *l = &x.learned;
        assert_true(isfinite(l->power) && l->power >= 0.5 && l->power <= 4.0 && isfinite(l->mean));
        assert_true(l->signal > 0.0 && l->noise > 0.0 && isfinite(l->signal) && isfinite(l->noise));
        assert_true(kind != 1 || l->power > 1.3);
        assert_true(kind != 2 || l->power < 0.9);
        for (size_t i = 0; i < 40; i++) {
            double back = bandit_fitted_unfold(l, bandit_fitted_fold(l, rewards[i]));
            assert_true(fabs(back - rewards[i]) < 1e-9 * (fabs(rewards[i]) + l->scale));
        }
        double before = -DBL_MAX;
        for (double z = -1e6; z <= 1e6; z += 1e4) {
            double back = bandit_fitted_unfold(l, l->offset + z * l->scale);
            assert_true(isfinite(back) && back >= before && back >= l->low && l->low < worst);
            before = back;
        }
        close_learner(&x);
    }
}

/* Fifteen rewards far below 25 others, which lie close together or are all equal. */
static void good_rewards_have_a_unit_of_their_own(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        learner x;
        double rewards[MOST], spread = kind < 3 ? 0.004 * (kind + 1) : 0.0;
        open_learner(&x, true);
        assert_false(x.how.better_half); /* it is a list */
        x.how.better_half = kind > 0;
        for (size_t i = 0; i < 40; i++)
            rewards[i] = i < 15 ? -5.0 - (double)i : spread * (double)(i - 15);
        learn(&x, 40, rewards);
        double low = 0.25 * rewards[5] + 0.75 * rewards[4]; /* rewards[14] is the lowest */
        double median = spread * 4.5, high = spread * 14.25;
        double unit = kind == 0 ? high - low : fmax(2.0 * (high - median), 1e-3 * (high - low));
        assert_true(fabs(x.learned.scale - unit) < 1e-12);
        close_learner(&x);
    }
}

/* Values of steps of the same ratio, `steps` of them for each of e; a hundredth more where the index is odd. */
static void fall(size_t n, double steps, double *rewards)
{
    for (size_t i = 0; i < n; i++)
        rewards[i] = -exp((double)(n - i) / steps) * (i % 2 ? 1.01 : 1.0);
}

static bool is_same_fit(const bandit_fitted *a, const bandit_fitted *b)
{
    return a->offset == b->offset && a->scale == b->scale && a->power == b->power && a->noise == b->noise &&
           a->signal == b->signal && a->mean == b->mean && a->lengthscales[0] == b->lengthscales[0];
}

/* With units in turn, values that fall by orders of magnitude have a finer one where their number is even, about a higher
 * origin; values that do not keep the unit of the better half, and so does an odd number of them, a given noise, and what
 * was measured twice. */
static void every_other_fit_may_have_a_finer_unit(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        learner turn, half;
        double rewards[MOST];
        size_t n = kind == 1 ? 47 : 48;
        bool finer = kind == 0;
        open_learner(&turn, kind != 2);
        open_learner(&half, kind != 2);
        turn.how.better_half = turn.how.in_turn = half.how.better_half = true;
        fall(n, 4.0, rewards);
        for (size_t i = 0; i < n && kind == 4; i++)
            rewards[i] = sin((double)i / 6.0);
        turn.within_degrees = half.within_degrees = kind == 3 ? 2.0 : 0.0;
        learn(&turn, n, rewards);
        learn(&half, n, rewards);
        assert_true(is_same_fit(&turn.learned, &half.learned) == !finer);
        if (finer)
            assert_true(turn.learned.scale < 0.5 * half.learned.scale &&
                        turn.learned.offset > half.learned.offset);
        for (size_t i = 0; i < n; i++) {
            double back = bandit_fitted_unfold(&turn.learned, bandit_fitted_fold(&turn.learned, rewards[i]));
            assert_true(fabs(back - rewards[i]) < 1e-9 * (fabs(rewards[i]) + turn.learned.scale));
        }
        close_learner(&turn);
        close_learner(&half);
    }
}

/* Twelve points are apart from each other, and all others are within a hundredth of a lengthscale. In every fourth
 * fit, only the best of these counts for the unit, if the study says so and the search stands still. */
static void the_unit_is_of_distinct_regions(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        learner x;
        double places[MOST], rewards[MOST];
        size_t n = kind == 2 ? 48 : kind == 4 ? 45 : 47;
        for (size_t i = 0; i < MOST; i++) {
            places[i] = i < 12 ? (double)i : 40.0 + 1e-4 * (double)i;
            rewards[i] = i < 12 ? -1.0 - (double)i : -1e-4 * (double)(i - 12);
        }
        if (kind == 5)
            rewards[n - 1] = 1.0; /* the latest is a gain */
        open_learner_at(&x, places, kind != 3);
        x.how.better_half = x.how.in_turn = true;
        x.how.regions = kind != 1;
        learn(&x, n, rewards);
        /* the rewards of regions are 0, -1, … -12 */
        assert_true(kind == 0 ? x.learned.scale == 6.0 && x.learned.offset == -6.0 : x.learned.scale < 0.1);
        assert_true(x.learned.low < -12.0);
        close_learner(&x);
    }
}

/* A reward that no neighbour explains is set aside, on either side of them, from its first fit on or later; not
 * so the steep end of a smooth function. */
static void strays_are_set_aside(void **state)
{
    (void)state;
    for (int round = 0; round < 10; round++) {
        learner x;
        double rewards[MOST];
        int kind = round % 5;
        open_learner(&x, true);
        x.how.explains_far = round >= 5;
        for (size_t i = 0; i < 48; i++)
            rewards[i] = kind == 4 ? -exp((double)(48 - i) / 4.0)
                                   : sin((double)i / 6.0) + 0.01 * sin(40.0 * (double)i);
        if (kind < 4)
            rewards[kind % 2 ? 20 : 4] = kind < 2 ? 1000.0 : -1000.0;
        for (size_t n = 12; n <= 48; n += repeats(4, 12))
            learn(&x, n, rewards);
        if (kind == 4) {
            assert_int_equal(x.learned.n_aside, 0);
        } else {
            assert_int_equal(x.learned.n_aside, 1);
            assert_int_equal(x.learned.aside[0].arm, kind % 2 ? 20 : 4);
        }
        close_learner(&x);
    }
}

/* A peak of eight orders of magnitude is set aside unless the warp may explain it. */
static void a_peak_of_many_decades_is_no_stray(void **state)
{
    (void)state;
    for (int explains = 0; explains < 2; explains++) {
        learner x;
        double rewards[MOST];
        open_learner(&x, true);
        x.how.explains_far = explains;
        for (size_t i = 0; i < 48; i++)
            rewards[i] = pow(10.0, 8.0 * exp(-pow(((double)i - 24.0) / 2.5, 2.0)));
        for (size_t n = 12; n <= 48; n += 4)
            learn(&x, n, rewards);
        assert_true(explains ? x.learned.n_aside == 0 : x.learned.n_aside >= 3);
        assert_true(explains ? x.learned.power < 0.3 : x.learned.power >= 0.5);
        assert_true(isfinite(bandit_fitted_unfold(&x.learned, x.learned.offset + 1e6 * x.learned.scale)));
        close_learner(&x);
    }
}

static bool is_aside(const learner *x, uint32_t arm)
{
    return bandit_sum_of(x->learned.aside, x->learned.n_aside, arm) != NULL;
}

/* Most arms have the same reward, and two that are far apart are better. */
static void what_is_better_than_a_common_reward_is_spared(void **state)
{
    (void)state;
    for (int spares = 0; spares < 2; spares++) {
        learner x;
        double rewards[MOST];
        open_learner(&x, true);
        x.how.explains_far = x.how.confirms = true;
        x.how.spares_rare = spares;
        for (size_t i = 0; i < 40; i++)
            rewards[i] = i == 9 ? 7.5 : i == 22 ? 9.0 : 7.0;
        for (size_t n = 12; n <= 40; n += 4)
            learn(&x, n, rewards);
        assert_true(is_aside(&x, 22) == !spares);
        assert_false(spares && is_aside(&x, 9));
        close_learner(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_are_due_at_each_of_a_hundred),
        cmocka_unit_test(what_is_told_comes_back),
        cmocka_unit_test(good_rewards_have_a_unit_of_their_own),
        cmocka_unit_test(every_other_fit_may_have_a_finer_unit),
        cmocka_unit_test(the_unit_is_of_distinct_regions),
        cmocka_unit_test(strays_are_set_aside),
        cmocka_unit_test(a_peak_of_many_decades_is_no_stray),
        cmocka_unit_test(what_is_better_than_a_common_reward_is_spared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
