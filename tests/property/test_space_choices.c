/* What engines on spaces choose: the first points of a study, the maximum of the bound, and no point twice
 * without need. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- before the first reward --------------------------------------------------------------------------- */

/* Before any reward, picks far beyond the bound are spread: no two at the same place. */
static void first_picks_are_spread(void **state)
{
    bandit_parameter parameters[3];
    (void)state;
    for (size_t i = 0; i < 3; i++)
        parameters[i] = (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE,
                                           .min = 1e-3,
                                           .max = 1.0,
                                           .log = true,
                                           .has_default = i != 1,
                                           .default_value = 0.25,
                                           .parent = BANDIT_NO_PARENT};
    for (size_t a = 0; a < SPACE_STUDY_ALGORITHMS; a++) {
        bandit_arms *arms = space_study_arms(parameters, 3);
        bandit_options o = space_study_options(space_study_algorithms[a], 5, 0.1);
        bandit_engine *engine = space_study_engine(arms, &o);
        bandit_pick picks[40];
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        double x[3], first[3];
        space_study_begin(engine, NULL, 0, NULL, 0);
        limits.max_picks = 40;
        limits.beyond_bound = true;
        assert_int_equal(space_study_choose(engine, &limits, picks).n_picks, 40);
        assert_int_equal(bandit_arms_count(arms), 40);
        size_t octants[8] = {0};
        for (size_t i = 0; i < 40; i++) {
            size_t octant = 0;
            bandit_arms_coded(arms, picks[i].arm, x);
            for (size_t j = 0; j < 3; j++)
                octant = 2 * octant + (x[j] > sqrt(1e-3));
            octants[octant]++;
        }
        for (size_t k = 0; k < 8; k++)
            assert_true(octants[k] >= 1); /* 40 independent points miss one of eight with probability 0.04 */
        bandit_arms_coded(arms, picks[0].arm, first);
        if (space_study_algorithms[a] != BANDIT_UNIFORM &&
            space_study_algorithms[a] != BANDIT_REGULARIZED_EVOLUTION)
            assert_true(first[0] == 0.25 && first[2] == 0.25); /* where nothing speaks against it */
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* As many points as there are parameters and one more, 4 to 10, or six where the best is sought; at most a quarter of the horizon, and as the
 * batch may have. */
static void the_design_has_its_size(void **state)
{
    static const struct {
        size_t parameters;
        uint64_t horizon, max_batch;
        size_t expected, of_log_ei;
    } cases[] = {{1, 0, 64, 4, 6},  {3, 0, 64, 4, 6},   {4, 0, 64, 5, 6},  {7, 0, 64, 8, 6},
                 {9, 0, 64, 10, 6}, {12, 0, 64, 10, 6}, {7, 24, 64, 6, 6}, {7, 36, 64, 8, 6},
                 {7, 3, 64, 1, 1},  {7, 0, 5, 5, 5}};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        size_t i = k / 2;
        bandit_arms *arms = space_study_cube(cases[i].parameters);
        bandit_options o = space_study_options(k % 2 ? BANDIT_LOG_EI : BANDIT_BBKB, 3, 0.1);
        o.horizon = cases[i].horizon;
        o.max_batch = cases[i].max_batch;
        bandit_engine *engine = space_study_engine(arms, &o);
        bandit_pick picks[64];
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        limits.max_picks = 64;
        space_study_begin(engine, NULL, 0, NULL, 0);
        bandit_selection selection = space_study_choose(engine, &limits, picks);
        assert_int_equal(selection.n_picks, k % 2 ? cases[i].of_log_ei : cases[i].expected);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_INITIAL);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* Where a study begins with the most uncertain points, epsilon waits for the first reward. */
static void uncertainty_comes_before_epsilon(void **state)
{
    uint32_t arms_of[2][8];
    double coded[2][8][2];
    (void)state;
    for (int always = 0; always < 2; always++) {
        bandit_arms *arms = space_study_cube(2);
        bandit_options o = space_study_options(BANDIT_EPSILON_GREEDY, 9, 0.1);
        bandit_pick picks[8];
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        o.init = BANDIT_INIT_UNCERTAINTY;
        o.parallelism = 2.0;
        o.epsilon = always;
        o.max_batch = 8;
        bandit_engine *engine = space_study_engine(arms, &o);
        space_study_begin(engine, NULL, 0, NULL, 0);
        limits.max_picks = 8;
        assert_int_equal(space_study_choose(engine, &limits, picks).n_picks, 8);
        for (size_t i = 0; i < 8; i++) {
            arms_of[always][i] = picks[i].arm;
            bandit_arms_coded(arms, picks[i].arm, coded[always][i]);
        }
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
    assert_memory_equal(arms_of[0], arms_of[1], sizeof arms_of[0]);
    assert_memory_equal(coded[0], coded[1], sizeof coded[0]);
}

/* ---- with a model -------------------------------------------------------------------------------------- */

/* The first pick of a batch has a bound that no point of many, at random, exceeds by much. */
static void first_pick_maximizes_the_bound(void **state)
{
    enum { RESULTS = 12, POINTS = 2000 };
    static const bandit_algorithm bounded[] = {BANDIT_BBKB, BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_BUCB,
                                               BANDIT_PI_GP_UCB};
    static double points[POINTS][3];
    static bandit_prediction predictions[POINTS];
    (void)state;
    for (size_t a = 0; a < sizeof bounded / sizeof *bounded; a++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            uint64_t random = seed;
            bandit_arms *arms = space_study_cube(3);
            bandit_options o = space_study_options(bounded[a], seed, 0.1);
            bandit_result results[RESULTS];
            bandit_pick pick;
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_error err = {0};
            bandit_engine *engine = space_study_engine(arms, &o);
            for (size_t i = 0; i < POINTS; i++)
                for (size_t j = 0; j < 3; j++)
                    points[i][j] = dense_uniform(&random);
            assert_int_equal(bandit_arms_append(arms, points[0], RESULTS, &err), BANDIT_OK);
            for (uint32_t i = 0; i < RESULTS; i++)
                results[i] = (bandit_result){.arm = i,
                                             .repeats = 1,
                                             .reward = sin(5.0 * points[i][0]) - fabs(points[i][1] - 0.4),
                                             .chosen = true};
            space_study_begin(engine, results, RESULTS, NULL, 0);
            assert_int_equal(bandit_engine_predict_points(engine, points[0], POINTS, predictions, &err),
                             BANDIT_OK);
            double best = -INFINITY;
            for (size_t i = 0; i < POINTS; i++)
                best = fmax(best, predictions[i].ucb);
            limits.max_picks = 1;
            assert_int_equal(space_study_choose(engine, &limits, &pick).n_picks, 1);
            bandit_arms_coded(arms, pick.arm, points[0]);
            assert_int_equal(bandit_engine_predict_points(engine, points[0], 1, predictions, &err),
                             BANDIT_OK);
            assert_true(predictions[0].ucb >= best - 1e-6 * fabs(best));
            bandit_engine_free(engine);
            bandit_arms_free(arms);
        }
    }
}

/* Without noise to speak of every point of a space of 24 is picked once before any is picked again, in the
 * space and on its list; the defaults first. With noise some are picked again before that. */
static void repeats_only_for_noise(void **state)
{
    static const bandit_algorithm greedy[] = {BANDIT_BBKB, BANDIT_GP_UCB, BANDIT_GP_EI, BANDIT_GP_TS};
    const bandit_parameter parameters[] = {{.type = BANDIT_PARAMETER_CATEGORICAL,
                                            .n_values = 3,
                                            .has_default = true,
                                            .default_value = 1,
                                            .parent = BANDIT_NO_PARENT},
                                           {.type = BANDIT_PARAMETER_BOOLEAN,
                                            .has_default = true,
                                            .default_value = 1,
                                            .parent = BANDIT_NO_PARENT},
                                           {.type = BANDIT_PARAMETER_INTEGER,
                                            .min = 1,
                                            .max = 4,
                                            .has_default = true,
                                            .default_value = 3,
                                            .parent = BANDIT_NO_PARENT}};
    (void)state;
    for (size_t k = 0; k < 4 * sizeof greedy / sizeof *greedy; k++) {
        bool listed = k % 2, noisy = k / 2 % 2;
        bandit_arms *arms = space_study_arms(parameters, 3);
        bandit_error err = {0};
        if (listed)
            assert_int_equal(bandit_arms_enumerate(arms, &err), BANDIT_OK);
        bandit_options o = space_study_options(greedy[k / 4], 3, noisy ? 0.5 : 0.0);
        bandit_engine *engine = space_study_engine(arms, &o);
        bandit_result results[SPACE_STUDY_MOST];
        size_t n_results = 0, picked = 0, pulls[24] = {0}, repeats = 0;
        uint64_t random = k;
        while (picked < 40) {
            bandit_pick picks[3];
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            space_study_begin(engine, results, n_results, NULL, 0);
            limits.max_picks = 3;
            limits.beyond_bound = true;
            size_t n = space_study_choose(engine, &limits, picks).n_picks;
            assert_int_equal(n, 3);
            n_results = 0;
            for (size_t i = 0; i < n; i++, picked++) {
                double x[3];
                bandit_arms_coded(arms, picks[i].arm, x);
                if (picked == 0)
                    assert_true(x[0] == 1 && x[1] == 1 && x[2] == 3);
                repeats += picked < 24 && pulls[picks[i].arm] > 0;
                pulls[picks[i].arm]++;
                results[n_results++] =
                    (bandit_result){.arm = picks[i].arm,
                                    .repeats = 1,
                                    .reward = x[0] * x[2] / 4.0 + o.noise_std * dense_normal(&random),
                                    .chosen = true,
                                    .variance = picks[i].variance};
            }
        }
        assert_true(noisy || repeats == 0);
        assert_true(!noisy || greedy[k / 4] != BANDIT_GP_EI || repeats > 0);
        assert_true(noisy || bandit_arms_count(arms) == 24);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_picks_are_spread),           cmocka_unit_test(the_design_has_its_size),
        cmocka_unit_test(uncertainty_comes_before_epsilon), cmocka_unit_test(first_pick_maximizes_the_bound),
        cmocka_unit_test(repeats_only_for_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
