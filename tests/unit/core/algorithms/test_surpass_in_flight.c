/* Expected improvement in an open space without noise. Points beside one in flight promise nearly the same
 * improvement, so picks of a batch crowd there. With BANDIT_IN_FLIGHT_SURPASS they must surpass it, and where it may
 * break a bound, they are kept apart from it. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TOLD = 9, PICKS = 8, METRICS = 2 };

typedef struct study {
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_result results[TOLD];
    double sums[TOLD]; /* the second metric */
    double lengthscale;
} study;

/* The sum of both parameters must not exceed a bound that leaves the maximum out. */
static const bandit_metric bounded[METRICS] = {{.objective = true, .low = -INFINITY, .high = INFINITY},
                                               {.low = -INFINITY, .high = 0.5}};

static void set_up(study *s, bandit_algorithm algorithm, bandit_in_flight in_flight,
                   const bandit_metric *metrics)
{
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 1, .parent = BANDIT_NO_PARENT}};
    *s = (study){.arms = space_study_arms(parameters, 2), .lengthscale = 0.6};
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.lengthscales = &s->lengthscale;
    o.kernel.n_lengthscales = 1;
    o.lambda = 1e-5;
    o.zeta = 0.0;
    o.in_flight = in_flight;
    o.metrics = metrics;
    o.n_metrics = metrics ? METRICS : 0;
    s->engine = space_study_engine(s->arms, &o);
}

static void tear_down(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

/* A result of a smooth function whose maximum, at (0.6, 0.4), is not among the results. */
static void add(study *s, size_t i, double x, double y)
{
    bandit_error err = {0};
    double point[] = {x, y};
    assert_int_equal(bandit_arms_append(s->arms, point, 1, &err), BANDIT_OK);
    double reward = 1.0 - 2.0 * (pow(x - 0.6, 2) + pow(y - 0.4, 2));
    s->sums[i] = x + y;
    s->results[i] =
        (bandit_result){.arm = (uint32_t)i, .repeats = 1, .reward = reward, .others = &s->sums[i]};
}

static void add_results(study *s)
{
    static const double levels[] = {0.1, 0.5, 0.9};
    for (size_t i = 0; i < TOLD; i++)
        add(s, i, levels[i % 3], levels[i / 3]);
}

/* How many of a batch's picks are within a thousandth of the range of an earlier one. */
static size_t crowded(bandit_algorithm algorithm, bandit_in_flight in_flight, const bandit_metric *metrics)
{
    study s;
    bandit_pick picks[PICKS];
    double x[PICKS][2];
    size_t n = 0;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.beyond_bound = true;
    limits.max_picks = PICKS;
    set_up(&s, algorithm, in_flight, metrics);
    add_results(&s);
    space_study_begin(s.engine, s.results, TOLD, NULL, 0);
    assert_int_equal(space_study_choose(s.engine, &limits, picks).n_picks, PICKS);
    for (size_t i = 0; i < PICKS; i++) {
        bool near = false;
        bandit_arms_coded(s.arms, picks[i].arm, x[i]);
        for (size_t j = 0; j < i; j++)
            near |= hypot(x[i][0] - x[j][0], x[i][1] - x[j][1]) < 1e-3;
        n += near;
    }
    tear_down(&s);
    return n;
}

static void picks_of_a_batch_do_not_crowd(void **state)
{
    static const bandit_algorithm algorithms[] = {BANDIT_LOG_EI, BANDIT_GP_EI, BANDIT_GP_PI};
    (void)state;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        assert_true(crowded(algorithms[i], BANDIT_IN_FLIGHT_ONCE, NULL) >= PICKS / 4);
        assert_int_equal(crowded(algorithms[i], BANDIT_IN_FLIGHT_SURPASS, NULL), 0);
    }
}

static void nor_at_the_border_of_a_bound(void **state)
{
    (void)state;
    assert_true(crowded(BANDIT_LOG_EI, BANDIT_IN_FLIGHT_ONCE, bounded) >= PICKS / 4);
    assert_int_equal(crowded(BANDIT_LOG_EI, BANDIT_IN_FLIGHT_SURPASS, bounded), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_of_a_batch_do_not_crowd),
        cmocka_unit_test(nor_at_the_border_of_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
