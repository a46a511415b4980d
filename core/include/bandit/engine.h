/* The engine of one study: the server's interface to an algorithm.
 *
 * Life of an engine:
 *
 *   new ──► begin_batch ──► select ──► (rewards arrive) ──► begin_batch ──► select ──► …
 *
 * begin_batch adds the results that have arrived, updates the model, and freezes it: mean, beta and the
 * start-of-batch variances do not change until the next begin_batch. select chooses the batch's picks. Until
 * the next begin_batch, predict and describe refer to the frozen model. A checkpoint taken after begin_batch,
 * and the picks made since, are all that is needed to build an equal engine elsewhere: restore, then
 * replay_picks.
 *
 * Everything is maximized. The engine uses no I/O, clock, threads or global state. On one machine, the same
 * calls give the same picks, whatever the executor. Nothing is allocated per pick. */
#ifndef BANDIT_ENGINE_H
#define BANDIT_ENGINE_H

#include "bandit/algorithm.h"
#include "bandit/arms.h"
#include "bandit/executor.h"
#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bandit_engine bandit_engine;

/* A reward that joins the model. The bits of the state (its sums) depend on the order in which results are
 * given. */
typedef struct bandit_result {
    uint32_t arm;
    uint32_t repeats;     /* pulls it stands for: `reward` is their mean; >= 1 */
    double reward;        /* finite, and so is the sum of all squares: |reward| up to 1e140 is safe */
    bool chosen;          /* by this engine; then `variance` is the pick's */
    double variance;      /* start-of-batch variance of the batch that issued it, paper's scale */
    const double *others; /* the rewards of the metrics after the first, finite; borrowed. NULL: there are
                             none */
    double error;         /* reported standard error of `reward`; 0: none was reported */
    const double *other_errors; /* the same for `others`; borrowed. NULL: none */
    float weight; /* precision of a pull relative to the model's noise; 0 stands for 1. An engine sets it for
                     the engine that it wraps */
} bandit_result;

typedef struct bandit_pick {
    uint32_t arm;
    double variance; /* sigma^2_fb at the batch's start, paper's scale (0 where there is no model) */
} bandit_pick;

/* An arm's rewards so far. */
typedef struct bandit_arm_sum {
    uint32_t arm;
    float weight;   /* mean precision of a pull, as in bandit_result; 0 in checkpoints, and where no error was
                       reported */
    uint64_t count; /* n_i */
    double sum;     /* r_i: the (weighted) mean, times the count */
} bandit_arm_sum;

/* The state at a batch's start, as stored. */
typedef struct bandit_checkpoint {
    uint64_t batch;             /* from 0 */
    const uint32_t *dictionary; /* as sampled, ascending */
    size_t n_dictionary;
    const bandit_arm_sum *sums; /* every pulled arm, ascending by arm */
    size_t n_sums;
    const unsigned char *state; /* the algorithm's own scalars: opaque bytes, for the same machine type */
    size_t n_state;
} bandit_checkpoint;

/* Why a batch ended. X(enumerator, name in the API) */
#define BANDIT_STOP_RULE_LIST(X)                                                                             \
    X(BANDIT_STOP_INITIAL, "initial")                                                                        \
    X(BANDIT_STOP_GLOBAL, "global")                                                                          \
    X(BANDIT_STOP_GLOBAL_LOCAL, "global_local")                                                              \
    X(BANDIT_STOP_MAX_BATCH, "max_batch")                                                                    \
    X(BANDIT_STOP_HORIZON, "horizon")                                                                        \
    X(BANDIT_STOP_SEQUENTIAL, "sequential") /* the algorithm's batches are one pick long */                  \
    X(BANDIT_STOP_EXHAUSTED, "exhausted")   /* no arm is left that may be chosen */

typedef enum bandit_stop_rule {
    BANDIT_STOP_NONE, /* the batch continues: select stopped at the limit of this call */
#define X(enumerator, name) enumerator,
    BANDIT_STOP_RULE_LIST(X)
#undef X
        BANDIT_STOP_RULES
} bandit_stop_rule;

const char *bandit_stop_rule_name(bandit_stop_rule rule); /* not of BANDIT_STOP_NONE; static */

/* An engine before its first batch. `arms` is borrowed and must outlive it; `options` is copied. On an open
 * space (bandit/space.h) the engine chooses among all points of the space, and select appends those that were
 * not visited before.
 * Errors: those of bandit_options_check; BANDIT_UNSUPPORTED; BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT when the
 * engine would hold more than memory_limit bytes (0: no limit) beyond the arms. */
bandit_status bandit_engine_new(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                size_t memory_limit, bandit_error *err);

/* An engine equal, to the bit, to the one the checkpoint was taken from. The checkpoint is copied.
 * Errors also: BANDIT_INVALID_STATE. */
