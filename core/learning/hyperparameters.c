#include "core/learning/hyperparameters.h"

#include "bandit/sorted.h"
#include "bandit/space.h"
#include "core/base/allocate.h"
#include "core/learning/fit_settings.h"
#include "core/learning/sample.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    INDUCING = 128,
    SPARSE_EVALUATIONS = 25,
    FEWEST_JUDGED = 10,   /* fewer arms have no outliers */
    FEWEST_REGIONS = 8,   /* fewer have no quartiles worth the name */
    FEWEST_FOR_TURNS = 16 /* with fewer rewards a fit takes little time */
};

/* ---- one fit ------------------------------------------------------------------------------------------- */

static void sample_clear(bandit_sample *s)
{
    free(s->takes);
    free(s->rows);
    free(s->confirmed);
    free(s->told);
    free(s->variance);
    free(s->offset);
    free(s->repeats);
    free(s->former);
    free(s->fixed.theta);
    free(s->value);
    free(s->count);
    free(s->points);
    free(s->gram);
    free(s->surprise);
    free(s->scratch);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lowest value to which predictions are converted back, for warped rewards from `worst` to `best`. It is
 * needed because the warp has no inverse below a bound. */
static double lowest_read(double worst, double best)
{
    double low = worst - (best - worst);
    return fmax(low < worst ? low : worst - fmax(1.0, fabs(worst)), -DBL_MAX);
}

/* The unit of the better half is at least this share of the interquartile range: half of the values may be equal. */
static const double LEAST_UNIT = 1e-3;

/* Sets out->offset to the median, and *low and *high to the quartiles, of n ascending rewards. */
static void set_quartiles(const double *sorted, size_t n, bandit_fitted *out, double *low, double *high)
{
    out->offset = bandit_sample_quantile(sorted, n, 0.5);
    *low = bandit_sample_quantile(sorted, n, 0.25);
    *high = bandit_sample_quantile(sorted, n, 0.75);
}

/* The same, of those that the unit is made of: all or, if the search stands still, those of distinct regions. */
static bandit_status measure(const bandit_sample *s, const double *sorted, size_t n_sorted,
                             const bandit_ledger *ledger, bandit_fitted *out, double *low, double *high,
                             bandit_error *err)
{
    size_t n = 0;
    set_quartiles(sorted, n_sorted, out, low, high);
    if (!out->warped || !bandit_sample_counts_regions(s->settings, ledger->observations) ||
        !bandit_ledger_stands_still(ledger))
        return BANDIT_OK;
    double *means = bandit_alloc(s->n, sizeof *means);
    if (!means)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bandit_sample_regions(s, out, means, &n, err);
    if (status == BANDIT_OK && n >= FEWEST_REGIONS)
        set_quartiles(means, n, out, low, high);
    free(means);
    return status;
}

/* Step 1 of hyperparameters.h, with n ascending means. */
static bandit_status set_scale(bandit_fitted *out, bandit_sample *s, const double *sorted, size_t n,
                               const bandit_ledger *ledger, bandit_error *err)
{
    double low, high;
    bandit_status status = measure(s, sorted, n, ledger, out, &low, &high, err);
    if (status != BANDIT_OK)
        return status;
    double range = high - low;
    out->low = -INFINITY;
    out->high = INFINITY;
    if (out->warped) {
        out->low = lowest_read(sorted[0], sorted[n - 1]);
    } else if (n >= 8 && range > 0.0) {
        out->low = low - range;
        out->high =
            fmax(high, fmin(s->settings->highest_bound, high + BANDIT_FITTED_REACH * range)) + 20.0 * range;
        out->range = range;
    }
    s->tied = high - low <= 1e-10 * fmax(fabs(low), fabs(high));
    out->scale = out->warped ? range : range / 1.349; /* the standard deviation, if normal */
    if (out->warped && s->settings->better_half)
        out->scale = fmin(range, fmax(2.0 * (high - out->offset), LEAST_UNIT * range));
    if (!(out->scale > 0.0))
        out->scale = 0.5 * (sorted[n - 1] - sorted[0]);
    double largest = fmax(fabs(sorted[0]), fabs(sorted[n - 1]));
    if (!(out->scale > 1e-9 * largest))
        out->scale = 1.0; /* all rewards are the same */
    return BANDIT_OK;
}

/* The sample has the newest arms above all, so if it is not of all arms, it does not say what the others are like. */
static bandit_status standardize(bandit_fitted *out, bandit_sample *s, const bandit_ledger *ledger,
                                 bandit_error *err)
{
    bool of_all = s->settings->all_exact && ledger->n > BANDIT_SAMPLE_EXACT;
    const bandit_arm_sum *from = of_all ? ledger->sums : s->rows;
    size_t n = of_all ? ledger->n : s->n;
    double *sorted = bandit_alloc(n, sizeof *sorted);
    if (!sorted)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n; i++)
        sorted[i] = bandit_sample_mean(&from[i]);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    bandit_status status = set_scale(out, s, sorted, n, ledger, err);
    free(sorted);
    return status;
}

