/* Expected improvement in an open space. Points beside one in flight promise nearly the same improvement, so picks of
 * a batch crowd there. With BANDIT_IN_FLIGHT_SURPASS they must surpass it, and where it may break a bound, or the model
 * sees noise, they are kept apart from it. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TOLD = 9, PICKS = 8, METRICS = 2, DOUBLES = 0 };

static const double SILENT = 1e-5, NOISY = 0.3; /* variances of the noise */

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

/* steps: of each parameter; or DOUBLES. */
static bandit_arms *new_arms(int steps)
{
    bandit_parameter parameter = {.type = BANDIT_PARAMETER_DOUBLE, .max = 1, .parent = BANDIT_NO_PARENT};
    if (steps != DOUBLES) {
        parameter.type = BANDIT_PARAMETER_INTEGER;
        parameter.max = steps;
    }
    const bandit_parameter parameters[] = {parameter, parameter};
    return space_study_arms(parameters, 2);
}

/* A result of a smooth function whose maximum, at (0.6, 0.4), is not among the results. */
static void add(study *s, size_t i, double x, double y, double scale)
{
    bandit_error err = {0};
    double point[] = {scale * x, scale * y};
    assert_int_equal(bandit_arms_append(s->arms, point, 1, &err), BANDIT_OK);
    double reward = 1.0 - 2.0 * (pow(x - 0.6, 2) + pow(y - 0.4, 2));
    s->sums[i] = x + y;
    s->results[i] =
        (bandit_result){.arm = (uint32_t)i, .repeats = 1, .reward = reward, .others = &s->sums[i]};
}

static void set_up(study *s, bandit_options *o, int steps)
{
    static const double places[] = {0.1, 0.5, 0.9};
    *s = (study){.arms = new_arms(steps), .lengthscale = 0.6};
    o->kernel.lengthscales = &s->lengthscale;
    o->kernel.n_lengthscales = 1;
    o->zeta = 0.0;
    s->engine = space_study_engine(s->arms, o);
    for (size_t i = 0; i < TOLD; i++)
        add(s, i, places[i % 3], places[i / 3], steps == DOUBLES ? 1.0 : steps);
}

static bandit_options options(bandit_algorithm algorithm, double lambda, const bandit_metric *metrics)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.lambda = lambda;
    o.metrics = metrics;
    o.n_metrics = metrics ? METRICS : 0;
    return o;
}

/* The coded picks of one batch. */
static void choose(bandit_options o, bandit_in_flight in_flight, int steps, double x[PICKS][2])
{
    study s;
    bandit_pick picks[PICKS];
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.beyond_bound = true;
    limits.max_picks = PICKS;
    o.in_flight = in_flight;
    set_up(&s, &o, steps);
    space_study_begin(s.engine, s.results, TOLD, NULL, 0);
    assert_int_equal(space_study_choose(s.engine, &limits, picks).n_picks, PICKS);
    for (size_t i = 0; i < PICKS; i++)
        bandit_arms_coded(s.arms, picks[i].arm, x[i]);
    bandit_engine_free(s.engine);
    bandit_arms_free(s.arms);
}

/* How many of a batch's picks are within this distance of an earlier one. */
static size_t crowded(bandit_options o, bandit_in_flight in_flight, double distance)
{
    double x[PICKS][2];
    size_t n = 0;
    choose(o, in_flight, DOUBLES, x);
    for (size_t i = 0; i < PICKS; i++) {
        bool near = false;
        for (size_t j = 0; j < i; j++)
            near |= hypot(x[i][0] - x[j][0], x[i][1] - x[j][1]) < distance;
        n += near;
    }
    return n;
}

static void expect_apart(bandit_options o, double distance)
{
    assert_true(crowded(o, BANDIT_IN_FLIGHT_ONCE, distance) >= PICKS / 4);
    assert_int_equal(crowded(o, BANDIT_IN_FLIGHT_SURPASS, distance), 0);
}

static void picks_of_a_batch_do_not_crowd(void **state)
{
    (void)state;
    expect_apart(options(BANDIT_LOG_EI, SILENT, NULL), 1e-3);
    expect_apart(options(BANDIT_GP_EI, SILENT, NULL), 1e-3);
    expect_apart(options(BANDIT_GP_PI, SILENT, NULL), 1e-3);
}

static void nor_at_the_border_of_a_bound(void **state)
{
    (void)state;
    expect_apart(options(BANDIT_LOG_EI, SILENT, bounded), 1e-3);
}

static void nor_where_there_is_noise(void **state)
{
    (void)state;
    expect_apart(options(BANDIT_LOG_EI, NOISY, NULL), 0.03);
}

/* On a grid points in flight are not picked again anyway. */
static void grids_have_no_other_rule(void **state)
{
    double once[PICKS][2], surpass[PICKS][2];
    bandit_options o = options(BANDIT_LOG_EI, SILENT, NULL);
    (void)state;
    choose(o, BANDIT_IN_FLIGHT_ONCE, 90, once);
    choose(o, BANDIT_IN_FLIGHT_SURPASS, 90, surpass);
    assert_memory_equal(once, surpass, sizeof once);
    choose(o, BANDIT_IN_FLIGHT_ONCE, 1000, once);
    choose(o, BANDIT_IN_FLIGHT_SURPASS, 1000, surpass);
    assert_memory_not_equal(once, surpass, sizeof once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_of_a_batch_do_not_crowd),
        cmocka_unit_test(nor_at_the_border_of_a_bound),
        cmocka_unit_test(nor_where_there_is_noise),
        cmocka_unit_test(grids_have_no_other_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
