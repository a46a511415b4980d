/* The engine of algorithms with a model on an open space of parameters. An algorithm is a rule: which visited
 * points are in the dictionary of the posterior, how wide its bound is, what is maximized, and when a batch
 * ends. All use the sparse posterior of [BBKB]; with all pulled points in the dictionary it is exact.
 *
 * A batch before the first reward is a design: the point of the defaults, if any parameter has one, then
 * points of a low-discrepancy sequence. They depend on no reward, so several can be handed out at once †. In
 * every other batch the acquisition is maximized for each pick, under a posterior in which the points in
 * flight are hallucinated (surface.h). Picks are points of the space; new ones are appended to the arms.
 *
 * If noise gives no reason to repeat an evaluation (bandit_is_silent), a point that was pulled or is in
 * flight is not picked again while another point may be picked. From BANDIT_IN_FLIGHT_ONCE on this holds for
 * points in flight even if there is noise †. Where evaluations fail (feasibility.h), the
 * acquisition is lowered by far more than its values differ, so that points that surely fail come last †.
 * († ours) */
#ifndef CORE_ALGORITHMS_SPACE_ENGINE_H
#define CORE_ALGORITHMS_SPACE_ENGINE_H

#include "core/algorithms/algorithm.h"
#include "core/posterior/ledger.h"
#include "core/posterior/surface.h"
#include "core/posterior/svgp.h"
#include "core/search/maximize.h"
#include "core/selection/acquisition.h"
#include "core/selection/confidence.h"
#include "core/selection/feasibility.h"
#include "core/selection/location_prior.h"

typedef enum bandit_space_dictionary {
    BANDIT_SPACE_RESAMPLED, /* resampled by ridge leverage scores: [BBKB] */
    BANDIT_SPACE_PULLED, /* all pulled points: the exact posterior; for log_ei some of many (space_thinning.h) */
    BANDIT_SPACE_INDUCING /* at most options.inducing pulled points: [VPA21] */
} bandit_space_dictionary;

typedef enum bandit_space_end {
    BANDIT_SPACE_SEQUENTIAL, /* after every pick */
    BANDIT_SPACE_SUM,        /* after the pick at which 1 + sum sigma^2_fb exceeds ratio_bound: [BBKB] */
    BANDIT_SPACE_PRODUCT     /* likewise for prod (1 + sigma^2_{s−1}): Desautels et al. 2014 */
} bandit_space_end;

typedef struct bandit_space_engine bandit_space_engine;
typedef struct bandit_space_batch bandit_space_batch;

typedef struct bandit_space_rule {
    bandit_space_dictionary dictionary;
    bandit_space_end end;
    bool waits;   /* with BANDIT_SPACE_SEQUENTIAL: makes no pick while another is in flight */
    bool samples; /* maximizes a posterior sample; otherwise `acquire`, hallucinating picks in flight */
    bandit_acquisition_kind acquire;
    bool explores;        /* with probability options.epsilon, a pick is a uniform point */
    bool counts_log_sums; /* batch->log_sums are kept */
    bool calibrated;      /* with BANDIT_CONFIDENCE_CALIBRATED the width differs from pick to pick */
    bool seeks_best;      /* for log_ei: improvements smaller than zeta also count */

    /* The factor of the Bayesian standard deviation, from the information gain or from the whole batch. Both
     * NULL: the rule has no bound. */
    bandit_gain_width *gain_width;
    double (*width)(const bandit_space_engine *engine, const bandit_space_batch *batch);

    /* Rejects options that are for candidates only, and sets engine->dictionary, n_features and inducing if
     * options say so. Called before anything is allocated. May be NULL. Errors: BANDIT_INVALID_OPTION. */
    bandit_status (*open)(bandit_space_engine *engine, bandit_error *err);
} bandit_space_rule;

/* The frozen state of a batch. An engine has two, so that a batch that fails to begin leaves the current one
 * unchanged. */
