/* Candidate sets: storage, scaling, refusals. */
#include "bandit/arms.h"

#include "bandit/space.h"
#include "core/arms/arms_storage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bandit_arms *arms_of(const double *rows, size_t n, size_t d, bandit_scaling scaling, size_t reference)
{
    bandit_arms *arms = NULL;
    bandit_error err;
    assert_int_equal(bandit_arms_new(&arms, n, d, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, n, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, scaling, reference, &err), BANDIT_OK);
    return arms;
}

static void standardizes_over_the_reference(void **state)
{
    enum { N = 35, D = 3, REFERENCE = 20 };
    double rows[N * D];
    (void)state;
    for (size_t i = 0; i < N; i++) {
        rows[i * D] = (double)(i * i) - 7.0;
        rows[i * D + 1] = 42.125; /* constant within the reference, and after it not */
        rows[i * D + 2] = 1e9 + sin((double)i);
    }
    rows[(N - 1) * D + 1] = 43.0;
    bandit_arms *arms = arms_of(rows, N, D, BANDIT_SCALING_STANDARDIZE, REFERENCE);
    for (size_t j = 0; j < D; j += 2) {
        double m1 = 0.0, m2 = 0.0;
        for (size_t i = 0; i < REFERENCE; i++) {
            double x = bandit_arms_feature(arms, i, j);
            m1 += x / REFERENCE;
            m2 += x * x / REFERENCE;
        }
        assert_true(fabs(m1) < 1e-6 && fabs(m2 - 1.0) < 1e-6);
    }
    for (size_t i = 0; i < N; i++)
        assert_true(bandit_arms_feature(arms, i, 1) == 0.0);
    double point[D];
    bandit_arms_scale_point(arms, rows + 30 * D, point);
    for (size_t j = 0; j < D; j++)
        assert_true(point[j] == bandit_arms_feature(arms, 30, j));
    bandit_arms_free(arms);
}

static void unit_scaling(void **state)
{
    const double rows[] = {-2, 5, 0, 5, 6, 5};
    (void)state;
    bandit_arms *arms = arms_of(rows, 3, 2, BANDIT_SCALING_UNIT, 3);
    assert_true(bandit_arms_feature(arms, 0, 0) == 0.0);
    assert_true(bandit_arms_feature(arms, 1, 0) == 0.25);
    assert_true(bandit_arms_feature(arms, 2, 0) == 1.0);
    assert_true(bandit_arms_feature(arms, 2, 1) == 0.0);
    bandit_arms_free(arms);
}

static void extreme_units_do_not_overflow(void **state)
{
    const double rows[] = {1e300, 1e-300, 2e300, 2e-300, 3e300, 3e-300};
    (void)state;
    bandit_arms *arms = arms_of(rows, 3, 2, BANDIT_SCALING_STANDARDIZE, 3);
    for (size_t j = 0; j < 2; j++) {
        assert_true(fabs(bandit_arms_feature(arms, 0, j) + sqrt(1.5)) < 1e-12);
        assert_true(fabs(bandit_arms_feature(arms, 2, j) - sqrt(1.5)) < 1e-12);
    }
    bandit_arms_free(arms);
}