static void push_row(bandit_sample *s, bandit_arm_sum row, double squared_error)
{
    s->told[s->n] = squared_error;
    s->rows[s->n++] = row;
}

/* The mean squared error of an arm's pulls, all of which are in `row`; 0 if none was reported. */
static double mean_error(const bandit_sample *s, double least_error, bandit_arm_sum row)
{
    size_t first, n = s->errors ? bandit_told_errors_of(s->errors, row.arm, &first) : 0;
    double variance = 0.0;
    for (size_t i = 0; i < n; i++)
        variance += s->errors->rows[first + i].variance / (double)row.count;
    return n > 0 ? fmax(variance, least_error) : 0.0;
}

/* Adds the rows of an arm: one for each size of reported errors, and one for pulls without an error. */
static void add_rows(bandit_sample *s, double least_error, bandit_arm_sum row)
{
    size_t first, n = s->errors ? bandit_told_errors_of(s->errors, row.arm, &first) : 0;
    for (size_t i = 0; i < n; i++) {
        const bandit_error_row *told = &s->errors->rows[first + i];
        double variance = fmax(bandit_error_of_row(told), least_error);
        push_row(s, (bandit_arm_sum){.arm = row.arm, .count = told->count, .sum = told->sum}, variance);
        if (told->results > 1)
            s->repeats[s->n_repeats++] = (bandit_fit_within){
                .squares = told->squares, .degrees = (double)(told->results - 1), .variance = variance};
        row.count -= told->count < row.count ? told->count : row.count;
        row.sum -= told->sum;
    }
    if (row.count > 0)
        push_row(s, row, 0.0);
}

/* The number of rows of reported errors of the sampled arms. */
static size_t told_rows(const bandit_sample *s, const bandit_ledger *ledger)
{
    size_t first, n = 0;
    for (size_t i = 0; s->errors && i < ledger->n; i++)
        n += s->takes[i] ? bandit_told_errors_of(s->errors, ledger->sums[i].arm, &first) : 0;
    return n;
}

/* Whether all pulls of an arm of which some were set aside (`was`) count, because the others had the same reward, or
 * because this was so before. */
static bool is_no_outlier(const bandit_sample *s, const bandit_fitted *from, const bandit_arm_sum *was,
                          const bandit_arm_sum *row)
{
    if (!s->settings->confirms || was->count == 0)
        return s->settings->confirms;
    double count = (double)(row->count - was->count);
    return row->count > was->count &&
           fabs((row->sum - was->sum) / count - bandit_sample_mean(was)) <= bandit_fitted_tolerance(from);
}

/* Collects the arms with a reward, with separate rows for the pulls set aside. If there are many arms, it
 * takes only some. */
