/* Engines that learn from earlier studies: frozen functions, their weights, and that a restart changes nothing. */
#include "core/learning/source_weights.h"
#include "core/posterior/prior_mean.h"
#include "tests/support/async_study.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"
#include "tests/support/random_problem.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RESULTS = 24, DIMENSION = 2 };

/* A smooth function of the unit square; other ones for other shifts. */
static double height(const double *x, double shift)
{
    return sin(5.0 * (x[0] + shift)) + cos(4.0 * x[1] - shift) * (x[0] + shift);
}

static void point_of(size_t i, double *x)
{
    x[0] = fmod(0.5 + 0.618034 * (double)i, 1.0);
    x[1] = fmod(0.5 + 0.414214 * (double)i, 1.0);
}

static bandit_options options_of(void)
{
    bandit_options o = space_study_options(BANDIT_LOG_EI, 3, 0.1);
    learner_options(&o, BANDIT_LOG_EI);
    o.warp_rewards = true;
    o.kernel.n_lengthscales = 0;
    return o;
}

/* A study with RESULTS results of factor * height, on an open space. */
static bandit_engine *told_engine(bandit_arms *arms, const bandit_options *o, size_t n, double factor,
                                  double shift)
{
    bandit_engine *engine;
    bandit_error err;
    bandit_result results[RESULTS];
    for (size_t i = 0; i < n; i++) {
        double x[DIMENSION];
        point_of(i, x);
        must(bandit_arms_append(arms, x, 1, &err), &err);
        results[i] = (bandit_result){.arm = (uint32_t)i, .repeats = 1, .reward = factor * height(x, shift)};
    }
    must(bandit_engine_new(&engine, arms, o, 0, &err), &err);
    learner_begin(engine, results, n);
    return engine;
}

/* What is frozen of such a study, with its points. */
typedef struct frozen_study {
    bandit_frozen frozen;
    double *points;
    bandit_source source;
} frozen_study;

/* Freezes what an engine that was told RESULTS results knows. */
static void freeze_engine(frozen_study *f, const bandit_engine *engine, const bandit_arms *arms)
{
    bandit_error err;
    must(bandit_engine_freeze(engine, &f->frozen, &err), &err);
    f->points = malloc(f->frozen.n * DIMENSION * sizeof *f->points);
    for (size_t i = 0; i < f->frozen.n; i++)
        bandit_arms_coded(arms, f->frozen.arms[i], f->points + i * DIMENSION);
    f->source = (bandit_source){.n = f->frozen.n,
                                .points = f->points,
                                .weights = f->frozen.weights,
                                .shift = f->frozen.shift,
                                .lengthscales = f->frozen.lengthscales,
                                .n_lengthscales = f->frozen.n_lengthscales,
                                .short_share = f->frozen.short_share};
}

