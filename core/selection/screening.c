#include "core/selection/screening.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"
#include "core/base/stage_clock.h"
#include "core/posterior/ledger.h"
#include "core/selection/log_gain.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of rho that are tried, in this order. */
static const double rungs[] = {1.05, 1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 2.0, 2.25, 2.5, 2.8, 3.2, 4.0};
enum { RUNGS = sizeof rungs / sizeof *rungs };

/* PART: arms in one part of a parallel job. GROUP: tiles whose kernel entries are computed before any of them
 * is used. */
enum { PART = 1024, GROUP = 4 };

/* The share of arms that must be evaluated is estimated from one tile in SAMPLE_STEP, but from no more than
 * about SAMPLE tiles. */
enum { SAMPLE_STEP = 64, SAMPLE = 32 };
static const double TOO_MANY = 0.6; /* from this share on, screening is not worth its cost */

/* margin below the largest log gain of that sample; arms below it are left out */
static const double MARGIN = 1.0;

bool bandit_screening_by_rows_pays(const bandit_posterior *p, size_t n_pulled)
{
    return p->m > 0 && p->one_factor && p->covariance->simd->norms_until &&
           p->covariance->arms->n / 8 >= n_pulled;
}

bool bandit_screening_pays(const bandit_posterior *p, size_t n_pulled)
{
    size_t n = p->covariance->arms->n;
    return p->m > 0 && p->one_factor && p->covariance->profile != BANDIT_PROFILE_MATRIX && n / 128 >= p->m &&
           n / 8 >= n_pulled;
}

/* ---- comparing posteriors ------------------------------------------------------------------------------ */

/* An upper bound, as a variance, on the error of basis vector i. Kernel entries have an error of eps kappa^2.
 * The basis Q = Phi L^{-T} of the members' span is therefore orthonormal up to an error of eps
 * kappa^2 / (L_ii L_jj) between its vectors i and j, times the growth in sums of m terms. */
static double basis_error(const bandit_posterior *p, size_t i)
{
    double pivot = p->L[i * p->m + i];
    return 32.0 * (double)p->m * DBL_EPSILON * p->covariance->kappa2 / (pivot * pivot);
}

/* out = I − lambda V^{-1}, lower triangle. */
static bandit_status shrinkage_of(const bandit_posterior *p, double *out, bandit_error *err)
{
    size_t m = p->m;
    memcpy(out, p->L_V, m * m * sizeof *out);
    bandit_status status = bandit_invert_lower(out, m, m, err);
    if (status != BANDIT_OK)
        return status;
    LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)m, out, (lapack_int)m);
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k; i < m; i++)
            out[k * m + i] = (i == k ? 1.0 : 0.0) - p->lambda * out[k * m + i];
    }
    return BANDIT_OK;
}

bandit_status bandit_reference_keep(bandit_reference *r, const bandit_posterior *p, const double *variance,
                                    bandit_error *err)
{
    size_t m = p->m, n = p->covariance->arms->n;
    r->kept = false;
    if (!bandit_reserve((void **)&r->L, &r->capacity_L, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->F, &r->capacity_F, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->gram, &r->capacity_gram, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->work, &r->capacity_work, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->variance, &r->capacity_variance, n, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to compare posteriors of %zu arms", n);
    bandit_status status = bandit_points_set(&r->points, p->covariance, p->points.arms, m, err);
    if (status == BANDIT_OK)
        status = shrinkage_of(p, r->work, err);
    if (status != BANDIT_OK)
        return status;
    /* The shift covers rounding in V^{-1}. A larger F F' is safe: it only makes the inequality harder to
     * prove. */
    for (double shift = 1e-12; shift < 1e-8 && !r->kept; shift *= 10.0) {
        memcpy(r->F, r->work, m * m * sizeof(double));
        for (size_t k = 0; k < m; k++)
            r->F[k * m + k] += shift;
        bandit_error ignored; /* without a factor, posteriors are not compared */
        r->kept = bandit_cholesky(r->F, m, m, "I - lambda / V", &ignored) == BANDIT_OK;
    }
    memcpy(r->L, p->L, m * m * sizeof(double));
    memcpy(r->gram, r->F, m * m * sizeof(double));
    for (size_t i = 0; i < m; i++)
        cblas_dscal((int)i + 1, sqrt(1.0 + basis_error(p, i)), r->gram + i, (int)m);
    LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)m, r->gram, (lapack_int)m);
    memcpy(r->variance, variance, n * sizeof(double));
    r->m = m;
    r->variance_error = p->variance_error;
    r->rung = RUNGS / 2;
    return BANDIT_OK;
}

