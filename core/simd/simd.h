/* The inner loops in which the engine spends nearly all of its time, in one version per kind of processor,
 * chosen at run time. What a version computes for an arm depends on that arm alone, not on its tile, its lane
 * or the thread. Different versions differ in the last bits. */
#ifndef CORE_SIMD_SIMD_H
#define CORE_SIMD_SIMD_H

#include "bandit/kernel.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum bandit_profile {
    BANDIT_PROFILE_GAUSSIAN, /* exp(−s),               x_j / (l_j sqrt 2) */
    BANDIT_PROFILE_MATERN12, /* exp(−r), r = sqrt s,   x_j / l_j          */
    BANDIT_PROFILE_MATERN32, /* (1 + r) exp(−r),       x_j sqrt 3 / l_j   */
    BANDIT_PROFILE_MATERN52, /* (1 + r + s/3) exp(−r), x_j sqrt 5 / l_j   */
    BANDIT_PROFILE_LINEAR,   /* x . x'                                    */
    BANDIT_PROFILE_MATRIX    /* an entry of the arms' matrix */
} bandit_profile;

/* The size of a tile: the number of arms, or rows, that are evaluated together. */
#define BANDIT_TILE 16

/* n rounded up to a multiple of BANDIT_TILE. */
static inline size_t bandit_whole_tiles(size_t n)
{
    return (n + BANDIT_TILE - 1) / BANDIT_TILE * BANDIT_TILE;
}

/* Number of rows in a panel of a packed triangle. */
#define BANDIT_PANEL 12

typedef struct bandit_simd {
    const char *name; /* "avx512", "avx2", "portable", "plain" */
    bool two_norms;   /* "plain": all arms by the form without cancellation; tests compare with it */

    /* out[i * ld + lane] = k(point i, arm of that lane), for n points and BANDIT_TILE arms.
     *   short_share  that of the kernel (bandit/kernel.h)
     *   tile    d x BANDIT_TILE: coordinates of the arms, multiplied by the kernel's factors
     *   points  n x d, row-major: those of the points
     *   out     ld >= BANDIT_TILE */
    void (*entries)(bandit_profile profile, double short_share, size_t d, const double *tile,
                    const double *points, size_t n, double *out, size_t ld);

    /* out[i] = factor |x_i − point|^2, or its square root if `rooted`, for BANDIT_TILE points. Each operation
     * is rounded, one coordinate after the other, so that every version gives the same bits.
     *   x      BANDIT_TILE x d, column-major with leading dimension ld
     *   point  d */
    void (*distances)(size_t d, const double *x, size_t ld, const double *point, double factor, bool rooted,
                      double *out);

    /* means[lane] = a'k for the columns k of a tile (m x BANDIT_TILE), with a of length m. The order of
     * summation is that of `norms`. */
    void (*means)(const double *a, size_t m, const double *k, double *means);

    /* norms[lane] = |R k|^2 and means[lane] = a'k for the columns k of a tile.
     *   packed  R, lower triangular m x m, packed by bandit_simd_pack
     *   a       m
     *   k       m x BANDIT_TILE
     * NULL: the caller uses BLAS. */
    void (*norms)(const double *packed, const double *a, size_t m, const double *k, double *norms,
                  double *means);

    /* The same norms, but it may stop early: once all lanes that are computed together have reached their
     * entries of `need`, norms[lane] covers only the rows of R used so far. whole[lane] says whether all rows
     * were used. NULL if and only if `norms` is. */
    void (*norms_until)(const double *packed, size_t m, const double *k, const double *need, double *norms,
                        bool *whole);

    /* x = A x for the lower triangular n x n matrix A, column-major with leading dimension ld. Its strict
     * upper triangle may hold anything. NULL: the caller uses BLAS. */
    void (*multiply_lower)(size_t n, const double *a, size_t ld, double *x);
} bandit_simd;

/* The version for this processor. */
const bandit_simd *bandit_simd_best(void);

/* The version with this name; NULL if there is none or this processor cannot run it. */
const bandit_simd *bandit_simd_named(const char *name);

/* Number of doubles in a packed triangle. */
size_t bandit_simd_packed_size(size_t m);

/* Packs the lower triangle of R (column-major, leading dimension m) into panels of BANDIT_PANEL rows. Each
 * panel is stored column by column up to the panel's last row, with zeros above the diagonal. */
void bandit_simd_pack(double *packed, const double *R, size_t m);

extern const bandit_simd bandit_simd_portable, bandit_simd_plain;
#if defined(__x86_64__)
extern const bandit_simd bandit_simd_avx2, bandit_simd_avx512;
#endif

#endif