static void freeze(frozen_study *f, double factor, double shift)
{
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_options o = options_of();
    bandit_engine *engine = told_engine(arms, &o, RESULTS, factor, shift);
    freeze_engine(f, engine, arms);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static void unfreeze(frozen_study *f)
{
    bandit_frozen_clear(&f->frozen);
    free(f->points);
}

/* A bowl with ripples, which a kernel of two ranges explains. */
static bandit_engine *rippled_engine(bandit_arms *arms, const bandit_options *o)
{
    bandit_engine *engine;
    bandit_error err;
    bandit_result results[RESULTS];
    for (size_t i = 0; i < RESULTS; i++) {
        double x[DIMENSION], y = 0.0;
        point_of(i, x);
        must(bandit_arms_append(arms, x, 1, &err), &err);
        for (size_t j = 0; j < DIMENSION; j++)
            y -= 25.0 * (x[j] - 0.4) * (x[j] - 0.4) + 1.0 - cos(25.0 * x[j]);
        results[i] = (bandit_result){.arm = (uint32_t)i, .repeats = 1, .reward = y};
    }
    must(bandit_engine_new(&engine, arms, o, 0, &err), &err);
    learner_begin(engine, results, RESULTS);
    return engine;
}

/* ---- frozen functions ---------------------------------------------------------------------------------- */

/* Whether the source's values at the points of the results have the order of the engine's predictions. */
static bool has_order_of(const bandit_sources *sources, bandit_engine *engine)
{
    bandit_prediction low, high;
    bandit_error err;
    bool same = true;
    for (uint32_t i = 1; i < RESULTS; i++) {
        uint32_t a = i - 1;
        must(bandit_engine_predict_arms(engine, &a, 1, &low, &err), &err);
        must(bandit_engine_predict_arms(engine, &i, 1, &high, &err), &err);
        double step = bandit_source_value(sources, 0, i) - bandit_source_value(sources, 0, a);
        same &= !(fabs(high.mean - low.mean) > 1e-6) || step * (high.mean - low.mean) > 0.0;
    }
    return same;
}

static void a_frozen_function_is_the_standardized_mean(void **unused)
{
    (void)unused;
    frozen_study f;
    freeze(&f, 3.0, 0.0);
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_options o = options_of();
    bandit_engine *engine = told_engine(arms, &o, RESULTS, 3.0, 0.0);
    bandit_sources sources;
    bandit_error err;
    must(bandit_sources_init(&sources, &o.kernel, &f.source, 1, arms, &err), &err);
    double sum = 0.0, squares = 0.0;
    for (uint32_t i = 0; i < RESULTS; i++) {
        double x[DIMENSION], m = bandit_source_value(&sources, 0, i), other;
        point_of(i, x);
        sum += m / RESULTS;
        squares += m * m / RESULTS;
        bandit_prior_mean prior = {.sources = &sources, .weights = {1.0}};
        other = bandit_prior_mean_at(&prior, x); /* the features of a cube are its coordinates */
        assert_true(m == other && m == bandit_prior_mean_of(&prior, i));
    }
    assert_true(fabs(sum) <= 1e-9);
    assert_true(fabs(squares - 1.0) <= 1e-9);
    assert_true(has_order_of(&sources, engine));
    must(bandit_sources_cover(&sources, &err), &err);
    assert_int_equal(sources.n_values, bandit_arms_count(arms));
    bandit_sources_clear(&sources);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    unfreeze(&f);
}

static void slopes_are_differences(void **unused)
{
    (void)unused;
    frozen_study f[2];
    freeze(&f[0], 1.0, 0.0);
    freeze(&f[1], -1.0, 0.7);
    const bandit_source list[] = {f[0].source, f[1].source};
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_options o = options_of();
    bandit_sources sources;
    bandit_error err;
    must(bandit_sources_init(&sources, &o.kernel, list, 2, arms, &err), &err);
    bandit_prior_mean prior = {.sources = &sources, .weights = {0.8, -0.3}};
    const double h = 1e-5;
    for (size_t i = 100; i < 120; i++) {
        double x[DIMENSION], slope[DIMENSION] = {1.0, 2.0};
        point_of(i, x);
        bandit_prior_mean_slope(&prior, x, 2.0, slope);
        for (size_t j = 0; j < DIMENSION; j++) {
            double before = x[j];
            x[j] = before + h;
            double above = bandit_prior_mean_at(&prior, x);
            x[j] = before - h;
            double below = bandit_prior_mean_at(&prior, x);
            x[j] = before;
            assert_true(fabs(slope[j] - (1.0 + (double)j + 2.0 * (above - below) / (2.0 * h))) <= 1e-5);
        }
        assert_true(fabs(bandit_prior_mean_at(&prior, x)) <= bandit_prior_mean_bound(&prior));
    }
    bandit_sources_clear(&sources);
    bandit_arms_free(arms);
    unfreeze(&f[0]);
    unfreeze(&f[1]);
}

/* ---- weights ------------------------------------------------------------------------------------------- */

/* The log density of z ~ N(0, A), A given by its lower triangle, by a Cholesky factor of its own. */
static double log_density(double *A, const double *z, size_t n)
{
    double value = 0.0, y[RESULTS];
    for (size_t k = 0; k < n; k++) {
        for (size_t i = k; i < n; i++) {
            for (size_t j = 0; j < k; j++)
                A[i * n + k] -= A[i * n + j] * A[k * n + j];
            if (i > k)
                A[i * n + k] /= A[k * n + k];
            else
                A[k * n + k] = sqrt(A[k * n + k]);
        }
        y[k] = z[k];
        for (size_t j = 0; j < k; j++)
            y[k] -= A[k * n + j] * y[j];
        y[k] /= A[k * n + k];
        value -= log(A[k * n + k]) + 0.5 * y[k] * y[k];
    }
    return value;
}

static void weights_and_evidence_are_those_of_a_dense_computation(void **unused)
{
    (void)unused;
    enum { N = 12, S = 2 };
    double points[N * DIMENSION], count[N], noise[N], z[N], values[N * S], lengthscales[] = {0.3, 0.6};
    for (size_t i = 0; i < N; i++) {
        point_of(i, points + i * DIMENSION);
        count[i] = 1.0;
        noise[i] = 0.01 + 0.002 * (double)i;
        z[i] = height(points + i * DIMENSION, 0.0);
        values[i] = height(points + i * DIMENSION, 0.1);
        values[N + i] = height(points + i * DIMENSION, 1.5);
    }
    bandit_fit_data data = {.kernel = BANDIT_KERNEL_GAUSSIAN,
                            .n = N,
                            .dimension = DIMENSION,
                            .points = points,
                            .count = count,
                            .mean = z,
                            .n_lengthscales = DIMENSION};
    bandit_hyperparameters h = {.lengthscales = lengthscales, .signal = 0.7, .noise = 0.01, .power = 1.0};
    double weights[S], gain, best = -INFINITY, best_rho = 0.0, none = 0.0;
    bandit_error err;
    must(bandit_source_weights(&data, &h, z, noise, values, S, weights, &gain, &err), &err);
    const double rhos[] = {0.0, 0.1, 0.3, 1.0};
    for (size_t r = 0; r < 4; r++) {
        double A[N * N];
        for (size_t i = 0; i < N; i++) {
            for (size_t k = 0; k <= i; k++) {
                double distance = 0.0;
                for (size_t j = 0; j < DIMENSION; j++) {
                    double off = (points[i * DIMENSION + j] - points[k * DIMENSION + j]) / lengthscales[j];
                    distance += off * off;
                }
                A[i * N + k] = 1.0 + 0.7 * exp(-0.5 * distance) + (i == k ? noise[i] : 0.0) +
                               rhos[r] / S * (values[i] * values[k] + values[N + i] * values[N + k]);
            }
        }
        double value = log_density(A, z, N);
        none = r == 0 ? value : none;
        if (r > 0 && value > best) {
            best = value;
            best_rho = rhos[r];
        }
    }
    assert_true(fabs(gain - (best - none)) <= 1e-9);
    assert_true(best_rho > 0.0 && weights[0] > 0.5);
}

/* The weights of a study with these sources. */
static void weights_of(const bandit_source *sources, size_t n_sources, size_t n, double *out)
{
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_options o = options_of();
    o.sources = sources;
    o.n_sources = n_sources;
    bandit_engine *engine = told_engine(arms, &o, n, 1.0, 0.05);
    bandit_description d;
    bandit_engine_describe(engine, &d);
    assert_int_equal(d.n_sources, n_sources);
    memcpy(out, d.source_weights, n_sources * sizeof *out);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
}

static void a_related_study_counts_and_a_negated_one_is_turned(void **unused)
{
    (void)unused;
    frozen_study related, negated;
    double weight;
    freeze(&related, 5.0, 0.0);
    freeze(&negated, -0.2, 0.0);
    weights_of(&related.source, 1, 10, &weight);
    assert_true(weight > 0.4);
    weights_of(&negated.source, 1, 10, &weight);
    assert_true(weight < -0.4);
    unfreeze(&related);
    unfreeze(&negated);
}

/* ---- engines ------------------------------------------------------------------------------------------- */

/* On a list. The sources have the points of the first arms. */
static void restarts_change_nothing(void **unused)
{
    (void)unused;
    random_problem p;
    random_problem_init(&p, 5, 60, DIMENSION, BANDIT_KERNEL_MATERN, 0.01, 0);
    p.options.kernel.nu = 2.5;
    learner_options(&p.options, BANDIT_LOG_EI);
    p.options.warp_rewards = true;
    double weights[2][RESULTS], lengthscales[] = {0.8, 1.5};
    bandit_source sources[2];
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < RESULTS; k++)
            weights[i][k] =
                random_problem_reward(&p, (uint32_t)k, 0) - (i == 1 ? 0.5 * (double)(k % 3) : 0.0);
        sources[i] = (bandit_source){.n = RESULTS,
                                     .points = p.rows,
                                     .weights = weights[i],
                                     .shift = -0.1,
                                     .lengthscales = lengthscales,
                                     .n_lengthscales = DIMENSION};
    }
    p.options.sources = sources;
    p.options.n_sources = 2;
    async_study_check(&p, 30, NULL, NULL);
    random_problem_clear(&p);
}

