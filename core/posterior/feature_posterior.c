#include "core/posterior/feature_posterior.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "core/posterior/ledger.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Memory for evaluating features at BANDIT_TILE points: the points' coordinates, dimension x BANDIT_TILE, and
 * scratch. */
typedef struct tile_space {
    double *tile, *scratch;
} tile_space;

static size_t scratch_size(const bandit_features *features)
{
    return features->dimension * BANDIT_TILE + bandit_features_scratch(features);
}

static tile_space tile_space_of(const bandit_features *features, double *scratch)
{
    return (tile_space){.tile = scratch, .scratch = scratch + features->dimension * BANDIT_TILE};
}

static void gather_arm(const bandit_features *features, uint32_t arm, size_t lane, double *tile)
{
    for (size_t k = 0; k < features->dimension; k++)
        tile[k * BANDIT_TILE + lane] = bandit_arms_feature(features->covariance->arms, arm, k);
}

static bool reserve(bandit_feature_posterior *p, const bandit_features *features, size_t m)
{
    return bandit_reserve((void **)&p->L_V, &p->capacity_L_V, m * m, sizeof(double)) &&
           bandit_reserve((void **)&p->g, &p->capacity_g, m, sizeof(double)) &&
           bandit_reserve((void **)&p->z, &p->capacity_z, m * BANDIT_TILE, sizeof(double)) &&
           bandit_reserve((void **)&p->scratch, &p->capacity_scratch, scratch_size(features), sizeof(double));
}

/* Fills p->z with the feature rows of up to BANDIT_TILE pulled arms. Returns how many. */
static size_t rows_of(bandit_feature_posterior *p, const bandit_arm_sum *sums, size_t n)
{
    tile_space space = tile_space_of(p->features, p->scratch);
    size_t lanes = n < BANDIT_TILE ? n : BANDIT_TILE;
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        gather_arm(p->features, sums[lane < lanes ? lane : 0].arm, lane, space.tile);
    bandit_features_columns(p->features, space.tile, p->m, p->z, space.scratch);
    return lanes;
}

/* Adds the contribution of these arms to V (lower triangle, in L_V) and to sum r z (in g). */
static void accumulate(bandit_feature_posterior *p, const bandit_arm_sum *sums, size_t n)
{
    int m = (int)p->m;
    size_t lanes = rows_of(p, sums, n);
    double root[BANDIT_TILE] = {0};
    for (size_t lane = 0; lane < lanes; lane++) {
        root[lane] = sqrt(bandit_precision(&sums[lane]));
        cblas_daxpy(m, bandit_weighted_sum(&sums[lane]), p->z + lane, BANDIT_TILE, p->g, 1);
    }
    for (size_t j = 0; j < p->m; j++) {
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            p->z[j * BANDIT_TILE + lane] *= root[lane];
    }
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, m, BANDIT_TILE, 1.0, p->z, BANDIT_TILE, 1.0, p->L_V,
                m);
}

/* The prediction for one row of z, which begins at `row` and is overwritten by w. */
static bandit_embedding embed_row(const bandit_feature_posterior *p, double *row)
{
    int m = (int)p->m;
    double explained = cblas_ddot(m, row, BANDIT_TILE, row, BANDIT_TILE);
    /* k(x, x). For a linear kernel the coordinates explain all of it; the other kernels are stationary with
     * k(x, x) = 1. */
    double k_self = p->features->expansion == BANDIT_EXPANSION_LINEAR ? explained : 1.0;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, p->L_V, m, row, BANDIT_TILE);
    return (bandit_embedding){.mean = cblas_ddot(m, row, BANDIT_TILE, p->g, 1),
                              .residual = fmax(0.0, k_self - explained) / p->lambda,
                              .norm2 = cblas_ddot(m, row, BANDIT_TILE, row, BANDIT_TILE)};
}

