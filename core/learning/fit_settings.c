/* The settings of a study's fits: which values are learned and which are given, the peak of the priors, and
 * when a fit is due. */
#include "core/learning/fit_settings.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/learning/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LENGTHSCALES = 100, /* with more, one lengthscale for all features */
    EACH_TIME = 100          /* warped rewards: up to this many, each new one makes a fit due */
};

/* sqrt(12) standard deviations, which is the range of a uniform feature; 1 for a constant feature. */
static double extent_of(const bandit_arms *arms, size_t j)
{
    double mean = 0.0, squares = 0.0;
    for (size_t a = 0; a < arms->n; a++) {
        bandit_pause_at(a);
        mean += bandit_arms_feature(arms, a, j) / (double)arms->n;
    }
    for (size_t a = 0; a < arms->n; a++) {
        bandit_pause_at(a);
        double e = bandit_arms_feature(arms, a, j) - mean;
        squares += e * e / (double)arms->n;
    }
    return squares > 0.0 && isfinite(squares) ? sqrt(12.0 * squares) : 1.0;
}

/* The number of features that the prior counts; the peaks of all lengthscales grow with it. Words that are
 * not one-hot count as much as one-hot words that are as far apart. *only_one_hot: there are no others. */
static size_t counted_features(const bandit_arms *arms, bool *only_one_hot)
{
    const size_t as_many =
        6; /* the mean squared distance of numbers in [0, 1] is 1/6, that of words about 1 */
    size_t counted = arms->dimension;
    *only_one_hot = true;
    for (size_t i = 0; arms->space && i < arms->space->n; i++) {
        const bandit_place *place = &arms->space->places[i];
        if (bandit_words_are_one_hot(&place->words))
            continue;
        *only_one_hot = false;
        counted = counted - place->n + as_many;
    }
    return counted;
}

/* Assigns lengthscales: one per feature, or per parameter of a space; or one for all. */
static void group_features(bandit_fit_settings *l, size_t n_given)
{
    const bandit_arms *arms = l->arms;
    bool only_one_hot;
    size_t d = arms->dimension, counted = counted_features(arms, &only_one_hot);
    size_t many = only_one_hot ? d : arms->space->n;
    bool single = l->learn_lengthscale ? many > MOST_LENGTHSCALES : n_given == 1;
    l->n_lengthscales = 0;
    for (size_t j = 0; j < d; j++) {
        l->group[j] = single ? 0 : j;
        if (l->learn_lengthscale && !single && arms->space)
            l->group[j] = bandit_arms_feature_parameter(arms, j);
        if (l->group[j] >= l->n_lengthscales)
            l->n_lengthscales = l->group[j] + 1;
    }
    for (size_t g = 0; g < l->n_lengthscales; g++)
        l->extent[g] = only_one_hot ? 1.0 : sqrt((double)counted / (double)d);
    for (size_t j = 0; j < d && !arms->space; j++)
        l->extent[l->group[j]] =
            single && j > 0 ? fmax(l->extent[0], extent_of(arms, j)) : extent_of(arms, j);
}

/* The first revision in which the bounds of a metric decide what is set aside. */
enum { BOUNDS_DECIDE = 4 };

static double highest_bound(const bandit_metric *metric)
{
    if (!metric)
        return -INFINITY;
    return metric->high < INFINITY ? metric->high : metric->low < INFINITY ? metric->low : -INFINITY;
}

/* Without words there is nothing to gain: numbers alone were searched as well with the unit of all rewards. */
static bool counts_regions(const bandit_options *options, const bandit_arms *arms)
{
    bool has = false;
    for (size_t i = 0; bandit_arms_is_open_space(arms) && i < arms->space->n; i++)
        has |= bandit_has_plain_words(arms->space, i) && !arms->space->parameters[i].context;
    return has && options->revision >= 4 && !options->metric && options->warp_unit == BANDIT_WARP_IN_TURN;
}

static bool has_lengthscales(const bandit_kernel *kernel)
{
    return kernel->type == BANDIT_KERNEL_GAUSSIAN || kernel->type == BANDIT_KERNEL_MATERN;
}

/* Studies that learn from earlier ones keep one range, because two were not measured with them. */
static bool may_have_two_ranges(const bandit_options *options, const bandit_arms *arms)
{
    return options->revision >= 7 && options->algorithm == BANDIT_LOG_EI && options->learn_lengthscale &&
           options->n_sources == 0 && bandit_arms_is_open_space(arms) && options->standardize_rewards &&
           options->warp_rewards && has_lengthscales(&options->kernel);
}

/* Studies with several metrics keep all starts, because they were not measured with fewer. */
static bool may_take_turns(const bandit_options *options, const bandit_arms *arms)
{
    return options->revision >= 10 && !options->metric && may_have_two_ranges(options, arms);
}

