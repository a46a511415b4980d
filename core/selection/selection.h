/* Selects the picks of a batch: lazy argmax of mean + alpha * (standard deviation after the picks so far).
 *
 * Within a batch upper bounds only decrease ([BBKB] A.3), so an outdated value is still an upper bound. A
 * heap holds one bound for every arm. Only arms that reach its top are evaluated, from their features, by
 * substitution. The pick is the arm with the largest value of all; ties go to the lowest index. To the bit,
 * it depends only on the posterior and the picks so far, however few arms were evaluated. */
#ifndef CORE_SELECTION_SELECTION_H
#define CORE_SELECTION_SELECTION_H

#include "core/base/bound_heap.h"
#include "core/posterior/hallucination.h"
#include "core/posterior/sparse_posterior.h"

typedef struct bandit_shadow_slot bandit_shadow_slot;

typedef struct bandit_selector {
    const bandit_posterior *posterior; /* borrowed */
    double alpha;
    size_t n_arms;
    bandit_hallucination hallucination;
    double total; /* sum of start-of-batch variances of the picks in flight: the stop rule's sum less 1 */
    uint64_t n_out;

    bandit_heap heap;
    bandit_heap_entry *entries; /* n_arms entries */
    uint64_t aside_key;         /* hash of the withheld set for which arms were set aside */

    bandit_shadow_slot *slots; /* arms evaluated in this batch; a ring, in which the oldest is overwritten */
    uint32_t *slot_of;         /* n_arms: slot + 1, or 0 */
    size_t n_slots, next_slot;
    double *vectors; /* n_slots x 2 stride: w and coordinates */
    size_t stride;
    double *scratch;
    size_t capacity_entries, capacity_slots, capacity_slot_of, capacity_vectors, capacity_scratch;
} bandit_selector;

/* Starts a batch. *selector is {0} or used before. mean and variance come from bandit_posterior_evaluate_all
 * or bandit_screening_evaluate, and are only read here. Errors: BANDIT_NO_MEMORY (the selector can be started
 * again or cleared). */
bandit_status bandit_selector_start(bandit_selector *selector, const bandit_posterior *posterior,
                                    double alpha, const double *mean, const double *variance,
                                    bandit_error *err);
void bandit_selector_clear(bandit_selector *selector);

/* Adds one pull of `arm` in flight. Returns the arm's start-of-batch variance (paper's scale). */
double bandit_selector_hallucinate(bandit_selector *selector, uint32_t arm);

/* Finds the arm to pick next, without hallucinating it. Returns false when all arms are withheld (ascending
 * list). */
bool bandit_selector_best(bandit_selector *selector, const uint32_t *withheld, size_t n_withheld,
                          uint32_t *arm);

/* The arm's current value: mean + alpha * standard deviation after the picks so far. */
double bandit_selector_value(bandit_selector *selector, uint32_t arm);

/* The same, with its mean and its variance after the picks so far (paper's scale). */
double bandit_selector_look(bandit_selector *selector, uint32_t arm, double *mean, double *variance);

/* Bytes held. */
size_t bandit_selector_memory(const bandit_selector *selector);

#endif