static bandit_status sample_rows(bandit_sample *s, const bandit_fitted *from, double least_error,
                                 const bandit_ledger *ledger, bandit_error *err)
{
    size_t d = s->settings->arms->dimension, aside = 0;
    assert(ledger->n > 0);
    bandit_status status = bandit_sample_choose_arms(s, ledger, err);
    if (status != BANDIT_OK)
        return status;
    size_t most = from->n_aside + told_rows(s, ledger);
    for (size_t i = 0; i < ledger->n; i++)
        most += s->takes[i];
    s->rows = bandit_alloc(most, sizeof *s->rows);
    s->confirmed = bandit_alloc(from->n_aside + s->repeated->n_agreed, sizeof *s->confirmed);
    s->told = bandit_alloc(most, sizeof *s->told);
    s->variance = bandit_alloc(most, sizeof *s->variance);
    if (s->settings->sources)
        s->offset = bandit_alloc(most, sizeof *s->offset);
    s->repeats = bandit_alloc(s->errors ? s->errors->n : 0, sizeof *s->repeats);
    s->former = bandit_alloc(most, sizeof *s->former);
    s->fixed.theta = bandit_alloc(from->n_lengthscales + 3, sizeof *s->fixed.theta);
    s->value = bandit_alloc(most, sizeof *s->value);
    s->count = bandit_alloc(most, sizeof *s->count);
    s->surprise = bandit_alloc(most, sizeof *s->surprise);
    s->scratch = bandit_alloc(most, sizeof *s->scratch);
    s->points = bandit_alloc(most, d * sizeof *s->points);
    s->gram = bandit_alloc(s->settings->group ? 0 : most, most * sizeof *s->gram);
    if (!s->rows || !s->confirmed || (s->settings->sources && !s->offset) || !s->told || !s->variance ||
        !s->repeats || !s->former || !s->fixed.theta || !s->value || !s->count || !s->surprise ||
        !s->scratch || !s->points || !s->gram)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < ledger->n; i++) {
        bandit_arm_sum row = ledger->sums[i];
        while (aside < from->n_aside && from->aside[aside].arm < row.arm)
            aside++;
        bool is_aside = aside < from->n_aside && from->aside[aside].arm == row.arm;
        if (is_aside && is_no_outlier(s, from, &from->aside[aside], &row)) {
            s->confirmed[s->n_confirmed++] = (bandit_arm_sum){.arm = row.arm};
            push_row(s, row, mean_error(s, least_error, row));
        } else if (is_aside) {
            /* It is not known which pulls were set aside, so each has the mean error of all. */
            double error = mean_error(s, least_error, row);
            push_row(s, from->aside[aside], error);
            row.count -= from->aside[aside].count;
            row.sum -= from->aside[aside].sum;
            if (row.count > 0 && s->takes[i])
                push_row(s, row, error);
        } else if (row.count > 0 && s->takes[i]) {
            add_rows(s, least_error, row);
        }
    }
    s->n_kept = s->n;
    return BANDIT_OK;
}

/* The reported variance of a row's pulls, as in bandit_fit_data. With a warp, the fit itself multiplies it by
 * the square of the slope. */
static double told_variance(const bandit_fitted *l, const bandit_arm_sum *row, double squared_error)
{
    double error = sqrt(squared_error) / l->scale;
    if (!l->warped)
        error *= bandit_fitted_slope(l, bandit_sample_mean(row));
    return error * error;
}

/* The prior mean at an arm, in standardized rewards. */
static double prior_of(const bandit_sample *s, const bandit_fitted *l, uint32_t arm)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->settings->sources->n; i++)
        sum += l->source_weights[i] * bandit_source_value(s->settings->sources, i, arm);
    return sum;
}

bandit_fit_data bandit_sample_lay_out(bandit_sample *s, const bandit_fitted *l)
{
    const bandit_arms *arms = s->settings->arms;
    bandit_fit_data data = bandit_fit_settings_data(s->settings);
    size_t n = s->n_kept, d = arms->dimension;
    for (size_t i = 0; i < n; i++) {
        s->value[i] = bandit_sample_value(l, &s->rows[i]);
        s->count[i] = (double)s->rows[i].count;
        s->variance[i] = told_variance(l, &s->rows[i], s->told[i]);
        data.has_far |= s->settings->explains_far && s->value[i] > BANDIT_SAMPLE_FAR;
        for (size_t j = 0; j < d; j++)
            s->points[i * d + j] = bandit_arms_feature(arms, s->rows[i].arm, j);
        if (s->offset)
            s->offset[i] = prior_of(s, l, s->rows[i].arm);
    }
    for (size_t i = 0; i < n && !s->settings->group; i++) {
        for (size_t k = 0; k <= i; k++) {
            double entry = 0.0;
            if (s->settings->kernel == BANDIT_KERNEL_PRECOMPUTED)
                entry = arms->matrix[(size_t)s->rows[i].arm * arms->n + s->rows[k].arm];
            for (size_t j = 0; j < d; j++)
                entry += s->points[i * d + j] * s->points[k * d + j];
            s->gram[i * n + k] = s->gram[k * n + i] = entry;
        }
    }
    data.n = n;
    data.points = s->points;
    data.gram = s->settings->group ? NULL : s->gram;
    data.count = s->count;
    data.mean = s->value;
    data.offset = s->offset;
    if (s->errors) {
        data.variance = s->variance;
        data.told = s->repeats;
        data.n_told = s->n_repeats;
    }
    data.within = s->within;
    data.within_degrees = s->within_degrees;
    return data;
}

