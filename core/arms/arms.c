#include "bandit/arms.h"

#include "core/arms/arms_storage.h"
#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_ARMS = 0x7fffffff };

static int compare_arms(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void bandit_sort_arms(uint32_t *arms, size_t n)
{
    qsort(arms, n, sizeof *arms, compare_arms);
}

static bandit_status arms_alloc(bandit_arms **out, size_t n, size_t dimension, bandit_error *err)
{
    *out = NULL;
    bandit_arms *arms = calloc(1, sizeof *arms);
    if (!arms)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    arms->n = n;
    arms->dimension = dimension;
    arms->n_tiles = bandit_pieces(n, BANDIT_TILE);
    *out = arms;
    return BANDIT_OK;
}

bandit_status bandit_arms_new(bandit_arms **out, size_t n, size_t dimension, bandit_error *err)
{
    *out = NULL;
    if (n == 0 || n > MAX_ARMS)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "",
                           "the number of candidates must be from 1 to 2147483647");
    if (dimension == 0 || dimension > MAX_ARMS / BANDIT_TILE)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "the dimension must be at least 1");

    bandit_arms *arms = NULL;
    bandit_status status = arms_alloc(&arms, n, dimension, err);
    if (status != BANDIT_OK)
        return status;
    arms->capacity_features = arms->n_tiles * dimension * BANDIT_TILE;
    arms->features = bandit_alloc_zeroed(arms->capacity_features, sizeof(double));
    arms->shift = bandit_alloc_zeroed(dimension, sizeof(double));
    arms->factor = bandit_alloc_zeroed(dimension, sizeof(double));
    if (!arms->features || !arms->shift || !arms->factor) {
        bandit_arms_free(arms);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu candidates of dimension %zu", n,
                           dimension);
    }
    *out = arms;
    return BANDIT_OK;
}

bandit_status bandit_arms_new_precomputed(bandit_arms **out, size_t n, bandit_error *err)
{
    *out = NULL;
    if (n == 0 || n > MAX_ARMS)
        return bandit_fail(err, BANDIT_INVALID_ARMS, "",
                           "the number of candidates must be from 1 to 2147483647");

    bandit_arms *arms = NULL;
    bandit_status status = arms_alloc(&arms, n, 0, err);
    if (status != BANDIT_OK)
        return status;
    arms->matrix = bandit_alloc_zeroed(n, n * sizeof(double));
    if (!arms->matrix) {
        bandit_arms_free(arms);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a kernel matrix of %zu rows", n);
    }
    *out = arms;
    return BANDIT_OK;
}

bandit_status bandit_arms_set_rows(bandit_arms *arms, size_t first, size_t n, const double *rows,
                                   bandit_error *err)
{
    assert(!arms->finished && first <= arms->n && n <= arms->n - first);
    size_t width = arms->dimension ? arms->dimension : arms->n;

    for (size_t i = 0; i < n; i++) {
        size_t arm = first + i;
        const double *row = rows + i * width;
        for (size_t j = 0; j < width; j++) {
            if (!isfinite(row[j]))
                return bandit_fail(err, BANDIT_INVALID_ARMS, "", "row %zu, column %zu is not a finite number",
                                   arm, j);
            if (arms->dimension)
                arms->features[(arm / BANDIT_TILE * width + j) * BANDIT_TILE + arm % BANDIT_TILE] = row[j];
            else
                arms->matrix[arm * width + j] = row[j];
        }
    }
    return BANDIT_OK;
}

/* Computes shift and factor of feature j from the first n arms. A factor that is not finite means that the
 * range of the feature is not finite. A constant feature is recognized by range == 0, not by its deviations,
 * because the mean is rounded. */
static void scaling_statistics(bandit_arms *arms, bandit_scaling scaling, size_t n, size_t j)
{
    double low = INFINITY, high = -INFINITY, sum = 0.0;
    for (size_t a = 0; a < n; a++) {
        double x = bandit_arms_feature(arms, a, j);
        low = fmin(low, x);
        high = fmax(high, x);
        sum += x / (double)n;
    }
    double range = high - low, squares = 0.0;
    switch (scaling) {
    case BANDIT_SCALING_STANDARDIZE:
        /* Squares are taken relative to the range, so that they neither overflow nor underflow, whatever the
         * units. */
        for (size_t a = 0; a < n && range > 0.0; a++) {
            double e = (bandit_arms_feature(arms, a, j) - sum) / range;
            squares += e * e;
        }
        arms->shift[j] = range > 0.0 ? sum : low;
        arms->factor[j] = range > 0.0 ? 1.0 / (range * sqrt(squares / (double)n)) : 0.0;
        break;
    case BANDIT_SCALING_UNIT:
        arms->shift[j] = low;
        arms->factor[j] = range > 0.0 ? 1.0 / range : 0.0;
        break;
    case BANDIT_SCALING_NONE:
        arms->shift[j] = 0.0;
        arms->factor[j] = 1.0;
        return;
    }
    if (!isfinite(range))
        arms->factor[j] = (double)NAN;
}

static bandit_status finish_features(bandit_arms *arms, bandit_scaling scaling, size_t n_reference,
                                     bandit_error *err)
{
    for (size_t j = 0; j < arms->dimension; j++) {
        bandit_pause();
        scaling_statistics(arms, scaling, n_reference, j);
        if (!isfinite(arms->shift[j]) || !isfinite(arms->factor[j]))
            return bandit_fail(err, BANDIT_INVALID_ARMS, "", "column %zu cannot be scaled: its range is %s",
                               j, arms->factor[j] > 1.0 ? "too small" : "too large");
    }
    for (size_t a = 0; a < arms->n; a++) {
        bandit_pause_at(a);
        for (size_t j = 0; j < arms->dimension; j++) {
            double *x =
                &arms->features[(a / BANDIT_TILE * arms->dimension + j) * BANDIT_TILE + a % BANDIT_TILE];
            *x = (*x - arms->shift[j]) * arms->factor[j];
            if (!isfinite(*x))
                return bandit_fail(err, BANDIT_INVALID_ARMS, "", "row %zu, column %zu overflows when scaled",
                                   a, j);
        }
    }
    return BANDIT_OK;
}

