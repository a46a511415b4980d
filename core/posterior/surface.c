#include "core/posterior/surface_blocks.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"
#include "core/posterior/prior_mean.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the start ----------------------------------------------------------------------------------------- */

/* C with C'C = I − lambda V^{-1}, lower triangle. The eigenvalues of that matrix are in [0, 1), and 0 in
 * directions without data, so that a Cholesky factor may need a diagonal shift. The shift changes a variance
 * by at most shift * |z|^2, |z|^2 <= kappa^2. With many observations and very little noise, V is so
 * ill-conditioned that the error of its inverse exceeds any acceptable shift; negative eigenvalues are then
 * replaced by zero. `inverse` and `matrix` are m x m scratch. */
static bandit_status factor_gain(const bandit_posterior *p, double *inverse, double *matrix, double *out,
                                 bandit_error *err)
{
    size_t m = p->m;
    memset(inverse, 0, m * m * sizeof *inverse);
    for (size_t k = 0; k < m; k++)
        memcpy(inverse + k * m + k, p->L_V + k * m + k, (m - k) * sizeof(double));
    bandit_status status = bandit_invert_lower(inverse, m, m, err);
    if (status != BANDIT_OK)
        return status;
    lapack_int info = LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)m, inverse, (lapack_int)m);
    assert(info == 0);
    (void)info;
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k; i < m; i++)
            matrix[k * m + i] = (i == k ? 1.0 : 0.0) - p->lambda * inverse[k * m + i];
    }
    static const double shifts[] = {1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9};
    for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++) {
        if (bandit_reversed_cholesky(out, matrix, m, shifts[k]))
            return BANDIT_OK;
    }
    return bandit_nearest_root(out, matrix, m, err);
}

/* R = C L^{-1}, stored by rows. */
static bandit_status factor_members(bandit_surface *s, bandit_error *err)
{
    const bandit_posterior *p = s->posterior;
    size_t m = s->m;
    double *inverse = s->work, *matrix = inverse + m * m, *C = matrix + m * m;
    bandit_status status = factor_gain(p, inverse, matrix, C, err);
    if (status != BANDIT_OK)
        return status;
    memset(inverse, 0, m * m * sizeof *inverse);
    for (size_t k = 0; k < m; k++) {
        memcpy(inverse + k * m + k, p->L + k * m + k, (m - k) * sizeof(double));
        memset(C + k * m, 0, k * sizeof *C);
    }
    status = bandit_invert_lower(inverse, m, m, err);
    if (status != BANDIT_OK)
        return status;
    int order = (int)m;
    cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, order, order, 1.0, inverse,
                order, C, order);
    for (size_t i = 0; i < m; i++) {
        for (size_t k = 0; k <= i; k++)
            s->R[i * s->room + k] = C[k * m + i];
    }
    cblas_dcopy(order, p->g, 1, s->weights, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, order, p->L_V, order, s->weights, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, order, p->L, order, s->weights, 1);
    return BANDIT_OK;
}

/* Lays the vectors out for `room` points. */
static void lay_out(bandit_surface *s, size_t room)
{
    s->room = room;
    s->slope = s->k + room;
    s->y = s->k + 2 * room;
    s->q = s->k + 3 * room;
    s->u = s->k + 4 * room;
}

/* Makes room for exactly this many points; the first `used` rows of R are kept. R's rows have `room` entries,
 * and some kernels of BLAS round differently if rows begin elsewhere in memory. A restored engine must choose
 * the same points, so `room` depends only on the batch and its picks, not on the needs of earlier batches. */
static bool set_room(bandit_surface *s, size_t room, size_t used)
{
    size_t d = s->posterior->covariance->dimension;
    bool keeps_R = used == 0 && room * room <= s->capacity_R;
    double *R = keeps_R ? s->R : bandit_alloc_zeroed(room, room * sizeof *R);
    /* the vectors come last: once they have moved, the pointers into them must change */
    if (!R ||
        !bandit_reserve_keep((void **)&s->points.features, &s->points.capacity_features, used * d, room * d,
                             sizeof(double)) ||
        !bandit_reserve((void **)&s->k, &s->capacity_vectors, 4 * room + d, sizeof *s->k)) {
        if (!keeps_R)
            free(R);
        return false;
    }
    for (size_t i = 0; i < used; i++)
        memcpy(R + i * room, s->R + i * s->room, (i + 1) * sizeof *R);
    if (!keeps_R) {
        free(s->R);
        s->capacity_R = room * room;
    }
    s->R = R;
    lay_out(s, room);
    return true;
}

