/* The storage of arms, for core only.
 *
 * Features are stored in tiles of BANDIT_TILE arms, with one array per feature inside a tile: feature j of
 * arm a is
 *   features[(a / BANDIT_TILE * dimension + j) * BANDIT_TILE + a % BANDIT_TILE].
 * A kernel can therefore evaluate a tile with full vector registers, and the stride between tiles does not
 * depend on the number of arms. The last tile is padded with zeros. A precomputed set has its n x n matrix,
 * row-major. */
#ifndef CORE_ARMS_ARMS_STORAGE_H
#define CORE_ARMS_ARMS_STORAGE_H

#include "bandit/arms.h"
#include "bandit/sorted.h"
#include "core/arms/parameter_space.h"
#include "core/base/allocate.h"
#include "core/simd/simd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bandit_arms {
    size_t n;
    size_t dimension; /* 0: precomputed */
    size_t n_tiles;
    double *features; /* n_tiles * dimension * BANDIT_TILE, or NULL */
    double *matrix;   /* n * n, or NULL */
    double *shift;    /* dimension: scaled = (raw − shift) * factor; NULL for a space */
    double *factor;   /* dimension */
    size_t capacity_features;
    bandit_space *space; /* or NULL; owned */
    bool finished;
};

/* Sorts arms in ascending order. */
void bandit_sort_arms(uint32_t *arms, size_t n);

/* The position of the first of n ascending arms that is not below `arm`; n if there is none. */
static inline size_t bandit_arm_place(const uint32_t *arms, size_t n, uint32_t arm)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, n, i, arms[i] < arm);
    return place;
}

/* Whether `arm` is one of n ascending arms. */
static inline bool bandit_is_among(const uint32_t *arms, size_t n, uint32_t arm)
{
    size_t place = bandit_arm_place(arms, n, arm);
    return place < n && arms[place] == arm;
}

/* The features of a tile: dimension x BANDIT_TILE. */
static inline const double *bandit_arms_tile(const bandit_arms *arms, size_t tile)
{
    return arms->features + tile * arms->dimension * BANDIT_TILE;
}

static inline double bandit_arms_feature(const bandit_arms *arms, size_t arm, size_t j)
{
    return bandit_arms_tile(arms, arm / BANDIT_TILE)[j * BANDIT_TILE + arm % BANDIT_TILE];
}

#endif
