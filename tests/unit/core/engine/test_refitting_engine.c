/* Engines that learn: restarts change nothing, also on spaces, and units change nothing but units; for every
 * algorithm with a model. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/async_study.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/random_problem.h"
#include "tests/support/repeats.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void random_learner(random_problem *p, size_t a, uint64_t seed, size_t n)
{
    random_problem_init(p, seed, n, 2, BANDIT_KERNEL_MATERN, 0.01, 0);
    p->options.kernel.nu = 2.5;
    learner_options(&p->options, learner_algorithms[a]);
}

/* ---- restarts ------------------------------------------------------------------------------------------ */

static void restarts_change_nothing(void **unused)
{
    (void)unused;
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a++) {
        random_problem p;
        random_learner(&p, a, 100 + a, 40);
        async_study_check(&p, 40, NULL, NULL);
        random_problem_clear(&p);
    }
}

/* One engine lives through all batches, another is restored before each: through fits, strays and repeats. */
static void an_engine_restored_before_every_batch_is_its_equal(void **unused)
{
    (void)unused;
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a++) {
        random_problem p;
        random_learner(&p, a, 7 + a, 60);
        bandit_engine *lives, *restored;
        bandit_error err;
        must(bandit_engine_new(&lives, p.arms, &p.options, 0, &err), &err);
        must(bandit_engine_new(&restored, p.arms, &p.options, 0, &err), &err);
        bandit_result result;
        for (size_t t = 0; t < repeats(60, 24); t++) {
            learner_begin(lives, &result, t > 0);
            learner_begin(restored, &result, t > 0);
            bandit_checkpoint checkpoint;
            bandit_engine *again;
            bandit_engine_checkpoint(restored, &checkpoint);
            must(bandit_engine_restore(&again, p.arms, &p.options, 0, &checkpoint, NULL, 0,
                                       &bandit_executor_serial, &err),
                 &err);
            bandit_engine_free(restored);
            restored = again;
            bandit_pick x = learner_pick(lives), y = learner_pick(restored);
            assert_true(x.arm == y.arm && x.variance == y.variance);
            double reward = random_problem_reward(&p, x.arm, t);
            result = learner_result(&x, t % 23 == 11 ? 1000.0 * reward : reward);
        }
        bandit_engine_free(lives);
        bandit_engine_free(restored);
        random_problem_clear(&p);
    }
}

static void refuse_damaged_states(size_t algorithm)
{
    enum { MANY = 60 };
    random_problem p;
    bandit_engine *engine, *other = NULL;
    bandit_result results[MANY];
    bandit_checkpoint checkpoint;
    bandit_error err;
    random_learner(&p, algorithm, 7, MANY);
    bandit_options o = p.options;
    o.kernel.n_lengthscales = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        double reward = random_problem_reward(&p, i, i);
        results[i] =
            (bandit_result){.arm = i, .repeats = 1, .reward = i % 23 == 11 ? 1000.0 * reward : reward};
    }
    must(bandit_engine_new(&engine, p.arms, &o, 0, &err), &err);
    learner_begin(engine, results, MANY);
    bandit_description d;
    bandit_engine_describe(engine, &d);
    assert_true(d.set_aside > 0);
    bandit_engine_checkpoint(engine, &checkpoint);
    unsigned char *state = malloc(checkpoint.n_state);
    const unsigned char *intact = checkpoint.state;
    checkpoint.state = state;
    size_t n = checkpoint.n_state, refused = 0;
    for (size_t size = 0; size < n; size += 7) { /* cut short */
        memcpy(state, intact, n);
        checkpoint.n_state = size;
        assert_int_equal(
            bandit_engine_restore(&other, p.arms, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err),
            BANDIT_INVALID_STATE);
        assert_null(other);
    }
    checkpoint.n_state = n;
    for (size_t at = 0; at + 8 <= n; at += 8) { /* a word of ones: NaN, and a count beyond all sizes */
        memcpy(state, intact, n);
        memset(state + at, 0xff, 8);
        bandit_status status =
            bandit_engine_restore(&other, p.arms, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err);
        refused += status != BANDIT_OK;
        bandit_engine_free(other);
    }
    assert_true(refused > n / 8 / 2);
    memcpy(state, intact, n); /* of candidates with another number of features */
    bandit_arms *arms;
    must(bandit_arms_new(&arms, MANY, 3, &err), &err);
    for (size_t i = 0; i < MANY; i++) {
        const double wider[] = {(double)i, (double)(i % 17), (double)(i % 5)};
        must(bandit_arms_set_rows(arms, i, 1, wider, &err), &err);
    }
    must(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, MANY, &err), &err);
    assert_int_equal(
        bandit_engine_restore(&other, arms, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err),
        BANDIT_INVALID_STATE);
    bandit_arms_free(arms);
    free(state);
    bandit_engine_free(engine);
    random_problem_clear(&p);
}

