/* The rewards of one fit, shared by hyperparameters.c, which collects and fits them, sample_sources.c, which
 * learns the weights of earlier studies, sample_arms.c, outliers.c, finer_unit.c, two_ranges.c and regions.c. */
#ifndef CORE_LEARNING_SAMPLE_H
#define CORE_LEARNING_SAMPLE_H

#include "bandit/fit.h"
#include "core/learning/hyperparameters.h"

enum {
    BANDIT_SAMPLE_EXACT = 256,      /* up to this many arms are fitted exactly */
    BANDIT_SAMPLE_NEWEST = 128,     /* of more arms, with all_exact, so many of the newest */
    BANDIT_SAMPLE_EVALUATIONS = 60, /* of the objective, in an exact fit */
    BANDIT_SAMPLE_FAR = 20          /* rewards to warp that are further above the median are far, in scales */
};

/* The rewards of a fit. A row has the pulls of one arm that are used, or those that are set aside. */
typedef struct bandit_sample {
    const bandit_fit_settings *settings;
    const bandit_executor *executor;
    bool *takes; /* for each arm of the ledger, whether its rows are in the sample */
    size_t n;
    bandit_arm_sum *rows; /* n: as reported; the rows that are kept come first, then those set aside */
    size_t n_kept;
    bool tied; /* the quartiles of the rows' rewards are the same */
    bandit_arm_sum
        *confirmed; /* n_confirmed: arms that are not set aside again, ascending; their counts are 0 */
    size_t n_confirmed;
    double *told;           /* n: squared error of a pull, in the units of the rewards; 0: none was
                               reported */
    bandit_arm_sum *former; /* n_former: the rows that the previous fit in judge kept */
    size_t n_former;
    bandit_fit_fixed fixed; /* the results of that fit that can be used again */
    double *value;          /* n: standardized means */
    double *count;          /* n */
    double *points;         /* n x dimension */
    double *gram; /* n x n if the kernel has no lengthscales; leading dimension n_kept while fitting */
    double *surprise, *scratch;    /* n */
    double within, within_degrees; /* squares within arms, standardized; degrees of freedom */
    double *variance;              /* n: as bandit_fit_data.variance */
    double *offset; /* n: the prior mean of studies that learn from others; NULL without sources */
    bandit_fit_within *repeats; /* n_repeats: within the rows that have reported errors */
    size_t n_repeats;
    const bandit_told_errors *errors; /* NULL: none were reported */
    const bandit_repeated *repeated;
    size_t other_start; /* of its fits, as in bandit_fit_limits */
} bandit_sample;

static inline double bandit_sample_mean(const bandit_arm_sum *row)
{
    return row->sum / (double)row->count;
}

/* A row's mean, in scales from the offset: folded or, if rewards are warped, before the warp. */
static inline double bandit_sample_value(const bandit_fitted *l, const bandit_arm_sum *row)
{
    double y = bandit_sample_mean(row);
    return l->warped ? bandit_fitted_value(l, y) : (bandit_fitted_fold(l, y) - l->offset) / l->scale;
}

/* Sets s->takes: all arms, or some of many (sample_arms.c). Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_sample_choose_arms(bandit_sample *s, const bandit_ledger *ledger, bandit_error *err);

/* Prepares values, counts and points of the kept rows for the fit. */
bandit_fit_data bandit_sample_lay_out(bandit_sample *s, const bandit_fitted *l);

/* Fits the kept rows, starting from *l; *value: the objective. With `evaluations` 0 it only computes the
 * surprise at *l. `fixed`: reusable results for these rows, or NULL. */
bandit_status bandit_sample_fit(bandit_sample *s, bandit_fitted *l, size_t evaluations,
                                bandit_fit_fixed *fixed, double *value, bandit_error *err);

/* The log density of the kept rows under a fit with this value and unit, up to a constant that depends on neither. */
static inline double bandit_sample_density(const bandit_sample *s, double value, double unit)
{
    return value - (double)s->n_kept * log(unit);
}

/* Fits the kept rows, starting from *other. *l becomes that fit if its density is above *best, which then is that
 * density; *other must be cleared either way. Neither has rewards set aside. */
bandit_status bandit_sample_try(bandit_sample *s, bandit_fitted *l, bandit_fitted *other, double *best,
                                bandit_error *err);

/* A copy without the rewards set aside. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_fitted_copy(bandit_fitted *out, const bandit_fitted *from, bandit_error *err);

/* *l is the fit to all rows, with value `all`. It becomes the fit without the suspects if that is likelier, and these
 * rows are no longer kept. `before`: hyper-parameters that do not depend on the newest rewards. */
bandit_status bandit_sample_judge(bandit_sample *s, bandit_fitted *l, const bandit_fitted *before, double all,
                                  bandit_error *err);

/* *l is a fit without sources, with value *value. It becomes the likeliest of this fit and of fits with
 * sources. */
bandit_status bandit_sample_learn_sources(bandit_sample *s, bandit_fitted *l, double *value,
                                          bandit_error *err);

/* The quantile of n >= 1 ascending values, interpolated. */
double bandit_sample_quantile(const double *sorted, size_t n, double q);

/* Whether a fit to this many rewards has the unit of distinct regions, if the search stands still. It has no finer
 * one. */
bool bandit_sample_counts_regions(const bandit_fit_settings *settings, uint64_t observations);

/* Sets means[0 … *n) to the best mean of each region, ascending; there is memory for s->n. A row is in the region of
 * the best row that is near it by the lengthscales of *l. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_sample_regions(const bandit_sample *s, const bandit_fitted *l, double *means, size_t *n,
                                    bandit_error *err);

/* Whether a fit to this many rewards may have a finer unit. */
bool bandit_sample_may_be_finer(const bandit_fit_settings *settings, uint64_t observations);

/* Fits the kept rows in finer units, if this fit may have one, and gives *l the unit with which they are likeliest. */
bandit_status bandit_sample_refine(bandit_sample *s, bandit_fitted *l, uint64_t observations,
                                   bandit_error *err);

/* Fits the kept rows with kernels of two ranges, if this fit may have one, and gives *l the one with which they are
 * likeliest. fitted_on: rewards of the previous fit. */
bandit_status bandit_sample_try_ranges(bandit_sample *s, bandit_fitted *l, uint64_t fitted_on,
                                       uint64_t observations, bandit_error *err);

#endif
