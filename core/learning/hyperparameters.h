/* Learning from the rewards of a study between batches: how rewards are standardized, which of them are set
 * aside as outliers, and the hyper-parameters of the kernel (bandit/fit.h).
 *
 * The mean reward y of an arm enters the model as
 *   (fold(y) − shift) / unit,   shift = offset + scale mu,  unit = scale s,
 * so that the model has a unit kernel, a mean of zero and the noise variance tau / s^2. Everything except
 * fold is affine, and stays the same until the next fit. fold(y) is y up to `high`, and logarithmic below
 * `low`:
 *   low − range log(1 + (low − y) / range).
 *
 * For warped rewards (bandit_options.warp_rewards) fold(y) is instead
 *   offset + scale warp((y − offset) / scale; power),
 * where warp is that of Yeo and Johnson (warp.h). Its power is learned with the other hyper-parameters; the
 * density of the rewards includes the slopes of the warp. scale is then the interquartile range itself, or in
 * an open space (bandit_options.warp_unit) twice the distance from the median to the upper quartile, if that
 * is less. The reason is that every power of the warp is straight near the median, so differences among good
 * rewards that all lie within a small share of the unit would not exceed the noise. With BANDIT_WARP_IN_TURN,
 * a fit to an even number of rewards may have a finer unit (finer_unit.c): that of the better quarter or
 * eighth of the rewards, with its origin at the quantile at which that part begins. It is used if the rewards
 * are likelier with it. The other fits keep to the median, because a model of the best part alone is too sure
 * near the leader, and does not see other regions. Since revision 4, in spaces with words and with one
 * metric, of rewards at points near each other only the best counts in the unit of every other of these fits, while the
 * search stands still (regions.c). Nothing is folded or cut. Predictions are converted back
 * to at least `low`, which is one range of all rewards below the worst. A fit is due at every reward up to a
 * hundred.
 *
 * Three steps make it robust. All three are ours; no paper has them.
 *
 * (1) offset and scale are the median and the interquartile range of the means of the arms; low is one range
 * below the lower quartile, high 20 ranges above the upper one (since revision 2 also at least 20 above the bounds of
 * the metric, which is how the model tells values beyond them from others). Values below low are folded. Without folding,
 * the worst points would swamp differences among the good ones; with clipping, there would be no differences
 * among the bad ones.
 *
 * (2) A reward is a suspect when the others make it nearly impossible (leave-one-out, z above 5.5). Suspects
 * are set aside if the data without them are likelier than all data, each with the hyper-parameters fitted to
 * it. Each suspect that is set aside counts as a draw from a broad distribution, which 2 % of rewards have. A
 * new peak that a shorter lengthscale explains therefore stays. The pulls of an arm so far are set aside; its
 * later pulls count, and every fit decides again. Warped rewards more than 20 ranges above the median are
 * always suspects, because a warp fitted to them might hide them. Since revision 3, the power of a fit to such
 * rewards may be as low as 0, the logarithm, so that a smooth function of many orders of magnitude is likelier
 * with them than without; a stray among rewards of one scale is an outlier of its logarithm, too. Since revision 2, a
 * repeat with the same reward
 * confirms an arm that is set aside, or would be: all its pulls count from then on. Since revision 4, the last
 * reward that keeps the bounds of a metric is not set aside: without it, the model would know nothing feasible.
 *
 * Equal rewards alone are infinitely likely. So since revision 4, if the quartiles are the same, rewards of an objective above
 * them are no suspects.
 *
 * A result may have a reported standard error e, which is that of its mean if it stands for several pulls. A
 * pull then has the variance tau + e^2, where tau is the noise that remains. A row of the fit has the pulls
 * of one arm and one size of error (told_errors.h). The model treats an arm as one pull with the mean of its
 * rows, weighted by their precision, and counts it nu times, where a pull of variance unit_noise counts once.
 * An error far below the others, perhaps reported in other units, would pin the surface down, so e^2 is at
 * least 1e-4 of its median.
 *
 * (3) A reward of an arm with earlier pulls counts as at most max(6 sqrt(tau), 3) scales away from the arm's
 * mean. */
#ifndef CORE_LEARNING_HYPERPARAMETERS_H
#define CORE_LEARNING_HYPERPARAMETERS_H

#include "bandit/engine.h"
#include "core/learning/warp.h"
#include "core/posterior/ledger.h"
#include "core/posterior/prior_mean.h"
#include "core/posterior/told_errors.h"

#include <math.h>

