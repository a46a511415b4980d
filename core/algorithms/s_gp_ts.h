/* Shared by the files of S-GP-TS: s_gp_ts.c (the algorithm, and its rule in a space), s_gp_ts_list.c (its
 * engine on candidates). */
#ifndef CORE_ALGORITHMS_S_GP_TS_H
#define CORE_ALGORITHMS_S_GP_TS_H

#include "core/algorithms/algorithm.h"
#include "core/posterior/feature_posterior.h"
#include "core/posterior/svgp.h"

/* The frozen state of a batch. An engine has two, so that a batch that fails to begin leaves the current one
 * unchanged. */
typedef struct bandit_ts_batch {
    bandit_ledger ledger;
    bool has_model; /* false: there are no rewards yet, and the initial pick is uniform */
    uint32_t *dictionary;
    size_t n_dictionary, capacity_dictionary;
    uint64_t drawn_at;          /* number of rewards when the k-DPP was sampled; 0: the dictionary is not such
                                   a sample */
    bandit_posterior posterior; /* has no points for `features` */
    bandit_feature_posterior on_features; /* only built for `features` */
    bandit_svgp_sampler sampler;
    double *w, *scratch; /* for the variance of one arm */
    size_t capacity_w, capacity_scratch;
    double alpha;       /* factor of the Bayesian standard deviation */
    uint64_t n_picks;   /* picks made in this batch */
    uint64_t n_pending; /* picks of earlier batches that were in flight when this one began */
    double total;       /* sum of the start-of-batch variances of the picks in flight */
    unsigned char state[64];
    size_t n_state;
} bandit_ts_batch;

typedef struct bandit_ts_engine {
    bandit_engine base;
    bandit_features features;
    size_t m;         /* number of inducing points */
    double *variance; /* n arms, for `dtc`: only the entries of pulled arms are set */
    bandit_ts_batch batches[2];
    unsigned in_force;
} bandit_ts_engine;

/* ---- s_gp_ts_list.c ------------------------------------------------------------------------------------ */

extern const bandit_algorithm_table bandit_s_gp_ts_list_table;

/* The arm in the posterior of the batch. */
bandit_embedding bandit_ts_embed(bandit_ts_batch *batch, uint32_t arm);

/* Draws the batch's next sample; its sampler must be prepared. */
void bandit_ts_draw(const bandit_engine *engine, bandit_ts_batch *batch);

/* ---- s_gp_ts.c ----------------------------------------------------------------------------------------- */

/* As bandit_algorithm_table.explain. */
bandit_status bandit_ts_explain(bandit_engine *engine, uint32_t arm, const bandit_select_limits *limits,
                                const bandit_executor *executor, bandit_reason *out, bandit_error *err);

#endif