bandit_status bandit_fit_settings_init(bandit_fit_settings *out, const bandit_options *options,
                                       const bandit_arms *arms, bandit_error *err)
{
    size_t d = arms->dimension;
    const bandit_metric *bounds = options->revision >= BOUNDS_DECIDE ? options->metric : NULL;
    *out = (bandit_fit_settings){
        .arms = arms,
        .kernel = options->kernel.type,
        .nu = options->kernel.nu,
        .learn_lengthscale = options->learn_lengthscale,
        .learn_noise = options->learn_noise,
        .standardize = options->standardize_rewards,
        .warp = options->standardize_rewards && options->warp_rewards,
        .better_half = options->warp_unit != BANDIT_WARP_QUARTILES && bandit_arms_is_open_space(arms),
        .in_turn = options->warp_unit == BANDIT_WARP_IN_TURN && bandit_arms_is_open_space(arms),
        .regions = counts_regions(options, arms),
        .explains_far = options->revision >= 3,
        .confirms = options->revision >= 2,
        .all_exact =
            options->revision >= 5 && options->algorithm == BANDIT_LOG_EI && bandit_arms_is_open_space(arms),
        .two_ranges = may_have_two_ranges(options, arms),
        .starts_in_turn = may_take_turns(options, arms),
        .spares_rare = options->revision >= 4 && (!options->metric || options->metric->objective),
        .highest_bound = highest_bound(options->metric),
        .low = bounds ? bounds->low : -INFINITY,
        .high = bounds ? bounds->high : INFINITY,
        .noise_std = options->noise_std};
    if (!has_lengthscales(&options->kernel))
        return BANDIT_OK;
    out->group = bandit_alloc(d, sizeof *out->group);
    out->extent = bandit_alloc(d, sizeof *out->extent);
    if (!out->group || !out->extent) {
        bandit_fit_settings_clear(out);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    if (!out->learn_lengthscale)
        out->lengthscales = options->kernel.lengthscales;
    group_features(out, options->kernel.n_lengthscales);
    return BANDIT_OK;
}

void bandit_fit_settings_clear(bandit_fit_settings *l)
{
    free(l->group);
    free(l->extent);
    *l = (bandit_fit_settings){0};
}

void bandit_fitted_clear(bandit_fitted *l)
{
    free(l->lengthscales);
    free(l->aside);
    *l = (bandit_fitted){0};
}

bandit_fit_data bandit_fit_settings_data(const bandit_fit_settings *settings)
{
    return (bandit_fit_data){.kernel = settings->kernel,
                             .nu = settings->nu,
                             .group = settings->group,
                             .extent = settings->extent,
                             .n_lengthscales = settings->n_lengthscales,
                             .dimension = settings->group ? settings->arms->dimension : 0,
                             .learn_lengthscale = settings->learn_lengthscale,
                             .learn_signal = settings->standardize,
                             .learn_noise = settings->learn_noise,
                             .has_mean = settings->standardize,
                             .warped = settings->warp,
                             .learn_power = settings->warp};
}

bandit_prior_mean bandit_fitted_prior_mean(const bandit_fitted *l, const bandit_sources *sources)
{
    bandit_prior_mean prior = {.sources = sources};
    for (size_t i = 0; i < sources->n; i++)
        prior.weights[i] = l->source_weights[i] / sqrt(l->signal);
    return prior;
}

bandit_hyperparameters bandit_fitted_hyperparameters(const bandit_fitted *l)
{
    return (bandit_hyperparameters){.lengthscales = l->lengthscales,
                                    .signal = l->signal,
                                    .noise = l->noise,
                                    .mean = l->mean,
                                    .power = l->power};
}

double bandit_fit_given_noise(const bandit_fit_settings *settings, double scale)
{
    double noise = settings->noise_std / scale;
    return fmax(noise * noise, 1e-8);
}

bandit_status bandit_fitted_prior(bandit_fitted *out, const bandit_fit_settings *settings, bandit_error *err)
{
    *out = (bandit_fitted){.scale = 1.0,
                           .low = -INFINITY,
                           .high = INFINITY,
                           .range = 1.0,
                           .warped = settings->warp,
                           .power = 1.0,
                           .signal = 1.0,
                           .noise = bandit_fit_given_noise(settings, 1.0),
                           .n_lengthscales = settings->n_lengthscales};
    out->lengthscales = bandit_alloc(settings->n_lengthscales, sizeof *out->lengthscales);
    if (!out->lengthscales)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (settings->lengthscales)
        memcpy(out->lengthscales, settings->lengthscales,
               settings->n_lengthscales * sizeof *out->lengthscales);
    bandit_fit_data data = bandit_fit_settings_data(settings);
    bandit_hyperparameters peak = bandit_fitted_hyperparameters(out);
    bandit_fit_prior(&data, &peak);
    out->signal = peak.signal;
    out->noise = out->unit_noise = peak.noise;
    return BANDIT_OK;
}

bool bandit_refit_is_due(const bandit_fit_settings *settings, const bandit_fitted *fitted,
                         uint64_t observations)
{
    uint64_t t = fitted->fitted_on;
    if (fitted->warped && t < EACH_TIME)
        return observations > t;
    if (settings->all_exact && t >= BANDIT_SAMPLE_EXACT)
        return observations >= t + BANDIT_SAMPLE_NEWEST;
    uint64_t next = t < 8 ? t + 1 : t < 256 ? t + t / 6 : t < 1024 ? t + t / 2 : 2 * t;
    return observations >= next;
}
