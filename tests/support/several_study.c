#include "tests/support/several_study.h"

#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double no_bound = INFINITY;

void several_branin_currin(const double *x, double *y)
{
    const double pi = 3.141592653589793;
    double a = 15.0 * x[0] - 5.0, b = 15.0 * x[1];
    double t = b - 5.1 / (4.0 * pi * pi) * a * a + 5.0 / pi * a - 6.0;
    double share = x[1] > 0.0 ? 1.0 - exp(-0.5 / x[1]) : 1.0;
    double top = ((2300.0 * x[0] + 1900.0) * x[0] + 2092.0) * x[0] + 60.0;
    double bottom = ((100.0 * x[0] + 500.0) * x[0] + 4.0) * x[0] + 20.0;
    y[0] = -(t * t + 10.0 * (1.0 - 0.125 / pi) * cos(a) + 10.0);
    y[1] = -share * top / bottom;
    y[2] = 0.0;
}

bandit_metric several_objective(double threshold)
{
    return (bandit_metric){.objective = true,
                           .has_threshold = isfinite(threshold),
                           .threshold = isfinite(threshold) ? threshold : 0.0,
                           .low = -no_bound,
                           .high = no_bound};
}

bandit_metric several_at_least(double low)
{
    return (bandit_metric){.low = low, .high = no_bound};
}

bandit_arms *several_cube(size_t dimensions)
{
    bandit_arms *arms;
    bandit_error err;
    bandit_parameter sides[SEVERAL_SIDES];
    for (size_t i = 0; i < dimensions; i++)
        sides[i] = (bandit_parameter){
            .type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 1.0, .parent = BANDIT_NO_PARENT};
    must(bandit_arms_new_space(&arms, sides, dimensions, &err), &err);
    return arms;
}

static void prepare(several *s, uint64_t seed, const bandit_metric *metrics, size_t n,
                    several_measured *measure)
{
    *s = (several){.options = BANDIT_OPTIONS_INIT, .measure = measure, .unit = 1.0};
    memcpy(s->metrics, metrics, n * sizeof *metrics);
    s->options.algorithm = BANDIT_LOG_EI;
    s->options.learn_lengthscale = s->options.learn_noise = s->options.standardize_rewards = true;
    s->options.lambda_from_noise = s->options.warp_rewards = true;
    s->options.seed = seed;
    s->options.metrics = s->metrics;
    s->options.n_metrics = n;
}

void several_open_cube(several *s, size_t dimensions, uint64_t seed, const bandit_metric *metrics, size_t n,
                       several_measured *measure)
{
    bandit_error err;
    prepare(s, seed, metrics, n, measure);
    s->arms = several_cube(dimensions);
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
}

void several_open(several *s, bool list, const bandit_metric *metrics, size_t n, several_measured *measure)
{
    bandit_error err;
    uint64_t random = 9, seed = 3;
    if (!list) {
        several_open_cube(s, 2, seed, metrics, n, measure);
        return;
    }
    prepare(s, seed, metrics, n, measure);
    s->x = dense_alloc(SEVERAL_ARMS, sizeof *s->x);
    for (size_t i = 0; i < 2 * (size_t)SEVERAL_ARMS; i++)
        s->x[i / 2][i % 2] = dense_uniform(&random);
    must(bandit_arms_new(&s->arms, SEVERAL_ARMS, 2, &err), &err);
    must(bandit_arms_set_rows(s->arms, 0, SEVERAL_ARMS, s->x[0], &err), &err);
    must(bandit_arms_finish(s->arms, BANDIT_SCALING_NONE, SEVERAL_ARMS, &err), &err);
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
}

void several_revise(several *s, size_t revision, bool single)
{
    bandit_error err;
    bandit_engine_free(s->engine);
    s->options.revision = revision;
    s->options.in_flight = BANDIT_IN_FLIGHT_SURPASS;
    if (single) {
        s->options.metrics = NULL;
        s->options.n_metrics = 0;
    }
    must(bandit_engine_new(&s->engine, s->arms, &s->options, 0, &err), &err);
}

void several_close(several *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
    free(s->x);
}

static void point_of(const several *s, uint32_t arm, double *x)
{
    if (s->x)
        memcpy(x, s->x[arm], 2 * sizeof *x);
    else
        bandit_arms_coded(s->arms, arm, x);
}

void several_measure(several *s, size_t from)
{
    for (size_t i = from; i < s->n; i++) {
        double x[SEVERAL_SIDES];
        point_of(s, s->picks[i].arm, x);
        s->measure(x, s->values[i]);
        s->values[i][1] *= s->unit;
        s->results[i] = (bandit_result){.arm = s->picks[i].arm,
                                        .repeats = 1,
                                        .reward = s->values[i][0],
                                        .chosen = true,
                                        .variance = s->picks[i].variance,
                                        .others = s->values[i] + 1};
    }
}

void several_begin(several *s, size_t from, size_t to, const bandit_pick *pending, size_t n_pending)
{
    bandit_error err;
    must(bandit_engine_begin_batch(s->engine, s->results + from, to - from, pending, n_pending,
                                   &bandit_executor_serial, &err),
         &err);
}

size_t several_choose(bandit_engine *engine, size_t n, bandit_pick *picks)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_error err;
    limits.max_picks = n;
    limits.beyond_bound = true;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    return selection.n_picks;
}

bandit_reason several_explain_next(several *s, bandit_pick *pick)
{
    bandit_engine *restored;
    bandit_checkpoint checkpoint;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_reason reason;
    bandit_pick again;
    bandit_error err;
    several_begin(s, s->n - 1, s->n, NULL, 0);
    bandit_engine_checkpoint(s->engine, &checkpoint);
    must(bandit_engine_restore(&restored, s->arms, &s->options, 0, &checkpoint, NULL, 0,
                               &bandit_executor_serial, &err),
         &err);
    assert_int_equal(several_choose(s->engine, 1, pick), 1);
    must(bandit_engine_explain(restored, pick->arm, &limits, &bandit_executor_serial, &reason, &err), &err);
    assert_int_equal(several_choose(restored, 1, &again), 1);
    assert_int_equal(again.arm, pick->arm);
    bandit_engine_free(restored);
    return reason;
}

void several_run(several *s, size_t trials, size_t batch)
{
    size_t told = 0;
    while (s->n < trials) {
        several_begin(s, told, s->n, NULL, 0);
        told = s->n;
        s->n += several_choose(s->engine, batch, s->picks + s->n);
        several_measure(s, told);
    }
}