typedef struct comparison {
    const bandit_reference *reference;
    size_t m;          /* size of the new posterior */
    const double *B;   /* m x m: I − lambda V^{-1} of the new posterior, lower triangle */
    const double *H;   /* m x the reference's m: Q' Q_r F */
    const double *T;   /* square of the reference's m: F'F − H'H and its rounding, lower triangle */
    double *N, *Y, *X; /* scratch with the sizes of B, H and T */
} comparison;

/* Whether M_r <= rho M is proved. That is rho M_r^{-1} − M^{-1} >= 0, or, times lambda,
 *
 *   rho Q_r B_r Q_r' <= (rho − 1) I + Q B Q' = N,  B = I − lambda V^{-1}.
 *
 * For B_r <= F F' it holds when rho F' Q_r' N^{-1} Q_r F <= I, where
 *
 *   N^{-1} = (I − Q Q') / (rho − 1) + Q ((rho − 1) I + B)^{-1} Q'.
 *
 * All matrices that are inverted have eigenvalues of at least rho − 1. Directions that either posterior knows
 * exactly satisfy this form with little margin. Rounding is therefore bounded separately for each direction
 * (basis_error), not by one worst case for all. */
static bool proves(const comparison *c, double rho)
{
    size_t m = c->m, n = c->reference->m;
    double room = 64.0 * DBL_EPSILON * (double)(m + n) * rho / (rho - 1.0);
    bandit_error ignored;
    memcpy(c->N, c->B, m * m * sizeof(double));
    for (size_t k = 0; k < m; k++)
        c->N[k * m + k] += rho - 1.0;
    if (bandit_cholesky(c->N, m, m, "N", &ignored) != BANDIT_OK)
        return false;
    memcpy(c->Y, c->H, m * n * sizeof(double));
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, c->N,
                (int)m, c->Y, (int)m);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = k; i < n; i++)
            c->X[k * n + i] = (i == k ? 1.0 - room : 0.0) - rho / (rho - 1.0) * c->T[k * n + i];
    }
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)n, (int)m, -rho, c->Y, (int)m, 1.0, c->X, (int)n);
    return bandit_cholesky(c->X, n, n, "X", &ignored) == BANDIT_OK;
}

/* The first rung, from *start on, that is proved. *start becomes the rung at which the next comparison
 * starts. */
static size_t climb(const comparison *c, size_t *start)
{
    size_t rung = *start;
    if (proves(c, rungs[rung])) {
        *start = rung > 0 ? rung - 1 : 0;
        return rung;
    }
    do
        rung++;
    while (rung < RUNGS && !proves(c, rungs[rung]));
    *start = rung < RUNGS ? rung : RUNGS - 1;
    return rung;
}

