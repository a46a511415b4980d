/* Fronts that grow point by point, and their points in an order of their own, so that sums over them do not depend on
 * the order in which the points came. */
#ifndef CORE_SELECTION_FRONT_POINTS_H
#define CORE_SELECTION_FRONT_POINTS_H

#include "bandit/front.h"

typedef struct bandit_front_point {
    double y[BANDIT_MOST_OBJECTIVES]; /* the first k are used, the others are 0 */
} bandit_front_point;

/* bandit_front_find for n points, of whose first ones `front` has the front: `size` of them. The result ends with a point
 * from `first` on unless none of those is on the front. */
size_t bandit_front_extend(const double *points, size_t first, size_t n, size_t k, size_t *front,
                           size_t size);

/* Copies n of the points (n x k, by their indices `which`) and sorts them lexicographically. */
void bandit_front_sort(bandit_front_point *out, const double *points, const size_t *which, size_t n,
                       size_t k);

#endif
