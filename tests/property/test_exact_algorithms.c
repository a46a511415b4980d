/* The exact algorithms and the baselines through the public interface: they find the optimum of five
 * functions far sooner than uniform picks do, and a restart at any moment changes nothing. */
#include "bandit/engine.h"
#include "bandit/rng.h"
#include "tests/support/functions.h"
#include "tests/support/repeats.h"

#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 144, FUNCTIONS = 5, SEEDS = 4, DIMENSION = 3, NOISE_SEED = 77 };

static const double lengthscale = 0.3;

static const bandit_algorithm algorithms[] = {
    BANDIT_GP_UCB, BANDIT_IGP_UCB, BANDIT_GP_BUCB,        BANDIT_GP_TS,   BANDIT_ASYNC_TS,
    BANDIT_GP_EI,  BANDIT_GP_PI,   BANDIT_EPSILON_GREEDY, BANDIT_UNIFORM, BANDIT_REGULARIZED_EVOLUTION,
};
enum { N_ALGORITHMS = sizeof algorithms / sizeof *algorithms };

/* ---- problems ------------------------------------------------------------------------------------------ */

static double uniform(uint64_t purpose, uint64_t index)
{
    return bandit_random_uniform(NOISE_SEED, purpose, BANDIT_PURPOSE_UNIFORM, index);
}

static double function_at(size_t function, const double *x)
{
    double u = 4.0 * x[0] - 2.0, v = 4.0 * x[1] - 2.0;
    switch (function) {
    case 0:
        return -function_branin((double[]){15.0 * x[0] - 5.0, 15.0 * x[1]});
    case 1:
        return function_hartmann3(x);
    case 2: /* Rosenbrock, its logarithm: a curved ridge */
        return -log(1.0 + 100.0 * (v - u * u) * (v - u * u) + (1.0 - u) * (1.0 - u));
    case 3:
        return sin(7.0 * x[0]) * cos(5.0 * x[1]) + 0.5 * x[2];
    default: /* a narrow peak on a slope */
        return 0.4 * x[0] + exp(-12.0 * ((x[0] - 0.3) * (x[0] - 0.3) + (x[1] - 0.7) * (x[1] - 0.7)));
    }
}

typedef struct problem {
    bandit_arms *arms;
    bool precomputed;
    double value[ARMS]; /* scaled to [0, 1] */
    double mean;        /* of value: a uniform pick's expectation */
    double deviation;   /* and standard deviation */
} problem;

static void fill_points(double x[ARMS][DIMENSION])
{
    for (size_t a = 0; a < ARMS; a++)
        for (size_t j = 0; j < DIMENSION; j++)
            x[a][j] = uniform(1, a * DIMENSION + j);
}

static double matern52(const double *x, const double *y)
{
    double s = 0.0;
    for (size_t j = 0; j < DIMENSION; j++)
        s += 5.0 * (x[j] - y[j]) * (x[j] - y[j]) / (lengthscale * lengthscale);
    return (1.0 + sqrt(s) + s / 3.0) * exp(-sqrt(s));
}

static void make_problem(problem *p, size_t function, bool precomputed)
{
    double x[ARMS][DIMENSION];
    fill_points(x);
    *p = (problem){.precomputed = precomputed};
    if (precomputed) {
        static double k[ARMS][ARMS];
        for (size_t a = 0; a < ARMS; a++)
            for (size_t b = 0; b < ARMS; b++)
                k[a][b] = matern52(x[a], x[b]);
        assert_int_equal(bandit_arms_new_precomputed(&p->arms, ARMS, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(p->arms, 0, ARMS, &k[0][0], NULL), BANDIT_OK);
    } else {
        assert_int_equal(bandit_arms_new(&p->arms, ARMS, DIMENSION, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(p->arms, 0, ARMS, &x[0][0], NULL), BANDIT_OK);
    }
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, ARMS, NULL), BANDIT_OK);

    double low = INFINITY, high = -INFINITY;
    for (size_t a = 0; a < ARMS; a++) {
        p->value[a] = function_at(function, x[a]);
        low = fmin(low, p->value[a]);
        high = fmax(high, p->value[a]);
    }
    for (size_t a = 0; a < ARMS; a++) {
        p->value[a] = (p->value[a] - low) / (high - low);
        p->mean += p->value[a] / ARMS;
    }
    for (size_t a = 0; a < ARMS; a++)
        p->deviation += (p->value[a] - p->mean) * (p->value[a] - p->mean) / ARMS;
    p->deviation = sqrt(p->deviation);
}

static bandit_options options_for(bandit_algorithm algorithm, const problem *p, uint64_t seed)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    o.algorithm = algorithm;
    o.kernel.type = p->precomputed ? BANDIT_KERNEL_PRECOMPUTED : BANDIT_KERNEL_MATERN;
    o.kernel.lengthscales = &lengthscale;
    o.kernel.n_lengthscales = p->precomputed ? 0 : 1;
    o.lambda = 0.01;
    o.noise_std = 0.05;
    o.delta = 0.1;
    o.seed = seed;
    o.max_batch = 50;
    o.population = 30;
    o.sample = 8;
    if (algorithm == BANDIT_GP_UCB) { /* with the exact gain its width is that of theory: some hundreds */
        o.gamma = BANDIT_GAMMA_FIXED;
        o.gamma_value = 1e-4;
    }
    return o;
}

