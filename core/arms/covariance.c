#include "core/arms/covariance.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bandit_status bandit_kernel_check(const bandit_kernel *kernel, size_t dimension, bandit_error *err)
{
    bool stationary = false;
    switch (kernel->type) {
    case BANDIT_KERNEL_MATERN:
        if (kernel->nu != 0.5 && kernel->nu != 1.5 && kernel->nu != 2.5)
            return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/nu", "must be 0.5, 1.5 or 2.5");
        stationary = true;
        break;
    case BANDIT_KERNEL_GAUSSIAN:
        stationary = true;
        break;
    case BANDIT_KERNEL_LINEAR:
        break;
    case BANDIT_KERNEL_PRECOMPUTED:
        if (dimension != 0)
            return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/type",
                               "a precomputed kernel requires a precomputed domain");
        return BANDIT_OK;
    }
    if (dimension == 0)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/type",
                           "a precomputed domain requires the precomputed kernel");
    if (!stationary)
        return BANDIT_OK;
    if (kernel->n_lengthscales != 1 && kernel->n_lengthscales != dimension)
        return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/lengthscale",
                           "must be one number or a list of %zu numbers, one per dimension, not %zu",
                           dimension, kernel->n_lengthscales);
    for (size_t j = 0; j < kernel->n_lengthscales; j++) {
        /* Within 1e±150, squares of scaled differences cannot overflow or underflow to NaN. */
        if (!(kernel->lengthscales[j] >= 1e-150 && kernel->lengthscales[j] <= 1e150))
            return bandit_fail(err, BANDIT_INVALID_OPTION, "kernel/lengthscale",
                               "must be greater than 0 and finite");
    }
    return BANDIT_OK;
}

/* The kernel's profile. *inside is the constant by which its formula multiplies the distance. */
static bandit_profile profile_of(const bandit_kernel *kernel, double *inside)
{
    *inside = 1.0;
    switch (kernel->type) {
    case BANDIT_KERNEL_GAUSSIAN:
        *inside = sqrt(0.5);
        return BANDIT_PROFILE_GAUSSIAN;
    case BANDIT_KERNEL_MATERN:
        *inside = sqrt(2.0 * kernel->nu);
        return kernel->nu == 0.5   ? BANDIT_PROFILE_MATERN12
               : kernel->nu == 1.5 ? BANDIT_PROFILE_MATERN32
                                   : BANDIT_PROFILE_MATERN52;
    case BANDIT_KERNEL_LINEAR:
        return BANDIT_PROFILE_LINEAR;
    case BANDIT_KERNEL_PRECOMPUTED:
        return BANDIT_PROFILE_MATRIX;
    }
    assert(!"kernel type");
    return BANDIT_PROFILE_GAUSSIAN;
}

/* An upper bound on max |x|^2 over the features x of a space. Each feature is at most 1; those of one-hot words and
 * of activities are at most 1/sqrt(2). */
static double largest_norm2(const bandit_space *space)
{
    double sum = 0.0;
    for (size_t j = 0; j < space->dimension; j++) {
        size_t i = space->owner[j];
        if (!bandit_words_are_one_hot(&space->places[i].words) && j >= space->places[i].first &&
            j < space->places[i].first + space->places[i].n) {
            sum += j == space->places[i].first ? space->places[i].words.norm2 : 0.0;
            continue;
        }
        bool plain = j == space->places[i].first && space->places[i].n == 1 &&
                     space->parameters[i].type != BANDIT_PARAMETER_CATEGORICAL;
        sum += plain ? 1.0 : 0.5;
    }
    return sum;
}

