/* Kernel blocks against the textbook formulas, entry by entry. */
#include "bandit/kernel.h"

#include "core/arms/covariance.h"
#include "core/base/allocate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 37, D = 5 };

static double feature(size_t i, size_t j)
{
    return sin(1.0 + 3.7 * (double)i + 1.3 * (double)j * (double)(i % 7));
}

static bandit_arms *make_arms(void)
{
    double rows[N * D];
    bandit_arms *arms = NULL;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++)
            rows[i * D + j] = feature(i, j);
    memcpy(rows + 36 * D, rows + 3 * D, D * sizeof *rows); /* a duplicate */
    rows[35 * D] = rows[3 * D] + 1e-9;                     /* and a near one */
    for (size_t j = 1; j < D; j++)
        rows[35 * D + j] = rows[3 * D + j];
    assert_int_equal(bandit_arms_new(&arms, N, D, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    return arms;
}

static double textbook(const bandit_kernel *kernel, const bandit_arms *arms, size_t a, size_t b)
{
    double r2 = 0.0, dot = 0.0;
    for (size_t j = 0; j < D; j++) {
        double x = bandit_arms_feature(arms, a, j), y = bandit_arms_feature(arms, b, j);
        double l = kernel->n_lengthscales ? kernel->lengthscales[kernel->n_lengthscales == 1 ? 0 : j] : 1.0;
        r2 += (x - y) * (x - y) / (l * l);
        dot += x * y;
    }
    double r = sqrt(r2);
    if (kernel->type == BANDIT_KERNEL_LINEAR)
        return dot;
    if (kernel->type == BANDIT_KERNEL_GAUSSIAN)
        return exp(-r2 / 2.0);
    if (kernel->nu == 0.5)
        return exp(-r);
    if (kernel->nu == 1.5)
        return (1.0 + sqrt(3.0) * r) * exp(-sqrt(3.0) * r);
    return (1.0 + sqrt(5.0) * r + 5.0 * r2 / 3.0) * exp(-sqrt(5.0) * r);
}

static void blocks_match_the_formulas(void **state)
{
    const double one[] = {0.7}, ard[] = {0.3, 1.0, 2.5, 0.9, 40.0};
    const bandit_kernel kernels[] = {
        {BANDIT_KERNEL_GAUSSIAN, 0, one, 1, 0.0}, {BANDIT_KERNEL_GAUSSIAN, 0, ard, D, 0.0},
        {BANDIT_KERNEL_MATERN, 0.5, ard, D, 0.0}, {BANDIT_KERNEL_MATERN, 1.5, ard, D, 0.0},
        {BANDIT_KERNEL_MATERN, 2.5, one, 1, 0.0}, {BANDIT_KERNEL_LINEAR, 0, NULL, 0, 0.0},
    };
    enum { LD = 48, M = 9 };
    const uint32_t dictionary[M] = {3, 0, 36, 35, 17, 20, 9, 1, 30};
    uint32_t all[N];
    static double block[LD * M], tile[BANDIT_TILE * M], at[LD * M], diagonal[N], diagonal_at[N],
        scratch[D * BANDIT_TILE];
    static double coordinates[N * D];
    bandit_arms *arms = make_arms();
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        all[i] = i;
        for (size_t j = 0; j < D; j++)
            coordinates[i * D + j] = bandit_arms_feature(arms, i, j);
    }

    for (size_t t = 0; t < sizeof kernels / sizeof *kernels; t++) {
        const bandit_kernel *kernel = &kernels[t];
        bandit_covariance covariance;
        bandit_points points = {0};
        assert_int_equal(bandit_kernel_check(kernel, D, NULL), BANDIT_OK);
        assert_int_equal(bandit_covariance_init(&covariance, kernel, arms, NULL), BANDIT_OK);
        assert_int_equal(bandit_points_set(&points, &covariance, dictionary, M, NULL), BANDIT_OK);
        assert_int_equal(bandit_covariance_scratch(&covariance), D * BANDIT_TILE);
        bandit_covariance_block(&covariance, all, N, &points, block, LD, scratch);
        bandit_covariance_block_at(&covariance, coordinates, N, &points, at, LD, diagonal_at, scratch);
        bandit_covariance_diagonal(&covariance, all, N, diagonal);
        double kappa2 = 0.0;
        for (size_t i = 0; i < N; i++) {
            for (size_t k = 0; k < M; k++) {
                double expected = textbook(kernel, arms, i, dictionary[k]);
                assert_true(fabs(block[k * LD + i] - expected) <= 1e-13 * (1.0 + fabs(expected)));
                assert_true(at[k * LD + i] == block[k * LD + i]);
            }
            assert_true(fabs(diagonal[i] - textbook(kernel, arms, i, i)) < 1e-13);
            assert_true(diagonal_at[i] == diagonal[i]);
            kappa2 = fmax(kappa2, diagonal[i]);
        }
        assert_true(covariance.kappa2 == kappa2);
        for (size_t k = 0; k < M; k++) /* duplicates: the same bits */
            assert_true(block[k * LD + 3] == block[k * LD + 36]);
        for (size_t tile_index = 0; tile_index * BANDIT_TILE < N; tile_index++) {
            bandit_covariance_tile(&covariance, tile_index, &points, 2, M - 2, tile, BANDIT_TILE, scratch);
            for (size_t lane = 0; lane < BANDIT_TILE && tile_index * BANDIT_TILE + lane < N; lane++)
                for (size_t k = 2; k < M; k++)
                    assert_true(tile[(k - 2) * BANDIT_TILE + lane] ==
                                block[k * LD + tile_index * BANDIT_TILE + lane]);
        }
        bandit_points_clear(&points);
        bandit_covariance_clear(&covariance);
    }
    bandit_arms_free(arms);
}

