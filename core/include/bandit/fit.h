/* Learning a kernel's hyper-parameters from rewards.
 *
 * Maximizes the collapsed bound on the log marginal likelihood (Titsias 2009; [VPA21] eq. 4) plus weak priors
 * over theta = (log lengthscales, log s^2, log tau): signal variance s^2, noise variance tau, rewards
 *   y = mu + f(x) + noise,  f ~ GP(0, s^2 k),  noise ~ N(0, tau).
 * The constant mu has a normal prior and is maximized with the rest, in closed form. With at most
 * `max_inducing` points every point is an inducing one and the bound is the exact value.
 *
 * `warped` data have a model whose purpose is to find the best point soon. Rewards are warped with a learned
 * power (Yeo and Johnson 2000; core/learning/warp.h), which is one more entry of theta. The value includes
 * the warp's log slope at each point, so that it is the log density of the rewards before the warp. mu then
 * has no prior. If both variances are learned, s^2 has none either, and is maximized in closed form; theta
 * then has log (tau / s^2). Differences between rewards of one point are not warped, because the warp's slope
 * is 1 at 0.
 *
 * Evaluations may have reported variances, to which tau is added. For warped data, each is multiplied by the
 * square of the warp's slope at its point. With reported variances s^2 is never maximized in closed form.
 *
 * Rewards come grouped by point: a point that was evaluated c times has one row, with the mean of its rewards
 * and the weight c. The deviations from these means enter as `within`. Priors are for rewards of about unit
 * variance. Deterministic, whatever the executor; no I/O, clock or global state. */
#ifndef BANDIT_FIT_H
#define BANDIT_FIT_H

#include "bandit/executor.h"
#include "bandit/kernel.h"
#include "bandit/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Squares, about their mean, of evaluations of one point that have the same reported variance. */
typedef struct bandit_fit_within {
    double squares, degrees, variance; /* in the units of the data */
} bandit_fit_within;

typedef struct bandit_fit_data {
    bandit_kernel_type kernel;
    double nu;
    double short_share;   /* as in bandit_kernel; it is not learned */
    size_t n;             /* points, >= 1 */
    size_t dimension;     /* 0 with `gram` */
    const double *points; /* n x dimension, row-major; stationary kernels */
    const double *gram;   /* n x n, k(x_i, x_j): linear and precomputed kernels; else NULL */
    const double *count;  /* n: evaluations of each, >= 1 */
    const double *mean;   /* n: their mean reward */
    const double *offset; /* n: subtracted from each (warped) mean before it is modelled; NULL: nothing */
    const double
        *variance; /* n: reported variance of one evaluation, in addition to tau, in the units of `mean`; 0:
                      none was reported. NULL: all are 0 */
    double within; /* sum of squared deviations of single rewards from their point's mean */
    double within_degrees; /* its degrees of freedom: sum of (count − 1) if all are in `within` */
    const struct bandit_fit_within *told; /* n_told: the same for evaluations with reported variances */
    size_t n_told;
    const size_t *group;    /* dimension: the number of each coordinate's lengthscale; NULL: one each */
    const double *extent;   /* n_lengthscales: the range of a coordinate that the prior assumes */
    size_t n_lengthscales;  /* 0 with `gram` */
    bool learn_lengthscale; /* otherwise they stay as given in bandit_hyperparameters; likewise below */
    bool learn_signal;
    bool learn_noise;
    bool has_mean;    /* otherwise mu = 0 */
    bool warped;      /* requires has_mean */
    bool learn_power; /* of the warp */
    bool has_far;     /* some rewards are far above the others: the power may be as low as 0, the logarithm */
} bandit_fit_data;

typedef struct bandit_hyperparameters {
    double *lengthscales; /* n_lengthscales; the caller's */
    double signal;        /* s^2 > 0 */
    double noise;         /* tau > 0 */
    double mean;          /* mu; of warped rewards where they are warped */
    double power;         /* of the warp */
} bandit_hyperparameters;

enum { BANDIT_FIT_STARTS = 4 };

typedef struct bandit_fit_limits {
    size_t max_inducing;    /* >= 1 */
    size_t max_evaluations; /* of the objective, of each start, >= 1 */
    size_t other_start;     /* 1 to BANDIT_FIT_STARTS − 1: only the given start and this one; 0: all */
} bandit_fit_limits;

/* The result of the ascents that do not begin at `start`. If everything is learned and every point is an
 * inducing one, it depends only on the data and the limits, so that another fit to the same data need not
 * repeat these ascents. */
typedef struct bandit_fit_fixed {
    bool known;
    double value;
    double *theta; /* n_lengthscales + 2, for warped data + 3; the caller's */
} bandit_fit_fixed;

/* The peak of the priors: the hyper-parameters before there are rewards to learn from. */
void bandit_fit_prior(const bandit_fit_data *data, bandit_hyperparameters *out);

/* Maximizes from `start`, from the priors' peak and from two points beside it, by L-BFGS (NLopt) within wide
 * bounds. The ascents are the parts of one job of the executor.
 *   out        the best point found, at least as good as each start; may share storage with `start`
 *   objective  its value; may be NULL
 *   surprise   n, or NULL: squared standardized residual of each point's mean given all others, at *out
 *   fixed      used if it is known, otherwise filled in; may be NULL, and must be with only two starts
 * Errors: BANDIT_NO_MEMORY; BANDIT_NUMERICAL when the objective cannot be evaluated at any start. */
bandit_status bandit_fit(const bandit_fit_data *data, const bandit_fit_limits *limits,
                         const bandit_hyperparameters *start, bandit_hyperparameters *out, double *objective,
                         double *surprise, bandit_fit_fixed *fixed, const bandit_executor *executor,
                         bandit_error *err);

#endif
