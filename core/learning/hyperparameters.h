/* What is learned from the rewards of a study between batches: how rewards are standardized, which of them
 * are set aside, and the kernel's hyper-parameters (bandit/fit.h).
 *
 * An arm's mean reward y enters the model as
 *   (fold(y) − shift) / unit,   shift = offset + scale mu,  unit = scale s,
 * so that the model has a unit kernel, a mean of zero and the noise variance tau / s^2. All of it is affine
 * but for fold, and frozen until the next fit. fold(y) is y up to `high`, and logarithmic below `low`:
 *   low − range log(1 + (low − y) / range).
 *
 * Robust in three steps, all ours, none of them by the letter of a paper.
 *
 * (1) offset and scale are the median and the interquartile range of the arms' means; low is one range below
 * the lower quartile, high 20 above the upper. What is worse than low is folded: the worst points would leave
 * the model no eyes for differences among the good, and cut off they would leave it none among the bad.
 *
 * (2) Rewards that the others make all but impossible (leave-one-out, z above 5.5) are set aside, if the data
 * without them, each paid for as a draw of a broad distribution that 2 % of rewards have, are likelier than
 * all data with hyper-parameters of their own: a new peak that a shorter lengthscale explains stays. What is
 * set aside is an arm's pulls so far; its later pulls count, and every fit decides anew.
 *
 * (3) A reward of an arm that was pulled before joins its mean from at most max(6 sqrt(tau), 3) scales away.
 */
#ifndef CORE_LEARNING_HYPERPARAMETERS_H
#define CORE_LEARNING_HYPERPARAMETERS_H

#include "bandit/engine.h"
#include "core/posterior/ledger.h"

#include <math.h>

/* How a study learns; constant. */
typedef struct bandit_fit_settings {
    const bandit_arms *arms; /* borrowed */
    bandit_kernel_type kernel;
    double nu;
    bool learn_lengthscale, learn_noise, standardize;
    const double *lengthscales; /* given: n_lengthscales; borrowed. NULL when they are learned */
    size_t n_lengthscales;      /* of the fit */
    size_t *group;              /* one a feature: its lengthscale; owned */
    double *extent;             /* n_lengthscales; owned */
    double noise_std;           /* given, as told; where noise is not learned */
} bandit_fit_settings;

/* What is in force. Starts as {0}. */
typedef struct bandit_fitted {
    double offset, scale, low, high, range; /* low −infinity, high infinity: nothing is folded or cut */
    double signal, noise, mean;             /* s^2, tau, mu: of standardized rewards */
    double *lengthscales;                   /* n_lengthscales; owned */
    size_t n_lengthscales;
    bandit_arm_sum *aside; /* n_aside: set aside, ascending by arm; owned */
    size_t n_aside;
    uint64_t fitted_on; /* rewards there were; 0: the priors' peak */
} bandit_fitted;

/* Errors: BANDIT_NO_MEMORY. `options` and `arms` are borrowed. */
bandit_status bandit_fit_settings_init(bandit_fit_settings *out, const bandit_options *options,
                                       const bandit_arms *arms, bandit_error *err);
void bandit_fit_settings_clear(bandit_fit_settings *settings);

/* Before the first reward. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_fitted_prior(bandit_fitted *out, const bandit_fit_settings *settings, bandit_error *err);
void bandit_fitted_clear(bandit_fitted *fitted);

/* From all rewards so far, one at least; `from` is what was in force before. Rewards within their arms: sum
 * of squares and degrees of freedom. Time is bounded whatever there is: at most 256 arms exactly, or a
 * thousand of them on 128 inducing points; what is learned does not depend on the executor. Errors:
 * BANDIT_NO_MEMORY, BANDIT_NUMERICAL; *out is then empty. */
bandit_status bandit_refit(bandit_fitted *out, const bandit_fitted *from, const bandit_fit_settings *settings,
                           const bandit_ledger *ledger, double within, double within_degrees,
                           const bandit_executor *executor, bandit_error *err);

/* Is a fit due at so many rewards? When they have doubled at the latest; sooner while fits are cheap. */
bool bandit_refit_is_due(const bandit_fitted *fitted, uint64_t observations);

/* A reward as the model sees it but for shift and unit, and back. */
static inline double bandit_fitted_fold(const bandit_fitted *fitted, double y)
{
    y = fmin(y, fitted->high);
    return y < fitted->low ? fitted->low - fitted->range * log1p((fitted->low - y) / fitted->range) : y;
}
static inline double bandit_fitted_unfold(const bandit_fitted *fitted, double y)
{
    const double furthest = 50.0; /* ranges: beyond, nobody has looked */
    if (!(y < fitted->low))
        return y;
    return fitted->low - fitted->range * expm1(fmin((fitted->low - y) / fitted->range, furthest));
}

/* The affine part: (y − shift) / unit. */
static inline double bandit_fitted_shift(const bandit_fitted *fitted)
{
    return fitted->offset + fitted->scale * fitted->mean;
}
static inline double bandit_fitted_unit(const bandit_fitted *fitted)
{
    return fitted->scale * sqrt(fitted->signal);
}

#endif
