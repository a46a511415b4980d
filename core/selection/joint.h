/* The acquisition of a search with several modelled metrics, whose posteriors are independent: the expected
 * volume that a point adds to the front (boxes.h), times the probability that all bounds hold.
 *
 *   log E[added volume] + sum over bounded metrics j of log P(low_j <= y_j <= high_j)
 *
 * The front F is made of posterior means: those of the arms with results that keep the bounds with a
 * probability of 1/2 or more (never single values, because the luckiest of these would be the front), and
 * those of the picks in flight, so that the picks of a batch do not crowd. With one objective F is its
 * largest entry, and the added volume the improvement over it (Gardner et al. 2014). While no arm keeps the
 * bounds with that probability, the search looks for one that does:
 *
 *   sum over bounded metrics j of log P_j + 1/2 log(variance now / variance at the batch's start).
 *
 * If keeps_apart is set, a quarter of this last term is added to the first sum as well. A pick in flight that may break
 * a bound is not in F, and without the term points beside it would be worth as much as it is.
 *
 * The deviation of the gain is the one that a measurement removes, as in gain.h. P_j uses the deviation given
 * the data, without the picks in flight: a batch may not make a point look better. No value therefore grows
 * within a batch. Without thresholds the reference point is, at the start of a batch,
 *
 *   r_j = min( nadir_j − 0.1 (ideal_j − nadir_j), a low one of the means ),
 *
 * nadir and ideal over F. The low mean is the lower quartile, or the second lowest (bandit_reference_rule). It keeps
 * the ends of the front in view: of the means of all tried points, the quartile rises as the search finds better
 * points, and then hides those ends; the second lowest does not. All of this but the improvement is ours. */
#ifndef CORE_SELECTION_JOINT_H
#define CORE_SELECTION_JOINT_H

#include "bandit/algorithm.h"
#include "core/selection/boxes.h"

/* What the metrics' models predict at one point, each in the units of its model. */
typedef struct bandit_outlook {
    double mean[BANDIT_MOST_METRICS];
    double gain[BANDIT_MOST_METRICS];  /* the deviation that a measurement removes, > 0 */
    double known[BANDIT_MOST_METRICS]; /* the deviation at the batch's start, > 0 */
    double now[BANDIT_MOST_METRICS];   /* and with the picks in flight, > 0 */
} bandit_outlook;

/* Derivatives with respect to the members of an outlook. */
typedef bandit_outlook bandit_outlook_slopes;

typedef struct bandit_joint {
    size_t n, k;                                /* metrics, objectives */
    bandit_metric metrics[BANDIT_MOST_METRICS]; /* in the units of the models */
    size_t objectives[BANDIT_MOST_OBJECTIVES];  /* their metrics */
    bool bounded;                               /* some metric has bounds */
    bool seeks_bounds;                          /* no arm keeps them yet */
    bool keeps_apart; /* values fall beside picks in flight, if metrics have bounds */
    double reference[BANDIT_MOST_OBJECTIVES];
    uint32_t *arms; /* n_points: those whose means may be on the front */
    double *points; /* n_points x k */
    size_t n_points, capacity_arms, capacity_points;
    uint32_t nearest; /* while the bounds are sought: the arm with a result that most probably keeps them */
    bandit_boxes boxes;
} bandit_joint;

/* Starts a batch. `metrics`: n, the first one an objective. rule: how the reference point is inferred without
 * thresholds. Of the n_arms arms with results, `mean` and `known` have a row of n entries each, as in bandit_outlook.
 * *joint is {0} or used before. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_joint_start(bandit_joint *joint, const bandit_metric *metrics, size_t n,
                                 bandit_reference_rule rule, bool keeps_apart, const uint32_t *arms,
                                 size_t n_arms, const double *mean, const double *known, bandit_error *err);
void bandit_joint_clear(bandit_joint *joint);
size_t bandit_joint_memory(const bandit_joint *joint);

/* Adds a pick in flight; `mean` and `known` as in bandit_outlook. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_joint_take_out(bandit_joint *joint, uint32_t arm, const double *mean,
                                    const double *known, bandit_error *err);

/* The value of a point; slopes may be NULL. */
double bandit_joint_value(bandit_joint *joint, const bandit_outlook *at, bandit_outlook_slopes *slopes);

/* An upper bound on the value of all points whose means are at most `mean_error` from those of `at` and whose
 * deviations are at most those of `at` and, for `known`, at least `least_known`. `quick`: a looser bound, with
 * fewer operations. */
double bandit_joint_bound(bandit_joint *joint, const bandit_outlook *at, const double *mean_error,
                          const double *least_known, bool quick);

/* The log of the probability that all bounds hold. */
double bandit_joint_log_probability(const bandit_joint *joint, const double *mean, const double *known);

/* Whether all bounds hold with a probability of 1/2 or more. */
bool bandit_joint_is_feasible(const bandit_joint *joint, const double *mean, const double *known);

/* An arm to search beside: successive numbers give the arms of the front in turn. While the bounds are
 * sought, it is joint->nearest. */
uint32_t bandit_joint_front_arm(const bandit_joint *joint, uint64_t number);

#endif
