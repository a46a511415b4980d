/* Every allocation of a learning engine's batches fails once: the engine says so, loses nothing, is as it was
 * before the call, and goes on as if nothing had happened. */
#include "bandit/engine.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/learner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ARMS = 36, BATCHES = 14 };

static bandit_arms *grid(void)
{
    bandit_arms *arms;
    double rows[2 * ARMS];
    for (size_t i = 0; i < ARMS; i++) {
        rows[2 * i] = (double)(i % 6);
        rows[2 * i + 1] = (double)(i / 6);
    }
    assert_int_equal(bandit_arms_new(&arms, ARMS, 2, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, ARMS, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, ARMS, NULL), BANDIT_OK);
    return arms;
}

static double reward(uint32_t arm)
{
    return arm == 7 ? 5000.0 : sin(arm % 6) + 0.3 * cos(arm / 6); /* and one stray, if it is met */
}

/* Begins the batch with its nth allocation failing, for every n that there is, then without a failure. */
static void begin_against_all_odds(bandit_engine *engine, const bandit_result *results, size_t n_results)
{
    for (long n = 0;; n++) {
        bandit_error err = {0};
        until_failure = n;
        bandit_status status =
            bandit_engine_begin_batch(engine, results, n_results, NULL, 0, &bandit_executor_serial, &err);
        bool reached = has_failed();
        if (status == BANDIT_OK) {
            assert_false(reached); /* no failure goes unnoticed */
            return;
        }
        assert_int_equal(status, BANDIT_NO_MEMORY);
        assert_int_equal(err.status, BANDIT_NO_MEMORY);
        assert_true(n < 20000);
    }
}

static void failing_allocations_change_nothing(void **unused)
{
    (void)unused;
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_EI, BANDIT_S_GP_TS};
    for (size_t a = 0; a < 4; a++) { /* the last one with standard errors */
        long before = live;
        bandit_arms *arms = grid();
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_engine *fine, *tried;
        o.algorithm = algorithms[a % 3];
        o.learn_lengthscale = o.learn_noise = o.learn_norm_bound = o.standardize_rewards = true;
        o.lambda_from_noise = true;
        o.prior_features = 20;
        assert_int_equal(bandit_engine_new(&fine, arms, &o, 0, NULL), BANDIT_OK);
        for (long n = 0;; n++) {
            long blocks = live;
            until_failure = n;
            bandit_status status = bandit_engine_new(&tried, arms, &o, 0, NULL);
            until_failure = -1;
            if (status == BANDIT_OK)
                break;
            assert_int_equal(status, BANDIT_NO_MEMORY);
            assert_int_equal(live, blocks);
        }
        bandit_result result;
        for (size_t t = 0; t < BATCHES; t++) {
            assert_int_equal(
                bandit_engine_begin_batch(fine, &result, t > 0, NULL, 0, &bandit_executor_serial, NULL),
                BANDIT_OK);
            begin_against_all_odds(tried, &result, t > 0);
            bandit_pick x = learner_pick(fine), y = learner_pick(tried);
            assert_true(x.arm == y.arm && x.variance == y.variance);
            result = (bandit_result){
                .arm = x.arm, .repeats = 1, .reward = reward(x.arm), .chosen = true, .variance = x.variance};
            if (a == 3)
                result.error = t % 3 ? 0.1 * (double)(t % 3) : 0.0;
        }
        bandit_checkpoint p, q;
        bandit_engine_checkpoint(fine, &p);
        bandit_engine_checkpoint(tried, &q);
        assert_int_equal(p.n_state, q.n_state);
        assert_memory_equal(p.state, q.state, p.n_state);
        bandit_engine_free(fine);
        bandit_engine_free(tried);
        bandit_arms_free(arms);
        assert_int_equal(live, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(failing_allocations_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
