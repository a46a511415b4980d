/* Engines that learn: restarts change nothing, units change nothing but units, strays change little, and poor
 * data are survived; for every algorithm with a model. */
#include "bandit/engine.h"
#include "bandit/space.h"
#include "tests/support/async_study.h"
#include "tests/support/must.h"
#include "tests/support/random_problem.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ARMS = 256 };

static const bandit_algorithm algorithms[] = {
    BANDIT_BBKB,     BANDIT_BKB,     BANDIT_GP_UCB,    BANDIT_IGP_UCB, BANDIT_GP_BUCB, BANDIT_GP_TS,
    BANDIT_ASYNC_TS, BANDIT_S_GP_TS, BANDIT_PI_GP_UCB, BANDIT_GP_EI,   BANDIT_GP_PI,   BANDIT_EPSILON_GREEDY,
};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

static void learn_everything(bandit_options *o, bandit_algorithm algorithm)
{
    o->algorithm = algorithm;
    o->learn_lengthscale = o->kernel.type == BANDIT_KERNEL_GAUSSIAN || o->kernel.type == BANDIT_KERNEL_MATERN;
    o->learn_noise = o->learn_norm_bound = o->standardize_rewards = o->lambda_from_noise = true;
    o->inducing = 20;
    o->prior_features = 50;
    o->init = BANDIT_INIT_UNIFORM;
}

static void random_learner(random_problem *p, size_t a, uint64_t seed, size_t n)
{
    random_problem_init(p, seed, n, 2, BANDIT_KERNEL_MATERN, 0.01, 0);
    p->options.kernel.nu = 2.5;
    learn_everything(&p->options, algorithms[a]);
}

/* ---- restarts ------------------------------------------------------------------------------------------ */

static void restarts_change_nothing(void **unused)
{
    (void)unused;
    for (size_t a = 0; a < ALGORITHMS; a++) {
        random_problem p;
        random_learner(&p, a, 100 + a, 40);
        async_study_check(&p, 40, NULL, NULL);
        random_problem_clear(&p);
    }
}

static bandit_pick next_pick(bandit_engine *engine)
{
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    bandit_selection selection;
    bandit_pick pick;
    bandit_error err;
    limits.max_picks = 1;
    limits.beyond_bound = true;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err), &err);
    assert_int_equal(selection.n_picks, 1);
    return pick;
}

static bandit_result result_of(const bandit_pick *pick, double reward)
{
    return (bandit_result){
        .arm = pick->arm, .repeats = 1, .reward = reward, .chosen = true, .variance = pick->variance};
}

static void begin(bandit_engine *engine, const bandit_result *results, size_t n)
{
    bandit_error err;
    must(bandit_engine_begin_batch(engine, results, n, NULL, 0, &bandit_executor_serial, &err), &err);
}