struct bandit_space_batch {
    bandit_ledger ledger;
    bool has_model; /* false: there are no rewards yet, and the picks are the design's */
    uint32_t *dictionary;
    size_t n_dictionary, capacity_dictionary;
    uint64_t drawn_at; /* inducing points: number of rewards when they were drawn; 0: they are all pulled
                          points */
    bandit_posterior posterior;
    bandit_surface surface; /* with the points in flight */
    bandit_log_sums log_sums;
    double width;     /* factor of the Bayesian standard deviation */
    double incumbent; /* f+: the largest posterior mean among the pulled points */
    uint32_t leader;  /* the point with this mean, if there is a model */
    double *w, *scratch;
    size_t capacity_w, capacity_scratch;
    uint32_t *out; /* the arms in flight */
    size_t n_out, capacity_out;
    uint64_t n_repeats; /* of them, those that had a result, or were in flight */
    double promised;    /* their largest posterior mean; −INFINITY: there are none, or the rule samples */
    uint64_t n_picks;   /* picks made in this batch */
    double ratio;
    unsigned char state[96];
    size_t n_state;
};

struct bandit_space_engine {
    bandit_engine base;
    const bandit_space_rule *rule;
    bandit_space_dictionary dictionary; /* the rule's, unless options choose another */
    size_t n_features;                  /* for rules that sample */
    bandit_features features;
    size_t inducing; /* largest number of members, with BANDIT_SPACE_INDUCING */
    bandit_space_batch batches[2];
    unsigned in_force;

    /* Data of the current batch, computed at its first pick. */
    bandit_maximizer maximizer;
    bandit_grid grid;
    bandit_svgp_sampler sampler;
    bool has_grid;
    double *fixed;                  /* the fixed values that the grid was made for */
    bandit_feasibility feasibility; /* empty while nothing has failed */
    bool has_feasibility;           /* `feasibility` belongs to this batch and to these failures: */
    uint32_t *failed;
    size_t n_failed, capacity_failed;
    double *shortfall;           /* one per point of the grid */
    bandit_location_prior prior; /* of the next pick */
    double *values, *coded;
    double *leader, *steps;    /* of rules that seek the best point: the point to search beside, and the
                                  largest steps */
    double *means, *variances; /* one per arm, for resampling */
    size_t capacity_values, capacity_means, capacity_variances, capacity_shortfall;
};

/* Whether picks maximize an improvement over the incumbent, or its probability. */
static inline bool bandit_space_improves(const bandit_space_rule *rule)
{
    return rule->acquire == BANDIT_ACQUIRE_IMPROVEMENT || rule->acquire == BANDIT_ACQUIRE_PROBABILITY;
}

enum { BANDIT_SPACE_MORE_PICKS = 16 }; /* points in flight for which memory is reserved at once */

/* ---- space_model.c ------------------------------------------------------------------------------------- */

/* Whether the dictionary does not have all pulled points, because they are too many (space_thinning.h). */
bool bandit_space_is_thinned(const bandit_space_engine *engine, const bandit_space_batch *batch);

/* Chooses the dictionary of the batch about to begin, from the batch that has ended. has_history: the first
 * results include some that the engine did not choose. */
bandit_status bandit_space_choose_dictionary(bandit_space_engine *engine, bandit_space_batch *ended,
                                             bandit_space_batch *next, bool has_history,
                                             const bandit_pick *pending, size_t n_pending, bandit_error *err);
/* Builds the posterior from the batch's dictionary and ledger. Errors also: BANDIT_MEMORY_LIMIT. */
bandit_status bandit_space_build(bandit_space_engine *engine, bandit_space_batch *batch, bandit_error *err);
/* The factor of the Bayesian standard deviation. */
double bandit_space_width(const bandit_space_engine *engine, const bandit_space_batch *batch);
/* Sets batch->incumbent, if the rule uses it. */
bandit_status bandit_space_find_incumbent(bandit_space_engine *engine, bandit_space_batch *batch,
                                          bandit_error *err);
void bandit_space_features_of(const bandit_arms *arms, uint32_t arm, double *features);
/* Whether noise gives no reason to pick a point twice. If the search seeks the best point, this includes
 * noise as small as the prior alone suggests (a variance of e^-9). */
