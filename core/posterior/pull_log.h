/* The observations of an engine with an exact posterior, stored so that the posterior can be extended in
 * memory and later rebuilt to the same bits.
 *
 * Extending the posterior costs one column per pull, so repeated pulls of an arm must be merged from time to
 * time. `base` holds the sums from which the posterior was last built (in blocks, ascending by arm); `log`
 * holds the pulls appended since, one at a time. When the log would become longer than max(64, u/4), where u
 * is the number of pulled arms, the current sums become the new base. Both parts are stored. A restored
 * engine builds from the base and appends the log, so it makes the same calls on the same numbers as the
 * engine that was running, and gets the same bits. Amortized over u/4 pulls, rebuilding costs O(A u) per
 * pull, the order of appending one. The posterior never has more than 1.25 u + 64 columns, however many pulls
 * there are.
 *
 * Without a model (`keep` > 0) there is no base, and the log holds the last `keep` results: the population of
 * the evolution algorithm. */
#ifndef CORE_POSTERIOR_PULL_LOG_H
#define CORE_POSTERIOR_PULL_LOG_H

#include "bandit/engine.h"
#include "core/posterior/exact_posterior.h"
#include "core/posterior/ledger.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct bandit_history {
    size_t n_arms;
    size_t keep; /* length of a log without a base; 0: base and log serve a posterior */
    bandit_ledger sums;
    bandit_ledger base;
    bandit_pull *log;
    size_t n_log, capacity_log;
    unsigned char *state; /* base and log in their stored form, n_state bytes */
    size_t n_state, capacity_state;
    bandit_ledger next; /* the sums including prepared results, between prepare and commit */
    bool fold;          /* commit makes `next` the base */
    bool amended;       /* base and log do not add up to the sums any more, so the next prepare sets `fold` */
} bandit_history;

void bandit_history_init(bandit_history *history, size_t n_arms, size_t keep);
void bandit_history_clear(bandit_history *history);

/* Checks the results and reserves all memory that commit needs. Only `next` and `fold` change. Errors:
 * BANDIT_NO_MEMORY, BANDIT_INVALID_STATE. */
bandit_status bandit_history_prepare(bandit_history *history, const bandit_result *results, size_t n,
                                     bandit_error *err);
/* Adds the prepared results and updates the stored state. */
void bandit_history_commit(bandit_history *history, const bandit_result *results, size_t n);

/* Corrects results that were added before (bandit_engine_amend). With a posterior, the sums become the base
 * at the next prepare. With `keep` > 0, the newest log entry that equals the former result is replaced or
 * removed. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_history_amend(bandit_history *history, const bandit_amendment *amendments, size_t n,
                                   const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);

/* Reads a checkpoint. Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_STATE (damaged, or the checkpoint's sums are
 * not base + log; sums that are NULL are not compared). *history must be initialized and empty. */
bandit_status bandit_history_load(bandit_history *history, const bandit_checkpoint *checkpoint,
                                  bandit_error *err);

/* Number of columns that the posterior has for base and log. */
size_t bandit_history_columns(const bandit_history *history);

size_t bandit_history_memory(const bandit_history *history);

#endif
