/* An estimate of the share of evaluations that succeed, as a function of the point.
 *
 *   p(x) = (sum over those that succeeded of w_i(x) + s pi) / (sum over all of w_i(x) + s)
 *   w_i(x) = exp(−|x − x_i|^2 / (2 h^2)),   s = 1/2,   pi = 0.9
 *
 * This is the estimator of Nadaraya (1964) and Watson (1964), shrunk towards pi, so that unknown regions are
 * given the benefit of the doubt. Distances are measured in lengthscales, each at most the whole range. The
 * bandwidth h is the one among 1, 1/2, …, 1/32 with the largest leave-one-out likelihood. Failures at random
 * then leave p high wherever successes are near, while a region that always fails is learned at the
 * resolution at which it was sampled.
 *
 * Failures may also have nothing to do with the point. Then p is low wherever failures happened to be near each other,
 * and the search would be driven away from the best points, at last to the corners of the space. So since revision 3,
 * outcomes count only if the place explains them better than chance. Each outcome is predicted from all others, and
 * the log likelihoods of these predictions are compared. By place, the prediction is p, with the bandwidth and with the
 * pi among 0.1, 0.2, …, 0.9 that make the outcomes likeliest. (With failures at random besides those of a region, 0.9
 * alone would be too unlikely.) By chance, it is the share of successes among the others. Where most evaluations fail,
 * it is more likely that most of the space fails than that evaluations fail anywhere. So by chance a share is at least
 * 0.6, but this lowers the log likelihood by at most 1.5.
 *
 * A region often depends on few of the coordinates, and its border may be sharper than the objective's details. So since
 * revision 5, coordinates are stretched: each in turn by 1/2, 2, 4 or nearly 0, which ignores it, if that makes the newest 128
 * outcomes likelier by at least 1.5. Outcomes by chance seem to gain from this, too, so each change has a price of 1 in the
 * comparison with chance.
 *
 * The search avoids points with p below 0.8: the shortfall is 1 − min(1, p / 0.8). If the objective improves
 * beyond the border of a failing region, the search therefore spends about every fourth evaluation on
 * locating that border. All of this is ours. */
#ifndef CORE_SELECTION_FEASIBILITY_H
#define CORE_SELECTION_FEASIBILITY_H

#include "bandit/arms.h"
#include "bandit/engine.h"
#include "bandit/kernel.h"
#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The largest number of outcomes that are used. The caller passes the latest. */
#define BANDIT_FEASIBILITY_MOST 512

typedef struct bandit_feasibility {
    size_t n, dimension;
    double *points; /* n x dimension, divided by the scales */
    bool *failed;   /* n entries */
    double *scale;  /* dimension: the length that counts as a distance of 1 */
    double bandwidth;
    double *scratch; /* dimension + n x (n + 1) / 2 */
    size_t capacity_points, capacity_failed, capacity_scale, capacity_scratch;
} bandit_feasibility;

/* Reserves memory for n <= BANDIT_FEASIBILITY_MOST outcomes; *feasibility is {0} or used before. The caller
 * then sets `scale`, `failed` and `points` (not yet divided). Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_feasibility_start(bandit_feasibility *feasibility, size_t n, size_t dimension,
                                       bandit_error *err);
/* Divides the points by the scales, and chooses the bandwidth: O(n^2 dimension). */
void bandit_feasibility_learn(bandit_feasibility *feasibility);
/* After learning: by how much the log likelihood of the outcomes, each given all others, is larger by their place than by
 * chance. O(n^2). */
double bandit_feasibility_evidence(const bandit_feasibility *feasibility);
/* The same for the arms of a study that have features. Those of `sums` (n_sums, ascending) have succeeded;
 * those of `failed` (n_failed, ascending) that are not among them have failed. If there are more than
 * BANDIT_FEASIBILITY_MOST, the last ones count, because the arms of a space are in the order of their first
 * visit. The order of candidates means nothing: with `spread`, outcomes spaced evenly over both kinds count.
 * A distance of 1 is a lengthscale of the kernel, but at most 1; in revision 5, scales are then chosen. There are no
 * outcomes if nothing failed, and since revision 3 if chance explains the failures as well. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_feasibility_learn_arms(bandit_feasibility *feasibility, const bandit_arms *arms,
                                            const bandit_kernel *kernel, const bandit_arm_sum *sums,
                                            size_t n_sums, const uint32_t *failed, size_t n_failed,
                                            bool spread, size_t revision, bandit_error *err);
void bandit_feasibility_clear(bandit_feasibility *feasibility);
size_t bandit_feasibility_memory(const bandit_feasibility *feasibility);

/* The shortfall at x, in [0, 1): 0 where p >= 0.8. gradient (dimension entries, with respect to x) may be
 * NULL. */
double bandit_feasibility_shortfall(const bandit_feasibility *feasibility, const double *x, double *gradient);

#endif