bandit_status bandit_surface_start(bandit_surface *s, const bandit_posterior *posterior, size_t room,
                                   bandit_error *err)
{
    const bandit_covariance *covariance = posterior->covariance;
    size_t m = posterior->m, d = covariance->dimension;
    size_t exact = s->near && room > BANDIT_NEAR_EXACT ? BANDIT_NEAR_EXACT : room, all = m + exact + 1;
    size_t scratch = bandit_covariance_scratch(covariance) + 2 * BANDIT_SURFACE_BLOCK;
    assert(covariance->profile != BANDIT_PROFILE_MATRIX);
    s->posterior = posterior;
    s->m = s->n = s->points.n = 0;
    bandit_near_reset(&s->beyond);
    if (!bandit_reserve((void **)&s->weights, &s->capacity_weights, m, sizeof(double)) ||
        !bandit_reserve((void **)&s->work, &s->capacity_work, 3 * m * m, sizeof(double)) ||
        !bandit_reserve((void **)&s->scratch, &s->capacity_scratch, scratch + all * BANDIT_SURFACE_BLOCK,
                        sizeof(double)) ||
        !set_room(s, all, 0))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a dictionary of %zu", m);
    s->m = s->n = s->points.n = m;
    if (m == 0)
        return BANDIT_OK;
    memcpy(s->points.features, posterior->points.features, m * d * sizeof(double));
    return factor_members(s, err);
}

bandit_status bandit_surface_reserve(bandit_surface *s, size_t more, bandit_error *err)
{
    size_t base = s->m + BANDIT_NEAR_EXACT, exact = s->near && more > base - s->n ? base - s->n : more;
    if (exact < more &&
        !bandit_near_reserve(&s->beyond, base, s->posterior->covariance->dimension, more - exact))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu points in flight", more);
    more = exact;
    if (s->n + more <= s->room)
        return BANDIT_OK;
    size_t room = s->n + more + s->n / 4 + 16;
    size_t scratch = bandit_covariance_scratch(s->posterior->covariance) + 2 * BANDIT_SURFACE_BLOCK;
    /* set_room must come last: it raises s->room, which says that the memory is there. */
    if (!bandit_reserve((void **)&s->scratch, &s->capacity_scratch, scratch + room * BANDIT_SURFACE_BLOCK,
                        sizeof(double)) ||
        !set_room(s, room, s->n))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu points in flight", more);
    return BANDIT_OK;
}

void bandit_surface_clear(bandit_surface *s)
{
    bandit_points_clear(&s->points);
    bandit_near_clear(&s->beyond);
    free(s->R);
    free(s->weights);
    free(s->k);
    free(s->scratch);
    free(s->work);
    *s = (bandit_surface){0};
}

size_t bandit_surface_memory(const bandit_surface *s)
{
    return (s->capacity_R + s->capacity_weights + s->capacity_vectors + s->capacity_scratch +
            s->capacity_work + s->points.capacity_features) *
               sizeof(double) +
           bandit_near_memory(&s->beyond);
}

/* ---- one point ----------------------------------------------------------------------------------------- */

/* Sets u, k and slope for the point x. Returns k(x, x). */
static double look_at_kernel(bandit_surface *s, const double *x)
{
    const bandit_covariance *c = s->posterior->covariance;
    size_t d = c->dimension;
    double own = 0.0;
    for (size_t j = 0; j < d; j++) {
        s->u[j] = x[j] * c->factor[j];
        own += s->u[j] * s->u[j];
    }
    for (size_t i = 0; i < s->n; i++)
        s->k[i] = bandit_near_kernel(c, s->u, s->points.features + i * d, &s->slope[i]);
    s->beyond.kernel_values += s->n;
    return c->profile == BANDIT_PROFILE_LINEAR ? own : 1.0;
}

void bandit_surface_apply(const bandit_surface *s, CBLAS_TRANSPOSE transpose, double *v)
{
    if (s->n > 0)
        cblas_dtrmv(CblasRowMajor, CblasLower, transpose, CblasNonUnit, (int)s->n, s->R, (int)s->room, v, 1);
}

