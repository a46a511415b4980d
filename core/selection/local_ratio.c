#include "core/selection/local_ratio.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256, MAX_COLUMNS = 32, COLUMN_BYTES = 32 << 20 };

static size_t parts_of(size_t n)
{
    return bandit_pieces(n, BLOCK);
}

static size_t worker_stride(const bandit_posterior *posterior)
{
    return bandit_aligned_doubles((posterior->m + 1) * BANDIT_TILE +
                                  bandit_covariance_scratch(posterior->covariance));
}

bandit_status bandit_local_ratio_start(bandit_local_ratio *r, const bandit_posterior *posterior,
                                       const double *variance, double bound, bandit_error *err)
{
    size_t n = posterior->covariance->arms->n, m = bandit_aligned_doubles(posterior->m);
    size_t columns = COLUMN_BYTES / (2 * n * sizeof(double));
    columns = columns < 2 ? 2 : columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
    size_t work = 2 * m + bandit_posterior_scratch(posterior) + 8 + parts_of(n);
    if (!bandit_reserve((void **)&r->projections, &r->capacity_sums, 2 * n, sizeof(double)) ||
        !bandit_reserve((void **)&r->columns, &r->capacity_columns, columns * 2 * n, sizeof(double)) ||
        !bandit_reserve((void **)&r->column_arms, &r->capacity_column_arms, columns, sizeof(uint32_t)) ||
        !bandit_reserve((void **)&r->work, &r->capacity_work, work, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for the sums of the global-local rule");
    r->posterior = posterior;
    r->variance = variance;
    r->n_arms = n;
    r->covariances = r->projections + n;
    memset(r->projections, 0, 2 * n * sizeof(double));
    r->bound = bound;
    r->running = false;
    r->n_columns = columns;
    r->used_columns = r->next_column = 0;
    r->workers = 0;
    return BANDIT_OK;
}

bandit_status bandit_local_ratio_prepare(bandit_local_ratio *r, size_t workers, bandit_error *err)
{
    if (!bandit_reserve((void **)&r->workers_work, &r->capacity_workers_work,
                        workers * worker_stride(r->posterior), sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for the sums of the global-local rule");
    r->workers = workers;
    return BANDIT_OK;
}

void bandit_local_ratio_clear(bandit_local_ratio *r)
{
    free(r->projections);
    free(r->columns);
    free(r->column_arms);
    free(r->work);
    free(r->workers_work);
    *r = (bandit_local_ratio){0};
}

typedef struct column_job {
    bandit_local_ratio *ratio;
    const double *projection; /* m: w(x)'w_s = projection' k(x) */
    const double *explained;  /* m: z(x)'z_s = explained' k(x) */
    bandit_points pick;       /* the pick, as the only point */
    double *column;           /* 2 n_arms */
    double *workers;
    size_t stride;
} column_job;

static void column_part(void *arg, size_t index, size_t worker)
{
    const column_job *job = arg;
    const bandit_posterior *p = job->ratio->posterior;
    size_t n = job->ratio->n_arms, m = p->m, end = (index + 1) * BLOCK < n ? (index + 1) * BLOCK : n;
    double *block = job->workers + worker * job->stride, *own = block + m * BANDIT_TILE,
           *scratch = own + BANDIT_TILE;
    for (size_t first = index * BLOCK; first < end; first += BANDIT_TILE) {
        double projected[BANDIT_TILE], explained[BANDIT_TILE];
        bandit_covariance_tile(p->covariance, first / BANDIT_TILE, &p->points, 0, m, block, BANDIT_TILE,
                               scratch);
        bandit_covariance_tile(p->covariance, first / BANDIT_TILE, &job->pick, 0, 1, own, BANDIT_TILE,
                               scratch);
        p->covariance->simd->means(job->projection, m, block, projected);
        p->covariance->simd->means(job->explained, m, block, explained);
        for (size_t lane = 0; lane < BANDIT_TILE && first + lane < n; lane++) {
            double covariance = (own[lane] - explained[lane]) / p->lambda + projected[lane];
            job->column[first + lane] = projected[lane] * projected[lane];
            job->column[n + first + lane] = covariance * covariance;
        }
    }
}

static const double *column(const bandit_local_ratio *r, size_t index)
{
    return r->columns + index * 2 * r->n_arms;
}

/* Index of the kept column of squares for one pick. If there is none, it is computed now, in another place
 * than the column of the open run. */
static size_t column_of(bandit_local_ratio *r, uint32_t arm, const bandit_executor *executor)
{
    const bandit_posterior *p = r->posterior;
    int m = (int)p->m;
    size_t padded = bandit_aligned_doubles(p->m), d = p->covariance->dimension;
    for (size_t i = 0; i < r->used_columns; i++) {
        if (r->column_arms[i] == arm)
            return i;
    }
    size_t index = r->next_column;
    if (r->running && index == r->run_column)
        index = (index + 1) % r->n_columns;
    r->next_column = (index + 1) % r->n_columns;
    if (r->used_columns <= index)
        r->used_columns = index + 1;
    r->column_arms[index] = arm;

    double *projection = r->work, *explained = projection + padded, *scratch = explained + padded;
    column_job job = {.ratio = r,
                      .projection = projection,
                      .explained = explained,
                      .column = r->columns + index * 2 * r->n_arms,
                      .workers = r->workers_work,
                      .stride = worker_stride(p)};
    bandit_posterior_embed(p, arm, projection, scratch);
    if (m > 0) {
        /* w = L_V^{-1} L^{-1} k: projection = L^{-T} L_V^{-T} w_s; explained = L^{-T} z_s, z_s = L_V w_s. */
        cblas_dcopy(m, projection, 1, explained, 1);
        cblas_dtrmv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, p->L_V, m, explained, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L, m, explained, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L_V, m, projection, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L, m, projection, 1);
    }
    /* The pick as a point, with its coordinates multiplied by the kernel's factors. */
    double *coordinates = scratch;
    for (size_t j = 0; j < d; j++)
        coordinates[j] = bandit_arms_feature(p->covariance->arms, arm, j) * p->covariance->factor[j];
    job.pick = (bandit_points){.n = 1, .arms = &arm, .features = coordinates};
    assert(executor->workers <= r->workers);
    executor->for_each(executor->context, parts_of(r->n_arms), column_part, &job);
    return index;
}

typedef struct run_job {
    bandit_local_ratio *ratio;
    const double *ended;  /* column of the run that ends, or NULL */
    const double *begins; /* column of the run that starts */
    double *room;         /* one entry per part */
} run_job;

/* Lowers `room`, a number of pulls, if `sum` would exceed `limit` after that many pulls that each add `step`
 * to it. */
static double less_room(double room, double limit, double sum, double step)
{
    double left = limit - sum;
    if (left < 0.0)
        return -1.0;
    return left < room * step ? left / step : room;
}

/* Adds the run that ends to the sums, and computes how many pulls the run that starts may have. */
static void run_part(void *arg, size_t index, size_t worker)
{
    const run_job *job = arg;
    bandit_local_ratio *r = job->ratio;
    size_t n = r->n_arms, end = (index + 1) * BLOCK < n ? (index + 1) * BLOCK : n;
    double room = INFINITY, nothing = r->posterior->variance_error, count = (double)r->run_count;
    (void)worker;
    for (size_t a = index * BLOCK; a < end; a++) {
        if (job->ended) {
            r->projections[a] += count * job->ended[a];
            r->covariances[a] += count * job->ended[n + a];
        }
        /* A variance within rounding of 0 has no meaningful ratio and is treated as 0. */
        if (r->variance[a] > nothing) {
            double limit = (r->bound - 1.0) * r->variance[a];
            room = less_room(room, limit, r->projections[a], job->begins[a]);
            room = less_room(room, limit, r->covariances[a], job->begins[n + a]);
        }
    }
    job->room[index] = room;
}

void bandit_local_ratio_add(bandit_local_ratio *r, uint32_t arm, uint64_t count,
                            const bandit_executor *executor)
{
    size_t padded = bandit_aligned_doubles(r->posterior->m), parts = parts_of(r->n_arms);
    if (r->running && r->run_arm == arm) {
        r->run_count += count;
        return;
    }
    size_t index = column_of(r, arm, executor);
    run_job job = {.ratio = r,
                   .ended = r->running ? column(r, r->run_column) : NULL,
                   .begins = column(r, index),
                   .room =
                       r->work + 2 * padded + bandit_aligned_doubles(bandit_posterior_scratch(r->posterior))};
    executor->for_each(executor->context, parts, run_part, &job);
    r->running = true;
    r->run_arm = arm;
    r->run_column = index;
    r->run_count = count;
    r->run_room = INFINITY;
    for (size_t i = 0; i < parts; i++)
        r->run_room = fmin(r->run_room, job.room[i]);
}

bool bandit_local_ratio_exceeded(const bandit_local_ratio *r)
{
    return r->running && (double)r->run_count > r->run_room;
}

size_t bandit_local_ratio_memory(const bandit_local_ratio *r)
{
    return (r->capacity_sums + r->capacity_columns + r->capacity_work + r->capacity_workers_work) *
               sizeof(double) +
           r->capacity_column_arms * sizeof(uint32_t);
}
