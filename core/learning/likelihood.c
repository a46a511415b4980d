#include "core/learning/likelihood.h"

#include "core/base/allocate.h"
#include "core/learning/likelihood_parts.h"
#include "core/learning/warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t bandit_likelihood_size(const bandit_fit_data *data)
{
    return data->n_lengthscales + (data->warped ? 3 : 2);
}

/* ---- priors -------------------------------------------------------------------------------------------- */

/* A log-normal prior: where the density of the logarithm peaks, and its standard deviation. The peak of a
 * lengthscale grows with the square root of the dimension, as the distances between points do. */
typedef struct prior {
    double peak, deviation;
} prior;

/* Priors for finding the best point soon. They are weak where data are few, so that about ten rewards suffice
 * to learn long lengthscales, large amplitudes or the absence of noise. The power itself, not its logarithm,
 * is normal about the identity. */
static prior warped_prior_of(const bandit_fit_data *data, size_t entry)
{
    if (entry < data->n_lengthscales)
        return (prior){log(0.23 * sqrt((double)data->dimension) * data->extent[entry]), 1.0};
    if (entry == data->n_lengthscales)
        return (prior){0.0, 3.0};
    return entry == data->n_lengthscales + 1 ? (prior){-9.0, 3.0} : (prior){1.0, 1.0};
}

static prior prior_of(const bandit_fit_data *data, size_t entry)
{
    if (data->warped)
        return warped_prior_of(data, entry);
    if (entry < data->n_lengthscales)
        return (prior){log(0.35 * sqrt((double)data->dimension) * data->extent[entry]), 1.2};
    if (entry == data->n_lengthscales)
        return (prior){0.0, 1.0};
    return (prior){log(3e-3), 2.0};
}

double bandit_likelihood_prior(const bandit_fit_data *data, const double *theta, double *gradient)
{
    double value = 0.0;
    for (size_t i = 0; i < bandit_likelihood_size(data); i++) {
        prior p = prior_of(data, i);
        if (i == data->n_lengthscales && bandit_likelihood_profiles(data))
            continue;
        double z = (theta[i] - p.peak) / p.deviation;
        value -= 0.5 * z * z;
        if (gradient)
            gradient[i] -= z / p.deviation;
    }
    return value;
}

