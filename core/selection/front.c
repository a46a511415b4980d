#include "bandit/front.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/selection/front_points.h"
#include "core/selection/local_bounds.h"

#include <stdlib.h>
#include <string.h>

/* The largest number of local bounds of a volume: more would take minutes to update. */
enum { MOST_BOUNDS = 200000 };

bool bandit_dominates(const double *a, const double *b, size_t k)
{
    bool better = false;
    for (size_t j = 0; j < k; j++) {
        if (!(a[j] >= b[j]))
            return false;
        better |= a[j] > b[j];
    }
    return better;
}

static bool is_at_least(const double *a, const double *b, size_t k)
{
    for (size_t j = 0; j < k; j++)
        if (!(a[j] >= b[j]))
            return false;
    return true;
}

size_t bandit_front_extend(const double *points, size_t first, size_t n, size_t k, size_t *front, size_t size)
{
    for (size_t i = first; i < n; i++) {
        const double *point = points + i * k;
        size_t kept = 0;
        bool covered = false;
        bandit_pause_at(i);
        for (size_t f = 0; f < size && !covered; f++)
            covered = is_at_least(points + front[f] * k, point, k);
        if (covered)
            continue;
        for (size_t f = 0; f < size; f++)
            if (!bandit_dominates(point, points + front[f] * k, k))
                front[kept++] = front[f];
        front[kept++] = i;
        size = kept;
    }
    return size;
}

size_t bandit_front_find(const double *points, size_t n, size_t k, size_t *front)
{
    return bandit_front_extend(points, 0, n, k, front, 0);
}

/* Lexicographically, the largest first. */
static int compare_points(const void *a, const void *b)
{
    const bandit_front_point *x = a, *y = b;
    for (size_t j = 0; j < BANDIT_MOST_OBJECTIVES; j++)
        if (x->y[j] != y->y[j])
            return x->y[j] > y->y[j] ? -1 : 1;
    return 0;
}

void bandit_front_sort(bandit_front_point *out, const double *points, const size_t *which, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (bandit_front_point){{0}};
        memcpy(out[i].y, points + which[i] * k, k * sizeof *points);
    }
    if (n > 0)
        qsort(out, n, sizeof *out, compare_points);
}

/* ---- volumes ------------------------------------------------------------------------------------------- */

struct bandit_volume {
    bandit_local_bounds bounds; /* of the points with their signs changed */
};

bandit_status bandit_volume_new(bandit_volume **out, const double *reference, size_t k, bandit_error *err)
{
    double limits[BANDIT_MOST_OBJECTIVES];
    bandit_volume *v = *out = calloc(1, sizeof *v);
    if (!v)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t j = 0; j < k; j++)
        limits[j] = -reference[j];
    bandit_status status = bandit_local_bounds_start(&v->bounds, limits, k, MOST_BOUNDS, err);
    if (status != BANDIT_OK) {
        bandit_volume_free(v);
        *out = NULL;
    }
    return status;
}

void bandit_volume_free(bandit_volume *v)
{
    if (v)
        bandit_local_bounds_clear(&v->bounds);
    free(v);
}

bandit_status bandit_volume_add(bandit_volume *v, const double *point, bool *grows, bandit_error *err)
{
    double turned[BANDIT_MOST_OBJECTIVES];
    for (size_t j = 0; j < v->bounds.k; j++)
        turned[j] = -point[j];
    return bandit_local_bounds_add(&v->bounds, turned, grows, err);
}

double bandit_volume_value(const bandit_volume *v)
{
    double sum = 0.0, low[BANDIT_MOST_OBJECTIVES], high[BANDIT_MOST_OBJECTIVES];
    for (size_t i = 0; i < v->bounds.n; i++) {
        double box = 1.0;
        if (!bandit_local_bounds_box(&v->bounds, i, low, high))
            continue;
        for (size_t j = 0; j < v->bounds.k; j++)
            box *= high[j] - low[j];
        sum += box;
    }
    return sum;
}

bandit_status bandit_hypervolume(double *out, const double *points, size_t n, size_t k,
                                 const double *reference, bandit_error *err)
{
    bandit_volume *volume = NULL;
    bandit_front_point *sorted = bandit_alloc(n, sizeof *sorted);
    size_t *front = bandit_alloc(n, sizeof *front), size = 0;
    bandit_status status = BANDIT_OK;
    if (!sorted || !front)
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = bandit_volume_new(&volume, reference, k, err);
    if (status == BANDIT_OK) {
        size = bandit_front_find(points, n, k, front);
        bandit_front_sort(sorted, points, front, size, k);
    }
    for (size_t f = 0; status == BANDIT_OK && f < size; f++)
        status = bandit_volume_add(volume, sorted[f].y, NULL, err);
    if (status == BANDIT_OK)
        *out = bandit_volume_value(volume);
    bandit_volume_free(volume);
    free(sorted);
    free(front);
    return status;
}
