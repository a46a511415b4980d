/* The expected gain of one more measurement of an arm in a search for the best one, and the selection of a
 * batch by it.
 *
 * Seen from before it is made, a measurement moves an arm's mean mu by a normal step with the standard
 * deviation s~:
 *
 *   s~ = sigma^2 / sqrt(sigma^2 + lambda) = sqrt(lambda) v / sqrt(v + 1),   v = sigma^2 / lambda
 *
 * Here s~ is twice that (BANDIT_GAIN_WIDENING). The expected gain over the incumbent f+, the largest mean
 * among the arms with a result, is
 *
 *   s~ h((mu − f+) / s~),   h(z) = phi(z) + z Phi(z)
 *
 * (the knowledge gradient of Frazier, Powell, Dayanik 2009 among the arms with a result and this one; Huang
 * et al. 2006 have the same factor sigma/sqrt(sigma^2 + lambda) before the expected improvement). Measuring
 * the leader, the arm of f+, gains something only if it may fall behind the second, f2; its gap is f2 − f+.
 * If the noise is small compared with sigma, all this is the expected improvement. An arm that is known as
 * well as its noise allows has s~ near 0, so a repeat must be worth its trial. Arms are compared by the
 * logarithm of the gain, which does not underflow, less a penalty where evaluations fail (feasibility.h).
 *
 * Arms in flight shrink the variances around them (conditioning.h); the means stay. Without noise f+ is also
 * at least the mean of every arm in flight. Values therefore only decrease within a batch, and an outdated
 * value is an upper bound. A heap holds one bound for every arm. Those at its top are updated some at a time
 * by matrix products, and those still at the top are evaluated exactly. The pick is the arm with the largest
 * value of all; ties go to the lowest index. To the bit, it depends only on the posterior and the picks so
 * far. */
#ifndef CORE_SELECTION_GAIN_H
#define CORE_SELECTION_GAIN_H

#include "core/base/bound_heap.h"
#include "core/posterior/conditioning.h"
#include "core/selection/feasibility.h"
#include "core/selection/log_gain.h"

/* Whether an arm has a result, or is in flight. Without noise neither kind is picked again. With noise, an
 * arm with a result is picked again if its gain is large enough. An arm in flight is not, unless there are
 * fewer than BANDIT_GAIN_FEW arms for each pick in flight and it has a result; then the gains decide here as
 * well. */
enum { BANDIT_GAIN_RESULT = 1, BANDIT_GAIN_OUT = 2 };
enum { BANDIT_GAIN_FEW = 10 };

/* Which arms a search considers; each value includes those before it. */
typedef enum bandit_gain_choice {
    BANDIT_GAIN_NEW,   /* arms that have no result and are not in flight */
    BANDIT_GAIN_USUAL, /* arms that are picked by the rule above */
    BANDIT_GAIN_ANY
} bandit_gain_choice;

/* The penalty for a shortfall of 1 (feasibility.h), in units of log gains. It is so large that arms are
 * ordered by their shortfall first. Where the model is sure of its values, the gain of arms that are not
 * known to fail may be e^-1000 or less, and the best values are often just beyond the border of the failing
 * region. */
#define BANDIT_GAIN_PENALTY 1e9

typedef struct bandit_gain_slot bandit_gain_slot;

