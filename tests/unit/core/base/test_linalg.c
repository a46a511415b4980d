/* LAPACK wrappers, against matrices whose factors and eigenvalues are known in closed form. */
#include "bandit/executor.h"
#include "core/base/linalg.h"

#include <cblas.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void pivoted_cholesky_finds_the_rank(void **state)
{
    /* Gram matrix of five vectors in the plane: rank 2, whatever the order. */
    enum { N = 5 };
    const double x[N][2] = {{1, 0}, {3, 4}, {1, 1e-9}, {-3, -4}, {0, 1}};
    double gram[N * N], a[N * N];
    uint32_t pivot[N];
    size_t rank;
    bandit_error err;
    (void)state;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = gram[i * N + j] = x[i][0] * x[j][0] + x[i][1] * x[j][1];
    assert_int_equal(bandit_pivoted_cholesky(a, N, 1e-10, pivot, &rank, &err), BANDIT_OK);
    assert_int_equal(rank, 2);
    assert_int_equal(pivot[0], 1);
    for (size_t i = 0; i < rank; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t k = 0; k <= j; k++)
                sum += a[k * N + i] * a[k * N + j];
            assert_true(fabs(sum - gram[pivot[i] * N + pivot[j]]) < 1e-12);
        }
    }
    assert_int_equal(bandit_pivoted_cholesky(a, 0, 1e-10, pivot, &rank, &err), BANDIT_OK);
    assert_int_equal(rank, 0);
    double nan[1] = {NAN};
    assert_int_equal(bandit_pivoted_cholesky(nan, 1, 1e-10, pivot, &rank, &err), BANDIT_NUMERICAL);
}

static void qr_has_orthonormal_columns(void **state)
{
    enum { ROWS = 5, COLUMNS = 3 };
    double a[ROWS * COLUMNS], q[ROWS * COLUMNS], r[COLUMNS * COLUMNS];
    bandit_error err;
    (void)state;
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        a[i] = q[i] = sin(1.0 + (double)(i * i));
    assert_int_equal(bandit_qr(q, ROWS, COLUMNS, r, &err), BANDIT_OK);
    for (size_t j = 0; j < COLUMNS; j++) {
        for (size_t k = 0; k <= j; k++) {
            double product = cblas_ddot(ROWS, q + j * ROWS, 1, q + k * ROWS, 1);
            assert_true(fabs(product - (j == k ? 1.0 : 0.0)) < 1e-14);
        }
        for (size_t i = 0; i < ROWS; i++) {
            double sum = 0.0;
            for (size_t k = 0; k <= j; k++)
                sum += q[k * ROWS + i] * r[j * COLUMNS + k];
            assert_true(fabs(sum - a[j * ROWS + i]) < 1e-14);
        }
    }
}

static void cholesky_inverse_and_determinant(void **state)
{
    /* L = [2 0; 1 3], A = L L' = [4 2; 2 10]. */
    double a[] = {4, 2, 2, 10};
    bandit_error err;
    (void)state;
    assert_int_equal(bandit_cholesky(a, 2, 2, "A", &err), BANDIT_OK);
    assert_true(a[0] == 2.0 && a[1] == 1.0 && a[3] == 3.0);
    assert_true(fabs(bandit_log_det(a, 2, 2) - log(36.0)) < 1e-15);
    assert_int_equal(bandit_invert_lower(a, 2, 2, &err), BANDIT_OK);
    assert_true(fabs(a[0] - 0.5) < 1e-15 && fabs(a[1] + 1.0 / 6.0) < 1e-15 && fabs(a[3] - 1.0 / 3.0) < 1e-15);
    double singular[] = {1, 2, 0, 0}; /* [1 0; 2 0] */
    assert_int_equal(bandit_invert_lower(singular, 2, 2, &err), BANDIT_NUMERICAL);
    assert_non_null(strstr(err.message, "row 2 of 2"));
    double indefinite[] = {1, 2, 2, 1};
    assert_int_equal(bandit_cholesky(indefinite, 2, 2, "A", &err), BANDIT_NUMERICAL);
}

/* The lower triangle of ones is the inverse of the difference matrix: 1 on the diagonal, −1 below it. A = L
 * L' then has the inverse D'D, 2 on the diagonal (1 at its end) and −1 beside it. All of it in whole numbers.
 */
