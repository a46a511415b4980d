#include "core/posterior/prior_sampler.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/posterior/prior_features.h"

#include <assert.h>
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRIPE = 2048 }; /* number of arms in one part of a parallel job */

struct bandit_prior_sampler {
    const bandit_covariance *covariance;
    bandit_prior_way way;
    size_t stride;
    size_t rank;     /* BANDIT_PRIOR_FACTOR */
    double *factor;  /* BANDIT_PRIOR_FACTOR: stride x rank, column-major */
    double *numbers; /* BANDIT_PRIOR_FACTOR: rank random numbers of the draw */
    bandit_features features;
    bandit_prior_draw draw; /* for the other ways */
};

static size_t factor_limit(const bandit_covariance *covariance)
{
    size_t n = covariance->arms->n;
    if (covariance->profile == BANDIT_PROFILE_MATRIX || n <= BANDIT_PRIOR_EXACT_ARMS)
        return n;
    bool may_be_low = covariance->profile == BANDIT_PROFILE_GAUSSIAN && n <= BANDIT_PRIOR_LOW_RANK_ARMS;
    return may_be_low ? BANDIT_PRIOR_MAX_RANK : 0;
}

size_t bandit_prior_sampler_need(const bandit_covariance *covariance)
{
    size_t stride = covariance->arms->n_tiles * BANDIT_TILE, limit = factor_limit(covariance);
    if (covariance->profile == BANDIT_PROFILE_LINEAR)
        return covariance->dimension * sizeof(double);
    size_t features = BANDIT_PRIOR_FEATURES / 2 * (covariance->dimension + 2);
    return (2 * limit * stride + features) * sizeof(double); /* while copying, there are two factors */
}

/* ---- factors ------------------------------------------------------------------------------------------- */

/* Computes the kernel columns k(., arms[i]) on all arms; `out` is stride x n. */
static bandit_status kernel_columns(const bandit_covariance *covariance, const uint32_t *arms, size_t n,
                                    double *out, bandit_error *err)
{
    size_t stride = covariance->arms->n_tiles * BANDIT_TILE;
    bandit_points points = {0};
    double *scratch = bandit_alloc(bandit_covariance_scratch(covariance), sizeof *scratch);
    bandit_status status = BANDIT_OK;
    if (!scratch)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    else
        status = bandit_points_set(&points, covariance, arms, n, err);
    for (size_t tile = 0; status == BANDIT_OK && tile < covariance->arms->n_tiles; tile++)
        bandit_covariance_tile(covariance, tile, &points, 0, n, out + tile * BANDIT_TILE, stride, scratch);
    bandit_points_clear(&points);
    free(scratch);
    return status;
}

/* F = K(., S) L^{-T}, with the pivots S and the factor L from LAPACK's pivoted Cholesky of the whole matrix
 * K. */
static bandit_status dense_factor(bandit_prior_sampler *s, bandit_error *err)
{
    const bandit_covariance *covariance = s->covariance;
    size_t n = covariance->arms->n;
    uint32_t *pivots = bandit_alloc(n, sizeof *pivots);
    double *k = bandit_alloc(s->stride * n, sizeof *k);
    bandit_status status = BANDIT_OK;
    if (!pivots || !k) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for the kernel matrix of %zu arms", n);
        goto out;
    }
    for (size_t a = 0; a < n; a++)
        pivots[a] = (uint32_t)a;
    status = kernel_columns(covariance, pivots, n, k, err);
    if (status != BANDIT_OK)
        goto out;
    for (size_t a = 1; a < n; a++) /* for LAPACK the leading dimension is n here */
        memmove(k + a * n, k + a * s->stride, n * sizeof *k);
    double tolerance = (double)n * DBL_EPSILON * covariance->kappa2;
    status = bandit_pivoted_cholesky(k, n, tolerance, pivots, &s->rank, err);
    if (status != BANDIT_OK)
        goto out;

    s->factor = bandit_alloc(s->stride * s->rank, sizeof *s->factor);
    if (!s->factor) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a factor of %zu columns", s->rank);
        goto out;
    }
    status = kernel_columns(covariance, pivots, s->rank, s->factor, err);
    if (status == BANDIT_OK)
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)s->stride,
                    (int)s->rank, 1.0, k, (int)n, s->factor, (int)s->stride);
out:
    free(pivots);
    free(k);
    return status;
}

/* The same factor, computed column by column without forming K: the next pivot is the arm with the largest
 * residual variance. Leaves no factor if BANDIT_PRIOR_MAX_RANK columns do not bring every residual below the
 * tolerance. */
