/* What has been observed: one entry per pulled arm, never one per pull. */
#ifndef CORE_POSTERIOR_LEDGER_H
#define CORE_POSTERIOR_LEDGER_H

#include "bandit/engine.h"
#include "bandit/status.h"
#include "core/base/sorted.h"

typedef struct bandit_ledger {
    bandit_arm_sum *sums; /* n, ascending by arm, counts >= 1; owned */
    size_t n, capacity;
    uint64_t observations; /* sum of the counts: t */
    double sum_squares;    /* of the rewards; a result that stands for k pulls counts k times its square */
} bandit_ledger;

/* The arm's among n sums, ascending by arm; NULL where it has none. */
static inline const bandit_arm_sum *bandit_sum_of(const bandit_arm_sum *sums, size_t n, uint32_t arm)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, n, i, sums[i].arm < arm);
    return place < n && sums[place].arm == arm ? &sums[place] : NULL;
}

/* The results by arm, each arm's in the order given: order[k] is arm << 32 | position, n < 2^32. */
void bandit_order_results(uint64_t *order, const bandit_result *results, size_t n);

/* *out (initialized, not `base`) becomes `base` plus the results, added in the order given; what it held is
 * overwritten. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_STATE (an arm >= n_arms, no repeats, a reward that
 * is not finite, a sum of squares that overflows); *out is then unspecified but valid. */
bandit_status bandit_ledger_add(bandit_ledger *out, const bandit_ledger *base, size_t n_arms,
                                const bandit_result *results, size_t n_results, bandit_error *err);

/* *out becomes the given sums. BANDIT_INVALID_STATE unless ascending, with counts >= 1 and finite sums. */
bandit_status bandit_ledger_load(bandit_ledger *out, size_t n_arms, const bandit_arm_sum *sums, size_t n,
                                 double sum_squares, bandit_error *err);

/* As bandit_ledger_load, with a checkpoint's sums; BANDIT_INVALID_STATE also unless they count `observations`
 * pulls, as stored beside them. */
bandit_status bandit_ledger_restore(bandit_ledger *out, size_t n_arms, const bandit_checkpoint *checkpoint,
                                    uint64_t observations, double sum_squares, bandit_error *err);

/* Puts `sums` (ascending by arm, 0 pulls for none) in the place of what the ledger has for their arms, and
 * corrects the sum of squares. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_STATE (that sum overflows); nothing
 * has changed then. */
bandit_status bandit_ledger_amend(bandit_ledger *ledger, const bandit_amendment *amendments, size_t n,
                                  const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);

void bandit_ledger_clear(bandit_ledger *ledger);

#endif
