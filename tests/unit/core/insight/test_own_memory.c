/* Candidates and points with deviations from the function, while every allocation fails once: the call says so, and loses nothing. */
#include "bandit/insight.h"
#include "bandit/space.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ARMS = 24, AGAIN = 6 };

/* Neighbours differ by ten times the noise, which repeated results show. */
static double reward(uint32_t arm, uint32_t time)
{
    return fmod(0.618 * (double)(arm * arm), 1.0) + 0.05 * fmod(0.618 * (double)(arm + 7 * time), 1.0);
}

static bandit_engine *rough_study(bandit_arms *arms, bandit_algorithm algorithm)
{
    static const double lengthscale[] = {0.5};
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_engine *engine;
    bandit_error err;
    bandit_result results[ARMS];
    learner_options(&o, algorithm);
    o.learn_lengthscale = false;
    o.kernel.lengthscales = lengthscale;
    o.kernel.n_lengthscales = 1;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    for (uint32_t time = 0; time < 3; time++) {
        for (uint32_t i = 0; i < ARMS; i++)
            results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = reward(i, time)};
        learner_begin(engine, results, time == 0 ? ARMS : AGAIN);
    }
    return engine;
}

/* Of a list, or of an open space. */
static bandit_arms *line(bool open)
{
    const bandit_parameter side = {
        .type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 1.0, .parent = BANDIT_NO_PARENT};
    bandit_arms *arms;
    bandit_error err;
    double rows[ARMS];
    for (size_t i = 0; i < ARMS; i++)
        rows[i] = (double)i / ARMS;
    if (open) {
        must(bandit_arms_new_space(&arms, &side, 1, &err), &err);
        must(bandit_arms_append(arms, rows, ARMS, &err), &err);
        return arms;
    }
    must(bandit_arms_new(&arms, ARMS, 1, &err), &err);
    must(bandit_arms_set_rows(arms, 0, ARMS, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, ARMS, &err), &err);
    return arms;
}

static void failing_allocations_are_reported(void **state)
{
    static const bandit_algorithm algorithms[] = {BANDIT_LOG_EI, BANDIT_GP_UCB, BANDIT_LOG_EI};
    static const uint32_t asked[2] = {0, 7};
    (void)state;
    bandit_error err = {0};
    for (size_t i = 0; i < 3; i++) {
        bandit_arms *arms = line(i == 2);
        bandit_engine *engine = rough_study(arms, algorithms[i]);
        bandit_prediction found[2], function;
        bandit_status status = BANDIT_NO_MEMORY;
        long n;
        for (n = 0; status != BANDIT_OK && n < 1000; n++) {
            long before = live;
            until_failure = n;
            status = bandit_insight_pulled(engine, asked, 2, found, &err);
            bool reached = has_failed();
            assert_int_equal(live, before);
            assert_true(reached == (status != BANDIT_OK));
            assert_true(status == BANDIT_OK || err.status == BANDIT_NO_MEMORY);
        }
        assert_int_equal(status, BANDIT_OK);
        must(bandit_engine_predict_arms(engine, asked, 1, &function, &err), &err);
        assert_true(fabs(found[0].mean - function.mean) > 0.01); /* so this was not the model's function */
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
