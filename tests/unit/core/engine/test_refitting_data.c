/* What engines learn of data whose truth is known: its noise, its size and what its features are worth, with
 * strays, corrections, poor data and bounds that are too small. */
#include "bandit/engine.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ARMS = 256 };

/* ---- a model of known data ----------------------------------------------------------------------------- */

typedef struct surface {
    bandit_arms *arms;
    double truth[MOST_ARMS];
} surface;

/* A smooth function of one of two features, far from 0 and of its own unit, on a grid. */
static void surface_init(surface *s)
{
    bandit_error err;
    double rows[2 * MOST_ARMS];
    for (size_t i = 0; i < MOST_ARMS; i++) {
        rows[2 * i] = (double)(i % 16);
        rows[2 * i + 1] = (double)(i / 16);
        s->truth[i] = 500.0 + 30.0 * sin(rows[2 * i] / 3.0);
    }
    must(bandit_arms_new(&s->arms, MOST_ARMS, 2, &err), &err);
    must(bandit_arms_set_rows(s->arms, 0, MOST_ARMS, rows, &err), &err);
    must(bandit_arms_finish(s->arms, BANDIT_SCALING_STANDARDIZE, MOST_ARMS, &err), &err);
}

static double noise(uint64_t t)
{
    double sum = -6.0;
    for (uint64_t k = 0; k < 12; k++) {
        uint64_t x = (t * 12 + k + 1) * 0x9e3779b97f4a7c15u;
        x ^= x >> 31;
        x *= 0xbf58476d1ce4e5b9u;
        sum += (double)((x ^ (x >> 29)) >> 11) * 0x1p-53;
    }
    return sum;
}

/* An engine that was told every k-th arm once, noise of this deviation, every 50th reward times `stray`. */
static bandit_engine *told(const surface *s, bandit_algorithm algorithm, size_t k, double deviation,
                           double stray)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_engine *engine;
    bandit_error err;
    bandit_result results[MOST_ARMS];
    size_t n = 0;
    learner_options(&o, algorithm);
    o.kernel.lengthscales = NULL;
    o.kernel.n_lengthscales = 0;
    for (uint32_t arm = 0; arm < MOST_ARMS; arm += (uint32_t)k) {
        double reward = s->truth[arm] + deviation * noise(arm);
        results[n] =
            (bandit_result){.arm = arm, .repeats = 1, .reward = n % 50 == 7 ? stray * reward : reward};
        n++;
    }
    must(bandit_engine_new(&engine, s->arms, &o, 0, &err), &err);
    learner_begin(engine, results, n / 2);
    learner_begin(engine, results + n / 2, n - n / 2);
    return engine;
}

static double error_of(const bandit_engine *engine, const surface *s)
{
    double squares = 0.0;
    for (uint32_t arm = 0; arm < MOST_ARMS; arm++) {
        bandit_prediction p;
        bandit_error err;
        must(bandit_engine_predict_arms(engine, &arm, 1, &p, &err), &err);
        squares += (p.mean - s->truth[arm]) * (p.mean - s->truth[arm]) / MOST_ARMS;
    }
    return sqrt(squares);
}

static void what_is_learned_is_told_in_the_units_of_the_reward(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a += repeats(1, 3)) {
        bandit_engine *engine = told(&s, learner_algorithms[a], 2, 3.0, 1.0);
        bandit_description d;
        bandit_engine_describe(engine, &d);
        assert_true(d.has_model && d.observations == MOST_ARMS / 2 && d.set_aside == 0);
        assert_true(d.noise_std > 1.5 && d.noise_std < 6.0);
        assert_true(d.signal_std > 10.0 && d.signal_std < 150.0);
        assert_true(d.shift > 400.0 && d.shift < 600.0);
        assert_int_equal(d.n_lengthscales, 2);
        assert_true(d.lengthscales[1] > 2.0 * d.lengthscales[0]); /* the second feature does nothing */
        if (learner_algorithms[a] != BANDIT_PI_GP_UCB)            /* its cells know each their own rewards */
            assert_true(error_of(engine, &s) < 3.0);
        bandit_engine_free(engine);
    }
    bandit_arms_free(s.arms);
}