/* log_ei searches among the points of one word after such a number of results, modulo EVERY (word_search.h of
 * core/algorithms). It is odd, because a fit to an even number may have a fine unit; and the fit to it has the unit of
 * distinct regions (regions.c). */
enum { BANDIT_WORDS_EVERY = 4, BANDIT_WORDS_PLACE = 3 };

/* Which values the fits of a study learn, and those that are given. It does not change. */
typedef struct bandit_fit_settings {
    const bandit_arms *arms; /* borrowed */
    bandit_kernel_type kernel;
    double nu;
    bool learn_lengthscale, learn_noise, standardize, warp;
    bool better_half;    /* the unit of the warp may be that of the better half of the rewards */
    bool in_turn;        /* and every other fit may have a finer one */
    bool regions;        /* and one of four has that of distinct regions (regions.c) */
    bool explains_far;   /* a warp may explain rewards far above the others: step 2 */
    bool confirms;       /* an equal repeat ends that a reward is set aside: step 2 */
    bool all_exact;      /* of many arms, the newest and some others are fitted exactly (sample_arms.c) */
    bool two_ranges;     /* the kernel may have a part with a shorter range (two_ranges.c) */
    bool starts_in_turn; /* fits to one more reward try one of the starts beside the given one */
    bool spares_rare;    /* what is better than a value that most arms have is not set aside: step 2 */
    const double *lengthscales; /* as given: n_lengthscales; borrowed. NULL if they are learned */
    size_t n_lengthscales;      /* number of lengthscales of the fit */
    size_t *group;              /* for each feature, the index of its lengthscale; owned */
    double *extent;             /* n_lengthscales; owned */
    double highest_bound;       /* of the metric; −infinity: none */
    double low, high;           /* bounds of the metric that step 2 respects; −infinity, infinity: none */
    double noise_std;           /* as given, in the units of the rewards; used if noise is not learned */
    const bandit_sources *sources; /* borrowed; NULL: none */
} bandit_fit_settings;

/* The results of the last fit. Starts as {0}. */
typedef struct bandit_fitted {
    double offset, scale, low, high,
        range; /* low is −infinity if nothing is folded, high infinity if nothing is cut */
    bool warped;
    double power;               /* of the warp; 1 without a warp */
    double signal, noise, mean; /* s^2, tau, mu: of standardized rewards */
    double short_share;         /* of the kernel's part with a shorter range (bandit/kernel.h) */
    double unit_noise;    /* of a pull of weight 1: tau, or with reported errors the median of tau + e^2 */
    double least_error;   /* e^2 counts as at least this, in the units of the rewards */
    double *lengthscales; /* n_lengthscales; owned */
    size_t n_lengthscales;
    bandit_arm_sum
        *aside; /* n_aside: outliers, ascending by arm, and confirmed arms, with the count 0; owned */
    size_t n_aside;
    uint64_t fitted_on; /* number of rewards; 0: the values are the peak of the priors */
    /* The weight of each source, in standardized rewards: sum_i w_i m_i(x) is the prior mean. */
    double source_weights[BANDIT_MOST_SOURCES];
} bandit_fitted;

/* Errors: BANDIT_NO_MEMORY. `options` and `arms` are borrowed. */
bandit_status bandit_fit_settings_init(bandit_fit_settings *out, const bandit_options *options,
                                       const bandit_arms *arms, bandit_error *err);
void bandit_fit_settings_clear(bandit_fit_settings *settings);

/* Two rewards are the same if they differ by at most this. */
static inline double bandit_fitted_tolerance(const bandit_fitted *fitted)
{
    return 1e-10 * fitted->scale;
}

/* The peak of the priors, for a study without rewards. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_fitted_prior(bandit_fitted *out, const bandit_fit_settings *settings, bandit_error *err);
void bandit_fitted_clear(bandit_fitted *fitted);

/* What repeated evaluations show: the sum of squares of rewards about the means of their arms, and its degrees of
 * freedom. `agreed`: n_agreed arms, ascending, that newly have a second reward that is the same as the first. */
typedef struct bandit_repeated {
    double within, degrees;
    const uint32_t *agreed;
    size_t n_agreed;
} bandit_repeated;

/* Fits all rewards so far, at least one. `from` is the previous fit. The time is bounded: a fit uses at most 256 arms
 * exactly, or at most a thousand with 128 inducing points (of log_ei in an open space since revision 5: exactly, with some of
 * the arms; sample_arms.c). The result does not depend on the executor. Errors:
 * BANDIT_NO_MEMORY, BANDIT_NUMERICAL; *out is then empty. */