bool bandit_space_is_silent(const bandit_space_engine *engine);
bool bandit_space_is_out(const bandit_space_batch *batch, uint32_t arm); /* whether it is in flight */
/* Whether picks keep away from points in flight: with BANDIT_IN_FLIGHT_SURPASS, if some number that is not a context
 * is continuous or has more than a hundred values. Otherwise the points are those of a grid: a point in flight is not
 * picked again anyway, and its neighbours are different settings. */
bool bandit_space_keeps_apart(const bandit_engine *engine);

/* ---- space_picks.c ------------------------------------------------------------------------------------- */

/* Whether the batch uses uncertainty sampling ([BBKB] Alg. 3). */
bool bandit_space_samples_uncertainty(const bandit_space_engine *engine, const bandit_space_batch *batch);
/* Sets engine->coded to the next point, or *stop to the reason if there is none. */
bandit_status bandit_space_choose(bandit_space_engine *engine, bandit_space_batch *batch,
                                  const bandit_select_limits *limits, bandit_stop_rule *stop,
                                  bandit_error *err);

/* ---- space_reasons.c ----------------------------------------------------------------------------------- */

/* As bandit_algorithm_table.explain. */
bandit_status bandit_space_engine_explain(bandit_engine *engine, uint32_t arm,
                                          const bandit_select_limits *limits, const bandit_executor *executor,
                                          bandit_reason *out, bandit_error *err);

/* ---- space_engine.c ------------------------------------------------------------------------------------ */

/* Whether and why the batch ends before another pick. */
bandit_stop_rule bandit_space_stop_rule(const bandit_space_engine *engine, const bandit_space_batch *batch);
/* Start-of-batch variance of an arm, in the paper's scale. */
double bandit_space_variance(const bandit_space_engine *engine, const bandit_space_batch *batch,
                             uint32_t arm);

/* Entries of bandit_algorithm_table. */
bandit_status bandit_space_engine_open(bandit_engine *engine, bandit_error *err);
void bandit_space_engine_close(bandit_engine *engine);
bandit_status bandit_space_engine_begin_batch(bandit_engine *engine, const bandit_result *results,
                                              size_t n_results, const bandit_pick *pending, size_t n_pending,
                                              const bandit_executor *executor, bandit_error *err);
bandit_status bandit_space_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                        const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);
bandit_status bandit_space_engine_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                          const bandit_pick *pending, size_t n_pending,
                                          const bandit_executor *executor, bandit_error *err);
bandit_status bandit_space_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                         const bandit_executor *executor, bandit_pick *picks,
                                         bandit_selection *out, bandit_error *err);
bandit_status bandit_space_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks,
                                               size_t n_picks, const bandit_executor *executor,
                                               bandit_error *err);
void bandit_space_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out);
bandit_status bandit_space_engine_predict(const bandit_engine *engine, const uint32_t *arms,
                                          const double *coordinates, size_t n, bandit_prediction *out,
                                          bandit_error *err);
const bandit_posterior *bandit_space_engine_posterior(const bandit_engine *engine);
void bandit_space_engine_describe(const bandit_engine *engine, bandit_description *out);
size_t bandit_space_engine_memory(const bandit_engine *engine);

/* The table of an algorithm with this rule. */
#define BANDIT_SPACE_ENGINE_TABLE(how)                                                                       \
    {                                                                                                        \
        .size = sizeof(bandit_space_engine), .from_sums = true, .rule = &(how),                              \
        .open = bandit_space_engine_open, .close = bandit_space_engine_close,                                \
        .begin_batch = bandit_space_engine_begin_batch, .amend = bandit_space_engine_amend,                  \
        .restore = bandit_space_engine_restore, .select = bandit_space_engine_select,                        \
        .replay_picks = bandit_space_engine_replay_picks, .explain = bandit_space_engine_explain,            \
        .checkpoint = bandit_space_engine_checkpoint, .predict = bandit_space_engine_predict,                \
        .posterior = bandit_space_engine_posterior, .describe = bandit_space_engine_describe,                \
        .memory = bandit_space_engine_memory,                                                                \
    }

#endif
