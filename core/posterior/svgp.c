#include "core/posterior/svgp.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

/* Number of tiles in one part of an argmax. */
enum { PART = 16 };

static size_t schedule(double value, size_t most)
{
    return (size_t)fmin((double)most, fmax(1.0, ceil(value)));
}

size_t bandit_svgp_inducing_for(const bandit_kernel *kernel, bandit_posterior_kind kind, size_t dimension,
                                uint64_t horizon)
{
    double d = (double)dimension, T = (double)horizon;
    double gap = kind == BANDIT_POSTERIOR_FEATURES ? 2.0 * kernel->nu : 2.0 * kernel->nu - d;
    switch (kernel->type) {
    case BANDIT_KERNEL_MATERN:
        return schedule(gap > 0.0 ? pow(T, d / gap) : INFINITY, BANDIT_MAX_INDUCING);
    case BANDIT_KERNEL_GAUSSIAN:
        return schedule(pow(log(T), 0.5 * d), BANDIT_MAX_INDUCING);
    case BANDIT_KERNEL_LINEAR:
    case BANDIT_KERNEL_PRECOMPUTED:
        break;
    }
    return schedule(d, BANDIT_MAX_INDUCING);
}

size_t bandit_svgp_features_for(const bandit_kernel *kernel, size_t dimension, uint64_t horizon)
{
    double d = (double)dimension, T = (double)horizon;
    switch (kernel->type) {
    case BANDIT_KERNEL_MATERN:
        return schedule(pow(T, 1.5 * d / kernel->nu), BANDIT_MAX_PRIOR_FEATURES);
    case BANDIT_KERNEL_GAUSSIAN:
        return schedule(pow(log(T), d), BANDIT_MAX_PRIOR_FEATURES);
    case BANDIT_KERNEL_LINEAR:
    case BANDIT_KERNEL_PRECOMPUTED:
        break;
    }
    return schedule(d, BANDIT_MAX_PRIOR_FEATURES);
}

double bandit_svgp_bound(const bandit_posterior *posterior, uint64_t observations, double sum_squares)
{
    /* b'B^{-1}b / tau = |g|^2; log det(Q + tau I) = log det V − m log tau + t log tau */
    const double two_pi = 6.283185307179586476925;
    double explained =
        posterior->m > 0 ? cblas_ddot((int)posterior->m, posterior->g, 1, posterior->g, 1) : 0.0;
    double fit = (sum_squares - explained) / posterior->lambda;
    double log_det = posterior->log_det_ratio + (double)observations * log(two_pi * posterior->lambda);
    return -0.5 * (fit + log_det + posterior->residual_sum);
}

bandit_status bandit_svgp_sampler_prepare(bandit_svgp_sampler *sampler, const bandit_posterior *posterior,
                                          const bandit_features *features, const bandit_executor *executor,
                                          bandit_error *err)
{
    size_t m = posterior->m;
    size_t stride = m * BANDIT_TILE + bandit_features_scratch(features) + BANDIT_TILE +
                    bandit_covariance_scratch(posterior->covariance);
    size_t n_parts = bandit_pieces(posterior->covariance->arms->n_tiles, PART);
    stride = bandit_whole_tiles(stride);
    if (sampler->features != features) {
        bandit_prior_draw_clear(&sampler->draw);
        sampler->features = NULL;
        bandit_status status = bandit_prior_draw_init(&sampler->draw, features, err);
        if (status != BANDIT_OK)
            return status;
        sampler->features = features;
    }
    if (!bandit_reserve((void **)&sampler->weight, &sampler->capacity_weight, m, sizeof(double)) ||
        !bandit_reserve((void **)&sampler->work, &sampler->capacity_work, m, sizeof(double)) ||
        !bandit_reserve((void **)&sampler->scratch, &sampler->capacity_scratch, stride * executor->workers,
                        sizeof(double)) ||
        !bandit_reserve((void **)&sampler->best, &sampler->capacity_best, n_parts, sizeof *sampler->best))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    sampler->posterior = posterior;
    sampler->stride = stride;
    sampler->n_parts = n_parts;
    sampler->workers = executor->workers;
    return BANDIT_OK;
}

void bandit_svgp_sampler_clear(bandit_svgp_sampler *sampler)
{
    bandit_prior_draw_clear(&sampler->draw);
    free(sampler->weight);
    free(sampler->work);
    free(sampler->scratch);
    free(sampler->best);
    *sampler = (bandit_svgp_sampler){0};
}

