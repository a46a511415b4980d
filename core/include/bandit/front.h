/* Fronts of points with several objectives, and the hypervolumes that they dominate. All objectives are
 * maximized; a point is k finite numbers, 1 <= k <= BANDIT_MOST_OBJECTIVES, and n points are n x k, row-major. */
#ifndef BANDIT_FRONT_H
#define BANDIT_FRONT_H

#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { BANDIT_MOST_OBJECTIVES = 5 };

/* Does a dominate b: is it at least as good in every objective, and better in one? */
bool bandit_dominates(const double *a, const double *b, size_t k);

/* Sets front[0 … result−1] to the points that no other point dominates, ascending; of equal points the first.
 * `front` has n entries. It takes O(n log n) steps; with more than two objectives, also
 * n times the size of the front. */
size_t bandit_front_find(const double *points, size_t n, size_t k, size_t *front);

/* Extends a front by the points first … n−1: front[0 … size−1] is the front of the points before them, as
 * bandit_front_find gives it, and has n entries. Returns the new size. The last entry is one of the new points, unless none
 * of them is on the front. */
size_t bandit_front_extend(const double *points, size_t first, size_t n, size_t k, size_t *front,
                           size_t size);

/* The volume of { z >= reference : z <= y for one of the points y }, as points are added one by one. */
typedef struct bandit_volume bandit_volume;

/* Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_volume_new(bandit_volume **out, const double *reference, size_t k, bandit_error *err);
void bandit_volume_free(bandit_volume *volume); /* NULL is fine */

/* Adds a point. *grows, if not NULL, tells whether it dominates something that no earlier point does. Errors:
 * BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT when the volume would have too many parts, which happens only for
 * hundreds of points that do not dominate each other, in 4 objectives or more. Then the volume is unusable. */
bandit_status bandit_volume_add(bandit_volume *volume, const double *point, bool *grows, bandit_error *err);
double bandit_volume_value(const bandit_volume *volume);

/* The volume of n points. To the bit, it does not depend on their order. Errors: as above. */
bandit_status bandit_hypervolume(double *out, const double *points, size_t n, size_t k,
                                 const double *reference, bandit_error *err);

#endif
