/* Blocks of embedded arms, shared by sparse_posterior.c and sparse_evaluation.c: one row per arm, one column
 * per member of the dictionary, column-major with leading dimension BANDIT_BLOCK. */
#ifndef CORE_POSTERIOR_SPARSE_BLOCKS_H
#define CORE_POSTERIOR_SPARSE_BLOCKS_H

#include "core/arms/arms_storage.h"

#include <cblas.h>
#include <string.h>

/* Arms are embedded in blocks of this many rows. It is fixed, because the order of summation depends on
 * it. */
enum { BANDIT_BLOCK = 256 };

/* block <- block T^{-T} for the rows x m matrix `block` (leading dimension BANDIT_BLOCK) and the lower
 * triangle T. This turns kernel columns into z, and z into w. */
static inline void bandit_solve_rows(const double *triangle, size_t m, double *block, size_t rows)
{
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows, (int)m, 1.0,
                triangle, (int)m, block, BANDIT_BLOCK);
}

/* out[row] = squared norm of the row, summed in column order. */
static inline void bandit_row_norms(const double *block, size_t m, size_t rows, double *out)
{
    memset(out, 0, rows * sizeof *out);
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < rows; i++)
            out[i] += block[k * BANDIT_BLOCK + i] * block[k * BANDIT_BLOCK + i];
    }
}

#endif