/* The same space with the same points, for another engine. */
static bandit_arms *copy_of(const bandit_arms *arms)
{
    bandit_arms *copy = space_study_cube(DIMENSION);
    bandit_error err;
    for (uint32_t i = 0; i < bandit_arms_count(arms); i++) {
        double point[DIMENSION];
        bandit_arms_coded(arms, i, point);
        must(bandit_arms_append(copy, point, 1, &err), &err);
    }
    return copy;
}

/* Before every pick another engine is restored from the checkpoint, and must pick the same. */
static void an_open_space_goes_on_after_a_restart(void **unused)
{
    (void)unused;
    frozen_study related;
    freeze(&related, 5.0, 0.0);
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_options o = options_of();
    bandit_engine *engine, *again;
    bandit_error err;
    bandit_result result;
    o.sources = &related.source;
    o.n_sources = 1;
    must(bandit_engine_new(&engine, arms, &o, 0, &err), &err);
    for (size_t t = 0; t < 12; t++) {
        bandit_checkpoint checkpoint;
        bandit_arms *others = copy_of(arms);
        learner_begin(engine, &result, t > 0);
        bandit_engine_checkpoint(engine, &checkpoint);
        must(
            bandit_engine_restore(&again, others, &o, 0, &checkpoint, NULL, 0, &bandit_executor_serial, &err),
            &err);
        bandit_pick x = learner_pick(engine), y = learner_pick(again);
        assert_true(x.arm == y.arm && x.variance == y.variance);
        bandit_prediction a, b;
        double point[DIMENSION], same[DIMENSION];
        bandit_arms_coded(arms, x.arm, point);
        bandit_arms_coded(others, y.arm, same);
        assert_memory_equal(point, same, sizeof point);
        must(bandit_engine_predict_arms(engine, &x.arm, 1, &a, &err), &err);
        must(bandit_engine_predict_points(again, point, 1, &b, &err), &err);
        assert_true(a.mean == b.mean && a.variance == b.variance);
        result = learner_result(&x, height(point, 0.05));
        bandit_engine_free(again);
        bandit_arms_free(others);
    }
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    unfreeze(&related);
}

