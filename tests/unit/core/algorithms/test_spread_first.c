/* The first picks of log_ei on lists with `init` spread: different, unlike each other, and the same however they are
 * asked for. */
#include "bandit/engine.h"
#include "tests/support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ARMS = 300, PICKS = 24, SEEDS = 20 };

static void problem_init(random_problem *p, uint64_t seed, bandit_init init, unsigned trouble)
{
    random_problem_init(p, seed, ARMS, 3, BANDIT_KERNEL_MATERN, 0.1, trouble);
    p->options.algorithm = BANDIT_LOG_EI;
    p->options.init = init;
}

/* The first PICKS picks, `at_once` of them in a batch, with the earlier ones in flight. */
static void choose(const random_problem *p, size_t at_once, bandit_pick *picks)
{
    bandit_engine *engine;
    bandit_selection selection;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.max_picks = at_once;
    limits.beyond_bound = true;
    assert_int_equal(bandit_engine_new(&engine, p->arms, &p->options, 0, NULL), BANDIT_OK);
    assert_int_equal(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, NULL),
                     BANDIT_OK);
    for (size_t n = 0; n < PICKS; n += at_once) {
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, picks + n, &selection, NULL),
            BANDIT_OK);
        assert_int_equal(selection.n_picks, at_once);
    }
    bandit_engine_free(engine);
}

/* The largest covariance of pick i with an earlier one. */
static double likeness(const random_problem *p, const bandit_pick *picks, size_t i)
{
    double most = -INFINITY;
    for (size_t k = 0; k < i; k++)
        most = fmax(most, random_problem_kernel(p, picks[i].arm, picks[k].arm));
    return most;
}

static void compare_with_uniform(unsigned trouble)
{
    double spread = 0.0, uniform = 0.0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        random_problem apart, drawn;
        bandit_pick a[PICKS], b[PICKS];
        problem_init(&apart, seed, BANDIT_INIT_SPREAD, trouble);
        problem_init(&drawn, seed, BANDIT_INIT_UNIFORM, trouble);
        choose(&apart, PICKS, a);
        choose(&drawn, PICKS, b);
        assert_int_equal(a[0].arm, b[0].arm);
        assert_true(likeness(&apart, a, 1) <= likeness(&apart, b, 1)); /* b[1] was one of the arms drawn */
        for (size_t i = 1; i < PICKS; i++) {
            spread += likeness(&apart, a, i);
            uniform += likeness(&apart, b, i);
            for (size_t k = 0; k < i; k++)
                assert_int_not_equal(a[i].arm, a[k].arm);
        }
        random_problem_clear(&apart);
        random_problem_clear(&drawn);
    }
    assert_true(spread < 0.9 * uniform);
}

static void picks_are_unlike_each_other(void **state)
{
    (void)state;
    compare_with_uniform(0);
}

static void so_are_they_with_a_kernel_matrix(void **state)
{
    (void)state;
    compare_with_uniform(PROBLEM_PRECOMPUTED);
}

static void one_by_one_or_at_once(void **state)
{
    static const size_t parts[] = {1, 8};
    random_problem p;
    bandit_pick all[PICKS], some[PICKS];
    (void)state;
    problem_init(&p, 7, BANDIT_INIT_SPREAD, 0);
    choose(&p, PICKS, all);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        choose(&p, parts[k], some);
        for (size_t i = 0; i < PICKS; i++)
            assert_int_equal(some[i].arm, all[i].arm);
    }
    random_problem_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_are_unlike_each_other),
        cmocka_unit_test(so_are_they_with_a_kernel_matrix),
        cmocka_unit_test(one_by_one_or_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
