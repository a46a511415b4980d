/* Fronts that grow point by point. Their points can be sorted, so that sums over them do not depend on the order in
 * which the points came. */
#ifndef CORE_SELECTION_FRONT_POINTS_H
#define CORE_SELECTION_FRONT_POINTS_H

#include "bandit/front.h"

typedef struct bandit_front_point {
    double y[BANDIT_MOST_OBJECTIVES]; /* the first k are used, the others are 0 */
} bandit_front_point;

/* Extends a front by the points first … n−1: front[0 … size−1] is the front of the points before them, as
 * bandit_front_find gives it. Returns the new size. The last entry is one of the new points, unless none of them is on
 * the front. */
size_t bandit_front_extend(const double *points, size_t first, size_t n, size_t k, size_t *front,
                           size_t size);

/* Copies n of the points (n x k, by their indices `which`) and sorts them lexicographically. */
void bandit_front_sort(bandit_front_point *out, const double *points, const size_t *which, size_t n,
                       size_t k);

#endif
