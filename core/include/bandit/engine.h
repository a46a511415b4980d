/* The engine of one study: what the server sees of an algorithm.
 *
 * Life of an engine:
 *
 *   new ──► begin_batch ──► select ──► (rewards arrive) ──► begin_batch ──► select ──► …
 *
 * begin_batch folds in the results that have arrived, renews the model, and freezes it: mean, beta and the
 * start-of-batch variances do not change until the next begin_batch. select chooses the batch's picks.
 * Between the two and after them, predict and describe speak of the frozen model. A checkpoint taken after
 * begin_batch, and the picks made since, are all that is needed to build an equal engine elsewhere:
 * restore, then replay_picks.
 *
 * Everything is maximized. No I/O, clock, threads or global state; the same calls give the same picks, on
 * one machine, whatever the executor. Nothing is allocated per pick. */
#ifndef BANDIT_ENGINE_H
#define BANDIT_ENGINE_H

#include "bandit/arms.h"
#include "bandit/executor.h"
#include "bandit/kernel.h"
#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enumerator, name in the API) */
#define BANDIT_ALGORITHM_LIST(X)                                                                             \
    X(BANDIT_BBKB, bbkb)                                                                                     \
    X(BANDIT_BKB, bkb)                                                                                       \
    X(BANDIT_GP_UCB, gp_ucb)                                                                                 \
    X(BANDIT_IGP_UCB, igp_ucb)                                                                               \
    X(BANDIT_GP_BUCB, gp_bucb)                                                                               \
    X(BANDIT_GP_TS, gp_ts)                                                                                   \
    X(BANDIT_ASYNC_TS, async_ts)                                                                             \
    X(BANDIT_S_GP_TS, s_gp_ts)                                                                               \
    X(BANDIT_PI_GP_UCB, pi_gp_ucb)                                                                           \
    X(BANDIT_GP_EI, gp_ei)                                                                                   \
    X(BANDIT_GP_PI, gp_pi)                                                                                   \
    X(BANDIT_EPSILON_GREEDY, epsilon_greedy)                                                                 \
    X(BANDIT_UNIFORM, uniform)                                                                               \
    X(BANDIT_REGULARIZED_EVOLUTION, regularized_evolution)

typedef enum bandit_algorithm {
#define X(enumerator, name) enumerator,
    BANDIT_ALGORITHM_LIST(X)
#undef X
        BANDIT_ALGORITHMS
} bandit_algorithm;

const char *bandit_algorithm_name(bandit_algorithm algorithm);        /* static */
bool bandit_algorithm_parse(bandit_algorithm *out, const char *name); /* false: no such name */

typedef enum bandit_batch_rule { BANDIT_BATCH_GLOBAL, BANDIT_BATCH_GLOBAL_LOCAL } bandit_batch_rule;
typedef enum bandit_confidence {
    BANDIT_CONFIDENCE_PRACTICAL,
    BANDIT_CONFIDENCE_THEORY,
    BANDIT_CONFIDENCE_FIXED,
    BANDIT_CONFIDENCE_CALIBRATED /* up to three standard deviations, of a model that was learned (ours) */
} bandit_confidence;
/* How an arm that was pulled n times enters a new dictionary; p = min(1, q_bar sigma^2). FRESH: one coin an
 * arm, min(1, n p), the bound that [BBKB] App. C has for the sum of the pulls' probabilities, so that both
 * its accuracy and its size are guaranteed a fortiori and as before; measured to need 13 times fewer batches
 * than PER_PULL, the paper's letter: one coin a pull, 1 - (1 - p)^n. PERSISTENT: as FRESH, with one coin an
 * arm for the whole study. */
typedef enum bandit_resample {
    BANDIT_RESAMPLE_FRESH,
    BANDIT_RESAMPLE_PERSISTENT,
    BANDIT_RESAMPLE_PER_PULL
} bandit_resample;
typedef enum bandit_init { BANDIT_INIT_UNIFORM, BANDIT_INIT_UNCERTAINTY } bandit_init;
typedef enum bandit_gamma { BANDIT_GAMMA_EXACT, BANDIT_GAMMA_BOUND, BANDIT_GAMMA_FIXED } bandit_gamma;

