/* Insight into a model whose prior mean is learned from other studies: all figures are of the sum. */
#include "core/insight/view.h"
#include "tests/support/dense_gp.h"
#include "tests/support/insight_study.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <stdlib.h>

enum { D = 2, CENTRES = 40, RESULTS = 12, CANDIDATES = 80 };

static double centres[CENTRES * D], weights[CENTRES];
static const double lengthscales[D] = {0.3, 0.5};

/* The source: many bumps. What the study measures is mostly this. */
static void prepare(bandit_options *o, bandit_source *source)
{
    uint64_t random = 21;
    for (size_t i = 0; i < (size_t)CENTRES * D; i++)
        centres[i] = dense_uniform(&random);
    for (size_t i = 0; i < CENTRES; i++)
        weights[i] = 0.8 * dense_normal(&random);
    *source = (bandit_source){.n = CENTRES,
                              .points = centres,
                              .weights = weights,
                              .shift = 0.4,
                              .lengthscales = lengthscales,
                              .n_lengthscales = D};
    *o = insight_learning(BANDIT_LOG_EI);
    o->kernel = (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN};
    o->sources = source;
    o->n_sources = 1;
}

static double similar(const double *x)
{
    double sum = 0.3 * x[1];
    for (size_t i = 0; i < CENTRES; i++) {
        double a = (x[0] - centres[i * D]) / lengthscales[0],
               b = (x[1] - centres[i * D + 1]) / lengthscales[1];
        sum += weights[i] * exp(-0.5 * (a * a + b * b));
    }
    return 5.0 * sum + 20.0;
}

static void expect_weight(const insight_study *s)
{
    bandit_description d;
    bandit_engine_describe(s->engine, &d);
    assert_int_equal(d.n_sources, 1);
    assert_true(d.source_weights[0] > 0.3);
}