/* Checks that the matrix is symmetric to 1e-8 of its largest diagonal entry, averages it with its transpose,
 * and checks that no eigenvalue is below −1e-8 of that entry. */
static bandit_status finish_matrix(bandit_arms *arms, bandit_error *err)
{
    const double tolerance = 1e-8;
    size_t n = arms->n;
    double *k = arms->matrix;
    double largest = 0.0;

    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, k[i * n + i]);
    if (!(largest > 0.0))
        return bandit_fail(err, BANDIT_INVALID_ARMS, "", "the kernel matrix has no positive diagonal entry");
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (fabs(k[i * n + j] - k[j * n + i]) > tolerance * largest)
                return bandit_fail(err, BANDIT_INVALID_ARMS, "",
                                   "the kernel matrix is not symmetric: row %zu, column %zu is %.17g, "
                                   "row %zu, column %zu is %.17g",
                                   i, j, k[i * n + j], j, i, k[j * n + i]);
            k[i * n + j] = k[j * n + i] = 0.5 * k[i * n + j] + 0.5 * k[j * n + i];
        }
    }

    bool positive = false;
    bandit_status status = bandit_is_positive_definite(&positive, k, n, tolerance * largest, err);
    if (status != BANDIT_OK || positive)
        return status;
    double smallest = 0.0;
    status = bandit_smallest_eigenvalue(&smallest, k, n, err);
    if (status != BANDIT_OK)
        return status;
    return bandit_fail(
        err, BANDIT_INVALID_ARMS, "",
        "the kernel matrix is not positive semi-definite: its smallest eigenvalue is about %.3g", smallest);
}

bandit_status bandit_arms_finish(bandit_arms *arms, bandit_scaling scaling, size_t n_reference,
                                 bandit_error *err)
{
    assert(!arms->finished && n_reference >= 1 && n_reference <= arms->n);
    bandit_status status =
        arms->dimension ? finish_features(arms, scaling, n_reference, err) : finish_matrix(arms, err);
    arms->finished = status == BANDIT_OK;
    return status;
}

/* The largest scaled feature that is allowed. Terms of kernels and likelihoods are products of up to six
 * features, and must not overflow. */
static const double largest_feature = 1e50;

bandit_status bandit_arms_check_ranges(const double *low, const double *high, size_t dimension, size_t n,
                                       bandit_scaling scaling, bandit_error *err)
{
    /* The smallest possible standard deviation of n values, as a share of their range. */
    double part = scaling == BANDIT_SCALING_STANDARDIZE ? sqrt(0.5 / (double)n) : 1.0;
    for (size_t j = 0; j < dimension; j++) {
        double range = high[j] - low[j];
        if (scaling == BANDIT_SCALING_NONE && !(fmax(high[j], -low[j]) <= largest_feature))
            return bandit_fail(
                err, BANDIT_INVALID_ARMS, "",
                "column %zu has a value beyond %g, the largest that is allowed without scaling", j,
                largest_feature);
        if (scaling == BANDIT_SCALING_NONE || range == 0.0)
            continue;
        if (!isfinite(range) || !isfinite(1.0 / (range * part)))
            return bandit_fail(err, BANDIT_INVALID_ARMS, "", "column %zu cannot be scaled: its range is %s",
                               j, isfinite(range) ? "too small" : "too large");
    }
    return BANDIT_OK;
}

bandit_status bandit_arms_check_appended(const bandit_arms *arms, const double *rows, size_t n,
                                         bandit_error *err)
{
    assert(arms->finished && arms->dimension && !arms->space);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < arms->dimension; j++) {
            double x = (rows[i * arms->dimension + j] - arms->shift[j]) * arms->factor[j];
            if (!(fabs(x) <= largest_feature))
                return bandit_fail(err, BANDIT_INVALID_ARMS, "",
                                   "row %zu, column %zu is too far from the existing candidates", i, j);
        }
    return BANDIT_OK;
}

size_t bandit_arms_count(const bandit_arms *arms)
{
    return arms->n;
}

size_t bandit_arms_dimension(const bandit_arms *arms)
{
    return arms->dimension;
}

void bandit_arms_scale_point(const bandit_arms *arms, const double *in, double *out)
{
    if (arms->space) {
        bandit_space_encode(arms->space, in, out);
        return;
    }
    for (size_t j = 0; j < arms->dimension; j++)
        out[j] = (in[j] - arms->shift[j]) * arms->factor[j];
}

size_t bandit_arms_memory(const bandit_arms *arms)
{
    if (arms->space)
        return sizeof *arms + arms->capacity_features * sizeof(double) + bandit_space_memory(arms->space);
    size_t doubles = arms->dimension ? arms->capacity_features + 2 * arms->dimension : arms->n * arms->n;
    return sizeof *arms + doubles * sizeof(double);
}

void bandit_arms_free(bandit_arms *arms)
{
    if (!arms)
        return;
    free(arms->features);
    free(arms->matrix);
    free(arms->shift);
    free(arms->factor);
    bandit_space_free(arms->space);
    free(arms);
}
