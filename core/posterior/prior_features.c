#include "core/posterior/prior_features.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.141592653589793238463;

/* cos(2 pi t). Taking the fraction of t is exact, so that large arguments lose no accuracy beyond that of t
 * itself. With h = 1/4 − |fraction| the result is sin(2 pi h), |2 pi h| <= pi/2, by a Taylor series to y^19
 * with an error of 3e-16. Arguments out of range (|t| >= 2^51, infinite, NaN) give some value in [−1, 1].
 * There are no branches, so that the compiler can vectorize it. */
static inline __attribute__((always_inline)) double cosine_of_turns(double t)
{
    const double to_integer = 0x1.8p52;
    double fraction = t - ((t + to_integer) - to_integer);
    fraction = fraction < 0.0 ? -fraction : fraction;
    fraction = fraction < 0.5 ? fraction : 0.5;
    double y = (0.25 - fraction) * 6.283185307179586476925, s = y * y;
    double p = -1.0 / 121645100408832000.0;
    p = p * s + 1.0 / 355687428096000.0;
    p = p * s - 1.0 / 1307674368000.0;
    p = p * s + 1.0 / 6227020800.0;
    p = p * s - 1.0 / 39916800.0;
    p = p * s + 1.0 / 362880.0;
    p = p * s - 1.0 / 5040.0;
    p = p * s + 1.0 / 120.0;
    p = p * s - 1.0 / 6.0;
    return y + y * s * p;
}

/* out[lane] = sum over n terms of amplitude * cos(2 pi (phase + frequency . x_lane)). Lanes are independent,
 * and the build allows no contraction, so every instruction set gives the same bits. */
static inline __attribute__((always_inline)) void fourier_body(const bandit_prior_draw *draw, size_t n,
                                                               size_t d, const double *tile, double *out)
{
    double sum[BANDIT_TILE] = {0.0};
    for (size_t j = 0; j < n; j++) {
        double t[BANDIT_TILE];
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            t[lane] = draw->phase[j];
        for (size_t k = 0; k < d; k++) {
            double frequency = draw->frequency[j * d + k];
            for (size_t lane = 0; lane < BANDIT_TILE; lane++)
                t[lane] += frequency * tile[k * BANDIT_TILE + lane];
        }
        double amplitude = draw->amplitude[j];
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            sum[lane] += amplitude * cosine_of_turns(t[lane]);
    }
    memcpy(out, sum, sizeof sum);
}

static void fourier_portable(const bandit_prior_draw *draw, size_t n, size_t d, const double *tile,
                             double *out)
{
    fourier_body(draw, n, d, tile, out);
}

#if defined(__x86_64__)
#if defined(__clang__)
#define WITH_AVX512 __attribute__((target("avx512f")))
#else /* by default GCC uses vectors of half the width */
#define WITH_AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))
#endif

__attribute__((target("avx2"))) static void fourier_avx2(const bandit_prior_draw *draw, size_t n, size_t d,
                                                         const double *tile, double *out)
{
    fourier_body(draw, n, d, tile, out);
}

WITH_AVX512 static void fourier_avx512(const bandit_prior_draw *draw, size_t n, size_t d, const double *tile,
                                       double *out)
{
    fourier_body(draw, n, d, tile, out);
}
#endif

static void fourier_evaluate(const bandit_prior_draw *draw, size_t n, size_t d, const double *tile,
                             double *out)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        fourier_avx512(draw, n, d, tile, out);
        return;
    }
    if (__builtin_cpu_supports("avx2")) {
        fourier_avx2(draw, n, d, tile, out);
        return;
    }
#endif
    fourier_portable(draw, n, d, tile, out);
}

/* 2 nu of a Matérn profile; 0 for the Gaussian kernel. */
static unsigned twice_nu(bandit_profile profile)
{
    switch (profile) {
    case BANDIT_PROFILE_MATERN12:
        return 1;
    case BANDIT_PROFILE_MATERN32:
        return 3;
    case BANDIT_PROFILE_MATERN52:
        return 5;
    case BANDIT_PROFILE_GAUSSIAN:
        return 0;
    case BANDIT_PROFILE_LINEAR:
    case BANDIT_PROFILE_MATRIX:
        break;
    }
    assert(!"not a stationary kernel");
    return 0;
}

/* The lengthscale of coordinate k. The kernel multiplies the coordinate by factor[k] = inside / lengthscale,
 * where `inside` is the constant of the kernel's formula. */
static double lengthscale(const bandit_covariance *covariance, size_t k)
{
    unsigned nu2 = twice_nu(covariance->profile);
    double inside = nu2 ? sqrt((double)nu2) : sqrt(0.5);
    return inside / covariance->factor[k];
}

/* Spectral density of the kernel, per angular frequency, at q = sum_k (omega_k l_k)^2, without the product of
 * the lengthscales. Rasmussen and Williams 2006, eq. 4.15, and the formula for the Gaussian kernel. */