/* Every 50th reward a thousand times too large, or of the wrong sign, or a hundredth. */
static void strays_hardly_move_the_model(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    for (double deviation = 0.0; deviation < 5.0; deviation += 4.0) {
        bandit_engine *clean = told(&s, BANDIT_BBKB, 2, deviation, 1.0);
        double without = error_of(clean, &s);
        const double strays[] = {1000.0, -1000.0, 0.01};
        for (size_t i = 0; i < repeats(sizeof strays / sizeof *strays, 1); i++) {
            bandit_engine *engine = told(&s, BANDIT_BBKB, 2, deviation, strays[i]);
            bandit_description d;
            bandit_engine_describe(engine, &d);
            assert_true(d.set_aside <= 3); /* cut to the fence, one may pass for a bad value */
            assert_true(strays[i] < 1.0 || d.set_aside == 3);
            assert_true(error_of(engine, &s) < 1.5 * without + 0.5);
            bandit_engine_free(engine);
        }
        bandit_engine_free(clean);
    }
    bandit_arms_free(s.arms);
}

/* A peak is no stray: one arm is far better than all others, and it stays in the model. */
static void a_step_is_not_set_aside(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    for (size_t i = 0; i < MOST_ARMS; i++)
        s.truth[i] = i % 16 < 13 ? 1.0 + 0.01 * noise(i) : 100.0;
    bandit_engine *engine = told(&s, BANDIT_BBKB, 1, 0.0, 1.0);
    bandit_description d;
    bandit_engine_describe(engine, &d);
    assert_int_equal(d.set_aside, 0);
    bandit_engine_free(engine);
    bandit_arms_free(s.arms);
}

/* Pulled again and again with a stray now and then, an arm keeps its mean. */
static void strays_among_repeats_hardly_move_a_mean(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_engine *engine;
    bandit_error err;
    learner_options(&o, BANDIT_BBKB);
    o.kernel.n_lengthscales = 0;
    must(bandit_engine_new(&engine, s.arms, &o, 0, &err), &err);
    for (uint64_t t = 0; t < repeats(1000, 200); t++) {
        uint32_t arm = (uint32_t)(t * 37 % 32) * 8;
        double reward = s.truth[arm] + 3.0 * noise(t);
        bandit_result result = {.arm = arm, .repeats = 1, .reward = t % 50 == 33 ? 1000.0 * reward : reward};
        learner_begin(engine, &result, 1);
    }
    bandit_description d;
    bandit_engine_describe(engine, &d);
    assert_true(d.noise_std > 1.0 && d.noise_std < 10.0);
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t arm = i * 8;
        bandit_prediction p;
        must(bandit_engine_predict_arms(engine, &arm, 1, &p, &err), &err);
        assert_true(fabs(p.mean - s.truth[arm]) < 5.0);
    }
    bandit_engine_free(engine);
    bandit_arms_free(s.arms);
}

/* ---- poor data ----------------------------------------------------------------------------------------- */

