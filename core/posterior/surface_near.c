#include "core/posterior/surface_near.h"

#include "core/base/allocate.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double profile_value(bandit_profile profile, double s, double *slope)
{
    double r = sqrt(s), e = exp(profile == BANDIT_PROFILE_GAUSSIAN ? -s : -r);
    switch (profile) {
    case BANDIT_PROFILE_GAUSSIAN:
        *slope = -e;
        return e;
    case BANDIT_PROFILE_MATERN12:
        *slope = r > 0.0 ? -0.5 * e / r : 0.0; /* a cusp, where 0 is a valid subgradient */
        return e;
    case BANDIT_PROFILE_MATERN32:
        *slope = -0.5 * e;
        return (1.0 + r) * e;
    case BANDIT_PROFILE_MATERN52:
        *slope = -(1.0 + r) * e / 6.0;
        return (1.0 + r + s / 3.0) * e;
    case BANDIT_PROFILE_LINEAR:
    case BANDIT_PROFILE_MATRIX:
        break;
    }
    assert(!"a stationary kernel");
    return 0.0;
}

double bandit_near_profile(const bandit_covariance *c, double s, double *slope)
{
    const double closer = BANDIT_SHORT_RANGE_SQUARES;
    double k = profile_value(c->profile, s, slope), near_slope;
    if (!(c->short_share > 0.0))
        return k;
    double near = profile_value(c->profile, closer * s, &near_slope);
    *slope += c->short_share * (closer * near_slope - *slope);
    return k + c->short_share * (near - k);
}

double bandit_near_kernel(const bandit_covariance *c, const double *u, const double *z, double *slope)
{
    double sum = 0.0;
    if (c->profile == BANDIT_PROFILE_LINEAR) {
        for (size_t j = 0; j < c->dimension; j++)
            sum += u[j] * z[j];
        *slope = 0.0;
        return sum;
    }
    for (size_t j = 0; j < c->dimension; j++)
        sum += (u[j] - z[j]) * (u[j] - z[j]);
    return bandit_near_profile(c, sum, slope);
}

/* ---- the points ---------------------------------------------------------------------------------------- */

void bandit_near_reset(bandit_near *near)
{
    near->n = near->room = 0;
    near->factored = 0;
    near->kernel_values = 0;
}

void bandit_near_clear(bandit_near *near)
{
    free(near->points);
    free(near->y);
    *near = (bandit_near){0};
}

size_t bandit_near_memory(const bandit_near *near)
{
    return (near->capacity_points + near->capacity_y) * sizeof(double);
}

bool bandit_near_reserve(bandit_near *near, size_t base, size_t dimension, size_t more)
{
    assert(near->n == 0 || near->base == base);
    near->base = base;
    near->stride = bandit_whole(base, 8); /* rows begin alike in memory, because some kernels of BLAS round
                                             differently otherwise */
    if (near->n + more <= near->room)
        return true;
    size_t room = near->n + more + near->n / 4;
    if (!bandit_reserve_keep((void **)&near->points, &near->capacity_points, near->n * dimension,
                             room * dimension, sizeof(double)) ||
        !bandit_reserve_keep((void **)&near->y, &near->capacity_y, near->n * near->stride,
                             room * near->stride, sizeof(double)))
        return false;
    near->room = room;
    return true;
}

void bandit_near_add(bandit_near *near, const bandit_covariance *c, const double *u, const double *y)
{
    assert(near->n < near->room);
    memcpy(near->points + near->n * c->dimension, u, c->dimension * sizeof *u);
    memcpy(near->y + near->n * near->stride, y, near->base * sizeof *y);
    near->n++;
}

/* ---- neighbors ----------------------------------------------------------------------------------------- */

bool bandit_neighbors_offer(bandit_neighbors *at, uint32_t point, double distance, double c)
{
    uint32_t place = at->n;
    if (place == BANDIT_NEAR_POINTS && !(distance < at->distance[place - 1]))
        return false;
    if (place == BANDIT_NEAR_POINTS)
        place--;
    else
        at->n++;
    for (; place > 0 && distance < at->distance[place - 1]; place--) {
        at->list[place] = at->list[place - 1];
        at->distance[place] = at->distance[place - 1];
        at->c[place] = at->c[place - 1];
    }
    at->list[place] = point;
    at->distance[place] = distance;
    at->c[place] = c;
    return true;
}

static const double *y_of(const bandit_near *near, uint32_t point)
{
    return near->y + point * near->stride;
}

