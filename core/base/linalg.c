#include "core/base/linalg.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/simd/simd.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bandit_status bandit_pivoted_cholesky(double *a, size_t n, double tolerance, uint32_t *pivot, size_t *rank,
                                      bandit_error *err)
{
    *rank = 0;
    if (n == 0)
        return BANDIT_OK;
    lapack_int *order = bandit_alloc(n, sizeof *order);
    double *work = bandit_alloc(2 * n, sizeof *work);
    bandit_status status = BANDIT_OK;
    if (!order || !work) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }

    lapack_int found = 0;
    lapack_int info = LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, a, (lapack_int)n, order,
                                          &found, tolerance, work);
    assert(info >= 0);
    /* dpstrf returns rank 0 only if the largest diagonal entry is not positive or is NaN. */
    if (found == 0 && isnan(a[0])) {
        status = bandit_fail(err, BANDIT_NUMERICAL, "", "a kernel matrix contains NaN");
        goto out;
    }
    *rank = (size_t)found;
    for (size_t i = 0; i < *rank; i++)
        pivot[i] = (uint32_t)(order[i] - 1);
out:
    free(order);
    free(work);
    return status;
}

bandit_status bandit_cholesky(double *a, size_t n, size_t ld, const char *what, bandit_error *err)
{
    lapack_int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, a, (lapack_int)ld);
    assert(info >= 0);
    if (info > 0)
        return bandit_fail(err, BANDIT_NUMERICAL, "", "%s is not positive definite at row %d of %zu", what,
                           (int)info, n);
    return BANDIT_OK;
}

bool bandit_reversed_cholesky(double *out, const double *M, size_t m, double shift)
{
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k; i < m;
             i++) /* entry (i, k) of the reversed matrix is entry (m−1−i, m−1−k), in the upper triangle */
            out[k * m + i] = M[(m - 1 - i) * m + (m - 1 - k)];
        out[k * m + k] += shift;
    }
    if (bandit_cholesky(out, m, m, "", NULL) != BANDIT_OK)
        return false;
    /* Replaces the factor G by J G' J, where J reverses the order: entry (i, k) becomes G(m−1−k, m−1−i). This
     * swaps the two halves of the lower triangle. */
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k; i < m - k; i++) {
            size_t other_row = m - 1 - k, other_column = m - 1 - i;
            double moved = out[k * m + i];
            out[k * m + i] = out[other_column * m + other_row];
            out[other_column * m + other_row] = moved;
        }
    }
    return true;
}

/* Whether OpenBLAS's dsymv kernel for this processor is known not to access memory beyond its arguments: the
 * kernels for processors with SSE4 or AVX, and all kernels that are not for x86. */
static bool lower_dsymv_is_usable(void)
{
#ifdef __x86_64__
    static const char *const usable[] = {"Nehalem",  "Sandybridge", "Haswell",       "Zen",
                                         "SkylakeX", "Cooperlake",  "SapphireRapids"};
    const char *name = openblas_get_corename();
    for (size_t i = 0; i < sizeof usable / sizeof *usable; i++) {
        if (strcmp(name, usable[i]) == 0)
            return true;
    }
    return false;
#else
    return true;
#endif
}

void bandit_symmetric_times_vector(double *out, const double *a, size_t n, size_t ld, const double *x)
{
    if (lower_dsymv_is_usable()) {
        cblas_dsymv(CblasColMajor, CblasLower, (int)n, 1.0, a, (int)ld, x, 1, 0.0, out, 1);
        return;
    }
    memset(out, 0, n * sizeof *out);
    for (size_t j = 0; j < n; j++) {
        const double *below = a + j * ld + j + 1;
        int rest = (int)(n - 1 - j);
        out[j] += a[j * ld + j] * x[j] + cblas_ddot(rest, below, 1, x + j + 1, 1);
        cblas_daxpy(rest, x[j], below, 1, out + j + 1, 1);
    }
}

bandit_status bandit_nearest_root(double *out, double *M, size_t n, bandit_error *err)
{
    lapack_int order = (lapack_int)n;
    double *values = bandit_alloc(n, sizeof *values);
    lapack_int info = LAPACK_WORK_MEMORY_ERROR;
    char triangle = 'L';
    if (!lower_dsymv_is_usable()) { /* dsyev calls dsymv */
        bandit_mirror_lower(M, n);
        triangle = 'U';
    }
    if (values)
        info = LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', triangle, order, M, order, values);
    if (info == 0) {
        /* Rows are sqrt(value) times the eigenvector. Their Gram matrix is the one required, and the Q of the
         * factorization does not change it. */
        for (size_t i = 0; i < n; i++) {
            cblas_dcopy(order, M + i * n, 1, out + i, order);
            cblas_dscal(order, sqrt(fmax(0.0, values[i])), out + i, order);
        }
        info = LAPACKE_dgeqlf(LAPACK_COL_MAJOR, order, order, out, order, values);
    }
    free(values);
    if (info == 0)
        return BANDIT_OK;
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return bandit_fail(err, BANDIT_NUMERICAL, "", "a symmetric matrix of order %zu has no eigenvalues", n);
}

