/* The weights of earlier studies in a fit. They are learned in turn with the hyper-parameters: weights under
 * the fit without sources, a fit with these weights, weights under that fit, and once more. The fit with the
 * largest evidence, in which the weights are integrated out (source_weights.h), is used; it may be the one
 * without sources. Ours. */
#include "core/learning/sample.h"

#include "core/base/allocate.h"
#include "core/learning/fit_settings.h"
#include "core/learning/source_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The log evidence that sources that contradict each other must add in order to count. */
static const double LEAST_GAIN = 0.5;

/* The weights of the sources that are best under *l, for the kept rows; see source_weights.h. */
static bandit_status weigh(bandit_sample *s, bandit_fitted *l, double *gain, bandit_error *err)
{
    const bandit_sources *sources = s->settings->sources;
    memset(l->source_weights, 0, sizeof l->source_weights);
    bandit_fit_data data = bandit_sample_lay_out(s, l);
    size_t n = data.n;
    double *z = bandit_alloc(n, sizeof *z), *values = bandit_alloc(n, sources->n * sizeof *values);
    double *noise = bandit_alloc(n, sizeof *noise);
    bandit_status status = BANDIT_OK;
    if (!z || !values || !noise)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n && status == BANDIT_OK; i++) {
        double slope = data.warped ? exp(bandit_warp_log_slope(s->value[i], l->power)) : 1.0;
        z[i] = data.warped ? bandit_warp(s->value[i], l->power) : s->value[i];
        noise[i] = (l->noise + (data.variance ? s->variance[i] * slope * slope : 0.0)) / s->count[i];
        for (size_t k = 0; k < sources->n; k++)
            values[k * n + i] = bandit_source_value(sources, k, s->rows[i].arm);
    }
    bandit_hyperparameters h = bandit_fitted_hyperparameters(l);
    if (status == BANDIT_OK)
        status = bandit_source_weights(&data, &h, z, noise, values, sources->n, l->source_weights, gain, err);
    free(z);
    free(values);
    free(noise);
    return status;
}

/* Fits with the weights of *l, weighs the sources again under that fit, and computes the evidence of the result. */
static bandit_status fit_weighed(bandit_sample *s, bandit_fitted *l, double *evidence, bandit_error *err)
{
    double gain = 0.0;
    bandit_status status = bandit_sample_fit(s, l, BANDIT_SAMPLE_EVALUATIONS, NULL, evidence, err);
    if (status == BANDIT_OK)
        status = weigh(s, l, &gain, err);
    bandit_fitted plain = *l; /* shares the lengthscales, which do not change here */
    memset(plain.source_weights, 0, sizeof plain.source_weights);
    if (status == BANDIT_OK)
        status = bandit_sample_fit(s, &plain, 0, NULL, evidence, err);
    *evidence += gain;
    return status;
}

bandit_status bandit_sample_learn_sources(bandit_sample *s, bandit_fitted *l, double *value,
                                          bandit_error *err)
{
    enum { ROUNDS = 2 };
    bandit_fitted best = {0}, now = {0};
    double most, gain, evidence;
    double margin = s->settings->sources->contradict ? LEAST_GAIN : 0.0; /* for the first fit with sources */
    bandit_status status = bandit_fitted_copy(&best, l, err);
    if (status == BANDIT_OK)
        status = bandit_fitted_copy(&now, l, err);
    if (status == BANDIT_OK)
        status = bandit_sample_fit(s, &now, 0, NULL, &most, err);
    if (status == BANDIT_OK)
        status = weigh(s, &now, &gain, err);
    for (int round = 0; round < ROUNDS && status == BANDIT_OK; round++) {
        status = fit_weighed(s, &now, &evidence, err);
        if (status != BANDIT_OK || !(evidence > most + margin))
            continue;
        most = evidence;
        margin = 0.0;
        bandit_fitted_clear(&best);
        status = bandit_fitted_copy(&best, &now, err);
    }
    if (status == BANDIT_OK && bandit_fitted_has_sources(&best)) {
        bandit_fitted_clear(l);
        *l = best;
        best = (bandit_fitted){0};
        status = bandit_sample_fit(s, l, BANDIT_SAMPLE_EVALUATIONS, NULL, value, err);
    }
    bandit_fitted_clear(&best);
    bandit_fitted_clear(&now);
    return status;
}
