/* Fronts that must be found in 100 trials, one at a time, with thresholds: the share of the best hypervolume.
 * BANDIT_TEST_FULL: the median of five seeds; else one seed. */
#include "bandit/front.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TRIALS = 100, MOST_SEEDS = 5 };

/* Both are minimized. */
static void zdt1(const double *x, double *y)
{
    double rest = 0.0;
    for (size_t i = 1; i < SEVERAL_SIDES; i++)
        rest += x[i];
    double g = 1.0 + 9.0 * rest / (SEVERAL_SIDES - 1);
    y[0] = -x[0];
    y[1] = -g * (1.0 - sqrt(x[0] / g));
}

static void dtlz2(const double *x, double *y)
{
    const double quarter = 1.5707963267948966;
    double g = 0.0;
    for (size_t i = 1; i < SEVERAL_SIDES; i++)
        g += (x[i] - 0.5) * (x[i] - 0.5);
    y[0] = -(1.0 + g) * cos(quarter * x[0]);
    y[1] = -(1.0 + g) * sin(quarter * x[0]);
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over the seeds of the share of `best` that the trials have. */
static double median_share(size_t dimensions, several_measured *measure, const double *reference, double best)
{
    size_t seeds = getenv("BANDIT_TEST_FULL") ? MOST_SEEDS : 1;
    double shares[MOST_SEEDS];
    const bandit_metric metrics[] = {several_objective(reference[0]), several_objective(reference[1])};
    for (size_t seed = 0; seed < seeds; seed++) {
        several s;
        double points[2 * TRIALS], volume;
        several_open_cube(&s, dimensions, seed + 1, metrics, 2, measure);
        several_run(&s, TRIALS, 1);
        for (size_t i = 0; i < 2 * (size_t)TRIALS; i++)
            points[i] = s.values[i / 2][i % 2];
        must(bandit_hypervolume(&volume, points, TRIALS, 2, reference, NULL), NULL);
        shares[seed] = volume / best;
        print_message("# seed %zu: %.4f\n", seed + 1, shares[seed]);
        several_close(&s);
    }
    qsort(shares, seeds, sizeof *shares, compare_reals);
    return shares[seeds / 2];
}

static void branin_currin_is_found(void **unused)
{
    (void)unused;
    const double reference[] = {-18.0, -6.0};
    assert_true(median_share(2, several_branin_currin, reference, 59.36) >= 0.985);
}

static void zdt1_is_found(void **unused)
{
    (void)unused;
    const double reference[] = {-1.1, -1.1};
    assert_true(median_share(SEVERAL_SIDES, zdt1, reference, 0.8767) >= 0.98);
}

static void dtlz2_is_found(void **unused)
{
    (void)unused;
    const double reference[] = {-1.1, -1.1};
    assert_true(median_share(SEVERAL_SIDES, dtlz2, reference, 1.21 - 0.7853981633974483) >= 0.93);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branin_currin_is_found),
        cmocka_unit_test(zdt1_is_found),
        cmocka_unit_test(dtlz2_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
