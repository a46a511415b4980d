#include "core/posterior/conditioning.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <cblas.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = BANDIT_CONDITIONING_BLOCK };

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Moves the triangle of shares to a larger leading dimension. */
static bool reserve_shares(bandit_conditioning *c, size_t room, size_t ld)
{
    double *old = c->shares;
    size_t capacity = 0;
    double *shares = NULL;
    if (room * ld <= c->capacity_shares && (ld == c->ld || c->n == 0))
        return true;
    if (!bandit_reserve((void **)&shares, &capacity, room * ld, sizeof *shares))
        return false;
    for (size_t j = 1; j < c->n; j++)
        memcpy(shares + j * ld, old + j * c->ld, j * sizeof *shares);
    free(old);
    c->shares = shares;
    c->capacity_shares = capacity;
    return true;
}

/* Reserves memory for `room` rows; the first c->n are kept. */
static bool reserve_rows(bandit_conditioning *c, size_t room)
{
    size_t d = c->posterior->covariance->dimension, ld = bandit_aligned_doubles(room), n = c->n;
    size_t work = BLOCK * (c->m + room) + bandit_whole_tiles(room) + bandit_whole_tiles(c->m) +
                  (c->m + 2) * BANDIT_TILE + bandit_covariance_scratch(c->posterior->covariance) + d +
                  2 * BLOCK;
    if (!bandit_reserve_keep((void **)&c->points.arms, &c->points.capacity, n, room, sizeof(uint32_t)) ||
        !bandit_reserve_keep((void **)&c->points.features, &c->points.capacity_features, n * d, room * d,
                             sizeof(double)) ||
        !bandit_reserve_keep((void **)&c->vectors, &c->capacity_vectors, n * 2 * c->stride,
                             room * 2 * c->stride, sizeof(double)) ||
        !bandit_reserve_keep((void **)&c->products, &c->capacity_products, n * c->stride, room * c->stride,
                             sizeof(double)) ||
        !bandit_reserve_keep((void **)&c->divisor, &c->capacity_divisor, n, room, sizeof(double)) ||
        !bandit_reserve_keep((void **)&c->error, &c->capacity_error, n, room, sizeof(double)) ||
        !bandit_reserve((void **)&c->work, &c->capacity_work, work, sizeof(double)) ||
        !reserve_shares(c, room, ld))
        return false;
    c->room = room;
    c->ld = ld;
    return true;
}

bandit_status bandit_conditioning_start(bandit_conditioning *c, const bandit_posterior *posterior,
                                        size_t room, bandit_error *err)
{
    assert(room <= BANDIT_CONDITIONING_MOST);
    c->posterior = posterior;
    c->m = posterior->m;
    c->stride = bandit_aligned_doubles(posterior->m);
    c->n = c->points.n = 0;
    c->gain = 0.0;
    c->count = 0;
    c->most = 1;
    if (!reserve_rows(c, room))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu arms in flight", room);
    return BANDIT_OK;
}

bandit_status bandit_conditioning_reserve(bandit_conditioning *c, size_t room, bandit_error *err)
{
    assert(room <= BANDIT_CONDITIONING_MOST);
    if (room > c->room && !reserve_rows(c, room))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu arms in flight", room);
    return BANDIT_OK;
}

void bandit_conditioning_clear(bandit_conditioning *c)
{
    bandit_points_clear(&c->points);
    free(c->vectors);
    free(c->products);
    free(c->shares);
    free(c->divisor);
    free(c->error);
    free(c->work);
    *c = (bandit_conditioning){0};
}

size_t bandit_conditioning_memory(const bandit_conditioning *c)
{
    size_t doubles = c->points.capacity_features + c->capacity_vectors + c->capacity_products +
                     c->capacity_shares + c->capacity_divisor + c->capacity_error + c->capacity_work;
    return doubles * sizeof(double) + c->points.capacity * sizeof(uint32_t);
}

/* ---- one arm ------------------------------------------------------------------------------------------- */

void bandit_conditioning_embed(bandit_conditioning *c, uint32_t index, bandit_conditioned *arm)
{
    bandit_embedding e = bandit_posterior_embed_both(c->posterior, index, arm->z, arm->w, c->work);
    arm->mean = e.mean;
    arm->variance = arm->closed = e.residual + e.norm2;
    arm->n = arm->n_closed = 0;
}

/* Computes c_j of the arm for the rows that are new to it. Each is its own product, so that its bits do not
 * depend on how many there are. */
static void bring_up_to_date(bandit_conditioning *c, uint32_t index, bandit_conditioned *arm)
{
    const bandit_posterior *p = c->posterior;
    size_t first = arm->n;
    int m = (int)c->m;
    double *k = c->work, *scratch = k + bandit_whole_tiles(c->room);
    if (first == c->n)
        return;
    bandit_covariance_column(p->covariance, c->points.arms + first, c->n - first, index, k, scratch);
    for (size_t j = first; j < c->n; j++) {
        const double *z = c->vectors + j * 2 * c->stride, *w = z + c->stride;
        double value = (k[j - first] - cblas_ddot(m, z, 1, arm->z, 1)) / p->lambda;
        value += cblas_ddot(m, w, 1, arm->w, 1);
        arm->c[j] = value - cblas_ddot((int)j, c->shares + j * c->ld, 1, arm->c, 1);
    }
    arm->n = c->n;
}