static void refuses_bad_sizes_and_values(void **state)
{
    bandit_arms *arms = (bandit_arms *)(uintptr_t)1;
    bandit_error err;
    (void)state;
    assert_int_equal(bandit_arms_new(&arms, 0, 3, &err), BANDIT_INVALID_ARMS);
    assert_null(arms);
    assert_int_equal(bandit_arms_new(&arms, 3, 0, &err), BANDIT_INVALID_ARMS);
    assert_int_equal(bandit_arms_new(&arms, (size_t)1 << 31, 3, &err), BANDIT_INVALID_ARMS);
    assert_int_equal(bandit_arms_new_precomputed(&arms, 0, &err), BANDIT_INVALID_ARMS);

    assert_int_equal(bandit_arms_new(&arms, 20, 2, &err), BANDIT_OK);
    const double bad[] = {0, 1, 2, NAN};
    assert_int_equal(bandit_arms_set_rows(arms, 17, 2, bad, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "row 18, column 1"));
    const double infinite[] = {INFINITY, 1};
    assert_int_equal(bandit_arms_set_rows(arms, 0, 1, infinite, &err), BANDIT_INVALID_ARMS);
    const double wide[] = {-1.7e308, 0, 1.7e308, 0};
    assert_int_equal(bandit_arms_set_rows(arms, 0, 2, wide, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_UNIT, 20, &err), BANDIT_INVALID_ARMS);
    bandit_arms_free(arms);
    /* Ranges whose inverse is no number, either way. */
    const double narrow[] = {0, 7, 5e-324, 7}, broad[] = {7, -1.7e308, 7, 1.7e308};
    for (int is_broad = 0; is_broad < 2; is_broad++) {
        assert_int_equal(bandit_arms_new(&arms, 2, 2, &err), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, 2, is_broad ? broad : narrow, &err), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_STANDARDIZE, 2, &err), BANDIT_INVALID_ARMS);
        assert_non_null(strstr(err.message, is_broad ? "column 1" : "column 0"));
        assert_non_null(strstr(err.message, is_broad ? "too large" : "too small"));
        bandit_arms_free(arms);
    }
    bandit_arms_free(NULL);
}

static bandit_status matrix_status(const double *rows, size_t n, bandit_error *err)
{
    bandit_arms *arms = NULL;
    assert_int_equal(bandit_arms_new_precomputed(&arms, n, err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, n, rows, err), BANDIT_OK);
    bandit_status status = bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, err);
    bandit_arms_free(arms);
    return status;
}

static void precomputed_matrices(void **state)
{
    bandit_error err;
    (void)state;
    const double good[] = {2, 1, 0, 1, 2, 1, 0, 1, 2};
    assert_int_equal(matrix_status(good, 3, &err), BANDIT_OK);
    const double singular[] = {1, 1, 1, 1};
    assert_int_equal(matrix_status(singular, 2, &err), BANDIT_OK);
    const double asymmetric[] = {1, 0.5, 0.4, 1};
    assert_int_equal(matrix_status(asymmetric, 2, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "not symmetric"));
    const double indefinite[] = {1, 2, 2, 1}; /* eigenvalues 3 and −1 */
    assert_int_equal(matrix_status(indefinite, 2, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "about -1"));
    const double zero[] = {0, 0, 0, 0};
    assert_int_equal(matrix_status(zero, 2, &err), BANDIT_INVALID_ARMS);
}

/* The largest diagonal entry is 1e8, so that halves of a pair may differ by 1, and an eigenvalue be -1: then
 * the matrix is taken, both halves as their mean. */
static void matrices_are_judged_by_their_largest_entry(void **state)
{
    bandit_error err;
    bandit_arms *arms;
    (void)state;
    for (size_t i = 0; i < 4; i++) { /* which of the two is the larger, and where the largest entry is */
        double rows[] = {1e8, 3.0, 0.0, 4.0, 50.0, 0.0, 0.0, 0.0, 60.0};
        if (i % 2) {
            rows[1] = 4.0;
            rows[3] = 3.0;
        }
        if (i / 2) {
            rows[0] = 60.0;
            rows[8] = 1e8;
        }
        assert_int_equal(bandit_arms_new_precomputed(&arms, 3, &err), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, 3, rows, &err), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 3, &err), BANDIT_OK);
        assert_true(arms->matrix[1] == 3.5 && arms->matrix[3] == 3.5);
        bandit_arms_free(arms);
        rows[i % 2 ? 1 : 3] = 4.0 + 0x1p-20;
        assert_int_equal(matrix_status(rows, 3, &err), BANDIT_INVALID_ARMS);
        assert_string_equal(err.message,
                            i % 2 ? "the kernel matrix is not symmetric: row 1, column 0 is 3, row 0, column "
                                    "1 is 4.0000009536743164"
                                  : "the kernel matrix is not symmetric: row 1, column 0 is "
                                    "4.0000009536743164, row 0, column 1 is 3");
    }
    const double nearly[] = {1e8, 1e8 + 0.5, 1e8 + 0.5, 1e8}, not [] = {1e8, 1e8 + 1.5, 1e8 + 1.5, 1e8};
    assert_int_equal(matrix_status(nearly, 2, &err), BANDIT_OK);
    assert_int_equal(matrix_status(not, 2, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "not positive semi-definite"));
}

