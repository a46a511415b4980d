/* Thin wrappers around BLAS and LAPACK, with sizes as size_t and statuses instead of info codes. Matrices are
 * column-major unless stated otherwise. Each side has fewer than 2^31 elements (LAPACK's integers). */
#ifndef CORE_BASE_LINALG_H
#define CORE_BASE_LINALG_H

#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pivoted Cholesky of the positive semi-definite n x n matrix in `a` (lower triangle, leading dimension n;
 * overwritten): P' A P = L L'. Pivots are taken while the largest remaining diagonal entry exceeds
 * `tolerance` (absolute). On return the leading rank x rank lower triangle of `a` is L, and pivot[0 … rank−1]
 * are the rows of A that were kept, in the order of L. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL (a NaN).
 * LAPACK dpstrf. */
bandit_status bandit_pivoted_cholesky(double *a, size_t n, double tolerance, uint32_t *pivot, size_t *rank,
                                      bandit_error *err);

/* Cholesky in place of the lower triangle of the n x n matrix `a`, leading dimension ld: A = L L'. The strict
 * upper triangle is not touched. Returns BANDIT_NUMERICAL, naming `what`, if the matrix is not positive
 * definite. */
bandit_status bandit_cholesky(double *a, size_t n, size_t ld, const char *what, bandit_error *err);

/* Computes the lower triangular C with C'C = M + shift I, for symmetric n x n M given by its lower triangle.
 * It is the Cholesky factorization of M with rows and columns reversed. `out` must not be M; its strict upper
 * triangle is unspecified. Returns false if the matrix is not positive definite. */
bool bandit_reversed_cholesky(double *out, const double *M, size_t n, double shift);

/* The same for the positive semi-definite matrix nearest to M (negative eigenvalues become 0), whatever M is.
 * It uses eigenvectors and a QL factorization, about twenty times as many operations. C may have zeros on its
 * diagonal. M is overwritten; the strict upper triangle of `out` is unspecified. Errors: BANDIT_NO_MEMORY,
 * BANDIT_NUMERICAL (a NaN, or no convergence). LAPACK dsyev, dgeqlf. */
bandit_status bandit_nearest_root(double *out, double *M, size_t n, bandit_error *err);

/* QR factorization of the rows x columns matrix in `a`, rows >= columns > 0: a becomes Q, and `r` (columns x columns) the
 * upper triangular R; its strict lower triangle is unspecified. Errors: BANDIT_NO_MEMORY. LAPACK dgeqrf, dorgqr. */
bandit_status bandit_qr(double *a, size_t rows, size_t columns, double *r, bandit_error *err);

/* Inverts the lower triangular n x n `l` in place, leading dimension ld. Returns BANDIT_NUMERICAL if it is
 * singular. */
bandit_status bandit_invert_lower(double *l, size_t n, size_t ld, bandit_error *err);

/* Replaces the lower triangle of L by that of A^{-1}, A = L L', leading dimension n. Errors: as above. */
bandit_status bandit_invert_from_cholesky(double *l, size_t n, bandit_error *err);

/* Copies the lower triangle of the n x n `a` to the upper one, by tiles that stay in the cache. */
void bandit_mirror_lower(double *a, size_t n);

/* log det(L L'): twice the sum of the logarithms of the n diagonal entries. */
double bandit_log_det(const double *l, size_t n, size_t ld);

/* Sets *out to whether the symmetric n x n `a` (not changed) plus shift * I is positive definite. A large one takes
 * seconds, with checkpoints. Errors: BANDIT_NO_MEMORY, BANDIT_CANCELLED. */
bandit_status bandit_is_positive_definite(bool *out, const double *a, size_t n, double shift,
                                          bandit_error *err);

/* out = A x for the symmetric n x n matrix A given by its lower triangle, leading dimension ld. It uses dsymv
 * where OpenBLAS's kernel allows it (see below), and otherwise goes column by column. Only the lower triangle
 * is read. `out` must be neither x nor part of A.
 *
 * OpenBLAS 0.3.21 has kernels of dsymv for the lower triangle, written for SSE2, that access memory beyond
 * the end of the result and may crash. It uses them on old processors (Prescott, Core 2, Atom, Barcelona) and
 * on new ones that it does not recognize. */
void bandit_symmetric_times_vector(double *out, const double *a, size_t n, size_t ld, const double *x);

/* An upper estimate of the smallest eigenvalue of the symmetric n x n `a` (not changed): the smallest Ritz
 * value of at most 80 Lanczos steps with full reorthogonalization. */
bandit_status bandit_smallest_eigenvalue(double *out, const double *a, size_t n, bandit_error *err);

#endif
