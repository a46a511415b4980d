#include "core/insight/view.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/base/sobol.h"
#include "core/posterior/prior_mean.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the view -------------------------------------------------------------------------------------------- */

static bandit_status check_algorithm(const bandit_engine *engine, bandit_error *err)
{
    const bandit_options *o = &engine->options;
    const char *name = bandit_algorithm_name(o->algorithm);
    if (!bandit_algorithm_has_model(o->algorithm))
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "%s has no model", name);
    if (o->algorithm == BANDIT_PI_GP_UCB)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "",
                           "%s has a separate model for each cell, and none for all points", name);
    if (o->algorithm == BANDIT_S_GP_TS && o->posterior == BANDIT_POSTERIOR_FEATURES)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "the posterior on features cannot be examined");
    return BANDIT_OK;
}

static bool has_results(const bandit_engine *engine)
{
    bandit_description d;
    bandit_engine_describe(engine, &d);
    return engine->started && d.observations > 0;
}

/* Finds the engine's own posterior or, if that is not a sparse one, builds a sparse one on all pulled arms;
 * if there are many, on evenly spaced ones. */
static bandit_status find_posterior(bandit_insight *v, bandit_error *err)
{
    v->posterior = v->inner->table->posterior ? v->inner->table->posterior(v->inner) : NULL;
    if (v->posterior)
        return BANDIT_OK;
    v->posterior = &v->built;
    bandit_description d;
    bandit_engine_describe(v->inner, &d);
    size_t n = d.n_dictionary < BANDIT_VIEW_MEMBERS ? d.n_dictionary : BANDIT_VIEW_MEMBERS;
    uint32_t *members = bandit_alloc(n, sizeof *members);
    if (!members)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < n; i++)
        members[i] = d.dictionary[i * d.n_dictionary / n];
    bandit_status status = bandit_posterior_build(&v->built, &v->inner->covariance, v->inner->options.lambda,
                                                  members, n, v->sums.sums, v->sums.n_sums, err);
    free(members);
    return status;
}

bandit_status bandit_insight_new(bandit_insight **out, const bandit_engine *engine, bandit_error *err)
{
    *out = NULL;
    engine = bandit_engine_of_metric(engine, 0);
    bandit_status status = check_algorithm(engine, err);
    if (status == BANDIT_OK && !has_results(engine))
        status = bandit_fail(err, BANDIT_UNSUPPORTED, "", "the model has no results yet");
    if (status != BANDIT_OK)
        return status;
    bandit_insight *v = calloc(1, sizeof *v);
    if (!v)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    v->engine = v->inner = engine;
    if (engine->table == &bandit_refitting_table) {
        v->refits = (const bandit_refitting_engine *)(const void *)engine;
        v->inner = v->refits->inner;
    }
    bandit_engine_checkpoint(engine, &v->told);
    bandit_engine_checkpoint(v->inner, &v->sums);
    status = find_posterior(v, err);
    if (status == BANDIT_OK) {
        size_t scratch = bandit_covariance_scratch(&v->inner->covariance);
        v->block = bandit_alloc(BANDIT_VIEW_BLOCK * v->posterior->m, sizeof *v->block);
        v->diagonal = bandit_alloc(BANDIT_VIEW_BLOCK, sizeof *v->diagonal);
        v->scratch = bandit_alloc(scratch, sizeof *v->scratch);
        if (!v->block || !v->diagonal || !v->scratch)
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    if (status == BANDIT_OK)
        status = bandit_pause_status(err);
    if (status != BANDIT_OK) {
        bandit_insight_free(v);
        return status;
    }
    *out = v;
    return BANDIT_OK;
}

void bandit_insight_free(bandit_insight *v)
{
    if (!v)
        return;
    bandit_posterior_clear(&v->built);
    free(v->block);
    free(v->diagonal);
    free(v->scratch);
    for (size_t r = 0; r < BANDIT_VIEW_DRAWS; r++)
        bandit_prior_draw_clear(&v->draws[r]);
    bandit_features_clear(&v->features);
    free(v->weights);
    free(v);
}

size_t bandit_insight_inputs(const bandit_insight *v)
{
    return bandit_view_space(v) ? bandit_view_space(v)->n : bandit_view_dimension(v);
}

bandit_status bandit_view_check(const bandit_insight *v, bandit_error *err)
{
    size_t inputs = bandit_insight_inputs(v), least = 2 * inputs + 2;
    bandit_description d;
    bandit_engine_describe(v->engine, &d);
    if (inputs == 0)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "", "a precomputed kernel has no features");
    if (d.observations < least)
        return bandit_fail(err, BANDIT_UNSUPPORTED, "",
                           "it is too early to say: the model has %llu results, and %zu are needed",
                           (unsigned long long)d.observations, least);
    return BANDIT_OK;
}

double bandit_view_unit(const bandit_insight *v)
{
    return v->refits ? bandit_fitted_unit(&v->refits->fitted) : 1.0;
}