/* 2^31 - 1 of anything are not refused for their number, one more is; a matrix of so many fits no memory. */
static void sets_have_a_largest_size(void **state)
{
    const size_t most = 0x7fffffff;
    bandit_arms *arms;
    bandit_error err;
    const double row[] = {1.0, 2.0};
    (void)state;
    assert_int_equal(bandit_arms_new_precomputed(&arms, most, &err), BANDIT_NO_MEMORY);
    assert_int_equal(bandit_arms_new_precomputed(&arms, most + 1, &err), BANDIT_INVALID_ARMS);
    assert_int_equal(bandit_arms_new(&arms, most + 1, 1, &err), BANDIT_INVALID_ARMS);
    assert_int_equal(bandit_arms_new(&arms, 1, most / BANDIT_TILE + 1, &err), BANDIT_INVALID_ARMS);
    assert_null(arms);
    arms = arms_of(row, 1, 2, BANDIT_SCALING_NONE, 1);
    assert_int_equal(bandit_arms_append(arms, row, most, &err), BANDIT_INVALID_ARMS);
    bandit_arms_free(arms);
}

/* What follows the last arm in its tile is 0, whatever the arms are scaled by, also when arms were added
 * and when adding some failed. */
static void tiles_are_padded_with_zeros(void **state)
{
    enum { D = 3 };
    double rows[40 * D];
    (void)state;
    for (size_t i = 0; i < 40 * D; i++)
        rows[i] = 1.0 + (double)(i * i % 23);
    for (size_t n = 1; n <= 33; n += 8) {
        bandit_arms *arms = arms_of(rows, n, D, BANDIT_SCALING_STANDARDIZE, n);
        for (int step = 0; step < 3; step++) {
            bandit_error err;
            if (step == 1)
                assert_int_equal(bandit_arms_append(arms, rows + n * D, 4, &err), BANDIT_OK);
            rows[(n + 6) * D] = step == 2 ? NAN : rows[(n + 6) * D];
            if (step == 2)
                assert_int_equal(bandit_arms_append(arms, rows + (n + 4) * D, 3, &err), BANDIT_INVALID_ARMS);
            for (size_t a = arms->n; a < arms->n_tiles * BANDIT_TILE; a++) {
                for (size_t j = 0; j < D; j++)
                    assert_true(bandit_arms_feature(arms, a, j) == 0.0);
            }
        }
        rows[(n + 6) * D] = 1.0;
        bandit_arms_free(arms);
    }
}

/* The table in which points are looked up is at most half full, and not much larger than that takes. */
static void tables_are_half_full_at_most(void **state)
{
    enum { MOST = 400 };
    const bandit_parameter parameter = {
        .type = BANDIT_PARAMETER_INTEGER, .max = 1e6, .parent = BANDIT_NO_PARENT};
    bandit_arms *arms;
    (void)state;
    assert_int_equal(bandit_arms_new_space(&arms, &parameter, 1, NULL), BANDIT_OK);
    for (size_t n = 1; n <= MOST; n++) {
        const double point = (double)(n * n);
        assert_int_equal(bandit_arms_append(arms, &point, 1, NULL), BANDIT_OK);
        size_t size = arms->space->n_table;
        assert_true(size >= 2 * n && (size == 64 || size < 4 * n));
        for (size_t a = 0; a < n; a++) {
            const double known = (double)((a + 1) * (a + 1)), unknown = -known;
            assert_int_equal(bandit_arms_find(arms, &known), a);
            assert_int_equal(bandit_arms_find(arms, &unknown), SIZE_MAX);
        }
    }
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standardizes_over_the_reference),
        cmocka_unit_test(unit_scaling),
        cmocka_unit_test(extreme_units_do_not_overflow),
        cmocka_unit_test(refuses_bad_sizes_and_values),
        cmocka_unit_test(precomputed_matrices),
        cmocka_unit_test(matrices_are_judged_by_their_largest_entry),
        cmocka_unit_test(sets_have_a_largest_size),
        cmocka_unit_test(tiles_are_padded_with_zeros),
        cmocka_unit_test(tables_are_half_full_at_most),
    };
    return cmocka_run_group_tests_name("arms", tests, NULL, NULL);
}
