/* The interface between an algorithm and the engine. Each algorithm has a file in core/algorithms/ that
 * defines a bandit_algorithm_entry, and a line in BANDIT_ALGORITHM_LIST (bandit/algorithm.h) that names it.
 *
 * The struct of an algorithm starts with a bandit_engine. engine.c allocates it zeroed (`size` bytes), fills
 * in the common part, checks arguments against the contract of bandit/engine.h, and calls the functions of
 * the table. Algorithms that share the functions of a table differ in `rule`. */
#ifndef CORE_ALGORITHMS_ALGORITHM_H
#define CORE_ALGORITHMS_ALGORITHM_H

#include "bandit/engine.h"
#include "bandit/reason.h"
#include "bandit/rng.h"
#include "core/arms/covariance.h"
#include "core/base/pause.h"
#include "core/posterior/ledger.h"

typedef struct bandit_algorithm_table {
    size_t size;      /* size of the algorithm's struct */
    bool from_sums;   /* except for the dictionary, the state follows from the sums, not from the order of
                         rewards */
    const void *rule; /* of a type that the table's functions know; NULL if they need none */

    /* Sets up the algorithm's own part, after the common one. After an error engine.c calls close. */
    bandit_status (*open)(bandit_engine *engine, bandit_error *err);
    /* Frees the algorithm's own part, even if open failed half-way. */
    void (*close)(bandit_engine *engine);

    /* As in bandit/engine.h. The arms of results and pending are checked before the call. After success
     * engine.c advances engine->batch; until then, the batch about to begin is
     * bandit_engine_next_batch(engine). */
    bandit_status (*begin_batch)(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                 const bandit_pick *pending, size_t n_pending,
                                 const bandit_executor *executor, bandit_error *err);
    /* As bandit_engine_amend. The arms are checked before the call. */
    bandit_status (*amend)(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                           const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);
    /* Called right after open, with engine->batch set from the checkpoint. */
    bandit_status (*restore)(bandit_engine *engine, const bandit_checkpoint *checkpoint,
                             const bandit_pick *pending, size_t n_pending, const bandit_executor *executor,
                             bandit_error *err);
    bandit_status (*select)(bandit_engine *engine, const bandit_select_limits *limits,
                            const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                            bandit_error *err);
    bandit_status (*replay_picks)(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                  const bandit_executor *executor, bandit_error *err);
    /* As bandit_engine_explain, in the units of this engine. Called with all figures NaN, and the arm checked;
     * NULL: the algorithm has no score for all arms. */
    bandit_status (*explain)(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                             const bandit_executor *executor, bandit_reason *out, bandit_error *err);
    /* Called with `batch` filled in. */
    void (*checkpoint)(const bandit_engine *engine, bandit_checkpoint *out);
    /* Predictions for n arms, or, if `arms` is NULL, for n points with coordinates scaled as those of the
     * arms. Called only if there is a model. */
    bandit_status (*predict)(const bandit_engine *engine, const uint32_t *arms, const double *coordinates,
                             size_t n, bandit_prediction *out, bandit_error *err);
    /* The posterior that predictions come from, if it is a sparse one on arms. Otherwise NULL, or there is no
     * function. Borrowed until the next begin_batch. Called after the first reward. */
    const struct bandit_posterior *(*posterior)(const bandit_engine *engine);
    /* Called with `batch`, `has_model`, `lambda`, `noise_std`, `norm_bound` and `code_path` filled in. */
    void (*describe)(const bandit_engine *engine, bandit_description *out);
    /* Bytes of the algorithm's own part. */
    size_t (*memory)(const bandit_engine *engine);
    /* Whether noise gives no reason to pull an arm twice. NULL: it follows from the options. */
    bool (*is_silent)(const bandit_engine *engine);
} bandit_algorithm_table;

/* One algorithm. Its file defines it as bandit_NAME_algorithm. */
typedef struct bandit_algorithm_entry {
    bandit_algorithm_info about;
    const bandit_algorithm_table *list;  /* for candidates and enumerated spaces */
    const bandit_algorithm_table *space; /* for open spaces */

    /* Rejects options that do not suit the algorithm, as far as bandit_options_check has not. May be NULL.
     * Errors: BANDIT_INVALID_OPTION. */
    bandit_status (*check)(const bandit_options *options, size_t dimension, bandit_error *err);
} bandit_algorithm_entry;

