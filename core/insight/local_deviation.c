/* What the model expects of the points with rewards in an open space, where the function may have details that its
 * lengthscales are too long for:
 *
 *   reward = f(x) + u(x) + e,   u ~ GP(0, w k_r),   e ~ N(0, s) for each pull,   w + s = tau
 *
 * f has the model's kernel k, and k_r is k with lengthscales multiplied by r < 1. The model, which has f alone, takes u
 * for noise: ripples on a bowl, or steps. But pulls near each other share u, so that they show whether there is any.
 * Of the pairs of r and w/tau in a grid, the one with the largest marginal likelihood is taken, if it exceeds that of
 * w = 0 by the factor exp(LEAST_GAIN). The covariance of the values is then
 *
 *   K + w K_r + diag(m_i),   m_i = max(0, c_i − w / n_i)
 *
 * with c_i the model's variance of the mean of the n_i pulls of a point. Where points were pulled again, the
 * likelihood has the factor of their squares (deviation.h), which have the variance s.
 *
 * All of this is ours. Hyper-parameters stay as they were learned, and picks do not depend on it. Only the MOST best points
 * are considered; the others keep the predictions of f. */
#include "core/insight/deviation.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"
#include "core/posterior/prior_mean.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

static const double ratios[] = {0.02, 0.06, 0.2};            /* r */
static const double shares[] = {0.25, 0.5, 0.75, 0.9, 0.97}; /* w/tau */
static const double LEAST_GAIN = 1.5, LEAST_SHARE = 1e-9;
static const double LEAST_NOISE = 1e-6; /* tau: below it, the function follows the values */

/* A point with rewards. */
typedef struct point {
    uint32_t arm;
    size_t place;    /* in `arms` of the caller */
    double value;    /* the mean of its rewards, less the prior mean */
    double count;    /* pulls */
    double variance; /* c_i */
    double mean;     /* of the function, by which points are chosen */
} point;

typedef struct local {
    const bandit_insight *view;
    point *points;
    size_t n;
    double tau; /* in units of the prior's variance */
    bandit_within repeated;
    double *broad, *narrow, *covariance; /* n x n, leading dimension n */
    double *weights;                     /* n: (covariance)^-1 values */
} local;

static int compare_means(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->mean != y->mean ? (x->mean < y->mean) - (x->mean > y->mean)
                              : (x->arm > y->arm) - (x->arm < y->arm);
}

/* The points that the model has not left out, those with the largest mean of the function first. Their values must not
 * decide: of many noisy values the best ones are lucky, and a sample of them would seem to be lifted by a deviation. */
static bandit_status choose(local *l, const uint32_t *arms, size_t n, const bandit_prediction *p,
                            bandit_error *err)
{
    const bandit_insight *v = l->view;
    l->points = bandit_alloc(n, sizeof *l->points);
    if (!l->points)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n; i++) {
        const bandit_arm_sum *sum = bandit_sum_of(v->sums.sums, v->sums.n_sums, arms[i]);
        if (!sum)
            continue;
        point *one = &l->points[l->n++];
        *one = (point){.arm = arms[i], .place = i, .count = (double)sum->count};
        one->value = sum->sum / one->count;
        one->variance = v->posterior->lambda / bandit_precision(sum);
        one->mean = p[i].mean;
    }
    if (l->n > 0)
        qsort(l->points, l->n, sizeof *l->points, compare_means);
    if (l->n > MOST)
        l->n = MOST;
    return bandit_pause_status(err);
}

/* out[j * n + i] = k(x_i, x_j), with lengthscales multiplied by `ratio`. */
static bandit_status correlate(const local *l, double ratio, double *out, bandit_error *err)
{
    bandit_covariance covariance = l->view->inner->covariance;
    size_t n = l->n, ld = bandit_whole(n, BANDIT_TILE), d = covariance.dimension;
    bandit_points columns = {0};
    uint32_t *arms = bandit_alloc(n, sizeof *arms);
    double *block = bandit_alloc(ld * n, sizeof *block), *factor = bandit_alloc(d, sizeof *factor),
           *scratch = bandit_alloc(bandit_covariance_scratch(&covariance), sizeof *scratch);
    bandit_status status = BANDIT_OK;
    if (!arms || !block || !factor || !scratch)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t j = 0; status == BANDIT_OK && j < d; j++)
        factor[j] = covariance.factor[j] / ratio;
    for (size_t i = 0; status == BANDIT_OK && i < n; i++)
        arms[i] = l->points[i].arm;
    covariance.factor = factor;
    if (status == BANDIT_OK)
        status = bandit_points_set(&columns, &covariance, arms, n, err);
    if (status == BANDIT_OK) {
        bandit_covariance_block(&covariance, arms, n, &columns, block, ld, scratch);
        for (size_t j = 0; j < n; j++)
            memcpy(out + j * n, block + j * ld, n * sizeof *out);
        status = bandit_pause_status(err);
    }
    bandit_points_clear(&columns);
    free(scratch);
    free(factor);
    free(block);
    free(arms);
    return status;
}