/* s_gp_ts: which arms the sparse posterior stands on, and what it is conditioned from. */
typedef enum bandit_posterior_kind {
    BANDIT_POSTERIOR_SVGP,    /* inducing points by a k-DPP over the pulled arms */
    BANDIT_POSTERIOR_DTC,     /* a dictionary by ridge leverage scores, as BBKB's */
    BANDIT_POSTERIOR_FEATURES /* none: the eigenfunctions (or, linear kernel, the coordinates) themselves */
} bandit_posterior_kind;
typedef enum bandit_features_kind {
    BANDIT_FEATURES_RFF,  /* random Fourier features, stationary kernels */
    BANDIT_FEATURES_EIGEN /* Laplacian eigenfunctions, stationary kernels in up to 3 dimensions */
} bandit_features_kind;

/* Everything is in the engine's units: rewards as observed by the engine, distances after scaling.
 * Fields that do not apply to the algorithm are ignored here (the caller refuses them). */
typedef struct bandit_options {
    bandit_algorithm algorithm;
    bandit_kernel kernel;
    double lambda;      /* regularization, > 0 */
    double noise_std;   /* xi, R in [CG17]; >= 0 */
    double norm_bound;  /* F, B in [CG17]; >= 0 */
    double delta;       /* in (0, 1) */
    double q_bar;       /* oversampling, > 0; ignored when q_bar_theory */
    bool q_bar_theory;  /* 72 C log(4t/delta) */
    double ratio_bound; /* C, >= 1 */
    bandit_batch_rule batch_rule;
    bandit_confidence confidence;
    double beta; /* alpha itself, with BANDIT_CONFIDENCE_FIXED; >= 0 */
    bandit_resample resample;
    size_t max_batch; /* >= 1 */
    bandit_init init;
    double parallelism; /* P, with BANDIT_INIT_UNCERTAINTY; > 0 */
    bandit_gamma gamma;
    double gamma_value;              /* with BANDIT_GAMMA_FIXED; >= 0 */
    double gamma_scale;              /* with BANDIT_GAMMA_BOUND; > 0 */
    double scale;                    /* divides a Thompson sample's width; > 0 */
    double epsilon;                  /* epsilon_greedy; in [0, 1] */
    double zeta;                     /* gp_ei, gp_pi; >= 0, in reward units */
    size_t population;               /* regularized_evolution; >= 1 */
    size_t sample;                   /* regularized_evolution; 1 … population */
    bandit_posterior_kind posterior; /* s_gp_ts */
    bandit_features_kind features;   /* s_gp_ts; the linear kernel has its own, whatever this says */
    size_t inducing;       /* s_gp_ts: m; 0: [VPA21] section 5.4's, from the horizon, at most 2000 */
    size_t prior_features; /* s_gp_ts: M; 0: likewise, at most 20000 */
    size_t dpp_steps;      /* s_gp_ts: exchanges per draw of the inducing points */
    size_t initial_cells;  /* pi_gp_ucb: cells a side of the first cover; 0: [T^{q/d}], from the horizon */
    uint64_t horizon;      /* T; 0: none */
    uint64_t seed;
    /* What is learned from the rewards, anew when they have doubled at the latest; see core/learning/hyperparameters.h. */
    bool learn_lengthscale;   /* of a stationary kernel, one a feature; kernel.lengthscales may be absent */
    bool learn_noise;         /* noise_std is ignored */
    bool learn_norm_bound;    /* 1 in the model's units, doubled while the model's mean is too large for it */
    bool standardize_rewards; /* the model sees them shifted and scaled, outliers set aside; noise_std,
                                 norm_bound and beta stay in the units of the rewards, lambda is the
                                 model's */
    bool lambda_from_noise;   /* lambda is the noise variance in the model's units, at least 1e-6 */
} bandit_options;

#define BANDIT_OPTIONS_INIT                                                                                  \
    {                                                                                                        \
        .algorithm = BANDIT_BBKB, .kernel = {.type = BANDIT_KERNEL_MATERN, .nu = 2.5}, .lambda = 1e-2,       \
        .noise_std = 0.1, .norm_bound = 1.0, .delta = 1e-3, .q_bar = 2.0, .ratio_bound = 2.0,                \
        .max_batch = 4096, .parallelism = 1.0, .gamma_scale = 1.0, .scale = 1.0, .epsilon = 0.1,             \
        .zeta = 0.01, .population = 100, .sample = 10, .inducing = 200, .prior_features = 1000,              \
        .dpp_steps = 1000, .initial_cells = 1                                                                \
    }

/* BANDIT_INVALID_OPTION with the field's name in the API when a value is out of its range;
 * `dimension` 0 for a precomputed set. */
