/* Importance in a space with rules, whose parameters are not independent.
 *
 * With x drawn uniformly from the points that keep the rules, the share of parameter i is that of the conditional
 * mean, the correlation ratio
 *
 *   S_i = Var(E[f(x) | x_i]) / Var(f(x)),
 *
 * which counts what x_i tells about the other parameters as its own (Kucherenko, Tarantola and Annoni 2012). x_i is
 * divided into B bins with equal numbers of points. Sampling error alone makes the ratio (B − 1) / (n − 1) on average;
 * 1 − (1 − S) (n − 1) / (n − B) is free of that (Kelley 1935). */
#include "core/insight/view.h"

#include "core/arms/genome.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS = 2048, POINTS_MANY = 1024, MANY = 50, LEAST = 256, BINS = 32 };

typedef struct allowed_points {
    size_t n, p;         /* points; parameters */
    double *genes;       /* n x p */
    double *coordinates; /* n x dimension */
    double *column;      /* n */
    double *mean;        /* n */
    double *drawn;       /* BANDIT_VIEW_DRAWS x n */
    unsigned char *bins; /* n x p */
} allowed_points;

static void clear(allowed_points *a)
{
    free(a->genes);
    free(a->coordinates);
    free(a->column);
    free(a->mean);
    free(a->drawn);
    free(a->bins);
}

static bandit_status prepare(allowed_points *a, bandit_insight *view, bandit_error *err)
{
    const bandit_space *space = bandit_view_space(view);
    bandit_genome genome;
    size_t wanted = space->n > MANY ? POINTS_MANY : POINTS;
    *a = (allowed_points){.p = space->n};
    bandit_status status = bandit_genome_init(&genome, space, NULL, view->inner->options.seed, err);
    a->genes = bandit_alloc(wanted * space->n, sizeof *a->genes);
    a->coordinates = bandit_alloc(wanted * space->dimension, sizeof *a->coordinates);
    a->column = bandit_alloc(wanted, sizeof *a->column);
    a->mean = bandit_alloc(wanted, sizeof *a->mean);
    a->drawn = bandit_alloc(wanted * BANDIT_VIEW_DRAWS, sizeof *a->drawn);
    a->bins = bandit_alloc(wanted, space->n);
    if (status == BANDIT_OK &&
        (!a->genes || !a->coordinates || !a->column || !a->mean || !a->drawn || !a->bins))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = bandit_view_allowed(view, &genome, wanted, a->genes, a->coordinates, &a->n, err);
    bandit_genome_clear(&genome);
    if (status == BANDIT_OK && a->n < LEAST)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "too few points keep the constraints");
    return status;
}

static bandit_status bin(allowed_points *a, size_t n_bins, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    for (size_t j = 0; status == BANDIT_OK && j < a->p; j++) {
        for (size_t i = 0; i < a->n; i++)
            a->column[i] = a->genes[i * a->p + j];
        status = bandit_view_bins(a->column, a->n, n_bins, a->bins + j, a->p, err);
    }
    return status;
}

/* The share of parameter j in the variance of n values, and that variance. */
static double ratio(const allowed_points *a, size_t j, const double *values, double *variance)
{
    double sums[BINS] = {0}, counts[BINS] = {0}, mean = 0.0, within = 0.0, all = 0.0, used = 0.0;
    double n = (double)a->n;
    for (size_t i = 0; i < a->n; i++) {
        unsigned char b = a->bins[i * a->p + j];
        sums[b] += values[i];
        counts[b] += 1.0;
        mean += values[i] / n;
    }
    for (size_t b = 0; b < BINS; b++)
        used += counts[b] > 0.0;
    for (size_t i = 0; i < a->n; i++) {
        unsigned char b = a->bins[i * a->p + j];
        double from_bin = values[i] - sums[b] / counts[b], from_all = values[i] - mean;
        within += from_bin * from_bin;
        all += from_all * from_all;
    }
    *variance = all / n;
    return all > 0.0 ? fmax(0.0, 1.0 - within / all * (n - 1.0) / (n - used)) : 0.0;
}

/* The standard deviation of the share among the functions. */
static double deviation(const allowed_points *a, size_t j)
{
    double sum = 0.0, squares = 0.0, n = BANDIT_VIEW_DRAWS, variance;
    for (size_t r = 0; r < BANDIT_VIEW_DRAWS; r++) {
        double share = ratio(a, j, a->drawn + r * a->n, &variance);
        sum += share;
        squares += share * share;
    }
    return sqrt(fmax(0.0, squares - sum * sum / n) / (n - 1.0));
}

static bandit_status find_top(allowed_points *a, bandit_importance *out, bandit_error *err)
{
    double *shares = bandit_alloc(a->p, sizeof *shares);
    if (!shares)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = bin(a, BANDIT_VIEW_BINS, err);
    if (status == BANDIT_OK)
        status = bandit_view_top(a->mean, a->bins, a->n, a->p, shares, err);
    for (size_t j = 0; status == BANDIT_OK && j < a->p; j++)
        out[j].top = shares[j];
    free(shares);
    return status;
}

bandit_status bandit_importance_rules(bandit_insight *view, bandit_importance *out, double *variance,
                                      bandit_error *err)
{
    allowed_points a;
    bandit_status status = prepare(&a, view, err);
    if (status == BANDIT_OK) {
        bandit_view_means(view, a.coordinates, a.n, a.mean);
        bandit_view_values(view, a.coordinates, a.n, a.drawn, a.n);
        status = bandit_pause_status(err);
    }
    if (status == BANDIT_OK)
        status = bin(&a, BINS, err);
    for (size_t j = 0; status == BANDIT_OK && j < a.p; j++) {
        out[j].first = (double)NAN;
        out[j].total = ratio(&a, j, a.mean, variance);
        out[j].std = deviation(&a, j);
        status = bandit_pause_status(err);
    }
    if (status == BANDIT_OK)
        status = find_top(&a, out, err);
    clear(&a);
    return status;
}
