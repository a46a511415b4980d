/* A cover of the arms' bounding box by closed cubes that meet in faces only, refined where pulls gather
 * ([JBG20] section 3). The box is mapped to [0,1]^d; a cell of level l is a cube of side 1 / (initial 2^l)
 * with its corner on the grid of that side. An arm belongs to every cell that contains it, faces included.
 * Cells without arms are not kept: nothing can be picked in them.
 *
 * Splitting rule: a cell of side rho with N pulls is split in 2^d when rho^{−1/b} < N + 1, b = (d+1)/(d+2
 * nu). Applied until no cell qualifies, the cover is a function of the pulls alone, in whatever order they
 * came. That is one level per step of [JBG20] where pulls come one at a time and b <= 1 (nu >= 1/2): a cell
 * that first qualifies has N <= rho^{−1/b}, its children need N + 1 > 2^{1/b} rho^{−1/b} >= rho^{−1/b} + 1.
 */
#ifndef CORE_ARMS_COVER_H
#define CORE_ARMS_COVER_H

#include "bandit/status.h"
#include "core/arms/arms_storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An arm on the grid's corners belongs to 2^d cells: a limit on d. */
#define BANDIT_COVER_DIMENSIONS 10
/* Cells a side of the first cover, at most. */
#define BANDIT_COVER_INITIAL (1 << 20)
/* Sides stay far above the tolerance of the faces, and corners far below 2^53. */
#define BANDIT_COVER_LEVELS 30

typedef struct bandit_cover {
    const bandit_arms *arms; /* borrowed; at most BANDIT_COVER_DIMENSIONS dimensions */
    size_t dimension;
    uint32_t initial; /* cells a side at level 0 */
    double exponent;  /* 1 / b */
    double low[BANDIT_COVER_DIMENSIONS], width[BANDIT_COVER_DIMENSIONS];
} bandit_cover;

typedef struct bandit_cell {
    uint32_t level;
    uint64_t corner[BANDIT_COVER_DIMENSIONS]; /* in units of the side */
    uint32_t *members;                        /* n > 0 arms, ascending; owned */
    size_t n;
} bandit_cell;

/* Cells made by one call, owned: clear with bandit_cells_clear. {0} holds none. */
typedef struct bandit_cells {
    bandit_cell *cells;
    size_t n, capacity;
} bandit_cells;

/* nu: the Matérn kernel's, >= 1/2. initial in 1 … BANDIT_COVER_INITIAL. Allocates nothing. */
void bandit_cover_init(bandit_cover *out, const bandit_arms *arms, uint32_t initial, double nu);

/* Cells a side for a horizon of T: [T^{q/d}], q = d(d+1)/(d(d+2) + 2 nu), rounded, at least 1, at most
 * BANDIT_COVER_INITIAL ([JBG20]: |A_1| of the order of T^q). */
uint32_t bandit_cover_initial_for(size_t dimension, double nu, double horizon);

/* Cells a side at a level: 1 / rho. */
double bandit_cover_per_side(const bandit_cover *cover, uint32_t level);

/* Must a cell of this level with so many pulls be split? Never beyond BANDIT_COVER_LEVELS. */
bool bandit_cover_must_split(const bandit_cover *cover, uint32_t level, uint64_t pulls);

/* Appends the cells of level 0. Errors: BANDIT_NO_MEMORY (cells appended so far stay in *out). */
bandit_status bandit_cover_first_cells(const bandit_cover *cover, bandit_cells *out, bandit_error *err);

/* Appends the 2^d children of `cell` that hold arms; `cell` (not one of *out's) stays as it is. Errors:
 * BANDIT_NO_MEMORY (as above). */
bandit_status bandit_cover_split(const bandit_cover *cover, const bandit_cell *cell, bandit_cells *out,
                                 bandit_error *err);

/* Maps a point, scaled as the arms are, to the unit box (outside of it where it lies outside the arms'). */
void bandit_cover_to_unit(const bandit_cover *cover, const double *coordinates, double *unit);
void bandit_cover_arm_to_unit(const bandit_cover *cover, uint32_t arm, double *unit);

/* Does the closed cell contain the point of the unit box? Faces are taken with a tolerance of 1e-12, so that
 * rounding of the scaled features does not decide; cells at the border do not reach beyond the box. */
bool bandit_cell_contains(const bandit_cover *cover, const bandit_cell *cell, const double *unit);

/* *out = of the level's cells that contain the point of the unit box, the one with the lowest corner; no
 * members. */
void bandit_cover_lowest_cell(const bandit_cover *cover, uint32_t level, const double *unit,
                              bandit_cell *out);

void bandit_cells_clear(bandit_cells *cells);

#endif
