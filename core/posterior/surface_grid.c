/* Means and variances on a grid, which are updated as points are added in flight. */
#include "core/posterior/surface_blocks.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reserves memory for `room` columns; the first `used` are kept. */
static bool reserve_columns(bandit_grid *g, size_t room, size_t used)
{
    if (!bandit_reserve_keep((void **)&g->columns, &g->capacity_columns, used * g->ld, room * g->ld,
                             sizeof(double)))
        return false;
    g->room = g->capacity_columns / g->ld;
    return true;
}

bandit_status bandit_grid_start(bandit_grid *g, bandit_surface *s, const double *coordinates, size_t n,
                                bandit_error *err)
{
    size_t d = s->posterior->covariance->dimension, m = s->m;
    size_t ld = bandit_whole(n, BANDIT_SURFACE_BLOCK);
    g->n = n;
    g->ld = ld;
    if (!reserve_columns(g, s->room, 0) ||
        !bandit_reserve((void **)&g->mean, &g->capacity_values, 3 * ld, sizeof(double)) ||
        !bandit_reserve((void **)&g->coordinates, &g->capacity_coordinates, n * d, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a grid of %zu points", n);
    g->variance = g->mean + ld;
    g->a = g->mean + 2 * ld;
    memcpy(g->coordinates, coordinates, n * d * sizeof *coordinates);
    memset(g->mean, 0, n * sizeof *g->mean);
    double *block = s->scratch, *diagonal = s->scratch + s->room * BANDIT_SURFACE_BLOCK;
    for (size_t first = 0; first < n; first += BANDIT_SURFACE_BLOCK) {
        size_t rows = n - first < BANDIT_SURFACE_BLOCK ? n - first : BANDIT_SURFACE_BLOCK;
        bandit_pause();
        bandit_surface_columns(s, coordinates + first * d, rows, m, g->columns + first, ld, diagonal);
        for (size_t k = 0; k < m; k++)
            memcpy(block + k * BANDIT_SURFACE_BLOCK, g->columns + k * ld + first, rows * sizeof *block);
        bandit_surface_block_variances(s, block, rows, m, diagonal, g->variance + first);
    }
    if (m > 0)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)n, (int)m, 1.0, g->columns, (int)ld, s->weights, 1, 0.0,
                    g->mean, 1);
    bandit_surface_add_prior(s, coordinates, n, g->mean);
    g->applied = m;
    g->applied_near = 0;
    return BANDIT_OK;
}

/* Covariances of the grid with a point of `beyond`, into g->a. */
static void covariances_with(bandit_grid *g, bandit_surface *s, size_t point)
{
    const bandit_covariance *c = s->posterior->covariance;
    double *diagonal = s->scratch + s->room * BANDIT_SURFACE_BLOCK;
    /* k(x, x_j) − y(x)'y_j = k(x, x_j) − k(x)' R'y_j */
    memcpy(s->q, s->beyond.y + point * s->beyond.stride, s->n * sizeof *s->q);
    bandit_surface_apply(s, CblasTrans, s->q);
    bandit_points one = {.n = 1, .features = s->beyond.points + point * c->dimension};
    for (size_t first = 0; first < g->n; first += BANDIT_SURFACE_BLOCK) {
        size_t rows = g->n - first < BANDIT_SURFACE_BLOCK ? g->n - first : BANDIT_SURFACE_BLOCK;
        bandit_covariance_block_at(c, g->coordinates + first * c->dimension, rows, &one, g->a + first, g->ld,
                                   diagonal,
                                   s->scratch + s->room * BANDIT_SURFACE_BLOCK + 2 * BANDIT_SURFACE_BLOCK);
    }
    s->beyond.kernel_values += g->n;
    if (s->n > 0)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)g->n, (int)s->n, -1.0, g->columns, (int)g->ld, s->q, 1,
                    1.0, g->a, 1);
}

static double distance_to(const bandit_surface *s, const double *coordinates, size_t point)
{
    const bandit_covariance *c = s->posterior->covariance;
    const double *z = s->beyond.points + point * c->dimension;
    double sum = 0.0;
    for (size_t j = 0; j < c->dimension; j++) {
        double step = coordinates[j] * c->factor[j] - z[j];
        sum += step * step;
    }
    return sum;
}

