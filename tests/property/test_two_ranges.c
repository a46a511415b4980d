/* log_ei in an open space, with a kernel that may have a part with a shorter range: since which revision it does, that it finds
 * better points of a function with many optima, and that it survives a restart. */
#include "bandit/engine.h"
#include "bandit/front.h"
#include "bandit/space.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 3, TRIALS = 50, SEEDS = 2 };

/* ---- what is measured ---------------------------------------------------------------------------------- */

/* A bowl with ripples, Rastrigin's function in [-2, 2]^3 with its optimum moved. The best value is 0. */
static void ripples(const double *x, double *y)
{
    y[0] = y[1] = y[2] = 0.0;
    for (size_t i = 0; i < D; i++) {
        double a = 4.0 * x[i] - 2.3 + 0.2 * (double)i;
        y[0] -= a * a + 3.0 - 3.0 * cos(6.283185307179586 * a);
    }
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static void open_study(several *s, size_t revision, uint64_t seed)
{
    const bandit_metric metrics[] = {several_objective(NAN), several_objective(NAN)};
    several_open_cube(s, D, seed, metrics, 2, ripples);
    several_revise(s, revision, true);
}

static double best_of(const several *s)
{
    double best = -INFINITY;
    for (size_t i = 0; i < s->n; i++)
        best = fmax(best, s->values[i][0]);
    return best;
}

static double share_of(const bandit_engine *engine)
{
    bandit_description d;
    bandit_engine_describe(engine, &d);
    return d.short_share;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* Distances to the best value, with one range and with two. */
static void many_optima_are_searched_better(void **state)
{
    double before = 0.0, now = 0.0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (size_t revision = 6; revision <= 7; revision++) {
            several s;
            open_study(&s, revision, seed);
            several_run(&s, TRIALS, 1);
            *(revision == 6 ? &before : &now) += log(-best_of(&s)) / SEEDS;
            several_close(&s);
        }
    }
    print_message("mean log distance: %.2f with one range, %.2f with two\n", before, now);
    assert_true(now < before - 2.0);
}

/* An engine restored from a batch's checkpoint has the same kernel, and picks the same. */
static void a_restart_keeps_the_share(void **state)
{
    size_t with_two = 0;
    (void)state;
    for (size_t trials = 20; trials <= 23; trials++) {
        several s;
        bandit_engine *restored;
        bandit_checkpoint checkpoint;
        bandit_error err;
        bandit_pick here, there;
        double x[D], again[D];
        open_study(&s, 7, 1);
        several_run(&s, trials, 1);
        several_begin(&s, s.n - 1, s.n, NULL, 0);
        bandit_engine_checkpoint(s.engine, &checkpoint);
        must(bandit_engine_restore(&restored, s.arms, &s.options, 0, &checkpoint, NULL, 0,
                                   &bandit_executor_serial, &err),
             &err);
        assert_true(share_of(restored) == share_of(s.engine));
        with_two += share_of(restored) > 0.0;
        assert_int_equal(several_choose(s.engine, 1, &here), 1);
        assert_int_equal(several_choose(restored, 1, &there), 1);
        bandit_arms_coded(s.arms, here.arm, x);
        bandit_arms_coded(s.arms, there.arm, again);
        assert_memory_equal(x, again, sizeof x);
        bandit_engine_free(restored);
        several_close(&s);
    }
    assert_true(with_two > 0);
}

/* A stored share that no kernel has is refused. It is the word after the power, which is the word after those of test_refitting_state.c. */
static void a_damaged_share_is_refused(void **state)
{
    enum { SHARE = 18, MOST = 4096 };
    static unsigned char stored[MOST];
    const double shares[] = {-0.1, 1.0, NAN};
    several s;
    bandit_engine *restored;
    bandit_checkpoint checkpoint;
    bandit_error err;
    (void)state;
    open_study(&s, 7, 1);
    several_run(&s, 20, 1);
    bandit_engine_checkpoint(s.engine, &checkpoint);
    assert_true(checkpoint.n_state <= MOST);
    memcpy(stored, checkpoint.state, checkpoint.n_state);
    checkpoint.state = stored;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        memcpy(stored + SHARE * sizeof(double), &shares[i], sizeof *shares);
        assert_int_equal(bandit_engine_restore(&restored, s.arms, &s.options, 0, &checkpoint, NULL, 0,
                                               &bandit_executor_serial, &err),
                         BANDIT_INVALID_STATE);
        assert_string_equal(err.message, "the stored hyper-parameters are not valid");
    }
    several_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_optima_are_searched_better),
                                       cmocka_unit_test(a_restart_keeps_the_share),
                                       cmocka_unit_test(a_damaged_share_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
