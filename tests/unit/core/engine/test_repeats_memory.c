/* log_ei on a list of candidates without noise, among which many values are equal and the few better ones look like
 * outliers: how many it measures twice, and what a failed allocation does. */
#include "bandit/engine.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIDE = 40, ARMS = SIDE * SIDE, TRIALS = 100 };

static double reward(uint32_t arm)
{
    double x = (double)(arm % SIDE) / (SIDE - 1), y = (double)(arm / SIDE) / (SIDE - 1);
    double value =
        -(x - 0.62) * (x - 0.62) - 2.0 * (y - 0.41) * (y - 0.41) + 0.1 * sin(9.0 * x) * cos(7.0 * y);
    return rint(2.0 * value);
}

static bandit_arms *grid(void)
{
    static double rows[2 * ARMS];
    bandit_arms *arms;
    bandit_error err;
    for (size_t i = 0; i < ARMS; i++) {
        rows[2 * i] = (double)(i % SIDE);
        rows[2 * i + 1] = (double)(i / SIDE);
    }
    must(bandit_arms_new(&arms, ARMS, 2, &err), &err);
    must(bandit_arms_set_rows(arms, 0, ARMS, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, ARMS, &err), &err);
    return arms;
}

/* An ask. With `failing` it is first tried with each of its allocations failing. */
static bandit_pick ask(bandit_engine *engine, bool failing)
{
    bandit_error err = {0};
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection = {0};
    bandit_pick pick = {0};
    limits.max_picks = 1;
    limits.beyond_bound = true;
    for (long n = failing ? 0 : -1; selection.n_picks == 0; n++) {
        until_failure = n;
        bandit_status status =
            bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err);
        bool reached = has_failed();
        assert_int_equal(status, reached && selection.n_picks == 0 ? BANDIT_NO_MEMORY : BANDIT_OK);
        assert_true(n < 1000);
    }
    return pick;
}

/* How many different arms TRIALS trials measure, one at a time. */
static size_t different(bandit_arms *arms, double agreeing_repeats)
{
    bool met[ARMS] = {false};
    size_t n = 0;
    bandit_engine *engine;
    bandit_error err;
    bandit_result result = {0};
    bandit_options o = BANDIT_OPTIONS_INIT;
    learner_options(&o, BANDIT_LOG_EI);
    o.agreeing_repeats = agreeing_repeats;
    o.seed = 2;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    for (size_t t = 0; t < TRIALS; t++) {
        learner_begin(engine, &result, t > 0);
        bandit_pick pick = ask(engine, t % repeats(1, 10) == 0);
        result = learner_result(&pick, reward(pick.arm));
        n += !met[pick.arm];
        met[pick.arm] = true;
    }
    bandit_engine_free(engine);
    return n;
}

static void repeats_that_agree_are_few(void **unused)
{
    (void)unused;
    long before = live;
    bandit_arms *arms = grid();
    assert_true(different(arms, 0.05) >= 95);
    if (repeats(1, 0) > 0)
        assert_true(different(arms, 1.0) < 90); /* without the limit, more are measured again */
    bandit_arms_free(arms);
    assert_int_equal(live, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(repeats_that_agree_are_few)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