bandit_status bandit_qr(double *a, size_t rows, size_t columns, double *r, bandit_error *err)
{
    lapack_int m = (lapack_int)rows, n = (lapack_int)columns;
    double *factors = bandit_alloc(columns, sizeof *factors);
    lapack_int info =
        factors ? LAPACKE_dgeqrf(LAPACK_COL_MAJOR, m, n, a, m, factors) : LAPACK_WORK_MEMORY_ERROR;
    for (size_t j = 0; info == 0 && j < columns; j++)
        memcpy(r + j * columns, a + j * rows, (j + 1) * sizeof *r);
    if (info == 0)
        info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, m, n, n, a, m, factors);
    free(factors);
    assert(info == 0 || info == LAPACK_WORK_MEMORY_ERROR);
    return info == 0 ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

/* x = A x for the lower triangular n x n matrix A: squares on the diagonal by SIMD loops, the part below each
 * by BLAS. The size of the squares is fixed, because the order of summation depends on it. */
static void multiply_lower(const bandit_simd *simd, size_t n, const double *a, size_t ld, double *x)
{
    enum { SQUARE = 64 };
    size_t first;
    for (size_t end = n; end > 0; end = first) {
        first = end > SQUARE ? end - SQUARE : 0;
        if (end < n)
            cblas_dgemv(CblasColMajor, CblasNoTrans, (int)(n - end), (int)(end - first), 1.0,
                        a + first * ld + end, (int)ld, x + first, 1, 1.0, x + end, 1);
        simd->multiply_lower(end - first, a + first * ld + first, ld, x + first);
    }
}

/* Larger triangles do not fit into the cache, and LAPACK's blocked inversion is faster. */
enum { LARGEST_BY_COLUMNS = 512 };

/* Small triangles are inverted column by column from the last, as in LAPACK's dtrti2. With X the inverse
 * of the triangle that follows a diagonal entry d, and l the column below d, the inverse's column is −X
 * l / d. OpenBLAS's dtrtri takes twice as long for these sizes, because it calls daxpy for each column of
 * a square. */
bandit_status bandit_invert_lower(double *l, size_t n, size_t ld, bandit_error *err)
{
    const bandit_simd *simd = bandit_simd_best();
    for (size_t k = 0; k < n; k++)
        if (l[k * ld + k] == 0.0)
            return bandit_fail(err, BANDIT_NUMERICAL, "", "a triangular factor is singular at row %zu of %zu",
                               k + 1, n);
    if (!simd->multiply_lower || n > LARGEST_BY_COLUMNS) {
        lapack_int info = LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', (lapack_int)n, l, (lapack_int)ld);
        assert(info == 0);
        (void)info;
        return BANDIT_OK;
    }
    for (size_t k = n; k-- > 0;) {
        size_t after = n - k - 1;
        double *diagonal = l + k * ld + k;
        *diagonal = 1.0 / *diagonal;
        if (after > 0) {
            multiply_lower(simd, after, diagonal + ld + 1, ld, diagonal + 1);
            cblas_dscal((int)after, -*diagonal, diagonal + 1, 1);
        }
    }
    return BANDIT_OK;
}

bandit_status bandit_invert_from_cholesky(double *l, size_t n, bandit_error *err)
{
    bandit_status status = bandit_invert_lower(l, n, n, err);
    if (status != BANDIT_OK)
        return status;
    lapack_int info = LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)n, l, (lapack_int)n);
    assert(info == 0);
    (void)info;
    return BANDIT_OK;
}

void bandit_mirror_lower(double *a, size_t n)
{
    enum { TILE = 16 };
    for (size_t column = 0; column < n; column += TILE) {
        for (size_t row = column; row < n; row += TILE) {
            size_t rows = row + TILE < n ? row + TILE : n, columns = column + TILE < n ? column + TILE : n;
            for (size_t j = column; j < columns; j++)
                for (size_t i = row > j ? row : j + 1; i < rows; i++)
                    a[i * n + j] = a[j * n + i];
        }
    }
}

double bandit_log_det(const double *l, size_t n, size_t ld)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += log(l[i * ld + i]);
    return 2.0 * sum;
}