static void inverses_of_all_sizes(void **state)
{
    enum { EACH = 150, MOST = 520, LD = MOST + 1 }; /* small ones go one way, large ones another */
    static double l[MOST * LD], a[MOST * MOST];
    bandit_error err;
    (void)state;
    for (size_t n = 1; n <= MOST; n = n == EACH ? MOST : n + 1) {
        for (size_t k = 0; k < n; k++) {
            for (size_t i = 0; i < LD; i++)
                l[k * LD + i] = i < k || i >= n ? NAN : 1.0;
            for (size_t i = 0; i < n; i++)
                a[k * n + i] = i < k ? 5.0 : 1.0;
        }
        assert_int_equal(bandit_invert_lower(l, n, LD, &err), BANDIT_OK);
        assert_int_equal(bandit_invert_from_cholesky(a, n, &err), BANDIT_OK);
        for (size_t k = 0; k < n; k++) {
            for (size_t i = 0; i < LD; i++) {
                double expected = i == k ? 1.0 : i == k + 1 ? -1.0 : 0.0;
                assert_true(i < k || i >= n ? isnan(l[k * LD + i]) : l[k * LD + i] == expected);
            }
            for (size_t i = 0; i < n; i++) {
                double expected = i == k ? (k + 1 < n ? 2.0 : 1.0) : i == k + 1 ? -1.0 : 0.0;
                assert_true(a[k * n + i] == (i < k ? 5.0 : expected));
            }
        }
    }
    a[0] = 0.0;
    assert_int_equal(bandit_invert_from_cholesky(a, 1, &err), BANDIT_NUMERICAL);
}

static void triangles_are_mirrored(void **state)
{
    enum { MOST = 53 };
    static double a[MOST * MOST + 1];
    (void)state;
    for (size_t n = 1; n <= MOST; n++) {
        for (size_t i = 0; i < n * n; i++)
            a[i] = i % n >= i / n ? (double)i : NAN;
        a[n * n] = 7.0;
        bandit_mirror_lower(a, n);
        for (size_t column = 0; column < n; column++) {
            for (size_t row = column; row < n; row++) {
                assert_true(a[column * n + row] == (double)(column * n + row));
                assert_true(a[row * n + column] == a[column * n + row]);
            }
        }
        assert_true(a[n * n] == 7.0);
    }
}

static void the_nearest_root_leaves_out_negative_eigenvalues(void **state)
{
    /* The path graph's matrix less 0.5 has eigenvalues 2 − 2 cos(k pi / (n+1)) − 0.5 and eigenvectors
     * sqrt(2/(n+1)) sin(i k pi / (n+1)). */
    enum { N = 12 };
    const double step = 3.14159265358979323846 / (N + 1);
    double M[N * N] = {0.0}, C[N * N];
    bandit_error err;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        M[i * N + i] = 2.0 - 0.5;
        if (i + 1 < N)
            M[i * N + i + 1] = -1.0; /* the upper triangle is not looked at */
    }
    assert_false(bandit_reversed_cholesky(C, M, N, 1e-9));
    assert_int_equal(bandit_nearest_root(C, M, N, &err), BANDIT_OK);
    size_t left_out = 0;
    for (size_t k = 1; k <= N; k++)
        left_out += 2.0 - 2.0 * cos((double)k * step) < 0.5;
    assert_true(left_out >= 2);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j <= i; j++) {
            double expected = 0.0, found = 0.0;
            for (size_t k = 1; k <= N; k++)
                expected += fmax(0.0, 1.5 - 2.0 * cos((double)k * step)) * 2.0 / (N + 1) *
                            sin((double)((i + 1) * k) * step) * sin((double)((j + 1) * k) * step);
            for (size_t r = i; r < N; r++)
                found += C[i * N + r] * C[j * N + r];
            assert_true(fabs(found - expected) < 1e-13);
        }
    }
    double nan[] = {1, NAN, 0, 1};
    assert_int_equal(bandit_nearest_root(C, nan, 2, &err), BANDIT_NUMERICAL);
}

static void smallest_eigenvalue_of_the_path_graph(void **state)
{
    /* The second-difference matrix has eigenvalues 2 − 2 cos(k pi / (n+1)). */
    enum { N = 40 };
    double a[N * N] = {0.0}, smallest;
    bandit_error err;
    bool positive;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        a[i * N + i] = 2.0 - 0.5;
        if (i + 1 < N)
            a[i * N + i + 1] = a[(i + 1) * N + i] = -1.0;
    }
    double expected = 2.0 - 2.0 * cos(3.14159265358979323846 / (N + 1)) - 0.5;
    assert_int_equal(bandit_smallest_eigenvalue(&smallest, a, N, &err), BANDIT_OK);
    assert_true(fabs(smallest - expected) < 1e-12);
    assert_int_equal(bandit_is_positive_definite(&positive, a, N, 0.0, &err), BANDIT_OK);
    assert_false(positive);
    assert_int_equal(bandit_is_positive_definite(&positive, a, N, 0.5, &err), BANDIT_OK);
    assert_true(positive);
    const double first[] = {-0.5, 0, 0, 1}, last[] = {1, 0, 0, -0.5}; /* the shift is of every eigenvalue */
    assert_int_equal(bandit_is_positive_definite(&positive, first, 2, 0.75, &err), BANDIT_OK);
    assert_true(positive);
    assert_int_equal(bandit_is_positive_definite(&positive, last, 2, 0.75, &err), BANDIT_OK);
    assert_true(positive);
    assert_int_equal(bandit_is_positive_definite(&positive, last, 2, 0.25, &err), BANDIT_OK);
    assert_false(positive);
}