static bandit_engine *new_engine(const problem *p, const bandit_options *o)
{
    bandit_engine *engine;
    bandit_error err = {0};
    if (bandit_engine_new(&engine, p->arms, o, 0, &err) != BANDIT_OK)
        fail_msg("%s: %s", bandit_algorithm_name(o->algorithm), err.message);
    return engine;
}

static double reward_of(const problem *p, uint32_t arm, uint64_t trial)
{
    return p->value[arm] + 0.05 * bandit_random_normal(NOISE_SEED, 2, BANDIT_PURPOSE_UNIFORM, trial);
}

/* ---- better than uniform ------------------------------------------------------------------------------- */

enum { STEPS = 400, MAX_PICKS = 64 };

/* Batch after batch, all rewards of one before the next; returns the regret of STEPS picks, also written to
 * `picked`. */
static double run(const problem *p, const bandit_options *o, uint32_t picked[STEPS])
{
    bandit_engine *engine = new_engine(p, o);
    bandit_result results[MAX_PICKS];
    size_t n_results = 0, n = 0;
    double regret = 0.0;
    while (n < STEPS) {
        bandit_pick picks[MAX_PICKS];
        bandit_selection selection;
        bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
        limits.max_picks = MAX_PICKS;
        limits.remaining = STEPS - n;
        assert_int_equal(
            bandit_engine_begin_batch(engine, results, n_results, NULL, 0, &bandit_executor_serial, NULL),
            BANDIT_OK);
        assert_int_equal(
            bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, NULL),
            BANDIT_OK);
        assert_true(selection.n_picks > 0);
        assert_true(selection.stop_rule != BANDIT_STOP_NONE);
        n_results = selection.n_picks;
        for (size_t i = 0; i < n_results; i++, n++) {
            picked[n] = picks[i].arm;
            regret += 1.0 - p->value[picks[i].arm];
            results[i] = (bandit_result){.arm = picks[i].arm,
                                         .repeats = 1,
                                         .reward = reward_of(p, picks[i].arm, o->seed << 32 | n),
                                         .chosen = true,
                                         .variance = picks[i].variance};
        }
    }
    bandit_engine_free(engine);
    return regret;
}

/* The mean regret of SEEDS runs against a uniform pick's: its expectation and its standard error are known,
 * and eight standard errors are asked for on every function, and half the regret over all five. */
static void check_beats_uniform(bandit_algorithm algorithm, bool precomputed)
{
    const size_t seeds = repeats(SEEDS, 2);
    double all = 0.0, all_uniform = 0.0;
    for (size_t f = 0; f < FUNCTIONS; f += repeats(1, 2)) {
        problem p;
        uint32_t picked[STEPS], again[STEPS];
        make_problem(&p, f, precomputed);
        double regret = 0.0, expected = STEPS * (1.0 - p.mean);
        double error = sqrt((double)STEPS / (double)seeds) * p.deviation;
        double margin = 8.0 * sqrt((double)STEPS / SEEDS) * p.deviation;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            bandit_options o = options_for(algorithm, &p, seed);
            regret += run(&p, &o, picked) / (double)seeds;
            run(&p, &o, again);
            assert_memory_equal(picked, again, sizeof picked);
        }
        if (algorithm == BANDIT_UNIFORM) {
            assert_true(fabs(regret - expected) < 5.0 * error);
        } else if (!(regret < expected - margin)) {
            fail_msg("%s on function %zu: regret %.1f, uniform %.1f +- %.1f",
                     bandit_algorithm_name(algorithm), f, regret, expected, error);
        }
        all += regret;
        all_uniform += expected;
        bandit_arms_free(p.arms);
    }
    print_message("%s%s: regret %.3f of uniform's\n", bandit_algorithm_name(algorithm),
                  precomputed ? ", precomputed kernel" : "", all / all_uniform);
    assert_true(algorithm == BANDIT_UNIFORM || seeds < SEEDS || all < 0.5 * all_uniform);
}

static void each_algorithm_beats_uniform_and_repeats_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ALGORITHMS; i++)
        check_beats_uniform(algorithms[i], false);
}

static void each_algorithm_takes_a_precomputed_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ALGORITHMS; i++)
        check_beats_uniform(algorithms[i], true);
}

/* ---- restarts ------------------------------------------------------------------------------------------ */

enum { ROUNDS = 150, WORKERS = 4 };

typedef struct trace {
    bandit_pick picks[ROUNDS + WORKERS];
    double ratios[ROUNDS + WORKERS];
    bandit_prediction predictions[ROUNDS];
    double betas[ROUNDS];
} trace;

/* The engine as another process would have it: from the checkpoint, the pending picks and the batch's picks.
 */