void bandit_fit_prior(const bandit_fit_data *data, bandit_hyperparameters *out)
{
    size_t n = data->n_lengthscales;
    for (size_t i = 0; i < n && data->learn_lengthscale; i++)
        out->lengthscales[i] = exp(prior_of(data, i).peak);
    if (data->learn_signal)
        out->signal = exp(prior_of(data, n).peak);
    if (data->learn_noise)
        out->noise = exp(prior_of(data, n + 1).peak);
    out->mean = 0.0;
    out->power = 1.0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

void bandit_likelihood_clear(bandit_likelihood *o)
{
    void *const parts[] = {o->inducing, o->scaled,   o->scaled_inducing, o->centre,       o->point,
                           o->cross,    o->slope,    o->square,          o->square_slope, o->factor,
                           o->inverse,  o->gradient, o->solved,          o->alpha,        o->ones,
                           o->right,    o->sums,     o->product,         o->values,       o->by_power,
                           o->noise,    o->weight};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
    *o = (bandit_likelihood){0};
}

static double *reals(size_t rows, size_t columns)
{
    return bandit_alloc(rows, columns * sizeof(double));
}

static double *zeros(size_t rows, size_t columns)
{
    return bandit_alloc_zeroed(rows, columns * sizeof(double));
}

static bool allocate(bandit_likelihood *o)
{
    size_t n = o->data->n, d = o->data->dimension, m = o->m, widest = n > m ? n : m;
    size_t sparse = o->exact ? 0 : 1;
    o->inducing = bandit_alloc(m, sizeof *o->inducing);
    o->scaled = zeros(bandit_whole_tiles(n), d); /* the last tile's padding must be finite */
    o->scaled_inducing = zeros(sparse * bandit_whole_tiles(m), d);
    o->centre = reals(1, d);
    o->point = reals(1, d);
    o->cross = reals(m, n);
    o->slope = reals(m, n);
    o->square = reals(m * sparse, m);
    o->square_slope = reals(m * sparse, m);
    o->factor = reals(m, m);
    o->inverse = reals(m * sparse, m);
    o->gradient = reals(m, m);
    o->solved = reals(m * sparse, n);
    o->alpha = reals(1, widest);
    o->ones = reals(1, widest);
    o->right = reals(1, widest);
    o->sums = reals(1, m + n);
    o->product = reals(widest, d + 1);
    o->values = reals(1, n);
    o->by_power = reals(1, o->data->warped ? n : 0);
    o->noise = reals(1, o->data->variance ? n : 0);
    o->weight = reals(1, o->data->variance ? n : 0);
    return o->inducing && o->scaled && o->scaled_inducing && o->centre && o->point && o->cross && o->slope &&
           o->square && o->square_slope && o->factor && o->inverse && o->gradient && o->solved && o->alpha &&
           o->ones && o->right && o->sums && o->product && o->values && o->by_power && o->noise && o->weight;
}

static double offset_of(const bandit_fit_data *data, size_t i)
{
    return data->offset ? data->offset[i] : 0.0;
}

bandit_status bandit_likelihood_init(bandit_likelihood *out, const bandit_fit_data *data, size_t max_inducing,
                                     const double *lengthscales, bandit_error *err)
{
    *out = (bandit_likelihood){.data = data, .simd = bandit_simd_best(), .exact = data->n <= max_inducing};
    out->m = out->exact ? data->n : max_inducing;
    if (!allocate(out)) {
        bandit_likelihood_clear(out);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; i < data->n; i++)
        out->values[i] = data->mean[i] - offset_of(data, i);
    out->count = data->variance ? out->weight : data->count;
    for (size_t j = 0; j < data->dimension; j++) {
        out->centre[j] = 0.0;
        for (size_t i = 0; i < data->n; i++)
            out->centre[j] += data->points[i * data->dimension + j] / (double)data->n;
    }
    if (!out->exact)
        bandit_likelihood_choose_inducing(out, lengthscales);
    return BANDIT_OK;
}

/* ---- evaluation ---------------------------------------------------------------------------------------- */

double bandit_likelihood_profile(bandit_likelihood *o, double quadratic, double *value)
{
    const double least = 1e-6;
    double n = (double)o->data->n + o->data->within_degrees;
    *value = 0.0;
    if (!bandit_likelihood_profiles(o->data))
        return 1.0;
    double signal = fmax(quadratic / n, least);
    o->root = sqrt(signal);
    o->within /= signal;
    *value = -0.5 * n * log(signal);
    return 1.0 / o->root;
}

/* Sets o->values and their derivatives at this power. Returns the sum of the log slopes, and adds its
 * derivative to the gradient. */
static double warp_values(bandit_likelihood *o, double power, double *gradient)
{
    const bandit_fit_data *data = o->data;
    double log_slopes = 0.0;
    for (size_t i = 0; i < data->n; i++) {
        double v = data->mean[i];
        o->values[i] = bandit_warp(v, power) - offset_of(data, i);
        o->by_power[i] = gradient ? bandit_warp_by_power(v, power) : 0.0;
        log_slopes += bandit_warp_log_slope(v, power);
        if (gradient)
            gradient[data->n_lengthscales + 2] += bandit_warp_log_slope_by_power(v);
    }
    return log_slopes;
}

/* Sets the variances of the means, and the counts that stand for them, under tau and at this power. */
static void add_told_variances(bandit_likelihood *o, double noise, double power)
{
    const bandit_fit_data *data = o->data;
    for (size_t i = 0; i < data->n && data->variance; i++) {
        double slope = data->warped ? exp(bandit_warp_log_slope(data->mean[i], power)) : 1.0;
        o->noise[i] = (noise + data->variance[i] * slope * slope) / data->count[i];
        o->weight[i] = noise / o->noise[i];
    }
}

/* The part of the value from squares with reported variances; adds its slope in log tau to the gradient. */
static double told_within(const bandit_fit_data *data, double noise, double *gradient)
{
    double value = 0.0;
    for (size_t i = 0; i < data->n_told; i++) {
        const bandit_fit_within *w = &data->told[i];
        double variance = noise + w->variance;
        value -= 0.5 * (w->degrees * (BANDIT_LOG_TWO_PI + log(variance)) + w->squares / variance);
        if (gradient)
            gradient[data->n_lengthscales + 1] -=
                0.5 * noise / variance * (w->degrees - w->squares / variance);
    }
    return value;
}

bool bandit_likelihood_evaluate(bandit_likelihood *o, const double *theta, double *value, double *gradient)
{
    const bandit_fit_data *data = o->data;
    size_t p = data->n_lengthscales;
    double signal = bandit_likelihood_profiles(data) ? 1.0 : exp(theta[p]), noise = exp(theta[p + 1]);
    *value = -INFINITY;
    if (gradient)
        memset(gradient, 0, bandit_likelihood_size(data) * sizeof *gradient);
    o->within = data->within;
    o->root = 1.0;
    double log_slopes = data->warped ? warp_values(o, theta[p + 2], gradient) : 0.0;
    if (data->dimension > 0) {
        for (size_t i = 0; i < p; i++)
            o->product[i] = exp(theta[i]);
        bandit_likelihood_scale(o, o->product);
        if (!o->exact)
            bandit_likelihood_scale_inducing(o);
    }
    add_told_variances(o, noise, data->warped ? theta[p + 2] : 1.0);
    double bound = -INFINITY;
    if (!(o->exact ? bandit_likelihood_exact_value(o, signal, noise, &bound)
                   : bandit_likelihood_sparse_value(o, signal, noise, &bound)))
        return false;
    if (gradient && !(o->exact ? bandit_likelihood_exact_gradient(o, noise, gradient)
                               : bandit_likelihood_sparse_gradient(o, signal, noise, gradient)))
        return false;
    *value = bound + bandit_likelihood_prior(data, theta, gradient) + log_slopes;
    if (data->n_told > 0)
        *value += told_within(data, noise, gradient);
    return isfinite(*value);
}

bool bandit_likelihood_surprise(bandit_likelihood *o, const double *theta, double *value, double *out)
{
    size_t p = o->data->n_lengthscales;
    if (!bandit_likelihood_evaluate(o, theta, value, NULL))
        return false;
    return o->exact
               ? bandit_likelihood_exact_surprise(o, out)
               : bandit_likelihood_sparse_surprise(
                     o, bandit_likelihood_profiles(o->data) ? 1.0 : exp(theta[p]), exp(theta[p + 1]), out);
}