static void refuse(const bandit_options *o, const char *why)
{
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_engine *engine = NULL;
    bandit_error err;
    assert_int_equal(bandit_engine_new(&engine, arms, o, 0, &err), BANDIT_INVALID_OPTION);
    assert_non_null(strstr(err.message, why));
    bandit_arms_free(arms);
}

static void sources_that_do_not_fit_are_refused(void **unused)
{
    (void)unused;
    frozen_study f;
    freeze(&f, 1.0, 0.0);
    bandit_source source = f.source;
    bandit_options o = options_of();
    o.sources = &source;
    o.n_sources = 1;
    source.n = 0;
    refuse(&o, "not valid");
    source = f.source;
    f.frozen.weights[1] = (double)NAN;
    refuse(&o, "not valid");
    f.frozen.weights[1] = 0.0;
    source.n_lengthscales = 1;
    refuse(&o, "lengthscales");
    source = f.source;
    o.n_sources = BANDIT_MOST_SOURCES + 1;
    refuse(&o, "at most");
    o.n_sources = 1;
    o.algorithm = BANDIT_GP_EI;
    o.warp_rewards = false;
    refuse(&o, "log_ei");
    unfreeze(&f);
}

/* A function of a kernel with two ranges is frozen with both. */
static void a_frozen_function_has_its_short_range(void **unused)
{
    (void)unused;
    bandit_arms *arms = space_study_cube(DIMENSION);
    bandit_options o = options_of();
    o.revision = BANDIT_LATEST_REVISION;
    bandit_engine *engine = rippled_engine(arms, &o);
    frozen_study f;
    bandit_sources sources;
    bandit_error err;
    freeze_engine(&f, engine, arms);
    assert_true(f.source.short_share > 0.0);
    must(bandit_sources_init(&sources, &o.kernel, &f.source, 1, arms, &err), &err);
    assert_true(has_order_of(&sources, engine));
    bandit_sources_clear(&sources);
    f.source.short_share = 0.0;
    must(bandit_sources_init(&sources, &o.kernel, &f.source, 1, arms, &err), &err);
    assert_false(has_order_of(&sources, engine));
    bandit_sources_clear(&sources);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    unfreeze(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_function_has_its_short_range),
        cmocka_unit_test(a_frozen_function_is_the_standardized_mean),
        cmocka_unit_test(slopes_are_differences),
        cmocka_unit_test(weights_and_evidence_are_those_of_a_dense_computation),
        cmocka_unit_test(a_related_study_counts_and_a_negated_one_is_turned),
        cmocka_unit_test(restarts_change_nothing),
        cmocka_unit_test(an_open_space_goes_on_after_a_restart),
        cmocka_unit_test(sources_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
