/* Many picks of one batch in an open space, where of those in flight the nearest count: what they cost, that they
 * differ and fill the space, and that a restored engine goes on to the bit. */
#include "bandit/engine.h"
#include "bandit/space.h"

#include "core/algorithms/space_engine.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { D = 2, PICKS = 220, TOLD = 12, SIDE = 30 };

typedef struct study {
    bandit_arms *arms;
    bandit_options o;
    bandit_engine *engine;
    double lengthscale;
    size_t n_told;
    bandit_pick picks[PICKS];
    uint64_t worked[PICKS]; /* evaluations of the kernel before each pick */
} study;

static uint64_t work(const study *s)
{
    const bandit_space_engine *e = (const bandit_space_engine *)s->engine;
    return e->batches[e->in_force].surface.beyond.kernel_values;
}

static void choose(study *s, size_t from, size_t to)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.beyond_bound = true;
    limits.max_picks = 1;
    for (size_t i = from; i < to; i++) {
        s->worked[i] = work(s);
        assert_int_equal(space_study_choose(s->engine, &limits, s->picks + i).n_picks, 1);
    }
}

static void begin(study *s, bandit_in_flight in_flight, bandit_algorithm algorithm, bool tells)
{
    *s = (study){.arms = space_study_cube(D), .lengthscale = 0.3};
    s->o = (bandit_options)BANDIT_OPTIONS_INIT;
    s->o.algorithm = algorithm;
    s->o.kernel.lengthscales = &s->lengthscale;
    s->o.kernel.n_lengthscales = 1;
    s->o.lambda = 1e-6;
    s->o.noise_std = 0.0;
    s->o.init = BANDIT_INIT_UNCERTAINTY;
    s->o.parallelism = 1e6;
    s->o.in_flight = in_flight;
    s->engine = space_study_engine(s->arms, &s->o);
    space_study_begin(s->engine, NULL, 0, NULL, 0);
    if (!tells)
        return;
    bandit_result results[TOLD];
    choose(s, 0, TOLD);
    for (size_t i = 0; i < TOLD; i++) {
        double x[D];
        bandit_arms_coded(s->arms, s->picks[i].arm, x);
        results[i] = (bandit_result){.arm = s->picks[i].arm,
                                     .repeats = 1,
                                     .reward = sin(5.0 * x[0]) * cos(4.0 * x[1]),
                                     .chosen = true,
                                     .variance = s->picks[i].variance};
    }
    space_study_begin(s->engine, results, TOLD, NULL, 0);
}

static void end(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

/* The largest distance of a point of the square to the nearest pick. */
static double hole(const study *s)
{
    double largest = 0.0;
    for (size_t a = 0; a < (size_t)SIDE * SIDE; a++) {
        double nearest = INFINITY, x[D];
        for (size_t i = 0; i < PICKS; i++) {
            bandit_arms_coded(s->arms, s->picks[i].arm, x);
            nearest = fmin(nearest, hypot(x[0] - (double)(a % SIDE) / (SIDE - 1),
                                          x[1] - (double)(a / SIDE) / (SIDE - 1)));
        }
        largest = fmax(largest, nearest);
    }
    return largest;
}

/* Thirty picks when 190 others are in flight, as a multiple of thirty when 120 are. */
static double growth(const study *s)
{
    return (double)(s->worked[PICKS - 1] - s->worked[190]) / (double)(s->worked[149] - s->worked[120]);
}

static void assert_different(const study *s)
{
    for (size_t i = 0; i < PICKS; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(s->picks[i].arm, s->picks[k].arm);
}

static void picks_cost_the_same_and_fill_the_space(void **state)
{
    static study all, near;
    (void)state;
    begin(&all, BANDIT_IN_FLIGHT_ALL, BANDIT_BBKB, false);
    begin(&near, BANDIT_IN_FLIGHT_NEAR, BANDIT_BBKB, false);
    choose(&all, 0, PICKS);
    choose(&near, 0, PICKS);
    for (size_t i = 0; i < BANDIT_NEAR_EXACT; i++)
        assert_int_equal(near.picks[i].arm, all.picks[i].arm);
    assert_different(&near);
    assert_true(growth(&all) > 1.3);
    assert_true(growth(&near) < 1.1);
    assert_true(hole(&near) < 1.1 * hole(&all));
    end(&all);
    end(&near);
}

static void with_results_as_well(void **state)
{
    static const bandit_algorithm algorithms[] = {BANDIT_LOG_EI, BANDIT_GP_UCB};
    static study s;
    (void)state;
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        begin(&s, BANDIT_IN_FLIGHT_NEAR, algorithms[a], true);
        choose(&s, 0, PICKS);
        assert_different(&s);
        assert_true(growth(&s) < 1.1);
        end(&s);
    }
}

/* Restored with all that was in flight, of which some is beyond what always counts. */
static void a_restored_engine_goes_on(void **state)
{
    static const bandit_algorithm algorithms[] = {BANDIT_LOG_EI, BANDIT_GP_UCB, BANDIT_BBKB};
    enum { BEFORE = 140, AFTER = 8 };
    static study s;
    (void)state;
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        begin(&s, BANDIT_IN_FLIGHT_NEAR, algorithms[a], true);
        choose(&s, 0, BEFORE);
        bandit_arms *arms = space_study_cube(D);
        bandit_error err = {0};
        for (size_t i = 0; i < bandit_arms_count(s.arms); i++) {
            double x[D];
            bandit_arms_coded(s.arms, i, x);
            assert_int_equal(bandit_arms_append(arms, x, 1, &err), BANDIT_OK);
        }
        bandit_checkpoint checkpoint;
        bandit_engine *restored;
        bandit_engine_checkpoint(s.engine, &checkpoint);
        assert_int_equal(bandit_engine_restore(&restored, arms, &s.o, 0, &checkpoint, NULL, 0,
                                               &bandit_executor_serial, &err),
                         BANDIT_OK);
        assert_int_equal(bandit_engine_replay_picks(restored, s.picks, BEFORE, &bandit_executor_serial, &err),
                         BANDIT_OK);
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        limits.beyond_bound = true;
        limits.max_picks = AFTER;
        bandit_pick again[AFTER];
        choose(&s, BEFORE, BEFORE + AFTER);
        assert_int_equal(space_study_choose(restored, &limits, again).n_picks, AFTER);
        for (size_t i = 0; i < AFTER; i++) {
            double x[D], y[D];
            bandit_arms_coded(s.arms, s.picks[BEFORE + i].arm, x);
            bandit_arms_coded(arms, again[i].arm, y);
            assert_memory_equal(x, y, sizeof x);
            assert_true(s.picks[BEFORE + i].variance == again[i].variance);
        }
        bandit_engine_free(restored);
        bandit_arms_free(arms);
        end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_cost_the_same_and_fill_the_space),
        cmocka_unit_test(with_results_as_well),
        cmocka_unit_test(a_restored_engine_goes_on),
    };
    return cmocka_run_group_tests_name("near_picks", tests, NULL, NULL);
}
