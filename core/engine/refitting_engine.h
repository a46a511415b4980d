/* Shared by the files of the refitting engine: refitting_engine.c (fits, batches, reading),
 * refitting_rewards.c (how rewards join), refitting_repeats.c (what repeated evaluations show) and
 * refitting_state.c (the stored state). */
#ifndef CORE_ENGINE_REFITTING_ENGINE_H
#define CORE_ENGINE_REFITTING_ENGINE_H

#include "core/algorithms/algorithm.h"
#include "core/learning/hyperparameters.h"

typedef struct bandit_refitting_engine {
    bandit_engine base;
    bandit_fit_settings settings;
    bandit_fitted fitted;
    bandit_sources sources;      /* of a study that learns from others */
    bandit_prior_mean priors[2]; /* of the inner engine, and of the next one */
    unsigned prior_in_force;
    bandit_ledger ledger, next, mapped;     /* current; of the next batch; current, in the units of the inner
                                               engine */
    bandit_told_errors errors, next_errors; /* current; of the next batch */
    double within, within_degrees;          /* squares about the means of the arms; degrees of freedom */
    double next_within, next_degrees;
    bandit_engine *inner;
    bool stale;             /* rewards were corrected, so the next batch fits */
    bandit_result *results; /* n_taken: the results of the batch that is starting */
    size_t n_taken;
    uint32_t *agreed; /* n_agreed, ascending: counted arms of which one of `results` repeats the reward */
    size_t n_agreed;
    double *lengthscales; /* those of the inner kernel */
    size_t n_inner_lengthscales;
    unsigned char *state;
    size_t n_state;
    size_t capacity_results, capacity_agreed, capacity_state;
} bandit_refitting_engine;

/* The stored state, in the byte order of the machine. After it come, in this order: the power, if rewards are
 * warped; the weights of the sources, if there are any; the values that follow from reported errors, if there
 * are any (refitting_state.c); lengthscales, outliers, the rows of reported errors, and the inner state. */
typedef struct bandit_refitting_state {
    char magic[8];
    uint64_t n_lengthscales, n_aside;
    uint64_t fitted_on, observations;
    double sum_squares, within, within_degrees;
    double offset, scale, low, high, range, signal, noise, mean;
    double norm_bound; /* of the inner engine */
} bandit_refitting_state;

/* ---- refitting_engine.c -------------------------------------------------------------------------------- */

/* The table of an engine that refits, around any algorithm with a model. */
extern const bandit_algorithm_table bandit_refitting_table;

/* Whether the options require such an engine: something is learned, or rewards are standardized. */
bool bandit_refitting_applies(const bandit_options *options);

/* Converts predictions of the inner engine to the units of the rewards. For folded rewards, mean and bound are
 * unfolded, and the standard deviation is multiplied by the slope at the mean; for warped ones, quantiles are
 * converted. */
void bandit_refitting_in_reward_units(const bandit_refitting_engine *e, bandit_prediction *p, size_t n);

/* ---- reasons.c ----------------------------------------------------------------------------------------- */

/* Entry of bandit_refitting_table. */
bandit_status bandit_refitting_explain(bandit_engine *engine, uint32_t arm,
                                       const bandit_select_limits *limits, const bandit_executor *executor,
                                       bandit_reason *out, bandit_error *err);

/* ---- refitting_rewards.c ------------------------------------------------------------------------------- */

/* Sets e->results (n_taken) to `results`, with each reward as it joins the ledger, e->next_within and
 * e->next_degrees to the squares within arms including them, and e->agreed. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_refitting_take_results(bandit_refitting_engine *e, const bandit_result *results,
                                            size_t n, bandit_error *err);

/* Whether one of e->results (which e->next includes) is the first pull of its arm and above `high`. Then only
 * a fit can tell whether it is a peak or an outlier. Always false while the last fit is too recent. */
bool bandit_refitting_is_beyond(const bandit_refitting_engine *e);