bandit_status bandit_covariance_init(bandit_covariance *out, const bandit_kernel *kernel,
                                     const bandit_arms *arms, bandit_error *err)
{
    assert(arms->finished);
    double inside;
    *out = (bandit_covariance){
        .arms = arms, .simd = bandit_simd_best(), .dimension = arms->dimension, .kappa2 = 1.0};
    out->profile = profile_of(kernel, &inside);
    assert(kernel->short_share >= 0.0 && kernel->short_share < 1.0);
    if (out->profile != BANDIT_PROFILE_LINEAR && out->profile != BANDIT_PROFILE_MATRIX)
        out->short_share = kernel->short_share;
    assert((out->profile == BANDIT_PROFILE_MATRIX) == (arms->dimension == 0));

    out->factor = bandit_alloc(arms->dimension, sizeof(double));
    if (!out->factor)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t j = 0; j < arms->dimension; j++) {
        out->factor[j] = inside;
        if (out->profile != BANDIT_PROFILE_LINEAR)
            out->factor[j] /= kernel->lengthscales[kernel->n_lengthscales == 1 ? 0 : j];
    }
    if (out->profile == BANDIT_PROFILE_LINEAR || out->profile == BANDIT_PROFILE_MATRIX) {
        out->kappa2 = 0.0;
        for (size_t a = 0; a < arms->n; a++) {
            uint32_t arm = (uint32_t)a;
            double k;
            bandit_covariance_diagonal(out, &arm, 1, &k);
            out->kappa2 = fmax(out->kappa2, k);
        }
        if (bandit_arms_is_open_space(arms))
            out->kappa2 = largest_norm2(arms->space);
    }
    return BANDIT_OK;
}

void bandit_covariance_clear(bandit_covariance *covariance)
{
    free(covariance->factor);
    covariance->factor = NULL;
}

void bandit_covariance_diagonal(const bandit_covariance *covariance, const uint32_t *arms, size_t n,
                                double *out)
{
    const bandit_arms *set = covariance->arms;
    for (size_t i = 0; i < n; i++) {
        double k = 1.0;
        if (covariance->profile == BANDIT_PROFILE_MATRIX)
            k = set->matrix[(size_t)arms[i] * set->n + arms[i]];
        if (covariance->profile == BANDIT_PROFILE_LINEAR) {
            k = 0.0;
            for (size_t j = 0; j < covariance->dimension; j++) {
                double x = bandit_arms_feature(set, arms[i], j) * covariance->factor[j];
                k += x * x;
            }
        }
        out[i] = k;
    }
}