static bool is_over(void *arg)
{
    int *left = arg;
    return --*left < 0;
}

/* Larger than a step of the factorization, with an eigenvalue of zero that the shift lifts; and it can be given up. */
static void large_matrices_are_factored_in_steps(void **state)
{
    (void)state;
    const size_t sizes[] = {127, 128, 129, 300};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = sizes[k];
        double *a = calloc(n * n, sizeof *a);
        bandit_error err = {0};
        bool positive;
        int left = 1;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < n; j++)
                a[i * n + j] = (i == j ? (double)n : 0.0) - 1.0; /* n I - 11': eigenvalues n and, of 1, 0 */
        }
        assert_int_equal(bandit_is_positive_definite(&positive, a, n, 1e-6, &err), BANDIT_OK);
        assert_true(positive);
        assert_int_equal(bandit_is_positive_definite(&positive, a, n, -1e-6, &err), BANDIT_OK);
        assert_false(positive);
        bandit_on_pause(is_over, &left);
        bool large = n > 128; /* the second step is not begun */
        assert_int_equal(bandit_is_positive_definite(&positive, a, n, 1e-6, &err),
                         large ? BANDIT_CANCELLED : BANDIT_OK);
        bandit_on_pause(NULL, NULL);
        free(a);
    }
}

enum { LARGEST = 70, PAGE = 4096 };

/* n numbers that end where no memory follows. */
static double *at_the_end_of_memory(size_t n)
{
    size_t bytes = (n * sizeof(double) + PAGE - 1) / PAGE * PAGE;
    char *start = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(start != MAP_FAILED);
    assert_int_equal(mprotect(start + bytes, PAGE, PROT_NONE), 0);
    return (double *)(void *)(start + bytes) - n;
}

static void give_back(double *numbers, size_t n)
{
    size_t bytes = (n * sizeof(double) + PAGE - 1) / PAGE * PAGE;
    assert_int_equal(munmap((char *)(numbers + n) - bytes, bytes + PAGE), 0);
}

/* All sizes up to LARGEST; the strict upper triangle is not a number. */
static void symmetric_products_stay_inside_of_their_arguments(void **state)
{
    (void)state;
    for (size_t n = 1; n <= LARGEST; n++) {
        double *a = at_the_end_of_memory(n * n), *x = at_the_end_of_memory(n), *out = at_the_end_of_memory(n);
        for (size_t j = 0; j < n; j++) {
            x[j] = sin((double)j);
            for (size_t i = 0; i < n; i++)
                a[j * n + i] = i < j ? NAN : cos((double)(i + 3 * j));
        }
        bandit_symmetric_times_vector(out, a, n, n, x);
        for (size_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (size_t j = 0; j < n; j++)
                sum += (i < j ? cos((double)(j + 3 * i)) : cos((double)(i + 3 * j))) * x[j];
            assert_true(fabs(sum - out[i]) < 1e-13 * (double)n);
        }
        give_back(a, n * n);
        give_back(x, n);
        give_back(out, n);
    }
}

/* The tests of this file once more with OpenBLAS's kernels for SSE2, which it reads at its start. */
static void the_same_with_kernels_of_old_processors(void **state)
{
    (void)state;
    if (getenv("OPENBLAS_CORETYPE"))
        skip();
    char program[4096]; /* by its name: under valgrind the link itself leads to valgrind */
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(length > 0);
    program[length] = '\0';
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("OPENBLAS_CORETYPE", "Prescott", 1);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(126);
        execl(program, "test_linalg", (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pivoted_cholesky_finds_the_rank),
        cmocka_unit_test(qr_has_orthonormal_columns),
        cmocka_unit_test(cholesky_inverse_and_determinant),
        cmocka_unit_test(inverses_of_all_sizes),
        cmocka_unit_test(triangles_are_mirrored),
        cmocka_unit_test(the_nearest_root_leaves_out_negative_eigenvalues),
        cmocka_unit_test(smallest_eigenvalue_of_the_path_graph),
        cmocka_unit_test(large_matrices_are_factored_in_steps),
        cmocka_unit_test(symmetric_products_stay_inside_of_their_arguments),
        cmocka_unit_test(the_same_with_kernels_of_old_processors),
    };
    openblas_set_num_threads(1); /* as the server does; several threads would work in buffers of their own */
    return cmocka_run_group_tests_name("linalg", tests, NULL, NULL);
}
