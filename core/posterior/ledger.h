/* Sufficient statistics of the observations: one entry per pulled arm, however often it was pulled. */
#ifndef CORE_POSTERIOR_LEDGER_H
#define CORE_POSTERIOR_LEDGER_H

#include "bandit/engine.h"
#include "bandit/sorted.h"
#include "bandit/status.h"

typedef struct bandit_ledger {
    bandit_arm_sum *sums; /* n entries, ascending by arm, counts >= 1; owned */
    size_t n, capacity;
    uint64_t observations; /* t, the sum of the counts */
    double sum_squares;    /* of the rewards; a result that stands for k pulls adds k times its square */
} bandit_ledger;

/* The entry of `arm` among n sums that are ascending by arm; NULL if there is none. */
static inline const bandit_arm_sum *bandit_sum_of(const bandit_arm_sum *sums, size_t n, uint32_t arm)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, n, i, sums[i].arm < arm);
    return place < n && sums[place].arm == arm ? &sums[place] : NULL;
}

/* The precision of the arm's mean, in pulls without reported errors: nu_i. */
static inline double bandit_precision(const bandit_arm_sum *sum)
{
    double count = (double)sum->count;
    return sum->weight > 0.0F ? count * (double)sum->weight : count;
}

/* nu_i times the mean. */
static inline double bandit_weighted_sum(const bandit_arm_sum *sum)
{
    return sum->weight > 0.0F ? sum->sum * (double)sum->weight : sum->sum;
}

/* Whether all means are equal, to ten digits, so that they teach nothing about the function. */
bool bandit_ledger_is_flat(const bandit_ledger *ledger);

/* The entry with the largest mean, the first of equal ones; n > 0. */
size_t bandit_ledger_best(const bandit_ledger *ledger);

/* Whether the search of an open space, whose arms are in the order of their first visit, stands still: the latest four
 * arms brought no gain that matters, of a hundredth of the distance from the mean of all arms to the best one. n > 0. */
bool bandit_ledger_stands_still(const bandit_ledger *ledger);

/* Sorts the results by arm; results of the same arm keep their order. order[k] is arm << 32 | position,
 * n < 2^32. */
void bandit_order_results(uint64_t *order, const bandit_result *results, size_t n);

/* *out (initialized, not the same as `base`) becomes `base` plus the results, added in the order given;
 * its former content is overwritten. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_STATE (an arm >= n_arms,
 * zero repeats, a reward that is not finite, a sum of squares that overflows); *out is then unspecified
 * but valid. */
bandit_status bandit_ledger_add(bandit_ledger *out, const bandit_ledger *base, size_t n_arms,
                                const bandit_result *results, size_t n_results, bandit_error *err);

/* *out becomes the given sums. BANDIT_INVALID_STATE unless they are ascending by arm, with counts >= 1 and
 * finite sums. */
bandit_status bandit_ledger_load(bandit_ledger *out, size_t n_arms, const bandit_arm_sum *sums, size_t n,
                                 double sum_squares, bandit_error *err);

/* bandit_ledger_load with a checkpoint's sums. BANDIT_INVALID_STATE also if their counts do not add up to the
 * stored number of observations. */
bandit_status bandit_ledger_restore(bandit_ledger *out, size_t n_arms, const bandit_checkpoint *checkpoint,
                                    uint64_t observations, double sum_squares, bandit_error *err);

/* Replaces the ledger's entries for the arms of `sums` (ascending by arm; a count of 0 removes the entry),
 * and corrects the sum of squares. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_STATE (the sum of squares
 * overflows); the ledger is then unchanged. */
bandit_status bandit_ledger_amend(bandit_ledger *ledger, const bandit_amendment *amendments, size_t n,
                                  const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);

void bandit_ledger_clear(bandit_ledger *ledger);

#endif
