/* The free real numbers of a point, as a polytope: the part of the box of genes that the linear rules allow.
 *
 * A double parameter is free if it is active and not fixed, unless it is 0 and 0 has a meaning of its own.
 * Equations among the rules are eliminated: each equation makes one number, its pivot, a function of the
 * others, t_p = c − D t. The rest is G t <= h within a box, with rows of length 1. Genes are affine in the
 * values of numbers on linear scales; numbers on logarithmic scales are in no row. */
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
    bool no_memory;        /* an allocation failed, here or in a repair (feasible.h); the owner reports it */
    double *memory;
    size_t *indices, *place; /* the parameters of coordinates and pivots; for each parameter its column, or
                                SIZE_MAX */
    size_t capacity, capacity_indices;
} bandit_polytope;

/* Builds the polytope for a point of the genome, whose other parameters do not change. *polytope is {0} or
 * used before.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_polytope_build(bandit_polytope *polytope, const bandit_genome *genome,
                                    const double *coded, bandit_error *err);
void bandit_polytope_clear(bandit_polytope *polytope);

/* The first function reads the coordinates from genes; the second one sets the genes of coordinates and
 * pivots. */
void bandit_polytope_read(const bandit_polytope *polytope, const double *genes, double *t);
void bandit_polytope_write(const bandit_polytope *polytope, const double *t, double *genes);

/* Moves t into the polytope, at least `margin` away from its faces (and from the faces of the box by that
 * share of its width), by projections on one face after the other. Returns whether t is inside, to half the
 * margin or, without a margin, to 1e-10. */
bool bandit_polytope_enter(const bandit_polytope *polytope, double margin, unsigned cycles, double *t);

/* Finds an inner point from the middle of the box. Returns its margin, from 0.1 down; 0 if there is none. */
double bandit_polytope_centre(const bandit_polytope *polytope, double *t);

/* The interval of steps along a direction that stay in the polytope; t lies in it. */
void bandit_polytope_chord(const bandit_polytope *polytope, const double *t, const double *direction,
                           double *from, double *to);

#endif
