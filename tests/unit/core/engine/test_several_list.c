/* Which arms are looked at for the front of a list: all that may be on it, and hardly any others. */
#include "core/engine/several_engine.h"

#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TOLD = 60 };

/* A front from (0, 1) to (1, 0), where the second coordinate, which is the third metric, is 0. */
static void fan(const double *x, double *y)
{
    double far = 1.0 - 0.8 * x[1];
    y[0] = far * x[0];
    y[1] = far * (1.0 - x[0] * x[0]);
    y[2] = x[1];
}

/* What the models say of the arms with results. */
typedef struct looked {
    uint32_t arms[TOLD];
    size_t n;
    double mean[TOLD][SEVERAL_METRICS], known[TOLD][SEVERAL_METRICS];
} looked;

static bandit_several_engine *told_engine(several *s, const bandit_metric *metrics)
{
    several_open(s, true, metrics, SEVERAL_METRICS, fan);
    for (uint32_t i = 0; i < TOLD; i++)
        s->picks[i] = (bandit_pick){.arm = i};
    s->n = TOLD;
    several_measure(s, 0);
    several_begin(s, 0, TOLD, NULL, 0);
    bandit_pick pick;
    assert_int_equal(several_choose(s->engine, 1, &pick), 1);
    return (bandit_several_engine *)s->engine;
}

/* All arms with results, as each of them alone. */
static void look_at_all(bandit_several_engine *e, looked *out)
{
    out->n = TOLD;
    for (uint32_t i = 0; i < TOLD; i++) {
        out->arms[i] = i;
        bandit_several_look_list(e, i, out->mean[i], out->known[i]);
    }
}

/* Rows of `mean` have as many entries as there are metrics, which is SEVERAL_METRICS. */
static void look_at_front(bandit_several_engine *e, looked *out)
{
    bandit_metric goals[BANDIT_MOST_METRICS];
    bandit_several_goals(e, goals);
    out->n = TOLD;
    for (uint32_t i = 0; i < TOLD; i++)
        out->arms[i] = i;
    must(bandit_several_look_front(e, goals, out->arms, &out->n, out->mean[0], out->known[0], NULL), NULL);
}

static bool is_feasible(bandit_several_engine *e, const looked *l, size_t i)
{
    bandit_joint joint = {.n = e->n};
    bandit_several_goals(e, joint.metrics);
    return bandit_joint_is_feasible(&joint, l->mean[i], l->known[i]);
}

/* Whether another arm has larger means of both objectives, and keeps the bounds if `feasible`. */
static bool is_dominated(bandit_several_engine *e, const looked *all, size_t i, bool feasible)
{
    for (size_t k = 0; k < all->n; k++)
        if ((!feasible || is_feasible(e, all, k)) && all->mean[k][0] > all->mean[i][0] &&
            all->mean[k][1] > all->mean[i][1])
            return true;
    return false;
}

/* How many arms of a study are looked at, and how many are on the front; of these, how many would not be if arms that
 * break a bound counted. */
typedef struct counts {
    size_t kept, feasible, front, below_broken;
} counts;

static counts front_of(const bandit_metric *metrics)
{
    several s;
    looked all, some;
    counts c = {0};
    bandit_several_engine *e = told_engine(&s, metrics);
    look_at_all(e, &all);
    look_at_front(e, &some);
    c.kept = some.n;
    for (size_t i = 0, at = 0; i < all.n; i++) {
        bool is_kept = at < some.n && some.arms[at] == i, feasible = is_feasible(e, &all, i);
        bool front = feasible && !is_dominated(e, &all, i, true);
        c.feasible += feasible;
        c.front += front;
        c.below_broken += front && is_dominated(e, &all, i, false);
        assert_true(is_kept || !front); /* nothing on the front is left out */
        if (!is_kept)
            continue;
        for (size_t j = 0; j < 2; j++) { /* the objectives */
            assert_true(some.mean[at][j] == all.mean[i][j]);
            assert_true(some.known[at][j] == all.known[i][j]);
        }
        assert_int_equal(is_feasible(e, &some, at), feasible);
        at++;
    }
    several_close(&s);
    return c;
}

