/* A kernel bound to a set of arms: entries k(x, x') in blocks.
 *
 * Coordinates are divided once per block by the lengthscales, and multiplied by the constant inside the
 * kernel's formula. An entry then depends only on s = sum_j (x_j − x'_j)^2. These direct differences do not
 * cancel for near-duplicates. Blocks are column-major as in BLAS: rows are arms, columns are points,
 * out[column * ld + row]. Rows come in whole tiles. */
#ifndef CORE_ARMS_COVARIANCE_H
#define CORE_ARMS_COVARIANCE_H

#include "bandit/arms.h"
#include "bandit/kernel.h"
#include "bandit/status.h"
#include "core/arms/arms_storage.h"
#include "core/simd/simd.h"

#include <stddef.h>
#include <stdint.h>

typedef struct bandit_covariance {
    const bandit_arms *arms; /* borrowed */
    bandit_profile profile;
    const bandit_simd *simd; /* version of the inner loops; may be changed before anything is built */
    size_t dimension;
    double short_share; /* as in bandit_kernel; 0 unless the kernel is stationary */
    double *factor;     /* dimension: what each coordinate is multiplied by, 1 for the linear kernel; owned */
    double kappa2;      /* max of k(x, x) over the arms; 0 only if all arms are 0 under the linear kernel */
    /* Mean of the process (core/posterior/prior_mean.h); borrowed. NULL: 0. */
    const struct bandit_prior_mean *prior;
} bandit_covariance;

/* Arms prepared as the columns of a block, such as a dictionary. Owned by the caller that sets them. */
typedef struct bandit_points {
    size_t n, capacity, capacity_features;
    uint32_t *arms;   /* n */
    double *features; /* n x dimension, row-major, multiplied by `factor` */
} bandit_points;

/* Initializes *out. The options must have been checked (bandit_kernel_check). `kernel` and its lengthscales
 * are not kept; `arms` is borrowed. The caller owns *out, and clears it with bandit_covariance_clear. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_covariance_init(bandit_covariance *out, const bandit_kernel *kernel,
                                     const bandit_arms *arms, bandit_error *err);
void bandit_covariance_clear(bandit_covariance *covariance);

/* Returns BANDIT_INVALID_OPTION, naming the field, unless the kernel fits arms with this dimension (0:
 * precomputed). */
bandit_status bandit_kernel_check(const bandit_kernel *kernel, size_t dimension, bandit_error *err);

/* out[i] = k(x, x) of arms[i]. */
void bandit_covariance_diagonal(const bandit_covariance *covariance, const uint32_t *arms, size_t n,
                                double *out);

/* Sets `points` to these n arms, in this order; {0} is empty. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_points_set(bandit_points *points, const bandit_covariance *covariance,
                                const uint32_t *arms, size_t n, bandit_error *err);
void bandit_points_clear(bandit_points *points);

/* Number of doubles of scratch that the functions below need. */
size_t bandit_covariance_scratch(const bandit_covariance *covariance);

/* Rows: the BANDIT_TILE arms of tile `tile`, including padding (arms whose features are zero). Columns:
 * points first … first+n−1. ld >= BANDIT_TILE. */
void bandit_covariance_tile(const bandit_covariance *covariance, size_t tile, const bandit_points *points,
                            size_t first, size_t n, double *out, size_t ld, double *scratch);

/* Rows: n_rows arms by index, padded to a multiple of BANDIT_TILE with unspecified entries; ld is at least
 * that multiple. Columns: all of `points`. */
void bandit_covariance_block(const bandit_covariance *covariance, const uint32_t *rows, size_t n_rows,
                             const bandit_points *points, double *out, size_t ld, double *scratch);

/* out[i] = k(rows[i], arm), for n_rows arms. `out` has whole tiles, and `scratch` has `dimension` more
 * doubles than bandit_covariance_scratch. */
void bandit_covariance_column(const bandit_covariance *covariance, const uint32_t *rows, size_t n_rows,
                              uint32_t arm, double *out, double *scratch);

/* The same with the points as rows, to the bit. Their features need not be gathered from all arms again. */
void bandit_covariance_of_points(const bandit_covariance *covariance, const bandit_points *points,
                                 uint32_t arm, double *out, double *scratch);

/* bandit_covariance_block with rows given as n_rows x dimension coordinates, scaled as the arms are
 * (row-major). Not for a precomputed set. diagonal[i] = k(x, x) of row i. */
void bandit_covariance_block_at(const bandit_covariance *covariance, const double *coordinates, size_t n_rows,
                                const bandit_points *points, double *out, size_t ld, double *diagonal,
                                double *scratch);

#endif
