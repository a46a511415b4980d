/* Every allocation fails once while the best point of a quadratic function is picked, and while the pick is explained: the call
 * says so, and does the same as otherwise when it is made again. */
#include "bandit/engine.h"
#include "bandit/reason.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 3, TRIALS = 20 };

static void bowl(const double *x, double *y)
{
    double a = x[0] - 0.3, b = x[1] - 0.6, c = x[2] - 0.45;
    y[0] = -(a + b) * (a + b) - 100.0 * (a - b) * (a - b) - 1e4 * (a + b - c) * (a + b - c);
    y[0] *= 1.0 + 0.1 * sin(20.0 * x[0]);
    y[1] = y[2] = 0.0;
}

/* The calls that a batch makes. */
typedef struct calls {
    bandit_engine *engine, *restored;
    bandit_pick pick;
    bandit_reason reason;
} calls;

static bandit_status choose(calls *c, bandit_error *err)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    limits.max_picks = 1;
    return bandit_engine_select(c->engine, &limits, &bandit_executor_serial, &c->pick, &selection, err);
}

static bandit_status explain(calls *c, bandit_error *err)
{
    const bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    return bandit_engine_explain(c->restored, c->pick.arm, &limits, &bandit_executor_serial, &c->reason, err);
}

/* Makes the call; with `failing` it is first tried with each of its allocations failing. */
static void make(calls *c, bandit_status (*call)(calls *, bandit_error *), bool failing)
{
    bandit_status status = BANDIT_NO_MEMORY;
    for (long n = failing ? 0 : -1; status != BANDIT_OK; n++) {
        bandit_error err = {0};
        until_failure = n;
        status = call(c, &err);
        bool reached = has_failed();
        assert_int_equal(status, failing && reached ? BANDIT_NO_MEMORY : BANDIT_OK);
        assert_true(n < 1000);
    }
}

/* Runs a study. Returns how many of its picks were best points of quadratic functions. */
static size_t run(bool failing, double values[TRIALS])
{
    const bandit_metric metrics[] = {several_objective((double)NAN), several_objective((double)NAN)};
    several s;
    size_t quadratic = 0;
    several_open_cube(&s, D, 1, metrics, 2, bowl);
    several_revise(&s, BANDIT_LATEST_REVISION, true);
    for (s.n = 0; s.n < TRIALS;) {
        calls c = {.engine = s.engine};
        bandit_checkpoint checkpoint;
        several_begin(&s, s.n > 0 ? s.n - 1 : 0, s.n, NULL, 0);
        bandit_engine_checkpoint(s.engine, &checkpoint);
        must(bandit_engine_restore(&c.restored, s.arms, &s.options, 0, &checkpoint, NULL, 0,
                                   &bandit_executor_serial, NULL),
             NULL);
        make(&c, choose, failing);
        make(&c, explain, failing);
        bandit_engine_free(c.restored);
        quadratic += c.reason.rule == BANDIT_REASON_QUADRATIC;
        s.picks[s.n++] = c.pick;
        several_measure(&s, s.n - 1);
        values[s.n - 1] = s.values[s.n - 1][0];
    }
    several_close(&s);
    return quadratic;
}

static void allocations_fail(void **state)
{
    double expected[TRIALS], found[TRIALS];
    long before = live;
    (void)state;
    size_t quadratic = run(false, expected);
    assert_true(quadratic >= 2);
    assert_int_equal(run(true, found), quadratic);
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(live, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