static void dominated_arms_are_left_out(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(-1.0), several_objective(-1.0),
                                     several_at_least(-5.0)};
    counts c = front_of(metrics);
    assert_int_equal(c.feasible, TOLD);
    assert_true(c.front >= 3 && c.kept < TOLD / 2);
}

/* Arms that break a bound, from below or from above, are left out and put nobody else off the front. */
static void arms_that_break_a_bound_are_left_out(void **unused)
{
    (void)unused;
    bandit_metric metrics[] = {several_objective(-1.0), several_objective(-1.0), several_at_least(0.5)};
    counts c = front_of(metrics);
    assert_true(c.front > 0 && c.below_broken == c.front);
    assert_true(c.feasible < TOLD && c.kept <= c.feasible);
    metrics[2].low = -INFINITY;
    metrics[2].high = 0.5;
    c = front_of(metrics);
    assert_true(c.front > 0 && c.below_broken == 0);
    assert_true(c.feasible < TOLD && c.kept <= c.feasible);
}

/* While the bounds are sought, the arm that comes next to them matters. */
static void without_a_feasible_arm_all_are_looked_at(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(-1.0), several_objective(-1.0),
                                     several_at_least(50.0)};
    counts c = front_of(metrics);
    assert_int_equal(c.feasible, 0);
    assert_int_equal(c.kept, TOLD);
}

/* The reference point depends on the means of all arms. */
static void without_thresholds_all_are_looked_at(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(NAN), several_objective(NAN), several_at_least(-5.0)};
    assert_int_equal(front_of(metrics).kept, TOLD);
}

/* An engine makes picks while many are in flight. Returns how many of them an engine that is restored right before the
 * pick makes differently. */
static size_t differ_after_restarts(size_t revision)
{
    enum { OUT = 48, NEXT = 20 };
    const bandit_metric metrics[] = {several_objective(NAN), several_objective(NAN)};
    several s;
    size_t differ = 0, before;
    bandit_error err;
    several_open(&s, true, metrics, 2, several_branin_currin);
    bandit_engine_free(s.engine);
    s.options.revision = revision;
    must(bandit_engine_new(&s.engine, s.arms, &s.options, 0, &err), &err);
    for (uint32_t i = 0; i < TOLD; i++)
        s.picks[i] = (bandit_pick){.arm = 6 * i};
    s.n = TOLD;
    several_measure(&s, 0);
    several_begin(&s, 0, TOLD, NULL, 0);
    s.n += several_choose(s.engine, OUT, s.picks + TOLD);
    several_begin(&s, TOLD, TOLD, s.picks + TOLD, OUT);
    for (before = s.n; s.n < before + NEXT; s.n++) {
        bandit_engine *other;
        bandit_checkpoint checkpoint;
        bandit_pick pick;
        bandit_engine_checkpoint(s.engine, &checkpoint);
        must(bandit_engine_restore(&other, s.arms, &s.options, 0, &checkpoint, s.picks + TOLD, OUT,
                                   &bandit_executor_serial, &err),
             &err);
        must(bandit_engine_replay_picks(other, s.picks + before, s.n - before, &bandit_executor_serial, &err),
             &err);
        assert_int_equal(several_choose(s.engine, 1, s.picks + s.n), 1);
        assert_int_equal(several_choose(other, 1, &pick), 1);
        differ += pick.arm != s.picks[s.n].arm;
        bandit_engine_free(other);
    }
    several_close(&s);
    return differ;
}

/* The heap of an engine that has made picks sets aside other arms than that of a restored one. */
static void restarts_change_no_pick(void **unused)
{
    (void)unused;
    assert_true(differ_after_restarts(1) > 0); /* as studies that were created before do */
    assert_int_equal(differ_after_restarts(2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dominated_arms_are_left_out),
        cmocka_unit_test(arms_that_break_a_bound_are_left_out),
        cmocka_unit_test(without_a_feasible_arm_all_are_looked_at),
        cmocka_unit_test(without_thresholds_all_are_looked_at),
        cmocka_unit_test(restarts_change_no_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
