/* Blocks of embedded arms, for sparse_posterior.c and sparse_evaluation.c: rows are arms, columns the members
 * of the dictionary, column-major with leading dimension BANDIT_BLOCK. */
#ifndef CORE_POSTERIOR_SPARSE_BLOCKS_H
#define CORE_POSTERIOR_SPARSE_BLOCKS_H

#include "core/arms/arms_storage.h"

#include <cblas.h>
#include <string.h>

/* Arms are embedded in blocks of this many rows. Fixed: it is part of the order of sums. */
enum { BANDIT_BLOCK = 256 };

/* block <- block T^{-T} for the rows x m matrix `block` (leading dimension BANDIT_BLOCK): z or w of each row.
 */
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
