/* Thin wrappers around BLAS and LAPACK: sizes as size_t, statuses instead of info codes. Matrices are
 * column-major unless said otherwise. Element counts of a side stay below 2^31 (LAPACK's integers). */
#ifndef CORE_BASE_LINALG_H
#define CORE_BASE_LINALG_H

#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pivoted Cholesky of the positive semi-definite n x n matrix in `a` (lower triangle, leading dimension n;
 * overwritten): P' A P = L L', pivots taken while the largest remaining diagonal entry exceeds `tolerance`
 * (absolute). On return the leading rank x rank lower triangle of `a` is L and pivot[0 … rank−1] are the
 * rows of A kept, in the order of L.
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL (a NaN). LAPACK dpstrf. */
bandit_status bandit_pivoted_cholesky(double *a, size_t n, double tolerance, uint32_t *pivot, size_t *rank,
                                      bandit_error *err);

/* Cholesky in place of the lower triangle of the n x n matrix `a`, leading dimension ld: A = L L'. The
 * strict upper triangle is not touched. BANDIT_NUMERICAL, naming `what`, when not positive definite. */
bandit_status bandit_cholesky(double *a, size_t n, size_t ld, const char *what, bandit_error *err);

/* C lower triangular with C'C = M + shift I, M symmetric n x n with its lower triangle given; by Cholesky of
 * M with rows and columns reversed. `out` may not be M; its strict upper triangle is not specified. false:
 * not positive definite. */
bool bandit_reversed_cholesky(double *out, const double *M, size_t n, double shift);

/* The same of the positive semi-definite matrix nearest to M (eigenvalues below 0 become 0), whatever M is:
 * by its eigenvectors and a QL factorization, some twenty times as many operations. C's diagonal may have
 * zeros. M is overwritten; the strict upper triangle of `out` is not specified. Errors: BANDIT_NO_MEMORY,
 * BANDIT_NUMERICAL (a NaN, or no convergence). LAPACK dsyev, dgeqlf. */
bandit_status bandit_nearest_root(double *out, double *M, size_t n, bandit_error *err);

/* Inverse in place of the lower triangular n x n `l`, leading dimension ld. BANDIT_NUMERICAL if singular. */
bandit_status bandit_invert_lower(double *l, size_t n, size_t ld, bandit_error *err);

/* Lower triangle of A^{-1} in place of that of L, A = L L', leading dimension n. Errors: as above. */
bandit_status bandit_invert_from_cholesky(double *l, size_t n, bandit_error *err);

/* The strict upper triangle of the n x n `a` from the lower one, by tiles, which stay in the cache. */
void bandit_mirror_lower(double *a, size_t n);

/* 2 * sum of log of the n diagonal entries: log det(L L'). */
double bandit_log_det(const double *l, size_t n, size_t ld);

/* Is the symmetric n x n `a` (not changed) plus shift * I positive definite? */
bandit_status bandit_is_positive_definite(bool *out, const double *a, size_t n, double shift,
                                          bandit_error *err);

/* out = A x for the symmetric n x n matrix A, of which the lower triangle is given, leading dimension ld. By
 * dsymv where OpenBLAS's kernels allow it (see below), else column by column; nothing but the triangle is
 * read. `out` is neither x nor part of A.
 *
 * OpenBLAS 0.3.21 has kernels of dsymv for the lower triangle, written for SSE2, that reach beyond the end of
 * the result and crash where no memory follows. It takes them on old processors (Prescott, Core 2, Atom,
 * Barcelona) and on new ones that it does not know. */
void bandit_symmetric_times_vector(double *out, const double *a, size_t n, size_t ld, const double *x);

/* An upper estimate of the smallest eigenvalue of the symmetric n x n `a` (not changed): the smallest Ritz
 * value of at most 80 Lanczos steps with full reorthogonalization. */
bandit_status bandit_smallest_eigenvalue(double *out, const double *a, size_t n, bandit_error *err);

#endif
