/* What must hold for S-GP-TS on every problem, checked on random ones. BANDIT_TEST_FULL=1 runs more. */
#include "bandit/engine.h"
#include "bandit/rng.h"
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

static void make_problem(random_problem *p, size_t i)
{
    static const bandit_kernel_type types[] = {BANDIT_KERNEL_MATERN, BANDIT_KERNEL_GAUSSIAN,
                                               BANDIT_KERNEL_MATERN, BANDIT_KERNEL_LINEAR};
    static const unsigned trouble[] = {0, PROBLEM_DUPLICATES, PROBLEM_GRID, PROBLEM_CONSTANT};
    random_problem_init(p, 40 + i, 60 + (i * 7) % 61, 1 + i % 3, types[i % 4], i % 3 ? 0.05 : 1.0,
                        trouble[(i / 2) % 4]);
    p->options.algorithm = BANDIT_S_GP_TS;
    p->options.posterior = i % 3 == 1 ? BANDIT_POSTERIOR_DTC : BANDIT_POSTERIOR_SVGP;
    p->options.features = i % 5 == 2 ? BANDIT_FEATURES_EIGEN : BANDIT_FEATURES_RFF;
    if (i % 10 == 2 || i % 8 == 7) /* eigenfunctions; a linear kernel */
        p->options.posterior = BANDIT_POSTERIOR_FEATURES;
    p->options.resample = (bandit_resample)(i % 3);
    p->options.inducing = 5 + i % 4;
    p->options.prior_features = 40;
    p->options.dpp_steps = 30;
}

typedef struct basis {
    size_t inducing;
    uint64_t drawn_at;
    uint32_t members[512];
    size_t n;
    size_t redrawn, kept;
} basis;

/* svgp: all pulled arms up to m, then at most m of them, the same until the rewards have doubled. */
static void look_at_inducing(void *context, const bandit_engine *engine)
{
    basis *b = context;
    bandit_checkpoint c;
    bandit_description d;
    bandit_engine_checkpoint(engine, &c);
    bandit_engine_describe(engine, &d);
    assert_true(c.n_dictionary <= b->inducing);
    for (size_t i = 0, s = 0; i < c.n_dictionary; i++) {
        while (s < c.n_sums && c.sums[s].arm < c.dictionary[i])
            s++;
        assert_true(s < c.n_sums && c.sums[s].arm == c.dictionary[i]);
    }
    if (c.n_sums <= b->inducing) {
        assert_true(c.n_dictionary == c.n_sums);
    } else if (b->drawn_at == 0 || d.observations >= 2 * b->drawn_at) {
        b->redrawn += b->drawn_at > 0;
        b->drawn_at = d.observations;
    } else {
        assert_true(c.n_dictionary == b->n);
        assert_memory_equal(c.dictionary, b->members, b->n * sizeof *b->members);
        b->kept++;
    }
    memcpy(b->members, c.dictionary, c.n_dictionary * sizeof *b->members);
    b->n = c.n_dictionary;
}

static void restored_engines_are_equal(void **state)
{
    size_t n = in_full() ? 120 : 24, redrawn = 0, kept = 0;
    (void)state;
    for (size_t i = 0; i < n; i++) {
        random_problem p;
        make_problem(&p, i);
        basis b = {.inducing = p.options.inducing};
        bool svgp = p.options.posterior == BANDIT_POSTERIOR_SVGP;
        async_study_check(&p, 60, svgp ? look_at_inducing : NULL, &b);
        redrawn += b.redrawn;
        kept += b.kept;
        random_problem_clear(&p);
    }
    assert_true(redrawn > n / 2 && kept > n);
}

