#include "tests/support/dense_gp.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *dense_alloc(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    assert_non_null(p);
    return p;
}

double dense_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

double dense_normal(uint64_t *state)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += dense_uniform(state);
    return sum;
}

double *dense_gaussian(const double *points, size_t n, size_t dimension, double lengthscale)
{
    double *k = dense_alloc(n * n, sizeof *k);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double r2 = 0.0;
            for (size_t a = 0; a < dimension; a++) {
                double difference = points[i * dimension + a] - points[j * dimension + a];
                r2 += difference * difference;
            }
            k[j * n + i] = exp(-0.5 * r2 / (lengthscale * lengthscale));
        }
    }
    return k;
}

/* out <- A^{-1} B for positive definite A (order x order, destroyed); log det A in *log_det. */
static void solve(double *a, size_t order, double *b, size_t columns, double *log_det)
{
    lapack_int info = LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', (lapack_int)order, (lapack_int)columns, a,
                                    (lapack_int)order, b, (lapack_int)order);
    assert_int_equal(info, 0);
    *log_det = 0.0;
    for (size_t i = 0; i < order; i++)
        *log_det += 2.0 * log(a[i * order + i]);
}

void dense_exact_variance(const double *k, size_t n, double lambda, const uint64_t *counts, double *variance,
                          double *log_det_out)
{
    uint32_t *pulled = dense_alloc(n, sizeof *pulled);
    double *a = dense_alloc(n * n, sizeof *a), *b = dense_alloc(n * n, sizeof *b), log_det = 0.0;
    size_t u = 0;

    for (size_t i = 0; i < n; i++) {
        if (counts[i] > 0)
            pulled[u++] = (uint32_t)i;
    }
    for (size_t j = 0; j < u; j++) {
        for (size_t i = 0; i < u; i++)
            a[j * u + i] = k[(size_t)pulled[j] * n + pulled[i]];
        a[j * u + j] += lambda / (double)counts[pulled[j]];
    }
    for (size_t x = 0; x < n; x++) {
        for (size_t i = 0; i < u; i++)
            b[x * u + i] = k[x * n + pulled[i]];
    }
    if (u > 0)
        solve(a, u, b, n, &log_det);
    for (size_t x = 0; x < n; x++) {
        double explained = 0.0;
        for (size_t i = 0; i < u; i++)
            explained += k[x * n + pulled[i]] * b[x * u + i];
        variance[x] = (k[x * n + x] - explained) / lambda;
    }
    /* det(I + K / lambda) over pulls = det(I + N K_u / lambda) = det(K_u + lambda N^{-1}) det N / lambda^u.
     */
    for (size_t i = 0; i < u; i++)
        log_det += log((double)counts[pulled[i]] / lambda);
    if (log_det_out)
        *log_det_out = log_det;
    free(pulled);
    free(a);
    free(b);
}

double *dense_embedding(const double *k, size_t n, const uint32_t *dictionary, size_t m, size_t *rank)
{
    double *vectors = dense_alloc(m * m, sizeof *vectors), *values = dense_alloc(m, sizeof *values);
    for (size_t j = 0; j < m; j++) {
        for (size_t i = 0; i < m; i++)
            vectors[j * m + i] = k[(size_t)dictionary[j] * n + dictionary[i]];
    }
    assert_int_equal(LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)m, vectors, (lapack_int)m, values),
                     0);
    size_t first = 0; /* eigenvalues ascend */
    while (first < m && values[first] <= 1e-12 * values[m - 1])
        first++;
    *rank = m - first;
    double *z = dense_alloc(*rank * n, sizeof *z);
    for (size_t x = 0; x < n; x++) {
        for (size_t e = first; e < m; e++) {
            double sum = 0.0;
            for (size_t i = 0; i < m; i++)
                sum += vectors[e * m + i] * k[x * n + dictionary[i]];
            z[x * *rank + (e - first)] = sum / sqrt(values[e]);
        }
    }
    free(vectors);
    free(values);
    return z;
}

double *dense_design(const double *z, size_t rank, size_t n, const uint64_t *counts, double lambda)
{
    double *v = dense_alloc(rank * rank, sizeof *v);
    for (size_t x = 0; x < n; x++) {
        if (counts[x] > 0)
            cblas_dger(CblasColMajor, (int)rank, (int)rank, (double)counts[x], z + x * rank, 1, z + x * rank,
                       1, v, (int)rank);
    }
    for (size_t i = 0; i < rank; i++)
        v[i * rank + i] += lambda;
    return v;
}

void dense_products(const double *z, size_t rank, size_t n, const double *v, const uint32_t *columns,
                    size_t n_columns, double *out)
{
    double *a = dense_alloc(rank * rank, sizeof *a), *b = dense_alloc(rank * n_columns, sizeof *b), log_det;
    memcpy(a, v, rank * rank * sizeof *a);
    for (size_t c = 0; c < n_columns; c++)
        memcpy(b + c * rank, z + (columns ? columns[c] : c) * rank, rank * sizeof *b);
    solve(a, rank, b, n_columns, &log_det);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)n, (int)n_columns, (int)rank, 1.0, z, (int)rank,
                b, (int)rank, 0.0, out, (int)n);
    free(a);
    free(b);
}

void dense_sparse_variance(const double *k, const double *z, size_t rank, size_t n, const double *v,
                           double lambda, double *variance)
{
    double *products = dense_alloc(n * n, sizeof *products);
    dense_products(z, rank, n, v, NULL, n, products);
    for (size_t x = 0; x < n; x++) {
        double norm2 = cblas_ddot((int)rank, z + x * rank, 1, z + x * rank, 1);
        variance[x] = fmax(0.0, k[x * n + x] - norm2) / lambda + products[x * n + x];
    }
    free(products);
}
