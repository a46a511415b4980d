#include "core/posterior/exact_posterior.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/posterior/exact_internal.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bandit_status bandit_exact_new(bandit_exact **out, const bandit_covariance *covariance, double lambda,
                               bandit_error *err)
{
    *out = NULL;
    bandit_exact *p = calloc(1, sizeof *p);
    if (!p)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    p->covariance = covariance;
    p->lambda = lambda;
    p->n = covariance->arms->n;
    p->stride = covariance->arms->n_tiles * BANDIT_TILE;
    p->mean = bandit_alloc(p->stride, sizeof(double));
    p->variance = bandit_alloc(p->stride, sizeof(double));
    p->selection = bandit_alloc(p->stride, sizeof(double));
    if (!p->mean || !p->variance || !p->selection) {
        bandit_exact_free(p);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    bandit_exact_reset(p);
    *out = p;
    return BANDIT_OK;
}

void bandit_exact_free(bandit_exact *p)
{
    if (!p)
        return;
    for (size_t c = 0; c < p->n_chunks; c++)
        free(p->chunks[c]);
    free(p->chunks);
    free(p->columns);
    free(p->factor);
    free(p->mean);
    free(p->variance);
    free(p->selection);
    free(p->pulled);
    free(p->workspace);
    bandit_points_clear(&p->points);
    free(p);
}

size_t bandit_exact_need(const bandit_exact *held, const bandit_covariance *covariance, size_t n_solid,
                         size_t n_hallucinated, size_t workers)
{
    const bandit_exact none = {0}, *p = held ? held : &none;
    size_t columns = n_solid + n_hallucinated, chunks = bandit_pieces(columns, BANDIT_EXACT_CHUNK);
    size_t stride = covariance->arms->n_tiles * BANDIT_TILE;
    size_t capacity = bandit_capacity_kept(p->capacity_columns, columns);
    /* Computed in double, because the product of absurdly large sizes would overflow size_t. */
    double doubles =
        (double)stride * ((double)(p->n_chunks > chunks ? p->n_chunks : chunks) * BANDIT_EXACT_CHUNK + 3.0);
    doubles += (double)bandit_capacity_kept(p->capacity_factor, bandit_exact_packed(n_solid));
    doubles += (double)(p->capacity_pulled > BANDIT_EXACT_BLOCK * capacity ? p->capacity_pulled
                                                                           : BANDIT_EXACT_BLOCK * capacity);
    if (columns > 0) {
        size_t scratch = workers * bandit_covariance_scratch(covariance);
        doubles +=
            (double)bandit_capacity(p->capacity_workspace, scratch) +
            (double)bandit_capacity(p->points.capacity_features, BANDIT_EXACT_BLOCK * covariance->dimension);
    }
    double bytes = (double)sizeof *p + doubles * sizeof(double) + (double)capacity * sizeof *p->columns +
                   (double)bandit_capacity_kept(p->capacity_chunks, chunks) * sizeof *p->chunks;
    return bytes < (double)SIZE_MAX / 2 ? (size_t)bytes : SIZE_MAX / 2;
}

size_t bandit_exact_memory(const bandit_exact *p)
{
    return sizeof *p + p->n_chunks * BANDIT_EXACT_CHUNK * p->stride * sizeof(double) +
           p->capacity_chunks * sizeof(double *) + p->capacity_columns * sizeof *p->columns +
           (p->capacity_factor + 3 * p->stride + p->capacity_pulled + p->capacity_workspace +
            p->points.capacity_features) *
               sizeof(double);
}

/* Reserves a block's rows for exactly as many columns as `columns` has capacity for. That capacity has
 * already grown by a margin, so none is added here. */
static bool reserve_pulled(bandit_exact *p)
{
    size_t wanted = BANDIT_EXACT_BLOCK * p->capacity_columns;
    if (wanted <= p->capacity_pulled)
        return true;
    double *fresh = bandit_alloc(wanted, sizeof *fresh);
    if (!fresh)
        return false;
    free(p->pulled);
    p->pulled = fresh;
    p->capacity_pulled = wanted;
    return true;
}

bandit_status bandit_exact_reserve(bandit_exact *p, size_t n_solid, size_t n_hallucinated, size_t workers,
                                   bandit_error *err)
{
    size_t columns = n_solid + n_hallucinated;
    if (columns < p->n_columns)
        columns = p->n_columns;
    size_t chunks = bandit_pieces(columns, BANDIT_EXACT_CHUNK);
    size_t scratch = workers * bandit_covariance_scratch(p->covariance);
    size_t features = BANDIT_EXACT_BLOCK * p->covariance->dimension;

    if (!bandit_reserve_keep((void **)&p->chunks, &p->capacity_chunks, p->n_chunks, chunks,
                             sizeof *p->chunks) ||
        !bandit_reserve_keep((void **)&p->columns, &p->capacity_columns, p->n_columns, columns,
                             sizeof *p->columns) ||
        !bandit_reserve_keep((void **)&p->factor, &p->capacity_factor, bandit_exact_packed(p->n_solid),
                             bandit_exact_packed(n_solid), sizeof(double)) ||
        !reserve_pulled(p) ||
        !bandit_reserve((void **)&p->workspace, &p->capacity_workspace, scratch, sizeof(double)) ||
        !bandit_reserve((void **)&p->points.arms, &p->points.capacity, BANDIT_EXACT_BLOCK,
                        sizeof(uint32_t)) ||
        !bandit_reserve((void **)&p->points.features, &p->points.capacity_features, features, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    while (p->n_chunks < chunks) {
        double *chunk = bandit_alloc(BANDIT_EXACT_CHUNK * p->stride, sizeof *chunk);
        if (!chunk)
            return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        p->chunks[p->n_chunks++] = chunk;
    }
    return BANDIT_OK;
}

bool bandit_exact_has_room(const bandit_exact *p, size_t more, size_t workers)
{
    size_t columns = p->n_columns + more;
    return columns <= p->capacity_columns && BANDIT_EXACT_BLOCK * p->capacity_columns <= p->capacity_pulled &&
           columns <= p->n_chunks * BANDIT_EXACT_CHUNK &&
           workers * bandit_covariance_scratch(p->covariance) <= p->capacity_workspace;
}

void bandit_exact_reset(bandit_exact *p)
{
    p->n_solid = p->n_columns = 0;
    memset(p->mean, 0, p->stride * sizeof *p->mean);
    memset(p->variance, 0, p->stride * sizeof *p->variance);
    for (size_t a = 0; a < p->n; a++) {
        uint32_t arm = (uint32_t)a;
        bandit_covariance_diagonal(p->covariance, &arm, 1, &p->variance[a]);
    }
    memcpy(p->selection, p->variance, p->stride * sizeof *p->variance);
}

/* ---- appending a block of columns ---------------------------------------------------------------------- */

typedef struct exact_block {
    bandit_exact *p;
    size_t first, n; /* columns first … first+n−1 of the posterior */
    bool solid;
    double corner[BANDIT_EXACT_BLOCK *
                  BANDIT_EXACT_BLOCK]; /* Cholesky factor of the block, column-major, lower */
} exact_block;

/* Subtracts from the block's columns the product of columns first … first+n_columns−1 (all in one chunk) and
 * the block's rows of `pulled`. */
static void subtract_chunk(const exact_block *b, size_t start, size_t rows, size_t first, size_t n_columns)
{
    bandit_exact *p = b->p;
    int ld = (int)p->stride, ld_pulled = (int)p->capacity_columns;
    const double *source = bandit_exact_column_at(p, first) + start;
    const double *weights = p->pulled + first;
    double *target = bandit_exact_column_at(p, b->first) + start;

    if (b->n == 1)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, (int)n_columns, -1.0, source, ld, weights, 1, 1.0,
                    target, 1);
    else
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)b->n, (int)n_columns, -1.0,
                    source, ld, weights, ld_pulled, 1.0, target, ld);
}