static void damaged_states_are_refused(void **unused)
{
    (void)unused;
    refuse_damaged_states(0);
    refuse_damaged_states(LEARNER_ALGORITHMS - 1); /* with a warp */
}

/* ---- spaces -------------------------------------------------------------------------------------------- */

enum { PARAMETERS = 3 };

static bandit_arms *new_space(void)
{
    static const double numbers[] = {1.0, 10.0, 100.0};
    const bandit_parameter parameters[PARAMETERS] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 1e-4, .max = 1.0, .log = true, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DISCRETE, .numbers = numbers, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 4, .parent = BANDIT_NO_PARENT}};
    return space_study_arms(parameters, PARAMETERS);
}

/* The same visited points, in their order. */
static bandit_arms *copy_space(const bandit_arms *arms)
{
    bandit_arms *copy = new_space();
    bandit_error err;
    for (size_t i = 0; i < bandit_arms_count(arms); i++) {
        double coded[PARAMETERS];
        bandit_arms_coded(arms, i, coded);
        must(bandit_arms_append(copy, coded, 1, &err), &err);
    }
    return copy;
}

static double at(const bandit_arms *arms, uint32_t arm)
{
    double coded[PARAMETERS];
    bandit_arms_coded(arms, arm, coded);
    return -pow(log10(coded[0]) + 2.0, 2.0) - (coded[2] == 1.0 ? 0.0 : 2.0) -
           0.1 * fabs(log10(coded[1]) - 1.0);
}

/* On a space as on candidates; one lengthscale a parameter, whatever number of features it has; and it is of
 * use: the best of 40 points is close to the best there is. */
static void spaces_are_learned_on(void **unused)
{
    const size_t steps = repeats(40, 14);
    (void)unused;
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a += repeats(1, 2)) {
        if (learner_algorithms[a] == BANDIT_PI_GP_UCB)
            continue; /* for candidates */
        bandit_arms *of_lives = new_space(), *of_restored = new_space();
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_engine *lives, *restored;
        bandit_error err;
        learner_options(&o, learner_algorithms[a]);
        o.confidence = BANDIT_CONFIDENCE_CALIBRATED;
        o.kernel.n_lengthscales = 0;
        o.seed = 3;
        must(bandit_engine_new(&lives, of_lives, &o, 0, &err), &err);
        must(bandit_engine_new(&restored, of_restored, &o, 0, &err), &err);
        bandit_result result;
        double best = -INFINITY;
        for (size_t t = 0; t < steps; t++) {
            learner_begin(lives, &result, t > 0);
            learner_begin(restored, &result, t > 0);
            bandit_checkpoint checkpoint;
            bandit_engine *again;
            bandit_arms *copy = copy_space(of_restored);
            bandit_engine_checkpoint(restored, &checkpoint);
            must(bandit_engine_restore(&again, copy, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial,
                                       &err),
                 &err);
            bandit_engine_free(restored);
            bandit_arms_free(of_restored);
            restored = again;
            of_restored = copy;
            bandit_pick x = learner_pick(lives), y = learner_pick(restored);
            assert_true(x.arm == y.arm && x.variance == y.variance);
            double reward = at(of_lives, x.arm);
            assert_true(reward == at(of_restored, y.arm));
            best = fmax(best, reward);
            result = learner_result(&x, reward);
        }
        bandit_description d;
        bandit_engine_describe(lives, &d);
        assert_true(d.n_lengthscales == 6 && d.lengthscales[2] == d.lengthscales[5]);
        if (steps == 40 && (learner_algorithms[a] == BANDIT_BBKB || learner_algorithms[a] == BANDIT_GP_EI))
            assert_true(best > -0.05);
        bandit_engine_free(lives);
        bandit_engine_free(restored);
        bandit_arms_free(of_lives);
        bandit_arms_free(of_restored);
    }
}