bandit_status bandit_points_set(bandit_points *points, const bandit_covariance *covariance,
                                const uint32_t *arms, size_t n, bandit_error *err)
{
    size_t d = covariance->dimension;
    if (!bandit_reserve((void **)&points->arms, &points->capacity, n, sizeof *points->arms) ||
        !bandit_reserve((void **)&points->features, &points->capacity_features, n * d, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    points->n = n;
    for (size_t i = 0; i < n; i++) {
        points->arms[i] = arms[i];
        for (size_t j = 0; j < d; j++)
            points->features[i * d + j] =
                bandit_arms_feature(covariance->arms, arms[i], j) * covariance->factor[j];
    }
    return BANDIT_OK;
}

void bandit_points_clear(bandit_points *points)
{
    free(points->arms);
    free(points->features);
    *points = (bandit_points){0};
}

size_t bandit_covariance_scratch(const bandit_covariance *covariance)
{
    return covariance->dimension * BANDIT_TILE;
}

static void coordinates_block(const bandit_covariance *covariance, const double *tile,
                              const bandit_points *points, size_t first, size_t n, double *out, size_t ld)
{
    covariance->simd->entries(covariance->profile, covariance->short_share, covariance->dimension, tile,
                              points->features + first * covariance->dimension, n, out, ld);
}

static void matrix_block(const bandit_covariance *covariance, const uint32_t *rows, size_t n_rows,
                         const bandit_points *points, size_t first, size_t n, double *out, size_t ld)
{
    const bandit_arms *set = covariance->arms;
    for (size_t k = 0; k < n; k++) {
        const double *row = set->matrix + (size_t)points->arms[first + k] * set->n;
        for (size_t i = 0; i < n_rows; i++)
            out[k * ld + i] = row[rows[i]];
    }
}

void bandit_covariance_tile(const bandit_covariance *covariance, size_t tile, const bandit_points *points,
                            size_t first, size_t n, double *out, size_t ld, double *scratch)
{
    assert(ld >= BANDIT_TILE);
    if (covariance->profile == BANDIT_PROFILE_MATRIX) {
        uint32_t rows[BANDIT_TILE];
        for (size_t lane = 0; lane < BANDIT_TILE; lane++) {
            size_t arm = tile * BANDIT_TILE + lane;
            rows[lane] = (uint32_t)(arm < covariance->arms->n ? arm : covariance->arms->n - 1);
        }
        matrix_block(covariance, rows, BANDIT_TILE, points, first, n, out, ld);
        return;
    }
    const double *x = bandit_arms_tile(covariance->arms, tile);
    for (size_t j = 0; j < covariance->dimension; j++) {
        for (size_t lane = 0; lane < BANDIT_TILE; lane++)
            scratch[j * BANDIT_TILE + lane] = x[j * BANDIT_TILE + lane] * covariance->factor[j];
    }
    coordinates_block(covariance, scratch, points, first, n, out, ld);
}

void bandit_covariance_block(const bandit_covariance *covariance, const uint32_t *rows, size_t n_rows,
                             const bandit_points *points, double *out, size_t ld, double *scratch)
{
    for (size_t start = 0; start < n_rows; start += BANDIT_TILE) {
        size_t lanes = n_rows - start < BANDIT_TILE ? n_rows - start : BANDIT_TILE;
        if (covariance->profile == BANDIT_PROFILE_MATRIX) {
            matrix_block(covariance, rows + start, lanes, points, 0, points->n, out + start, ld);
            continue;
        }
        memset(scratch, 0, bandit_covariance_scratch(covariance) * sizeof *scratch);
        for (size_t lane = 0; lane < lanes; lane++) {
            for (size_t j = 0; j < covariance->dimension; j++)
                scratch[j * BANDIT_TILE + lane] =
                    bandit_arms_feature(covariance->arms, rows[start + lane], j) * covariance->factor[j];
        }
        assert(start + BANDIT_TILE <= ld);
        coordinates_block(covariance, scratch, points, 0, points->n, out + start, ld);
    }
}

void bandit_covariance_column(const bandit_covariance *covariance, const uint32_t *rows, size_t n_rows,
                              uint32_t arm, double *out, double *scratch)
{
    double *features = scratch + bandit_covariance_scratch(covariance);
    const bandit_points point = {.n = 1, .arms = &arm, .features = features};
    for (size_t j = 0; j < covariance->dimension; j++)
        features[j] = bandit_arms_feature(covariance->arms, arm, j) * covariance->factor[j];
    bandit_covariance_block(covariance, rows, n_rows, &point, out, bandit_whole_tiles(n_rows), scratch);
}

void bandit_covariance_of_points(const bandit_covariance *covariance, const bandit_points *points,
                                 uint32_t arm, double *out, double *scratch)
{
    size_t d = covariance->dimension, ld = bandit_whole_tiles(points->n);
    double *features = scratch + bandit_covariance_scratch(covariance);
    const bandit_points point = {.n = 1, .arms = &arm, .features = features};
    if (covariance->profile == BANDIT_PROFILE_MATRIX) {
        matrix_block(covariance, points->arms, points->n, &point, 0, 1, out, ld);
        return;
    }
    for (size_t j = 0; j < d; j++)
        features[j] = bandit_arms_feature(covariance->arms, arm, j) * covariance->factor[j];
    for (size_t start = 0; start < points->n; start += BANDIT_TILE) {
        size_t lanes = points->n - start < BANDIT_TILE ? points->n - start : BANDIT_TILE;
        if (lanes < BANDIT_TILE)
            memset(scratch, 0, bandit_covariance_scratch(covariance) * sizeof *scratch);
        for (size_t lane = 0; lane < lanes; lane++)
            for (size_t j = 0; j < d; j++)
                scratch[j * BANDIT_TILE + lane] = points->features[(start + lane) * d + j];
        coordinates_block(covariance, scratch, &point, 0, 1, out + start, ld);
    }
}

void bandit_covariance_block_at(const bandit_covariance *covariance, const double *coordinates, size_t n_rows,
                                const bandit_points *points, double *out, size_t ld, double *diagonal,
                                double *scratch)
{
    assert(covariance->profile != BANDIT_PROFILE_MATRIX);
    size_t d = covariance->dimension;
    for (size_t start = 0; start < n_rows; start += BANDIT_TILE) {
        size_t lanes = n_rows - start < BANDIT_TILE ? n_rows - start : BANDIT_TILE;
        memset(scratch, 0, bandit_covariance_scratch(covariance) * sizeof *scratch);
        for (size_t lane = 0; lane < lanes; lane++) {
            double k = 0.0;
            for (size_t j = 0; j < d; j++) {
                double x = coordinates[(start + lane) * d + j] * covariance->factor[j];
                scratch[j * BANDIT_TILE + lane] = x;
                k += x * x;
            }
            diagonal[start + lane] = covariance->profile == BANDIT_PROFILE_LINEAR ? k : 1.0;
        }
        assert(start + BANDIT_TILE <= ld);
        coordinates_block(covariance, scratch, points, 0, points->n, out + start, ld);
    }
}
