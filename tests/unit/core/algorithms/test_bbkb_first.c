/* The picks of uncertainty sampling that are made one by one: against a greedy choice by dense matrices, and however
 * they are asked for. */
#include "bandit/engine.h"
#include "tests/support/random_problem.h"

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 90, MOST = 120 };

static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_BKB, BANDIT_LOG_EI};

/* Variance of every arm, paper's scale, after these pulls. */
static void dense_variances(const random_problem *p, const bandit_pick *pulled, size_t n, double *out)
{
    static double m[MOST * MOST], x[MOST * ARMS];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            m[i * n + j] =
                random_problem_kernel(p, pulled[i].arm, pulled[j].arm) + (i == j ? p->options.lambda : 0.0);
        for (size_t a = 0; a < ARMS; a++)
            x[i * ARMS + a] = random_problem_kernel(p, pulled[i].arm, a);
    }
    if (n > 0)
        assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, ARMS, m, (lapack_int)n, x, ARMS),
                         0);
    for (size_t a = 0; a < ARMS; a++) {
        out[a] = random_problem_kernel(p, a, a);
        for (size_t i = 0; i < n; i++)
            out[a] -= x[i * ARMS + a] * random_problem_kernel(p, pulled[i].arm, a);
        out[a] /= p->options.lambda;
    }
}

static bandit_engine *begin(const random_problem *p, const bandit_pick *pending, size_t n_pending)
{
    bandit_engine *engine;
    assert_int_equal(bandit_engine_new(&engine, p->arms, &p->options, 0, NULL), BANDIT_OK);
    assert_int_equal(
        bandit_engine_begin_batch(engine, NULL, 0, pending, n_pending, &bandit_executor_serial, NULL),
        BANDIT_OK);
    return engine;
}

static bandit_selection take(bandit_engine *engine, size_t most, uint32_t withheld, bandit_pick *picks)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    limits.max_picks = most;
    limits.withheld = &withheld;
    limits.n_withheld = withheld < ARMS;
    assert_int_equal(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
                     BANDIT_OK);
    return selection;
}

static void set_up(random_problem *p, size_t algorithm, double lambda, double parallelism, size_t most)
{
    random_problem_init(p, 12, ARMS, 2, BANDIT_KERNEL_MATERN, lambda, 0);
    p->options.algorithm = algorithms[algorithm];
    p->options.init = BANDIT_INIT_UNCERTAINTY;
    p->options.init_cholesky = true;
    p->options.parallelism = parallelism;
    p->options.max_batch = most;
}

/* Returns how many picks there were. */
static size_t check_picks(size_t algorithm, double lambda, double parallelism, size_t most)
{
    random_problem p;
    bandit_pick picks[MOST];
    double variance[ARMS];
    set_up(&p, algorithm, lambda, parallelism, most);
    bandit_engine *engine = begin(&p, NULL, 0);
    bandit_selection s = take(engine, MOST, ARMS, picks);
    assert_true(s.n_picks >= 1 && s.n_picks <= most);
    for (size_t i = 0; i <= s.n_picks; i++) {
        double largest = 0.0;
        dense_variances(&p, picks, i, variance);
        for (size_t a = 0; a < ARMS; a++)
            largest = fmax(largest, variance[a]);
        if (i < s.n_picks) {
            assert_true(variance[picks[i].arm] >= largest * (1.0 - 1e-7));
            assert_true(i == 0 || largest >= (1.0 - 1e-7) / parallelism);
        } else if (s.stop_rule == BANDIT_STOP_INITIAL) {
            assert_true(largest <= (1.0 + 1e-7) / parallelism);
        } else {
            assert_int_equal(s.stop_rule, BANDIT_STOP_MAX_BATCH);
            assert_int_equal(s.n_picks, most);
        }
    }
    bandit_engine_free(engine);
    random_problem_clear(&p);
    return s.n_picks;
}

static void the_most_uncertain_arm_is_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(check_picks(i, 0.1, 1.0, MOST) > 30);
        assert_int_equal(check_picks(i, 0.05, 1e6, 100), 100);
        assert_int_equal(check_picks(i, 1e9, 1.0, MOST), 1);
    }
}