static double dot(size_t n, const double *a, const double *b)
{
    return n > 0 ? cblas_ddot((int)n, a, 1, b, 1) : 0.0;
}

/* Factors C + lambda I for these neighbors. Except for rounding, no pivot can be less than lambda. */
static void factor(bandit_near *near, const bandit_covariance *c, double lambda, const bandit_neighbors *at)
{
    enum { P = BANDIT_NEAR_POINTS };
    size_t d = c->dimension;
    double slope;
    if (near->factored == at->n && memcmp(near->list, at->list, at->n * sizeof *at->list) == 0)
        return;
    for (uint32_t i = 0; i < at->n; i++) {
        const double *u = near->points + at->list[i] * d, *y = y_of(near, at->list[i]);
        for (uint32_t j = 0; j <= i; j++) {
            double sum = bandit_near_kernel(c, u, near->points + at->list[j] * d, &slope) -
                         dot(near->base, y, y_of(near, at->list[j])) + (i == j ? lambda : 0.0);
            for (uint32_t k = 0; k < j; k++)
                sum -= near->L[i * P + k] * near->L[j * P + k];
            near->L[i * P + j] = i == j ? sqrt(fmax(sum, lambda)) : sum / near->L[j * P + j];
        }
    }
    near->kernel_values += (uint64_t)at->n * (at->n + 1) / 2;
    near->factored = at->n;
    memcpy(near->list, at->list, at->n * sizeof *at->list);
}

/* out = L^{-1} c. Returns its squared norm. */
static double solve(const bandit_near *near, const bandit_neighbors *at, double *out)
{
    enum { P = BANDIT_NEAR_POINTS };
    double norm2 = 0.0;
    for (uint32_t i = 0; i < at->n; i++) {
        double sum = at->c[i];
        for (uint32_t k = 0; k < i; k++)
            sum -= near->L[i * P + k] * out[k];
        out[i] = sum / near->L[i * P + i];
        norm2 += out[i] * out[i];
    }
    return norm2;
}

double bandit_near_reduction(bandit_near *near, const bandit_covariance *c, double lambda,
                             const bandit_neighbors *at)
{
    double solved[BANDIT_NEAR_POINTS];
    factor(near, c, lambda, at);
    return solve(near, at, solved);
}

double bandit_near_look(bandit_near *near, const bandit_covariance *c, double lambda, const double *u,
                        const double *y)
{
    enum { P = BANDIT_NEAR_POINTS };
    size_t d = c->dimension;
    bandit_neighbors *at = &near->at;
    at->n = 0;
    for (size_t i = 0; i < near->n; i++) {
        const double *z = near->points + i * d;
        double distance = 0.0;
        for (size_t j = 0; j < d; j++)
            distance += (u[j] - z[j]) * (u[j] - z[j]);
        bandit_neighbors_offer(at, (uint32_t)i, distance, 0.0);
    }
    for (uint32_t i = 0; i < at->n; i++)
        at->c[i] = bandit_near_kernel(c, u, near->points + at->list[i] * d, &near->slope[i]) -
                   dot(near->base, y, y_of(near, at->list[i]));
    near->kernel_values += at->n;
    factor(near, c, lambda, at);
    double norm2 = solve(near, at, near->beta);
    for (uint32_t i = at->n; i-- > 0;) { /* beta = L^{-T} L^{-1} c */
        double sum = near->beta[i];
        for (uint32_t k = i + 1; k < at->n; k++)
            sum -= near->L[k * P + i] * near->beta[k];
        near->beta[i] = sum / near->L[i * P + i];
    }
    return norm2;
}

void bandit_near_subtract(const bandit_near *near, double *y)
{
    for (uint32_t i = 0; i < near->at.n && near->base > 0; i++)
        cblas_daxpy((int)near->base, -near->beta[i], y_of(near, near->at.list[i]), 1, y, 1);
}

void bandit_near_add_slope(const bandit_near *near, const bandit_covariance *c, const double *u,
                           double weight, double *gradient)
{
    size_t d = c->dimension;
    bool linear = c->profile == BANDIT_PROFILE_LINEAR;
    for (uint32_t i = 0; i < near->at.n; i++) {
        const double *z = near->points + near->at.list[i] * d;
        double by = weight * near->beta[i] * (linear ? 1.0 : 2.0 * near->slope[i]);
        for (size_t j = 0; j < d; j++)
            gradient[j] += by * (linear ? z[j] : u[j] - z[j]) * c->factor[j];
    }
}
