/* The expectation of the volume that a point adds: bandit_boxes_log_expected and its bound (boxes.h). */
#include "core/selection/boxes.h"

#include "core/selection/acquisition.h"
#include "core/selection/normal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sums of this size or more are accurate; smaller ones are computed from logarithms. */
static const double LEAST_SUM = 1e-250;

/* For one objective: its cuts, and for each cut log psi, psi, and the logs of psi's derivatives. */
typedef struct axis {
    const double *cuts;
    double *log_psi, *psi, *cdf, *density; /* cdf, density: logarithms of Phi(z) and phi(z) */
} axis;

static void lay_out(const bandit_boxes *b, axis *axes, double **terms)
{
    double *at = b->scratch;
    for (size_t j = 0; j < b->k; j++) {
        size_t n = b->n_cuts[j];
        axes[j] = (axis){b->cuts[j], at, at + n, at + 2 * n, at + 3 * n};
        at += 4 * n;
    }
    *terms = at;
}

static void evaluate(const bandit_boxes *b, axis *a, size_t j, double mean, double deviation, bool slopes)
{
    for (size_t i = 0; i < b->n_cuts[j]; i++) {
        double z = (mean - a->cuts[i]) / deviation;
        if (z == -INFINITY) {
            a->log_psi[i] = a->cdf[i] = a->density[i] = -INFINITY;
            a->psi[i] = 0.0;
            continue;
        }
        a->log_psi[i] = log(deviation) + bandit_log_improvement(z);
        a->psi[i] = exp(a->log_psi[i]);
        if (slopes) {
            a->cdf[i] = bandit_log_cdf(z);
            a->density[i] = bandit_log_density(z);
        }
    }
}

/* log(psi(L) − psi(U)) */
static double log_side(const axis *a, uint32_t low, uint32_t high)
{
    double l = a->log_psi[low], u = a->log_psi[high];
    return u == -INFINITY ? l : u < l ? l + log1p(-exp(u - l)) : -INFINITY;
}

/* Adds the share of one box in the derivatives of the log. e^log_share is the box's share of the
 * expectation. */
static void add_slopes(const bandit_boxes *b, const axis *axes, size_t i, double log_share, double *by_mean,
                       double *by_deviation)
{
    size_t k = b->k;
    for (size_t j = 0; j < k; j++) {
        uint32_t low = b->low[i * k + j], high = b->high[i * k + j];
        double rest = log_share - log_side(&axes[j], low, high);
        by_mean[j] += exp(rest + axes[j].cdf[low]) - exp(rest + axes[j].cdf[high]);
        by_deviation[j] += exp(rest + axes[j].density[low]) - exp(rest + axes[j].density[high]);
    }
}

/* The log of the expectation, from logarithms; terms[i] becomes the log of the term of box i. */
static double sum_logs(const bandit_boxes *b, const axis *axes, double *terms)
{
    size_t k = b->k;
    double most = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        terms[i] = 0.0;
        for (size_t j = 0; j < k; j++)
            terms[i] += log_side(&axes[j], b->low[i * k + j], b->high[i * k + j]);
        most = fmax(most, terms[i]);
    }
    if (most == -INFINITY)
        return -DBL_MAX;
    for (size_t i = 0; i < b->n; i++)
        sum += exp(terms[i] - most);
    return sum == 0.0 ? -INFINITY : most + log(sum);
}

static double sum_products(const bandit_boxes *b, const axis *axes)
{
    size_t k = b->k;
    double sum = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        double term = 1.0;
        for (size_t j = 0; j < k; j++)
            term *= fmax(0.0, axes[j].psi[b->low[i * k + j]] - axes[j].psi[b->high[i * k + j]]);
        sum += term;
    }
    return sum;
}