/* With every pulled arm an inducing point the model is the exact Gaussian process. */
static void predictions_are_exact_while_all_arms_are_inducing(void **state)
{
    enum { PULLS = 5 };
    random_problem p;
    bandit_engine *engine;
    bandit_error err;
    bandit_result results[PULLS];
    double a[PULLS][PULLS + 2];
    (void)state;
    make_problem(&p, 0);
    p.options.inducing = PULLS;
    for (size_t i = 0; i < PULLS; i++) {
        uint32_t arm = (uint32_t)(11 * i);
        results[i] = (bandit_result){.arm = arm, .repeats = 1, .reward = random_problem_reward(&p, arm, i)};
    }
    must(bandit_engine_new(&engine, p.arms, &p.options, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, results, PULLS, NULL, 0, &bandit_executor_serial, &err), &err);
    for (uint32_t x = 0; x < p.n; x++) {
        bandit_prediction out;
        double mean = 0.0, variance = random_problem_kernel(&p, x, x);
        /* (K + lambda I)^{-1} (y, k(x)) by elimination */
        for (size_t i = 0; i < PULLS; i++) {
            for (size_t j = 0; j < PULLS; j++)
                a[i][j] = random_problem_kernel(&p, results[i].arm, results[j].arm) +
                          (i == j ? p.options.lambda : 0.0);
            a[i][PULLS] = results[i].reward;
            a[i][PULLS + 1] = random_problem_kernel(&p, results[i].arm, x);
        }
        for (size_t k = 0; k < PULLS; k++) {
            for (size_t i = 0; i < PULLS; i++) {
                double f = i == k ? 0.0 : a[i][k] / a[k][k];
                for (size_t j = k; j < PULLS + 2; j++)
                    a[i][j] -= f * a[k][j];
            }
        }
        for (size_t i = 0; i < PULLS; i++) {
            double k = random_problem_kernel(&p, results[i].arm, x);
            mean += k * a[i][PULLS] / a[i][i];
            variance -= k * a[i][PULLS + 1] / a[i][i];
        }
        must(bandit_engine_predict_arms(engine, &x, 1, &out, &err), &err);
        assert_true(fabs(out.mean - mean) < 1e-9 && fabs(out.variance - variance) < 1e-9);
        /* eq. 10 at t = 6 */
        double alpha =
            1.0 + p.options.norm_bound + p.options.noise_std * sqrt(2.0 * log(36.0) / p.options.lambda);
        assert_true(fabs(out.ucb - out.mean - alpha * sqrt(out.variance)) < 1e-9);

        double raw[3], scaled_mean = out.mean;
        memcpy(raw, p.rows + x * p.d, p.d * sizeof *raw);
        must(bandit_engine_predict_points(engine, raw, 1, &out, &err), &err);
        assert_true(fabs(out.mean - scaled_mean) < 1e-9);
    }
    bandit_engine_free(engine);
    random_problem_clear(&p);
}

