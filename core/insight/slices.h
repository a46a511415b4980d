/* Points of a space with rules for the cells of a grid: in each cell, one parameter or two have fixed values.
 *
 * A cell takes over the points of the cell before it, with the new values. They are repaired, and then each walks a
 * little by itself (walk.h). So points of one cell are independent of each other, as each has its own walk through all
 * cells, and neighbouring cells should follow each other. */
#ifndef CORE_INSIGHT_SLICES_H
#define CORE_INSIGHT_SLICES_H

#include "core/arms/genome.h"

typedef struct bandit_slices {
    const bandit_space *space; /* borrowed */
    size_t n;                  /* points of a cell */
    double *genes, *next;      /* n x parameters: points of the latest cell that has any; scratch */
    double *own, *coded;       /* one entry per parameter */
    uint64_t cells;            /* so far */
    bool has_points;
} bandit_slices;

/* Clear it even after an error. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_slices_init(bandit_slices *slices, const bandit_space *space, size_t n,
                                 bandit_error *err);
void bandit_slices_clear(bandit_slices *slices);

/* Up to n points that keep the rules and have the fixed values of the genome, uniformly in the genes of the other
 * parameters. coordinates: n x dimension. *taken: how many there are, possibly 0. Errors: BANDIT_NO_MEMORY,
 * BANDIT_CANCELLED. */
bandit_status bandit_slices_take(bandit_slices *slices, bandit_genome *genome, double *coordinates,
                                 size_t *taken, bandit_error *err);

#endif
