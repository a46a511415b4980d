/* Points of cells, against points that were drawn at random and kept if the rules allow them, and against the moments
 * of a simplex. */
#include "core/insight/slices.h"

#include "core/arms/arms_storage.h"
#include "tests/support/dense_gp.h"
#include "tests/support/linear_rules.h"
#include "tests/support/must.h"
#include "tests/support/near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 64, MOST = LINEAR_RULES_PARAMETERS };

static const double ones[MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

typedef struct grid {
    linear_rules rules;
    bandit_arms *arms;
    bandit_slices slices;
} grid;

static void start(grid *g, size_t n)
{
    bandit_parameter parameters[MOST];
    bandit_error err = {0};
    for (size_t i = 0; i < n; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    must(bandit_arms_new_space(&g->arms, parameters, n, &err), &err);
    bandit_arms_constrain(g->arms, &g->rules.rules);
    must(bandit_slices_init(&g->slices, g->arms->space, POINTS, &err), &err);
}

static void finish(grid *g)
{
    bandit_slices_clear(&g->slices);
    bandit_arms_free(g->arms);
}

/* The points of a cell of the first two parameters. Returns how many there are. */
static size_t take(grid *g, double a, double b, double *coordinates)
{
    double fixed[MOST] = {a, b};
    bandit_genome genome;
    bandit_error err = {0};
    size_t taken;
    for (size_t i = 2; i < MOST; i++)
        fixed[i] = (double)NAN;
    must(bandit_genome_init(&genome, g->arms->space, fixed, 5, &err), &err);
    must(bandit_slices_take(&g->slices, &genome, coordinates, &taken, &err), &err);
    bandit_genome_clear(&genome);
    return taken;
}

/* With a sum of at most 1, or of 1, the others are uniform on a simplex of size T = 1 − a − b: of n of them, each has
 * the mean T / (n + 1), or T / n, and the second moment 2 T^2 / ((n + 1)(n + 2)), or 2 T^2 / (n (n + 1)). */
static void a_simplex_has_its_moments(void **state)
{
    enum { N = 12, REST = N - 2, SIDE = 8 };
    (void)state;
    for (int equality = 0; equality < 2; equality++) {
        grid g;
        double coordinates[POINTS * N], mean = 0.0, square = 0.0, cells = 0.0, n = REST + 1 - equality;
        linear_rules_init(&g.rules, N);
        linear_rules_add(&g.rules, ones, 1.0, equality);
        start(&g, N);
        for (size_t k = 0; k < (size_t)SIDE * SIDE; k++) {
            double a = (double)(k / SIDE) / SIDE, column = (double)(k % SIDE) / SIDE;
            double b = k / SIDE % 2 ? (SIDE - 1.0) / SIDE - column : column, left = 1.0 - a - b;
            size_t taken = take(&g, a, b, coordinates);
            if (left < 1e-9) {
                assert_true(left > -1e-9 || taken == 0);
                continue;
            }
            assert_int_equal(taken, POINTS);
            cells += 1.0;
            for (size_t i = 0; i < (size_t)POINTS * N; i++) {
                double x = coordinates[i] / left;
                if (i % N < 2)
                    continue;
                mean += x / (POINTS * REST);
                square += x * x / (POINTS * REST);
            }
        }
        /* measured: 1.005 and 1.026; the second was 1.13 with half as many rounds in a cell */
        assert_near(mean / cells * n, 1.0, 0.02);
        assert_near(square / cells * n * (n + 1.0) / 2.0, 1.0, 0.05);
        finish(&g);
    }
}

/* ---- a rule that is not linear --------------------------------------------------------------------------- */

enum { FOUR = 4, SIDE = 9 };

static bool allowed(const double *x)
{
    return x[0] + x[1] + x[2] + x[3] <= 1.5 && x[2] * x[3] <= 0.1 && x[2] >= x[0] * x[0] * x[3];
}

static double slack(const bandit_rules *rules, size_t i, const double *x)
{
    (void)rules;
    return i == 0 ? x[0] + x[1] + x[2] + x[3] - 1.5 : i == 1 ? x[2] * x[3] - 0.1 : x[0] * x[0] * x[3] - x[2];
}

/* The mean of what = 0: x2, 1: x3, 2: x2 x3 in a cell, and its standard deviation. */
static double mean_of(const double *x, size_t n, size_t what, double *deviation)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double *at = x + i * FOUR;
        double value = what == 0 ? at[2] : what == 1 ? at[3] : at[2] * at[3];
        sum += value;
        squares += value * value;
    }
    double mean = sum / (double)n;
    *deviation = sqrt(fmax(0.0, squares / (double)n - mean * mean));
    return mean;
}

static void cells_are_like_random_points(void **state)
{
    enum { DRAWN = 20000 };
    (void)state;
    grid g;
    double coordinates[POINTS * FOUR], *drawn = dense_alloc((size_t)DRAWN * FOUR, sizeof *drawn),
                                       squares[3] = {0}, errors[3] = {0}, cells = 0.0;
    uint64_t random = 3;
    linear_rules_init(&g.rules, FOUR);
    linear_rules_add(&g.rules, ones, 1.5, false);
    static const size_t all[FOUR] = {0, 1, 2, 3};
    for (size_t k = 1; k < 3; k++)
        g.rules.list[k] = (bandit_rule){.parameters = all, .n = FOUR};
    g.rules.rules.n = 3;
    g.rules.rules.slack = slack;
    start(&g, FOUR);
    for (size_t k = 0; k < (size_t)SIDE * SIDE; k++) {
        size_t row = k / SIDE, column = row % 2 ? SIDE - 1 - k % SIDE : k % SIDE, n = 0;
        double a = (double)row / (SIDE - 1), b = (double)column / (SIDE - 1);
        size_t taken = take(&g, a, b, coordinates);
        for (size_t i = 0; i < taken; i++)
            assert_true(allowed(coordinates + i * FOUR) && coordinates[i * FOUR] == a &&
                        coordinates[i * FOUR + 1] == b);
        for (size_t i = 0; i < DRAWN; i++) {
            double x[FOUR] = {a, b, dense_uniform(&random), dense_uniform(&random)};
            if (allowed(x))
                memcpy(drawn + FOUR * n++, x, sizeof x);
        }
        if (n < 100)
            continue; /* a thin rest, or none */
        assert_int_equal(taken, POINTS);
        cells += 1.0;
        for (size_t what = 0; what < 3; what++) {
            double deviation, own, expected = mean_of(drawn, n, what, &deviation);
            double z = (mean_of(coordinates, taken, what, &own) - expected) / deviation * sqrt(POINTS);
            squares[what] += z * z;
            errors[what] += z;
        }
    }
    assert_true(cells > 50.0);
    for (size_t what = 0; what < 3; what++) {
        /* measured: 0.81 to 1.04, and up to 0.014 */
        assert_true(squares[what] / cells < 2.0);
        assert_true(fabs(errors[what] / cells / sqrt(POINTS)) < 0.06);
    }
    free(drawn);
    finish(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simplex_has_its_moments),
        cmocka_unit_test(cells_are_like_random_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