bandit_status bandit_options_check(const bandit_options *options, size_t dimension, bandit_error *err);

typedef struct bandit_engine bandit_engine;

/* A reward that joins the model. In what order results are given is part of the state's bits (sums). */
typedef struct bandit_result {
    uint32_t arm;
    uint32_t repeats; /* pulls it stands for: `reward` is their mean; >= 1 */
    double reward;    /* finite, and so is the sum of all squares: |reward| up to 1e140 is safe */
    bool chosen;      /* by this engine; then `variance` is the pick's */
    double variance;  /* start-of-batch variance of the batch that issued it, paper's scale */
} bandit_result;

typedef struct bandit_pick {
    uint32_t arm;
    double variance; /* sigma^2_fb at the batch's start, paper's scale (0 where there is no model) */
} bandit_pick;

/* An arm's rewards so far. */
typedef struct bandit_arm_sum {
    uint32_t arm;
    uint64_t count; /* n_i */
    double sum;     /* r_i */
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
 * space (bandit/space.h) the engine chooses among all its points, and select appends those not met before.
 * Errors: those of bandit_options_check; BANDIT_UNSUPPORTED; BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT when it
 * would hold more than memory_limit bytes (0: no limit) beyond the arms. */
bandit_status bandit_engine_new(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                size_t memory_limit, bandit_error *err);

/* An engine equal, to the bit, to the one the checkpoint was taken from. The checkpoint is copied.
 * Errors also: BANDIT_INVALID_STATE. */
bandit_status bandit_engine_restore(bandit_engine **out, bandit_arms *arms, const bandit_options *options,
                                    size_t memory_limit, const bandit_checkpoint *checkpoint,
                                    const bandit_pick *pending, size_t n_pending,
                                    const bandit_executor *executor, bandit_error *err);

/* A result that is part of the model and is now another one, or none. What was not there has no repeats. */
typedef struct bandit_amendment {
    uint32_t arm;
    struct {
        uint32_t repeats; /* 0: no reward */
        double reward;    /* the mean of so many pulls */
    } was, now;
    bool chosen; /* as of bandit_result */
    double variance;
} bandit_amendment;

/* Corrects results that earlier batches took in. Called right before begin_batch, which is the first to
 * compute with the corrected model; the batch in force stays as it is, and so does what predict says of it.
 *   amendments  n, in the order in which they were made
 *   sums        n_sums, ascending by arm: what the arms of the amendments have now, 0 pulls for none. The
 *               caller adds them up from all results of the arm in the order in which they joined, so that
 *               counts and sums are, to the bit, those of a study that was told so at first.
 * The sum of squares is corrected by differences. A reward that is new adds its term to the log-sum of
 * [BBKB]'s width; one that is taken back leaves its own there, which can only widen the bounds (ours).
 * Errors: BANDIT_INVALID_STATE, BANDIT_NO_MEMORY; then the engine must be freed. */
bandit_status bandit_engine_amend(bandit_engine *engine, const bandit_amendment *amendments, size_t n,
                                  const bandit_arm_sum *sums, size_t n_sums, bandit_error *err);

/* Starts the next batch: counts and sums take in `results` in the order given, the dictionary is resampled,
 * and the posterior of all arms is computed. `pending`: picks of former batches whose rewards are still out
 * (asynchronous feedback; they are offered to the dictionary and hallucinated, in the order given).
 * On an error the engine is as before the call. */
bandit_status bandit_engine_begin_batch(bandit_engine *engine, const bandit_result *results, size_t n_results,
                                        const bandit_pick *pending, size_t n_pending,
                                        const bandit_executor *executor, bandit_error *err);

typedef struct bandit_select_limits {
    size_t max_picks;         /* of this call; picks[] holds as many */
    uint64_t remaining;       /* trials left to the horizon; UINT64_MAX without one */
    bool beyond_bound;        /* choose max_picks more even when the batch's rule says stop */
    const uint32_t *withheld; /* arms that may not be chosen, ascending; borrowed */
    size_t n_withheld;
    /* In an open space: arms whose last pulls failed, ascending; borrowed. Those among them that have no
     * reward teach where evaluations fail, and picks keep away from there (feasibility.h). */
    const uint32_t *failed;
    size_t n_failed;
    /* In a space: values that the picks must have, an entry a parameter, coded, NaN where it is open. NULL:
     * none. Parameters that cannot be active with them stay inactive. Borrowed. */
    const double *fixed;
} bandit_select_limits;

#define BANDIT_SELECT_LIMITS_INIT                                                                            \
    {                                                                                                        \
        .max_picks = SIZE_MAX, .remaining = UINT64_MAX                                                       \
    }

typedef struct bandit_selection {
    size_t n_picks;
    double ratio; /* the bound's left side after the last pick: 1 + sum over all that is out of sigma^2_fb */
    bandit_stop_rule stop_rule;
} bandit_selection;

/* Chooses the batch's next picks, until its rule or a limit stops it. Picks are hallucinated. May be called
 * again in the same batch (asynchronous feedback). [BBKB] Alg. 1, lines 6–13 for BBKB.
 *   picks  the caller's, of limits->max_picks entries; out->n_picks of them are filled
 * Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL, BANDIT_MEMORY_LIMIT; in a space also BANDIT_INVALID_OPTION,
 * field "fixed", when no point has the values. Then nothing is picked and the engine is as before the call,
 * which may be repeated. What goes wrong after a pick is no error: the picks made stand, and the next call
 * says why there are no more. */
bandit_status bandit_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                   const bandit_executor *executor, bandit_pick *picks, bandit_selection *out,
                                   bandit_error *err);

