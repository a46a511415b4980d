/* Points that keep linear rules: that drawn ones do, how they are spread, and that sets without points have none. */
#include "core/arms/feasible.h"

#include "core/arms/arms_storage.h"
#include "tests/support/dense_gp.h"
#include "tests/support/linear_rules.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest distance between the share of n values below x and 1 − (1 − x)^power. */
static double distance_from_beta(double *values, size_t n, double power)
{
    double worst = 0.0;
    qsort(values, n, sizeof *values, ascending);
    for (size_t i = 0; i < n; i++) {
        double expected = 1.0 - pow(1.0 - values[i], power);
        worst = fmax(worst, fmax(fabs(expected - (double)i / (double)n),
                                 fabs(expected - (double)(i + 1) / (double)n)));
    }
    return worst;
}

/* On a simplex, each coordinate has the distribution Beta(1, n − 1), whichever is the pivot. Bounds: eight walks of 500
 * points each came to 0.017 … 0.041; uniform coordinates would be 0.4 away. */
static void a_simplex_is_drawn_uniformly(void **state)
{
    (void)state;
    enum { POINTS = 4000, LEAST = 3, MOST = 8 };
    for (size_t n = LEAST; n <= MOST; n++) {
        double ones[MOST] = {1, 1, 1, 1, 1, 1, 1, 1};
        linear_rules own;
        linear_rules_init(&own, n);
        linear_rules_add(&own, ones, 1.0, true);
        bandit_arms *arms = space_study_cube(n);
        bandit_arms_constrain(arms, &own.rules);
        bandit_genome g = {0};
        bandit_error err;
        double *genes = dense_alloc(POINTS * n, sizeof *genes), *values = dense_alloc(POINTS, sizeof *values),
               coded[MOST];
        size_t found;
        assert_int_equal(bandit_genome_init(&g, arms->space, NULL, 5 + n, &err), BANDIT_OK);
        assert_int_equal(bandit_feasible_draw(&g, 1, POINTS, genes, &found, NULL, &err), BANDIT_OK);
        assert_int_equal(found, POINTS);
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < POINTS; k++) {
                bandit_genome_point(&g, genes + k * n, coded);
                double sum = 0.0;
                for (size_t j = 0; j < n; j++)
                    sum += coded[j];
                assert_true(fabs(sum - 1.0) <= 1e-12);
                values[k] = coded[i];
            }
            double distance = distance_from_beta(values, POINTS, (double)n - 1.0);
            if (!(distance < 0.06))
                fail_msg("coordinate %zu of %zu: %g", i, n, distance);
        }
        free(genes);
        free(values);
        bandit_genome_clear(&g);
        bandit_arms_free(arms);
    }
}

/* Random polytopes around a random point, half of them with an equation, some numbers whole: every point that is drawn
 * keeps the rules, and points are found. */
static void random_polytopes(void **state)
{
    (void)state;
    enum { SETS = 400, POINTS = 24, MOST = 10 };
    uint64_t random = 11;
    size_t missed = 0;
    for (size_t set = 0; set < SETS; set++) {
        size_t n = 2 + (size_t)(dense_uniform(&random) * (MOST - 1)),
               rules = 1 + (size_t)(dense_uniform(&random) * 5);
        bandit_parameter parameters[MOST];
        double inside[MOST], row[MOST], coded[MOST], genes[POINTS * MOST];
        for (size_t i = 0; i < n; i++) {
            bool whole = i > 0 && dense_uniform(&random) < 0.3;
            double low = floor(20.0 * dense_uniform(&random)) - 10.0;
            parameters[i] =
                (bandit_parameter){.type = whole ? BANDIT_PARAMETER_INTEGER : BANDIT_PARAMETER_DOUBLE,
                                   .min = low,
                                   .max = low + 1.0 + floor(20.0 * dense_uniform(&random)),
                                   .parent = BANDIT_NO_PARENT};
            inside[i] = low + (parameters[i].max - low) * (0.1 + 0.8 * dense_uniform(&random));
            inside[i] = whole ? round(inside[i]) : inside[i];
        }
        linear_rules own;
        linear_rules_init(&own, n);
        for (size_t k = 0; k < rules; k++) {
            double bound = 0.0;
            bool equality = k == 0 && set % 2 == 0;
            for (size_t i = 0; i < n; i++) {
                row[i] = dense_uniform(&random) < 0.7 ? 4.0 * dense_uniform(&random) - 2.0 : 0.0;
                row[i] = i == 0 && equality ? 1.0 : row[i];
                bound += row[i] * inside[i];
            }
            linear_rules_add(&own, row, bound + (equality ? 0.0 : 0.5 + dense_uniform(&random)), equality);
        }
        bandit_arms *arms = space_study_arms(parameters, n);
        bandit_arms_constrain(arms, &own.rules);
        bandit_genome g = {0};
        bandit_error err;
        size_t found, broken;
        assert_int_equal(bandit_genome_init(&g, arms->space, NULL, set, &err), BANDIT_OK);
        assert_int_equal(bandit_feasible_draw(&g, 0, POINTS, genes, &found, NULL, &err), BANDIT_OK);
        missed += found == 0;
        for (size_t k = 0; k < found; k++) {
            bandit_genome_point(&g, genes + k * n, coded);
            assert_int_equal(bandit_arms_check_point(arms, coded, &err), BANDIT_OK);
            assert_true(bandit_arms_allows(arms, coded, &broken));
        }
        bandit_genome_clear(&g);
        bandit_arms_free(arms);
    }
    if (missed > 0)
        fail_msg("in %zu sets no point was found", missed);
}