/* bandit_refitting_map_ledger sets e->mapped to `ledger`, in the units of the inner engine under *l. Memory
 * for its arms must have been reserved by the first function (false: out of memory). */
bool bandit_refitting_reserve_mapped(bandit_refitting_engine *e, size_t n);
void bandit_refitting_map_ledger(bandit_refitting_engine *e, const bandit_fitted *l,
                                 const bandit_ledger *ledger, const bandit_told_errors *errors);

/* The noise's standard deviation in the units of the inner engine, as learned or given. */
double bandit_refitting_noise(const bandit_refitting_engine *e, const bandit_fitted *l);

/* Converts e->results to the units of the inner engine. */
void bandit_refitting_standardize_results(bandit_refitting_engine *e);

/* ---- refitting_repeats.c ------------------------------------------------------------------------------- */

/* The noise that repeated evaluations show, for log_ei on a list, where a model may mistake differences that
 * it cannot follow for noise. It is 0 if all repeats agree, at least two, and either so many would hardly
 * agree by chance (as often as rewards of different arms do) or they are more than the share agreeing_repeats
 * of all results. Otherwise as bandit_refitting_noise. Since revision 2 also in an open space. */
double bandit_refitting_noise_seen(const bandit_refitting_engine *e, const bandit_fitted *l,
                                   const bandit_ledger *ledger, double within, double degrees);

/* For log_ei, the most picks in flight of arms that had a result or were in flight. Since revision 11, while no two results
 * of an arm differ, all repeats are at most two, or the share agreeing_repeats of all results; they show whether there is
 * noise. Otherwise UINT64_MAX. */
uint64_t bandit_refitting_most_repeats(const bandit_refitting_engine *e);

/* Whether a further result of an arm whose rewards were set aside equals the earlier ones. Then they are no
 * outliers, and the repeats agree. In the first revision, this is only asked by log_ei on a list. */
bool bandit_refitting_confirms_aside(const bandit_refitting_engine *e, const bandit_result *result);

/* Whether one of e->results does so. Then the next batch fits, so that they count; not in the first revision, in
 * which every fit decides again. */
bool bandit_refitting_has_confirmed(const bandit_refitting_engine *e);

/* Adds the arms that only have results set aside, which the inner engine does not know, to limits->withheld.
 * *withheld: their memory, which the caller frees; NULL if limits is unchanged. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_refitting_add_aside(const bandit_refitting_engine *e, bandit_select_limits *limits,
                                         uint32_t **withheld, bandit_error *err);

/* The same if the inner engine does not pick an arm with a result again while there is another. In the first
 * revision only for log_ei on a list. */
bandit_status bandit_refitting_withhold_aside(const bandit_refitting_engine *e, bandit_select_limits *limits,
                                              uint32_t **withheld, bandit_error *err);

/* ---- refitting_state.c --------------------------------------------------------------------------------- */

/* Bytes of the state with these reported errors and n_inner bytes of the inner engine. */
size_t bandit_refitting_state_bytes(const bandit_refitting_engine *e, const bandit_fitted *l,
                                    const bandit_told_errors *errors, size_t n_inner);

/* Reserves memory for the state of a batch that takes n results. Returns false when out of memory. */
bool bandit_refitting_reserve_state(bandit_refitting_engine *e, const bandit_fitted *l, size_t n);

/* Writes e->state for the current batch. Its memory must have been reserved. */
void bandit_refitting_write_state(bandit_refitting_engine *e);

/* Reads a checkpoint: e->fitted, the squares within arms, and *state, which is its first part. *inner becomes
 * the checkpoint of the inner engine, and borrows from `checkpoint`. Errors: BANDIT_INVALID_STATE,
 * BANDIT_NO_MEMORY. */
bandit_status bandit_refitting_read_state(bandit_refitting_engine *e, const bandit_checkpoint *checkpoint,
                                          bandit_refitting_state *state, bandit_checkpoint *inner,
                                          bandit_error *err);

#endif
