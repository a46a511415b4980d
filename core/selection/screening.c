#include "core/selection/screening.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/base/stage_clock.h"
#include "core/posterior/ledger.h"
#include "core/posterior/prior_mean.h"
#include "core/selection/log_gain.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* PART: arms in one part of a parallel job. GROUP: tiles whose kernel entries are computed before any of them
 * is used. */
enum { PART = 1024, GROUP = 4 };

/* The share of arms that must be evaluated is estimated from one tile in SAMPLE_STEP, but from no more than
 * about SAMPLE tiles. */
enum { SAMPLE_STEP = 64, SAMPLE = 32 };
static const double TOO_MANY = 0.6; /* from this share on, screening is not worth its cost */

/* arms whose log gain is lower than the largest of that sample by more than this are left out */
static const double MARGIN = 0.7;

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

/* The means of one tile of arms, of which the first is `first`. */
static void compute_means(const bandit_posterior *p, const double *tile, size_t first, size_t lanes,
                          double *means)
{
    p->covariance->simd->means(p->weights, p->m, tile, means);
    for (size_t lane = 0; p->covariance->prior && lane < lanes; lane++)
        means[lane] += bandit_prior_mean_of(p->covariance->prior, first + lane);
}

/* Computes the means of one tile, and marks the arms that must be evaluated. Returns their number. */
static size_t mark(const screening *job, const double *tile, size_t first, size_t lanes, double *means,
                   bool *matters)
{
    const bandit_posterior *p = job->posterior;
    size_t n = 0;
    compute_means(p, tile, first, lanes, means);
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
    compute_means(p, tile, first, lanes, means);
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

size_t bandit_screening_scratch(const bandit_posterior *p)
{
    return p->m * BANDIT_TILE + bandit_covariance_scratch(p->covariance);
}

void bandit_screening_sharpen(const bandit_posterior *p, const uint32_t *arms, size_t n, double *variance,
                              double *scratch)
{
    uint32_t tile[BANDIT_TILE] = {0};
    double mean[BANDIT_TILE], sharp[BANDIT_TILE];
    size_t lanes = 0;
    for (size_t i = 0; i < n; i++) {
        if (variance[arms[i]] < 0.0)
            tile[lanes++] = arms[i];
        if (lanes == 0 || (lanes < BANDIT_TILE && i + 1 < n))
            continue;
        bandit_pause();
        bandit_covariance_block(p->covariance, tile, lanes, &p->points, scratch, BANDIT_TILE,
                                scratch + p->m * BANDIT_TILE);
        bandit_posterior_evaluate_tile(p, scratch, tile, lanes, mean, sharp);
        for (size_t lane = 0; lane < lanes; lane++)
            variance[tile[lane]] = sharp[lane];
        lanes = 0;
    }
}
