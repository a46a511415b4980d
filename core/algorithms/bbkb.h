/* Shared by the files of BBKB: bbkb.c (creation, memory, stored states, predictions), bbkb_batch.c (the start
 * of a batch: dictionary, posterior, width), bbkb_first.c (uncertainty sampling before the first reward) and
 * bbkb_picks.c (the picks of a batch, and its end). log_ei_list.c picks by another rule from the same
 * posteriors. */
#ifndef CORE_ALGORITHMS_BBKB_H
#define CORE_ALGORITHMS_BBKB_H

#include "core/algorithms/stored_state.h"
#include "core/posterior/exact_posterior.h"
#include "core/selection/confidence.h"
#include "core/selection/dictionary.h"
#include "core/selection/gain.h"
#include "core/selection/local_ratio.h"
#include "core/selection/screening.h"
#include "core/selection/selection.h"

/* The stored scalars of a batch. Without bounds, alpha and the log-sums are 0. */

typedef struct bandit_bbkb_state {
    char magic[BANDIT_STATE_KIND];
    char code_path[BANDIT_STATE_CODE_PATH];
    uint64_t has_model;
    uint64_t observations;
    double log_sum_1, log_sum_3;
    double alpha;
    double sum_squares;
} bandit_bbkb_state;

/* The frozen state of a batch. An engine has two, so that a batch that fails to begin leaves the current one
 * unchanged. */
typedef struct bandit_bbkb_batch {
    bandit_ledger ledger;
    bool has_model; /* false: there are no rewards yet, and the initial picks are uniform */
    uint32_t *dictionary;
    size_t n_dictionary, capacity_dictionary;
    bandit_posterior posterior; /* V_D: given the observed rewards */
    double *mean, *variance;    /* n arms, at the batch's start; a variance below 0 is minus an upper bound
                                   (screening.h) */
    size_t capacity_mean, capacity_variance;
    bandit_selector selector; /* V: V_D and all picks in flight; only with a model */
    bandit_log_sums log_sums;
    double alpha;
    uint64_t n_picks;   /* picks made in this batch */
    uint64_t n_pending; /* picks of earlier batches that were in flight when this one began */
    double total;       /* without a model: sum of the prior variances of the picks in flight */
    uint32_t *planned;  /* without a model: the picks that uncertainty sampling planned */
    size_t n_planned;
    bandit_exact *prior; /* without a model, with options.init_cholesky: given the picks in flight; otherwise
                            NULL */
    bandit_local_ratio local; /* used with a model and the global-local rule */
    bool past_global;         /* `local` is up to date: the global bound was exceeded, or `out` was full */
    bandit_offer *out;        /* until past_global: the distinct arms in flight, and their pulls */
    size_t n_out, capacity_out;
    bandit_gain_selector gain; /* for log_ei, instead of the selector */
    uint32_t *first;           /* for log_ei without a model: the arms in flight, ascending */
    size_t n_first, capacity_first;
    bandit_bbkb_state state;
} bandit_bbkb_batch;

/* How an algorithm picks; the `rule` of its table. */
typedef struct bandit_bbkb_rule {
    const char *state; /* first bytes of its stored states */
    bool has_bounds;   /* alpha, the log-sums and the norm bound are used */
    double width;      /* without bounds: how many standard deviations `ucb` is above the mean */
    /* Reserves memory for this many pulls in flight. With a model, also starts the data by which picks are
     * chosen.
     * Errors: BANDIT_NO_MEMORY. */
    bandit_status (*start)(bandit_engine *engine, bandit_bbkb_batch *batch, size_t n_pending,
                           const bandit_executor *executor, bandit_error *err);
    /* Adds one pull in flight. Returns the arm's start-of-batch variance. */
    double (*hallucinate)(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
                          const bandit_executor *executor);
} bandit_bbkb_rule;

