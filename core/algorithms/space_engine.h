/* The algorithms with a model on a space of parameters: one engine, in which an algorithm is a rule. It says
 * on which of the visited points the posterior stands, how wide its bound is, what is maximized, and when a
 * batch ends. The posterior is the sparse one of [BBKB] for all of them: on all pulled points it is the exact
 * one.
 *
 * A batch before the first reward is a design: the point of the defaults, if any parameter has one, then
 * points of a low-discrepancy sequence; they depend on no reward, so that a few more than one cost nobody any
 * waiting †. In every other the acquisition is maximized anew for each pick, under the posterior in which
 * what is out is hallucinated (surface.h). Picks are points of the space, appended to the arms when they are
 * new.
 *
 * Where noise is no reason for it (bandit_is_silent), a point that was pulled, or is out, is not picked again
 * as long as there is another †. Where evaluations fail (feasibility.h) the acquisition is lowered by far
 * more than its values differ: what is sure to fail comes after all else †. */
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

typedef enum bandit_space_dictionary {
    BANDIT_SPACE_RESAMPLED, /* by ridge leverage scores: [BBKB] */
    BANDIT_SPACE_PULLED,    /* all pulled points: the exact posterior */
    BANDIT_SPACE_INDUCING   /* at most options.inducing of them: [VPA21] */
} bandit_space_dictionary;

typedef enum bandit_space_end {
    BANDIT_SPACE_SEQUENTIAL, /* after every pick */
    BANDIT_SPACE_SUM,        /* after the pick at which 1 + sum sigma^2_fb exceeds ratio_bound: [BBKB] */
    BANDIT_SPACE_PRODUCT     /* … at which prod (1 + sigma^2_{s−1}) does: Desautels et al. 2014 */
} bandit_space_end;

typedef struct bandit_space_rule {
    bandit_algorithm algorithm;
    bandit_space_dictionary dictionary;
    bandit_space_end end;
    bool samples; /* what is maximized is a sample of the posterior; else `acquire`, with what is out in it */
    bandit_acquisition_kind acquire;
} bandit_space_rule;

/* The frozen state of a batch. An engine holds two, so that a batch that fails to begin leaves the one in
 * force as it was. */
typedef struct bandit_space_batch {
    bandit_ledger ledger;
    bool has_model; /* false: no rewards yet; the picks are the design's */
    uint32_t *dictionary;
    size_t n_dictionary, capacity_dictionary;
    uint64_t drawn_at; /* inducing points: rewards when they were drawn; 0: they are all pulled points */
    bandit_posterior posterior;
    bandit_surface surface; /* and what is out */
    bandit_log_sums log_sums;
    double width;     /* before the Bayesian standard deviation */
    double incumbent; /* f+: the largest posterior mean among the pulled points */
    double *w, *scratch;
    size_t capacity_w, capacity_scratch;
    uint32_t *out; /* the arms that are out */
    size_t n_out, capacity_out;
    uint64_t n_picks; /* of this batch */
    double ratio;
    unsigned char state[96];
    size_t n_state;
} bandit_space_batch;

typedef struct bandit_space_engine {
    bandit_engine base;
    const bandit_space_rule *rule;
    bandit_features features; /* of rules that sample */
    size_t inducing;          /* most members, with BANDIT_SPACE_INDUCING */
    bandit_space_batch batches[2];
    unsigned in_force;

    /* of the batch in force, made at its first pick */
    bandit_maximizer maximizer;
    bandit_grid grid;
    bandit_svgp_sampler sampler;
    bool has_grid;
    double *fixed;                  /* what the grid was made for */
    bandit_feasibility feasibility; /* empty while nothing has failed */
    bool has_feasibility;           /* it is of this batch, and of these failures: */
    uint32_t *failed;
    size_t n_failed, capacity_failed;
    double *shortfall; /* of the grid */
    double *values, *coded;
    double *means, *variances; /* of all arms: for resampling */
    size_t capacity_values, capacity_means, capacity_variances, capacity_shortfall;
} bandit_space_engine;

enum { BANDIT_SPACE_MORE_PICKS = 16 }; /* that are out: room made for at once */

/* ---- space_model.c ------------------------------------------------------------------------------------- */

/* The dictionary of the batch to begin, from the one that has ended. has_history: among the first results are
 * some that the engine did not choose. */
bandit_status bandit_space_choose_dictionary(bandit_space_engine *engine, bandit_space_batch *ended,
                                             bandit_space_batch *next, bool has_history,
                                             const bandit_pick *pending, size_t n_pending, bandit_error *err);
/* The posterior on the batch's dictionary and ledger. Errors also: BANDIT_MEMORY_LIMIT. */
bandit_status bandit_space_build(bandit_space_engine *engine, bandit_space_batch *batch, bandit_error *err);
/* The factor before the Bayesian standard deviation. */
double bandit_space_width(const bandit_space_engine *engine, const bandit_space_batch *batch);
/* batch->incumbent, where the rule looks at it. */
bandit_status bandit_space_find_incumbent(bandit_space_engine *engine, bandit_space_batch *batch,
                                          bandit_error *err);
void bandit_space_features_of(const bandit_arms *arms, uint32_t arm, double *features);

/* ---- space_picks.c ------------------------------------------------------------------------------------- */

/* Does the batch sample by uncertainty ([BBKB] Alg. 3)? */
bool bandit_space_samples_uncertainty(const bandit_space_engine *engine, const bandit_space_batch *batch);
/* The next point in engine->coded; *stop when there is none. */
bandit_status bandit_space_choose(bandit_space_engine *engine, bandit_space_batch *batch,
                                  const bandit_select_limits *limits, bandit_stop_rule *stop,
                                  bandit_error *err);

extern const bandit_algorithm_table bandit_space_bbkb_table, bandit_space_bkb_table,
    bandit_space_gp_ucb_table, bandit_space_igp_ucb_table, bandit_space_gp_bucb_table,
    bandit_space_gp_ts_table, bandit_space_async_ts_table, bandit_space_s_gp_ts_table,
    bandit_space_gp_ei_table, bandit_space_gp_pi_table, bandit_space_epsilon_greedy_table;

/* pi_gp_ucb_space.c: pi_gp_ucb, for spaces of which all parameters are double or integer and always active. */
extern const bandit_algorithm_table bandit_space_pi_gp_ucb_table;
bool bandit_space_is_numeric(const bandit_arms *arms);

#endif