bandit_status bandit_sample_fit(bandit_sample *s, bandit_fitted *l, size_t evaluations,
                                bandit_fit_fixed *fixed, double *value, bandit_error *err)
{
    bandit_fit_data data = bandit_sample_lay_out(s, l);
    data.short_share = l->short_share;
    size_t most = s->settings->all_exact ? 2 * BANDIT_SAMPLE_EXACT
                                         : BANDIT_SAMPLE_EXACT; /* an arm may have several rows */
    bool exact = data.n <= most;
    bandit_fit_limits limits = {.max_inducing = exact ? data.n : INDUCING,
                                .max_evaluations = evaluations,
                                .other_start = s->other_start};
    bandit_hyperparameters h = bandit_fitted_hyperparameters(l);
    if (evaluations == 0) {
        data.learn_lengthscale = data.learn_signal = data.learn_noise = data.learn_power = false;
        limits.max_evaluations = 1;
    } else if (!exact && evaluations > SPARSE_EVALUATIONS) {
        limits.max_evaluations = SPARSE_EVALUATIONS;
    }
    if (!exact || data.warped || !data.learn_lengthscale || !data.learn_signal || !data.learn_noise)
        fixed = NULL;
    bandit_status status = bandit_fit(&data, &limits, &h, &h, value, s->surprise, fixed, s->executor, err);
    l->signal = h.signal;
    l->noise = h.noise;
    l->mean = h.mean;
    l->power = h.power;
    return status;
}

bandit_status bandit_sample_try(bandit_sample *s, bandit_fitted *l, bandit_fitted *other, double *best,
                                bandit_error *err)
{
    double value;
    bandit_status status = bandit_sample_fit(s, other, BANDIT_SAMPLE_EVALUATIONS, NULL, &value, err);
    if (status == BANDIT_OK && bandit_sample_density(s, value, other->scale) > *best) {
        double *lengthscales = l->lengthscales;
        *best = bandit_sample_density(s, value, other->scale);
        *l = *other;
        other->lengthscales = lengthscales;
    }
    return status;
}

bandit_status bandit_fitted_copy(bandit_fitted *out, const bandit_fitted *from, bandit_error *err)
{
    *out = *from;
    out->aside = NULL;
    out->n_aside = 0;
    out->lengthscales = bandit_alloc(from->n_lengthscales, sizeof *out->lengthscales);
    if (!out->lengthscales)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(out->lengthscales, from->lengthscales, from->n_lengthscales * sizeof *out->lengthscales);
    return BANDIT_OK;
}

/* The starts of fits take turns where each result makes a fit due: the given start, which is where the last fit ended, finds most of
 * the best ends. Ours. */
static size_t start_in_turn(const bandit_fit_settings *settings, uint64_t fitted_on, uint64_t observations)
{
    bool one_more = observations == fitted_on + 1 && observations >= FEWEST_FOR_TURNS;
    return settings->starts_in_turn && one_more ? 1 + observations % (BANDIT_FIT_STARTS - 1) : 0;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const bandit_arm_sum *x = a, *y = b;
    return (x->arm > y->arm) - (x->arm < y->arm);
}