static void poor_data_are_survived(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a += repeats(1, 2)) {
        for (int kind = 0; kind < 4; kind++) {
            bandit_options o = BANDIT_OPTIONS_INIT;
            bandit_engine *engine;
            bandit_error err;
            learner_options(&o, learner_algorithms[a]);
            o.kernel.n_lengthscales = 0;
            must(bandit_engine_new(&engine, s.arms, &o, 0, &err), &err);
            learner_begin(engine, NULL, 0);
            for (size_t t = 0; t < 14; t++) {
                bandit_pick pick = learner_pick(engine);
                const double rewards[] = {0.0, t % 3 ? 1e140 : -1e140, t % 2 ? -1e-300 : 1e-300,
                                          t == 5 ? -1e18 : 7.0};
                bandit_result result = learner_result(&pick, rewards[kind]);
                learner_begin(engine, &result, 1);
                bandit_description d;
                bandit_engine_describe(engine, &d);
                assert_true(isfinite(d.beta) && isfinite(d.signal_std) && d.signal_std > 0.0);
                assert_true(isfinite(d.shift) && d.lambda >= 1e-6 && isfinite(d.lambda));
                for (uint32_t arm = 0; arm < MOST_ARMS; arm += 5) {
                    bandit_prediction p;
                    must(bandit_engine_predict_arms(engine, &arm, 1, &p, &err), &err);
                    assert_true(isfinite(p.mean) && isfinite(p.variance) && isfinite(p.ucb));
                }
            }
            bandit_engine_free(engine);
        }
    }
    bandit_arms_free(s.arms);
}

/* In units of rewards of 1e-310, an option of 1.5 is no number any more. */
static void a_unit_too_small_for_the_options_is_a_breakdown(void **unused)
{
    (void)unused;
    const double lengthscale = 0.5;
    surface s;
    surface_init(&s);
    for (int kind = 0; kind < 4; kind++) {
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_engine *engine;
        bandit_error err = {0};
        o.algorithm = BANDIT_GP_TS;
        o.kernel.lengthscales = &lengthscale;
        o.kernel.n_lengthscales = 1;
        o.standardize_rewards = true;
        o.learn_norm_bound = o.learn_noise = true;
        if (kind == 0) {
            o.norm_bound = 1.5;
            o.learn_norm_bound = false;
        } else if (kind == 1) {
            o.noise_std = 1.5;
            o.learn_noise = false;
        } else if (kind == 2) {
            o.noise_std = 1e-100;
            o.learn_noise = false;
            o.lambda_from_noise = true;
        } else {
            o.confidence = BANDIT_CONFIDENCE_FIXED;
            o.beta = 1.5;
        }
        must(bandit_engine_new(&engine, s.arms, &o, 0, &err), &err);
        learner_begin(engine, NULL, 0);
        bandit_status status = BANDIT_OK;
        for (size_t t = 0; t < 14 && status == BANDIT_OK; t++) {
            bandit_pick pick = learner_pick(engine);
            bandit_result result = learner_result(&pick, t % 2 ? -1e-310 : 1e-310);
            status = bandit_engine_begin_batch(engine, &result, 1, NULL, 0, &bandit_executor_serial, &err);
        }
        assert_int_equal(status, BANDIT_NUMERICAL);
        bandit_engine_free(engine);
    }
    bandit_arms_free(s.arms);
}

/* ---- corrections, norms, many arms, a matrix
 * --------------------------------------------------------------- */

static void a_corrected_reward_is_learned_from(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    bandit_engine *engine = told(&s, BANDIT_BBKB, 2, 1.0, 1000.0),
                  *clean = told(&s, BANDIT_BBKB, 2, 1.0, 1.0);
    bandit_description d;
    bandit_error err;
    bandit_engine_describe(engine, &d);
    assert_int_equal(d.set_aside, 3);
    for (uint32_t n = 7; n < MOST_ARMS / 2; n += 50) {
        uint32_t arm = 2 * n;
        double reward = s.truth[arm] + noise(arm);
        bandit_amendment amendment = {.arm = arm,
                                      .was = {.repeats = 1, .reward = 1000.0 * reward},
                                      .now = {.repeats = 1, .reward = reward}};
        bandit_arm_sum sum = {.arm = arm, .count = 1, .sum = reward};
        must(bandit_engine_amend(engine, &amendment, 1, &sum, 1, NULL, 0, &err), &err);
    }
    learner_begin(engine, NULL, 0);
    bandit_engine_describe(engine, &d);
    assert_int_equal(d.set_aside, 0);
    assert_int_equal(d.observations, MOST_ARMS / 2);
    assert_true(error_of(engine, &s) < 1.2 * error_of(clean, &s) + 0.1);
    bandit_engine_free(engine);
    bandit_engine_free(clean);
    bandit_arms_free(s.arms);
}

