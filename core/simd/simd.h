/* The two inner loops that nearly all of the engine's time goes to, in a version for each kind of processor,
 * chosen at run time. What a version computes for an arm depends on that arm alone: not on its tile, its
 * lane, or the thread. Versions differ from each other in the last bits. */
#ifndef CORE_SIMD_SIMD_H
#define CORE_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>

typedef enum bandit_profile {
    BANDIT_PROFILE_GAUSSIAN, /* exp(−s),               x_j / (l_j sqrt 2) */
    BANDIT_PROFILE_MATERN12, /* exp(−r), r = sqrt s,   x_j / l_j          */
    BANDIT_PROFILE_MATERN32, /* (1 + r) exp(−r),       x_j sqrt 3 / l_j   */
    BANDIT_PROFILE_MATERN52, /* (1 + r + s/3) exp(−r), x_j sqrt 5 / l_j   */
    BANDIT_PROFILE_LINEAR,   /* x . x'                                    */
    BANDIT_PROFILE_MATRIX    /* an entry of the arms' own matrix          */
} bandit_profile;

/* Arms, or rows, that a version evaluates together: a tile. */
#define BANDIT_TILE 16

/* n rounded up to a multiple of BANDIT_TILE. */
static inline size_t bandit_whole_tiles(size_t n)
{
    return (n + BANDIT_TILE - 1) / BANDIT_TILE * BANDIT_TILE;
}

/* Rows of a packed triangle's panel. */
#define BANDIT_PANEL 12

typedef struct bandit_simd {
    const char *name; /* "avx512", "avx2", "portable", "plain" */
    bool two_norms; /* "plain": the form without cancellation for all arms; what the others are tested against
                     */

    /* out[i * ld + lane] = k(point i, arm of that lane), for n points and BANDIT_TILE arms.
     *   tile    d x BANDIT_TILE: coordinates of the arms, multiplied by the kernel's factors
     *   points  n x d, row-major: those of the points
     *   out     ld >= BANDIT_TILE */
    void (*entries)(bandit_profile profile, size_t d, const double *tile, const double *points, size_t n,
                    double *out, size_t ld);

    /* out[i] = factor |x_i − point|^2, or, `rooted`, its root, for BANDIT_TILE points. Each operation is
     * rounded, one coordinate after the other: to the same bits in every version.
     *   x      BANDIT_TILE x d, column-major with leading dimension ld
     *   point  d */
    void (*distances)(size_t d, const double *x, size_t ld, const double *point, double factor, bool rooted,
                      double *out);

    /* means[lane] = a'k for the columns k of a tile (m x BANDIT_TILE), a of length m; in the order of
     * `norms`. */
    void (*means)(const double *a, size_t m, const double *k, double *means);

    /* norms[lane] = |R k|^2 and means[lane] = a'k for the columns k of a tile.
     *   packed  R, lower triangular m x m, packed by bandit_simd_pack
     *   a       m
     *   k       m x BANDIT_TILE
     * NULL: the caller uses BLAS. */
    void (*norms)(const double *packed, const double *a, size_t m, const double *k, double *norms,
                  double *means);

    /* norms[lane] as above, where whole[lane] is set then; or, as soon as some lanes around it have all
     * reached theirs in `need`, of no more of the first rows of R than that took. NULL where `norms` is. */
    void (*norms_until)(const double *packed, size_t m, const double *k, const double *need, double *norms,
                        bool *whole);

    /* x = A x for the lower triangular n x n matrix A, column-major with leading dimension ld, whose strict
     * upper triangle may hold anything. NULL: the caller uses BLAS. */
    void (*multiply_lower)(size_t n, const double *a, size_t ld, double *x);
} bandit_simd;

/* The version for this processor. */
const bandit_simd *bandit_simd_best(void);

/* By name; NULL when there is none of that name or this processor cannot run it. */
const bandit_simd *bandit_simd_named(const char *name);

/* Doubles that a packed triangle takes. */
size_t bandit_simd_packed_size(size_t m);

/* Packs the lower triangle of R (column-major, leading dimension m): panels of BANDIT_PANEL rows, each
 * column by column up to the panel's last row, zeros where R has none. */
void bandit_simd_pack(double *packed, const double *R, size_t m);

extern const bandit_simd bandit_simd_portable, bandit_simd_plain;
#if defined(__x86_64__)
extern const bandit_simd bandit_simd_avx2, bandit_simd_avx512;
#endif

#endif
