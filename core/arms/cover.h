/* A cover of the arms' bounding box by closed cubes that meet only in faces, refined where there are many
 * pulls ([JBG20] section 3). The box is mapped to [0,1]^d. A cell of level l is a cube of side 1 / (initial
 * 2^l) with its corner on the grid of that side. An arm belongs to every cell that contains it, faces
 * included. Cells without arms are not stored, because nothing can be picked in them.
 *
 * Splitting rule: a cell of side rho with N pulls is split into 2^d cells when rho^{−1/b} < N + 1,
 * b = (d+1)/(d+2 nu). The rule is applied until no cell must be split, so the cover depends only on the
 * pulls, not on their order. If pulls come one at a time and b <= 1 (nu >= 1/2), this is at most one level
 * per step, as in [JBG20]: a cell that is split for the first time has N <= rho^{−1/b}, and its children
 * would need N + 1 > 2^{1/b} rho^{−1/b} >= rho^{−1/b} + 1. */
#ifndef CORE_ARMS_COVER_H
#define CORE_ARMS_COVER_H

#include "bandit/status.h"
#include "core/arms/arms_storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An arm at a corner of the grid belongs to 2^d cells, which limits d. */
#define BANDIT_COVER_DIMENSIONS 10
/* The largest number of cells per side of the first cover. */
#define BANDIT_COVER_INITIAL (1 << 20)
/* The largest level. It keeps sides far above the tolerance of the faces, and corners far below 2^53. */
#define BANDIT_COVER_LEVELS 30

typedef struct bandit_cover {
    const bandit_arms *arms; /* borrowed; at most BANDIT_COVER_DIMENSIONS dimensions */
    size_t dimension;
    uint32_t initial; /* cells per side at level 0 */
    double exponent;  /* 1 / b */
    double low[BANDIT_COVER_DIMENSIONS], width[BANDIT_COVER_DIMENSIONS];
} bandit_cover;

typedef struct bandit_cell {
    uint32_t level;
    uint64_t corner[BANDIT_COVER_DIMENSIONS]; /* in units of the cell's side */
    uint32_t *members;                        /* n > 0 arms, ascending; owned */
    size_t n;
} bandit_cell;

/* Cells, owned; clear with bandit_cells_clear. {0} is empty. */
typedef struct bandit_cells {
    bandit_cell *cells;
    size_t n, capacity;
} bandit_cells;

/* Initializes *out. nu: the smoothness of the Matérn kernel, >= 1/2. initial in 1 … BANDIT_COVER_INITIAL.
 * Allocates nothing. */
void bandit_cover_init(bandit_cover *out, const bandit_arms *arms, uint32_t initial, double nu);

/* Cells per side at level 0 for a horizon of T: [T^{q/d}], q = d(d+1)/(d(d+2) + 2 nu), rounded, at least 1,
 * at most BANDIT_COVER_INITIAL ([JBG20]: |A_1| of the order of T^q). */
uint32_t bandit_cover_initial_for(size_t dimension, double nu, double horizon);

/* Cells per side at a level: 1 / rho. */
double bandit_cover_per_side(const bandit_cover *cover, uint32_t level);

/* Whether a cell of this level with this many pulls must be split. Never beyond BANDIT_COVER_LEVELS. */
bool bandit_cover_must_split(const bandit_cover *cover, uint32_t level, uint64_t pulls);

/* Appends the cells of level 0. Errors: BANDIT_NO_MEMORY (cells appended so far stay in *out). */
bandit_status bandit_cover_first_cells(const bandit_cover *cover, bandit_cells *out, bandit_error *err);

/* Appends the children of `cell` that contain arms, of 2^d possible. `cell` must not be one of *out's, and is
 * not changed. Errors: BANDIT_NO_MEMORY (as above). */
bandit_status bandit_cover_split(const bandit_cover *cover, const bandit_cell *cell, bandit_cells *out,
                                 bandit_error *err);

/* Maps a point, scaled as the arms are, to the unit box. A point outside the arms' box is mapped outside the
 * unit box. */
void bandit_cover_to_unit(const bandit_cover *cover, const double *coordinates, double *unit);
void bandit_cover_arm_to_unit(const bandit_cover *cover, uint32_t arm, double *unit);

/* Whether the closed cell contains the point of the unit box. Faces have a tolerance of 1e-12, so that
 * rounding of the scaled features does not decide. Cells at the border do not extend beyond the box. */
bool bandit_cell_contains(const bandit_cover *cover, const bandit_cell *cell, const double *unit);

/* Sets *out to the cell of this level that contains the point of the unit box; if there are several, the one
 * with the lowest corner. *out has no members. */
void bandit_cover_lowest_cell(const bandit_cover *cover, uint32_t level, const double *unit,
                              bandit_cell *out);

void bandit_cells_clear(bandit_cells *cells);

#endif
