/* Picks before the first reward ([BBKB] Alg. 3) against a greedy choice by dense matrices, and how many arms
 * are looked at for it. */
#include "core/selection/uncertainty.h"

#include "bandit/engine.h"
#include "tests/support/random_problem.h"
#include "tests/support/small_sets.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 90, MOST = 150 };

static size_t looks; /* kernel columns */
static const bandit_simd *underneath;
static bandit_simd counted;

static void count_looks(bandit_profile profile, double short_share, size_t d, const double *tile,
                        const double *points, size_t n, double *out, size_t ld)
{
    looks++;
    underneath->entries(profile, short_share, d, tile, points, n, out, ld);
}

/* Variance of every arm, paper's scale, after these pulls. */
static void dense_variances(const random_problem *p, const uint32_t *pulled, size_t n, double lambda,
                            double *out)
{
    static double m[MOST * MOST], x[MOST * ARMS];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            m[i * n + j] = random_problem_kernel(p, pulled[i], pulled[j]) + (i == j ? lambda : 0.0);
        for (size_t a = 0; a < ARMS; a++)
            x[i * ARMS + a] = random_problem_kernel(p, pulled[i], a);
    }
    if (n > 0)
        assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, ARMS, m, (lapack_int)n, x, ARMS),
                         0);
    for (size_t a = 0; a < ARMS; a++) {
        out[a] = random_problem_kernel(p, a, a);
        for (size_t i = 0; i < n; i++)
            out[a] -= x[i * ARMS + a] * random_problem_kernel(p, pulled[i], a);
        out[a] /= lambda;
    }
}

static size_t check_picks(bandit_kernel_type kernel, double lambda, double parallelism, size_t most)
{
    random_problem p;
    bandit_covariance covariance;
    uint32_t *picks;
    size_t n, repeats = 0;
    double variance[ARMS];
    random_problem_init(&p, 12, ARMS, 2, kernel, lambda, 0);
    assert_int_equal(bandit_covariance_init(&covariance, &p.options.kernel, p.arms, NULL), BANDIT_OK);
    underneath = covariance.simd;
    counted = *underneath;
    counted.entries = count_looks;
    covariance.simd = &counted;
    looks = 0;
    assert_int_equal(
        bandit_uncertainty_picks(&picks, &n, &covariance, lambda, parallelism, most, INFINITY, NULL),
        BANDIT_OK);
    assert_true(n >= 1 && n <= most);
    for (size_t i = 0; i <= n; i++) {
        double largest = 0.0;
        dense_variances(&p, picks, i, lambda, variance);
        for (size_t a = 0; a < ARMS; a++)
            largest = fmax(largest, variance[a]);
        if (i < n) {
            assert_true(variance[picks[i]] >= largest * (1.0 - 1e-7));
            assert_true(i == 0 || largest >= (1.0 - 1e-7) / parallelism);
            for (size_t k = 0; k < i; k++)
                repeats += picks[k] == picks[i];
        } else {
            assert_true(n == most || largest <= (1.0 + 1e-7) / parallelism);
        }
    }
    assert_true(looks <
                (n + 2) * ARMS / 2); /* stale variances are bounds: most arms are not looked at again */
    free(picks);
    bandit_covariance_clear(&covariance);
    random_problem_clear(&p);
    return n == most ? 0 : repeats + n;
}

static void the_most_uncertain_arm_is_next(void **state)
{
    (void)state;
    assert_true(check_picks(BANDIT_KERNEL_GAUSSIAN, 0.5, 4.0, MOST) > 5);
    assert_true(check_picks(BANDIT_KERNEL_MATERN, 0.1, 1.0, MOST) > 30);
    assert_true(check_picks(BANDIT_KERNEL_GAUSSIAN, 1.0, 20.0, MOST) > 60);
    assert_true(check_picks(BANDIT_KERNEL_MATERN, 0.05, 1e6, 100) == 0); /* the plan is full */
    assert_true(check_picks(BANDIT_KERNEL_LINEAR, 0.5, 2.0, MOST) > 2);
    assert_true(check_picks(BANDIT_KERNEL_GAUSSIAN, 10.0, 1.0, 1) == 0);
    assert_true(check_picks(BANDIT_KERNEL_GAUSSIAN, 1e9, 1.0, MOST) == 1); /* one in any case */
}

/* A planned pick that is withheld is left out, wherever it stands on the list. */
static void plans_heed_what_is_withheld(void **state)
{
    (void)state;
    for (int withheld = 0; withheld < 4; withheld++) {
        bandit_arms *arms;
        bandit_engine *engine;
        bandit_options o = small_options(BANDIT_BBKB, FEATURES);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        bandit_pick planned, pick;
        o.init = BANDIT_INIT_UNCERTAINTY;
        o.parallelism = 8;
        limits.max_picks = 1;
        assert_int_equal(small_arms(&arms, FEATURES), BANDIT_OK);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
            assert_int_equal(
                bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, NULL),
                BANDIT_OK);
            uint32_t list[2] = {0};
            if (round == 1) {
                uint32_t first = planned.arm, other = withheld & 1 ? SMALL_ARMS - 1 : 0;
                other = other == first ? 1 : other;
                list[0] = first < other ? first : other;
                list[1] = first < other ? other : first;
                limits.withheld = withheld & 2 ? &planned.arm : list;
                limits.n_withheld = withheld & 2 ? 1 : 2;
            } else {
                limits.n_withheld = 0;
            }
            assert_int_equal(bandit_engine_select(engine, &limits, &bandit_executor_serial,
                                                  round ? &pick : &planned, &selection, NULL),
                             BANDIT_OK);
            assert_int_equal(selection.n_picks, 1);
            bandit_engine_free(engine);
        }
        assert_true(pick.arm != planned.arm);
        bandit_arms_free(arms);
    }
}

/* So is one that stands behind others on a list of what is withheld. */
static void plans_heed_all_that_is_withheld(void **state)
{
    bandit_arms *arms;
    bandit_pick planned[2];
    bandit_options o = small_options(BANDIT_BBKB, FEATURES);
    (void)state;
    o.init = BANDIT_INIT_UNCERTAINTY;
    o.parallelism = 8;
    assert_int_equal(small_arms(&arms, FEATURES), BANDIT_OK);
    for (int round = 0; round < 2; round++) {
        bandit_engine *engine;
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        assert_int_equal(bandit_engine_new(&engine, arms, &o, 0, NULL), BANDIT_OK);
        assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, NULL),
                         BANDIT_OK);
        limits.max_picks = round == 0 ? 2 : 1;
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, planned, &selection, NULL),
            BANDIT_OK);
        assert_int_equal(selection.n_picks, limits.max_picks);
        assert_true(planned[1].arm > 0);
        if (round == 1) {
            const uint32_t list[] = {planned[1].arm - 1, planned[1].arm};
            bandit_pick pick;
            limits.withheld = list;
            limits.n_withheld = 2;
            assert_int_equal(
                bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, NULL),
                BANDIT_OK);
            assert_int_equal(selection.n_picks, 1);
            assert_true(pick.arm != list[0] && pick.arm != list[1]);
        }
        bandit_engine_free(engine);
    }
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_uncertain_arm_is_next),
        cmocka_unit_test(plans_heed_what_is_withheld),
        cmocka_unit_test(plans_heed_all_that_is_withheld),
    };
    return cmocka_run_group_tests_name("uncertainty", tests, NULL, NULL);
}
