/* The local upper bounds of a set of points, of which smaller coordinates are better: Klamroth, Lacour,
 * Vanderpooten 2015, and the boxes between them of Lacour, Klamroth, Fonseca 2017.
 *
 * Below the limits rho, the part that no point dominates is the union of the orthants { z < u } over the
 * local upper bounds u. Each of these has k defining points z^1 … z^k, with z^j_j = u_j and z^j_i < u_i for
 * i != j. When a point z is added, every u with z < u in all coordinates is replaced by the bounds
 *
 *   u with u_j = z_j and z^j = z,   for each j with z_j >= max over i != j of z^i_j.
 *
 * The part below rho that the points dominate is divided into the boxes
 *
 *   [z^1_1, rho_1] x product over j >= 2 of [max over i < j of z^i_j, u_j],   if they are not empty.
 *
 * The comparison with z^i_j is not strict, unlike that for points in general position: with ties, some bounds
 * would be missing otherwise. */
#ifndef CORE_SELECTION_LOCAL_BOUNDS_H
#define CORE_SELECTION_LOCAL_BOUNDS_H

#include "bandit/front.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct bandit_local_bounds {
    size_t k, n, most;
    double limits[BANDIT_MOST_OBJECTIVES]; /* rho; INFINITY is allowed */
    double *u;                             /* n x k */
    double *defining;                      /* n x k x k: defining point i of a bound in row i */
    size_t capacity_u, capacity_defining;
} bandit_local_bounds;

/* Starts without points. *bounds is {0} or used before. `most`: the largest number of bounds. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_local_bounds_start(bandit_local_bounds *bounds, const double *limits, size_t k,
                                        size_t most, bandit_error *err);
void bandit_local_bounds_clear(bandit_local_bounds *bounds);

/* Adds a point. *changes, if not NULL, tells whether it dominates something that no earlier point does.
 * Errors: BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT if there would be more than `most` bounds. Then the bounds are
 * unusable. */
bandit_status bandit_local_bounds_add(bandit_local_bounds *bounds, const double *point, bool *changes,
                                      bandit_error *err);

/* The box of bound i, as part of what the points dominate. Returns false if it is empty. */
bool bandit_local_bounds_box(const bandit_local_bounds *bounds, size_t i, double *low, double *high);

#endif