/* Adds the derivatives of the sum's log: those of the sum, divided by it. */
static void add_plain_slopes(const bandit_boxes *b, const axis *axes, double sum, double *by_mean,
                             double *by_deviation)
{
    size_t k = b->k;
    for (size_t i = 0; i < b->n; i++) {
        double before[BANDIT_MOST_OBJECTIVES + 1] = {1.0}, side[BANDIT_MOST_OBJECTIVES] = {0},
                                               after = 1.0 / sum;
        const uint32_t *low = b->low + i * k, *high = b->high + i * k;
        for (size_t j = 0; j < k; j++) {
            side[j] = fmax(0.0, axes[j].psi[low[j]] - axes[j].psi[high[j]]);
            before[j + 1] = before[j] * side[j];
        }
        for (size_t j = k; j-- > 0;) {
            double rest = before[j] * after;
            by_mean[j] += rest * (axes[j].cdf[low[j]] - axes[j].cdf[high[j]]);
            by_deviation[j] += rest * (axes[j].density[low[j]] - axes[j].density[high[j]]);
            after *= side[j];
        }
    }
}

/* Replaces the logarithms of Phi and phi by their values. */
static void exponentiate(const bandit_boxes *b, axis *axes)
{
    for (size_t j = 0; j < b->k; j++)
        for (size_t i = 0; i < b->n_cuts[j]; i++) {
            axes[j].cdf[i] = exp(axes[j].cdf[i]);
            axes[j].density[i] = exp(axes[j].density[i]);
        }
}

double bandit_boxes_log_expected(bandit_boxes *b, const double *mean, const double *deviation,
                                 double *by_mean, double *by_deviation)
{
    axis axes[BANDIT_MOST_OBJECTIVES];
    double *terms;
    bool slopes = by_mean != NULL;
    lay_out(b, axes, &terms);
    for (size_t j = 0; j < b->k; j++)
        evaluate(b, &axes[j], j, mean[j], deviation[j], slopes);
    double sum = sum_products(b, axes);
    for (size_t j = 0; slopes && j < b->k; j++)
        by_mean[j] = by_deviation[j] = 0.0;
    if (sum >= LEAST_SUM && isfinite(sum)) {
        if (slopes) {
            exponentiate(b, axes);
            add_plain_slopes(b, axes, sum, by_mean, by_deviation);
        }
        return log(sum);
    }
    double value = sum_logs(b, axes, terms);
    for (size_t i = 0; slopes && value > -DBL_MAX && i < b->n; i++)
        if (terms[i] > value - 50.0)
            add_slopes(b, axes, i, terms[i] - value, by_mean, by_deviation);
    return value;
}

/* The same with less precise bounds, where the sum of products underflows. */
static double bound_by_logs(const bandit_boxes *b, axis *axes, double *terms, const double *mean,
                            const double *deviation)
{
    for (size_t j = 0; j < b->k; j++) {
        for (size_t i = 0; i < b->n_cuts[j]; i++) {
            double z = (mean[j] - b->cuts[j][i]) / deviation[j];
            axes[j].log_psi[i] =
                log(deviation[j]) + (z < 0.0 ? bandit_log_density(z) - log1p(z * z) : log(z + 1.0));
        }
    }
    double most = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        terms[i] = 0.0;
        for (size_t j = 0; j < b->k; j++)
            terms[i] += axes[j].log_psi[b->low[i * b->k + j]];
        most = fmax(most, terms[i]);
    }
    for (size_t i = 0; i < b->n; i++)
        sum += exp(terms[i] - most);
    return sum == 0.0 ? -INFINITY : most + log(sum);
}

double bandit_boxes_log_bound(bandit_boxes *b, const double *mean, const double *deviation)
{
    axis axes[BANDIT_MOST_OBJECTIVES];
    double *terms, sum = 0.0;
    size_t k = b->k;
    lay_out(b, axes, &terms);
    for (size_t j = 0; j < k; j++) {
        for (size_t i = 0; i < b->n_cuts[j]; i++) {
            double z = (mean[j] - b->cuts[j][i]) / deviation[j];
            double near = exp(bandit_log_density(z)) / (1.0 + z * z) + fmax(0.0, z);
            axes[j].psi[i] = z == -INFINITY ? 0.0 : deviation[j] * near;
        }
    }
    for (size_t i = 0; i < b->n; i++) {
        double term = 1.0;
        for (size_t j = 0; j < k; j++) {
            double side = b->cuts[j][b->high[i * k + j]] - b->cuts[j][b->low[i * k + j]];
            term *= fmin(side, axes[j].psi[b->low[i * k + j]]);
        }
        sum += term;
    }
    return sum >= LEAST_SUM ? log(sum) : bound_by_logs(b, axes, terms, mean, deviation);
}
