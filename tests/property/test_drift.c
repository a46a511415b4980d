/* A hundred thousand rewards later, the engine is where its log says it should be: the same state rebuilt
 * from the log alone, with sums added up another way, predicts the same to 1e-9. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bandit/engine.h"
#include "bandit/rng.h"

#include <math.h>
#include <stdlib.h>

enum { ARMS = 80, DIMENSION = 2, TELLS = 100000, MAX_BATCH = 4096 };

static bandit_arms *random_arms(void)
{
    bandit_arms *arms;
    double rows[ARMS * DIMENSION];
    for (size_t i = 0; i < ARMS * DIMENSION; i++)
        rows[i] = bandit_random_uniform(11, 0, BANDIT_PURPOSE_FEATURES, i);
    assert_int_equal(bandit_arms_new(&arms, ARMS, DIMENSION, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, ARMS, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);
    return arms;
}

/* Rewards of very different sizes, so that sums lose digits if they can. */
static double reward_of(uint32_t arm, uint64_t pull)
{
    double noise = bandit_random_normal(5, pull, BANDIT_PURPOSE_UNIFORM, arm);
    return sin(0.3 * arm) + 0.3 * noise + (pull % 1000 == 0 ? 1e3 : 0);
}

static void the_state_after_many_tells_is_the_logs(void **state)
{
    (void)state;
    double lengthscale = 0.2;
    bandit_options options = BANDIT_OPTIONS_INIT;
    options.kernel =
        (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    options.lambda = 0.05;
    options.noise_std = 0.3;
    options.max_batch = MAX_BATCH;
    options.seed = 3;
    bandit_arms *arms = random_arms();
    bandit_engine *engine, *rebuilt;
    bandit_pick *picks = malloc(MAX_BATCH * sizeof *picks);
    bandit_result *results = malloc(MAX_BATCH * sizeof *results);
    long double sums[ARMS] = {0};
    uint64_t counts[ARMS] = {0}, told = 0;
    size_t n_results = 0;
    assert_int_equal(bandit_engine_new(&engine, arms, &options, 0, NULL), BANDIT_OK);
    while (told < TELLS) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_selection selection;
        limits.max_picks = MAX_BATCH;
        assert_int_equal(
            bandit_engine_begin_batch(engine, results, n_results, NULL, 0, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
            BANDIT_OK);
        assert_true(selection.n_picks > 0);
        n_results = selection.n_picks;
        for (size_t i = 0; i < n_results; i++) {
            double reward = reward_of(picks[i].arm, told++);
            results[i] = (bandit_result){.arm = picks[i].arm,
                                         .repeats = 1,
                                         .reward = reward,
                                         .chosen = true,
                                         .variance = picks[i].variance};
            sums[picks[i].arm] += reward;
            counts[picks[i].arm]++;
        }
    }
    assert_int_equal(
        bandit_engine_begin_batch(engine, results, n_results, NULL, 0, &bandit_executor_serial, NULL),
        BANDIT_OK);

    bandit_checkpoint checkpoint;
    bandit_engine_checkpoint(engine, &checkpoint);
    bandit_arm_sum from_log[ARMS];
    size_t n = 0;
    for (uint32_t i = 0; i < ARMS; i++)
        if (counts[i] > 0)
            from_log[n++] = (bandit_arm_sum){.arm = i, .count = counts[i], .sum = (double)sums[i]};
    assert_int_equal(n, checkpoint.n_sums);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(from_log[i].count, checkpoint.sums[i].count);
    checkpoint.sums = from_log;
    assert_int_equal(bandit_engine_restore(&rebuilt, arms, &options, 0, &checkpoint, NULL, 0,
                                           &bandit_executor_serial, NULL),
                     BANDIT_OK);
    double worst = 0;
    for (uint32_t i = 0; i < ARMS; i++) {
        bandit_prediction ours, logs;
        assert_int_equal(bandit_engine_predict_arms(engine, &i, 1, &ours, NULL), BANDIT_OK);
        assert_int_equal(bandit_engine_predict_arms(rebuilt, &i, 1, &logs, NULL), BANDIT_OK);
        worst = fmax(worst, fabs(ours.mean - logs.mean) / (1 + fabs(logs.mean)));
        worst = fmax(worst, fabs(ours.variance - logs.variance) / (1 + logs.variance));
    }
    print_message("after %d tells in %llu batches: largest difference %.2g\n", TELLS,
                  (unsigned long long)checkpoint.batch, worst);
    assert_true(worst < 1e-9);
    bandit_engine_free(engine);
    bandit_engine_free(rebuilt);
    bandit_arms_free(arms);
    free(picks);
    free(results);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_state_after_many_tells_is_the_logs)};
    return cmocka_run_group_tests_name("drift", tests, NULL, NULL);
}
