/* What an engine of exact form has observed, kept so that the posterior can be grown live and built again to
 * the bit.
 *
 * Growing costs a column a pull, so repeated pulls must be merged now and then: `base` is the sums from which
 * the posterior was last built (in blocks, ascending by arm), `log` the pulls appended since, one at a time.
 * When the log would be longer than max(64, u/4), u the arms pulled, the sums become the new base. Both are
 * stored: whoever builds from the base and appends the log makes the same calls on the same numbers as the
 * engine that lived through them, hence the same bits. Amortized over u/4 pulls, building again costs O(A u)
 * per pull, the order of appending, and what is held stays within 1.25 u + 64 columns, however many pulls.
 *
 * Without a model (`keep` > 0) there is no base, and the log is the last `keep` results: evolution's
 * population. */
#ifndef CORE_POSTERIOR_PULL_LOG_H
#define CORE_POSTERIOR_PULL_LOG_H

#include "bandit/engine.h"
#include "core/posterior/exact_posterior.h"
#include "core/posterior/ledger.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct bandit_history {
    size_t n_arms;
    size_t keep; /* 0: for a posterior */
    bandit_ledger sums;
    bandit_ledger base;
    bandit_pull *log;
    size_t n_log, capacity_log;
    unsigned char *state; /* base and log as stored: n_state bytes */
    size_t n_state, capacity_state;
    bandit_ledger next; /* between prepare and commit */
    bool fold;          /* next becomes the base */
    bool amended;       /* base and log no longer add up to the sums: the next prepare folds */
} bandit_history;

void bandit_history_init(bandit_history *history, size_t n_arms, size_t keep);
void bandit_history_clear(bandit_history *history);

/* Checks the results and reserves all that commit needs; nothing that can be seen changes but `next` and
 * `fold`. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_STATE. */
bandit_status bandit_history_prepare(bandit_history *history, const bandit_result *results, size_t n,
                                     bandit_error *err);
/* Takes the prepared results in and renews the stored state. */
void bandit_history_commit(bandit_history *history, const bandit_result *results, size_t n);

/* Corrects results that have been taken in (bandit_engine_amend). The sums become the base at the next
 * prepare; of a log that is kept for itself, the youngest entry that equals what was is replaced or removed.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_history_amend(bandit_history *history, const bandit_amendment *amendments, size_t n,
                                   const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);

/* Reads what a checkpoint holds. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_STATE (damaged, or sums that base
 * and log do not add up to; no sums at all, NULL, are not compared). *history is initialized and empty. */
bandit_status bandit_history_load(bandit_history *history, const bandit_checkpoint *checkpoint,
                                  bandit_error *err);

/* Columns the posterior has with base and log. */
size_t bandit_history_columns(const bandit_history *history);

size_t bandit_history_memory(const bandit_history *history);

#endif
