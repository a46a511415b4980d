/* Mean and variance of all arms under a sparse posterior, either in blocks by BLAS, or tile by tile with the
 * SIMD loops of core/simd. */
#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/base/stage_clock.h"
#include "core/posterior/prior_mean.h"
#include "core/posterior/sparse_blocks.h"
#include "core/posterior/sparse_posterior.h"

#include <assert.h>
#include <math.h>

typedef struct evaluation {
    const bandit_posterior *posterior;
    double *mean, *variance;
    double *smallest; /* per part: the smallest variance before clamping */
    double *work;     /* per worker: `stride` doubles */
    size_t stride;
} evaluation;

/* The two-norm form for a block of kernel columns, with two triangular solves: the mean and |w|^2 of each
 * row, and the residual in `variance`. */
static void plain_block(const evaluation *job, double *block, size_t rows, const double *diagonal,
                        double *mean, double *variance, double *norms)
{
    const bandit_posterior *p = job->posterior;
    size_t m = p->m;
    if (m > 0)
        bandit_solve_rows(p->L, m, block, rows);
    bandit_row_norms(block, m, rows, norms);
    for (size_t i = 0; i < rows; i++)
        variance[i] = (diagonal[i] - norms[i]) / p->lambda;
    if (m > 0)
        bandit_solve_rows(p->L_V, m, block, rows);
    bandit_row_norms(block, m, rows, norms);
    memset(mean, 0, rows * sizeof *mean);
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < rows; i++)
            mean[i] += block[k * BANDIT_BLOCK + i] * p->g[k];
    }
}

/* Evaluates part `index`, the BANDIT_BLOCK arms from index * BANDIT_BLOCK on, in the two-norm form or with R
 * by BLAS. */
static void evaluate_part(void *arg, size_t index, size_t worker)
{
    const evaluation *job = arg;
    const bandit_posterior *p = job->posterior;
    size_t n_arms = p->covariance->arms->n, m = p->m, first = index * BANDIT_BLOCK;
    size_t rows = n_arms - first < BANDIT_BLOCK ? n_arms - first : BANDIT_BLOCK;
    double *block = job->work + worker * job->stride, *scratch = block + m * BANDIT_BLOCK;
    double norms[BANDIT_BLOCK], diagonal[BANDIT_BLOCK], *mean = job->mean + first,
                                                        *variance = job->variance + first;
    uint32_t arms[BANDIT_BLOCK] = {0};

    if (bandit_pause())
        return;
    for (size_t i = 0; i < rows; i++)
        arms[i] = (uint32_t)(first + i);
    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_KERNEL);
    bandit_covariance_diagonal(p->covariance, arms, rows, diagonal);
    for (size_t i = 0; i < rows; i += BANDIT_TILE)
        bandit_covariance_tile(p->covariance, (first + i) / BANDIT_TILE, &p->points, 0, m, block + i,
                               BANDIT_BLOCK, scratch);
    bandit_stage_switch(BANDIT_STAGE_PRODUCT);
    double smallest = INFINITY;
    if (p->one_factor) {
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, (int)m, 1.0, block, BANDIT_BLOCK, p->weights, 1,
                    0.0, mean, 1);
        cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows, (int)m, 1.0,
                    p->R, (int)m, block, BANDIT_BLOCK);
        bandit_row_norms(block, m, rows, norms);
        for (size_t i = 0; i < rows; i++) {
            smallest = fmin(smallest, diagonal[i] / p->lambda - norms[i]);
            variance[i] = fmax(0.0, diagonal[i] / p->lambda - norms[i]);
        }
    } else {
        plain_block(job, block, rows, diagonal, mean, variance, norms);
        for (size_t i = 0; i < rows; i++) {
            smallest = fmin(smallest, variance[i] + norms[i]);
            variance[i] = fmax(0.0, variance[i]) + norms[i];
        }
    }
    if (p->covariance->prior)
        for (size_t i = 0; i < rows; i++)
            mean[i] += bandit_prior_mean_of(p->covariance->prior, arms[i]);
    job->smallest[index] = smallest;
    bandit_stage_switch(outer);
}