bandit_status bandit_reference_compare(bandit_reference *r, const bandit_posterior *p, double *ratio,
                                       bandit_error *err)
{
    size_t m = p->m, n = r->m, ld = bandit_whole_tiles(m);
    size_t size = 2 * m * m + m * n + 2 * n * n + ld * n + bandit_covariance_scratch(p->covariance);
    *ratio = INFINITY;
    if (!bandit_reserve((void **)&r->work, &r->capacity_work, size, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to compare dictionaries of %zu and %zu", m,
                           n);
    double *B = r->work, *H = B + m * m, *T = H + m * n, *N = T + n * n, *X = N + m * m, *Y = X + n * n;

    /* H = L^{-1} K(S, S_r) L_r^{-T} F. The kernel block has a leading dimension of whole tiles. */
    bandit_covariance_block(p->covariance, p->points.arms, m, &r->points, Y, ld, Y + ld * n);
    for (size_t k = 0; k < n; k++)
        memcpy(H + k * m, Y + k * ld, m * sizeof(double));
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, p->L,
                (int)m, H, (int)m);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)n, 1.0, r->L,
                (int)n, H, (int)m);
    cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, r->F,
                (int)n, H, (int)m);
    memcpy(T, r->gram, n * n * sizeof(double));
    memcpy(Y, H, m * n * sizeof(double));
    for (size_t i = 0; i < m; i++)
        cblas_dscal((int)n, sqrt(fmax(0.0, 1.0 - basis_error(p, i))), Y + i, (int)m);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)n, (int)m, -1.0, Y, (int)m, 1.0, T, (int)n);
    bandit_status status = shrinkage_of(p, B, err);
    if (status != BANDIT_OK)
        return status;

    const comparison c = {r, m, B, H, T, N, Y, X};
    size_t rung = climb(&c, &r->rung);
    if (rung < RUNGS)
        *ratio = rungs[rung];
    return BANDIT_OK;
}

void bandit_reference_clear(bandit_reference *r)
{
    bandit_points_clear(&r->points);
    free(r->L);
    free(r->F);
    free(r->gram);
    free(r->variance);
    free(r->work);
    *r = (bandit_reference){0};
}

size_t bandit_reference_memory(const bandit_reference *r)
{
    size_t doubles = r->capacity_L + r->capacity_F + r->capacity_gram + r->capacity_variance +
                     r->capacity_work + r->points.capacity_features;
    return doubles * sizeof(double) + r->points.capacity * sizeof(uint32_t);
}

/* ---- all arms ------------------------------------------------------------------------------------------ */

typedef struct screening {
    const bandit_posterior *posterior;
    const bandit_screen *screen;
    double threshold;           /* upper bounds below it need no evaluation */
    bandit_gain_threshold gain; /* used instead of `threshold` when screening by gain */
    double *mean, *variance;    /* n_arms entries */
    double *pulled;             /* 2 n_pulled: means and variances of the pulled arms */
    double *smallest;           /* per part: the smallest variance before clamping */
    double *work;               /* per worker: `stride` doubles */
    size_t stride;
} screening;

/* Evaluates one part of the pulled arms. */
static void pulled_part(void *arg, size_t index, size_t worker)
{
    const screening *job = arg;
    const bandit_posterior *p = job->posterior;
    const bandit_screen *screen = job->screen;
    double *tile = job->work + worker * job->stride, *scratch = tile + p->m * BANDIT_TILE;
    size_t end = (index + 1) * PART < screen->n_pulled ? (index + 1) * PART : screen->n_pulled;
    for (size_t first = index * PART; first < end; first += BANDIT_TILE) {
        size_t n = end - first < BANDIT_TILE ? end - first : BANDIT_TILE;
        uint32_t arms[BANDIT_TILE] = {0};
        for (size_t i = 0; i < n; i++)
            arms[i] = screen->pulled[first + i].arm;
        bandit_covariance_block(p->covariance, arms, n, &p->points, tile, BANDIT_TILE, scratch);
        bandit_posterior_evaluate_tile(p, tile, arms, n, job->pulled + first,
                                       job->pulled + screen->n_pulled + first);
    }
}

/* Arms that must be evaluated, collected with their kernel columns until they fill a tile. */
typedef struct gathered {
    uint32_t arms[BANDIT_TILE];
    size_t n;
    double *tile;
    double smallest;
} gathered;

