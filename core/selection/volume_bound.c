/* An upper bound on the expectation of the volume that a point adds, by a table of h (boxes.h).
 *
 * h is convex, so between two grid points its chord is an upper bound, and the line through the two grid
 * points before is a lower bound. psi(L) is bounded from above and psi(U) from below, with a few additions
 * and multiplications for each cut. Both bounds are near h, except far below 0, where the caller must compute
 * the expectation itself. † ours */
#include "core/selection/boxes.h"

#include "core/base/allocate.h"
#include "core/selection/acquisition.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 64, BELOW = 30, ABOVE = 8, CELLS = (BELOW + ABOVE) * STEPS }; /* cells of width 1/STEPS */

/* Smaller sums are not bounded well enough. */
static const double LEAST_SUM = 1e-100;

/* Above the range of the table, h(z) exceeds z by less than this. */
static const double BEYOND = 1e-15;

bool bandit_boxes_reserve_table(bandit_boxes *b)
{
    if (b->table)
        return true;
    b->table = bandit_alloc(CELLS + 1, sizeof *b->table);
    for (int i = 0; b->table && i <= CELLS; i++)
        b->table[i] = exp(bandit_log_improvement((double)i / STEPS - BELOW));
    return b->table != NULL;
}

/* Bounds on h(z). */
static inline void bounds_at(const double *table, double z, double *upper, double *lower)
{
    if (!(z > 1.0 / STEPS - BELOW)) {
        *upper = table[1];
        *lower = 0.0;
    } else if (z >= ABOVE) {
        *upper = z + BEYOND;
        *lower = z;
    } else {
        double at = (z + BELOW) * STEPS;
        int i = (int)at;
        double share = at - i;
        *upper = table[i] + share * (table[i + 1] - table[i]);
        *lower = fmax(0.0, table[i] + share * (table[i] - table[i - 1]));
    }
}

double bandit_boxes_log_near_bound(bandit_boxes *b, const double *mean, const double *deviation)
{
    double *upper[BANDIT_MOST_OBJECTIVES], *lower[BANDIT_MOST_OBJECTIVES], *at = b->scratch, sum = 0.0;
    size_t k = b->k;
    for (size_t j = 0; j < k; j++) {
        size_t n = b->n_cuts[j];
        upper[j] = at;
        lower[j] = at + n;
        at += 2 * n;
        for (size_t i = 0; i < n; i++) {
            double z = (mean[j] - b->cuts[j][i]) / deviation[j];
            bounds_at(b->table, z, &upper[j][i], &lower[j][i]);
            upper[j][i] *= deviation[j];
            lower[j][i] *= deviation[j];
        }
        if (isinf(b->cuts[j][n - 1]))
            upper[j][n - 1] = lower[j][n - 1] = 0.0;
    }
    for (size_t i = 0; i < b->n; i++) {
        double term = 1.0;
        for (size_t j = 0; j < k; j++)
            term *= fmax(0.0, upper[j][b->low[i * k + j]] - lower[j][b->high[i * k + j]]);
        sum += term;
    }
    return sum >= LEAST_SUM && isfinite(sum) ? log(sum) + 1e-12 : (double)NAN;
}