/* Conditions on the points of `beyond` as well. Each point of the grid keeps its neighbors, and its variance is
 * computed again when these have changed. */
static bandit_status update_near(bandit_grid *g, bandit_surface *s, bandit_error *err)
{
    const bandit_covariance *c = s->posterior->covariance;
    if (g->applied_near == s->beyond.n)
        return BANDIT_OK;
    if (!bandit_reserve((void **)&g->neighbors, &g->capacity_neighbors, g->n, sizeof *g->neighbors) ||
        !bandit_reserve((void **)&g->base_variance, &g->capacity_base, g->n, sizeof(double)) ||
        !bandit_reserve((void **)&g->changed, &g->capacity_changed, g->n, sizeof(bool)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a grid of %zu points", g->n);
    for (size_t i = 0; i < g->n && g->applied_near == 0; i++) {
        g->neighbors[i].n = 0;
        g->base_variance[i] = g->variance[i];
    }
    memset(g->changed, 0, g->n * sizeof *g->changed);
    for (; g->applied_near < s->beyond.n; g->applied_near++) {
        bandit_pause();
        covariances_with(g, s, g->applied_near);
        for (size_t i = 0; i < g->n; i++) {
            double distance = distance_to(s, g->coordinates + i * c->dimension, g->applied_near);
            g->changed[i] |=
                bandit_neighbors_offer(&g->neighbors[i], (uint32_t)g->applied_near, distance, g->a[i]);
        }
    }
    for (size_t i = 0; i < g->n; i++) {
        if (i % BANDIT_SURFACE_BLOCK == 0)
            bandit_pause();
        if (g->changed[i])
            g->variance[i] =
                fmax(0.0, g->base_variance[i] -
                              bandit_near_reduction(&s->beyond, c, s->posterior->lambda, &g->neighbors[i]));
    }
    return BANDIT_OK;
}

bandit_status bandit_grid_update(bandit_grid *g, bandit_surface *s, bandit_error *err)
{
    size_t d = s->posterior->covariance->dimension;
    if (s->n > g->room && !reserve_columns(g, s->room, g->applied))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu points in flight", s->n - s->m);
    double *diagonal = s->scratch + s->room * BANDIT_SURFACE_BLOCK;
    for (; g->applied < s->n; g->applied++) {
        size_t row = g->applied;
        bandit_pause();
        bandit_points point = {.n = 1, .features = s->points.features + row * d};
        for (size_t first = 0; first < g->n; first += BANDIT_SURFACE_BLOCK) {
            size_t rows = g->n - first < BANDIT_SURFACE_BLOCK ? g->n - first : BANDIT_SURFACE_BLOCK;
            bandit_covariance_block_at(s->posterior->covariance, g->coordinates + first * d, rows, &point,
                                       g->columns + row * g->ld + first, g->ld, diagonal,
                                       s->scratch + s->room * BANDIT_SURFACE_BLOCK +
                                           2 * BANDIT_SURFACE_BLOCK);
        }
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)g->n, (int)row + 1, 1.0, g->columns, (int)g->ld,
                    s->R + row * s->room, 1, 0.0, g->a, 1);
        for (size_t i = 0; i < g->n; i++)
            g->variance[i] = fmax(0.0, g->variance[i] - g->a[i] * g->a[i]);
    }
    return update_near(g, s, err);
}

void bandit_grid_clear(bandit_grid *g)
{
    free(g->columns);
    free(g->mean);
    free(g->coordinates);
    free(g->neighbors);
    free(g->base_variance);
    free(g->changed);
    *g = (bandit_grid){0};
}

size_t bandit_grid_memory(const bandit_grid *g)
{
    return (g->capacity_columns + g->capacity_values + g->capacity_coordinates + g->capacity_base) *
               sizeof(double) +
           g->capacity_neighbors * sizeof *g->neighbors + g->capacity_changed * sizeof *g->changed;
}