/* One stripe of the covariances c(x, x_p) with the block's arms, given all columns before the block. */
static void covariance_stripe(void *arg, size_t stripe, size_t worker)
{
    const exact_block *b = arg;
    bandit_exact *p = b->p;
    size_t start = stripe * BANDIT_EXACT_STRIPE, rows = bandit_exact_stripe_rows(p, stripe);
    double *scratch = p->workspace + worker * bandit_covariance_scratch(p->covariance);

    for (size_t row = start; row < start + rows; row += BANDIT_TILE)
        bandit_covariance_tile(p->covariance, row / BANDIT_TILE, &p->points, 0, b->n,
                               bandit_exact_column_at(p, b->first) + row, p->stride, scratch);
    for (size_t first = 0; first < b->first; first += BANDIT_EXACT_CHUNK) {
        size_t n = b->first - first < BANDIT_EXACT_CHUNK ? b->first - first : BANDIT_EXACT_CHUNK;
        subtract_chunk(b, start, rows, first, n);
    }
}

/* Turns one stripe of covariances into columns, and updates the mean and the variances. */
static void columns_stripe(void *arg, size_t stripe, size_t worker)
{
    (void)worker;
    const exact_block *b = arg;
    bandit_exact *p = b->p;
    size_t start = stripe * BANDIT_EXACT_STRIPE, rows = bandit_exact_stripe_rows(p, stripe);
    double *target = bandit_exact_column_at(p, b->first) + start;

    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows, (int)b->n, 1.0,
                b->corner, BANDIT_EXACT_BLOCK, target, (int)p->stride);
    for (size_t i = 0; i < b->n; i++) {
        const double *a = target + i * p->stride;
        double *variance = (b->solid ? p->variance : p->selection) + start;
        for (size_t row = 0; row < rows; row++) {
            double reduced = variance[row] - a[row] * a[row];
            variance[row] = reduced > 0.0 ? reduced : 0.0; /* rounding can make it negative */
        }
        if (b->solid) {
            double *mean = p->mean + start, e = p->columns[b->first + i].e;
            for (size_t row = 0; row < rows; row++)
                mean[row] += a[row] * e;
        }
    }
    if (b->solid)
        memcpy(p->selection + start, p->variance + start, rows * sizeof *p->variance);
}