void bandit_surface_look(bandit_surface *s, const double *coordinates)
{
    double own = look_at_kernel(s, coordinates);
    s->at = coordinates;
    memcpy(s->y, s->k, s->n * sizeof *s->y);
    bandit_surface_apply(s, CblasNoTrans, s->y);
    s->mean = cblas_ddot((int)s->m, s->weights, 1, s->k, 1);
    if (s->posterior->covariance->prior)
        s->mean += bandit_prior_mean_at(s->posterior->covariance->prior, coordinates);
    s->variance = own - cblas_ddot((int)s->n, s->y, 1, s->y, 1);
    if (s->beyond.n > 0)
        s->variance -=
            bandit_near_look(&s->beyond, s->posterior->covariance, s->posterior->lambda, s->u, s->y);
}

/* Adds to `gradient` the gradient of sum_{j < n} c_j k(x, D_j). */
static void add_kernel_slope(const bandit_surface *s, const double *c, size_t n, double *gradient)
{
    const bandit_covariance *covariance = s->posterior->covariance;
    size_t d = covariance->dimension;
    bool linear = covariance->profile == BANDIT_PROFILE_LINEAR;
    for (size_t i = 0; i < n; i++) {
        const double *z = s->points.features + i * d;
        double weight = linear ? c[i] : 2.0 * c[i] * s->slope[i];
        if (weight == 0.0)
            continue;
        for (size_t j = 0; j < d; j++)
            gradient[j] += weight * (linear ? z[j] : s->u[j] - z[j]) * covariance->factor[j];
    }
}

double bandit_surface_combine_slopes(bandit_surface *s, const double *c, const double *coordinates,
                                     double *gradient)
{
    look_at_kernel(s, coordinates);
    memset(gradient, 0, s->posterior->covariance->dimension * sizeof *gradient);
    add_kernel_slope(s, c, s->m, gradient);
    return cblas_ddot((int)s->m, c, 1, s->k, 1);
}

void bandit_surface_slope(bandit_surface *s, double a, double b, double *gradient)
{
    const bandit_covariance *c = s->posterior->covariance;
    size_t d = c->dimension;
    for (size_t j = 0; j < d; j++)
        gradient[j] = c->profile == BANDIT_PROFILE_LINEAR ? 2.0 * b * s->u[j] : 0.0; /* gradient of k(x,x) */
    /* ∇|R k|^2 = 2 (∇k)' R'R k */
    memset(s->q, 0, s->n * sizeof *s->q);
    if (b != 0.0) {
        memcpy(s->q, s->y, s->n * sizeof *s->q);
        if (s->beyond.n > 0) {
            bandit_near_subtract(&s->beyond, s->q);
            bandit_near_add_slope(&s->beyond, c, s->u, -2.0 * b, gradient);
        }
        bandit_surface_apply(s, CblasTrans, s->q);
        cblas_dscal((int)s->n, -2.0 * b, s->q, 1);
    }
    cblas_daxpy((int)s->m, a, s->weights, 1, s->q, 1);
    add_kernel_slope(s, s->q, s->n, gradient);
    if (c->prior && a != 0.0)
        bandit_prior_mean_slope(c->prior, s->at, a, gradient);
}

double bandit_surface_hallucinate(bandit_surface *s, const double *coordinates, double noise)
{
    size_t d = s->posterior->covariance->dimension, n = s->n;
    bandit_surface_look(s, coordinates);
    double variance = fmax(0.0, s->variance), scale = 1.0 / sqrt(noise + variance);
    if (s->near && n == s->m + BANDIT_NEAR_EXACT) {
        bandit_near_add(&s->beyond, s->posterior->covariance, s->u, s->y);
        return variance;
    }
    assert(n < s->room);
    memcpy(s->q, s->y, n * sizeof *s->q);
    bandit_surface_apply(s, CblasTrans, s->q);
    double *row = s->R + n * s->room;
    for (size_t i = 0; i < n; i++)
        row[i] = -scale * s->q[i];
    row[n] = scale;
    memcpy(s->points.features + n * d, s->u, d * sizeof(double));
    s->n = s->points.n = n + 1;
    return variance;
}

/* ---- many points --------------------------------------------------------------------------------------- */