static double spectral_density(bandit_profile profile, size_t dimension, double q)
{
    double d = (double)dimension, nu = 0.5 * twice_nu(profile);
    if (nu == 0.0)
        return pow(2.0 * pi, 0.5 * d) * exp(-0.5 * q);
    return exp(d * log(2.0) + 0.5 * d * log(pi) + lgamma(nu + 0.5 * d) - lgamma(nu) + nu * log(2.0 * nu) -
               (nu + 0.5 * d) * log(2.0 * nu + q));
}

/* A box around the arms. All eigenfunctions vanish on its boundary, so the box is wide enough that this does
 * not affect the arms: half widths of max(1.2 S, c l), where S is the arms' half range, l the lengthscale,
 * and c as Riutort-Mayol et al. recommend. */
static void eigen_box(bandit_features *f)
{
    const bandit_arms *arms = f->covariance->arms;
    unsigned nu2 = twice_nu(f->covariance->profile);
    double c = nu2 == 0 ? 3.2 : nu2 == 5 ? 4.1 : 4.5;
    for (size_t k = 0; k < f->dimension; k++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t a = 0; a < arms->n; a++) {
            double x = bandit_arms_feature(arms, a, k);
            low = fmin(low, x);
            high = fmax(high, x);
        }
        double half = fmax(0.6 * (high - low), c * lengthscale(f->covariance, k));
        f->low[k] = 0.5 * (low + high) - half;
        f->width[k] = 2.0 * half;
    }
}

/* Orders of the sines whose product is one eigenfunction, with its q. */
typedef struct eigen_index {
    double q;
    uint32_t order[BANDIT_EIGEN_DIMENSIONS];
    uint32_t last; /* only dimensions from this one on are raised, so that each index has one parent */
} eigen_index;

static bool comes_before(const eigen_index *a, const eigen_index *b)
{
    if (a->q != b->q)
        return a->q < b->q;
    return memcmp(a->order, b->order, sizeof a->order) < 0;
}