/* ---- units --------------------------------------------------------------------------------------------- */

/* Rewards times a power of two, and what is said of them: the same picks to the bit, predictions and
 * hyper-parameters times it. `said`: noise and norm bound are given, not learned. */
static void same_in_units(bool said)
{
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a += repeats(1, 3)) {
        for (double unit = 0x1p-30; unit < 0x1p40; unit *= 0x1p60) {
            random_problem p;
            random_learner(&p, a, 55 + a, 50);
            bandit_engine *one, *other;
            bandit_error err;
            p.options.learn_noise = p.options.learn_norm_bound = !said;
            must(bandit_engine_new(&one, p.arms, &p.options, 0, &err), &err);
            p.options.noise_std *= unit;
            p.options.norm_bound *= unit;
            must(bandit_engine_new(&other, p.arms, &p.options, 0, &err), &err);
            p.options.noise_std /= unit;
            bandit_result results[2];
            for (size_t t = 0; t < 40; t++) {
                learner_begin(one, &results[0], t > 0);
                learner_begin(other, &results[1], t > 0);
                if (said) { /* a user's own: until there are results, engines take the unit for 1 */
                    results[0] = (bandit_result){.arm = (uint32_t)(7 * t % 50), .repeats = 1};
                    results[1] = results[0];
                } else {
                    bandit_pick x = learner_pick(one), y = learner_pick(other);
                    assert_true(x.arm == y.arm && x.variance == y.variance);
                    results[0] = learner_result(&x, 0.0);
                    results[1] = learner_result(&y, 0.0);
                }
                results[0].reward = random_problem_reward(&p, results[0].arm, t);
                results[1].reward = unit * results[0].reward;
            }
            bandit_description d, e;
            bandit_engine_describe(one, &d);
            bandit_engine_describe(other, &e);
            assert_true(e.signal_std == unit * d.signal_std && e.noise_std == unit * d.noise_std);
            assert_true(e.shift == unit * d.shift && e.unit == unit * d.unit && e.lambda == d.lambda);
            assert_true(e.norm_bound == unit * d.norm_bound && e.beta == unit * d.beta);
            assert_true(e.fitted_on == d.fitted_on && d.fitted_on > 20);
            bandit_prediction u, v;
            for (uint32_t arm = 0; arm < 50; arm++) {
                must(bandit_engine_predict_arms(one, &arm, 1, &u, &err), &err);
                must(bandit_engine_predict_arms(other, &arm, 1, &v, &err), &err);
                assert_true(v.mean == unit * u.mean && v.variance == unit * unit * u.variance);
                assert_true(v.ucb == unit * u.ucb);
            }
            bandit_engine_free(one);
            bandit_engine_free(other);
            random_problem_clear(&p);
        }
    }
}

static void units_of_the_reward_do_not_matter(void **unused)
{
    (void)unused;
    same_in_units(false);
}

static void units_of_what_is_said_are_those_of_the_reward(void **unused)
{
    (void)unused;
    same_in_units(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restarts_change_nothing),
        cmocka_unit_test(an_engine_restored_before_every_batch_is_its_equal),
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(spaces_are_learned_on),
        cmocka_unit_test(units_of_the_reward_do_not_matter),
        cmocka_unit_test(units_of_what_is_said_are_those_of_the_reward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
