#include "core/selection/local_bounds.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(bandit_local_bounds *b, size_t n)
{
    size_t k = b->k;
    return bandit_reserve_keep((void **)&b->u, &b->capacity_u, b->n * k, n * k, sizeof *b->u) &&
           bandit_reserve_keep((void **)&b->defining, &b->capacity_defining, b->n * k * k, n * k * k,
                               sizeof *b->defining);
}

bandit_status bandit_local_bounds_start(bandit_local_bounds *b, const double *limits, size_t k, size_t most,
                                        bandit_error *err)
{
    b->k = k;
    b->n = 0;
    b->most = most;
    if (!make_room(b, 1))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t j = 0; j < k; j++) {
        b->limits[j] = b->u[j] = limits[j];
        for (size_t i = 0; i < k; i++)
            b->defining[j * k + i] = i == j ? limits[j] : (double)-INFINITY;
    }
    b->n = 1;
    return BANDIT_OK;
}

void bandit_local_bounds_clear(bandit_local_bounds *b)
{
    free(b->u);
    free(b->defining);
    *b = (bandit_local_bounds){0};
}

static bool is_below(const double *a, const double *b, size_t k)
{
    for (size_t j = 0; j < k; j++)
        if (!(a[j] < b[j]))
            return false;
    return true;
}

/* max over i != j, or over i < j, of coordinate j of defining point i */
static double largest(const double *defining, size_t k, size_t j, size_t end)
{
    double most = -INFINITY;
    for (size_t i = 0; i < end; i++)
        if (i != j)
            most = fmax(most, defining[i * k + j]);
    return most;
}

/* Appends the bounds that replace bound `at` when the point is added. */
static bandit_status replace(bandit_local_bounds *b, size_t at, const double *point, bandit_error *err)
{
    size_t k = b->k;
    if (b->n + k > b->most)
        return bandit_fail(err, BANDIT_MEMORY_LIMIT, "", "there are too many points for a hypervolume");
    if (!make_room(b, b->n + k))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    const double *u = b->u + at * k, *defining = b->defining + at * k * k;
    for (size_t j = 0; j < k; j++) {
        if (!(point[j] >= largest(defining, k, j, k)))
            continue;
        double *next = b->u + b->n * k, *points = b->defining + b->n * k * k;
        memcpy(next, u, k * sizeof *next);
        memcpy(points, defining, k * k * sizeof *points);
        next[j] = point[j];
        memcpy(points + j * k, point, k * sizeof *points);
        b->n++;
    }
    return BANDIT_OK;
}

/* Removes the first n_old bounds that the point lies below; the others keep their order. */
static void remove_replaced(bandit_local_bounds *b, size_t n_old, const double *point)
{
    size_t k = b->k, kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (i < n_old && is_below(point, b->u + i * k, k))
            continue;
        if (kept < i) {
            memcpy(b->u + kept * k, b->u + i * k, k * sizeof *b->u);
            memcpy(b->defining + kept * k * k, b->defining + i * k * k, k * k * sizeof *b->defining);
        }
        kept++;
    }
    b->n = kept;
}

bandit_status bandit_local_bounds_add(bandit_local_bounds *b, const double *point, bool *changes,
                                      bandit_error *err)
{
    size_t n = b->n;
    bool below = false;
    bandit_status status = bandit_pause_status(err);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        if (!is_below(point, b->u + i * b->k, b->k))
            continue;
        below = true;
        status = replace(b, i, point, err);
    }
    if (changes)
        *changes = below;
    if (status == BANDIT_OK && below)
        remove_replaced(b, n, point);
    return status;
}

bool bandit_local_bounds_box(const bandit_local_bounds *b, size_t i, double *low, double *high)
{
    size_t k = b->k;
    const double *u = b->u + i * k, *defining = b->defining + i * k * k;
    low[0] = defining[0];
    high[0] = b->limits[0];
    for (size_t j = 1; j < k; j++) {
        low[j] = largest(defining, k, j, j);
        high[j] = u[j];
    }
    return is_below(low, high, k);
}
