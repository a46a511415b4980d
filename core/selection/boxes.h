/* Disjoint boxes [L, U] that cover the part above a reference point that a front does not dominate, and the
 * volume that one more point would add to the front: exactly, and in expectation. Everything is maximized.
 *
 * With u the point, the added volume is
 *
 *   sum over boxes of the product over j of ( min(u_j, U_j) − L_j )_+
 *
 * and, for independent normal u_j ~ N(mu_j, sigma_j^2), its expectation is
 *
 *   sum over boxes of the product over j of ( psi_j(L_j) − psi_j(U_j) ),
 *   psi_j(c) = E (u_j − c)_+ = sigma_j h((mu_j − c) / sigma_j),   h(z) = phi(z) + z Phi(z),   psi(∞) = 0
 *
 * (Emmerich, Deutz, Klinkenberg 2011, with the boxes of local_bounds.h). It is computed as a logarithm, which
 * does not underflow far from the front. It grows with every mu_j and every sigma_j. */
#ifndef CORE_SELECTION_BOXES_H
#define CORE_SELECTION_BOXES_H

#include "bandit/front.h"
#include "core/selection/front_points.h"
#include "core/selection/local_bounds.h"

#include <stdint.h>

typedef struct bandit_boxes {
    size_t k, n;
    size_t n_cuts
        [BANDIT_MOST_OBJECTIVES]; /* different finite coordinates of corners, and INFINITY as the last */
    double *cuts[BANDIT_MOST_OBJECTIVES]; /* ascending */
    uint32_t *low, *high;                 /* n x k: indices of cuts */
    double *scratch;                      /* for the expectation */
    double *table;                        /* for its bound (volume_bound.c) */
    bandit_local_bounds bounds, gaps;
    bandit_front_point *sorted;
    size_t *front;            /* n_front: the points that no other point dominates */
    size_t n_front, n_points; /* on the front, and covered in all */
    size_t capacity_cuts[BANDIT_MOST_OBJECTIVES], capacity_low, capacity_high, capacity_scratch,
        capacity_sorted, capacity_front;
} bandit_boxes;

/* Covers the part above the reference that none of the n points dominates. Points may dominate each other and
 * need not be above the reference. *boxes is {0} or used before. With 4 objectives at most 100 points of the
 * front count, and with 5 at most 40: those with the largest volumes above the reference. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_boxes_cover(bandit_boxes *boxes, const double *points, size_t n, size_t k,
                                 const double *reference, bandit_error *err);
/* Covers again after points were added: `points` begins with those of the last call, and the reference is the same.
 * Only compares them with the front if none of the new points is on it. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_boxes_cover_more(bandit_boxes *boxes, const double *points, size_t n,
                                      const double *reference, bandit_error *err);
void bandit_boxes_clear(bandit_boxes *boxes);
size_t bandit_boxes_memory(const bandit_boxes *boxes);

/* The volume that u adds. gradient (k entries) may be NULL. */
double bandit_boxes_added(const bandit_boxes *boxes, const double *u, double *gradient);

/* The logarithm of the expectation, for sigma_j > 0; by_mean and by_deviation (k entries each) are both NULL or
 * get its derivatives. Uses the scratch memory. */
double bandit_boxes_log_expected(bandit_boxes *boxes, const double *mean, const double *deviation,
                                 double *by_mean, double *by_deviation);

/* An upper bound on this logarithm with fewer operations, by h(z) <= phi(z) / (1 + z^2) + max(0, z). */
double bandit_boxes_log_bound(bandit_boxes *boxes, const double *mean, const double *deviation);

/* Another upper bound on it, within a thousandth of the volumes that matter and with still fewer operations;
 * NaN if the expectation is so small that there is no such bound. */
double bandit_boxes_log_near_bound(bandit_boxes *boxes, const double *mean, const double *deviation);

/* For the files of boxes: allocates boxes->table unless it exists. Returns false when out of memory. */
bool bandit_boxes_reserve_table(bandit_boxes *boxes);

#endif
