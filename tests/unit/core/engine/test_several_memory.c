/* Every allocation of an engine with several metrics fails once, on features, on a kernel matrix, in an enumerated
 * space and in one that grows. The call that fails says so; after it the engine can be freed, and leaves nothing. */
#include "bandit/reason.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/small_sets.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCHES = 3, PICKS = 3, METRICS = 3, STEPS = 5 };

/* Values beside the first, of all results; engines borrow them. */
static double others[BATCHES][PICKS][METRICS - 1];

static bool in_contexts; /* the second number of BOX is one, and picks fix it */

static bandit_status make_arms(bandit_arms **out, small_set set)
{
    static const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER,
         .min = 1,
         .max = 64,
         .log = true,
         .parent = BANDIT_NO_PARENT,
         .context = true},
    };
    return in_contexts ? bandit_arms_new_space(out, parameters, 2, NULL) : small_arms(out, set);
}

/* A short study: batches with a failure, an amendment, a restored engine and predictions. */
static bandit_status act(small_set set, const bandit_options *o, bandit_error *err)
{
    bandit_arms *arms = NULL;
    bandit_engine *engine = NULL, *again = NULL;
    bandit_result results[PICKS];
    bandit_pick picks[PICKS];
    size_t n = 0;
    double fixed[] = {NAN, 8.0};
    bandit_status status = make_arms(&arms, set);
    if (status == BANDIT_OK)
        status = bandit_engine_new(&engine, arms, o, 0, err);
    for (size_t b = 0; b < BATCHES && status == BANDIT_OK; b++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection = {0};
        const uint32_t failed[] = {1};
        for (size_t i = 0; i < n; i++) {
            double worth = small_worth(arms, set, picks[i].arm);
            others[b][i][0] = -worth * worth;
            others[b][i][1] = 1.0 - worth;
            results[i] =
                (bandit_result){.arm = picks[i].arm, .repeats = 1, .reward = worth, .others = others[b][i]};
        }
        status = bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, err);
        limits.max_picks = PICKS;
        limits.beyond_bound = true;
        limits.failed = failed;
        limits.n_failed = b > 0 ? 1 : 0;
        for (n = 0; status == BANDIT_OK && n < PICKS; n += selection.n_picks) {
            fixed[1] = n % 2 ? 64.0 : 8.0;
            limits.fixed = in_contexts ? fixed : NULL;
            limits.max_picks = in_contexts ? 1 : PICKS - n;
            status =
                bandit_engine_select(engine, &limits, &bandit_executor_serial, picks + n, &selection, err);
            if (status == BANDIT_OK)
                assert_true(selection.n_picks > 0);
        }
    }
    double feasible;
    bool may;
    if (status == BANDIT_OK)
        status = bandit_engine_may_keep_bounds(engine, &may, err);
    if (status == BANDIT_OK)
        status = bandit_engine_feasible_arms(engine, &picks[0].arm, 1, &feasible, err);
    if (status == BANDIT_OK) {
        bandit_checkpoint now;
        bandit_engine_checkpoint(engine, &now);
        status = bandit_engine_restore(&again, arms, o, 0, &now, NULL, 0, &bandit_executor_serial, err);
        if (status == BANDIT_OK)
            status = bandit_engine_replay_picks(again, picks, PICKS, &bandit_executor_serial, err);
        bandit_select_limits all = BANDIT_SELECT_LIMITS_INIT;
        all.fixed = in_contexts ? fixed : NULL;
        bandit_reason reason;
        if (status == BANDIT_OK)
            status = bandit_engine_explain(again, picks[0].arm, &all, &bandit_executor_serial, &reason, err);
    }
    bandit_engine_free(again);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return status;
}

/* low: the least value of the third metric. */
static void fail_each(small_set set, double low)
{
    bandit_options o = small_options(BANDIT_LOG_EI, set);
    const bandit_metric metrics[METRICS] = {
        {.objective = true, .low = -INFINITY, .high = INFINITY},
        {.objective = true, .low = -INFINITY, .high = INFINITY},
        {.low = low, .high = INFINITY},
    };
    bandit_error err = {0};
    o.metrics = metrics;
    o.n_metrics = METRICS;
    o.revision = BANDIT_LATEST_REVISION;
    assert_int_equal(act(set, &o, &err), BANDIT_OK);
    long before = live, refused = 0;
    for (long n = 0;; n += STEPS) {
        until_failure = n;
        bandit_status status = act(set, &o, &err);
        bool failed = has_failed();
        assert_int_equal(live, before);
        if (!failed) {
            assert_int_equal(status, BANDIT_OK);
            return;
        }
        /* what fails after a pick of the same call leaves that pick, and the next call makes the others */
        assert_true(status == BANDIT_NO_MEMORY || status == BANDIT_OK);
        refused += status == BANDIT_NO_MEMORY;
        assert_true(2 * refused > n / STEPS);
    }
}

static void on_features(void **state)
{
    (void)state;
    fail_each(FEATURES, -1.0);
}

static void on_a_matrix(void **state)
{
    (void)state;
    fail_each(MATRIX, -1.0);
}

static void in_an_enumerated_space(void **state)
{
    (void)state;
    fail_each(LISTED, -1.0);
}

static void in_a_space_that_grows(void **state)
{
    (void)state;
    fail_each(BOX, -1.0);
}

static void in_contexts_of_a_space(void **state)
{
    (void)state;
    in_contexts = true;
    fail_each(BOX, -1.0);
    in_contexts = false;
}

/* Then the whole space is searched for a point that may keep the bound. */
static void where_nothing_is_feasible(void **state)
{
    (void)state;
    fail_each(BOX, 1000.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_features),
        cmocka_unit_test(on_a_matrix),
        cmocka_unit_test(in_an_enumerated_space),
        cmocka_unit_test(in_a_space_that_grows),
        cmocka_unit_test(in_contexts_of_a_space),
        cmocka_unit_test(where_nothing_is_feasible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
