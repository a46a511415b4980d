/* Candidate sets: storage, scaling, refusals. */
#include "bandit/arms.h"

#include "arms_storage.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standardizes_over_the_reference),
        cmocka_unit_test(unit_scaling),
        cmocka_unit_test(extreme_units_do_not_overflow),
        cmocka_unit_test(refuses_bad_sizes_and_values),
        cmocka_unit_test(precomputed_matrices),
    };
    return cmocka_run_group_tests_name("arms", tests, NULL, NULL);
}