typedef struct bandit_gain_selector {
    const bandit_posterior *posterior;
    const double *mean; /* n_arms */
    double *variance;   /* n_arms; below 0: minus an upper bound (screening.h), replaced when it matters */
    size_t n_arms;
    double incumbent; /* f+, in units of the reward */
    uint32_t leader;  /* its arm */
    double second;    /* f2 */
    double smallest;  /* lower limit of s~ */
    bool once;        /* no noise: arms with a result or in flight are not picked again */
    double total;     /* sum of the start-of-batch variances of all picks in flight */
    uint64_t n_out;
    uint64_t n_repeats; /* of the picks in flight, those of arms that had a result or were in flight */
    bandit_conditioning conditioning;
    const bandit_feasibility *feasibility; /* NULL: nothing has failed */

    bandit_heap heap;
    bandit_heap_entry *entries; /* n_arms entries */
    uint32_t *stamp;            /* n_arms: n_out + 1 when the bound was updated; 0: never */
    uint8_t *met;               /* n_arms: BANDIT_GAIN_RESULT, BANDIT_GAIN_OUT */
    double *penalty;            /* n_arms: penalty for failures; NAN: not computed yet */
    uint64_t aside_key;         /* hash of the withheld set for which arms were set aside */

    bandit_gain_slot *slots; /* arms evaluated in this batch; a ring, in which the oldest is overwritten */
    uint32_t *slot_of;       /* n_arms: slot + 1, or 0 */
    size_t n_slots, next_slot;
    double *vectors; /* n_slots x (2 stride + ld): z, w and c */
    double *scratch; /* dimension, and what screening.h needs */
    size_t capacity_entries, capacity_stamp, capacity_met, capacity_penalty, capacity_slots, capacity_slot_of,
        capacity_vectors, capacity_scratch;
} bandit_gain_selector;

/* Starts a batch. *selector is {0} or used before. The posterior, mean and variance (from
 * bandit_posterior_evaluate_all or bandit_screening_evaluate) are borrowed until the next start; bounds among the
 * variances are replaced by the variances of arms that may be picked.
 *   pulled  n_pulled >= 1 arms with a result; f+ and f2 are the largest means among them
 * Errors: BANDIT_NO_MEMORY (the selector can be started again or cleared). */
bandit_status bandit_gain_start(bandit_gain_selector *selector, const bandit_posterior *posterior, bool once,
                                const double *mean, double *variance, const bandit_arm_sum *pulled,
                                size_t n_pulled, bandit_error *err);
void bandit_gain_clear(bandit_gain_selector *selector);
size_t bandit_gain_memory(const bandit_gain_selector *selector);

/* Sets where evaluations fail, from here on; NULL: nothing has failed. Borrowed, like its contents, until the
 * next call or start. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_gain_heed(bandit_gain_selector *selector, const bandit_feasibility *feasibility,
                               bandit_error *err);

/* Reserves memory for `more` pulls in flight. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_gain_reserve(bandit_gain_selector *selector, size_t more, bandit_error *err);

/* Adds one pull of `arm` in flight; its memory must have been reserved. Returns the arm's start-of-batch
 * variance (paper's scale). */
double bandit_gain_take_out(bandit_gain_selector *selector, uint32_t arm);

/* Finds the arm to pick next among those of `choice`, without adding it. Returns false when no arm is left (withheld:
 * ascending). */
bool bandit_gain_best(bandit_gain_selector *selector, const uint32_t *withheld, size_t n_withheld,
                      bandit_gain_choice choice, uint32_t *arm);

/* Looks at an arm by itself: its mean, and its variances at the start of the batch and now, which is returned
 * (paper's scale). To the bit, they depend only on the posterior and the picks so far. */
double bandit_gain_look(bandit_gain_selector *selector, uint32_t arm, double *mean, double *start);

/* Sets the arm's mean and its variance at the start of the batch, as bandit_gain_look does, but keeps nothing for a
 * later look: for many arms that are looked at once. */
void bandit_gain_glance(bandit_gain_selector *selector, uint32_t arm, double *mean, double *start);

/* The gap whose improvement is expected, for an arm with this mean: mean − f+; for the leader f2 − f+. */
double bandit_gain_gap(const bandit_gain_selector *selector, uint32_t arm, double mean);

/* The penalty by which an arm's value is lowered where evaluations fail. */
double bandit_gain_penalty(bandit_gain_selector *selector, uint32_t arm);

/* The current value of an arm. */
double bandit_gain_value(bandit_gain_selector *selector, uint32_t arm);

#endif