/* A function far larger than its prior: a norm bound that is learned grows by powers of two, a given one does
 * not. Nothing else is learned here. */
static void the_norm_bound_doubles_until_it_holds_the_mean(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    for (size_t a = 0; a < LEARNER_ALGORITHMS; a++) {
        if (learner_algorithms[a] == BANDIT_GP_EI || learner_algorithms[a] == BANDIT_GP_PI ||
            learner_algorithms[a] == BANDIT_LOG_EI || learner_algorithms[a] == BANDIT_EPSILON_GREEDY)
            continue; /* no bound */
        for (int learns = 0; learns < 2; learns++) {
            const double lengthscale = 1.0;
            bandit_options o = BANDIT_OPTIONS_INIT;
            bandit_engine *engine;
            bandit_error err;
            bandit_result results[MOST_ARMS];
            o.algorithm = learner_algorithms[a];
            o.kernel.lengthscales = &lengthscale;
            o.kernel.n_lengthscales = 1;
            o.learn_norm_bound = learns;
            for (uint32_t arm = 0; arm < MOST_ARMS; arm++)
                results[arm] =
                    (bandit_result){.arm = arm, .repeats = 1, .reward = 1e6 * (s.truth[arm] - 500.0)};
            must(bandit_engine_new(&engine, s.arms, &o, 0, &err), &err);
            learner_begin(engine, results, MOST_ARMS);
            bandit_description d;
            bandit_engine_describe(engine, &d);
            assert_true(learns ? d.norm_bound >= 512.0 : d.norm_bound == 1.0);
            assert_true(exp2(round(log2(d.norm_bound))) == d.norm_bound);
            bandit_engine_free(engine);
        }
    }
    bandit_arms_free(s.arms);
}

/* More arms than are fitted exactly, with strays: the noise is found, what is set aside are the strays, and
 * the model is close to the truth. */
static void many_arms_are_learned_from_sparsely(void **unused)
{
    enum { SIDE = 20, MANY = SIDE * SIDE, STRAYS = 5 };
    (void)unused;
    const double deviation = 2.0;
    double rows[2 * MANY], truth[MANY], squares = 0.0;
    bandit_result results[MANY];
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_arms *arms;
    bandit_engine *engine;
    bandit_description d;
    bandit_error err;
    for (uint32_t i = 0; i < MANY; i++) {
        rows[2 * i] = (double)(i % SIDE);
        rows[2 * i + 1] = (double)(i / SIDE);
        truth[i] = 500.0 + 30.0 * sin(rows[2 * i] / 4.0) * cos(rows[2 * i + 1] / 5.0);
        results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = truth[i] + deviation * noise(i)};
    }
    for (size_t i = 0; i < STRAYS; i++)
        results[37 + 80 * i].reward *= 10.0;
    must(bandit_arms_new(&arms, MANY, 2, &err), &err);
    must(bandit_arms_set_rows(arms, 0, MANY, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, MANY, &err), &err);
    learner_options(&o, BANDIT_BBKB);
    o.kernel.n_lengthscales = 0;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    learner_begin(engine, results, MANY);
    bandit_engine_describe(engine, &d);
    assert_int_equal(d.fitted_on, MANY);
    assert_int_equal(d.set_aside, STRAYS);
    assert_true(d.noise_std > 0.7 * deviation && d.noise_std < 1.4 * deviation);
    for (uint32_t arm = 0; arm < MANY; arm++) {
        bandit_prediction prediction;
        must(bandit_engine_predict_arms(engine, &arm, 1, &prediction, &err), &err);
        squares += pow(prediction.mean - truth[arm], 2.0) / MANY;
    }
    assert_true(sqrt(squares) < 0.6 * deviation);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

