/* Importance: known functions, closed forms, and what must not matter. */
#include "core/insight/view.h"
#include "tests/support/dense_gp.h"
#include "tests/support/insight_study.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static void cube(bandit_parameter *parameters, size_t n, double min, double max)
{
    for (size_t i = 0; i < n; i++)
        parameters[i] = (bandit_parameter){
            .type = BANDIT_PARAMETER_DOUBLE, .min = min, .max = max, .parent = BANDIT_NO_PARENT};
}

static void importance(insight_study *s, bandit_importance *out, double *variance)
{
    bandit_error err = {0};
    must(bandit_insight_importance(s->insight, out, variance, &err), &err);
}

/* ---- functions with known indices ---------------------------------------------------------------------- */

static double ishigami(const double *x)
{
    double a = sin(x[0]), b = sin(x[1]);
    return a + 7.0 * b * b + 0.1 * x[2] * x[2] * x[2] * x[2] * a;
}

static void the_function_of_ishigami(void **state)
{
    static const double first[] = {.3139, .4424, 0.0}, total[] = {.5576, .4424, .2437};
    (void)state;
    bandit_parameter parameters[3];
    bandit_importance found[3];
    insight_study s;
    double variance;
    bandit_options o = insight_learning(BANDIT_GP_UCB);
    cube(parameters, 3, -pi, pi);
    insight_study_space(&s, parameters, 3, &o, ishigami, 200);
    importance(&s, found, &variance);
    for (size_t j = 0; j < 3; j++) {
        assert_near(found[j].first, first[j], 0.05);
        assert_near(found[j].total, total[j], 0.05);
        assert_true(found[j].std < 0.05);
    }
    assert_near(variance, 13.84, 1.4);
    insight_study_clear(&s);
}

static const double sobol_a[] = {0.0, 1.0, 4.5, 9.0};

static double sobol_g(const double *x)
{
    double product = 1.0;
    for (size_t j = 0; j < 4; j++)
        product *= (fabs(4.0 * x[j] - 2.0) + sobol_a[j]) / (1.0 + sobol_a[j]);
    return product;
}

static void the_g_function_of_sobol(void **state)
{
    (void)state;
    bandit_parameter parameters[4];
    bandit_importance found[4];
    insight_study s;
    double variance, v[4], all = 1.0;
    bandit_options o = insight_learning(BANDIT_GP_UCB);
    cube(parameters, 4, 0.0, 1.0);
    insight_study_space(&s, parameters, 4, &o, sobol_g, 200);
    importance(&s, found, &variance);
    for (size_t j = 0; j < 4; j++) {
        v[j] = 1.0 / 3.0 / ((1.0 + sobol_a[j]) * (1.0 + sobol_a[j]));
        all *= 1.0 + v[j];
    }
    for (size_t j = 0; j < 4; j++) {
        assert_near(found[j].first, v[j] / (all - 1.0), 0.05);
        assert_near(found[j].total, v[j] * all / (1.0 + v[j]) / (all - 1.0), 0.05);
    }
    assert_true(found[0].top > found[1].top && found[1].top > found[3].top);
    insight_study_clear(&s);
}

static double additive(const double *x)
{
    return 3.0 * x[0] + sin(2.0 * x[1]) + x[2] * x[2];
}

static void an_additive_function_and_a_parameter_that_it_does_not_use(void **state)
{
    (void)state;
    bandit_parameter parameters[4];
    bandit_importance found[4];
    insight_study s;
    double variance, sum = 0.0;
    bandit_options o = insight_learning(BANDIT_LOG_EI);
    o.warp_rewards = false;
    cube(parameters, 4, 0.0, 1.0);
    insight_study_space(&s, parameters, 4, &o, additive, 150);
    importance(&s, found, &variance);
    for (size_t j = 0; j < 4; j++) {
        assert_near(found[j].first, found[j].total, 0.02);
        assert_true(found[j].first <= found[j].total); /* sampling errors exceed the difference */
        sum += found[j].first;
    }
    assert_near(sum, 1.0, 0.02);
    assert_true(found[3].total < 0.01);
    insight_study_clear(&s);
}