/* The column of an arm has the same bits, whether the features are those of the arms or those of the points. What was in
 * the scratch memory before does not matter. */
static void columns_of_points_are_columns_of_arms(void **state)
{
    const double ard[] = {0.3, 1.0, 2.5, 0.9, 40.0};
    const bandit_kernel kernels[] = {{BANDIT_KERNEL_MATERN, 2.5, ard, D, 0.0},
                                     {BANDIT_KERNEL_LINEAR, 0, NULL, 0, 0.0}};
    uint32_t rows[N];
    bandit_arms *arms = make_arms();
    (void)state;
    for (uint32_t i = 0; i < N; i++)
        rows[i] = (i * 5) % N;
    for (size_t t = 0; t < sizeof kernels / sizeof *kernels; t++) {
        bandit_covariance covariance;
        assert_int_equal(bandit_covariance_init(&covariance, &kernels[t], arms, NULL), BANDIT_OK);
        for (size_t n = 1; n <= N; n++) {
            double column[48], of_points[48], scratch[D * BANDIT_TILE + D];
            bandit_points points = {0};
            assert_int_equal(bandit_points_set(&points, &covariance, rows, n, NULL), BANDIT_OK);
            bandit_covariance_column(&covariance, rows, n, 35, column, scratch);
            for (size_t i = 0; i < D * BANDIT_TILE + D; i++)
                scratch[i] = NAN;
            bandit_covariance_of_points(&covariance, &points, 35, of_points, scratch);
            assert_memory_equal(column, of_points, n * sizeof *column);
            bandit_points_clear(&points);
        }
        bandit_covariance_clear(&covariance);
    }
    bandit_arms_free(arms);
}