/* work = f(Z), one tile of members at a time. */
static void prior_at_inducing(bandit_svgp_sampler *s)
{
    const bandit_posterior *p = s->posterior;
    const bandit_arms *arms = p->covariance->arms;
    size_t d = arms->dimension;
    double values[BANDIT_TILE], *tile = s->scratch, *scratch = s->scratch + d * BANDIT_TILE;
    for (size_t first = 0; first < p->m; first += BANDIT_TILE) {
        size_t lanes = p->m - first < BANDIT_TILE ? p->m - first : BANDIT_TILE;
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            uint32_t arm = p->points.arms[first + (lane < lanes ? lane : 0)];
            for (size_t k = 0; k < d; k++)
                tile[k * BANDIT_TILE + lane] = bandit_arms_feature(arms, arm, k);
        }
        bandit_features_evaluate(s->features, &s->draw, tile, values, scratch);
        cblas_dcopy((int)lanes, values, 1, s->work + first, 1);
    }
}

void bandit_svgp_draw(bandit_svgp_sampler *sampler, double alpha, uint64_t seed, uint64_t batch,
                      uint64_t sample)
{
    const bandit_posterior *p = sampler->posterior;
    int m = (int)p->m;
    sampler->alpha = alpha;
    bandit_features_draw(sampler->features, seed, batch, sample, &sampler->draw);
    if (m == 0)
        return;

    double *v = sampler->weight, *f = sampler->work, width = alpha * sqrt(p->lambda);
    uint64_t first = sample << 40 | (uint64_t)1 << 39; /* the prior's random numbers have smaller indices */
    for (size_t j = 0; j < p->m; j++)
        v[j] = p->g[j] + width * bandit_random_normal(seed, batch, BANDIT_PURPOSE_POSTERIOR, first + j);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L_V, m, v, 1);
    prior_at_inducing(sampler);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, p->L, m, f, 1);
    cblas_daxpy(m, -alpha, f, 1, v, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L, m, v, 1);
}

void bandit_svgp_evaluate(const bandit_svgp_sampler *sampler, size_t tile, double *out, double *scratch)
{
    const bandit_posterior *p = sampler->posterior;
    double *block = scratch, *rest = scratch + p->m * BANDIT_TILE;
    bandit_features_evaluate(sampler->features, &sampler->draw, bandit_arms_tile(p->covariance->arms, tile),
                             out, rest);
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        out[lane] *= sampler->alpha;
    bandit_covariance_tile(p->covariance, tile, &p->points, 0, p->m, block, BANDIT_TILE, rest);
    for (size_t j = 0; j < p->m; j++) {
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            out[lane] += sampler->weight[j] * block[j * BANDIT_TILE + lane];
    }
}

typedef struct argmax_job {
    const bandit_svgp_sampler *sampler;
    const uint32_t *withheld;
    size_t n_withheld;
} argmax_job;

static void argmax_part(void *arg, size_t index, size_t worker)
{
    const argmax_job *job = arg;
    const bandit_svgp_sampler *sampler = job->sampler;
    const bandit_arms *arms = sampler->posterior->covariance->arms;
    double values[BANDIT_TILE], *scratch = sampler->scratch + worker * sampler->stride;
    size_t end = (index + 1) * PART < arms->n_tiles ? (index + 1) * PART : arms->n_tiles;
    size_t next = bandit_arm_place(job->withheld, job->n_withheld, (uint32_t)(index * PART * BANDIT_TILE));
    bandit_best_arm best = {.found = false};
    for (size_t tile = index * PART; tile < end; tile++) {
        bandit_svgp_evaluate(sampler, tile, values, scratch);
        for (size_t lane = 0; lane < BANDIT_TILE && tile * BANDIT_TILE + lane < arms->n; lane++) {
            uint32_t arm = (uint32_t)(tile * BANDIT_TILE + lane);
            if (next < job->n_withheld && job->withheld[next] == arm) {
                next++;
                continue;
            }
            if (!best.found || values[lane] > best.value)
                best = (bandit_best_arm){.value = values[lane], .arm = arm, .found = true};
        }
    }
    sampler->best[index] = best;
}

bool bandit_svgp_argmax(const bandit_svgp_sampler *sampler, const bandit_executor *executor,
                        const uint32_t *withheld, size_t n_withheld, uint32_t *arm)
{
    assert(executor->workers <= sampler->workers);
    argmax_job job = {.sampler = sampler, .withheld = withheld, .n_withheld = n_withheld};
    bandit_best_arm best = {.found = false};
    executor->for_each(executor->context, sampler->n_parts, argmax_part, &job);
    for (size_t i = 0; i < sampler->n_parts; i++) {
        if (sampler->best[i].found && (!best.found || sampler->best[i].value > best.value))
            best = sampler->best[i];
    }
    *arm = best.arm;
    return best.found;
}

size_t bandit_svgp_sampler_memory(const bandit_svgp_sampler *sampler)
{
    size_t doubles = sampler->capacity_weight + sampler->capacity_work + sampler->capacity_scratch;
    if (sampler->features)
        doubles += sampler->features->expansion == BANDIT_EXPANSION_FOURIER
                       ? sampler->features->n / 2 * (sampler->features->dimension + 2)
                       : sampler->features->n;
    return doubles * sizeof(double) + sampler->capacity_best * sizeof *sampler->best;
}
