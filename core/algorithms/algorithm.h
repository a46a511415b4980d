/* How an algorithm joins the engine: its own file in core/algorithms/ defines a bandit_algorithm_entry, and
 * one line of BANDIT_ALGORITHM_LIST (bandit/algorithm.h) names it.
 *
 * An algorithm's own struct starts with a bandit_engine. engine.c allocates it zeroed (`size` bytes), fills
 * the common part, checks arguments against the contract of bandit/engine.h, and calls through the table.
 * Several algorithms may share one table's functions: then `rule` says how they differ. */
#ifndef CORE_ALGORITHMS_ALGORITHM_H
#define CORE_ALGORITHMS_ALGORITHM_H

#include "bandit/engine.h"
#include "bandit/rng.h"
#include "core/arms/covariance.h"
#include "core/posterior/ledger.h"

typedef struct bandit_algorithm_table {
    size_t size;      /* of the algorithm's struct */
    bool from_sums;   /* all but the dictionary follows from the sums, in whatever order rewards came */
    const void *rule; /* of a kind that the table's functions know; NULL where they need none */

    /* The algorithm's own part, after the common one is filled. On an error engine.c calls close. */
    bandit_status (*open)(bandit_engine *engine, bandit_error *err);
    /* Frees the algorithm's own part, also one that open left half made. */
    void (*close)(bandit_engine *engine);

    /* As the functions of bandit/engine.h; called with arms of results and pending checked. On success
     * engine.c advances engine->batch; the batch to begin is bandit_engine_next_batch(engine). */
    bandit_status (*begin_batch)(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                 const bandit_pick *pending, size_t n_pending,
                                 const bandit_executor *executor, bandit_error *err);
    /* As bandit_engine_amend; arms are checked. */
    bandit_status (*amend)(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                           const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);
    /* Called right after open. engine->batch is set from the checkpoint already. */
    bandit_status (*restore)(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                             const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                             bandit_error *err);
    bandit_status (*select)(bandit_engine *engine, const bandit_select_limits *limits,
                            const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                            bandit_error *err);
    bandit_status (*replay_picks)(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                  const bandit_executor *executor, bandit_error *err);
    /* `batch` is filled already. */
    void (*checkpoint)(const bandit_engine *engine, bandit_checkpoint *out);
    /* Of n arms, or, where `arms` is NULL, of n points given by coordinates scaled as those of the arms are.
     * Called with a model only. */
    bandit_status (*predict)(const bandit_engine *engine, const uint32_t *arms, const double *coordinates,
                             size_t n, bandit_prediction *out, bandit_error *err);
    /* `batch`, `has_model`, `lambda`, `noise_std`, `norm_bound` and `code_path` are filled already. */
    void (*describe)(const bandit_engine *engine, bandit_description *out);
    /* Bytes held by the algorithm's own part. */
    size_t (*memory)(const bandit_engine *engine);
} bandit_algorithm_table;

/* One algorithm, defined in its own file as bandit_NAME_algorithm. */
typedef struct bandit_algorithm_entry {
    bandit_algorithm_info about;
    const bandit_algorithm_table *list;  /* on candidates, and on enumerated spaces */
    const bandit_algorithm_table *space; /* on open spaces */

    /* Refuses what bandit_options_check has not: options that do not suit the algorithm. May be NULL. Errors:
     * BANDIT_INVALID_OPTION. */
    bandit_status (*check)(const bandit_options *options, size_t dimension, bandit_error *err);
} bandit_algorithm_entry;

/* Sets of options for bandit_algorithm_info. */
#define BANDIT_TAKES(name) BANDIT_OPTION_BIT(BANDIT_OPTION_##name)
enum {
    BANDIT_TAKES_ALWAYS = BANDIT_TAKES(INIT),
    BANDIT_TAKES_MODEL = BANDIT_TAKES_ALWAYS | BANDIT_TAKES(KERNEL) | BANDIT_TAKES(LAMBDA) |
                         BANDIT_TAKES(NOISE_STD) | BANDIT_TAKES(STANDARDIZE_REWARDS),
    /* with confidence bounds */
    BANDIT_TAKES_WIDTH = BANDIT_TAKES_MODEL | BANDIT_TAKES(NORM_BOUND) | BANDIT_TAKES(DELTA),
    /* … that the information gain widens */
    BANDIT_TAKES_GAIN = BANDIT_TAKES_WIDTH | BANDIT_TAKES(GAMMA) | BANDIT_TAKES(GAMMA_SCALE)
};

