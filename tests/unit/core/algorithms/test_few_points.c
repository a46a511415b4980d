/* Engines where few points are: a box whose points are all met, and candidates that are all one point. */
#include "tests/support/small_sets.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A box of 3 x 3 whole numbers without noise: no point is picked again while there is another one, whether it
 * has been told or is out; with everything withheld there is none. */
static void points_are_not_picked_again(void **state)
{
    (void)state;
    static const bandit_parameter whole[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .min = 1, .max = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 0, .max = 2, .parent = BANDIT_NO_PARENT}};
    for (size_t a = 0; a <= SMALL_ALGORITHMS; a++) {
        bandit_algorithm algorithm = a < SMALL_ALGORITHMS ? small_algorithms[a] : BANDIT_PI_GP_UCB;
        bandit_options options = small_options(algorithm, BOX);
        bandit_description d;
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bool met[9] = {false};
        options.noise_std = 0.0;
        bandit_arms *arms = space_study_arms(whole, 2);
        bandit_engine *engine = space_study_engine(arms, &options);
        bandit_engine_describe(engine, &d);
        limits.max_picks = 3;
        limits.beyond_bound = true;
        bandit_pick picks[3];
        bandit_result results[3];
        size_t n_told = 0, n_out = 0;
        for (size_t round = 0; round < 3; round++) { /* of three picks one is told, two stay out */
            space_study_begin(engine, results, n_told, picks, n_out);
            n_told = n_out = 0;
            bandit_pick last[2] = {picks[0], picks[1]};
            assert_int_equal(space_study_choose(engine, &limits, picks).n_picks, 3);
            for (size_t i = 0; i < 3; i++) {
                assert_true(picks[i].arm < 9);
                assert_true(!d.has_model || !met[picks[i].arm]);
                met[picks[i].arm] = true;
            }
            for (size_t i = 0; i < (round > 0 ? 2 : 0); i++)
                results[n_told++] =
                    (bandit_result){.arm = last[i].arm, .repeats = 1, .reward = 1.0 / (1.0 + last[i].arm)};
            results[n_told++] =
                (bandit_result){.arm = picks[2].arm, .repeats = 1, .reward = 1.0 / (1.0 + picks[2].arm)};
            n_out = 2;
        }
        if (d.has_model) {
            assert_int_equal(bandit_arms_count(arms), 9);
            space_study_begin(engine, results, n_told, NULL, 0);
            static const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
            limits.withheld = all;
            limits.n_withheld = 9;
            bandit_selection none = space_study_choose(engine, &limits, picks);
            assert_int_equal(none.n_picks, 0);
            assert_int_equal(none.stop_rule, BANDIT_STOP_EXHAUSTED);
            limits.n_withheld = 8; /* told before, and the only one */
            limits.max_picks = 1;
            assert_int_equal(space_study_choose(engine, &limits, picks).n_picks, 1);
            assert_int_equal(picks[0].arm, 8);
        }
        bandit_engine_free(engine);
        bandit_arms_free(arms);
    }
}

/* Forty candidates that are all one point, under every algorithm and kernel: a posterior of one arm, whose
 * variance shrinks as that of one mean would. Where the scaled features are zeros and the kernel is linear,
 * nothing is uncertain and everything is worth 0. */
static void check_one_point(bandit_algorithm algorithm, bandit_kernel_type type, bandit_scaling scaling)
{
    enum { N = 40, PICKS = 4 };
    const double lambda = 0.5,
                 k = type == BANDIT_KERNEL_LINEAR ? scaling == BANDIT_SCALING_NONE ? 2 * 9.0 : 0.0 : 1.0;
    double rows[N * 2];
    bandit_error err = {0};
    const double lengthscale = 1.0;
    bandit_arms *arms;
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel =
        (bandit_kernel){.type = type, .nu = o.kernel.nu, .lengthscales = &lengthscale, .n_lengthscales = 1};
    o.lambda = lambda;
    o.inducing = 5;
    o.prior_features = 20;
    o.population = 5;
    o.sample = 2;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i] = 3.0;
    assert_int_equal(bandit_arms_new(&arms, N, 2, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, scaling, N, &err), BANDIT_OK);
    bandit_engine *engine = space_study_engine(arms, &o);
    bandit_result results[PICKS];
    size_t n = 0, told = 0;
    double sum = 0.0;
    for (int batch = 0; batch < 6; batch++) {
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        bandit_pick picks[PICKS];
        bandit_description d;
        bandit_prediction now;
        const uint32_t arm = N / 2;
        space_study_begin(engine, results, n, NULL, 0);
        bandit_engine_describe(engine, &d);
        assert_int_equal(d.observations, told);
        if (d.has_model) { /* of a mean of `told` rewards, with a prior of variance k */
            double t = (double)told;
            assert_int_equal(bandit_engine_predict_arms(engine, &arm, 1, &now, &err), BANDIT_OK);
            assert_true(fabs(now.mean - k * sum / (t * k + lambda)) < 1e-9);
            assert_true(fabs(now.variance - k * lambda / (t * k + lambda)) < 1e-9);
        }
        limits.max_picks = PICKS;
        limits.beyond_bound = true;
        n = space_study_choose(engine, &limits, picks).n_picks;
        assert_int_equal(n, PICKS);
        for (size_t i = 0; i < n; i++) {
            double reward = 1.0 + 0.25 * (double)((told + i) % 3);
            assert_true(picks[i].arm < N && picks[i].variance >= 0.0);
            results[i] = (bandit_result){.arm = picks[i].arm,
                                         .repeats = 1,
                                         .reward = reward,
                                         .chosen = true,
                                         .variance = picks[i].variance};
            sum += reward;
        }
        told += n;
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static void all_candidates_are_one_point(void **state)
{
    (void)state;
    for (size_t a = 0; a < BANDIT_ALGORITHMS; a++) {
        for (bandit_scaling scaling = BANDIT_SCALING_STANDARDIZE; scaling <= BANDIT_SCALING_NONE; scaling++) {
            check_one_point((bandit_algorithm)a, BANDIT_KERNEL_MATERN, scaling);
            if (a == BANDIT_PI_GP_UCB)
                continue; /* Matérn kernels only */
            check_one_point((bandit_algorithm)a, BANDIT_KERNEL_GAUSSIAN, scaling);
            check_one_point((bandit_algorithm)a, BANDIT_KERNEL_LINEAR, scaling);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_not_picked_again),
        cmocka_unit_test(all_candidates_are_one_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