static bandit_status growing_factor(bandit_prior_sampler *s, bandit_error *err)
{
    const double tolerance = 1e-10 * s->covariance->kappa2;
    size_t n = s->covariance->arms->n, rank = 0;
    double *f = bandit_alloc(s->stride * BANDIT_PRIOR_MAX_RANK, sizeof *f);
    double *residual = bandit_alloc(n, sizeof *residual);
    bandit_status status = BANDIT_OK;
    if (!f || !residual) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a factor of %d columns",
                             (int)BANDIT_PRIOR_MAX_RANK);
        goto out;
    }
    for (size_t a = 0; a < n; a++) {
        uint32_t arm = (uint32_t)a;
        bandit_covariance_diagonal(s->covariance, &arm, 1, &residual[a]);
    }
    for (;;) {
        size_t next = 0;
        for (size_t a = 1; a < n; a++) {
            if (residual[a] > residual[next])
                next = a;
        }
        if (residual[next] <= tolerance)
            break;
        /* Residuals decrease about geometrically, so half of the columns must have gained half of the
         * digits. */
        bool hopeless =
            rank == BANDIT_PRIOR_MAX_RANK / 2 && residual[next] > sqrt(tolerance * s->covariance->kappa2);
        if (hopeless || rank == BANDIT_PRIOR_MAX_RANK)
            goto out;
        uint32_t arm = (uint32_t)next;
        double *column = f + rank * s->stride;
        status = kernel_columns(s->covariance, &arm, 1, column, err);
        if (status != BANDIT_OK)
            goto out;
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)s->stride, (int)rank, -1.0, f, (int)s->stride, f + next,
                    (int)s->stride, 1.0, column, 1);
        cblas_dscal((int)s->stride, 1.0 / sqrt(residual[next]), column, 1);
        for (size_t a = 0; a < n; a++)
            residual[a] -= column[a] * column[a];
        residual[next] = 0.0;
        rank++;
    }
    s->factor = bandit_alloc(s->stride * rank, sizeof *f);
    if (!s->factor) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a factor of %zu columns", rank);
        goto out;
    }
    memcpy(s->factor, f, s->stride * rank * sizeof *f);
    s->rank = rank;
out:
    free(f);
    free(residual);
    return status;
}

bandit_status bandit_prior_sampler_new(bandit_prior_sampler **out, const bandit_covariance *covariance,
                                       bandit_error *err)
{
    *out = NULL;
    bandit_prior_sampler *s = calloc(1, sizeof *s);
    if (!s)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    s->covariance = covariance;
    s->stride = covariance->arms->n_tiles * BANDIT_TILE;

    bandit_status status = BANDIT_OK;
    bool linear = covariance->profile == BANDIT_PROFILE_LINEAR;
    size_t limit = factor_limit(covariance);
    if (!linear && limit > 0)
        status = limit == covariance->arms->n ? dense_factor(s, err) : growing_factor(s, err);
    if (status == BANDIT_OK && s->factor) {
        s->way = BANDIT_PRIOR_FACTOR;
        s->numbers = bandit_alloc(s->rank, sizeof *s->numbers);
        if (!s->numbers)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    } else if (status == BANDIT_OK) {
        s->way = linear ? BANDIT_PRIOR_LINEAR : BANDIT_PRIOR_RANDOM_FEATURES;
        status =
            bandit_features_init(&s->features, linear ? BANDIT_EXPANSION_LINEAR : BANDIT_EXPANSION_FOURIER,
                                 covariance, BANDIT_PRIOR_FEATURES, err);
        if (status == BANDIT_OK)
            status = bandit_prior_draw_init(&s->draw, &s->features, err);
    }
    if (status == BANDIT_OK)
        *out = s;
    else
        bandit_prior_sampler_free(s);
    return status;
}

void bandit_prior_sampler_free(bandit_prior_sampler *s)
{
    if (!s)
        return;
    free(s->factor);
    free(s->numbers);
    bandit_features_clear(&s->features);
    bandit_prior_draw_clear(&s->draw);
    free(s);
}

bandit_prior_way bandit_prior_sampler_way(const bandit_prior_sampler *s)
{
    return s->way;
}

size_t bandit_prior_sampler_memory(const bandit_prior_sampler *s)
{
    size_t doubles = 0;
    switch (s->way) {
    case BANDIT_PRIOR_FACTOR:
        doubles = s->rank + s->stride * s->rank;
        break;
    case BANDIT_PRIOR_LINEAR:
        doubles = s->features.n;
        break;
    case BANDIT_PRIOR_RANDOM_FEATURES:
        doubles = s->features.n / 2 * (s->features.dimension + 2);
        break;
    }
    return sizeof *s + doubles * sizeof(double);
}

/* ---- draws --------------------------------------------------------------------------------------------- */

typedef struct prior_job {
    const bandit_prior_sampler *s;
    double *f;
} prior_job;

static void draw_stripe(void *arg, size_t stripe, size_t worker)
{
    (void)worker;
    const prior_job *job = arg;
    const bandit_prior_sampler *s = job->s;
    size_t start = stripe * STRIPE, rows = s->stride - start < STRIPE ? s->stride - start : STRIPE;
    double *f = job->f + start;

    if (s->way == BANDIT_PRIOR_FACTOR) {
        memset(f, 0, rows * sizeof *f);
        if (s->rank > 0)
            cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, (int)s->rank, 1.0, s->factor + start,
                        (int)s->stride, s->numbers, 1, 0.0, f, 1);
        return;
    }
    for (size_t row = 0; row < rows; row += BANDIT_TILE)
        bandit_features_evaluate(&s->features, &s->draw,
                                 bandit_arms_tile(s->covariance->arms, (start + row) / BANDIT_TILE), f + row,
                                 NULL); /* these expansions need no scratch */
}

void bandit_prior_sampler_draw(bandit_prior_sampler *s, uint64_t seed, uint64_t batch, uint64_t number,
                               const bandit_executor *executor, double *f)
{
    if (s->way == BANDIT_PRIOR_FACTOR) {
        for (size_t i = 0; i < s->rank; i++)
            s->numbers[i] = bandit_random_normal(seed, batch, BANDIT_PURPOSE_POSTERIOR, (number << 40) + i);
    } else {
        bandit_features_draw(&s->features, seed, batch, number, &s->draw);
    }
    prior_job job = {.s = s, .f = f};
    executor->for_each(executor->context, bandit_pieces(s->stride, STRIPE), draw_stripe, &job);
}