/* Computes the block's own Cholesky factor, pivots d and residuals e from the covariances at its arms. A
 * variance that rounding has made negative counts as 0, so every pivot is at least tau > 0. */
static void factor_corner(exact_block *b, const double *rewards)
{
    bandit_exact *p = b->p;
    bandit_exact_column *columns = p->columns + b->first;
    double *l = b->corner;

    for (size_t i = 0; i < b->n; i++) {
        const double *covariances = bandit_exact_column_at(p, b->first + i);
        for (size_t j = i; j < b->n; j++)
            l[i * BANDIT_EXACT_BLOCK + j] = covariances[columns[j].arm];
    }
    for (size_t i = 0; i < b->n; i++) {
        double variance = l[i * BANDIT_EXACT_BLOCK + i];
        columns[i].d = sqrt(columns[i].tau + (variance > 0.0 ? variance : 0.0));
        l[i * BANDIT_EXACT_BLOCK + i] = columns[i].d;
        for (size_t j = i + 1; j < b->n; j++)
            l[i * BANDIT_EXACT_BLOCK + j] /= columns[i].d;
        for (size_t k = i + 1; k < b->n; k++) {
            for (size_t j = k; j < b->n; j++)
                l[k * BANDIT_EXACT_BLOCK + j] -=
                    l[i * BANDIT_EXACT_BLOCK + j] * l[i * BANDIT_EXACT_BLOCK + k];
        }
        columns[i].e = 0.0;
        if (b->solid) {
            double rest = rewards[i] - p->mean[columns[i].arm];
            for (size_t k = 0; k < i; k++)
                rest -= l[k * BANDIT_EXACT_BLOCK + i] * columns[k].e;
            columns[i].e = rest / columns[i].d;
        }
    }
}

