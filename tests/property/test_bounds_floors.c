/* The best point within bounds that are measured, in 60 trials: the first points together, then one at a time.
 * BANDIT_TEST_FULL: the median of ten seeds; else of three. */
#include "tests/support/functions.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TRIALS = 60, FIRST = 6 /* as a server plans them */, MOST_SEEDS = 10, FEW_SEEDS = 3 };

static const double pi = 3.14159265358979323846;

/* Gardner et al. 2014, the first simulation: the first metric is best at 2 where the second is at least -1/2. */
static void gardner_1(const double *u, double *y)
{
    double a = 6.0 * u[0], b = 6.0 * u[1];
    y[0] = -(cos(2.0 * a) * cos(b) + sin(a));
    y[1] = -(cos(a) * cos(b) - sin(a) * sin(b));
    y[2] = 0.0;
}

/* The second one: -0.25324, where the second metric is at least 0.95. */
static void gardner_2(const double *u, double *y)
{
    double a = 6.0 * u[0], b = 6.0 * u[1];
    y[0] = -(sin(a) + b);
    y[1] = -sin(a) * sin(b);
    y[2] = 0.0;
}

/* Gramacy et al. 2016: -0.59979, where both other metrics are at least 0. */
static void gramacy(const double *x, double *y)
{
    y[0] = -(x[0] + x[1]);
    y[1] = 0.5 * sin(2.0 * pi * (x[0] * x[0] - 2.0 * x[1])) + x[0] + 2.0 * x[1] - 1.5;
    y[2] = 1.5 - x[0] * x[0] - x[1] * x[1];
}

/* Hartmann's function of six variables within the unit ball: 3.32237, where the second metric is at least -1. */
static void hartmann_6(const double *x, double *y)
{
    y[0] = function_hartmann6(x, NULL);
    y[1] = y[2] = 0.0;
    for (size_t i = 0; i < 6; i++)
        y[1] -= x[i] * x[i];
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How far the best trial within the bounds is from `best`. INFINITY: there is none. */
static double distance(size_t dimensions, uint64_t seed, const bandit_metric *metrics, size_t n,
                       several_measured *measure, double best)
{
    several s;
    double found = -INFINITY;
    several_open_cube(&s, dimensions, seed, metrics, n, measure);
    several_run(&s, FIRST, FIRST);
    several_run(&s, TRIALS, 1);
    for (size_t i = 0; i < TRIALS; i++) {
        bool within = true;
        for (size_t k = 1; k < n; k++)
            within = within && s.values[i][k] >= metrics[k].low;
        if (within)
            found = fmax(found, s.values[i][0]);
    }
    several_close(&s);
    return best - found;
}

/* In at least half of the seeds the distance is below a hundredth, and nearly all find a point within the bounds. */
static void expect_found(size_t dimensions, const bandit_metric *metrics, size_t n, several_measured *measure,
                         double best)
{
    size_t seeds = getenv("BANDIT_TEST_FULL") ? MOST_SEEDS : FEW_SEEDS, without = 0;
    double distances[MOST_SEEDS];
    for (size_t i = 0; i < seeds; i++) {
        distances[i] = distance(dimensions, i + 1, metrics, n, measure, best);
        without += isinf(distances[i]) ? 1 : 0;
        print_message("# seed %zu: %.3g\n", i + 1, distances[i]);
    }
    qsort(distances, seeds, sizeof *distances, compare_reals);
    assert_true(distances[seeds / 2] < 0.01);
    assert_true(10 * without <= seeds);
}

static void optimum_of_gardner_1_is_found(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(NAN), several_at_least(-0.5)};
    expect_found(2, metrics, 2, gardner_1, 2.0);
}

static void optimum_of_gardner_2_is_found(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(NAN), several_at_least(0.95)};
    expect_found(2, metrics, 2, gardner_2, -0.25324);
}

static void optimum_of_gramacy_is_found(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(NAN), several_at_least(0.0), several_at_least(0.0)};
    expect_found(2, metrics, 3, gramacy, -0.59979);
}

static void optimum_of_hartmann_6_is_found(void **unused)
{
    (void)unused;
    const bandit_metric metrics[] = {several_objective(NAN), several_at_least(-1.0)};
    expect_found(6, metrics, 2, hartmann_6, 3.32237);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimum_of_gardner_1_is_found),
        cmocka_unit_test(optimum_of_gardner_2_is_found),
        cmocka_unit_test(optimum_of_gramacy_is_found),
        cmocka_unit_test(optimum_of_hartmann_6_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
