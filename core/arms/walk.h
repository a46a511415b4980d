/* A walk among the points of a space that keep its rules, for feasible.h, and for averages over such points. */
#ifndef CORE_ARMS_WALK_H
#define CORE_ARMS_WALK_H

#include "core/arms/polytope.h"

typedef struct bandit_walk {
    bandit_genome *g; /* borrowed */
    bandit_polytope polytope;
    uint64_t stream, next; /* of random numbers */
    double *genes, *trial; /* n each; genes: where the walk is */
    double *coded;         /* n */
    double *t, *direction; /* n each */
    double *room;          /* of each row of the polytope */
    double *memory;
} bandit_walk;

/* Clear it even after an error. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_walk_init(bandit_walk *walk, bandit_genome *genome, uint64_t stream, bandit_error *err);
void bandit_walk_clear(bandit_walk *walk);

/* Begins at genes that keep the rules: from the middle of the polytope around them, if that keeps them too. */
void bandit_walk_begin(bandit_walk *walk, const double *genes);

/* Whether parameters can change that are no free numbers. */
bool bandit_walk_can_jump(const bandit_space *space);

/* One step: a chord of the polytope or, with jumps, by chance a change of one parameter. Without memory it sets
 * polytope.no_memory. */
void bandit_walk_step(bandit_walk *walk, bool jumps);

/* Tries a change of one parameter that is no free number. Without memory it sets polytope.no_memory. */
void bandit_walk_jump(bandit_walk *walk);

/* Draws the free numbers one after the other, each uniformly from where it may be while the others stay (Gibbs
 * sampling). For the same change it takes far less time than steps along chords. Numbers that conditions depend on
 * take such a step together. Without memory it sets polytope.no_memory. */
void bandit_walk_sweep(bandit_walk *walk);

#endif