static void flush(const screening *job, gathered *g)
{
    double mean[BANDIT_TILE], variance[BANDIT_TILE];
    if (g->n == 0)
        return;
    double smallest = bandit_posterior_evaluate_tile(job->posterior, g->tile, g->arms, g->n, mean, variance);
    g->smallest = fmin(g->smallest, smallest);
    for (size_t i = 0; i < g->n; i++)
        job->variance[g->arms[i]] = variance[i];
    g->n = 0;
}

/* An upper bound on the arm's variance. */
static double bound_of(const bandit_screen *screen, size_t arm)
{
    return screen->ratio * (screen->reference->variance[arm] + screen->reference->variance_error);
}

/* Whether an arm with this mean and at most this variance may come to the top of the heap. */
static bool may_matter(const screening *job, double mean, double most)
{
    double alpha = job->screen->alpha, gap = job->threshold - mean;
    if (job->screen->by_gain)
        return most >= bandit_gain_threshold_variance(&job->gain, mean);
    return !(gap > 0.0 && alpha * alpha * most < gap * gap);
}

/* Computes the means of one tile, and marks the arms that must be evaluated. Returns their number. */
static size_t mark(const screening *job, const double *tile, size_t first, size_t lanes, double *means,
                   bool *matters)
{
    const bandit_posterior *p = job->posterior;
    size_t n = 0;
    p->covariance->simd->means(p->weights, p->m, tile, means);
    for (size_t lane = 0; lane < lanes; lane++) {
        matters[lane] = may_matter(job, means[lane], bound_of(job->screen, first + lane));
        n += matters[lane];
    }
    return n;
}

/* Handles one tile. All its means are computed; its variances are computed now, later with those of other
 * tiles, or not at all. */
static void sift(const screening *job, double *tile, size_t first, size_t lanes, gathered *g)
{
    size_t m = job->posterior->m;
    double means[BANDIT_TILE];
    bool matters[BANDIT_TILE];
    size_t n = mark(job, tile, first, lanes, means, matters);
    memcpy(job->mean + first, means, lanes * sizeof *means);
    if (2 * n > BANDIT_TILE) {
        uint32_t arms[BANDIT_TILE];
        for (size_t lane = 0; lane < lanes; lane++)
            arms[lane] = (uint32_t)(first + lane);
        g->smallest = fmin(g->smallest, bandit_posterior_evaluate_tile(job->posterior, tile, arms, lanes,
                                                                       means, job->variance + first));
        return;
    }
    for (size_t lane = 0; lane < lanes; lane++) {
        if (!matters[lane]) {
            job->variance[first + lane] = -bound_of(job->screen, first + lane);
            continue;
        }
        for (size_t i = 0; i < m; i++)
            g->tile[i * BANDIT_TILE + g->n] = tile[i * BANDIT_TILE + lane];
        g->arms[g->n++] = (uint32_t)(first + lane);
        if (g->n == BANDIT_TILE)
            flush(job, g);
    }
}

/* The distance between the tiles of the sample. */
static size_t sample_step(size_t tiles)
{
    return tiles / SAMPLE > SAMPLE_STEP ? tiles / SAMPLE : SAMPLE_STEP;
}

/* Estimates the share of arms that must be evaluated from tiles spread over all arms. */
static double share_that_matters(const screening *job)
{
    const bandit_covariance *covariance = job->posterior->covariance;
    size_t tiles = covariance->arms->n / BANDIT_TILE, n = 0, of = 0, step = sample_step(tiles);
    double *tile = job->work, *scratch = tile + job->posterior->m * BANDIT_TILE, means[BANDIT_TILE];
    bool matters[BANDIT_TILE];
    for (size_t t = 0; t < tiles; t += step) {
        bandit_covariance_tile(covariance, t, &job->posterior->points, 0, job->posterior->m, tile,
                               BANDIT_TILE, scratch);
        n += mark(job, tile, t * BANDIT_TILE, BANDIT_TILE, means, matters);
        of += BANDIT_TILE;
    }
    return of > 0 ? (double)n / (double)of : 1.0;
}