static void start_space(insight_study *s)
{
    bandit_parameter parameters[D];
    bandit_options o;
    bandit_source source;
    for (size_t i = 0; i < D; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    prepare(&o, &source);
    insight_study_space(s, parameters, D, &o, similar, RESULTS);
    expect_weight(s);
}

static double predicted(const insight_study *s, const double *point)
{
    bandit_prediction p;
    bandit_error err = {0};
    must(bandit_engine_predict_points(s->engine, point, 1, &p, &err), &err);
    return p.mean;
}

static void means_and_functions_are_those_of_the_sum(void **state)
{
    enum { POINTS = 20, ROUNDS = 30, FUNCTIONS = ROUNDS * BANDIT_VIEW_DRAWS };
    (void)state;
    insight_study s;
    bandit_error err = {0};
    double points[POINTS * D], means[POINTS], drawn[BANDIT_VIEW_DRAWS * POINTS];
    double sums[POINTS] = {0.0}, squares[POINTS] = {0.0};
    uint64_t random = 4;
    start_space(&s);
    for (size_t i = 0; i < (size_t)POINTS * D; i++)
        points[i] = dense_uniform(&random); /* the features of a cube are its coordinates */
    bandit_view_means(s.insight, points, POINTS, means);
    for (size_t round = 0; round < ROUNDS; round++) {
        must(bandit_view_draw(s.insight, round * BANDIT_VIEW_DRAWS, &err), &err);
        bandit_view_values(s.insight, points, POINTS, drawn, POINTS);
        for (size_t k = 0; k < (size_t)BANDIT_VIEW_DRAWS * POINTS; k++) {
            sums[k % POINTS] += drawn[k] / FUNCTIONS;
            squares[k % POINTS] += drawn[k] * drawn[k] / FUNCTIONS;
        }
    }
    for (size_t i = 0; i < POINTS; i++) {
        bandit_prediction p = {.mean = means[i]};
        bandit_insight_in_reward_units(s.insight, &p, 1);
        assert_near(p.mean, predicted(&s, points + i * D), 1e-9);
        double std = sqrt(fmax(0.0, squares[i] - sums[i] * sums[i]));
        assert_near(sums[i], means[i], 5.0 * std / sqrt(FUNCTIONS) + 1e-3);
    }
    insight_study_clear(&s);
}

static void importance_and_effects_in_a_space(void **state)
{
    enum { N = 6000 };
    (void)state;
    insight_study s;
    bandit_importance found[D];
    bandit_effect *effects = NULL;
    bandit_error err = {0};
    double variance, sum = 0.0, squares = 0.0, total[D] = {0.0};
    uint64_t random = 11;
    size_t n, axis = 0;
    start_space(&s);
    must(bandit_insight_importance(s.insight, found, &variance, &err), &err);
    for (size_t i = 0; i < N; i++) {
        double x[D] = {dense_uniform(&random), dense_uniform(&random)}, f = predicted(&s, x);
        sum += f;
        squares += f * f;
        for (size_t j = 0; j < D; j++) {
            double other[D] = {x[0], x[1]};
            other[j] = dense_uniform(&random);
            double change = predicted(&s, other) - f;
            total[j] += 0.5 * change * change / N;
        }
    }
    double V = squares / N - sum * sum / N / N;
    assert_near(variance, V, 0.05 * V);
    for (size_t j = 0; j < D; j++)
        assert_near(found[j].total, total[j] / V, 0.04);
    must(bandit_insight_effects(s.insight, &axis, 1, 5, &effects, &n, &err), &err);
    assert_int_equal(n, 5);
    for (size_t k = 0; k < n; k++) {
        double mean = 0.0;
        for (size_t i = 0; i < N; i++)
            mean += predicted(&s, (const double[D]){effects[k].at[0], ((double)i + 0.5) / N}) / N;
        assert_near(effects[k].mean, mean, 0.02 * sqrt(V));
    }
    free(effects);
    insight_study_clear(&s);
}

static double in_model_units(const insight_study *s, double reward)
{
    const bandit_fitted *f = &s->insight->refits->fitted;
    return (bandit_fitted_fold(f, reward) - bandit_fitted_shift(f)) / bandit_fitted_unit(f);
}

/* The mean with a result and without it are tied: (value − mean) / noise = (value − unseen) / its variance. */
static void predictions_of_results_left_out(void **state)
{
    (void)state;
    insight_study s;
    bandit_left_out *found;
    bandit_error err = {0};
    size_t n;
    double noise = 0.0;
    start_space(&s);
    must(bandit_insight_leave_one_out(s.insight, &found, &n, &err), &err);
    assert_int_equal(n, RESULTS);
    for (size_t i = 0; i < n; i++) {
        bandit_prediction p;
        must(bandit_engine_predict_arms(s.engine, &found[i].arm, 1, &p, &err), &err);
        double value = in_model_units(&s, found[i].value);
        double missed = value - in_model_units(&s, found[i].mean), std = missed / found[i].z;
        double one = (value - in_model_units(&s, p.mean)) / missed * std * std * (double)found[i].count;
        noise = i == 0 ? one : noise;
        assert_near(one, noise, 1e-4 * noise);
    }
    assert_true(noise > 0.0);
    free(found);
    insight_study_clear(&s);
}

static void the_outlook_is_that_of_the_sum(void **state)
{
    (void)state;
    insight_study s;
    bandit_outlook found;
    bandit_error err = {0};
    bandit_prediction p;
    double point[D], most = -INFINITY;
    start_space(&s);
    must(bandit_insight_outlook(s.insight, insight_study_best(&s), 0.0, &found, &err), &err);
    must(bandit_engine_predict_arms(s.engine, &found.arm, 1, &p, &err), &err);
    assert_near(found.mean, p.mean, 1e-9);
    bandit_arms_coded(s.arms, found.arm, point);
    for (size_t i = 0; i < 10000; i++)
        most = fmax(most, similar((const double[D]){(double)(i / 100) / 99.0, (double)(i % 100) / 99.0}));
    double left = most - similar(point);
    assert_true(left > 0.5); /* twelve results have not found the top */
    assert_near(found.possible, left, 0.5 * left);
    insight_study_clear(&s);
}

static void slopes_over_candidates(void **state)
{
    (void)state;
    insight_study s;
    bandit_options o;
    bandit_source source;
    bandit_importance found[D];
    bandit_error err = {0};
    double rows[CANDIDATES * D], spread[D], expected[D] = {0.0}, variance;
    const double h = 1e-4;
    uint64_t random = 8;
    prepare(&o, &source);
    for (size_t i = 0; i < (size_t)CANDIDATES * D; i++)
        rows[i] = dense_uniform(&random);
    insight_study_list(&s, rows, CANDIDATES, D, &o, similar, RESULTS);
    expect_weight(&s);
    must(bandit_insight_importance(s.insight, found, &variance, &err), &err);
    for (size_t j = 0; j < D; j++) {
        double mean = 0.0, square = 0.0;
        for (size_t i = 0; i < CANDIDATES; i++) {
            double x[2 * D] = {rows[i * D], rows[i * D + 1], rows[i * D], rows[i * D + 1]}, f[2];
            x[j] += h;
            x[D + j] -= h;
            bandit_view_means(s.insight, x, 2, f);
            expected[j] += (f[0] - f[1]) * (f[0] - f[1]) / (4.0 * h * h);
            mean += rows[i * D + j] / CANDIDATES;
            square += rows[i * D + j] * rows[i * D + j] / CANDIDATES;
        }
        spread[j] = square - mean * mean;
    }
    double a = expected[0] * spread[0], b = expected[1] * spread[1];
    assert_near(found[0].total, a / (a + b), 1e-4);
    assert_near(found[1].total, b / (a + b), 1e-4);
    insight_study_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_and_functions_are_those_of_the_sum),
        cmocka_unit_test(importance_and_effects_in_a_space),
        cmocka_unit_test(predictions_of_results_left_out),
        cmocka_unit_test(the_outlook_is_that_of_the_sum),
        cmocka_unit_test(slopes_over_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