/* A batch that fails to begin leaves the engine as it was. */
static void a_failed_batch_changes_nothing(void **state)
{
    random_problem p;
    bandit_engine *engine;
    bandit_error err;
    bandit_selection selection;
    bandit_pick first, again;
    bandit_prediction before, after;
    const bandit_select_limits one = {
        .max_picks = 1, .remaining = 1, .beyond_bound = true, .most_repeats = UINT64_MAX};
    const uint32_t arm = 3;
    (void)state;
    make_problem(&p, 0);
    const bandit_result good = {.arm = 5, .repeats = 2, .reward = 0.4}, bad = {.arm = 1, .repeats = 0};
    must(bandit_engine_new(&engine, p.arms, &p.options, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, &good, 1, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_predict_arms(engine, &arm, 1, &before, &err), &err);
    assert_int_equal(bandit_engine_begin_batch(engine, &bad, 1, NULL, 0, &bandit_executor_serial, &err),
                     BANDIT_INVALID_STATE);
    must(bandit_engine_predict_arms(engine, &arm, 1, &after, &err), &err);
    assert_memory_equal(&before, &after, sizeof before);
    must(bandit_engine_select(engine, &one, &bandit_executor_serial, &first, &selection, &err), &err);
    bandit_engine_free(engine);

    must(bandit_engine_new(&engine, p.arms, &p.options, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, &good, 1, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_select(engine, &one, &bandit_executor_serial, &again, &selection, &err), &err);
    assert_int_equal(first.arm, again.arm);
    bandit_engine_free(engine);
    random_problem_clear(&p);
}

/* A batch is one pick; more only beyond the bound, each of another sample; horizon and withheld arms stop. */
static void when_picks_stop(void **state)
{
    enum { MANY = 40 };
    random_problem p;
    bandit_engine *engine;
    bandit_error err;
    bandit_pick picks[MANY];
    bandit_selection selection;
    uint32_t all[512];
    size_t different = 0;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    (void)state;
    make_problem(&p, 0);
    limits.max_picks = MANY;
    must(bandit_engine_new(&engine, p.arms, &p.options, 0, &err), &err);
    must(bandit_engine_begin_batch(engine, NULL, 0, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    assert_true(selection.n_picks == 1 && selection.stop_rule == BANDIT_STOP_INITIAL);
    const bandit_result result = {.arm = picks[0].arm, .repeats = 1, .reward = 0.3};
    must(bandit_engine_begin_batch(engine, &result, 1, NULL, 0, &bandit_executor_serial, &err), &err);
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    assert_true(selection.n_picks == 1 && selection.stop_rule == BANDIT_STOP_SEQUENTIAL);
    assert_true(fabs(selection.ratio - 1.0 - picks[0].variance) < 1e-12);
    limits.beyond_bound = true;
    limits.remaining = MANY - 1;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    assert_true(selection.n_picks == MANY - 1 && selection.stop_rule == BANDIT_STOP_HORIZON);
    for (size_t i = 1; i + 1 < MANY; i++)
        different += picks[i].arm != picks[0].arm;
    assert_true(different > 5);
    for (uint32_t a = 0; a < p.n; a++)
        all[a] = a;
    limits.withheld = all;
    limits.n_withheld = p.n;
    must(bandit_engine_select(engine, &limits, &bandit_executor_serial, picks, &selection, &err), &err);
    assert_true(selection.n_picks == 0 && selection.stop_rule == BANDIT_STOP_EXHAUSTED);
    bandit_engine_free(engine);
    random_problem_clear(&p);
}

/* Regret of T picks as a fraction of uniform picks' on f = sum a_j k(c_j, .), noise uniform on [−1/2, 1/2].
 */
static double regret_ratio(bandit_posterior_kind posterior, bandit_features_kind features, size_t T)
{
    enum { SIDE = 20, CENTRES = 20 };
    static const double l = 0.2;
    const size_t n = SIDE * SIDE;
    static double rows[SIDE * SIDE * 2], f[SIDE * SIDE];
    bandit_arms *arms = NULL;
    bandit_engine *engine;
    bandit_error err;
    double best = -INFINITY, mean = 0.0, regret = 0.0;
    for (size_t i = 0; i < n; i++) {
        rows[2 * i] = (double)(i % SIDE) / (SIDE - 1);
        rows[2 * i + 1] = (double)(i / SIDE) / (SIDE - 1);
        f[i] = 0.0;
        for (uint64_t c = 0; c < CENTRES; c++) {
            double x = bandit_random_uniform(1, 0, BANDIT_PURPOSE_UNIFORM, 3 * c) - rows[2 * i];
            double y = bandit_random_uniform(1, 0, BANDIT_PURPOSE_UNIFORM, 3 * c + 1) - rows[2 * i + 1];
            double a = 2.0 * bandit_random_uniform(1, 0, BANDIT_PURPOSE_UNIFORM, 3 * c + 2) - 1.0;
            double r = sqrt(3.0 * (x * x + y * y)) / l;
            f[i] += a * (1.0 + r) * exp(-r);
        }
        best = fmax(best, f[i]);
        mean += f[i] / (double)n;
    }
    bandit_options options = BANDIT_OPTIONS_INIT;
    options.algorithm = BANDIT_S_GP_TS;
    options.kernel = (bandit_kernel){BANDIT_KERNEL_MATERN, 1.5, &l, 1, 0.0};
    options.posterior = posterior;
    options.features = features;
    options.lambda = 0.1;
    options.noise_std = 0.3;
    options.scale = 6.0; /* eq. 10's width is the theory's: wide */
    options.inducing = 200;
    options.prior_features = 200;
    options.dpp_steps = 100;
    options.seed = 4;
    must(bandit_arms_new(&arms, n, 2, &err), &err);
    must(bandit_arms_set_rows(arms, 0, n, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, &err), &err);
    must(bandit_engine_new(&engine, arms, &options, 0, &err), &err);
    bandit_result result;
    bandit_select_limits limits = BANDIT_SELECT_LIMITS_INIT;
    limits.max_picks = 1;
    for (size_t t = 0; t < T; t++) {
        bandit_pick pick;
        bandit_selection selection;
        must(bandit_engine_begin_batch(engine, &result, t > 0, NULL, 0, &bandit_executor_serial, &err), &err);
        must(bandit_engine_select(engine, &limits, &bandit_executor_serial, &pick, &selection, &err), &err);
        assert_int_equal(selection.n_picks, 1);
        double noise = bandit_random_uniform(2, 0, BANDIT_PURPOSE_UNIFORM, t) - 0.5;
        result = (bandit_result){.arm = pick.arm,
                                 .repeats = 1,
                                 .reward = f[pick.arm] + noise,
                                 .chosen = true,
                                 .variance = pick.variance};
        regret += best - f[pick.arm];
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    return regret / ((best - mean) * (double)T);
}

static void regret_is_a_fraction_of_uniforms(void **state)
{
    size_t T = in_full() ? 2000 : 400;
    double limit = in_full() ? 0.3 : 0.5;
    (void)state;
    double svgp = regret_ratio(BANDIT_POSTERIOR_SVGP, BANDIT_FEATURES_RFF, T);
    double eigen = regret_ratio(BANDIT_POSTERIOR_SVGP, BANDIT_FEATURES_EIGEN, T);
    double dtc = regret_ratio(BANDIT_POSTERIOR_DTC, BANDIT_FEATURES_RFF, T);
    double features = regret_ratio(BANDIT_POSTERIOR_FEATURES, BANDIT_FEATURES_EIGEN, T);
    print_message("[          ] T = %zu, fractions of uniform's regret: svgp %.3f, eigen %.3f, dtc %.3f, "
                  "features %.3f\n",
                  T, svgp, eigen, dtc, features);
    assert_true(svgp < limit && eigen < limit && dtc < limit && features < limit);
}

static void refusals_name_the_field(void **state)
{
    const double l[] = {1, 1, 1, 1};
    const bandit_kernel stationary = {BANDIT_KERNEL_MATERN, 2.5, l, 1, 0.0},
                        precomputed = {.type = BANDIT_KERNEL_PRECOMPUTED};
    bandit_options good = BANDIT_OPTIONS_INIT;
    bandit_error err;
    (void)state;
    good.algorithm = BANDIT_S_GP_TS;
    good.kernel = stationary;
    assert_int_equal(bandit_options_check(&good, 4, &err), BANDIT_OK);
    bandit_options o = good;
    o.kernel = precomputed;
    assert_int_equal(bandit_options_check(&o, 0, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "kernel/type");
    o = good;
    o.features = BANDIT_FEATURES_EIGEN;
    assert_int_equal(bandit_options_check(&o, 3, &err), BANDIT_OK);
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "features");
    o = good;
    o.posterior = BANDIT_POSTERIOR_FEATURES;
    assert_int_equal(bandit_options_check(&o, 3, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "posterior");
    o.features = BANDIT_FEATURES_EIGEN;
    assert_int_equal(bandit_options_check(&o, 3, &err), BANDIT_OK);
    o.prior_features = o.inducing - 1;
    assert_int_equal(bandit_options_check(&o, 3, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "prior_features");
    o = good;
    o.inducing = 0;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "inducing");
    o.horizon = 1000;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_OK);
    o = good;
    o.prior_features = 1000000;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "prior_features");
    o = good;
    o.init = BANDIT_INIT_UNCERTAINTY;
    assert_int_equal(bandit_options_check(&o, 4, &err), BANDIT_INVALID_OPTION);
    assert_string_equal(err.field, "init");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restored_engines_are_equal),
        cmocka_unit_test(predictions_are_exact_while_all_arms_are_inducing),
        cmocka_unit_test(a_failed_batch_changes_nothing),
        cmocka_unit_test(when_picks_stop),
        cmocka_unit_test(regret_is_a_fraction_of_uniforms),
        cmocka_unit_test(refusals_name_the_field),
    };
    return cmocka_run_group_tests_name("s_gp_ts", tests, NULL, NULL);
}