double bandit_conditioning_variance(bandit_conditioning *c, uint32_t index, bandit_conditioned *arm)
{
    if (c->n == 0)
        return arm->variance;
    bring_up_to_date(c, index, arm);
    for (; arm->n_closed + 1 < c->n; arm->n_closed++)
        arm->closed -= arm->c[arm->n_closed] * arm->c[arm->n_closed] / c->divisor[arm->n_closed];
    double last = arm->c[c->n - 1];
    return fmax(0.0, arm->closed - last * last / c->divisor[c->n - 1]);
}

/* products = L^{-T} (z / lambda − L_V^{-T} w), and the rounding error of k(x, x_j) / lambda − products'k. */
static void write_products(bandit_conditioning *c, size_t row, const bandit_conditioned *arm)
{
    const bandit_posterior *p = c->posterior;
    int m = (int)c->m;
    double *b = c->products + row * c->stride, rounding = 16.0 * DBL_EPSILON * p->covariance->kappa2;
    c->error[row] = rounding / p->lambda;
    if (m == 0)
        return;
    memcpy(b, arm->w, c->m * sizeof *b);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L_V, m, b, 1);
    cblas_dscal(m, -1.0, b, 1);
    cblas_daxpy(m, 1.0 / p->lambda, arm->z, 1, b, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L, m, b, 1);
    c->error[row] += rounding * sqrt((double)m) * cblas_dnrm2(m, b, 1);
}

void bandit_conditioning_add(bandit_conditioning *c, uint32_t index, bandit_conditioned *arm)
{
    const bandit_covariance *covariance = c->posterior->covariance;
    size_t j = c->n, d = covariance->dimension;
    if (j > 0 && c->points.arms[j - 1] == index) {
        c->count++;
        c->most = c->count > c->most ? c->count : c->most;
        c->divisor[j - 1] = 1.0 / (double)c->count + c->gain;
        return;
    }
    if (j == BANDIT_CONDITIONING_MOST)
        return;
    assert(j < c->room);
    c->gain = bandit_conditioning_variance(c, index, arm);
    c->count = 1;
    c->divisor[j] = 1.0 + c->gain;
    for (size_t i = 0; i < j; i++)
        c->shares[j * c->ld + i] = arm->c[i] / c->divisor[i];
    if (c->m > 0) {
        memcpy(c->vectors + j * 2 * c->stride, arm->z, c->m * sizeof(double));
        memcpy(c->vectors + j * 2 * c->stride + c->stride, arm->w, c->m * sizeof(double));
    }
    write_products(c, j, arm);
    c->points.arms[j] = index;
    for (size_t i = 0; i < d; i++)
        c->points.features[j * d + i] =
            bandit_arms_feature(covariance->arms, index, i) * covariance->factor[i];
    c->n = c->points.n = j + 1;
}

/* ---- many arms ----------------------------------------------------------------------------------------- */

/* The errors e_j of c(x, x_j) propagate to u_j = c_j / sqrt(d_j) through the inverse of a factor of
 * C + diag(1 / n_j), whose norm is at most the square root of the largest n_j. With an error e of u, |u|^2 is
 * at least |u|^2 − 2 |u| |e|. */
void bandit_conditioning_gains(bandit_conditioning *c, const uint32_t *arms, size_t n, double *gains)
{
    const bandit_posterior *p = c->posterior;
    size_t rows = bandit_whole_tiles(n), n_rows = c->n;
    double *members = c->work, *values = members + BLOCK * c->m, *scratch = values + BLOCK * c->room;
    double off = 0.0;
    assert(n <= BLOCK);
    memset(gains, 0, n * sizeof *gains);
    if (n_rows == 0 || n == 0)
        return;
    bandit_covariance_block(p->covariance, arms, n, &c->points, values, rows, scratch);
    if (c->m > 0) {
        bandit_covariance_block(p->covariance, arms, n, &p->points, members, rows, scratch);
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)n_rows, (int)c->m, -1.0, members,
                    (int)rows, c->products, (int)c->stride, 1.0 / p->lambda, values, (int)rows);
    } else {
        cblas_dscal((int)(rows * n_rows), 1.0 / p->lambda, values, 1);
    }
    /* Read by rows, the shares are the strict lower triangle of a unit triangular matrix; read by columns,
     * its transpose. */
    cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasUnit, (int)n, (int)n_rows, 1.0,
                c->shares, (int)c->ld, values, (int)rows);
    for (size_t j = 0; j < n_rows; j++) {
        const double *value = values + j * rows;
        double by = 1.0 / c->divisor[j];
        off += c->error[j] * c->error[j];
        for (size_t i = 0; i < n; i++)
            gains[i] += value[i] * value[i] * by;
    }
    off = 4.0 * sqrt(off * (double)c->most);
    for (size_t i = 0; i < n; i++) {
        double sum = gains[i] * (1.0 - 1e-12);
        gains[i] = fmax(0.0, sum - off * (2.0 * sqrt(sum) + off));
    }
}
