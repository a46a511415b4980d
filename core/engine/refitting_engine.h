/* What the files of an engine that learns share: refitting_engine.c (fits, batches, reading), refitting_rewards.c (how
 * rewards join) and refitting_state.c (what is stored). */
#ifndef CORE_ENGINE_REFITTING_ENGINE_H
#define CORE_ENGINE_REFITTING_ENGINE_H

#include "core/algorithms/algorithm.h"
#include "core/learning/hyperparameters.h"

typedef struct bandit_refitting_engine {
    bandit_engine base;
    bandit_fit_settings settings;
    bandit_fitted fitted;
    bandit_ledger ledger, next, mapped; /* in force; prepared; the inner engine's */
    double within, within_degrees; /* squares of rewards about their arms' means, and how many are free */
    double next_within, next_degrees;
    bandit_engine *inner;
    bool stale;             /* rewards were corrected: the next batch fits */
    bandit_result *results; /* n_taken: of the batch that begins */
    size_t n_taken;
    double *lengthscales; /* the inner kernel's */
    size_t n_inner_lengthscales;
    unsigned char *state;
    size_t n_state;
    size_t capacity_results, capacity_state;
} bandit_refitting_engine;

/* As stored, in the machine's own byte order: lengthscales, what is set aside and the inner state follow. */
typedef struct bandit_refitting_state {
    char magic[8];
    uint64_t n_lengthscales, n_aside;
    uint64_t fitted_on, observations;
    double sum_squares, within, within_degrees;
    double offset, scale, low, high, range, signal, noise, mean;
    double norm_bound; /* the inner one */
} bandit_refitting_state;

/* ---- refitting_engine.c -------------------------------------------------------------------------------- */

/* The table of an engine that refits, around any algorithm with a model. */
extern const bandit_algorithm_table bandit_refitting_table;

/* Do the options ask for one: is anything learned, or are rewards standardized? */
bool bandit_refitting_applies(const bandit_options *options);

/* ---- refitting_rewards.c ------------------------------------------------------------------------------- */

/* e->results = `results`, n_taken, each as it joins the ledger, and the squares that they add within their
 * arms, e->next_within and e->next_degrees. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_refitting_take_results(bandit_refitting_engine *e, const bandit_result *results,
                                            size_t n, bandit_error *err);

/* Is one of e->results, which e->next has, an arm's first pull and above all that was thought possible? Then
 * nothing but a fit can tell whether it is a peak or a stray; but not for every one of many. */
bool bandit_refitting_is_beyond(const bandit_refitting_engine *e);

/* e->mapped = `ledger` as the inner engine sees it under *l, with room for n arms that was reserved (false:
 * no memory). */
bool bandit_refitting_reserve_mapped(bandit_refitting_engine *e, size_t n);
void bandit_refitting_map_ledger(bandit_refitting_engine *e, const bandit_fitted *l,
                                 const bandit_ledger *ledger);

/* e->results in the inner engine's units. */
void bandit_refitting_standardize_results(bandit_refitting_engine *e);

/* ---- refitting_state.c --------------------------------------------------------------------------------- */

/* Bytes of the state, n_inner of them the inner engine's. */
size_t bandit_refitting_state_bytes(const bandit_fitted *l, size_t n_inner);

/* Room for the state of a batch that takes in n results. false: no memory. */
bool bandit_refitting_reserve_state(bandit_refitting_engine *e, const bandit_fitted *l, size_t n);

/* e->state of what is in force. Room was reserved. */
void bandit_refitting_write_state(bandit_refitting_engine *e);

/* e->fitted and the squares within arms of a checkpoint, its first part as stored, and *inner: the rest,
 * borrowed from it. Errors: BANDIT_INVALID_STATE, BANDIT_NO_MEMORY. */
bandit_status bandit_refitting_read_state(bandit_refitting_engine *e, const bandit_checkpoint *checkpoint,
                                          bandit_refitting_state *state, bandit_checkpoint *inner,
                                          bandit_error *err);

#endif