/* Subtracts the part of the earlier columns from columns first … first + width − 1 of the factor, in `rows`
 * rows from row `from` on: a -= L_rows L_columns'. */
static void subtract_columns(double *a, size_t n, size_t first, size_t width, size_t from, size_t rows)
{
    if (first > 0)
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)rows, (int)width, (int)first, -1.0,
                    a + from, (int)n, a + first, (int)n, 1.0, a + first * n + from, (int)n);
}

/* Cholesky in place, in steps with checkpoints between them. *positive: whether there is one. Errors:
 * BANDIT_CANCELLED. */
static bandit_status factor_in_steps(bool *positive, double *a, size_t n, bandit_error *err)
{
    enum { STEP = 128 };
    *positive = true;
    for (size_t first = 0; first < n; first += STEP) {
        size_t width = n - first < STEP ? n - first : STEP;
        double *corner = a + first * n + first;
        for (size_t from = first; from < n; from += STEP) {
            size_t rows = n - from < STEP ? n - from : STEP;
            bandit_status status = bandit_pause_status(err);
            if (status != BANDIT_OK)
                return status;
            subtract_columns(a, n, first, width, from, rows);
            if (from == first)
                *positive =
                    LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)width, corner, (lapack_int)n) == 0;
            else
                cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows,
                            (int)width, 1.0, corner, (int)n, a + first * n + from, (int)n);
            if (!*positive)
                return BANDIT_OK;
        }
    }
    return BANDIT_OK;
}

bandit_status bandit_is_positive_definite(bool *out, const double *a, size_t n, double shift,
                                          bandit_error *err)
{
    double *copy = bandit_alloc(n, n * sizeof *copy);
    if (!copy)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(copy, a, n * n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i * n + i] += shift;
    bandit_status status = factor_in_steps(out, copy, n, err);
    free(copy);
    return status;
}

/* One step of the Lanczos iteration. basis: n x (step + 1), orthonormal. `next` becomes A * last,
 * orthogonalized against the basis twice (Parlett: "twice is enough"). Returns its norm, and the diagonal
 * entry in *diagonal. */
static double lanczos_step(double *diagonal, double *next, const double *a, size_t n, const double *basis,
                           size_t step, double *products)
{
    int size = (int)n, columns = (int)step + 1;
    const double *last = basis + step * n;
    bandit_symmetric_times_vector(next, a, n, n, last);
    *diagonal = cblas_ddot(size, last, 1, next, 1);
    for (int pass = 0; pass < 2; pass++) {
        cblas_dgemv(CblasColMajor, CblasTrans, size, columns, 1.0, basis, size, next, 1, 0.0, products, 1);
        cblas_dgemv(CblasColMajor, CblasNoTrans, size, columns, -1.0, basis, size, products, 1, 1.0, next, 1);
    }
    return cblas_dnrm2(size, next, 1);
}

bandit_status bandit_smallest_eigenvalue(double *out, const double *a, size_t n, bandit_error *err)
{
    enum { MAX_STEPS = 80 };
    size_t limit = n < MAX_STEPS ? n : MAX_STEPS, steps = 0;
    double diagonal[MAX_STEPS], off_diagonal[MAX_STEPS], products[MAX_STEPS + 1];
    double *basis = bandit_alloc((limit + 1) * n, sizeof *basis);
    if (!basis)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");

    /* A fixed start vector that is neither constant nor sparse, so that it is unlikely to be orthogonal to an
     * eigenvector. */
    for (size_t i = 0; i < n; i++)
        basis[i] = 1.0 + 0.5 * sin(1.0 + 12.9898 * (double)i);
    cblas_dscal((int)n, 1.0 / cblas_dnrm2((int)n, basis, 1), basis, 1);

    double scale = 0.0;
    bandit_status status = BANDIT_OK;
    while (steps < limit && (status = bandit_pause_status(err)) == BANDIT_OK) {
        double *next = basis + (steps + 1) * n;
        double norm = lanczos_step(&diagonal[steps], next, a, n, basis, steps, products);
        scale = fmax(scale, fabs(diagonal[steps]) + norm);
        off_diagonal[steps++] = norm;
        if (norm <= 1e-14 * scale)
            break; /* the Krylov space is invariant: the Ritz values are eigenvalues */
        cblas_dscal((int)n, 1.0 / norm, next, 1);
    }
    lapack_int info = LAPACKE_dsterf_work((lapack_int)steps, diagonal, off_diagonal);
    free(basis);
    if (status != BANDIT_OK)
        return status;
    if (info != 0)
        return bandit_fail(err, BANDIT_NUMERICAL, "",
                           "the eigenvalues of a tridiagonal matrix did not converge");
    *out = diagonal[0];
    return BANDIT_OK;
}
