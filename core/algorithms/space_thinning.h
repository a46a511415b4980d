/* The dictionary of log_ei in an open space with many results.
 *
 * An exact posterior has every pulled point in its dictionary, so that an ask takes time cubic in their number. Since
 * revision 5 the dictionary has at most BANDIT_MOST_MEMBERS. Each new point is a member; when there are too many,
 * BANDIT_KEPT_MEMBERS of all pulled points are chosen again. Half of them are those with the best values, and the others
 * those that differ most from each other (greedy maximization of the determinant, dpp.h). So the model is exact near the
 * best points, and coarse elsewhere. The points that are no members still count (sparse_posterior.h, discounts).
 *
 * Inducing points that are both good and diverse are those of Moss, Ober, Picheny, "Inducing point allocation for sparse
 * Gaussian processes in high-throughput Bayesian optimisation" (2023); the rule is ours. */
#ifndef CORE_ALGORITHMS_SPACE_THINNING_H
#define CORE_ALGORITHMS_SPACE_THINNING_H

#include "core/algorithms/algorithm.h"
#include "core/posterior/ledger.h"

enum { BANDIT_MOST_MEMBERS = 1024, BANDIT_KEPT_MEMBERS = 512 };

/* Whether a dictionary of all pulled points would have too many members. */
bool bandit_space_thins(const bandit_engine *engine, const bandit_ledger *ledger);

/* Sets `dictionary` to the members chosen from all pulled points, ascending: at least one. There is memory for all of them.
 * O(n m^2) time for n points and m members, n m doubles during the call. Errors: BANDIT_NO_MEMORY, BANDIT_MEMORY_LIMIT. */
bandit_status bandit_space_thin(uint32_t *dictionary, size_t *n_dictionary, const bandit_engine *engine,
                                const bandit_ledger *ledger, bandit_error *err);

#endif