static double additive_in_other_units(const double *x)
{
    return 1e6 * additive(x) - 5e5;
}

static void units_do_not_matter(void **state)
{
    (void)state;
    bandit_parameter parameters[3];
    bandit_importance found[2][3];
    double variance[2];
    bandit_options o = insight_learning(BANDIT_GP_EI);
    cube(parameters, 3, 0.0, 1.0);
    for (int i = 0; i < 2; i++) {
        insight_study s;
        insight_study_space(&s, parameters, 3, &o, i ? additive_in_other_units : additive, 60);
        importance(&s, found[i], &variance[i]);
        insight_study_clear(&s);
    }
    assert_near(variance[1] / variance[0], 1e12, 1e8);
    for (size_t j = 0; j < 3; j++) {
        assert_near(found[0][j].total, found[1][j].total, 1e-4);
        assert_near(found[0][j].top, found[1][j].top, 1e-2);
    }
}

/* x[0] is a switch, and x[1] is active when it is on; x[1] matters a lot then. */
static double switched(const double *x)
{
    return x[0] == 1.0 ? 2.0 * x[1] : 0.5;
}

static double always_on(const double *x)
{
    return 2.0 * x[1];
}

static void a_parameter_that_is_not_always_active(void **state)
{
    (void)state;
    static const double on[] = {1.0};
    bandit_importance found[2], always[2];
    double variance[2];
    bandit_options o = insight_learning(BANDIT_GP_UCB);
    bandit_parameter parameters[2] = {{.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
                                      {.type = BANDIT_PARAMETER_DOUBLE,
                                       .max = 1.0,
                                       .parent = 0,
                                       .parent_values = on,
                                       .n_parent_values = 1}};
    insight_study s;
    insight_study_space(&s, parameters, 2, &o, switched, 80);
    importance(&s, found, &variance[0]);
    insight_study_clear(&s);
    parameters[1].parent = BANDIT_NO_PARENT;
    insight_study_space(&s, parameters, 2, &o, always_on, 80);
    importance(&s, always, &variance[1]);
    insight_study_clear(&s);
    assert_true(found[1].total <= always[1].total + 0.01);
    assert_true(found[1].total > 0.1 && found[0].total > 0.1);
}

/* ---- the closed form for Gaussian kernels --------------------------------------------------------------- */

/* Integrals over [0, 1] of one kernel column in one dimension, and of the product of two. */
static double one_integral(double d, double l)
{
    return l * sqrt(pi / 2.0) * (erf((1.0 - d) / (sqrt(2.0) * l)) + erf(d / (sqrt(2.0) * l)));
}

static double two_integral(double d, double e, double l)
{
    double c = 0.5 * (d + e);
    return exp(-(d - e) * (d - e) / (4.0 * l * l)) * 0.5 * l * sqrt(pi) * (erf((1.0 - c) / l) + erf(c / l));
}

static double wavy(const double *x)
{
    return sin(5.0 * x[0]) + x[1] * x[0] + 0.3 * cos(3.0 * x[2]);
}

static void the_closed_form_for_gaussian_kernels(void **state)
{
    enum { P = 3 };
    static const double l[P] = {0.3, 0.6, 0.9};
    (void)state;
    bandit_parameter parameters[P];
    bandit_importance found[P];
    insight_study s;
    double variance;
    bandit_options o = insight_given(BANDIT_GP_UCB, BANDIT_KERNEL_GAUSSIAN, 0.0, 1e-4, l, P);
    cube(parameters, P, 0.0, 1.0);
    insight_study_space(&s, parameters, P, &o, wavy, 60);
    importance(&s, found, &variance);
    const bandit_posterior *p = s.insight->posterior;
    double V = 0.0, first[P] = {0.0}, rest[P] = {0.0};
    for (size_t j = 0; j < p->m; j++) {
        for (size_t k = 0; k < p->m; k++) {
            double w = p->weights[j] * p->weights[k], Q[P], qq[P], all_Q = 1.0, all_q = 1.0;
            for (size_t i = 0; i < P; i++) {
                double a = bandit_arms_feature(s.arms, p->points.arms[j], i);
                double b = bandit_arms_feature(s.arms, p->points.arms[k], i);
                Q[i] = two_integral(a, b, l[i]);
                qq[i] = one_integral(a, l[i]) * one_integral(b, l[i]);
                all_Q *= Q[i];
                all_q *= qq[i];
            }
            V += w * (all_Q - all_q);
            for (size_t i = 0; i < P; i++) {
                first[i] += w * (Q[i] - qq[i]) * all_q / qq[i];
                rest[i] += w * (qq[i] * all_Q / Q[i] - all_q);
            }
        }
    }
    assert_near(variance, V, 0.01 * V);
    for (size_t i = 0; i < P; i++) {
        assert_near(found[i].first, first[i] / V, 0.01);
        assert_near(found[i].total, 1.0 - rest[i] / V, 0.01);
    }
    insight_study_clear(&s);
}

/* ---- the brute-force sum, over a mixed space ------------------------------------------------------------ */

static double mixed(const double *x)
{
    return (x[0] == 2.0 ? 1.5 : 0.2 * x[0]) + log(x[1]) * 0.3 + (x[2] - 3.0) * (x[2] - 3.0) * 0.1 * x[3];
}

/* The mean at a point given by positions on the scales. */
static double mean_at(insight_study *s, const double *t)
{
    double point[4] = {floor(3.0 * t[0]), exp(log(0.01) + t[1] * log(1e4)), 1.0 + floor(5.0 * t[2]),
                       t[3] < 0.5 ? 0.0 : 1.0};
    bandit_prediction p;
    bandit_error err = {0};
    point[1] = fmin(fmax(point[1], 0.01), 100.0);
    must(bandit_engine_predict_points(s->engine, point, 1, &p, &err), &err);
    return p.mean;
}

static void a_brute_force_sum_over_a_mixed_space(void **state)
{
    enum { P = 4, N = 6000 };
    (void)state;
    const bandit_parameter parameters[P] = {
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0.01, .max = 100.0, .log = true, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 1.0, .max = 5.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT}};
    static const double l[] = {0.7};
    bandit_importance found[P];
    insight_study s;
    double variance, sum = 0.0, squares = 0.0, total[P] = {0.0};
    uint64_t random = 11;
    bandit_options o = insight_given(BANDIT_BBKB, BANDIT_KERNEL_MATERN, 2.5, 1e-4, l, 1);
    insight_study_space(&s, parameters, P, &o, mixed, 60);
    importance(&s, found, &variance);
    for (size_t i = 0; i < N; i++) {
        double t[P], f;
        for (size_t j = 0; j < P; j++)
            t[j] = dense_uniform(&random);
        f = mean_at(&s, t);
        sum += f;
        squares += f * f;
        for (size_t j = 0; j < P; j++) {
            double old = t[j];
            t[j] = dense_uniform(&random);
            double change = mean_at(&s, t) - f;
            total[j] += 0.5 * change * change / N;
            t[j] = old;
        }
    }
    double V = squares / N - sum * sum / N / N;
    assert_near(variance, V, 0.05 * V);
    for (size_t j = 0; j < P; j++)
        assert_near(found[j].total, total[j] / V, 0.04);
    insight_study_clear(&s);
}