/* Sets the covariance's lower triangle to its Cholesky factor, and the weights. False: not positive definite. */
static bool factorize(local *l, double w)
{
    size_t n = l->n;
    bandit_error err;
    for (size_t k = 0; k < n * n; k++)
        l->covariance[k] = l->broad[k] + w * l->narrow[k];
    for (size_t i = 0; i < n; i++) {
        const point *p = &l->points[i];
        l->covariance[i * n + i] += fmax(p->variance - w / p->count, LEAST_SHARE * l->tau);
        l->weights[i] = p->value;
    }
    if (bandit_cholesky(l->covariance, n, n, "the covariance of the points", &err) != BANDIT_OK)
        return false;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, l->covariance, (int)n,
                l->weights, 1);
    return true;
}

/* The logarithm of the likelihood, but for a constant; −infinity if it cannot be computed. Leaves the weights half done. */
static double likelihood(local *l, double share)
{
    if (!factorize(l, share * l->tau))
        return -INFINITY;
    double fit = cblas_ddot((int)l->n, l->weights, 1, l->weights, 1);
    double s = fmax(1.0 - share, LEAST_SHARE) * l->tau, squares = fmax(l->repeated.squares, 0.0);
    return -0.5 *
           (fit + bandit_log_det(l->covariance, l->n, l->n) + l->repeated.degrees * log(s) + squares / s);
}

typedef struct chosen {
    double gain, ratio, share;
} chosen;

/* Compares the pairs of the grid with no deviation at all. If all repeats agree, the model knows that there is no noise, and the
 * deviation has all of tau. */
static bandit_status compare(local *l, chosen *best, bandit_error *err)
{
    bool exact = l->view->inner->options.noise_std == 0.0;
    double none = likelihood(l, 0.0);
    bandit_status status = BANDIT_OK;
    *best = (chosen){.gain = exact ? -INFINITY : LEAST_GAIN};
    for (size_t i = 0; status == BANDIT_OK && i < sizeof ratios / sizeof *ratios; i++) {
        status = correlate(l, ratios[i], l->narrow, err);
        for (size_t j = 0; status == BANDIT_OK && j < sizeof shares / sizeof *shares; j++) {
            double share = exact ? 1.0 : shares[j], gain = likelihood(l, share) - none;
            if (gain > best->gain)
                *best = (chosen){.gain = gain, .ratio = ratios[i], .share = share};
            status = bandit_pause_status(err);
        }
    }
    return status;
}

/* Mean and variance of f + u at the points: with c the column of K + w K_r, c' C^-1 y and k(x, x) + w − c' C^-1 c. */
static bandit_status predict(local *l, const chosen *best, bandit_prediction *out, bandit_error *err)
{
    size_t n = l->n;
    double w = best->share * l->tau;
    const bandit_prior_mean *prior = l->view->inner->covariance.prior;
    bandit_status status = correlate(l, best->ratio, l->narrow, err);
    if (status != BANDIT_OK || !factorize(l, w))
        return status;
    double *columns = l->broad;
    for (size_t k = 0; k < n * n; k++)
        columns[k] += w * l->narrow[k];
    for (size_t i = 0; i < n; i++)
        l->narrow[i] = columns[i * n + i];
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)n, (int)n, 1.0,
                l->covariance, (int)n, columns, (int)n);
    for (size_t i = 0; i < n; i++) {
        const double *z = columns + i * n;
        bandit_prediction *p = &out[l->points[i].place];
        p->mean = cblas_ddot((int)n, z, 1, l->weights, 1) +
                  (prior ? bandit_prior_mean_of(prior, l->points[i].arm) : 0.0);
        p->variance = fmax(0.0, l->narrow[i] - cblas_ddot((int)n, z, 1, z, 1));
        p->ucb = p->mean;
    }
    return bandit_pause_status(err);
}

bandit_status bandit_add_local_deviation(bandit_insight *view, const uint32_t *arms, size_t n,
                                         bandit_prediction *out, bandit_error *err)
{
    const bandit_fitted *fitted = &view->refits->fitted;
    local l = {
        .view = view, .tau = fitted->noise / fitted->signal, .repeated = bandit_within_of(view->refits)};
    chosen best;
    if (view->inner->covariance.profile == BANDIT_PROFILE_LINEAR || !(l.tau >= LEAST_NOISE))
        return BANDIT_OK;
    bandit_status status = choose(&l, arms, n, out, err);
    if (status == BANDIT_OK && l.n > 0) {
        l.broad = bandit_alloc(3 * l.n * l.n + l.n, sizeof *l.broad);
        if (!l.broad)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    if (status == BANDIT_OK && l.n > 0) {
        l.narrow = l.broad + l.n * l.n;
        l.covariance = l.narrow + l.n * l.n;
        l.weights = l.covariance + l.n * l.n;
        memset(l.narrow, 0, l.n * l.n * sizeof *l.narrow);
        status = correlate(&l, 1.0, l.broad, err);
        if (status == BANDIT_OK)
            status = compare(&l, &best, err);
        if (status == BANDIT_OK && best.share > 0.0)
            status = predict(&l, &best, out, err);
    }
    free(l.broad);
    free(l.points);
    return status;
}