static bandit_status keep_aside(const bandit_sample *s, bandit_fitted *out, bandit_error *err)
{
    size_t n_strays = s->n - s->n_kept, n = n_strays + s->n_confirmed;
    if (n == 0)
        return BANDIT_OK;
    out->aside = bandit_alloc(n, sizeof *out->aside);
    if (!out->aside)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(out->aside, s->rows + s->n_kept, n_strays * sizeof *out->aside);
    memcpy(out->aside + n_strays, s->confirmed, s->n_confirmed * sizeof *out->aside);
    qsort(out->aside, n, sizeof *out->aside, compare_rows);
    for (size_t i = 0; i < n; i++) { /* an arm may have been set aside both before and now */
        if (out->n_aside > 0 && out->aside[out->n_aside - 1].arm == out->aside[i].arm) {
            out->aside[out->n_aside - 1].count += out->aside[i].count;
            out->aside[out->n_aside - 1].sum += out->aside[i].sum;
        } else {
            out->aside[out->n_aside++] = out->aside[i];
        }
    }
    return BANDIT_OK;
}

bandit_status bandit_refit(bandit_fitted *out, const bandit_fitted *from, const bandit_fit_settings *settings,
                           const bandit_ledger *ledger, const bandit_told_errors *errors,
                           const bandit_repeated *repeated, const bandit_executor *executor,
                           bandit_error *err)
{
    bandit_sample s = {.settings = settings,
                       .executor = executor,
                       .errors = errors && errors->n > 0 ? errors : NULL,
                       .repeated = repeated,
                       .other_start = start_in_turn(settings, from->fitted_on, ledger->observations)};
    double all;
    bandit_status status = bandit_fitted_copy(out, from, err);
    out->least_error = 0.0;
    out->short_share = 0.0;
    memset(out->source_weights, 0, sizeof out->source_weights);
    if (status == BANDIT_OK && s.errors)
        status = bandit_fitted_set_least_error(out, s.errors, err);
    if (status == BANDIT_OK)
        status = sample_rows(&s, from, out->least_error, ledger, err);
    if (status != BANDIT_OK)
        goto out;
    if (settings->standardize)
        status = standardize(out, &s, ledger, err);
    if (status != BANDIT_OK)
        goto out;
    if (!settings->learn_noise)
        out->noise = bandit_fit_given_noise(settings, out->scale);
    s.within =
        repeated->within / out->scale / out->scale; /* the square of a scale may overflow, so divide twice */
    s.within_degrees = repeated->degrees;
    for (size_t i = 0; i < s.n_repeats; i++) {
        s.repeats[i].squares = s.repeats[i].squares / out->scale / out->scale;
        s.repeats[i].variance = s.repeats[i].variance / out->scale / out->scale;
    }
    status = bandit_sample_fit(&s, out, BANDIT_SAMPLE_EVALUATIONS, NULL, &all, err);
    if (status == BANDIT_OK && settings->sources)
        status = bandit_sample_learn_sources(&s, out, &all, err);
    bool same_unit = !bandit_sample_may_be_finer(settings, from->fitted_on) &&
                     bandit_sample_counts_regions(settings, from->fitted_on) ==
                         bandit_sample_counts_regions(settings, ledger->observations);
    if (status == BANDIT_OK && settings->standardize && s.n >= FEWEST_JUDGED)
        status = bandit_sample_judge(&s, out, same_unit && from->fitted_on >= FEWEST_JUDGED ? from : out, all,
                                     err);
    if (status == BANDIT_OK)
        status = bandit_sample_refine(&s, out, ledger->observations, err);
    if (status == BANDIT_OK)
        status = bandit_sample_try_ranges(&s, out, from->fitted_on, ledger->observations, err);
    out->fitted_on = ledger->observations;
    if (!settings->learn_noise)
        out->noise = bandit_fit_given_noise(settings, out->scale);
    out->unit_noise = out->noise;
    if (status == BANDIT_OK && s.errors)
        status = bandit_fitted_set_unit_noise(out, ledger, s.errors, err);
    if (status == BANDIT_OK)
        status = keep_aside(&s, out, err);
out:
    sample_clear(&s);
    if (status != BANDIT_OK)
        bandit_fitted_clear(out);
    return status;
}