/* ---- candidates ------------------------------------------------------------------------------------------- */

static double plane(const double *x)
{
    return 3.0 * x[0] - x[1];
}

static void a_plane_over_candidates(void **state)
{
    enum { N = 300, D = 3 };
    (void)state;
    double *rows = dense_alloc((size_t)N * D, sizeof *rows), variance;
    uint64_t random = 4;
    for (size_t i = 0; i < (size_t)N * D; i++)
        rows[i] = dense_uniform(&random);
    static const bandit_algorithm algorithms[] = {BANDIT_BBKB, BANDIT_GP_UCB, BANDIT_LOG_EI, BANDIT_S_GP_TS};
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        bandit_importance found[D];
        insight_study s;
        bandit_options o = insight_learning(algorithms[a]);
        insight_study_list(&s, rows, N, D, &o, plane, 100);
        importance(&s, found, &variance);
        assert_true(isnan(found[0].first));
        assert_near(found[0].total, 0.9, 0.03);
        assert_near(found[1].total, 0.1, 0.03);
        assert_near(found[2].total, 0.0, 0.01);
        assert_near(found[0].total + found[1].total + found[2].total, 1.0, 1e-12);
        assert_true(found[0].top > 0.7 && found[2].top < 0.1);
        assert_near(variance, 10.0 / 12.0, 0.15);
        insight_study_clear(&s);
    }
    free(rows);
}