void bandit_surface_columns(bandit_surface *s, const double *coordinates, size_t rows, size_t n,
                            double *columns, size_t ld, double *diagonal)
{
    bandit_points points = s->points;
    points.n = n;
    bandit_covariance_block_at(s->posterior->covariance, coordinates, rows, &points, columns, ld, diagonal,
                               s->scratch + s->room * BANDIT_SURFACE_BLOCK + 2 * BANDIT_SURFACE_BLOCK);
    s->beyond.kernel_values += rows * n;
}

void bandit_surface_block_variances(const bandit_surface *s, double *block, size_t rows, size_t n,
                                    const double *diagonal, double *out)
{
    memcpy(out, diagonal, rows * sizeof *out);
    if (n == 0)
        return;
    cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)rows, (int)n, 1.0,
                s->R, (int)s->room, block, BANDIT_SURFACE_BLOCK);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < rows; i++)
            out[i] -= block[k * BANDIT_SURFACE_BLOCK + i] * block[k * BANDIT_SURFACE_BLOCK + i];
    }
    for (size_t i = 0; i < rows; i++)
        out[i] = fmax(0.0, out[i]);
}

/* Conditions the variances of a block on the points in flight beyond those of R. `block` is as
 * bandit_surface_block_variances left it. */
static void reduce_block(bandit_surface *s, const double *coordinates, const double *block, size_t rows,
                         double *variance)
{
    const bandit_covariance *c = s->posterior->covariance;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < c->dimension; j++)
            s->u[j] = coordinates[i * c->dimension + j] * c->factor[j];
        for (size_t k = 0; k < s->n; k++)
            s->y[k] = block[k * BANDIT_SURFACE_BLOCK + i];
        double less = bandit_near_look(&s->beyond, c, s->posterior->lambda, s->u, s->y);
        variance[i] = fmax(0.0, variance[i] - less);
    }
}

void bandit_surface_add_prior(const bandit_surface *s, const double *coordinates, size_t n, double *mean)
{
    const bandit_covariance *c = s->posterior->covariance;
    for (size_t i = 0; c->prior && i < n; i++)
        mean[i] += bandit_prior_mean_at(c->prior, coordinates + i * c->dimension);
}

void bandit_surface_values(bandit_surface *s, const double *coordinates, size_t n, double *mean,
                           double *variance)
{
    size_t d = s->posterior->covariance->dimension;
    double *block = s->scratch, *diagonal = s->scratch + s->room * BANDIT_SURFACE_BLOCK;
    for (size_t first = 0; first < n; first += BANDIT_SURFACE_BLOCK) {
        size_t rows = n - first < BANDIT_SURFACE_BLOCK ? n - first : BANDIT_SURFACE_BLOCK;
        bandit_pause();
        bandit_surface_columns(s, coordinates + first * d, rows, variance ? s->n : s->m, block,
                               BANDIT_SURFACE_BLOCK, diagonal);
        if (mean) {
            memset(mean + first, 0, rows * sizeof *mean);
            if (s->m > 0)
                cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, (int)s->m, 1.0, block,
                            BANDIT_SURFACE_BLOCK, s->weights, 1, 0.0, mean + first, 1);
            bandit_surface_add_prior(s, coordinates + first * d, rows, mean + first);
        }
        if (variance)
            bandit_surface_block_variances(s, block, rows, s->n, diagonal, variance + first);
        if (variance && s->beyond.n > 0)
            reduce_block(s, coordinates + first * d, block, rows, variance + first);
    }
}

void bandit_surface_combine(bandit_surface *s, const double *c, const double *coordinates, size_t n,
                            double *out)
{
    size_t d = s->posterior->covariance->dimension;
    double *block = s->scratch, *diagonal = s->scratch + s->room * BANDIT_SURFACE_BLOCK;
    memset(out, 0, n * sizeof *out);
    for (size_t first = 0; first < n && s->m > 0; first += BANDIT_SURFACE_BLOCK) {
        size_t rows = n - first < BANDIT_SURFACE_BLOCK ? n - first : BANDIT_SURFACE_BLOCK;
        bandit_pause();
        bandit_surface_columns(s, coordinates + first * d, rows, s->m, block, BANDIT_SURFACE_BLOCK, diagonal);
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, (int)s->m, 1.0, block, BANDIT_SURFACE_BLOCK, c, 1,
                    0.0, out + first, 1);
    }
}
