/* Insight into spaces with rules: only points that keep them count. The expected figures are integrals over the allowed
 * set. */
#include "core/insight/view.h"
#include "tests/support/insight_study.h"
#include "tests/support/linear_rules.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <stdlib.h>

enum { MOST = 3 };

/* On the triangle a + b <= 1 it is at most 1, at (0, 1); on the square 1.5, at (1, 1). */
static double hill(const double *x)
{
    return x[0] + x[1] - 0.5 * x[0] * x[0];
}

static double contrast(const double *x)
{
    return x[0] - x[1];
}

static void start(insight_study *s, linear_rules *rules, size_t n, bool equality, insight_function *f)
{
    static const double ones[MOST] = {1.0, 1.0, 1.0};
    bandit_parameter parameters[MOST];
    bandit_options o = insight_learning(BANDIT_GP_UCB);
    for (size_t i = 0; i < n; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    linear_rules_init(rules, n);
    linear_rules_add(rules, ones, 1.0, equality);
    insight_study_rules(s, parameters, n, &rules->rules, &o, f, 60);
}

static void effects_are_averages_over_allowed_points(void **state)
{
    (void)state;
    insight_study s;
    linear_rules rules;
    bandit_effect *found;
    bandit_error err = {0};
    size_t n, axis = 0;
    start(&s, &rules, 2, false, hill);
    must(bandit_insight_effects(s.insight, &axis, 1, 5, &found, &n, &err), &err);
    assert_int_equal(n, 5);
    for (size_t k = 0; k < n; k++) {
        double a = found[k].at[0];
        assert_near(a, 0.25 * (double)k, 1e-9);
        assert_near(found[k].mean, a - 0.5 * a * a + 0.5 * (1.0 - a), 0.02);
    }
    free(found);
    insight_study_clear(&s);
}

/* Six of nine pairs are left, with a sum of at most 1: on the triangle, and in the mixture of three. Each pair is one
 * point. */
static void pairs_without_allowed_points_are_left_out(void **state)
{
    (void)state;
    for (size_t inputs = 2; inputs <= 3; inputs++) {
        insight_study s;
        linear_rules rules;
        bandit_effect *found;
        bandit_error err = {0};
        size_t n, axes[2] = {0, 1};
        start(&s, &rules, inputs, inputs == 3, hill);
        must(bandit_insight_effects(s.insight, axes, 2, 3, &found, &n, &err), &err);
        assert_int_equal(n, 6);
        for (size_t k = 0; k < n; k++) {
            assert_true(found[k].at[0] + found[k].at[1] < 1.0 + 1e-9);
            const double *at = found[k].at, point[MOST] = {at[0], at[1], 1.0 - at[0] - at[1]};
            bandit_prediction p;
            must(bandit_engine_predict_points(s.engine, point, 1, &p, &err), &err);
            assert_near(found[k].mean, p.mean, 1e-6);
        }
        free(found);
        insight_study_clear(&s);
    }
}

/* The sums over the triangle of w f^k, with f the hill; w is 1, or f is its mean given a or given b. */
static void shares_of_the_hill(double *shares)
{
    enum { CELLS = 400 };
    double n = 0.0, mean = 0.0, square = 0.0, given[2] = {0};
    for (size_t i = 0; i < CELLS; i++) {
        double sums[2] = {0}, count = 0.0;
        for (size_t j = 0; i + j < CELLS; j++) {
            const double a = ((double)i + 0.5) / CELLS, b = ((double)j + 0.5) / CELLS, x[2] = {a, b},
                         y[2] = {b, a}, value = hill(x);
            n += 1.0;
            count += 1.0;
            mean += value;
            square += value * value;
            sums[0] += value;
            sums[1] += hill(y);
        }
        for (size_t k = 0; k < 2; k++)
            given[k] += sums[k] * sums[k] / count;
    }
    mean /= n;
    for (size_t k = 0; k < 2; k++)
        shares[k] = (given[k] / n - mean * mean) / (square / n - mean * mean);
}

static void importance_is_that_of_conditional_means(void **state)
{
    (void)state;
    insight_study s;
    linear_rules rules;
    bandit_importance found[MOST];
    bandit_error err = {0};
    double variance, shares[MOST];
    start(&s, &rules, 2, false, hill);
    must(bandit_insight_importance(s.insight, found, &variance, &err), &err);
    shares_of_the_hill(shares);
    for (size_t j = 0; j < 2; j++) {
        assert_near(found[j].total, shares[j], 0.05);
        assert_true(isnan(found[j].first) && found[j].std < 0.05);
    }
    assert_true(found[1].top > found[0].top); /* the best tenth is where b is large */
    insight_study_clear(&s);
    /* In a mixture, Var(a - b) = 1/6 and E[a - b | a] = (3a - 1)/2 with Var(a) = 1/18; c says nothing. */
    start(&s, &rules, 3, true, contrast);
    must(bandit_insight_importance(s.insight, found, &variance, &err), &err);
    assert_near(found[0].total, 0.75, 0.05);
    assert_near(found[1].total, 0.75, 0.05);
    assert_near(found[2].total, 0.0, 0.05);
    assert_near(variance, 1.0 / 6.0, 0.03);
    insight_study_clear(&s);
}

static void the_outlook_is_for_allowed_points(void **state)
{
    (void)state;
    for (size_t inputs = 2; inputs <= 3; inputs++) {
        insight_study s;
        linear_rules rules;
        bandit_outlook found;
        bandit_error err = {0};
        double point[MOST];
        start(&s, &rules, inputs, inputs == 3, hill);
        uint32_t best = insight_study_best(&s);
        must(bandit_insight_outlook(s.insight, best, 0.05, &found, &err), &err);
        bandit_arms_coded(s.arms, best, point);
        double left = 1.0 - hill(point);
        assert_near(found.possible, left, 0.5 * left + 0.01);
        assert_true(left > 0.04 || found.probability < 0.1);
        insight_study_clear(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_are_averages_over_allowed_points),
        cmocka_unit_test(pairs_without_allowed_points_are_left_out),
        cmocka_unit_test(importance_is_that_of_conditional_means),
        cmocka_unit_test(the_outlook_is_for_allowed_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