/* Stores rows first … first+n−1 of the packed factor. */
static void store_factor_rows(const exact_block *b)
{
    bandit_exact *p = b->p;
    for (size_t i = 0; i < b->n; i++) {
        size_t row = b->first + i;
        double *out = p->factor + bandit_exact_packed(row);
        memcpy(out, p->pulled + i * p->capacity_columns, b->first * sizeof *out);
        for (size_t k = 0; k <= i; k++)
            out[b->first + k] = b->corner[k * BANDIT_EXACT_BLOCK + i];
    }
}

/* Appends columns for n <= BANDIT_EXACT_BLOCK pulls, which must fit into the current chunk. */
static void append(bandit_exact *p, const bandit_pull *pulls, size_t n, bool solid,
                   const bandit_executor *executor)
{
    exact_block b = {.p = p, .first = p->n_columns, .n = n, .solid = solid};
    double rewards[BANDIT_EXACT_BLOCK];
    uint32_t arms[BANDIT_EXACT_BLOCK];
    assert(n <= BANDIT_EXACT_BLOCK && bandit_exact_has_room(p, n, executor->workers));
    assert(!solid || p->n_columns == p->n_solid);

    for (size_t i = 0; i < n; i++) {
        arms[i] = pulls[i].arm;
        rewards[i] = pulls[i].reward;
        p->columns[b.first + i] =
            (bandit_exact_column){.arm = pulls[i].arm, .tau = p->lambda / bandit_pull_precision(&pulls[i])};
        double *row = p->pulled + i * p->capacity_columns;
        for (size_t j = 0; j < b.first; j++)
            row[j] = bandit_exact_column_at(p, j)[pulls[i].arm];
    }
    bandit_status status = bandit_points_set(&p->points, p->covariance, arms, n, NULL);
    assert(status == BANDIT_OK); /* memory was reserved */
    (void)status;

    executor->for_each(executor->context, bandit_exact_stripes(p), covariance_stripe, &b);
    factor_corner(&b, rewards);
    executor->for_each(executor->context, bandit_exact_stripes(p), columns_stripe, &b);
    p->n_columns += n;
    if (solid) {
        store_factor_rows(&b);
        p->n_solid = p->n_columns;
    }
}

void bandit_exact_observe(bandit_exact *p, const bandit_pull *pulls, size_t n, bool together,
                          const bandit_executor *executor)
{
    assert(bandit_exact_packed(p->n_solid + n) <= p->capacity_factor);
    for (size_t i = 0; i < n && !bandit_pause();) {
        size_t block = 1;
        if (together) {
            size_t room = BANDIT_EXACT_CHUNK - p->n_columns % BANDIT_EXACT_CHUNK;
            block = room < BANDIT_EXACT_BLOCK ? room : BANDIT_EXACT_BLOCK;
            if (block > n - i)
                block = n - i;
        }
        append(p, pulls + i, block, true, executor);
        i += block;
    }
}

double bandit_exact_hallucinate(bandit_exact *p, uint32_t arm, const bandit_executor *executor)
{
    double before = p->selection[arm];
    append(p, &(bandit_pull){.arm = arm, .repeats = 1}, 1, false, executor);
    return before;
}

void bandit_exact_forget(bandit_exact *p)
{
    p->n_columns = p->n_solid;
    memcpy(p->selection, p->variance, p->stride * sizeof *p->variance);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

size_t bandit_exact_solid(const bandit_exact *p)
{
    return p->n_solid;
}

size_t bandit_exact_hallucinated(const bandit_exact *p)
{
    return p->n_columns - p->n_solid;
}

const double *bandit_exact_mean(const bandit_exact *p)
{
    return p->mean;
}

const double *bandit_exact_variance(const bandit_exact *p)
{
    return p->variance;
}

const double *bandit_exact_selection_variance(const bandit_exact *p)
{
    return p->selection;
}

size_t bandit_exact_stride(const bandit_exact *p)
{
    return p->stride;
}