/* A linear kernel, and the same known by its matrix: the same is learned. */
static void a_kernel_by_its_matrix_is_learned_alike(void **unused)
{
    enum { FEW = 24 };
    (void)unused;
    double rows[2 * FEW], gram[FEW * FEW];
    bandit_result results[FEW];
    bandit_arms *arms[2];
    bandit_engine *engines[2];
    bandit_description d[2];
    bandit_error err;
    for (uint32_t i = 0; i < FEW; i++) {
        rows[2 * i] = cos(i);
        rows[2 * i + 1] = sin(2.0 * i);
        results[i] = (bandit_result){
            .arm = i, .repeats = 1 + i % 2, .reward = 3.0 * rows[2 * i] - rows[2 * i + 1] + 0.2 * noise(i)};
    }
    for (size_t i = 0; i < FEW; i++)
        for (size_t k = 0; k < FEW; k++)
            gram[i * FEW + k] = rows[2 * i] * rows[2 * k] + rows[2 * i + 1] * rows[2 * k + 1];
    must(bandit_arms_new(&arms[0], FEW, 2, &err), &err);
    must(bandit_arms_set_rows(arms[0], 0, FEW, rows, &err), &err);
    must(bandit_arms_new_precomputed(&arms[1], FEW, &err), &err);
    must(bandit_arms_set_rows(arms[1], 0, FEW, gram, &err), &err);
    for (int k = 0; k < 2; k++) {
        bandit_options o = BANDIT_OPTIONS_INIT;
        must(bandit_arms_finish(arms[k], BANDIT_SCALING_NONE, FEW, &err), &err);
        o.kernel = (bandit_kernel){.type = k ? BANDIT_KERNEL_PRECOMPUTED : BANDIT_KERNEL_LINEAR};
        learner_options(&o, BANDIT_IGP_UCB);
        must(bandit_engine_new(&engines[k], arms[k], &o, 0, &err), &err);
        learner_begin(engines[k], results, FEW);
        bandit_engine_describe(engines[k], &d[k]);
        assert_int_equal(d[k].fitted_on, FEW + FEW / 2);
    }
    assert_true(fabs(d[0].noise_std - d[1].noise_std) < 1e-6 * d[0].noise_std);
    assert_true(fabs(d[0].signal_std - d[1].signal_std) < 1e-6 * d[0].signal_std);
    assert_true(d[0].noise_std > 0.1 && d[0].noise_std < 0.4);
    for (uint32_t arm = 0; arm < FEW; arm++) {
        bandit_prediction p, q;
        must(bandit_engine_predict_arms(engines[0], &arm, 1, &p, &err), &err);
        must(bandit_engine_predict_arms(engines[1], &arm, 1, &q, &err), &err);
        assert_true(fabs(p.mean - q.mean) < 1e-5 && fabs(p.variance - q.variance) < 1e-5);
        assert_true(fabs(p.mean - (3.0 * rows[2 * arm] - rows[2 * arm + 1])) < 0.3);
    }
    for (int k = 0; k < 2; k++) {
        bandit_engine_free(engines[k]);
        bandit_arms_free(arms[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_learned_is_told_in_the_units_of_the_reward),
        cmocka_unit_test(strays_hardly_move_the_model),
        cmocka_unit_test(a_step_is_not_set_aside),
        cmocka_unit_test(strays_among_repeats_hardly_move_a_mean),
        cmocka_unit_test(poor_data_are_survived),
        cmocka_unit_test(a_unit_too_small_for_the_options_is_a_breakdown),
        cmocka_unit_test(a_corrected_reward_is_learned_from),
        cmocka_unit_test(the_norm_bound_doubles_until_it_holds_the_mean),
        cmocka_unit_test(many_arms_are_learned_from_sparsely),
        cmocka_unit_test(a_kernel_by_its_matrix_is_learned_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