typedef struct bandit_bbkb {
    bandit_engine base;
    bandit_bbkb_batch batches[2];
    unsigned in_force;
    bandit_reference reference; /* an earlier batch, whose variances bound those of the next */
    unsigned failures;          /* consecutive failures of screening */
    unsigned batches_without;   /* batches still to be evaluated without screening */
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
const bandit_posterior *bandit_bbkb_posterior(const bandit_engine *engine);
void bandit_bbkb_describe(const bandit_engine *engine, bandit_description *out);
size_t bandit_bbkb_memory(const bandit_engine *engine);

/* ---- bbkb_batch.c -------------------------------------------------------------------------------------- */

/* As bandit_engine_begin_batch. */
bandit_status bandit_bbkb_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                      const bandit_pick *pending, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err);

/* Builds the posterior from the batch's dictionary and ledger. Errors: those of bandit_posterior_build. */
bandit_status bandit_bbkb_build_posterior(bandit_engine *engine, bandit_bbkb_batch *batch, bandit_error *err);

/* Completes the frozen batch from its ledger, dictionary, posterior and alpha, and hallucinates the picks in
 * flight. A new batch and a restored one both take this path. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL,
 * BANDIT_MEMORY_LIMIT. */
bandit_status bandit_bbkb_freeze(bandit_engine *engine, bandit_bbkb_batch *batch, const bandit_pick *pending,
                                 size_t n_pending, const bandit_executor *executor, bandit_error *err);

/* The number of arms, of n, that have a bound instead of a variance (screening.h). The batch must have a
 * model. */
size_t bandit_bbkb_left_out(const bandit_bbkb_batch *batch, size_t n);

/* ---- bbkb_picks.c -------------------------------------------------------------------------------------- */

bool bandit_bbkb_is_global_local(const bandit_engine *engine);

/* For bandit_bbkb_rule: picks by confidence bounds. */
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

/* As bandit_algorithm_table.explain. The second function is for batches without a model. */
bandit_status bandit_bbkb_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                  const bandit_executor *executor, bandit_reason *out, bandit_error *err);
void bandit_bbkb_explain_first(const bandit_bbkb_batch *batch, uint32_t arm, bandit_reason *out);

/* ---- bbkb_first.c, before the first reward ------------------------------------------------------------- */

/* Starts uncertainty sampling, with memory for this many pulls in flight. Errors: BANDIT_NO_MEMORY,
 * BANDIT_MEMORY_LIMIT. */
bandit_status bandit_bbkb_start_first(const bandit_engine *engine, bandit_bbkb_batch *batch, size_t n_pending,
                                      const bandit_executor *executor, bandit_error *err);
/* Reserves memory for `more` pulls in flight; without batch->prior it does nothing. Errors as above. */
bandit_status bandit_bbkb_reserve_first(const bandit_engine *engine, bandit_bbkb_batch *batch, size_t more,
                                        const bandit_executor *executor, bandit_error *err);
/* Adds a pull in flight, also without batch->prior. Returns the arm's prior variance. */
double bandit_bbkb_take_out_first(const bandit_engine *engine, bandit_bbkb_batch *batch, uint32_t arm,
                                  const bandit_executor *executor);
/* With batch->prior: find the most uncertain arm that may be picked (false: there is none), and why the batch
 * ends. */
bool bandit_bbkb_most_uncertain(const bandit_engine *engine, const bandit_bbkb_batch *batch,
                                const bandit_select_limits *limits, uint32_t *arm);
bandit_stop_rule bandit_bbkb_first_stop(const bandit_engine *engine, const bandit_bbkb_batch *batch,
                                        const bandit_select_limits *limits);

/* ---- log_ei_list.c ------------------------------------------------------------------------------------- */

extern const bandit_algorithm_table bandit_log_ei_list_table;

/* Whether and why the batch ends before another pick. */
bandit_stop_rule bandit_log_ei_list_stop_rule(const bandit_engine *engine,
                                              const bandit_select_limits *limits);

/* Learns from the failures, for the picks that follow; there must be a model. *changed: whether the failures
 * differ from those of the last call for this batch. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_log_ei_list_heed(bandit_engine *engine, const bandit_select_limits *limits,
                                      bool *changed, bandit_error *err);

/* Draws an arm that has no result, is not in flight and is not known to fail; there must be a model. False: none was
 * among the arms drawn. */
bool bandit_log_ei_list_draw(bandit_engine *engine, const bandit_select_limits *limits, uint32_t *arm);

#endif
