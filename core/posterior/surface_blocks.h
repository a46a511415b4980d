/* Shared by surface.c and surface_grid.c: a surface's kernel columns and variances, in blocks of points. */
#ifndef CORE_POSTERIOR_SURFACE_BLOCKS_H
#define CORE_POSTERIOR_SURFACE_BLOCKS_H

#include "core/posterior/surface.h"

#include <cblas.h>

/* Points are evaluated in blocks of this many. It is fixed, because the order of summation depends on it. */
enum { BANDIT_SURFACE_BLOCK = 256 };

/* v = R v for the leading n rows of R, or v = R' v when transposed. */
void bandit_surface_apply(const bandit_surface *s, CBLAS_TRANSPOSE transpose, double *v);

/* Kernel columns of `rows` points with the first n of D, with leading dimension `ld` >= BANDIT_SURFACE_BLOCK; diagonal:
 * k(x, x). */
void bandit_surface_columns(bandit_surface *s, const double *coordinates, size_t rows, size_t n,
                            double *columns, size_t ld, double *diagonal);

/* Replaces block (rows x n, leading dimension BANDIT_SURFACE_BLOCK) by block R'; out = diagonal − squared norms of its
 * rows. */
void bandit_surface_block_variances(const bandit_surface *s, double *block, size_t rows, size_t n,
                                    const double *diagonal, double *out);

/* Adds the prior mean to the means of n points. */
void bandit_surface_add_prior(const bandit_surface *s, const double *coordinates, size_t n, double *mean);

#endif
