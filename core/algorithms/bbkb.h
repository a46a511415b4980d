/* What the files of BBKB share: bbkb.c (an engine's life: memory, stored states, predictions), bbkb_batch.c
 * (how a batch begins: dictionary, posterior, width) and bbkb_picks.c (the picks in it, and when it ends).
 * log_ei_list.c picks by another rule from the same posteriors. */
#ifndef CORE_ALGORITHMS_BBKB_H
#define CORE_ALGORITHMS_BBKB_H

#include "core/algorithms/stored_state.h"
#include "core/selection/confidence.h"
#include "core/selection/dictionary.h"
#include "core/selection/gain.h"
#include "core/selection/local_ratio.h"
#include "core/selection/screening.h"
#include "core/selection/selection.h"

/* The scalars of a batch as stored. Without bounds alpha and the log-sums are 0. */

typedef struct bandit_bbkb_state {
    char magic[BANDIT_STATE_KIND];
    char code_path[BANDIT_STATE_CODE_PATH];
    uint64_t has_model;
    uint64_t observations;
    double log_sum_1, log_sum_3;
    double alpha;
    double sum_squares;
} bandit_bbkb_state;

/* The frozen state of a batch. An engine holds two, so that a batch that fails to begin leaves the one in
 * force as it was. */
typedef struct bandit_bbkb_batch {
    bandit_ledger ledger;
    bool has_model; /* false: no rewards yet; the initial picks are uniform */
    uint32_t *dictionary;
    size_t n_dictionary, capacity_dictionary;
    bandit_posterior posterior; /* V_D: what has its rewards in */
    double *mean, *variance;    /* n arms: at the batch's start; variances below 0 are bounds (screening.h) */
    size_t capacity_mean, capacity_variance;
    bandit_selector selector; /* V: V_D and everything that is out; with a model */
    bandit_log_sums log_sums;
    double alpha;
    uint64_t n_picks;   /* of this batch */
    uint64_t n_pending; /* of former batches, still out when it began */
    double total;       /* without a model: sum of the prior variances of what is out */
    uint32_t *planned;  /* without a model: the picks of uncertainty sampling */
    size_t n_planned;
    bandit_local_ratio local; /* with a model and the global-local rule */
    bool past_global;         /* the global bound has failed: `local` is up to date */
    bandit_offer *out;        /* until then: the distinct arms that are out and their pulls */
    size_t n_out, capacity_out;
    bandit_gain_selector gain; /* of log_ei, in the selector's place */
    uint32_t *first;           /* likewise, without a model: the arms that are out, ascending */
    size_t n_first, capacity_first;
    bandit_bbkb_state state;
} bandit_bbkb_batch;

/* How an algorithm picks: `rule` of its table. */
typedef struct bandit_bbkb_rule {
    const char *state; /* what its stored states begin with */
    bool has_bounds;   /* alpha, the log-sums and the norm bound are kept */
    /* Room for so many pulls that are out; with a model, what picks are chosen by starts. Errors:
     * BANDIT_NO_MEMORY. */
    bandit_status (*start)(bandit_engine *engine, bandit_bbkb_batch *batch, size_t n_pending,
                           const bandit_executor *executor, bandit_error *err);
    /* One more pull that is out; its start-of-batch variance. */
    double (*hallucinate)(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
                          const bandit_executor *executor);
} bandit_bbkb_rule;

typedef struct bandit_bbkb {
    bandit_engine base;
    bandit_bbkb_batch batches[2];
    unsigned in_force;
    bandit_reference reference; /* a former batch, whose variances bound those of the next */
    unsigned failures;          /* of screening by it, in a row */
    unsigned batches_without;   /* to be made before the next is kept */
} bandit_bbkb;

static inline const bandit_bbkb_rule *bandit_bbkb_rule_of(const bandit_engine *engine)
{
    return engine->table->rule;
}

static inline const bandit_bbkb_batch *bandit_bbkb_in_force(const bandit_engine *engine)
{
    const bandit_bbkb *bbkb = (const bandit_bbkb *)engine;
    return &bbkb->batches[bbkb->in_force];
}

static inline bandit_bbkb_batch *bandit_bbkb_current(bandit_engine *engine)
{
    bandit_bbkb *bbkb = (bandit_bbkb *)engine;
    return &bbkb->batches[bbkb->in_force];
}

/* ---- bbkb.c -------------------------------------------------------------------------------------------- */

/* Entries of bandit_algorithm_table. */
bandit_status bandit_bbkb_open(bandit_engine *engine, bandit_error *err);
void bandit_bbkb_close(bandit_engine *engine);
bandit_status bandit_bbkb_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);
bandit_status bandit_bbkb_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                  const bandit_pick *pending, size_t n_pending,
                                  const bandit_executor *executor, bandit_error *err);
void bandit_bbkb_checkpoint(const bandit_engine *engine, bandit_checkpoint *out);
bandit_status bandit_bbkb_predict(const bandit_engine *engine, const uint32_t *arms,
                                  const double *coordinates, size_t n, bandit_prediction *out,
                                  bandit_error *err);
void bandit_bbkb_describe(const bandit_engine *engine, bandit_description *out);
size_t bandit_bbkb_memory(const bandit_engine *engine);

/* ---- bbkb_batch.c -------------------------------------------------------------------------------------- */

/* As bandit_engine_begin_batch. */
bandit_status bandit_bbkb_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                      const bandit_pick *pending, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err);

/* The posterior on the batch's dictionary and ledger. Errors: those of bandit_posterior_build. */
bandit_status bandit_bbkb_build_posterior(bandit_engine *engine, bandit_bbkb_batch *batch, bandit_error *err);

/* From ledger, dictionary, posterior and alpha to the frozen batch, with what is out hallucinated in it: the
 * same path for a batch that begins and for one that is restored. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL,
 * BANDIT_MEMORY_LIMIT. */
bandit_status bandit_bbkb_freeze(bandit_engine *engine, bandit_bbkb_batch *batch, const bandit_pick *pending,
                                 size_t n_pending, const bandit_executor *executor, bandit_error *err);

/* How many of the n arms have a bound in the place of their variance (screening.h), in a batch with a model.
 */
size_t bandit_bbkb_left_out(const bandit_bbkb_batch *batch, size_t n);

/* ---- bbkb_picks.c -------------------------------------------------------------------------------------- */

bool bandit_bbkb_is_global_local(const bandit_engine *engine);

/* Entries of bandit_bbkb_rule, of picks by confidence bounds. */
bandit_status bandit_bbkb_start_picks(bandit_engine *engine, bandit_bbkb_batch *batch, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err);
double bandit_bbkb_hallucinate(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
                               const bandit_executor *executor);

/* The variance of the prior, paper's scale. */
double bandit_bbkb_prior_variance(const bandit_engine *engine, uint32_t arm);

/* As the functions of bandit/engine.h. */
bandit_status bandit_bbkb_select(bandit_engine *engine, const bandit_select_limits *limits,
                                 const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                 bandit_error *err);
bandit_status bandit_bbkb_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                       const bandit_executor *executor, bandit_error *err);

/* ---- log_ei_list.c ------------------------------------------------------------------------------------- */

extern const bandit_algorithm_table bandit_log_ei_list_table;

#endif
