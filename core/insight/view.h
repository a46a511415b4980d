/* The model of an engine's current batch as a function of the point, for the files of core/insight. All
 * figures are in the units of the engine that has the kernel: the inner one of an engine that refits. */
#ifndef CORE_INSIGHT_VIEW_H
#define CORE_INSIGHT_VIEW_H

#include "bandit/insight.h"
#include "core/algorithms/algorithm.h"
#include "core/arms/genome.h"
#include "core/engine/refitting_engine.h"
#include "core/posterior/prior_features.h"
#include "core/posterior/sparse_posterior.h"
#include "core/posterior/svgp.h"

enum {
    BANDIT_VIEW_MEMBERS = 2000, /* of the posterior's dictionary, at most */
    BANDIT_VIEW_BLOCK = 256,    /* points whose kernel columns are computed at once */
    BANDIT_VIEW_DRAWS = 16,     /* functions of the posterior, for deviations */
    BANDIT_VIEW_FEATURES = 512, /* of each such function's prior part */
    BANDIT_VIEW_ARMS = 4096     /* candidates that are used if there are more */
};

struct bandit_insight {
    const bandit_engine *engine;           /* borrowed */
    const bandit_engine *inner;            /* the one that has the kernel */
    const bandit_refitting_engine *refits; /* NULL: it does not */
    bandit_checkpoint sums, told;          /* rewards in the model's units, and as reported; borrowed */
    const bandit_posterior *posterior;     /* the engine's, or `built` */
    bandit_posterior built;
    double *block;              /* m x BANDIT_VIEW_BLOCK: kernel columns */
    double *diagonal, *scratch; /* of the block */

    /* Functions of the posterior, once bandit_view_draw was called. */
    bandit_features features;
    bandit_prior_draw draws[BANDIT_VIEW_DRAWS];
    double *weights; /* m x (1 + BANDIT_VIEW_DRAWS): those of the mean come first */
    bool has_room, has_draws;
    size_t first_draw; /* the number of the first function */
};

static inline size_t bandit_view_dimension(const bandit_insight *v)
{
    return v->inner->arms->dimension;
}

static inline const bandit_space *bandit_view_space(const bandit_insight *v)
{
    return v->inner->arms->space;
}

/* Returns BANDIT_UNSUPPORTED unless there are features, and 2 * inputs + 2 results. */
bandit_status bandit_view_check(const bandit_insight *view, bandit_error *err);

/* The factor between the model's units and those of rewards, before they are unfolded. */
double bandit_view_unit(const bandit_insight *view);

/* The mean at n points (n x dimension, scaled as the arms are). All figures of this file include the prior mean of a
 * model that learns from other studies; its weights count as known. */
void bandit_view_means(bandit_insight *view, const double *coordinates, size_t n, double *out);

/* Draws the functions with the numbers first, first + 1, … Must be called before bandit_view_values. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_view_draw(bandit_insight *view, size_t first, bandit_error *err);
/* out[r * ld + i]: function r < BANDIT_VIEW_DRAWS at point i. */
void bandit_view_values(bandit_insight *view, const double *coordinates, size_t n, double *out, size_t ld);

/* Mean and variance of the average of the function over n <= BANDIT_VIEW_BLOCK points:
 *   mean_jl k(x_j, x_l) − |z|^2 + lambda |w|^2  with z = L^{-1} kbar, w = L_V^{-1} z, kbar = mean_j k_D(x_j).
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_view_average(bandit_insight *view, const double *coordinates, size_t n, double *mean,
                                  double *variance, bandit_error *err);

/* Coordinate j < 2 * inputs of point `index` of the view's sequence, in [0, 1): Sobol's, shifted at random;
 * from the 65th coordinate on, random numbers. */
double bandit_view_uniform(const bandit_insight *view, uint32_t index, size_t j);

/* Up to BANDIT_VIEW_ARMS arms, evenly spaced, and their features (n x dimension). The caller frees both.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_view_arms(const bandit_insight *view, uint32_t **arms, double **coordinates, size_t *n,
                               bandit_error *err);

/* Draws up to `wanted` points that keep the rules of the space and have the fixed values of the genome, uniformly in
 * the genes of the other parameters. genes: wanted x parameters, coordinates: wanted x dimension. *found: how many
 * there are, possibly 0. Errors: BANDIT_NO_MEMORY, BANDIT_CANCELLED. */
bandit_status bandit_view_allowed(const bandit_insight *view, bandit_genome *genome, size_t wanted,
                                  double *genes, double *coordinates, size_t *found, bandit_error *err);

/* Looks, not for long, for one point that keeps the rules and has the fixed values; genes: scratch, one per parameter.
 * Errors: as above. */
bandit_status bandit_view_is_allowed(bandit_genome *genome, double *genes, bool *found, bandit_error *err);

/* The share of each input in the differences between the best tenth of n points and all of them, in
 * shares[j]: the Pearson divergence sum_b p_b (q_b / p_b − 1)^2 over the bins of the input, less its
 * expectation by chance (ours).
 *   values  n; larger is better
 *   bins    n x inputs: the bin of each point, below BANDIT_VIEW_BINS
 * Errors: BANDIT_NO_MEMORY. */
enum { BANDIT_VIEW_BINS = 16 };
bandit_status bandit_view_top(const double *values, const unsigned char *bins, size_t n, size_t inputs,
                              double *shares, bandit_error *err);

/* Divides a column of n values into bins with equal numbers of values; equal values share a bin. The bin of
 * value i is bins[i * stride].
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_view_bins(const double *column, size_t n, size_t n_bins, unsigned char *bins,
                               size_t stride, bandit_error *err);

/* Importance in a space without rules and with rules, and on candidates. */
bandit_status bandit_importance_space(bandit_insight *view, bandit_importance *out, double *variance,
                                      bandit_error *err);
bandit_status bandit_importance_rules(bandit_insight *view, bandit_importance *out, double *variance,
                                      bandit_error *err);
bandit_status bandit_importance_list(bandit_insight *view, bandit_importance *out, double *variance,
                                     bandit_error *err);

#endif
