/* Gaussian processes the dense way, for tests that check the engine by other means: kernel matrices of all
 * arms, eigenvalues instead of pivoted factors, a fresh solve for every answer. Small problems only.
 * Variances are in the papers' scale (Bayesian / lambda). Matrices are column-major. Failures end the test.
 */
#ifndef TESTS_SUPPORT_DENSE_GP_H
#define TESTS_SUPPORT_DENSE_GP_H

#include <stddef.h>
#include <stdint.h>

/* K of n points of `dimension` (row-major) under the Gaussian kernel; n x n, the caller's to free. */
double *dense_gaussian(const double *points, size_t n, size_t dimension, double lengthscale);

/* Variances of the exact posterior of all n arms after counts[i] pulls of arm i ([BBKB] section 2):
 * (k_ii - k_i' (K_u + lambda diag(1/n))^{-1} k_i) / lambda. log_det_out (may be NULL): of I + K / lambda over
 * the pulls, each on its own row. */
void dense_exact_variance(const double *k, size_t n, double lambda, const uint64_t *counts, double *variance,
                          double *log_det_out);

/* z of all arms under a dictionary: z = D^{-1/2} U' k_S with K_S = U D U', eigenvalues above 1e-12 of the
 * largest. rank x n, the caller's to free. */
double *dense_embedding(const double *k, size_t n, const uint32_t *dictionary, size_t m, size_t *rank);

/* V = sum counts_i z_i z_i' + lambda I; rank x rank, the caller's to free. */
double *dense_design(const double *z, size_t rank, size_t n, const uint64_t *counts, double lambda);

/* out (n x n_columns) = Z' V^{-1} Z_C for the columns C of z; `columns` NULL: all. */
void dense_products(const double *z, size_t rank, size_t n, const double *v, const uint32_t *columns,
                    size_t n_columns, double *out);

/* Variances of all arms under V: (k_ii - |z_i|^2) / lambda + z_i' V^{-1} z_i. */
void dense_sparse_variance(const double *k, const double *z, size_t rank, size_t n, const double *v,
                           double lambda, double *variance);

/* Numbers of a small generator, on [0, 1); normal by twelve of them. */
double dense_uniform(uint64_t *state);
double dense_normal(uint64_t *state);

/* malloc that ends the test when memory is out. */
void *dense_alloc(size_t n, size_t size);

#endif
