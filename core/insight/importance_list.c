/* The derivative measure of features over candidates, for the mean and for functions drawn from the
 * posterior. */
#include "core/insight/view.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/posterior/prior_mean.h"
#include "core/posterior/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARMS_DRAWN = 128 }; /* points at which the gradients of each function are taken */

typedef struct derivatives {
    bandit_insight *view;
    bandit_surface surface;
    size_t n, d;
    uint32_t *arms;
    double *coordinates;                 /* n x d */
    double *spread;                      /* d: the variance of each feature */
    double *gradient, *random, *measure; /* d each */
    double *sums, *squares;              /* d each: over the functions */
} derivatives;

static void clear(derivatives *v)
{
    bandit_surface_clear(&v->surface);
    free(v->arms);
    free(v->coordinates);
    free(v->spread);
}

static bandit_status prepare(derivatives *v, bandit_insight *view, bandit_error *err)
{
    *v = (derivatives){.view = view, .d = bandit_view_dimension(view)};
    bandit_status status = bandit_view_arms(view, &v->arms, &v->coordinates, &v->n, err);
    if (status == BANDIT_OK)
        status = bandit_surface_start(&v->surface, view->posterior, 0, err);
    if (status != BANDIT_OK)
        return status;
    v->spread = bandit_alloc_zeroed(6 * v->d, sizeof *v->spread);
    if (!v->spread)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    v->gradient = v->spread + v->d;
    v->random = v->gradient + v->d;
    v->measure = v->random + v->d;
    v->sums = v->measure + v->d;
    v->squares = v->sums + v->d;
    for (size_t j = 0; j < v->d; j++) {
        double mean = 0.0;
        for (size_t i = 0; i < v->n; i++)
            mean += v->coordinates[i * v->d + j] / (double)v->n;
        for (size_t i = 0; i < v->n; i++)
            v->spread[j] += (v->coordinates[i * v->d + j] - mean) * (v->coordinates[i * v->d + j] - mean);
        v->spread[j] /= (double)v->n;
    }
    return BANDIT_OK;
}

/* Sets v->measure to the shares, for the mean (draw NULL) or a function, at every `step`-th point. */
static void measure(derivatives *v, const double *weights, const bandit_prior_draw *draw, size_t step)
{
    const bandit_prior_mean *prior = v->view->inner->covariance.prior;
    double sum = 0.0;
    memset(v->measure, 0, v->d * sizeof *v->measure);
    for (size_t i = 0; i < v->n; i += step) {
        const double *x = v->coordinates + i * v->d;
        bandit_surface_combine_slopes(&v->surface, weights, x, v->gradient);
        if (prior)
            bandit_prior_mean_slope(prior, x, 1.0, v->gradient);
        if (draw)
            bandit_features_slopes(&v->view->features, draw, x, v->random);
        for (size_t j = 0; j < v->d; j++) {
            double slope = v->gradient[j] + (draw ? v->random[j] : 0.0);
            v->measure[j] += slope * slope * v->spread[j];
        }
        if (i % 256 < step && bandit_pause())
            return;
    }
    for (size_t j = 0; j < v->d; j++)
        sum += v->measure[j];
    for (size_t j = 0; j < v->d; j++)
        v->measure[j] = sum > 0.0 ? v->measure[j] / sum : 0.0;
}

static bandit_status find_top(derivatives *v, bandit_importance *out, double *variance, bandit_error *err)
{
    unsigned char *bins = bandit_alloc(v->n, v->d);
    double *values = bandit_alloc(2 * v->n, sizeof *values), *column = values + v->n, mean = 0.0;
    double *shares = bandit_alloc(v->d, sizeof *shares);
    bandit_status status = bins && values && shares ? BANDIT_OK : BANDIT_NO_MEMORY;
    if (status != BANDIT_OK)
        bandit_error_set(err, status, "", "out of memory");
    for (size_t j = 0; status == BANDIT_OK && j < v->d; j++) {
        for (size_t i = 0; i < v->n; i++)
            column[i] = v->coordinates[i * v->d + j];
        status = bandit_view_bins(column, v->n, BANDIT_VIEW_BINS, bins + j, v->d, err);
    }
    if (status == BANDIT_OK) {
        bandit_view_means(v->view, v->coordinates, v->n, values);
        status = bandit_view_top(values, bins, v->n, v->d, shares, err);
    }
    *variance = 0.0;
    for (size_t i = 0; status == BANDIT_OK && i < v->n; i++)
        mean += values[i] / (double)v->n;
    for (size_t i = 0; status == BANDIT_OK && i < v->n; i++)
        *variance += (values[i] - mean) * (values[i] - mean) / (double)v->n;
    for (size_t j = 0; status == BANDIT_OK && j < v->d; j++)
        out[j].top = shares[j];
    free(bins);
    free(values);
    free(shares);
    return status;
}

bandit_status bandit_importance_list(bandit_insight *view, bandit_importance *out, double *variance,
                                     bandit_error *err)
{
    derivatives v;
    bandit_status status = prepare(&v, view, err);
    double n = BANDIT_VIEW_DRAWS;
    if (status == BANDIT_OK)
        status = find_top(&v, out, variance, err);
    if (status == BANDIT_OK)
        measure(&v, view->posterior->weights, NULL, 1);
    for (size_t j = 0; status == BANDIT_OK && j < v.d; j++) {
        out[j].first = (double)NAN;
        out[j].total = v.measure[j];
    }
    for (size_t r = 0; status == BANDIT_OK && r < BANDIT_VIEW_DRAWS; r++) {
        measure(&v, view->weights + r * view->posterior->m, &view->draws[r], bandit_pieces(v.n, ARMS_DRAWN));
        for (size_t j = 0; j < v.d; j++) {
            v.sums[j] += v.measure[j];
            v.squares[j] += v.measure[j] * v.measure[j];
        }
        status = bandit_pause_status(err);
    }
    for (size_t j = 0; status == BANDIT_OK && j < v.d; j++)
        out[j].std = sqrt(fmax(0.0, v.squares[j] - v.sums[j] * v.sums[j] / n) / (n - 1.0));
    clear(&v);
    return status;
}