static void heap_push(eigen_index *heap, size_t *n, eigen_index item)
{
    size_t i = (*n)++;
    while (i > 0 && comes_before(&item, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = item;
}

static eigen_index heap_pop(eigen_index *heap, size_t *n)
{
    eigen_index top = heap[0], item = heap[--*n];
    size_t i = 0;
    for (size_t child = 1; child < *n; child = 2 * i + 1) {
        if (child + 1 < *n && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &item))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = item;
    return top;
}

static double eigen_q(const bandit_features *f, const uint32_t *order)
{
    double q = 0.0;
    for (size_t k = 0; k < f->dimension; k++) {
        double omega = (double)order[k] * pi / f->width[k] * lengthscale(f->covariance, k);
        q += omega * omega;
    }
    return q;
}

/* Finds the n indices with the smallest q, in ascending order. The spectral density decreases with q, so
 * these have the largest eigenvalues. */
static bandit_status eigen_init(bandit_features *f, bandit_error *err)
{
    size_t d = f->dimension, n_heap = 0;
    f->order = bandit_alloc(f->n, d * sizeof *f->order);
    f->root = bandit_alloc(f->n, sizeof *f->root);
    /* a step removes one index and adds at most d */
    eigen_index *heap = bandit_alloc(f->n * d + 1, sizeof *heap);
    if (!f->order || !f->root || !heap) {
        free(heap);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    eigen_box(f);

    double scale =
        1.0; /* prod_k l_k (spectral density) times prod_k 2 / width_k (squared norms of the sines) */
    for (size_t k = 0; k < d; k++)
        scale *= lengthscale(f->covariance, k) * 2.0 / f->width[k];
    eigen_index first = {.order = {1, 1, 1}};
    first.q = eigen_q(f, first.order);
    heap_push(heap, &n_heap, first);
    for (size_t j = 0; j < f->n; j++) {
        eigen_index top = heap_pop(heap, &n_heap);
        memcpy(f->order + j * d, top.order, d * sizeof *f->order);
        f->root[j] = sqrt(scale * spectral_density(f->covariance->profile, d, top.q));
        for (uint32_t k = top.last; k < d; k++) { /* raising an earlier dimension would repeat an index */
            eigen_index next = top;
            f->highest[k] = top.order[k] > f->highest[k] ? top.order[k] : f->highest[k];
            next.order[k]++;
            next.last = k;
            next.q = eigen_q(f, next.order);
            heap_push(heap, &n_heap, next);
        }
    }
    free(heap);
    return BANDIT_OK;
}

bandit_status bandit_features_init(bandit_features *out, bandit_expansion expansion,
                                   const bandit_covariance *covariance, size_t n, bandit_error *err)
{
    assert(n >= 1 && covariance->profile != BANDIT_PROFILE_MATRIX);
    assert((expansion == BANDIT_EXPANSION_LINEAR) == (covariance->profile == BANDIT_PROFILE_LINEAR));
    *out = (bandit_features){
        .expansion = expansion, .covariance = covariance, .dimension = covariance->dimension, .n = n};
    switch (expansion) {
    case BANDIT_EXPANSION_FOURIER:
        out->n = (n + 1) / 2 * 2;
        return BANDIT_OK;
    case BANDIT_EXPANSION_LINEAR:
        out->n = covariance->dimension;
        return BANDIT_OK;
    case BANDIT_EXPANSION_EIGEN:
        break;
    }
    assert(covariance->dimension <= BANDIT_EIGEN_DIMENSIONS);
    bandit_status status = eigen_init(out, err);
    if (status != BANDIT_OK)
        bandit_features_clear(out);
    return status;
}

void bandit_features_clear(bandit_features *features)
{
    free(features->order);
    free(features->root);
    *features = (bandit_features){0};
}

bandit_status bandit_prior_draw_init(bandit_prior_draw *out, const bandit_features *features,
                                     bandit_error *err)
{
    size_t pairs = features->n / 2;
    *out = (bandit_prior_draw){0};
    if (features->expansion == BANDIT_EXPANSION_FOURIER) {
        out->frequency = bandit_alloc(pairs, features->dimension * sizeof(double));
        out->phase = bandit_alloc(pairs, sizeof(double));
        out->amplitude = bandit_alloc(pairs, sizeof(double));
        if (out->frequency && out->phase && out->amplitude)
            return BANDIT_OK;
    } else {
        out->weight = bandit_alloc(features->n, sizeof(double));
        if (out->weight)
            return BANDIT_OK;
    }
    bandit_prior_draw_clear(out);
    return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
}

void bandit_prior_draw_clear(bandit_prior_draw *draw)
{
    free(draw->frequency);
    free(draw->phase);
    free(draw->amplitude);
    free(draw->weight);
    *draw = (bandit_prior_draw){0};
}

/* Samples frequencies from the spectral density: normal for the Gaussian kernel; for Matérn a multivariate t
 * with 2 nu degrees of freedom, z / (l sqrt(chi^2_{2 nu} / 2 nu)). In the kernel's coordinates x * factor the
 * first is sqrt(2) z, the second z / sqrt(chi^2_{2 nu}). */
static void draw_fourier(const bandit_features *f, uint64_t seed, uint64_t batch, uint64_t first,
                         bandit_prior_draw *draw)
{
    size_t d = f->dimension, pairs = f->n / 2;
    unsigned nu2 = twice_nu(f->covariance->profile);
    uint64_t stride = d + nu2;
    double level = sqrt(2.0 / (double)f->n);
    for (size_t j = 0; j < pairs; j++) {
        uint64_t index = first + j * stride;
        double scale = sqrt(2.0);
        if (nu2) {
            double chi2 = 0.0;
            for (unsigned i = 0; i < nu2; i++) {
                double z = bandit_random_normal(seed, batch, BANDIT_PURPOSE_FEATURES, index + d + i);
                chi2 += z * z;
            }
            scale = 1.0 / sqrt(fmax(chi2, 1e-300));
        }
        for (size_t k = 0; k < d; k++) {
            double z = bandit_random_normal(seed, batch, BANDIT_PURPOSE_FEATURES, index + k);
            draw->frequency[j * d + k] = z * scale * f->covariance->factor[k] / (2.0 * pi);
        }
        double u = bandit_random_uniform(seed, batch, BANDIT_PURPOSE_POSTERIOR, first + 2 * j);
        draw->amplitude[j] = level * sqrt(-2.0 * log(1.0 - u));
        draw->phase[j] = bandit_random_uniform(seed, batch, BANDIT_PURPOSE_POSTERIOR, first + 2 * j + 1);
    }
}

void bandit_features_draw(const bandit_features *features, uint64_t seed, uint64_t batch, uint64_t sample,
                          bandit_prior_draw *draw)
{
    assert(sample < (uint64_t)1 << 24);
    uint64_t first = sample << 40;
    switch (features->expansion) {
    case BANDIT_EXPANSION_FOURIER:
        draw_fourier(features, seed, batch, first, draw);
        return;
    case BANDIT_EXPANSION_EIGEN:
    case BANDIT_EXPANSION_LINEAR:
        for (size_t j = 0; j < features->n; j++)
            draw->weight[j] = bandit_random_normal(seed, batch, BANDIT_PURPOSE_POSTERIOR, first + j);
        return;
    }
}

size_t bandit_features_scratch(const bandit_features *features)
{
    size_t rows = 0;
    if (features->expansion == BANDIT_EXPANSION_EIGEN) {
        for (size_t k = 0; k < features->dimension; k++)
            rows += features->highest[k];
    }
    return rows * BANDIT_TILE;
}

/* Sets sines[k] + (i − 1) * BANDIT_TILE to sin(i pi (x_k − low_k) / width_k) for the lanes of the tile. */
static void eigen_sines(const bandit_features *f, const double *tile, double *scratch,
                        const double *sines[BANDIT_EIGEN_DIMENSIONS])
{
    for (size_t k = 0; k < f->dimension; k++) {
        sines[k] = scratch;
        for (uint32_t i = 1; i <= f->highest[k]; i++, scratch += BANDIT_TILE) {
            double turns = 0.5 * (double)i / f->width[k];
            for (size_t lane = 0; lane < BANDIT_TILE; lane++)
                scratch[lane] = cosine_of_turns((tile[k * BANDIT_TILE + lane] - f->low[k]) * turns - 0.25);
        }
    }
}

/* out[lane] = psi_j(x_lane) */
static void eigen_column(const bandit_features *f, size_t j,
                         const double *const sines[BANDIT_EIGEN_DIMENSIONS], double *out)
{
    for (size_t lane = 0; lane < BANDIT_TILE; lane++)
        out[lane] = f->root[j];
    for (size_t k = 0; k < f->dimension; k++) {
        const double *sine = sines[k] + (size_t)(f->order[j * f->dimension + k] - 1) * BANDIT_TILE;
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            out[lane] *= sine[lane];
    }
}

void bandit_features_evaluate(const bandit_features *features, const bandit_prior_draw *draw,
                              const double *tile, double *out, double *scratch)
{
    const double *sines[BANDIT_EIGEN_DIMENSIONS] = {NULL};
    double sum[BANDIT_TILE] = {0.0}, column[BANDIT_TILE];
    switch (features->expansion) {
    case BANDIT_EXPANSION_FOURIER:
        fourier_evaluate(draw, features->n / 2, features->dimension, tile, out);
        return;
    case BANDIT_EXPANSION_EIGEN:
        eigen_sines(features, tile, scratch, sines);
        for (size_t j = 0; j < features->n; j++) {
            eigen_column(features, j, sines, column);
            for (size_t lane = 0; lane < BANDIT_TILE; lane++)
                sum[lane] += draw->weight[j] * column[lane];
        }
        break;
    case BANDIT_EXPANSION_LINEAR:
        for (size_t j = 0; j < features->n; j++) {
            double weight = draw->weight[j] * features->covariance->factor[j];
            for (size_t lane = 0; lane < BANDIT_TILE; lane++)
                sum[lane] += weight * tile[j * BANDIT_TILE + lane];
        }
        break;
    }
    memcpy(out, sum, sizeof sum);
}

double bandit_features_slopes(const bandit_features *features, const bandit_prior_draw *draw,
                              const double *coordinates, double *gradient)
{
    size_t d = features->dimension;
    double sum = 0.0;
    memset(gradient, 0, d * sizeof *gradient);
    assert(features->expansion != BANDIT_EXPANSION_EIGEN);
    if (features->expansion == BANDIT_EXPANSION_LINEAR) {
        for (size_t j = 0; j < d; j++) {
            gradient[j] = draw->weight[j] * features->covariance->factor[j];
            sum += gradient[j] * coordinates[j];
        }
        return sum;
    }
    for (size_t j = 0; j < features->n / 2; j++) {
        const double *frequency = draw->frequency + j * d;
        double turns = draw->phase[j];
        for (size_t k = 0; k < d; k++)
            turns += frequency[k] * coordinates[k];
        double slope = -2.0 * pi * draw->amplitude[j] * sin(2.0 * pi * turns);
        sum += draw->amplitude[j] * cos(2.0 * pi * turns);
        for (size_t k = 0; k < d; k++)
            gradient[k] += slope * frequency[k];
    }
    return sum;
}

void bandit_features_columns(const bandit_features *features, const double *tile, size_t count, double *out,
                             double *scratch)
{
    assert(features->expansion != BANDIT_EXPANSION_FOURIER && count <= features->n);
    const double *sines[BANDIT_EIGEN_DIMENSIONS] = {NULL};
    if (features->expansion == BANDIT_EXPANSION_EIGEN) {
        eigen_sines(features, tile, scratch, sines);
        for (size_t j = 0; j < count; j++)
            eigen_column(features, j, sines, out + j * BANDIT_TILE);
        return;
    }
    for (size_t j = 0; j < count; j++) {
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            out[j * BANDIT_TILE + lane] = tile[j * BANDIT_TILE + lane] * features->covariance->factor[j];
    }
}

size_t bandit_features_memory(const bandit_features *features)
{
    if (features->expansion != BANDIT_EXPANSION_EIGEN)
        return 0;
    return features->n * (features->dimension * sizeof(uint32_t) + sizeof(double));
}