bandit_status bandit_engine_restore(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                    size_t memory_limit, const bandit_checkpoint *checkpoint,
                                    const bandit_pick *pending, size_t n_pending,
                                    const bandit_executor *executor, bandit_error *err);

/* A correction of a result that is part of the model: `now` replaces `was`. A reward that did not exist
 * before has no repeats in `was`; one that is removed has none in `now`. */
typedef struct bandit_amendment {
    uint32_t arm;
    struct {
        uint32_t repeats;                       /* 0: no reward */
        double reward;                          /* the mean of this many pulls */
        double others[BANDIT_MOST_METRICS - 1]; /* as of bandit_result */
    } was, now;
    bool chosen; /* as of bandit_result */
    double variance;
} bandit_amendment;

/* Corrects results that joined the model in earlier batches. Called right before begin_batch, which is the
 * first to compute with the corrected model; the current batch and its predictions do not change.
 *   amendments  n, in the order in which they were made
 *   sums        n_sums, ascending by arm: the corrected sums of the arms of the amendments; an arm without
 *               pulls has a count of 0. The caller adds them up from all results of the arm in the order in
 *               which they joined, so that counts and sums are, to the bit, those of a study whose results
 *               were right at first. With several metrics: n_sums of the first metric, then n_sums of the
 *               second, …
 *   told        n_told: the results of these arms that have a standard error for some metric, in the order in
 *               which they joined
 * The sum of squares is corrected by differences. A new reward adds its term to the log-sum of [BBKB]'s
 * width. The term of a reward that is removed stays there, which can only widen the bounds (ours).
 * Errors: BANDIT_INVALID_STATE, BANDIT_NO_MEMORY. After an error the engine must be freed. */
bandit_status bandit_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                  const bandit_arm_sum *sums, size_t n_sums, const bandit_result *told,
                                  size_t n_told, bandit_error *err);

/* Whether an engine with these options weights results by their reported standard errors: it does if it
 * learns hyper-parameters or standardizes rewards. Other engines refuse standard errors. */
bool bandit_weighs_errors(const bandit_options *options);

/* Starts the next batch: adds `results` to counts and sums in the order given, resamples the dictionary, and
 * computes the posterior of all arms. `pending`: picks of earlier batches that are still in flight
 * (asynchronous feedback). They are offered to the dictionary and hallucinated, in the order given. After an
 * error the engine is as before the call, but an engine with several metrics must be freed. */
bandit_status bandit_engine_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                        const bandit_pick *pending, size_t n_pending,
                                        const bandit_executor *executor, bandit_error *err);

typedef struct bandit_select_limits {
    size_t max_picks;         /* of this call; picks[] has this many entries */
    uint64_t remaining;       /* trials left to the horizon; UINT64_MAX without one */
    bool beyond_bound;        /* choose max_picks more even if the batch's rule says stop */
    const uint32_t *withheld; /* arms that may not be chosen, ascending; borrowed */
    size_t n_withheld;
    /* In an open space, and on lists for log_ei: arms whose last pulls failed, ascending; borrowed. From
     * those of them that have no reward, the engine learns where evaluations fail, and picks avoid such
     * regions (feasibility.h). */
    const uint32_t *failed;
    size_t n_failed;
    /* In a space: the values of the fixed parameters, one entry per parameter, coded; NaN for a parameter
     * that is not fixed. NULL: none is. Parameters that cannot be active with these values stay inactive.
     * Borrowed. */
    const double *fixed;
    /* In an enumerated space whose parameters have defaults: choose nothing while their point would be the first pick,
     * but is withheld. Otherwise another point is chosen. */
    bool defaults_or_none;
    /* For log_ei: with so many picks in flight of arms that had a result or were in flight, only other arms are
     * chosen, as long as there are any. */
    uint64_t most_repeats;
} bandit_select_limits;

#define BANDIT_SELECT_LIMITS_INIT                                                                            \
    {                                                                                                        \
        .max_picks = SIZE_MAX, .remaining = UINT64_MAX, .most_repeats = UINT64_MAX                           \
    }

typedef struct bandit_selection {
    size_t n_picks;
    double ratio; /* left side of the bound after the last pick: 1 + sum of sigma^2_fb over the picks in
                     flight */
    bandit_stop_rule stop_rule;
} bandit_selection;

/* Chooses the batch's next picks, until the batch's rule or a limit stops it. Picks are hallucinated. May be
 * called again in the same batch (asynchronous feedback). [BBKB] Alg. 1, lines 6–13 for BBKB.
 *   picks  the caller's, of limits->max_picks entries; out->n_picks of them are filled
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL, BANDIT_MEMORY_LIMIT; in a space also BANDIT_INVALID_OPTION,
 * field "fixed", when no point has these values. After an error nothing is picked and the engine is as before
 * the call, which may be repeated. A failure after the first pick is not an error: the picks made stand, and
 * the next call says why there are no more. */
