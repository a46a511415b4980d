/* pi-GP-UCB on spaces: one pick at a time, no point twice without noise, and the bounds that it has on the
 * list of a space's points. */
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

/* pi-GP-UCB chooses one at a time: not while a trial of a former batch is out. */
static void pi_gp_ucb_waits_for_what_is_out(void **state)
{
    static const double points[6][2] = {{0.1, 0.2}, {0.9, 0.4}, {0.5, 0.7},
                                        {0.3, 0.9}, {0.7, 0.1}, {0.2, 0.5}};
    (void)state;
    for (size_t n_out = 0; n_out < 2; n_out++) {
        bandit_arms *arms = space_study_cube(2);
        bandit_options o = space_study_options(BANDIT_PI_GP_UCB, 3, 0.1);
        bandit_result results[5];
        bandit_pick picks[3], out = {.arm = 5, .variance = 1.0};
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_error err = {0};
        bandit_engine *engine = space_study_engine(arms, &o);
        assert_int_equal(bandit_arms_append(arms, points[0], 6, &err), BANDIT_OK);
        for (uint32_t i = 0; i < 5; i++)
            results[i] =
                (bandit_result){.arm = i, .repeats = 1, .reward = sin(5.0 * points[i][0]), .chosen = true};
        space_study_begin(engine, results, 5, &out, n_out);
        limits.max_picks = 3;
        bandit_selection selection = space_study_choose(engine, &limits, picks);
        assert_int_equal(selection.n_picks, 1 - n_out);
        assert_int_equal(selection.stop_rule, BANDIT_STOP_SEQUENTIAL);
        assert_true(selection.ratio > 1.0);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* pi-GP-UCB without noise: in one batch, as in one after another, each point of a grid is picked once before
 * any is picked again, and no withheld one. */
static void pi_gp_ucb_meets_every_point_once(void **state)
{
    enum { WIDE = 5, HIGH = 3, POINTS = WIDE * HIGH };
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .max = WIDE - 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .max = HIGH - 1, .parent = BANDIT_NO_PARENT}};
    (void)state;
    for (size_t at_once = 1; at_once <= POINTS - 2; at_once += POINTS - 3) {
        bandit_arms *arms = space_study_arms(parameters, 2);
        bandit_options o = space_study_options(BANDIT_PI_GP_UCB, at_once, 0.0);
        bandit_engine *engine = space_study_engine(arms, &o);
        bandit_error err = {0};
        const double first[] = {1, 1, 4, 2};
        bandit_result results[POINTS] = {{.arm = 0, .repeats = 1, .reward = 0.5}};
        bandit_pick picks[POINTS];
        const uint32_t withheld[] = {1};
        size_t n_results = 1, picked = 0, times[POINTS] = {[1 * HIGH + 1] = 1};
        assert_int_equal(bandit_arms_append(arms, first, 2, &err), BANDIT_OK);
        while (picked < POINTS - 2) {
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            space_study_begin(engine, results, n_results, NULL, 0);
            limits.max_picks = at_once;
            limits.beyond_bound = true;
            limits.withheld = withheld;
            limits.n_withheld = 1;
            size_t n = space_study_choose(engine, &limits, picks).n_picks;
            assert_int_equal(n, at_once);
            for (n_results = 0; n_results < n; n_results++, picked++) {
                double x[2];
                uint32_t arm = picks[n_results].arm;
                bandit_arms_coded(arms, arm, x);
                times[(size_t)x[0] * HIGH + (size_t)x[1]]++;
                results[n_results] = (bandit_result){.arm = arm,
                                                     .repeats = 1,
                                                     .reward = sin(x[0]) - x[1],
                                                     .chosen = true,
                                                     .variance = picks[n_results].variance};
            }
        }
        for (size_t k = 0; k < POINTS; k++)
            assert_int_equal(times[k], k == 4 * HIGH + 2 ? 0 : 1);
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* pi-GP-UCB's cells in a space are those of the list of its points: the same bounds everywhere, however the
 * pulls are spread. No point is on a face between cells, which are halves of halves: there the list also has
 * the bound of a cell without pulls. */
static void pi_gp_ucb_bounds_as_on_the_list(void **state)
{
    enum { SIDE = 8, POINTS = SIDE * SIDE, ROUNDS = 12, EACH = 6 };
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .max = SIDE - 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .max = SIDE - 1, .parent = BANDIT_NO_PARENT}};
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        bandit_arms *open = space_study_arms(parameters, 2), *closed = space_study_arms(parameters, 2);
        bandit_error err = {0};
        bandit_options o = space_study_options(BANDIT_PI_GP_UCB, seed, 0.1);
        o.initial_cells = 1 + seed / 4;
        uint32_t all[POINTS];
        uint64_t random = seed;
        assert_int_equal(bandit_arms_enumerate(closed, &err), BANDIT_OK);
        for (uint32_t a = 0; a < POINTS; a++) {
            double coded[2];
            bandit_arms_coded(closed, a, coded);
            assert_int_equal(bandit_arms_append(open, coded, 1, &err), BANDIT_OK);
            all[a] = a;
        }
        bandit_engine *in_space = space_study_engine(open, &o), *in_list = space_study_engine(closed, &o);
        for (size_t round = 0; round < ROUNDS; round++) {
            bandit_result results[EACH];
            bandit_prediction spaced[POINTS], listed[POINTS];
            for (size_t i = 0; i < EACH; i++) { /* more of them in one corner */
                double reach = seed % 2 ? 1.0 : 0.4;
                size_t x = (size_t)(reach * SIDE * dense_uniform(&random));
                size_t y = (size_t)(reach * SIDE * dense_uniform(&random));
                results[i] = (bandit_result){.arm = (uint32_t)(x * SIDE + y),
                                             .repeats = 1 + (uint32_t)(round % 3),
                                             .reward = dense_normal(&random)};
            }
            space_study_begin(in_space, results, EACH, NULL, 0);
            space_study_begin(in_list, results, EACH, NULL, 0);
            assert_int_equal(bandit_engine_predict_arms(in_space, all, POINTS, spaced, &err), BANDIT_OK);
            assert_int_equal(bandit_engine_predict_arms(in_list, all, POINTS, listed, &err), BANDIT_OK);
            for (size_t a = 0; a < POINTS; a++)
                assert_true(fabs(spaced[a].ucb - listed[a].ucb) < 1e-7);
            bandit_description here, there;
            bandit_engine_describe(in_space, &here);
            bandit_engine_describe(in_list, &there);
            assert_true(fabs(here.information_gain - there.information_gain) < 1e-6 &&
                        here.information_gain > 0.0);
            assert_true(fabs(here.effective_dimension - there.effective_dimension) < 1e-6);
        }
        bandit_engine_free(in_space);
        bandit_engine_free(in_list);
        bandit_arms_free(open);
        bandit_arms_free(closed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pi_gp_ucb_waits_for_what_is_out),
        cmocka_unit_test(pi_gp_ucb_meets_every_point_once),
        cmocka_unit_test(pi_gp_ucb_bounds_as_on_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
