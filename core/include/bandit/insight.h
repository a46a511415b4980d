/* What an engine's frozen model shows beyond predictions: which parameters matter, how the mean depends on
 * one of them, and how well the model predicts results that it has not seen.
 *
 * Everything is a pure function of the engine's current batch and its seed. Picks in flight are not
 * hallucinated. Rewards are seen as the model sees them: folded or warped if it folds or warps them. */
#ifndef BANDIT_INSIGHT_H
#define BANDIT_INSIGHT_H

#include "bandit/engine.h"

typedef struct bandit_insight bandit_insight;

/* A view of the model of the engine's current batch. With several metrics it is the model of the first one;
 * bandit_engine_of_metric gives the others. The engine is borrowed, and must not change while the view is
 * used. If the engine's posterior is not a sparse one, the view builds one on all pulled arms, or on 2000 of
 * them if there are more.
 * Errors: BANDIT_UNSUPPORTED for algorithms that have no model, or one for each cell, or one without kernel
 * columns (s_gp_ts on features), and before the first result; BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_insight_new(bandit_insight **out, const bandit_engine *engine, bandit_error *err);
void bandit_insight_free(bandit_insight *insight); /* accepts NULL */

/* Parameters of a space, or features of candidates. 0 for a precomputed set. */
size_t bandit_insight_inputs(const bandit_insight *insight);

/* Converts predictions from the model's units to those of the rewards. `variance` may be 0. */
void bandit_insight_in_reward_units(const bandit_insight *insight, bandit_prediction *p, size_t n);

/* ---- core/insight/importance.c -------------------------------------------------------------------------- */

typedef struct bandit_importance {
    double
        first; /* share of the variance that this input explains alone; NaN for candidates, and with rules */
    double total; /* the share that it explains alone or together with others */
    double std;   /* standard deviation of `total` among functions that fit the results as well */
    double top;   /* share in the differences between the best tenth of the points and the rest */
} bandit_importance;

/* In a space: Sobol indices of the mean, with every parameter uniform on its scale, by the sums of Jansen (1999)
 * and Saltelli et al. (2010) over two blocks of quasi-random points; an inactive parameter has no influence.
 * In a space with rules, whose parameters are not independent, `total` is Var(E[mean | x_j]) / Var(mean), with x
 * uniform among the points that keep the rules.
 * On candidates, whose features are not independent: nu_j = mean_a (dmu/dx_j)^2 Var_a(x_j) (Sobol', Kucherenko
 * 2009), relative to their sum. `top`: the Pearson divergence of Watanabe et al. (2023), relative to its sum.
 *   out       bandit_insight_inputs entries
 *   variance  of the mean over these points, in the units of the rewards
 * Errors: BANDIT_UNSUPPORTED for a precomputed set, and before there are 2 * inputs + 2 results;
 * BANDIT_NO_MEMORY, BANDIT_CANCELLED. */
bandit_status bandit_insight_importance(bandit_insight *insight, bandit_importance *out, double *variance,
                                        bandit_error *err);

/* ---- core/insight/effects.c ----------------------------------------------------------------------------- */

typedef struct bandit_effect {
    double at[2];           /* the value on each axis: coded; for candidates the mean of the raw feature */
    double low[2], high[2]; /* for candidates: the range of the bin */
    size_t count;           /* points averaged over */
    double mean, std;       /* of the average of the function, in reward units */
} bandit_effect;

enum { BANDIT_EFFECTS_MOST = 100 }; /* points of an axis */

/* Partial dependence: the model's mean for values of one input or of two, averaged over the other inputs. In
 * a space, the axis has `points` values (fewer if the parameter has fewer), and the average is over points at
 * which it is active and that keep the rules; values for which no such point is found are left out. On
 * candidates, the average is over the candidates in bins of the feature with equal numbers of candidates;
 * empty bins are left out.
 * The caller frees *out. Errors: as above. */
bandit_status bandit_insight_effects(bandit_insight *insight, const size_t *axes, size_t n_axes,
                                     size_t points, bandit_effect **out, size_t *n, bandit_error *err);

/* ---- core/insight/leave_one_out.c ----------------------------------------------------------------------- */

/* A pulled arm as the model would predict it without its own rewards. */
typedef struct bandit_left_out {
    uint32_t arm;
    uint64_t count;   /* pulls */
    double value;     /* the mean of its rewards */
    double mean, std; /* the model's prediction of that mean without these rewards, noise included; reward
                         units */
    double z;         /* the distance of the value from `mean`, in standard deviations, in the model's
                         units */
    bool set_aside;   /* the model leaves these rewards out */
} bandit_left_out;

/* One entry for each pulled arm, ascending by arm; hyper-parameters stay as they are. With
 * C = Z Z' + lambda diag(1/n_i) over the pulled arms (sparse_posterior.h), the mean without arm i is
 * y_i − (C^-1 y)_i / (C^-1)_ii, and its variance 1 / (C^-1)_ii plus what the dictionary leaves unexplained.
 * The caller frees *out. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL, BANDIT_CANCELLED. */
bandit_status bandit_insight_leave_one_out(bandit_insight *insight, bandit_left_out **out, size_t *n,
                                           bandit_error *err);

/* How many pulls of an arm the model leaves out, because their rewards are outliers. The engine is that of one metric
 * (bandit_engine_of_metric). */
uint64_t bandit_insight_set_aside(const bandit_engine *engine, uint32_t arm);

/* ---- core/insight/own_deviation.c, local_deviation.c, quadratic_error.c ------------------------------ */

/* Predictions of n pulled arms, of which the best is recommended. They are those of bandit_engine_predict_arms, unless the
 * noise is learned. In an open space, the points may then also have a deviation from the model's function that is
 * shared by those near each other, and the mean reward takes the place of a prediction that a quadratic function shows to be
 * less certain. In other sets, each arm may have a deviation of its own: what the model takes
 * for noise, and what repeated pulls of the same arm do not show. `ucb` is then the mean. Picks do not depend on it.
 * Errors: as of bandit_engine_predict_arms; BANDIT_CANCELLED. */
bandit_status bandit_insight_pulled(const bandit_engine *engine, const uint32_t *arms, size_t n,
                                    bandit_prediction *out, bandit_error *err);

/* ---- core/insight/outlook.c ----------------------------------------------------------------------------- */

enum { BANDIT_OUTLOOK_GAINS = 3 };

typedef struct bandit_outlook {
    uint32_t arm;       /* the recommended one */
    double mean, std;   /* of the function there */
    double probability; /* that some point is better than this one by more than epsilon */
    double possible;    /* the expected gain of the best point over this one */
    size_t draws;       /* functions that these are estimated from */
    /* The expected gain of this many more trials, if all were chosen now. */
    size_t trials[BANDIT_OUTLOOK_GAINS];
    double gains[BANDIT_OUTLOOK_GAINS];
} bandit_outlook;

/* The gain over `arm`, the recommended one among those with rewards, that is still possible, in reward units,
 * if the model with its hyper-parameters is right. In an open space, it is estimated on points that keep the
 * rules: 1024 all over the space and 512 near the recommended point. Errors: as of
 * bandit_insight_importance. */
bandit_status bandit_insight_outlook(bandit_insight *insight, uint32_t arm, double epsilon,
                                     bandit_outlook *out, bandit_error *err);

/* ---- core/insight/rank_correlation.c -------------------------------------------------------------------- */

/* Spearman's rank correlation of n pairs of finite numbers; equal numbers share their mean rank. NaN if it is
 * undefined. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_rank_correlation(const double *a, const double *b, size_t n, double *out,
                                      bandit_error *err);

#endif
