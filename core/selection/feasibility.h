/* Where evaluations fail: an estimate of the share that do not, as a function of the point.
 *
 *   p(x) = (sum over those that succeeded of w_i(x) + s pi) / (sum over all of w_i(x) + s)
 *   w_i(x) = exp(−|x − x_i|^2 / (2 h^2)),   s = 1/2,   pi = 0.9
 *
 * (Nadaraya 1964, Watson 1964; shrunk, so that what is unknown has the benefit of the doubt), at distances in
 * lengthscales of at most the whole range. The bandwidth h is that of 1, 1/2, …, 1/32 with the largest
 * likelihood of each outcome given all others: failures at random leave p high wherever there are successes
 * near, a region that always fails is learned at the resolution at which it was met.
 *
 * The search keeps away from where p is below 0.8: `shortfall` is 1 − min(1, p / 0.8). Along the border of a
 * region that fails, beyond which the objective gets better, it so spends about every fourth evaluation on
 * finding out where the border is. All of it is ours.
 */
#ifndef CORE_SELECTION_FEASIBILITY_H
#define CORE_SELECTION_FEASIBILITY_H

#include "bandit/arms.h"
#include "bandit/engine.h"
#include "bandit/kernel.h"
#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Outcomes that are looked at, at most; the caller gives the latest. */
#define BANDIT_FEASIBILITY_MOST 512

typedef struct bandit_feasibility {
    size_t n, dimension;
    double *points; /* n x dimension, divided by the scales */
    bool *failed;   /* n */
    double *scale;  /* dimension: what a distance of 1 is */
    double bandwidth;
    double *scratch; /* dimension + n x (n + 1) / 2 */
    size_t capacity_points, capacity_failed, capacity_scale, capacity_scratch;
} bandit_feasibility;

/* Room for n <= BANDIT_FEASIBILITY_MOST outcomes; *feasibility is {0} or used before. The caller then fills
 * `scale`, `failed` and `points` (not yet divided). Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_feasibility_start(bandit_feasibility *feasibility, size_t n, size_t dimension,
                                       bandit_error *err);
/* Divides, and chooses the bandwidth: O(n^2 dimension). */
void bandit_feasibility_learn(bandit_feasibility *feasibility);
/* The same from the arms of a study that have features: those of `sums` (n_sums, ascending) have succeeded,
 * those of `failed` (n_failed, ascending) that are not among them have failed. Of more than
 * BANDIT_FEASIBILITY_MOST the last ones count, or, where `spread`, evenly spaced ones of both kinds: arms of
 * a space are in the order of their first visit, candidates in none. A distance of 1 is a lengthscale of the
 * kernel, at most 1. Nothing failed: no outcomes. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_feasibility_learn_arms(bandit_feasibility *feasibility, const bandit_arms *arms,
                                            const bandit_kernel *kernel, const bandit_arm_sum *sums,
                                            size_t n_sums, const uint32_t *failed, size_t n_failed,
                                            bool spread, bandit_error *err);
void bandit_feasibility_clear(bandit_feasibility *feasibility);
size_t bandit_feasibility_memory(const bandit_feasibility *feasibility);

/* In [0, 1): 0 where p >= 0.8. gradient (dimension entries, with respect to x) may be NULL. */
double bandit_feasibility_shortfall(const bandit_feasibility *feasibility, const double *x, double *gradient);

#endif
