/* What one more measurement of an arm may be worth to a search for the best one, and a batch of arms by it.
 *
 * A measurement moves an arm's mean mu by a normal step of the deviation s~, before it is made:
 *
 *   s~ = sigma^2 / sqrt(sigma^2 + lambda) = sqrt(lambda) v / sqrt(v + 1),   v = sigma^2 / lambda
 *
 * and the expected gain over the incumbent f+, the largest mean among the arms with a result, is
 *
 *   s~ h((mu − f+) / s~),   h(z) = phi(z) + z Phi(z)
 *
 * (the knowledge gradient of Frazier, Powell, Dayanik 2009 among the arms with a result and this one; Huang et
 * al. 2006 have the same factor sigma/sqrt(sigma^2 + lambda) before the expected improvement). Measuring the
 * leader, the arm of f+, is worth something only if it may fall behind the second, f2: its gap is f2 − f+. Where
 * noise is small beside sigma all this is the expected improvement. An arm that is known as well as its noise
 * allows has s~ near 0: a repeat must be worth its trial. What is compared is the logarithm, which does not
 * underflow, less a penalty where evaluations fail (feasibility.h).
 *
 * Arms that are out shrink the variances around them (conditioning.h); the means stay. Without noise f+ is also
 * at least the mean of every arm that is out. So values only fall inside a batch, and an old value is an upper
 * bound: a heap holds one for every arm, those at its top are brought up to date some at a time by matrix
 * products, and what is still at the top is evaluated exactly. The pick is the arm whose value is largest among
 * all, ties to the lowest index: a function of the posterior and the picks so far alone, to the bit. */
#ifndef CORE_SELECTION_GAIN_H
#define CORE_SELECTION_GAIN_H

#include "core/base/bound_heap.h"
#include "core/posterior/conditioning.h"
#include "core/selection/feasibility.h"
#include "core/selection/log_gain.h"

/* What has happened to an arm. Without noise neither kind is picked again. With noise an arm with a result is,
 * where its gain is worth it; one that is out is not, unless arms are few for what is out (BANDIT_GAIN_FEW for
 * each) and it has a result: then the gains decide here too. */
enum { BANDIT_GAIN_RESULT = 1, BANDIT_GAIN_OUT = 2 };
enum { BANDIT_GAIN_FEW = 10 };

/* Of a shortfall of 1 (feasibility.h), on the scale of log gains: so large that arms come by their shortfall
 * first. What is not known to fail may be worth e^-1000 and less where the model is sure of its values, and the
 * best values are often just beyond the border of what fails. */
#define BANDIT_GAIN_PENALTY 1e9

typedef struct bandit_gain_slot bandit_gain_slot;

typedef struct bandit_gain_selector {
    const bandit_posterior *posterior;
    const double *mean, *variance; /* n_arms; below 0: minus an upper bound (screening.h) */
    size_t n_arms;
    double incumbent; /* f+, reward units */
    uint32_t leader;  /* its arm */
    double second;    /* f2 */
    double smallest;  /* s~ at least */
    bool once;        /* no noise: arms with a result or in flight are not picked again */
    double total;     /* sum of start-of-batch variances of all that is out */
    uint64_t n_out;
    bandit_conditioning conditioning;
    const bandit_feasibility *feasibility; /* NULL: nothing has failed */

    bandit_heap heap;
    bandit_heap_entry *entries; /* n_arms */
    uint32_t *stamp;            /* n_arms: n_out + 1 when the bound was brought up to date; 0: never */
    uint8_t *met;               /* n_arms: BANDIT_GAIN_RESULT, BANDIT_GAIN_OUT */
    double *penalty;            /* n_arms: what failures take off the value; NAN: not yet looked at */
    uint64_t aside_key;         /* what withheld set the arms set aside belong to */

    bandit_gain_slot *slots; /* arms evaluated in this batch; a ring: the oldest gives way */
    uint32_t *slot_of;       /* n_arms: slot + 1, or 0 */
    size_t n_slots, next_slot;
    double *vectors; /* n_slots x (2 stride + ld): z, w and c */
    double *scratch; /* dimension */
    size_t capacity_entries, capacity_stamp, capacity_met, capacity_penalty, capacity_slots, capacity_slot_of,
        capacity_vectors, capacity_scratch;
} bandit_gain_selector;

/* Starts a batch. *selector is {0} or used before. The posterior, mean and variance (what
 * bandit_posterior_evaluate_all or bandit_screening_evaluate gave) are borrowed until the next start.
 *   pulled  n_pulled >= 1 arms with a result, of which f+ and f2 are the largest means
 * Errors: BANDIT_NO_MEMORY (the selector can be started again or cleared). */
bandit_status bandit_gain_start(bandit_gain_selector *selector, const bandit_posterior *posterior, bool once,
                                const double *mean, const double *variance, const bandit_arm_sum *pulled,
                                size_t n_pulled, bandit_error *err);
void bandit_gain_clear(bandit_gain_selector *selector);
size_t bandit_gain_memory(const bandit_gain_selector *selector);

/* From here on, where evaluations fail; NULL: nothing has failed. Borrowed, like its contents, until the next
 * call or start. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_gain_heed(bandit_gain_selector *selector, const bandit_feasibility *feasibility,
                               bandit_error *err);

/* Room for `more` pulls that are out. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_gain_reserve(bandit_gain_selector *selector, size_t more, bandit_error *err);

/* One more pull of `arm` is out, room being there; returns its start-of-batch variance (paper's scale). */
double bandit_gain_take_out(bandit_gain_selector *selector, uint32_t arm);

/* The arm to pick next; not out yet. `again`: also of those that are not picked again. false when no arm is
 * left (withheld: ascending). */
bool bandit_gain_best(bandit_gain_selector *selector, const uint32_t *withheld, size_t n_withheld, bool again,
                      uint32_t *arm);

/* The value of an arm now. */
double bandit_gain_value(bandit_gain_selector *selector, uint32_t arm);

#endif