static void precomputed_entries(void **state)
{
    enum { SIZE = 18, LD = 32, M = 3 };
    double rows[SIZE * SIZE], block[LD * M], tile[BANDIT_TILE * M], diagonal[SIZE], column[BANDIT_TILE],
        unused[1];
    const uint32_t dictionary[M] = {17, 4, 9};
    uint32_t all[SIZE];
    bandit_arms *arms = NULL;
    bandit_covariance covariance;
    bandit_points points = {0};
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_PRECOMPUTED};
    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        all[i] = (uint32_t)i;
        for (size_t j = 0; j < SIZE; j++)
            rows[i * SIZE + j] = (double)(i + 1) * (double)(j + 1) + (i == j);
    }
    assert_int_equal(bandit_arms_new_precomputed(&arms, SIZE, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, SIZE, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, SIZE, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    assert_true(covariance.kappa2 == rows[SIZE * SIZE - 1]);
    assert_int_equal(bandit_points_set(&points, &covariance, dictionary, M, NULL), BANDIT_OK);
    bandit_covariance_block(&covariance, all, SIZE, &points, block, LD, NULL);
    bandit_covariance_tile(&covariance, 1, &points, 0, M, tile, BANDIT_TILE, NULL);
    bandit_covariance_diagonal(&covariance, all, SIZE, diagonal);
    bandit_covariance_of_points(&covariance, &points, 7, column, unused);
    for (size_t k = 0; k < M; k++)
        assert_true(column[k] == rows[7 * SIZE + dictionary[k]]);
    for (size_t i = 0; i < SIZE; i++) {
        assert_true(diagonal[i] == rows[i * SIZE + i]);
        for (size_t k = 0; k < M; k++) {
            assert_true(block[k * LD + i] == rows[i * SIZE + dictionary[k]]);
            if (i >= BANDIT_TILE)
                assert_true(tile[k * BANDIT_TILE + i - BANDIT_TILE] == rows[i * SIZE + dictionary[k]]);
        }
    }
    bandit_points_clear(&points);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

static void refusals_name_the_field(void **state)
{
    const double good[] = {1, 2}, bad[] = {1, 0}, nan[] = {NAN};
    const struct {
        bandit_kernel kernel;
        size_t dimension;
        const char *field;
    } cases[] = {
        {{BANDIT_KERNEL_MATERN, 2.0, good, 1, 0.0}, 2, "kernel/nu"},
        {{BANDIT_KERNEL_GAUSSIAN, 0, good, 2, 0.0}, 3, "kernel/lengthscale"},
        {{BANDIT_KERNEL_GAUSSIAN, 0, NULL, 0, 0.0}, 3, "kernel/lengthscale"},
        {{BANDIT_KERNEL_GAUSSIAN, 0, bad, 2, 0.0}, 2, "kernel/lengthscale"},
        {{BANDIT_KERNEL_GAUSSIAN, 0, nan, 1, 0.0}, 2, "kernel/lengthscale"},
        {{BANDIT_KERNEL_PRECOMPUTED, 0, NULL, 0, 0.0}, 2, "kernel/type"},
        {{BANDIT_KERNEL_LINEAR, 0, NULL, 0, 0.0}, 0, "kernel/type"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bandit_error err;
        assert_int_equal(bandit_kernel_check(&cases[i].kernel, cases[i].dimension, &err),
                         BANDIT_INVALID_OPTION);
        assert_string_equal(err.field, cases[i].field);
    }
}

/* Lengthscales are taken from 1e-150 to 1e150, each of those that there are; with one that differs by a bit
 * beyond they are not. */
static void lengthscales_have_ends(void **state)
{
    static const bandit_kernel kernels[] = {{.type = BANDIT_KERNEL_GAUSSIAN},
                                            {.type = BANDIT_KERNEL_MATERN, .nu = 0.5},
                                            {.type = BANDIT_KERNEL_MATERN, .nu = 1.5},
                                            {.type = BANDIT_KERNEL_MATERN, .nu = 2.5}};
    const double ends[] = {1e-150, 1e150}, beyond[] = {nextafter(1e-150, 0.0), nextafter(1e150, INFINITY)};
    (void)state;
    for (size_t i = 0; i < 4 * 3 * 2; i++) {
        double lengthscales[] = {1.0, 1.0, 1.0};
        bandit_kernel kernel = kernels[i % 4];
        kernel.lengthscales = lengthscales;
        for (size_t n = 1; n <= 3; n += 2) {
            size_t at = i / 4 % 3 % n;
            kernel.n_lengthscales = n;
            lengthscales[at] = ends[i / 12];
            assert_int_equal(bandit_kernel_check(&kernel, 3, NULL), BANDIT_OK);
            lengthscales[at] = beyond[i / 12];
            assert_int_equal(bandit_kernel_check(&kernel, 3, NULL), BANDIT_INVALID_OPTION);
            lengthscales[at] = 1.0;
        }
    }
}

/* No point of a space has a larger variance under the linear kernel than kappa^2, and where each parameter
 * can be as large as it may, one has that: numbers and switches add 1, of words one is 1/sqrt(2) at a time,
 * and all are counted. */
static void the_largest_variance_in_a_space(void **state)
{
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = -2.0, .max = 5.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 1.0, .max = 9.0, .parent = BANDIT_NO_PARENT}};
    const double largest[] = {1, 5.0, 1, 9.0};
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_LINEAR};
    bandit_error err = {0};
    (void)state;
    for (size_t first = 0; first < 4; first++) { /* with and without words, and each parameter in any place */
        for (size_t n = 1; first + n <= 4; n++) {
            bandit_arms *arms;
            bandit_covariance covariance;
            double coded[4], variance, words = first == 0 ? 1.0 : 0.0;
            uint32_t arm = 0;
            assert_int_equal(bandit_arms_new_space(&arms, parameters + first, n, &err), BANDIT_OK);
            memcpy(coded, largest + first, n * sizeof *coded);
            assert_int_equal(bandit_arms_append(arms, coded, 1, &err), BANDIT_OK);
            assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, &err), BANDIT_OK);
            bandit_covariance_diagonal(&covariance, &arm, 1, &variance);
            assert_true(fabs(variance - ((double)n - words + 0.5 * words)) < 1e-12);
            assert_true(fabs(covariance.kappa2 - ((double)n - words + 1.5 * words)) < 1e-12);
            bandit_covariance_clear(&covariance);
            bandit_arms_free(arms);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_match_the_formulas), cmocka_unit_test(columns_of_points_are_columns_of_arms),
        cmocka_unit_test(precomputed_entries),       cmocka_unit_test(the_largest_variance_in_a_space),
        cmocka_unit_test(refusals_name_the_field),   cmocka_unit_test(lengthscales_have_ends),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
