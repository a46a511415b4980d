/* The engine of the algorithms with an exact Gaussian process, and of the baselines. An algorithm is a rule:
 * the width of its confidence bound, which arm comes next, and when a batch ends.
 *
 * A batch before the first reward follows options.init; every other batch follows the rule. If the rule uses
 * the selection variance, the pending picks and the picks of the batch are hallucinated in the posterior. The
 * stored state is that of bandit_history. Everything else follows from this state, the pending picks and the
 * number of the batch. */
#ifndef CORE_ALGORITHMS_EXACT_ENGINE_H
#define CORE_ALGORITHMS_EXACT_ENGINE_H

#include "bandit/rng.h"
#include "core/algorithms/algorithm.h"
#include "core/arms/genome.h"
#include "core/posterior/exact_posterior.h"
#include "core/posterior/prior_sampler.h"
#include "core/posterior/pull_log.h"
#include "core/selection/confidence.h"

typedef struct bandit_exact_engine bandit_exact_engine;

typedef enum bandit_batch_end {
    BANDIT_END_SEQUENTIAL, /* after every pick */
    BANDIT_END_PRODUCT,    /* after the pick at which prod (1 + sigma^2_{s−1}/lambda) exceeds ratio_bound */
    BANDIT_END_NEVER       /* only at max_batch or the horizon */
} bandit_batch_end;

typedef struct bandit_exact_rule {
    bandit_batch_end end;
    bool hallucinates;     /* `choose` uses the selection variance */
    bool samples;          /* `choose` samples from the posterior */
    bool keeps_population; /* the history is the last options.population results */

    bandit_reason_rule reason; /* what `choose` maximizes */
    bandit_gain_width *width;  /* of the batch's bounds; NULL: the rule has no bounds */
    /* Chooses the next arm. Returns false when all are withheld. `limits` is that of select. */
    bool (*choose)(bandit_exact_engine *engine, const bandit_select_limits *limits,
                   const bandit_executor *executor, uint32_t *arm);
    /* The same in a space that grows, for rules without a model: sets `coded` to the next point, using the
     * random numbers of this attempt at this pick. `genome` holds the fixed values; genes: scratch, one per
     * parameter. */
    void (*choose_point)(const bandit_exact_engine *engine, const bandit_genome *genome, uint64_t attempt,
                         double *genes, double *coded);
} bandit_exact_rule;

struct bandit_exact_engine {
    bandit_engine engine; /* must be first */
    const bandit_exact_rule *rule;
    bandit_history history;
    bandit_exact *posterior;       /* NULL without a model */
    bandit_prior_sampler *sampler; /* only for rules that sample */
    double *score;                 /* with a model: one per arm, the score that `choose` maximizes */
    double *noise;                 /* for samples: one per solid column */
    size_t capacity_noise;
    uint32_t *pulled; /* n_pulled: the arms that had been pulled when the batch began, ascending */
    size_t n_pulled, capacity_pulled;

    /* Constant during a batch, except the last three. */
    bool initial;            /* there are no rewards yet, and the batch follows `init` */
    double information_gain; /* 1/2 log det(I + K/lambda) */
    double width;            /* from the rule; 0 without a bound */
    double incumbent;        /* f+: the largest mean among the pulled arms */
    uint64_t n_pending;      /* picks of earlier batches in flight */
    uint64_t n_picked;       /* picks of this batch */
    bool drawn;              /* the last `choose` drew an arm, whatever its score */
    double ratio; /* 1 + sum of sigma^2_fb over picks in flight, paper's scale; for END_PRODUCT the product */
};

/* Entries of bandit_algorithm_table. */
bandit_status bandit_exact_engine_open(bandit_engine *engine, bandit_error *err);
void bandit_exact_engine_close(bandit_engine *engine);
bandit_status bandit_exact_engine_begin_batch(bandit_engine *engine, const bandit_result *results,
                                              size_t n_results, const bandit_pick *pending, size_t n_pending,
                                              const bandit_executor *executor, bandit_error *err);
bandit_status bandit_exact_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                        const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);
bandit_status bandit_exact_engine_restore(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                                          const bandit_pick *pending, size_t n_pending,
                                          const bandit_executor *executor, bandit_error *err);
bandit_status bandit_exact_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                         const bandit_executor *executor, bandit_pick *picks,
                                         bandit_selection *out, bandit_error *err);
bandit_status bandit_exact_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks,
                                               size_t n_picks, const bandit_executor *executor,
                                               bandit_error *err);
bandit_status bandit_exact_engine_explain(bandit_engine *engine, uint32_t arm,
                                          const bandit_select_limits *limits, const bandit_executor *executor,
                                          bandit_reason *out, bandit_error *err);
void bandit_exact_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out);
bandit_status bandit_exact_engine_predict(const bandit_engine *engine, const uint32_t *arms,
                                          const double *coordinates, size_t n, bandit_prediction *out,
                                          bandit_error *err);
void bandit_exact_engine_describe(const bandit_engine *engine, bandit_description *out);
size_t bandit_exact_engine_memory(const bandit_engine *engine);

/* The table of an algorithm with this rule. */
#define BANDIT_EXACT_ENGINE_TABLE(how)                                                                       \
    {                                                                                                        \
        .size = sizeof(bandit_exact_engine), .rule = &(how), .open = bandit_exact_engine_open,               \
        .close = bandit_exact_engine_close, .begin_batch = bandit_exact_engine_begin_batch,                  \
        .amend = bandit_exact_engine_amend, .restore = bandit_exact_engine_restore,                          \
        .select = bandit_exact_engine_select, .replay_picks = bandit_exact_engine_replay_picks,              \
        .explain = bandit_exact_engine_explain, .checkpoint = bandit_exact_engine_checkpoint,                \
        .predict = bandit_exact_engine_predict, .describe = bandit_exact_engine_describe,                    \
        .memory = bandit_exact_engine_memory,                                                                \
    }

/* ---- what rules share ---------------------------------------------------------------------------------- */

/* `choose` for algorithms that maximize mean + width * (standard deviation from the selection variance). */
bool bandit_exact_choose_ucb(bandit_exact_engine *engine, const bandit_select_limits *limits,
                             const bandit_executor *executor, uint32_t *arm);

/* Finds the arm with the largest score that is not withheld; ties go to the lowest index. Returns false when
 * all are withheld. */
bool bandit_exact_best(const double *score, size_t n, const bandit_select_limits *limits, uint32_t *arm);

/* Chooses a uniform arm among those not withheld. Returns false when all are. */
bool bandit_exact_uniform(const bandit_exact_engine *engine, bandit_purpose purpose, uint64_t index,
                          const bandit_select_limits *limits, uint32_t *arm);

/* gamma_{t−1} as options.gamma prescribes; t = observations + 1. */
double bandit_exact_gamma(const bandit_exact_engine *engine);

/* Sets engine->score to the draw of GP(0, k_{t−1}) that has this number in the batch, jointly over all
 * arms. */
void bandit_exact_draw(bandit_exact_engine *engine, uint64_t number, const bandit_executor *executor);

#endif
