/* log_ei asked for plates. Values that differ from one candidate to the next look like noise to a model. Until repeats have
 * shown that it is noise, few trials are repeats, those in flight included. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PLATE = 24, TRIALS = 5 * PLATE, SIDE = 60, BEFORE = 10, SINCE = 11 };
#define SHARE 0.05

static double side_length, roughness, noise_std;
static uint64_t random_state;

/* A hill, and a part that has nothing to do with that of the next point. */
static void rough(const double *x, double *y)
{
    uint64_t of_point = (uint64_t)(1e6 * x[0]) * 1000003u + (uint64_t)(1e6 * x[1]);
    double u = x[0] / side_length - 0.4, v = x[1] / side_length - 0.7;
    y[0] = roughness * dense_normal(&of_point) - u * u - v * v + noise_std * dense_normal(&random_state);
    y[1] = y[2] = 0.0;
}

/* In a list, or in an open space of integers. */
static void open_study(several *s, bool list, size_t revision, double rough_std, double noise)
{
    bandit_error err;
    const bandit_metric metric = several_objective((double)NAN);
    const bandit_parameter side = {.type = BANDIT_PARAMETER_INTEGER, .max = SIDE, .parent = BANDIT_NO_PARENT};
    const bandit_parameter sides[] = {side, side};
    side_length = list ? 1.0 : SIDE;
    roughness = rough_std;
    noise_std = noise;
    random_state = 5;
    several_open(s, list, &metric, 1, rough);
    if (!list) {
        bandit_arms_free(s->arms);
        must(bandit_arms_new_space(&s->arms, sides, 2, &err), &err);
    }
    s->options.agreeing_repeats = SHARE;
    several_revise(s, revision, true);
}

/* Of n picks, those whose arm is that of an earlier one, or of one of the trials. */
static size_t count_repeats(const several *s, size_t trials, const bandit_pick *picks, size_t n)
{
    size_t repeats = 0;
    for (size_t i = 0; i < n; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= picks[k].arm == picks[i].arm;
        for (size_t k = 0; k < trials; k++)
            again |= s->picks[k].arm == picks[i].arm;
        repeats += again;
    }
    return repeats;
}

typedef struct repeated {
    size_t in_first; /* repeats in the first plate that has any */
    size_t in_all;
} repeated;

static repeated repeats_in_list(size_t revision, double rough_std, double noise)
{
    several s;
    repeated r = {0};
    open_study(&s, true, revision, rough_std, noise);
    several_run(&s, TRIALS, PLATE);
    for (size_t first = 0; first < TRIALS; first += PLATE) {
        size_t repeats = count_repeats(&s, first, s.picks + first, PLATE);
        r.in_first = r.in_first > 0 ? r.in_first : repeats;
        r.in_all += repeats;
    }
    several_close(&s);
    return r;
}

static void without_noise_few_trials_are_repeats(void **state)
{
    (void)state;
    assert_true((double)repeats_in_list(BEFORE, 0.6, 0.0).in_all > SHARE * TRIALS);
    assert_true((double)repeats_in_list(SINCE, 0.6, 0.0).in_all <= SHARE * TRIALS);
}

/* Once repeats differ, there are as many as the noise makes useful. */
static void the_first_repeats_show_noise(void **state)
{
    (void)state;
    assert_true((double)repeats_in_list(BEFORE, 0.0, 0.1).in_first > SHARE * TRIALS);
    repeated now = repeats_in_list(SINCE, 0.0, 0.1);
    assert_true(now.in_first > 0 && (double)now.in_first <= SHARE * TRIALS);
    assert_true((double)now.in_all > SHARE * TRIALS);
}

/* The limit of a call, on lists and in spaces, counts picks of earlier calls. */
static void picks_beyond_the_limit_are_new(void **state)
{
    (void)state;
    for (int list = 0; list < 2; list++) {
        several s;
        bandit_pick picks[2 * PLATE];
        bandit_selection selection;
        bandit_error err;
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        size_t trials = TRIALS - PLATE;
        limits.beyond_bound = true;
        limits.max_picks = PLATE;
        open_study(&s, list, SINCE, 0.0, 0.1);
        s.options.agreeing_repeats = 1.0; /* no limit of its own */
        several_revise(&s, SINCE, true);
        several_run(&s, trials, PLATE);
        several_begin(&s, trials - PLATE, trials, NULL, 0);
        must(bandit_engine_select(s.engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
        size_t repeats = count_repeats(&s, trials, picks, PLATE);
        assert_true(repeats > 0);
        limits.most_repeats = repeats;
        must(
            bandit_engine_select(s.engine, &limits, &bandit_executor_serial, picks + PLATE, &selection, &err),
            &err);
        assert_int_equal(selection.n_picks, PLATE);
        assert_int_equal(count_repeats(&s, trials, picks, (size_t)2 * PLATE), repeats);
        several_close(&s);
    }
}

/* Repeats of earlier batches that are still in flight count, in a restored engine as well. */
static void restarts_change_no_pick(void **state)
{
    (void)state;
    enum { OUT = PLATE / 2 };
    for (int list = 0; list < 2; list++) {
        several s;
        bandit_checkpoint at;
        bandit_engine *restored;
        bandit_error err;
        bandit_pick pending[OUT], picks[OUT], again[OUT];
        size_t trials = TRIALS - PLATE;
        open_study(&s, list, SINCE, list ? 0.6 : 0.0, list ? 0.0 : 0.1);
        several_run(&s, trials, PLATE);
        several_begin(&s, trials - PLATE, trials, NULL, 0);
        assert_int_equal(several_choose(s.engine, OUT, pending), OUT);
        several_begin(&s, trials, trials, pending, OUT);
        bandit_engine_checkpoint(s.engine, &at);
        must(bandit_engine_restore(&restored, s.arms, &s.options, 0, &at, pending, OUT,
                                   &bandit_executor_serial, &err),
             &err);
        assert_int_equal(several_choose(s.engine, OUT, picks), OUT);
        assert_int_equal(several_choose(restored, OUT, again), OUT);
        for (size_t i = 0; i < OUT; i++)
            assert_true(picks[i].arm == again[i].arm && picks[i].variance == again[i].variance);
        bandit_engine_free(restored);
        several_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_noise_few_trials_are_repeats),
        cmocka_unit_test(the_first_repeats_show_noise),
        cmocka_unit_test(picks_beyond_the_limit_are_new),
        cmocka_unit_test(restarts_change_no_pick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