/* Handles one tile without a reference. Computes the means, and as many rows of R as it takes to show that
 * none of its arms matters; lanes that needed all rows get their variance. Returns the smallest variance
 * before clamping. */
static double sift_by_rows(const screening *job, const double *tile, size_t first, size_t lanes)
{
    const bandit_posterior *p = job->posterior;
    double alpha2 = job->screen->alpha * job->screen->alpha, smallest = INFINITY;
    double means[BANDIT_TILE], norms[BANDIT_TILE], need[BANDIT_TILE], diagonal[BANDIT_TILE];
    bool whole[BANDIT_TILE];
    uint32_t arms[BANDIT_TILE];
    for (size_t lane = 0; lane < lanes; lane++)
        arms[lane] = (uint32_t)(first + lane);
    bandit_covariance_diagonal(p->covariance, arms, lanes, diagonal);
    p->covariance->simd->means(p->weights, p->m, tile, means);
    for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
        double gap = lane < lanes ? job->threshold - means[lane] : 0.0, least = gap * gap / alpha2;
        need[lane] = lane < lanes ? INFINITY : 0.0;
        if (lane < lanes && job->screen->by_gain)
            gap = least = bandit_gain_threshold_variance(&job->gain, means[lane]);
        if (gap > 0.0)
            need[lane] = diagonal[lane] / p->lambda - least;
    }
    p->covariance->simd->norms_until(p->R, p->m, tile, need, norms, whole);
    for (size_t lane = 0; lane < lanes; lane++) {
        double variance = diagonal[lane] / p->lambda - norms[lane], most = fmax(0.0, variance);
        job->mean[first + lane] = means[lane];
        job->variance[first + lane] = whole[lane] ? most : -most;
        if (whole[lane])
            smallest = fmin(smallest, variance);
    }
    return smallest;
}

static void screen_part(void *arg, size_t index, size_t worker)
{
    const screening *job = arg;
    const bandit_posterior *p = job->posterior;
    size_t n_arms = p->covariance->arms->n, m = p->m, stride = m * BANDIT_TILE;
    size_t end = (index + 1) * PART < n_arms ? (index + 1) * PART : n_arms;
    double *tiles = job->work + worker * job->stride, *scratch = tiles + (GROUP + 1) * stride;
    gathered g = {.tile = tiles + GROUP * stride, .smallest = INFINITY};

    memset(g.tile, 0, stride * sizeof *g.tile); /* the last tile may not fill all lanes */
    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_KERNEL);
    for (size_t group = index * PART; group < end && !bandit_pause(); group += (size_t)GROUP * BANDIT_TILE) {
        bandit_stage_switch(BANDIT_STAGE_KERNEL);
        for (size_t t = 0; t < GROUP && group + t * BANDIT_TILE < end; t++)
            bandit_covariance_tile(p->covariance, group / BANDIT_TILE + t, &p->points, 0, m,
                                   tiles + t * stride, BANDIT_TILE, scratch);
        bandit_stage_switch(BANDIT_STAGE_PRODUCT);
        for (size_t t = 0; t < GROUP && group + t * BANDIT_TILE < end; t++) {
            size_t first = group + t * BANDIT_TILE,
                   lanes = end - first < BANDIT_TILE ? end - first : BANDIT_TILE;
            if (job->screen->reference)
                sift(job, tiles + t * stride, first, lanes, &g);
            else
                g.smallest = fmin(g.smallest, sift_by_rows(job, tiles + t * stride, first, lanes));
        }
    }
    flush(job, &g);
    job->smallest[index] = g.smallest;
    bandit_stage_switch(outer);
}

/* A lower estimate of the largest upper bound that a pulled arm will have at the end of the batch, less the
 * error of the means. */