/* Picks that are asked for one by one, by an engine that is restored in between, are the same to the bit. */
static void picks_do_not_depend_on_how_they_are_asked_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        random_problem p;
        bandit_pick whole[MOST], single[MOST];
        size_t n = 0;
        set_up(&p, i, 0.1, 4.0, MOST);
        bandit_engine *engine = begin(&p, NULL, 0);
        bandit_selection s = take(engine, MOST, ARMS, whole);
        bandit_engine_free(engine);
        assert_true(s.n_picks > 40);
        engine = begin(&p, NULL, 0);
        while (take(engine, 1 + n % 3, ARMS, single + n).n_picks > 0) {
            bandit_checkpoint checkpoint;
            bandit_engine *other;
            n += 1 + n % 3 <= s.n_picks - n ? 1 + n % 3 : s.n_picks - n;
            if (n % 5 != 0)
                continue;
            bandit_engine_checkpoint(engine, &checkpoint);
            assert_int_equal(bandit_engine_restore(&other, p.arms, &p.options, 0, &checkpoint, NULL, 0,
                                                   &bandit_executor_serial, NULL),
                             BANDIT_OK);
            assert_int_equal(bandit_engine_replay_picks(other, single, n, &bandit_executor_serial, NULL),
                             BANDIT_OK);
            bandit_engine_free(engine);
            engine = other;
        }
        assert_int_equal(n, s.n_picks);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(single[k].arm, whole[k].arm);
        bandit_engine_free(engine);
        random_problem_clear(&p);
    }
}

/* Picks heed trials in flight, which a user proposed, and candidates that may not be picked. */
static void picks_keep_away_from_what_is_in_flight(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        random_problem p;
        bandit_pick picks[2], own;
        set_up(&p, i, 0.1, 4.0, MOST);
        bandit_engine *engine = begin(&p, NULL, 0);
        assert_int_equal(take(engine, 2, ARMS, picks).n_picks, 2);
        bandit_engine_free(engine);
        engine = begin(&p, picks, 1);
        assert_int_equal(take(engine, 1, ARMS, &own).n_picks, 1);
        assert_int_equal(own.arm, picks[1].arm);
        bandit_engine_free(engine);
        engine = begin(&p, NULL, 0);
        assert_int_equal(take(engine, 1, picks[0].arm, &own).n_picks, 1);
        assert_true(own.arm != picks[0].arm);
        bandit_engine_free(engine);
        random_problem_clear(&p);
    }
}

/* Memory is bounded by the picks that are made, not by those that may follow. */
static void memory_is_for_the_picks_that_are_made(void **state)
{
    random_problem p;
    bandit_engine *engine;
    bandit_pick pick[MOST];
    bandit_error err;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection = {0};
    (void)state;
    set_up(&p, 0, 1e-9, 1e9, 1 << 20);
    assert_int_equal(bandit_engine_new(&engine, p.arms, &p.options, 400000, NULL), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, NULL),
                     BANDIT_OK);
    limits.max_picks = MOST;
    bandit_status status = BANDIT_OK;
    size_t n = 0;
    while (status == BANDIT_OK && n < 10000) {
        status = bandit_engine_select(engine, &limits, &bandit_executor_serial, pick, &selection, &err);
        n += status == BANDIT_OK ? selection.n_picks : 0;
        assert_true(bandit_engine_memory(engine) <= 400000);
    }
    assert_int_equal(status, BANDIT_MEMORY_LIMIT);
    assert_non_null(strstr(err.message, "\"uncertainty\""));
    assert_true(n > 100);
    bandit_engine_free(engine);
    random_problem_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_uncertain_arm_is_next),
        cmocka_unit_test(picks_do_not_depend_on_how_they_are_asked_for),
        cmocka_unit_test(picks_keep_away_from_what_is_in_flight),
        cmocka_unit_test(memory_is_for_the_picks_that_are_made),
    };
    return cmocka_run_group_tests_name("bbkb_first", tests, NULL, NULL);
}