static bandit_engine *restart(bandit_engine *engine, const problem *p, const bandit_options *o,
                              const bandit_pick *pending, size_t n_pending, const bandit_pick *made,
                              size_t n_made)
{
    bandit_checkpoint seen, copy;
    bandit_engine_checkpoint(engine, &seen);
    copy = seen;
    bandit_arm_sum *sums = malloc((seen.n_sums + 1) * sizeof *sums);
    unsigned char *bytes = malloc(seen.n_state + 1);
    assert_true(sums && bytes);
    if (seen.n_sums)
        memcpy(sums, seen.sums, seen.n_sums * sizeof *sums);
    memcpy(bytes, seen.state, seen.n_state);
    copy.sums = sums;
    copy.state = bytes;
    bandit_engine_free(engine);

    bandit_error err = {0};
    if (bandit_engine_restore(&engine, p->arms, o, 0, &copy, pending, n_pending, &bandit_executor_serial,
                              &err) != BANDIT_OK)
        fail_msg("%s", err.message);
    free(sums);
    free(bytes);
    assert_int_equal(bandit_engine_replay_picks(engine, made, n_made, &bandit_executor_serial, NULL),
                     BANDIT_OK);
    return engine;
}

/* WORKERS picks are out at any time; each round the oldest one's reward comes in (an import of three pulls
 * besides, now and then), and one or two picks are made. With restarts_from < ROUNDS, the engine is restored
 * in every round from there on: after begin_batch and again between two picks. */
static void run_asynchronously(const problem *p, const bandit_options *o, size_t restarts_from, trace *t)
{
    bandit_engine *engine = new_engine(p, o);
    size_t n_picks = 0, n_told = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        bandit_result results[2];
        size_t n_results = 0;
        if (round > 0) {
            const bandit_pick *told = &t->picks[n_told++];
            results[n_results++] = (bandit_result){.arm = told->arm,
                                                   .repeats = 1,
                                                   .reward = reward_of(p, told->arm, n_told),
                                                   .chosen = true,
                                                   .variance = told->variance};
        }
        if (round % 10 == 9)
            results[n_results++] =
                (bandit_result){.arm = (uint32_t)(round * 31 % ARMS), .repeats = 3, .reward = 0.25};
        const bandit_pick *pending = t->picks + n_told, *made;
        size_t n_pending = n_picks - n_told;
        assert_int_equal(bandit_engine_begin_batch(engine, results, n_results, pending, n_pending,
                                                   &bandit_executor_serial, NULL),
                         BANDIT_OK);
        made = t->picks + n_picks;
        size_t wanted = round == 0 ? WORKERS : 1;
        for (size_t i = 0; i < wanted; i++, n_picks++) {
            bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
            bandit_selection selection;
            if (round >= restarts_from)
                engine = restart(engine, p, o, pending, n_pending, made, i);
            limits.max_picks = 1;
            limits.beyond_bound = true;
            assert_int_equal(bandit_engine_select(engine, &limits, &bandit_executor_serial,
                                                  &t->picks[n_picks], &selection, NULL),
                             BANDIT_OK);
            assert_int_equal(selection.n_picks, 1);
            assert_true(selection.ratio >= 1.0);
            t->ratios[n_picks] = selection.ratio;
        }
        if (round >= restarts_from)
            engine = restart(engine, p, o, pending, n_pending, made, wanted);
        bandit_description description;
        bandit_engine_describe(engine, &description);
        assert_int_equal(description.batch, round);
        t->betas[round] = description.beta;
        if (description.has_model) {
            uint32_t arm = (uint32_t)(round * 17 % ARMS);
            assert_int_equal(bandit_engine_predict_arms(engine, &arm, 1, &t->predictions[round], NULL),
                             BANDIT_OK);
            assert_true(t->predictions[round].variance >= 0.0);
        }
    }
    bandit_engine_free(engine);
}

static void a_restart_at_any_moment_changes_no_bit(void **state)
{
    (void)state;
    static trace whole, cut;
    static const size_t restarts_from[] = {0, 1, 63, 70, ROUNDS - 1};
    problem p;
    make_problem(&p, 1, false);
    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        for (int init = 0; init < 2; init++) {
            bandit_options o = options_for(algorithms[i], &p, 5);
            o.init = init ? BANDIT_INIT_UNCERTAINTY : BANDIT_INIT_UNIFORM;
            o.parallelism = 0.05;
            if (init && (algorithms[i] == BANDIT_UNIFORM || algorithms[i] == BANDIT_REGULARIZED_EVOLUTION))
                continue; /* refused: they have no model */
            memset(&whole, 0, sizeof whole);
            run_asynchronously(&p, &o, ROUNDS, &whole);
            for (size_t c = 0; c < sizeof restarts_from / sizeof *restarts_from; c += repeats(1, 2)) {
                memset(&cut, 0, sizeof cut);
                run_asynchronously(&p, &o, restarts_from[c], &cut);
                assert_memory_equal(&whole, &cut, sizeof whole);
            }
        }
    }
    bandit_arms_free(p.arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_algorithm_beats_uniform_and_repeats_itself),
        cmocka_unit_test(each_algorithm_takes_a_precomputed_kernel),
        cmocka_unit_test(a_restart_at_any_moment_changes_no_bit),
    };
    openblas_set_num_threads(1); /* bits depend on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