bandit_status bandit_refit(bandit_fitted *out, const bandit_fitted *from, const bandit_fit_settings *settings,
                           const bandit_ledger *ledger, const bandit_told_errors *errors,
                           const bandit_repeated *repeated, const bandit_executor *executor,
                           bandit_error *err);

/* The slope of bandit_fitted_fold at y: the factor by which it multiplies small differences. */
double bandit_fitted_slope(const bandit_fitted *fitted, double y);

/* The variance of a pull with this squared error (0: none was reported) and a reward of about y,
 * standardized. */
double bandit_fitted_variance(const bandit_fitted *fitted, double squared_error, double y);

/* The weight of such a pull (bandit_result.weight); 0, which stands for 1, while no errors are reported. */
float bandit_fitted_weight(const bandit_fitted *fitted, double squared_error, double y);

/* The pulls of an arm that the model counts, with their weighted mean: all except those set aside. In the units of
 * the rewards. If some are set aside, the others have the mean weight of all. `errors` may be NULL. */
bandit_arm_sum bandit_fitted_counted(const bandit_fitted *fitted, const bandit_arm_sum *sum,
                                     const bandit_told_errors *errors);

/* The prior mean in the units of the inner model, as of bandit_options.prior_mean; it borrows the sources,
 * and may only be used if there are some. */
bandit_prior_mean bandit_fitted_prior_mean(const bandit_fitted *fitted, const bandit_sources *sources);

/* Whether the mean of some rewards keeps these bounds. Sums of equal values are rounded, so ten digits count. */
static inline bool bandit_keeps_bounds(double mean, double low, double high)
{
    return (isinf(low) || mean >= low - 1e-10 * fabs(low)) &&
           (isinf(high) || mean <= high + 1e-10 * fabs(high));
}

/* Whether some source counts. */
static inline bool bandit_fitted_has_sources(const bandit_fitted *fitted)
{
    bool has = false;
    for (size_t i = 0; i < BANDIT_MOST_SOURCES; i++)
        has |= fitted->source_weights[i] != 0.0;
    return has;
}

/* Whether a fit is due at this number of rewards. It is due at the latest when the number has doubled; sooner
 * while fits are cheap, and for warped rewards at each reward while a fit is cheaper than a pick. With
 * settings->all_exact, each reward is among the newest of a fit. */
bool bandit_refit_is_due(const bandit_fit_settings *settings, const bandit_fitted *fitted,
                         uint64_t observations);

/* The argument of the warp: a reward in scales from the offset. The limit only keeps its powers finite. */
static inline double bandit_fitted_value(const bandit_fitted *fitted, double y)
{
    const double furthest = 1e9;
    return fmin(fmax((y - fitted->offset) / fitted->scale, -furthest), furthest);
}

/* A reward as the model uses it, before shift and unit; and the inverse. */
static inline double bandit_fitted_fold(const bandit_fitted *fitted, double y)
{
    if (fitted->warped)
        return fitted->offset + fitted->scale * bandit_warp(bandit_fitted_value(fitted, y), fitted->power);
    y = fmin(y, fitted->high);
    return y < fitted->low ? fitted->low - fitted->range * log1p((fitted->low - y) / fitted->range) : y;
}
static inline double bandit_fitted_unfold(const bandit_fitted *fitted, double y)
{
    const double furthest = 50.0; /* in ranges; no reward is that low */
    const double highest = 1e15;  /* in scales; the inverse of a logarithm would be infinite */
    if (fitted->warped)
        return fmax(fitted->low,
                    fitted->offset + fitted->scale * fmin(bandit_unwarp((y - fitted->offset) / fitted->scale,
                                                                        fitted->power),
                                                          highest));
    if (!(y < fitted->low))
        return y;
    return fitted->low - fitted->range * expm1(fmin((fitted->low - y) / fitted->range, furthest));
}

/* Bounds further away count as this far, in scales or quartile ranges, so that squares stay finite. */
#define BANDIT_FITTED_REACH 1e9

/* A bound as the model uses it: like a reward, but it is not cut at `high`, so that it differs from rewards that are. */
static inline double bandit_fitted_fold_bound(const bandit_fitted *fitted, double bound)
{
    double reach = BANDIT_FITTED_REACH * fitted->scale, furthest = fitted->offset + reach;
    if (isfinite(fitted->high))
        furthest = fmax(furthest, fitted->high);
    bound = fmax(fmin(bound, furthest), fitted->offset - reach);
    return !fitted->warped && bound > fitted->high ? bound : bandit_fitted_fold(fitted, bound);
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
