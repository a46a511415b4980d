/* Maximizing inside linear rules: against a fine grid on a triangle, and against the known optimum of a quadratic on a
 * simplex. */
#include "core/search/maximize.h"

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
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

/* − sum of weight (x − centre)², with a ripple. */
typedef struct hill {
    size_t n;
    double centre[MOST], weight[MOST], ripple;
} hill;

static double slopes(void *context, const double *x, double *gradient)
{
    const hill *h = context;
    double sum = 0.0;
    for (size_t j = 0; j < h->n; j++) {
        double d = x[j] - h->centre[j];
        sum += -h->weight[j] * d * d + h->ripple * sin(9.0 * x[j]);
        if (gradient)
            gradient[j] = -2.0 * h->weight[j] * d + 9.0 * h->ripple * cos(9.0 * x[j]);
    }
    return sum;
}

static void values(void *context, const double *features, size_t n, double *out)
{
    const hill *h = context;
    for (size_t i = 0; i < n; i++)
        out[i] = slopes(context, features + i * h->n, NULL);
}

static double maximum(bandit_arms *arms, hill *h, double *coded)
{
    const bandit_objective objective = {h, values, slopes, NULL};
    bandit_maximizer max = {0};
    bandit_error err;
    bool found;
    size_t broken;
    assert_int_equal(bandit_maximizer_start(&max, arms->space, NULL, 3, 1, &err), BANDIT_OK);
    double *grid = dense_alloc(max.n_grid, sizeof *grid);
    values(h, max.features, max.n_grid, grid);
    assert_int_equal(bandit_maximizer_run(&max, &objective, grid, 0, coded, &found, &err), BANDIT_OK);
    assert_true(found && bandit_arms_allows(arms, coded, &broken));
    free(grid);
    bandit_maximizer_clear(&max);
    return slopes(h, coded, NULL);
}

/* 0.2 <= x + y <= 0.7 and x >= y, from outside and inside, with ripples. */
static void a_triangle(void **state)
{
    (void)state;
    const double up[2] = {1, 1}, down[2] = {-1, -1}, order[2] = {-1, 1};
    uint64_t random = 4;
    for (int k = 0; k < 40; k++) {
        linear_rules own;
        linear_rules_init(&own, 2);
        linear_rules_add(&own, up, 0.7, false);
        linear_rules_add(&own, down, -0.2, false);
        linear_rules_add(&own, order, 0.0, false);
        bandit_arms *arms = space_study_cube(2);
        bandit_arms_constrain(arms, &own.rules);
        hill h = {.n = 2, .ripple = 0.2 * dense_uniform(&random)};
        double coded[2], best = -INFINITY;
        for (size_t j = 0; j < 2; j++) {
            h.centre[j] = 1.6 * dense_uniform(&random) - 0.3;
            h.weight[j] = 0.5 + 4.0 * dense_uniform(&random);
        }
        double reached = maximum(arms, &h, coded);
        enum { FINE = 700 };
        for (int a = 0; a <= FINE; a++) {
            for (int b = 0; b <= a && a + b <= FINE; b++) {
                double x[2] = {0.7 * a / FINE, 0.7 * b / FINE};
                if (x[0] + x[1] >= 0.2)
                    best = fmax(best, slopes(&h, x, NULL));
            }
        }
        if (!(reached >= best - 1e-9))
            fail_msg("set %d: %.12g, the grid has %.12g", k, reached, best);
        bandit_arms_free(arms);
    }
}

/* The nearest point of a simplex, which is known in closed form: max(0, centre − shift). */
static void a_simplex(void **state)
{
    (void)state;
    uint64_t random = 9;
    for (int k = 0; k < 12; k++) {
        double ones[MOST] = {1, 1, 1, 1, 1, 1, 1, 1}, coded[MOST], low = -2.0, high = 2.0, best = 0.0;
        linear_rules own;
        linear_rules_init(&own, MOST);
        linear_rules_add(&own, ones, 1.0, true);
        bandit_arms *arms = space_study_cube(MOST);
        bandit_arms_constrain(arms, &own.rules);
        hill h = {.n = MOST};
        for (size_t j = 0; j < MOST; j++) {
            h.weight[j] = 1.0;
            h.centre[j] = 0.8 * dense_uniform(&random) - 0.2;
        }
        double reached = maximum(arms, &h, coded), sum = 0.0;
        for (int step = 0; step < 200; step++) {
            double shift = 0.5 * (low + high), total = 0.0;
            for (size_t j = 0; j < MOST; j++)
                total += fmax(0.0, h.centre[j] - shift);
            *(total > 1.0 ? &low : &high) = shift;
        }
        for (size_t j = 0; j < MOST; j++) {
            double d = fmax(0.0, h.centre[j] - low) - h.centre[j];
            best -= d * d;
            sum += coded[j];
        }
        assert_true(fabs(sum - 1.0) <= 1e-12);
        if (!(reached >= best - 1e-7))
            fail_msg("set %d: %.12g of %.12g", k, reached, best);
        bandit_arms_free(arms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_triangle),
        cmocka_unit_test(a_simplex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