bandit_status bandit_feature_posterior_build(bandit_feature_posterior *p, const bandit_features *features,
                                             size_t m, double lambda, const bandit_arm_sum *sums,
                                             size_t n_sums, bandit_error *err)
{
    assert(m > 0 && m <= features->n && features->expansion != BANDIT_EXPANSION_FOURIER);
    assert(features->expansion != BANDIT_EXPANSION_LINEAR || m == features->n);
    p->features = NULL;
    if (!reserve(p, features, m))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    p->features = features;
    p->lambda = lambda;
    p->m = m;
    memset(p->L_V, 0, m * m * sizeof(double));
    memset(p->g, 0, m * sizeof(double));
    for (size_t first = 0; first < n_sums; first += BANDIT_TILE)
        accumulate(p, sums + first, n_sums - first);
    for (size_t j = 0; j < m; j++)
        p->L_V[j * m + j] += lambda;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', (lapack_int)m, p->L_V, (lapack_int)m) != 0) {
        p->features = NULL;
        return bandit_fail(err, BANDIT_NUMERICAL, "",
                           "the posterior on %zu features is not positive definite", m);
    }
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, p->L_V, (int)m, p->g, 1);
    p->log_det_ratio = -(double)m * log(lambda);
    for (size_t j = 0; j < m; j++)
        p->log_det_ratio += 2.0 * log(p->L_V[j * m + j]);
    p->effective_dimension = 0.0;
    for (size_t first = 0; first < n_sums; first += BANDIT_TILE) {
        size_t lanes = rows_of(p, sums + first, n_sums - first);
        for (size_t lane = 0; lane < lanes; lane++) {
            const bandit_arm_sum *sum = &sums[first + lane];
            bandit_embedding e = embed_row(p, p->z + lane);
            p->effective_dimension += bandit_precision(sum) * (e.residual + e.norm2);
        }
    }
    return BANDIT_OK;
}

void bandit_feature_posterior_clear(bandit_feature_posterior *p)
{
    free(p->L_V);
    free(p->g);
    free(p->z);
    free(p->scratch);
    *p = (bandit_feature_posterior){0};
}

double bandit_feature_posterior_mean_norm(bandit_feature_posterior *p)
{
    int m = (int)p->m;
    cblas_dcopy(m, p->g, 1, p->z, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L_V, m, p->z, 1);
    return cblas_dnrm2(m, p->z, 1);
}

bandit_embedding bandit_feature_posterior_embed(bandit_feature_posterior *p, uint32_t arm)
{
    const bandit_arm_sum alone = {.arm = arm};
    rows_of(p, &alone, 1);
    return embed_row(p, p->z);
}

bandit_status bandit_feature_posterior_predict(const bandit_feature_posterior *p, double width,
                                               const uint32_t *arms, const double *coordinates, size_t n,
                                               bandit_prediction *out, bandit_error *err)
{
    const bandit_features *features = p->features;
    size_t d = features->dimension;
    double *z = bandit_alloc(p->m * BANDIT_TILE, sizeof *z);
    double *scratch = bandit_alloc(scratch_size(features), sizeof *scratch);
    bandit_status status = z && scratch ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        tile_space space = tile_space_of(features, scratch);
        memset(space.tile, 0, d * BANDIT_TILE * sizeof(double));
        if (arms)
            gather_arm(features, arms[i], 0, space.tile);
        else
            cblas_dcopy((int)d, coordinates + i * d, 1, space.tile, BANDIT_TILE);
        bandit_features_columns(features, space.tile, p->m, z, space.scratch);
        bandit_embedding e = embed_row(p, z);
        out[i] = bandit_embedding_prediction(e, p->lambda, width);
    }
    free(z);
    free(scratch);
    return status;
}

void bandit_feature_posterior_draw(const bandit_feature_posterior *p, double alpha, uint64_t seed,
                                   uint64_t batch, uint64_t sample, bandit_prior_draw *draw)
{
    int m = (int)p->m;
    double *weight = draw->weight, width = alpha * sqrt(p->lambda);
    bandit_features_draw(p->features, seed, batch, sample, draw);
    for (size_t j = 0; j < p->m; j++)
        weight[j] = p->g[j] + width * weight[j];
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L_V, m, weight, 1);
    for (size_t j = p->m; j < p->features->n; j++)
        weight[j] *= alpha;
}

size_t bandit_feature_posterior_memory(const bandit_feature_posterior *p)
{
    return (p->capacity_L_V + p->capacity_g + p->capacity_z + p->capacity_scratch) * sizeof(double);
}