static double threshold_of(const screening *job)
{
    const bandit_screen *screen = job->screen;
    const double *mean = job->pulled, *variance = mean + screen->n_pulled;
    double best = -INFINITY;
    for (size_t i = 0; i < screen->n_pulled; i++)
        best = fmax(best, mean[i] + screen->alpha * sqrt(variance[i] / screen->shrinkage));
    return best - 2.0 * job->posterior->mean_error;
}

/* Sets the threshold from the incumbent and the largest log gain of the sample, less a margin. */
static void set_gain_threshold(screening *job)
{
    const bandit_screen *screen = job->screen;
    const bandit_posterior *p = job->posterior;
    const bandit_covariance *covariance = p->covariance;
    size_t tiles = covariance->arms->n / BANDIT_TILE;
    double *tile = job->work, *scratch = tile + p->m * BANDIT_TILE, means[BANDIT_TILE],
           variances[BANDIT_TILE];
    double incumbent = -INFINITY, best = -INFINITY;
    for (size_t i = 0; i < screen->n_pulled; i++)
        incumbent = fmax(incumbent, job->pulled[i]);
    for (size_t t = 0; t < tiles; t += sample_step(tiles)) {
        uint32_t arms[BANDIT_TILE];
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            arms[lane] = (uint32_t)(t * BANDIT_TILE + lane);
        bandit_covariance_tile(covariance, t, &p->points, 0, p->m, tile, BANDIT_TILE, scratch);
        bandit_posterior_evaluate_tile(p, tile, arms, BANDIT_TILE, means, variances);
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            if (!bandit_sum_of(screen->pulled, screen->n_pulled, arms[lane])) /* it may not be picked again */
                best = fmax(best, bandit_log_gain_bound(means[lane] - incumbent, variances[lane], p->lambda,
                                                        DBL_MIN));
        }
    }
    bandit_gain_threshold_set(&job->gain, incumbent - 2.0 * p->mean_error, best - MARGIN, p->lambda,
                              covariance->kappa2 / p->lambda + DBL_MIN);
}

bandit_status bandit_screening_evaluate(bandit_posterior *p, const bandit_screen *screen,
                                        const bandit_executor *executor, double *mean, double *variance,
                                        bool *done, bandit_error *err)
{
    size_t n_arms = p->covariance->arms->n, parts = bandit_pieces(n_arms, PART);
    size_t pulled_parts = bandit_pieces(screen->n_pulled, PART);
    size_t stride =
        bandit_whole_tiles((GROUP + 1) * p->m * BANDIT_TILE + bandit_covariance_scratch(p->covariance));
    size_t size = executor->workers * stride + 2 * screen->n_pulled + parts;
    *done = false;
    if (!bandit_reserve((void **)&p->work, &p->capacity_work, size, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    double *pulled = p->work + executor->workers * stride;
    screening job = {.posterior = p,
                     .screen = screen,
                     .mean = mean,
                     .variance = variance,
                     .pulled = pulled,
                     .smallest = pulled + 2 * screen->n_pulled,
                     .work = p->work,
                     .stride = stride};
    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_PRODUCT);
    executor->for_each(executor->context, pulled_parts, pulled_part, &job);
    bandit_stage_switch(outer);
    bandit_status status = bandit_pause_status(err);
    if (status != BANDIT_OK)
        return status;
    if (screen->by_gain)
        set_gain_threshold(&job);
    else
        job.threshold = threshold_of(&job);
    if (screen->reference && share_that_matters(&job) > TOO_MANY)
        return BANDIT_OK;
    executor->for_each(executor->context, parts, screen_part, &job);
    status = bandit_pause_status(err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < parts; i++) {
        status = bandit_posterior_check_smallest(p, job.smallest[i], i * PART, PART, err);
        if (status != BANDIT_OK)
            return status;
    }
    for (size_t i = 0; i < screen->n_pulled; i++)
        variance[screen->pulled[i].arm] = pulled[screen->n_pulled + i];
    *done = true;
    return BANDIT_OK;
}