/* One engine lives through all batches, another is restored before each: through fits, strays and repeats. */
static void an_engine_restored_before_every_batch_is_its_equal(void **unused)
{
    (void)unused;
    for (size_t a = 0; a < ALGORITHMS; a++) {
        random_problem p;
        random_learner(&p, a, 7 + a, 60);
        bandit_engine *lives, *restored;
        bandit_error err;
        must(bandit_engine_new(&lives, p.arms, &p.options, 0, &err), &err);
        must(bandit_engine_new(&restored, p.arms, &p.options, 0, &err), &err);
        bandit_result result;
        for (size_t t = 0; t < repeats(60, 24); t++) {
            begin(lives, &result, t > 0);
            begin(restored, &result, t > 0);
            bandit_checkpoint checkpoint;
            bandit_engine *again;
            bandit_engine_checkpoint(restored, &checkpoint);
            must(bandit_engine_restore(&again, p.arms, &p.options, 0, &checkpoint, NULL, 0,
                                       &bandit_executor_serial, &err),
                 &err);
            bandit_engine_free(restored);
            restored = again;
            bandit_pick x = next_pick(lives), y = next_pick(restored);
            assert_true(x.arm == y.arm && x.variance == y.variance);
            double reward = random_problem_reward(&p, x.arm, t);
            result = result_of(&x, t % 23 == 11 ? 1000.0 * reward : reward);
        }
        bandit_engine_free(lives);
        bandit_engine_free(restored);
        random_problem_clear(&p);
    }
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
    bandit_arms *arms;
    bandit_error err;
    must(bandit_arms_new_space(&arms, parameters, PARAMETERS, &err), &err);
    return arms;
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
    for (size_t a = 0; a < ALGORITHMS; a++) {
        if (algorithms[a] == BANDIT_PI_GP_UCB)
            continue; /* for candidates */
        bandit_arms *of_lives = new_space(), *of_restored = new_space();
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_engine *lives, *restored;
        bandit_error err;
        learn_everything(&o, algorithms[a]);
        o.confidence = BANDIT_CONFIDENCE_CALIBRATED;
        o.kernel.n_lengthscales = 0;
        o.seed = 3;
        must(bandit_engine_new(&lives, of_lives, &o, 0, &err), &err);
        must(bandit_engine_new(&restored, of_restored, &o, 0, &err), &err);
        bandit_result result;
        double best = -INFINITY;
        for (size_t t = 0; t < steps; t++) {
            begin(lives, &result, t > 0);
            begin(restored, &result, t > 0);
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
            bandit_pick x = next_pick(lives), y = next_pick(restored);
            assert_true(x.arm == y.arm && x.variance == y.variance);
            double reward = at(of_lives, x.arm);
            assert_true(reward == at(of_restored, y.arm));
            best = fmax(best, reward);
            result = result_of(&x, reward);
        }
        bandit_description d;
        bandit_engine_describe(lives, &d);
        assert_true(d.n_lengthscales == 6 && d.lengthscales[2] == d.lengthscales[5]);
        if (steps == 40 && (algorithms[a] == BANDIT_BBKB || algorithms[a] == BANDIT_GP_EI))
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
    for (size_t a = 0; a < ALGORITHMS; a += repeats(1, 3)) {
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
                begin(one, &results[0], t > 0);
                begin(other, &results[1], t > 0);
                if (said) { /* a user's own: until there are results, engines take the unit for 1 */
                    results[0] = (bandit_result){.arm = (uint32_t)(7 * t % 50), .repeats = 1};
                    results[1] = results[0];
                } else {
                    bandit_pick x = next_pick(one), y = next_pick(other);
                    assert_true(x.arm == y.arm && x.variance == y.variance);
                    results[0] = result_of(&x, 0.0);
                    results[1] = result_of(&y, 0.0);
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
    learn_everything(&o, algorithm);
    o.kernel.lengthscales = NULL;
    o.kernel.n_lengthscales = 0;
    for (uint32_t arm = 0; arm < MOST_ARMS; arm += (uint32_t)k) {
        double reward = s->truth[arm] + deviation * noise(arm);
        results[n] =
            (bandit_result){.arm = arm, .repeats = 1, .reward = n % 50 == 7 ? stray * reward : reward};
        n++;
    }
    must(bandit_engine_new(&engine, s->arms, &o, 0, &err), &err);
    begin(engine, results, n / 2);
    begin(engine, results + n / 2, n - n / 2);
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
    for (size_t a = 0; a < ALGORITHMS; a += repeats(1, 3)) {
        bandit_engine *engine = told(&s, algorithms[a], 2, 3.0, 1.0);
        bandit_description d;
        bandit_engine_describe(engine, &d);
        assert_true(d.has_model && d.observations == MOST_ARMS / 2 && d.set_aside == 0);
        assert_true(d.noise_std > 1.5 && d.noise_std < 6.0);
        assert_true(d.signal_std > 10.0 && d.signal_std < 150.0);
        assert_true(d.shift > 400.0 && d.shift < 600.0);
        assert_int_equal(d.n_lengthscales, 2);
        assert_true(d.lengthscales[1] > 2.0 * d.lengthscales[0]); /* the second feature does nothing */
        if (algorithms[a] != BANDIT_PI_GP_UCB)                    /* its cells know each their own rewards */
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
    learn_everything(&o, BANDIT_BBKB);
    o.kernel.n_lengthscales = 0;
    must(bandit_engine_new(&engine, s.arms, &o, 0, &err), &err);
    for (uint64_t t = 0; t < repeats(1000, 200); t++) {
        uint32_t arm = (uint32_t)(t * 37 % 32) * 8;
        double reward = s.truth[arm] + 3.0 * noise(t);
        bandit_result result = {.arm = arm, .repeats = 1, .reward = t % 50 == 33 ? 1000.0 * reward : reward};
        begin(engine, &result, 1);
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
    for (size_t a = 0; a < ALGORITHMS; a += repeats(1, 2)) {
        for (int kind = 0; kind < 4; kind++) {
            bandit_options o = BANDIT_OPTIONS_INIT;
            bandit_engine *engine;
            bandit_error err;
            learn_everything(&o, algorithms[a]);
            o.kernel.n_lengthscales = 0;
            must(bandit_engine_new(&engine, s.arms, &o, 0, &err), &err);
            begin(engine, NULL, 0);
            for (size_t t = 0; t < 14; t++) {
                bandit_pick pick = next_pick(engine);
                const double rewards[] = {0.0, t % 3 ? 1e140 : -1e140, t % 2 ? -1e-300 : 1e-300,
                                          t == 5 ? -1e18 : 7.0};
                bandit_result result = result_of(&pick, rewards[kind]);
                begin(engine, &result, 1);
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
        begin(engine, NULL, 0);
        bandit_status status = BANDIT_OK;
        for (size_t t = 0; t < 14 && status == BANDIT_OK; t++) {
            bandit_pick pick = next_pick(engine);
            bandit_result result = result_of(&pick, t % 2 ? -1e-310 : 1e-310);
            status = bandit_engine_begin_batch(engine, &result, 1, NULL, 0, &bandit_executor_serial, &err);
        }
        assert_int_equal(status, BANDIT_NUMERICAL);
        bandit_engine_free(engine);
    }
    bandit_arms_free(s.arms);
}

/* ---- corrections, norms, damage -------------------------------------------------------------------------
 */

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
        must(bandit_engine_amend(engine, &amendment, 1, &sum, 1, &err), &err);
    }
    begin(engine, NULL, 0);
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
    for (size_t a = 0; a < ALGORITHMS; a++) {
        if (algorithms[a] == BANDIT_GP_EI || algorithms[a] == BANDIT_GP_PI ||
            algorithms[a] == BANDIT_EPSILON_GREEDY)
            continue; /* no bound */
        for (int learns = 0; learns < 2; learns++) {
            const double lengthscale = 1.0;
            bandit_options o = BANDIT_OPTIONS_INIT;
            bandit_engine *engine;
            bandit_error err;
            bandit_result results[MOST_ARMS];
            o.algorithm = algorithms[a];
            o.kernel.lengthscales = &lengthscale;
            o.kernel.n_lengthscales = 1;
            o.learn_norm_bound = learns;
            for (uint32_t arm = 0; arm < MOST_ARMS; arm++)
                results[arm] =
                    (bandit_result){.arm = arm, .repeats = 1, .reward = 1e6 * (s.truth[arm] - 500.0)};
            must(bandit_engine_new(&engine, s.arms, &o, 0, &err), &err);
            begin(engine, results, MOST_ARMS);
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
    learn_everything(&o, BANDIT_BBKB);
    o.kernel.n_lengthscales = 0;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    begin(engine, results, MANY);
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
        learn_everything(&o, BANDIT_IGP_UCB);
        must(bandit_engine_new(&engines[k], arms[k], &o, 0, &err), &err);
        begin(engines[k], results, FEW);
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

static void damaged_states_are_refused(void **unused)
{
    (void)unused;
    surface s;
    surface_init(&s);
    bandit_engine *engine = told(&s, BANDIT_BBKB, 2, 1.0, 1000.0), *other = NULL;
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_checkpoint checkpoint;
    bandit_error err;
    learn_everything(&o, BANDIT_BBKB);
    o.kernel.n_lengthscales = 0;
    bandit_engine_checkpoint(engine, &checkpoint);
    unsigned char *state = malloc(checkpoint.n_state);
    const unsigned char *intact = checkpoint.state;
    checkpoint.state = state;
    size_t n = checkpoint.n_state, refused = 0;
    for (size_t size = 0; size < n; size += 7) { /* cut short */
        memcpy(state, intact, n);
        checkpoint.n_state = size;
        assert_int_equal(
            bandit_engine_restore(&other, s.arms, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err),
            BANDIT_INVALID_STATE);
        assert_null(other);
    }
    checkpoint.n_state = n;
    for (size_t at = 0; at + 8 <= n; at += 8) { /* a word of ones: NaN, and a count beyond all sizes */
        memcpy(state, intact, n);
        memset(state + at, 0xff, 8);
        bandit_status status =
            bandit_engine_restore(&other, s.arms, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err);
        refused += status != BANDIT_OK;
        bandit_engine_free(other);
    }
    assert_true(refused > n / 8 / 2);
    memcpy(state, intact, n); /* of candidates with another number of features */
    bandit_arms *arms;
    must(bandit_arms_new(&arms, MOST_ARMS, 3, &err), &err);
    for (size_t i = 0; i < MOST_ARMS; i++) {
        const double wider[] = {(double)i, (double)(i % 17), (double)(i % 5)};
        must(bandit_arms_set_rows(arms, i, 1, wider, &err), &err);
    }
    must(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, MOST_ARMS, &err), &err);
    assert_int_equal(
        bandit_engine_restore(&other, arms, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err),
        BANDIT_INVALID_STATE);
    bandit_arms_free(arms);
    free(state);
    bandit_engine_free(engine);
    bandit_arms_free(s.arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restarts_change_nothing),
        cmocka_unit_test(an_engine_restored_before_every_batch_is_its_equal),
        cmocka_unit_test(spaces_are_learned_on),
        cmocka_unit_test(units_of_the_reward_do_not_matter),
        cmocka_unit_test(units_of_what_is_said_are_those_of_the_reward),
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
        cmocka_unit_test(damaged_states_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