/* ---- refusals --------------------------------------------------------------------------------------------- */

static void refuses(bandit_algorithm algorithm, bandit_posterior_kind posterior)
{
    double rows[40];
    for (size_t i = 0; i < 40; i++)
        rows[i] = (double)i / 40.0;
    static const double l[] = {0.5};
    insight_study s = {0};
    bandit_error err = {0};
    bandit_options o = insight_given(algorithm, BANDIT_KERNEL_MATERN, 2.5, 1e-2, l, 1);
    o.posterior = posterior;
    o.features = BANDIT_FEATURES_EIGEN;
    o.inducing = o.prior_features = 20;
    must(bandit_arms_new(&s.arms, 20, 2, &err), &err);
    must(bandit_arms_set_rows(s.arms, 0, 20, rows, &err), &err);
    must(bandit_arms_finish(s.arms, BANDIT_SCALING_NONE, 20, &err), &err);
    must(bandit_engine_new(&s.engine, s.arms, &o, 0, &err), &err);
    assert_int_equal(bandit_insight_new(&s.insight, s.engine, &err), BANDIT_UNSUPPORTED);
    assert_null(s.insight);
    assert_true(strlen(err.message) > 10);
    insight_study_clear(&s);
}

static void models_that_cannot_be_examined_and_too_few_results(void **state)
{
    (void)state;
    refuses(BANDIT_UNIFORM, BANDIT_POSTERIOR_SVGP);
    refuses(BANDIT_REGULARIZED_EVOLUTION, BANDIT_POSTERIOR_SVGP);
    refuses(BANDIT_PI_GP_UCB, BANDIT_POSTERIOR_SVGP);
    refuses(BANDIT_S_GP_TS, BANDIT_POSTERIOR_FEATURES);
    refuses(BANDIT_GP_UCB, BANDIT_POSTERIOR_SVGP); /* no results */
    bandit_parameter parameters[3];
    bandit_importance found[3];
    bandit_error err = {0};
    double variance;
    insight_study s;
    bandit_options o = insight_learning(BANDIT_GP_UCB);
    cube(parameters, 3, 0.0, 1.0);
    insight_study_space(&s, parameters, 3, &o, additive, 3); /* six pulls; eight are needed */
    assert_int_equal(bandit_insight_importance(s.insight, found, &variance, &err), BANDIT_UNSUPPORTED);
    assert_string_equal(err.message, "it is too early to say: the model has 6 results, and 8 are needed");
    insight_study_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_function_of_ishigami),
        cmocka_unit_test(the_g_function_of_sobol),
        cmocka_unit_test(an_additive_function_and_a_parameter_that_it_does_not_use),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(a_parameter_that_is_not_always_active),
        cmocka_unit_test(the_closed_form_for_gaussian_kernels),
        cmocka_unit_test(a_brute_force_sum_over_a_mixed_space),
        cmocka_unit_test(a_plane_over_candidates),
        cmocka_unit_test(models_that_cannot_be_examined_and_too_few_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
