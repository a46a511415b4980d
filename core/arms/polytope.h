/* The real numbers that a point leaves free, as a polytope: what its linear rules leave of the box of genes.
 *
 * Free are the double parameters that are active and not fixed, and not 0 where 0 has a meaning of its own.
 * Equations among the rules are eliminated: each makes one number, its pivot, a function of the others,
 * t_p = c − D t. The rest is G t <= h within a box, with rows of length 1. Genes are affine in the values of
 * numbers on linear scales; those on logarithmic scales are in no row. */
#ifndef CORE_ARMS_POLYTOPE_H
#define CORE_ARMS_POLYTOPE_H

#include "core/arms/genome.h"

typedef struct bandit_polytope {
    size_t n, n_pivots, m; /* coordinates, pivots, rows */
    size_t *coordinates;   /* n: the parameters */
    size_t *pivots;        /* n_pivots */
    double *low, *high;    /* n: the box */
    double *g, *h;         /* m x n, m */
    double *c, *d;         /* n_pivots, n_pivots x n */
    bool impossible;       /* an equation cannot hold */
    bool
        no_memory; /* set when an allocation failed, here or in a repair (feasible.h), which the owner reports */
    double *memory;
    size_t *indices, *place; /* of the coordinates and pivots; n parameters: the column, or SIZE_MAX */
    size_t capacity, capacity_indices;
} bandit_polytope;

/* Builds it for a point of the genome, whose other parameters stay as they are. *polytope is {0} or used before.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_polytope_build(bandit_polytope *polytope, const bandit_genome *genome,
                                    const double *coded, bandit_error *err);
void bandit_polytope_clear(bandit_polytope *polytope);

/* Takes the coordinates from genes, and sets the genes of coordinates and pivots. */
void bandit_polytope_read(const bandit_polytope *polytope, const double *genes, double *t);
void bandit_polytope_write(const bandit_polytope *polytope, const double *t, double *genes);

/* Moves t into the polytope, at least `margin` away from its faces (and that share of its width from the faces of
 * the box), by projections on one face after the other. Returns whether it is there, to half the margin or, without a
 * margin, to 1e-10. */
bool bandit_polytope_enter(const bandit_polytope *polytope, double margin, unsigned cycles, double *t);

/* Finds an inner point from the middle of the box. Returns its margin, from 0.1 down; 0 if there is none. */
double bandit_polytope_centre(const bandit_polytope *polytope, double *t);

/* The interval of steps along a direction that stay in the polytope; t lies in it. */
void bandit_polytope_chord(const bandit_polytope *polytope, const double *t, const double *direction,
                           double *from, double *to);

#endif