bandit_status bandit_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                   const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                   bandit_error *err);

/* Hallucinates picks made earlier in this batch, in their order (after restore; also a user's own trials).
 * Errors: BANDIT_INVALID_STATE (an arm that does not exist; nothing has changed); BANDIT_NO_MEMORY,
 * BANDIT_MEMORY_LIMIT: some picks may already be hallucinated, so the engine must be freed. */
bandit_status bandit_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                         const bandit_executor *executor, bandit_error *err);

/* A view of the stored state of the current batch; borrowed from the engine until the next begin_batch. */
void bandit_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out);

/* Prediction at the start of the current batch. Bayesian scale, reward units. */
typedef struct bandit_prediction {
    double mean;
    double variance; /* Bayesian: lambda times the paper's; never negative */
    double ucb;      /* the bound the picks were made with: mean + alpha * (paper's standard deviation) */
} bandit_prediction;

/* BANDIT_UNSUPPORTED for algorithms without a model. Before the first reward, predictions are those of the
 * prior. Several threads may call this at the same time if no other call uses the engine. */
bandit_status bandit_engine_predict_arms(const bandit_engine *engine, const uint32_t *arm_indices, size_t n,
                                         bandit_prediction *out, bandit_error *err);

/* points: n x bandit_arms_point_width, row-major, raw units; in a space coded points, which must belong to
 * the space (BANDIT_INVALID_ARMS). BANDIT_UNSUPPORTED for a precomputed set. */
bandit_status bandit_engine_predict_points(const bandit_engine *engine, const double *points, size_t n,
                                           bandit_prediction *out, bandit_error *err);

typedef struct bandit_description {
    uint64_t batch;             /* number of the current batch, from 0 */
    uint64_t observations;      /* pulls in the model */
    bool has_model;             /* false for uniform and regularized_evolution */
    double beta;                /* alpha: the factor before sigma in the paper's scale */
    const uint32_t *dictionary; /* as sampled, ascending; borrowed until the next begin_batch */
    size_t n_dictionary;
    double effective_dimension;   /* sum n_i sigma^2(x_i), paper's scale */
    double information_gain;      /* 1/2 log det(I + K/lambda), of the sparse posterior where there is one */
    double lambda;                /* in the units of the model */
    double noise_std, norm_bound; /* in the units of the rewards */
    double signal_std;            /* of the prior, in the units of the rewards; 1 where it is not learned */
    double shift, unit;           /* the model sees (reward − shift) / unit */
    bool warped; /* it sees (o + s warp((reward − o) / s) − shift) / unit instead, with o and s: */
    double warp_offset, warp_scale, warp_power;
    const double *lengthscales; /* of scaled features; n_lengthscales; borrowed as above */
    size_t n_lengthscales;      /* one per feature, or 1 for all, or 0 if the kernel has none */
    double short_share;         /* of the kernel, as in bandit_kernel */
    uint64_t fitted_on;         /* rewards that hyper-parameters were learned from; 0: not learned (yet) */
    uint64_t set_aside;         /* rewards that the model leaves out as outliers */
    const double
        *source_weights; /* n_sources: the weight of each earlier study, in standardized rewards; 0: it does
                            not count. Borrowed as above */
    size_t n_sources;
    const char *code_path; /* the version of the inner loops ("avx512", "avx2", "portable"); static */
} bandit_description;

void bandit_engine_describe(const bandit_engine *engine, bandit_description *out);

/* The engine that models one metric (options.metrics), for predictions and descriptions; borrowed. With only
 * one metric it is the engine itself. */
const bandit_engine *bandit_engine_of_metric(const bandit_engine *engine, size_t metric);

/* The probability, at the start of the current batch, that all bounds hold at n arms or points (as for
 * bandit_engine_predict_arms and …_points); 1 without bounds. Errors: those of predictions. */
bandit_status bandit_engine_feasible_arms(const bandit_engine *engine, const uint32_t *arm_indices, size_t n,
                                          double *out, bandit_error *err);
bandit_status bandit_engine_feasible_points(const bandit_engine *engine, const double *points, size_t n,
                                            double *out, bandit_error *err);

/* Whether some arm or point may keep all bounds. It may if, at the start of the current batch, no metric's
 * mean is more than three deviations beyond a bound. True without bounds and before the first reward.
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL, BANDIT_CANCELLED; *out is then true. */
bandit_status bandit_engine_may_keep_bounds(const bandit_engine *engine, bool *out, bandit_error *err);

/* Bytes held beyond the arms. */
size_t bandit_engine_memory(const bandit_engine *engine);

void bandit_engine_free(bandit_engine *engine); /* NULL is fine */

#endif