double bandit_posterior_evaluate_tile(const bandit_posterior *p, double *tile, const uint32_t *arms, size_t n,
                                      double *mean, double *variance)
{
    double norms[BANDIT_TILE] = {0.0}, means[BANDIT_TILE], diagonal[BANDIT_TILE], smallest = INFINITY;
    int m = (int)p->m;
    assert(p->one_factor && n <= BANDIT_TILE);
    if (p->covariance->simd->norms) {
        p->covariance->simd->norms(p->R, p->weights, p->m, tile, norms, means);
    } else {
        p->covariance->simd->means(p->weights, p->m, tile, means);
        cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, BANDIT_TILE, m, 1.0,
                    p->R, m, tile, BANDIT_TILE);
        for (size_t k = 0; k < p->m; k++) {
            for (size_t lane = 0; lane < BANDIT_TILE; lane++)
                norms[lane] += tile[k * BANDIT_TILE + lane] * tile[k * BANDIT_TILE + lane];
        }
    }
    bandit_covariance_diagonal(p->covariance, arms, n, diagonal);
    for (size_t lane = 0; lane < n; lane++) {
        double unclamped = diagonal[lane] / p->lambda - norms[lane];
        smallest = fmin(smallest, unclamped);
        mean[lane] = means[lane];
        variance[lane] = fmax(0.0, unclamped);
        if (p->covariance->prior)
            mean[lane] += bandit_prior_mean_of(p->covariance->prior, arms[lane]);
    }
    return smallest;
}

/* The same with the SIMD loops: from coordinates to variances on tiles of arms that stay in the processor's
 * caches. The kernel loop and the norm loop alternate after a group of tiles, not after each tile, so that
 * the time spent in each can be measured. */
static void evaluate_part_fused(void *arg, size_t index, size_t worker)
{
    enum { GROUP = 4 };
    const evaluation *job = arg;
    const bandit_posterior *p = job->posterior;
    size_t n_arms = p->covariance->arms->n, m = p->m, stride = m * BANDIT_TILE;
    size_t end = (index + 1) * BANDIT_BLOCK < n_arms ? (index + 1) * BANDIT_BLOCK : n_arms;
    double *tiles = job->work + worker * job->stride, *scratch = tiles + GROUP * stride;
    double smallest = INFINITY;

    bandit_stage outer = bandit_stage_switch(BANDIT_STAGE_KERNEL);
    for (size_t group = index * BANDIT_BLOCK; group < end && !bandit_pause();
         group += (size_t)GROUP * BANDIT_TILE) {
        bandit_stage_switch(BANDIT_STAGE_KERNEL);
        for (size_t g = 0; g < GROUP && group + g * BANDIT_TILE < end; g++)
            bandit_covariance_tile(p->covariance, group / BANDIT_TILE + g, &p->points, 0, m,
                                   tiles + g * stride, BANDIT_TILE, scratch);
        bandit_stage_switch(BANDIT_STAGE_PRODUCT);
        for (size_t g = 0; g < GROUP && group + g * BANDIT_TILE < end; g++) {
            size_t first = group + g * BANDIT_TILE, n = end - first < BANDIT_TILE ? end - first : BANDIT_TILE;
            uint32_t arms[BANDIT_TILE];
            for (size_t lane = 0; lane < n; lane++)
                arms[lane] = (uint32_t)(first + lane);
            smallest =
                fmin(smallest, bandit_posterior_evaluate_tile(p, tiles + g * stride, arms, n,
                                                              job->mean + first, job->variance + first));
        }
    }
    job->smallest[index] = smallest;
    bandit_stage_switch(outer);
}

bandit_status bandit_posterior_check_smallest(const bandit_posterior *p, double smallest, size_t first,
                                              size_t n, bandit_error *err)
{
    double limit = -fmax(p->variance_error, 1e-8 * p->covariance->kappa2 / p->lambda);
    if (smallest >= limit)
        return BANDIT_OK;
    return bandit_fail(err, BANDIT_NUMERICAL, "", "a variance of %.3g among arms %zu to %zu", smallest, first,
                       first + n - 1);
}

bandit_status bandit_posterior_evaluate_all(bandit_posterior *p, const bandit_executor *executor,
                                            double *mean, double *variance, bandit_error *err)
{
    size_t n_arms = p->covariance->arms->n, parts = bandit_pieces(n_arms, BANDIT_BLOCK);
    size_t stride = bandit_whole_tiles(p->m * BANDIT_BLOCK + bandit_covariance_scratch(p->covariance));
    if (!bandit_reserve((void **)&p->work, &p->capacity_work, executor->workers * stride + parts,
                        sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    evaluation job = {.posterior = p,
                      .mean = mean,
                      .variance = variance,
                      .smallest = p->work + executor->workers * stride,
                      .work = p->work,
                      .stride = stride};
    bandit_task *part = p->one_factor && p->covariance->simd->norms ? evaluate_part_fused : evaluate_part;
    executor->for_each(executor->context, parts, part, &job);

    bandit_status status = bandit_pause_status(err);
    if (status != BANDIT_OK)
        return status;
    for (size_t i = 0; i < parts; i++) {
        status = bandit_posterior_check_smallest(p, job.smallest[i], i * BANDIT_BLOCK, BANDIT_BLOCK, err);
        if (status != BANDIT_OK)
            return status;
    }
    return BANDIT_OK;
}
