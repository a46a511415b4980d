/* Points of a space that keep its rules: repairing a point that breaks them, and drawing points.
 *
 * Points are drawn from a low-discrepancy sequence as long as at least one in twenty keeps the rules. Otherwise
 * they are drawn by walks inside the allowed set: the numbers by hit-and-run (a uniform point on a chord of the
 * polytope of the linear rules, pulled in while it breaks another rule; Smith 1984), the others by random
 * changes of one parameter. Each walk starts at a point of the sequence that was repaired. */
#ifndef CORE_ARMS_FEASIBLE_H
#define CORE_ARMS_FEASIBLE_H

#include "core/arms/polytope.h"

/* Repairs genes: their point, rounded, then keeps the rules. Returns false if it could not be repaired.
 * thorough: also changes one parameter after another, which takes longer. `polytope` and `coded` (n) are
 * scratch; coded receives the point. Without memory it returns false and sets polytope->no_memory. */
bool bandit_feasible_repair(const bandit_genome *genome, bandit_polytope *polytope, bool thorough,
                            double *genes, double *coded);

/* The same for a step away from a point that keeps the rules, `from`: if it cannot be repaired, half the step is tried,
 * and so on. */
bool bandit_feasible_step(const bandit_genome *genome, bandit_polytope *polytope, const double *from,
                          double *genes, double *coded);

/* Draws up to `wanted` points (genes: wanted x n) for this stream of random numbers. *found: how many were
 * found, possibly 0. *share: the share of points of the sequence that keep the rules; may be NULL. Prepares
 * the genome's sequence. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_feasible_draw(bandit_genome *genome, uint64_t stream, size_t wanted, double *genes,
                                   size_t *found, double *share, bandit_error *err);

#endif