/* A size whose value 0 asks for a schedule by the horizon: refuses more than `most`, and 0 without a horizon.
 * Errors: BANDIT_INVALID_OPTION, with this field. */
bandit_status bandit_check_schedule(size_t value, const char *field, size_t most, uint64_t horizon,
                                    bandit_error *err);

/* What all engines share. */
struct bandit_engine {
    const bandit_algorithm_table *table;
    bandit_arms *arms;      /* borrowed; changed by select in an open space only */
    bandit_options options; /* a copy; kernel.lengthscales points to `lengthscales` */
    double *lengthscales;   /* owned */
    bool has_model;         /* engine.c has bound the kernel to the arms: */
    bandit_covariance covariance;
    size_t memory_limit;   /* bytes, or SIZE_MAX */
    bool started;          /* has begun its first batch */
    uint64_t batch;        /* the current one, once started */
    bool grows_norm_bound; /* options.norm_bound is doubled as bandit_engine_grow_norm_bound says */
    struct bandit_enumerated *enumerated; /* on an enumerated space; NULL otherwise (enumerated.h) */
    const bandit_ledger
        *given; /* during begin_batch: the sums to take; NULL: the current ones and the results */
};

static inline uint64_t bandit_engine_next_batch(const bandit_engine *engine)
{
    return engine->started ? engine->batch + 1 : 0;
}

/* Bytes of the engine that its algorithm's `memory` does not count. */
size_t bandit_engine_own_memory(const bandit_engine *engine);

/* BANDIT_MEMORY_LIMIT, saying the need, when `bytes` are more than the engine may hold. */
bandit_status bandit_engine_check_memory(const bandit_engine *engine, double bytes, bandit_error *err);

/* *out becomes the ledger of the batch to begin: `base` plus the results, or the one that is given
 * (from_sums). Errors: those of bandit_ledger_add. */
bandit_status bandit_engine_next_ledger(const bandit_engine *engine, bandit_ledger *out,
                                        const bandit_ledger *base, const bandit_result *results,
                                        size_t n_results, bandit_error *err);

/* Doubles options.norm_bound F while the norm of the model's mean exceeds F + radius(F), where that is asked
 * for: radius is the width of the bounds in standard deviations of the unit kernel's prior, so that a
 * function of norm F within them has at most that norm (ours). */
void bandit_engine_grow_norm_bound(bandit_engine *engine, double mean_norm,
                                   double (*radius)(const bandit_engine *engine, const void *batch),
                                   const void *batch);

/* Is another pick to be made, after out->n_picks in this call? `rule`: why the batch is over, or
 * BANDIT_STOP_NONE. Sets out->stop_rule. */
static inline bool bandit_engine_wants_pick(const bandit_select_limits *limits, bandit_stop_rule rule,
                                            bandit_selection *out)
{
    out->stop_rule = rule;
    if (rule != BANDIT_STOP_NONE && !limits->beyond_bound)
        return false;
    if (out->n_picks == limits->remaining) {
        out->stop_rule = BANDIT_STOP_HORIZON;
        return false;
    }
    return out->n_picks < limits->max_picks;
}

static inline bool bandit_is_withheld(const bandit_select_limits *limits, uint32_t arm)
{
    return bandit_is_among(limits->withheld, limits->n_withheld, arm);
}

/* A uniform arm among those not withheld, a function of seed, batch, purpose and index. False when all are
 * withheld. */
bool bandit_engine_uniform_arm(const bandit_engine *engine, bandit_purpose purpose, uint64_t index,
                               const bandit_select_limits *limits, uint32_t *arm);

#endif
