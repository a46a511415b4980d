/* Fronts that grow point by point. Their points can be sorted, so that sums over them do not depend on the order in
 * which the points came. */
#ifndef CORE_SELECTION_FRONT_POINTS_H
#define CORE_SELECTION_FRONT_POINTS_H

#include "bandit/front.h"

typedef struct bandit_front_point {
    double y[BANDIT_MOST_OBJECTIVES]; /* the first k are used, the others are 0 */
    size_t number;                    /* the index of the point */
} bandit_front_point;

/* Copies n of the points (n x k, by their indices `which`; NULL: the first n) and sorts them lexicographically, the largest
 * first; of equal points the first. */
void bandit_front_sort(bandit_front_point *out, const double *points, const size_t *which, size_t n,
                       size_t k);

#endif