/* Sets of options for bandit_algorithm_info. */
#define BANDIT_TAKES(name) BANDIT_OPTION_BIT(BANDIT_OPTION_##name)
enum {
    BANDIT_TAKES_ALWAYS = BANDIT_TAKES(INIT),
    BANDIT_TAKES_MODEL = BANDIT_TAKES_ALWAYS | BANDIT_TAKES(KERNEL) | BANDIT_TAKES(LAMBDA) |
                         BANDIT_TAKES(NOISE_STD) | BANDIT_TAKES(STANDARDIZE_REWARDS) | BANDIT_TAKES(REVISION),
    /* algorithms with confidence bounds */
    BANDIT_TAKES_WIDTH = BANDIT_TAKES_MODEL | BANDIT_TAKES(NORM_BOUND) | BANDIT_TAKES(DELTA),
    /* algorithms whose bounds depend on the information gain */
    BANDIT_TAKES_GAIN = BANDIT_TAKES_WIDTH | BANDIT_TAKES(GAMMA) | BANDIT_TAKES(GAMMA_SCALE)
};

/* Checks a size for which 0 means a schedule by the horizon: it must be at most `most`, and 0 requires a
 * horizon. Errors: BANDIT_INVALID_OPTION, with this field. */
bandit_status bandit_check_schedule(size_t value, const char *field, size_t most, uint64_t horizon,
                                    bandit_error *err);

/* The part that all engines have in common. */
struct bandit_engine {
    const bandit_algorithm_table *table;
    bandit_arms *arms;      /* borrowed; only select in an open space changes it */
    bandit_options options; /* a copy; kernel.lengthscales points to `lengthscales` */
    double *lengthscales;   /* owned */
    bool has_model;         /* whether engine.c has bound the kernel to the arms, in: */
    bandit_covariance covariance;
    size_t memory_limit;   /* bytes, or SIZE_MAX */
    bool started;          /* a first batch has begun */
    uint64_t batch;        /* number of the current batch, once started */
    bool grows_norm_bound; /* options.norm_bound grows as described at bandit_engine_grow_norm_bound */
    struct bandit_enumerated *enumerated; /* for an enumerated space (enumerated.h); otherwise NULL */
    const bandit_ledger
        *given; /* during begin_batch: the new sums; NULL: the new sums are the current ones plus the
                   results */
    /* Of an engine that another one wraps: the rewards as reported, which are the wrapping engine's. NULL: the engine's own. */
    const bandit_ledger *rewards;
    const bandit_result *told; /* during amend: n_told results, as of bandit_engine_amend */
    size_t n_told;
};

static inline uint64_t bandit_engine_next_batch(const bandit_engine *engine)
{
    return engine->started ? engine->batch + 1 : 0;
}

/* Bytes of the engine that its algorithm's `memory` does not include. */
size_t bandit_engine_own_memory(const bandit_engine *engine);

/* Returns BANDIT_MEMORY_LIMIT, naming the bytes needed, if `bytes` exceed the engine's limit. */
bandit_status bandit_engine_check_memory(const bandit_engine *engine, double bytes, bandit_error *err);

/* Sets *out to the ledger of the batch about to begin: `base` plus the results, or engine->given if that is
 * set (from_sums). Errors: those of bandit_ledger_add. */
bandit_status bandit_engine_next_ledger(const bandit_engine *engine, bandit_ledger *out,
                                        const bandit_ledger *base, const bandit_result *results,
                                        size_t n_results, bandit_error *err);

/* If the option asks for it, doubles options.norm_bound F while the norm of the model's mean exceeds
 * F + radius(F). radius is the width of the bounds in standard deviations of the unit kernel's prior, so that
 * a function of norm F within these bounds has at most this norm (ours). */
void bandit_engine_grow_norm_bound(bandit_engine *engine, double mean_norm,
                                   double (*radius)(const bandit_engine *engine, const void *batch),
                                   const void *batch);

/* Whether to make another pick, after out->n_picks in this call. `rule` says why the batch is over, or is
 * BANDIT_STOP_NONE. Sets out->stop_rule. */
static inline bool bandit_engine_wants_pick(const bandit_select_limits *limits, bandit_stop_rule rule,
                                            bandit_selection *out)
{
    if (bandit_pause())
        return false;
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

/* Chooses a uniform arm among those not withheld. It depends only on seed, batch, purpose and index. Returns
 * false when all are withheld. */
bool bandit_engine_uniform_arm(const bandit_engine *engine, bandit_purpose purpose, uint64_t index,
                               const bandit_select_limits *limits, uint32_t *arm);

#endif