static void sets_without_points_have_none(void **state)
{
    (void)state;
    const double ones[3] = {1, 1, 1}, first[3] = {-1, 0, 0};
    for (int which = 0; which < 2; which++) {
        linear_rules own;
        linear_rules_init(&own, 3);
        linear_rules_add(&own, ones, 0.5, which == 1);
        linear_rules_add(&own, first, -0.75, false);
        bandit_arms *arms = space_study_cube(3);
        bandit_arms_constrain(arms, &own.rules);
        bool found;
        double share;
        bandit_error err;
        assert_int_equal(bandit_arms_find_allowed(arms, SIZE_MAX, &found, &share, &err), BANDIT_OK);
        assert_false(found);
        assert_int_equal(bandit_arms_find_allowed(arms, 1, &found, &share, &err), BANDIT_OK);
        assert_true(found);
        bandit_arms_free(arms);
    }
}

/* The points of a list that keep the rules, and no others, in the list's order. */
static void lists_are_filtered(void **state)
{
    (void)state;
    enum { N = 4 };
    bandit_parameter parameters[N];
    const double ones[N] = {1, 1, 1, 1}, order[N] = {1, -1, 0, 0};
    for (size_t i = 0; i < N; i++)
        parameters[i] = (bandit_parameter){
            .type = BANDIT_PARAMETER_INTEGER, .min = 0.0, .max = 6.0, .parent = BANDIT_NO_PARENT};
    linear_rules own;
    linear_rules_init(&own, N);
    linear_rules_add(&own, ones, 9.0, true);
    linear_rules_add(&own, order, 0.0, false);
    bandit_arms *all = space_study_arms(parameters, N), *arms = space_study_arms(parameters, N);
    bandit_arms_constrain(arms, &own.rules);
    bandit_error err;
    size_t count, next = 0;
    assert_int_equal(bandit_arms_enumerate(all, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_count_allowed(arms, 1000, &count, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_enumerate(arms, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_count(arms), count);
    for (size_t a = 0; a < bandit_arms_count(all); a++) {
        double point[N], kept[N];
        bandit_arms_coded(all, a, point);
        if (point[0] + point[1] + point[2] + point[3] != 9.0 || point[0] > point[1])
            continue;
        bandit_arms_coded(arms, next++, kept);
        for (size_t i = 0; i < N; i++)
            assert_true(kept[i] == point[i]);
    }
    assert_int_equal(next, count);
    bandit_arms_free(all);
    bandit_arms_free(arms);
    arms = space_study_arms(parameters, N);
    bandit_arms_constrain(arms, &own.rules);
    assert_int_equal(bandit_arms_count_allowed(arms, count - 1, &count, &err), BANDIT_OK);
    assert_true(count == SIZE_MAX);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simplex_is_drawn_uniformly),
        cmocka_unit_test(random_polytopes),
        cmocka_unit_test(sets_without_points_have_none),
        cmocka_unit_test(lists_are_filtered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
