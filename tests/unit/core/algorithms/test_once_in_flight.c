/* log_ei in an open space with noise, where the leader is far ahead of all other points: without a rule, a batch
 * measures it again and again. With BANDIT_IN_FLIGHT_ONCE each pick is another point as long as there are others. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SIDE = 5, TOLD = SIDE * SIDE, PICKS = 12, METRICS = 2 };

typedef struct study {
    bandit_arms *arms;
    bandit_engine *engine;
    double others[TOLD]; /* the second metric */
    bandit_result results[TOLD];
    double lengthscale;
} study;

static const bandit_metric metrics[METRICS] = {{.objective = true, .low = -INFINITY, .high = INFINITY},
                                               {.objective = true, .low = -INFINITY, .high = INFINITY}};

/* All points of the square of whole numbers have a result: the corner is best, all others are alike. */
static void begin(study *s, bandit_in_flight in_flight, size_t n_metrics)
{
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .min = 0, .max = SIDE - 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 0, .max = SIDE - 1, .parent = BANDIT_NO_PARENT}};
    bandit_error err = {0};
    *s = (study){.arms = space_study_arms(parameters, 2), .lengthscale = 0.05};
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = BANDIT_LOG_EI;
    o.kernel.lengthscales = &s->lengthscale;
    o.kernel.n_lengthscales = 1;
    o.lambda = 0.1;
    o.in_flight = in_flight;
    o.metrics = n_metrics > 0 ? metrics : NULL;
    o.n_metrics = n_metrics;
    s->engine = space_study_engine(s->arms, &o);
    for (size_t i = 0; i < TOLD; i++) {
        double x[] = {(double)(i / SIDE), (double)(i % SIDE)};
        assert_int_equal(bandit_arms_append(s->arms, x, 1, &err), BANDIT_OK);
        s->others[i] = i == 0 ? 10.0 : 0.0;
        s->results[i] = (bandit_result){.arm = (uint32_t)i, .repeats = 1, .reward = s->others[i]};
        if (n_metrics > 0)
            s->results[i].others = &s->others[i];
    }
    space_study_begin(s->engine, s->results, TOLD, NULL, 0);
}

static void end(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

/* How many different points n picks of one batch have. */
static size_t different(study *s, size_t n, const double *fixed)
{
    bandit_pick picks[TOLD];
    uint32_t arms[SPACE_STUDY_MOST];
    size_t n_arms = 0;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.beyond_bound = true;
    limits.max_picks = n;
    limits.fixed = fixed;
    assert_int_equal(space_study_choose(s->engine, &limits, picks).n_picks, n);
    for (size_t i = 0; i < n; i++)
        space_study_add_arm(arms, &n_arms, picks[i].arm);
    return n_arms;
}

static void a_point_in_flight_is_not_picked_again(void **state)
{
    study s;
    (void)state;
    begin(&s, BANDIT_IN_FLIGHT_NEAR, 0);
    assert_true(different(&s, PICKS, NULL) < PICKS);
    end(&s);
    begin(&s, BANDIT_IN_FLIGHT_ONCE, 0);
    assert_int_equal(different(&s, PICKS, NULL), PICKS);
    end(&s);
}

static void with_two_objectives_as_well(void **state)
{
    study s;
    (void)state;
    begin(&s, BANDIT_IN_FLIGHT_NEAR, METRICS);
    assert_true(different(&s, PICKS, NULL) < PICKS);
    end(&s);
    begin(&s, BANDIT_IN_FLIGHT_ONCE, METRICS);
    assert_int_equal(different(&s, PICKS, NULL), PICKS);
    end(&s);
}

/* With one parameter fixed there are only SIDE points; the picks beyond repeat some. */
static void points_repeat_when_no_other_is_left(void **state)
{
    const double fixed[] = {2.0, (double)NAN};
    study s;
    (void)state;
    begin(&s, BANDIT_IN_FLIGHT_ONCE, 0);
    assert_int_equal(different(&s, SIDE, fixed), SIDE);
    end(&s);
    begin(&s, BANDIT_IN_FLIGHT_ONCE, 0);
    assert_int_equal(different(&s, PICKS, fixed), SIDE);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_in_flight_is_not_picked_again),
        cmocka_unit_test(with_two_objectives_as_well),
        cmocka_unit_test(points_repeat_when_no_other_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