/* Hallucinates picks made earlier in this batch, in their order (after restore; also a user's own trials).
 * Errors: BANDIT_INVALID_STATE (an arm that is not there; nothing has changed); BANDIT_NO_MEMORY,
 * BANDIT_MEMORY_LIMIT: some picks may be hallucinated already, the engine must be freed. */
bandit_status bandit_engine_replay_picks(bandit_engine *engine, const bandit_pick *picks, size_t n_picks,
                                         const bandit_executor *executor, bandit_error *err);

/* A view of the stored state of the batch in force; borrowed from the engine until the next begin_batch. */
void bandit_engine_checkpoint(const bandit_engine *engine, bandit_checkpoint *out);

/* Prediction at the start of the batch in force. Bayesian scale, reward units. */
typedef struct bandit_prediction {
    double mean;
    double variance; /* Bayesian: lambda times the paper's; never negative */
    double ucb;      /* the bound the picks were made with: mean + alpha * (paper's standard deviation) */
} bandit_prediction;

/* BANDIT_UNSUPPORTED for algorithms without a model. Before the first reward: the prior. Several threads may
 * ask at once, while nothing else is done with the engine. */
bandit_status bandit_engine_predict_arms(const bandit_engine *engine, const uint32_t *arm_indices, size_t n,
                                         bandit_prediction *out, bandit_error *err);

/* points: n x bandit_arms_point_width, row-major, raw units; in a space coded points, which must be points of
 * it (BANDIT_INVALID_ARMS). BANDIT_UNSUPPORTED for a precomputed set. */
bandit_status bandit_engine_predict_points(const bandit_engine *engine, const double *points, size_t n,
                                           bandit_prediction *out, bandit_error *err);

typedef struct bandit_description {
    uint64_t batch;             /* in force, from 0 */
    uint64_t observations;      /* pulls in the model */
    bool has_model;             /* false for uniform and regularized_evolution */
    double beta;                /* alpha: the factor before sigma in the paper's scale */
    const uint32_t *dictionary; /* as sampled, ascending; borrowed until the next begin_batch */
    size_t n_dictionary;
    double effective_dimension;   /* sum n_i sigma^2(x_i), paper's scale */
    double information_gain;      /* 1/2 log det(I + K/lambda), of the sparse posterior where there is one */
    double lambda;                /* in force, of the model */
    double noise_std, norm_bound; /* in force, in the units of the rewards */
    double signal_std;            /* of the prior, in the units of the rewards; 1 where it is not learned */
    double shift, unit;           /* the model sees (reward − shift) / unit */
    const double *lengthscales;   /* in force, of scaled features; n_lengthscales; borrowed as above */
    size_t n_lengthscales;        /* one a feature, or 1 for all, or 0 where the kernel has none */
    uint64_t fitted_on;           /* rewards that hyper-parameters were learned from; 0: not learned (yet) */
    uint64_t set_aside;           /* rewards that the model leaves out as impossible among the others */
    const char *code_path;        /* which kernels run here ("avx512", "avx2", "portable"); static */
} bandit_description;

void bandit_engine_describe(const bandit_engine *engine, bandit_description *out);

/* Bytes held beyond the arms. */
size_t bandit_engine_memory(const bandit_engine *engine);

void bandit_engine_free(bandit_engine *engine); /* NULL is fine */

#endif