void bandit_insight_in_reward_units(const bandit_insight *v, bandit_prediction *p, size_t n)
{
    if (v->refits)
        bandit_refitting_in_reward_units(v->refits, p, n);
}

/* ---- functions ------------------------------------------------------------------------------------------- */

/* Kernel columns of n <= BANDIT_VIEW_BLOCK points: block[j * BANDIT_VIEW_BLOCK + i] = k(x_i, member j). */
static void kernel_columns(bandit_insight *v, const double *coordinates, size_t n)
{
    bandit_covariance_block_at(&v->inner->covariance, coordinates, n, &v->posterior->points, v->block,
                               BANDIT_VIEW_BLOCK, v->diagonal, v->scratch);
}

/* out[c * ld + i] = sum_j weights[c * m + j] k(x_i, member j) for c < columns. */
static void combine(bandit_insight *v, const double *weights, size_t columns, const double *coordinates,
                    size_t n, double *out, size_t ld)
{
    size_t d = bandit_view_dimension(v), m = v->posterior->m;
    for (size_t first = 0; first < n; first += BANDIT_VIEW_BLOCK) {
        size_t rows = n - first < BANDIT_VIEW_BLOCK ? n - first : BANDIT_VIEW_BLOCK;
        bandit_pause();
        kernel_columns(v, coordinates + first * d, rows);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, (int)m, 1.0, v->block,
                    BANDIT_VIEW_BLOCK, weights, (int)m, 0.0, out + first, (int)ld);
    }
}

/* out[c * ld + i] += the prior mean at point i, for c < columns. */
static void add_prior_mean(bandit_insight *v, size_t columns, const double *coordinates, size_t n,
                           double *out, size_t ld)
{
    const bandit_prior_mean *prior = v->inner->covariance.prior;
    size_t d = bandit_view_dimension(v);
    for (size_t i = 0; prior && i < n; i++) {
        double value = bandit_prior_mean_at(prior, coordinates + i * d);
        bandit_pause_at(i);
        for (size_t c = 0; c < columns; c++)
            out[c * ld + i] += value;
    }
}

void bandit_view_means(bandit_insight *v, const double *coordinates, size_t n, double *out)
{
    combine(v, v->posterior->weights, 1, coordinates, n, out, n);
    add_prior_mean(v, 1, coordinates, n, out, n);
}

static bandit_status reserve_functions(bandit_insight *v, bandit_error *err)
{
    const bandit_covariance *covariance = &v->inner->covariance;
    bool linear = covariance->profile == BANDIT_PROFILE_LINEAR;
    v->weights = bandit_alloc(v->posterior->m * BANDIT_VIEW_DRAWS, sizeof *v->weights);
    if (!v->weights)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status =
        bandit_features_init(&v->features, linear ? BANDIT_EXPANSION_LINEAR : BANDIT_EXPANSION_FOURIER,
                             covariance, BANDIT_VIEW_FEATURES, err);
    for (size_t r = 0; status == BANDIT_OK && r < BANDIT_VIEW_DRAWS; r++)
        status = bandit_prior_draw_init(&v->draws[r], &v->features, err);
    v->has_room = status == BANDIT_OK;
    return status;
}

/* Draws the samples' weights, and their random features, which depend only on the number of the sample. */
static bandit_status draw_functions(bandit_insight *v, bandit_svgp_sampler *sampler, size_t first,
                                    bandit_error *err)
{
    uint64_t seed = v->inner->options.seed ^ UINT64_C(0x9e3779b97f4a7c15), batch = v->engine->batch;
    size_t m = v->posterior->m;
    bandit_status status =
        bandit_svgp_sampler_prepare(sampler, v->posterior, &v->features, &bandit_executor_serial, err);
    for (size_t r = 0; status == BANDIT_OK && r < BANDIT_VIEW_DRAWS; r++) {
        bandit_svgp_draw(sampler, 1.0, seed, batch, first + r);
        memcpy(v->weights + r * m, sampler->weight, m * sizeof *v->weights);
        bandit_features_draw(&v->features, seed, batch, first + r, &v->draws[r]);
        status = bandit_pause_status(err);
    }
    return status;
}

bandit_status bandit_view_draw(bandit_insight *v, size_t first, bandit_error *err)
{
    if (v->has_draws && v->first_draw == first)
        return BANDIT_OK;
    bandit_svgp_sampler sampler = {0};
    bandit_status status = v->has_room ? BANDIT_OK : reserve_functions(v, err);
    if (status == BANDIT_OK)
        status = draw_functions(v, &sampler, first, err);
    bandit_svgp_sampler_clear(&sampler);
    v->has_draws = status == BANDIT_OK;
    v->first_draw = first;
    return status;
}

/* Adds the random part of every function at the lanes of one tile of points. */
static void add_features(bandit_insight *v, const double *coordinates, size_t lanes, double *out, size_t ld)
{
    size_t d = bandit_view_dimension(v);
    double *tile = v->scratch, sum[BANDIT_TILE]; /* the scratch of the kernel holds a tile */
    for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
        for (size_t j = 0; j < d; j++)
            tile[j * BANDIT_TILE + lane] = lane < lanes ? coordinates[lane * d + j] : 0.0;
    }
    for (size_t r = 0; r < BANDIT_VIEW_DRAWS; r++) {
        bandit_features_evaluate(&v->features, &v->draws[r], tile, sum, NULL);
        for (size_t lane = 0; lane < lanes; lane++)
            out[r * ld + lane] += sum[lane];
    }
}

void bandit_view_values(bandit_insight *v, const double *coordinates, size_t n, double *out, size_t ld)
{
    size_t d = bandit_view_dimension(v);
    combine(v, v->weights, BANDIT_VIEW_DRAWS, coordinates, n, out, ld);
    for (size_t first = 0; first < n; first += BANDIT_TILE) {
        size_t lanes = n - first < BANDIT_TILE ? n - first : BANDIT_TILE;
        bandit_pause_at(first * BANDIT_VIEW_DRAWS);
        add_features(v, coordinates + first * d, lanes, out + first, ld);
    }
    add_prior_mean(v, BANDIT_VIEW_DRAWS, coordinates, n, out, ld);
}

/* The mean of k(x_j, x_l) over all pairs of n points. Errors: BANDIT_NO_MEMORY. */
static bandit_status mean_covariance(bandit_insight *v, const double *coordinates, size_t n, double *out,
                                     bandit_error *err)
{
    const bandit_covariance *covariance = &v->inner->covariance;
    size_t d = covariance->dimension, ld = bandit_whole(n, BANDIT_TILE);
    bandit_points points = {.n = n};
    double sum = 0.0;
    points.features = bandit_alloc(n * d, sizeof *points.features);
    double *block = bandit_alloc(ld * n, sizeof *block), *diagonal = bandit_alloc(ld, sizeof *diagonal);
    if (!points.features || !block || !diagonal) {
        free(points.features);
        free(block);
        free(diagonal);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; i < n * d; i++)
        points.features[i] = coordinates[i] * covariance->factor[i % d];
    bandit_covariance_block_at(covariance, coordinates, n, &points, block, ld, diagonal, v->scratch);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++)
            sum += block[j * ld + i];
    }
    *out = sum / ((double)n * (double)n);
    free(points.features);
    free(block);
    free(diagonal);
    return BANDIT_OK;
}

bandit_status bandit_view_average(bandit_insight *v, const double *coordinates, size_t n, double *mean,
                                  double *variance, bandit_error *err)
{
    const bandit_posterior *p = v->posterior;
    int m = (int)p->m;
    double own, *bar = bandit_alloc(p->m, sizeof *bar);
    if (!bar)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_status status = mean_covariance(v, coordinates, n, &own, err);
    kernel_columns(v, coordinates, n);
    for (size_t j = 0; j < p->m; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < n; i++)
            sum += v->block[j * BANDIT_VIEW_BLOCK + i];
        bar[j] = sum / (double)n;
    }
    if (status == BANDIT_OK) {
        *mean = cblas_ddot(m, p->weights, 1, bar, 1);
        const bandit_prior_mean *prior = v->inner->covariance.prior;
        for (size_t i = 0; prior && i < n; i++)
            *mean += bandit_prior_mean_at(prior, coordinates + i * bandit_view_dimension(v)) / (double)n;
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, p->L, m, bar, 1);
        double known = cblas_ddot(m, bar, 1, bar, 1);
        cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, p->L_V, m, bar, 1);
        *variance = fmax(0.0, own - known) + p->lambda * cblas_ddot(m, bar, 1, bar, 1);
        status = bandit_pause_status(err);
    }
    free(bar);
    return status;
}

/* ---- points ---------------------------------------------------------------------------------------------- */

double bandit_view_uniform(const bandit_insight *v, uint32_t index, size_t j)
{
    uint64_t seed = v->inner->options.seed;
    if (j >= BANDIT_SOBOL_DIMENSIONS)
        return bandit_random_uniform(seed, 0, BANDIT_PURPOSE_INSIGHT, (uint64_t)(j + 1) << 32 | index);
    uint32_t shift = (uint32_t)bandit_random_bits(seed, 0, BANDIT_PURPOSE_INSIGHT, j);
    return ldexp((double)(bandit_sobol(index, j) ^ shift) + 0.5, -32);
}

bandit_status bandit_view_arms(const bandit_insight *v, uint32_t **arms, double **coordinates, size_t *n,
                               bandit_error *err)
{
    const bandit_arms *all = v->inner->arms;
    size_t d = all->dimension, count = all->n < BANDIT_VIEW_ARMS ? all->n : BANDIT_VIEW_ARMS;
    *arms = bandit_alloc(count, sizeof **arms);
    *coordinates = bandit_alloc(count * d, sizeof **coordinates);
    *n = count;
    if (!*arms || !*coordinates)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < count; i++) {
        (*arms)[i] = (uint32_t)(i * all->n / count);
        for (size_t j = 0; j < d; j++)
            (*coordinates)[i * d + j] = bandit_arms_feature(all, (*arms)[i], j);
    }
    return BANDIT_OK;
}
