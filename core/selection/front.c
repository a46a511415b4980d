#include "bandit/front.h"

#include "core/base/allocate.h"
#include "core/base/pause.h"
#include "core/selection/front_points.h"
#include "core/selection/local_bounds.h"

#include <stdlib.h>
#include <string.h>

/* The largest number of local bounds of a volume: more would take minutes to update. */
enum { MOST_BOUNDS = 200000 };

enum { COMPARED_BETWEEN_PAUSES = 16384 }; /* points */

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

/* A checkpoint after some thousands of comparisons, of which there are n more now. */
static void pause_after(size_t *compared, size_t n)
{
    *compared += n;
    if (*compared < COMPARED_BETWEEN_PAUSES)
        return;
    bandit_pause();
    *compared = 0;
}

size_t bandit_front_extend(const double *points, size_t first, size_t n, size_t k, size_t *front, size_t size)
{
    size_t compared = 0;
    for (size_t i = first; i < n; i++) {
        const double *point = points + i * k;
        size_t kept = 0;
        bool covered = false;
        pause_after(&compared, size + 1);
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

/* Lexicographically, the largest first; of equal points the first. */
static int compare_points(const void *a, const void *b)
{
    const bandit_front_point *x = a, *y = b;
    for (size_t j = 0; j < BANDIT_MOST_OBJECTIVES; j++)
        if (x->y[j] != y->y[j])
            return x->y[j] > y->y[j] ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

void bandit_front_sort(bandit_front_point *out, const double *points, const size_t *which, size_t n, size_t k)
{
    for (size_t i = 0; i < n; i++) {
        size_t number = which ? which[i] : i;
        out[i] = (bandit_front_point){.number = number};
        memcpy(out[i].y, points + number * k, k * sizeof *points);
    }
    if (n > 0)
        qsort(out, n, sizeof *out, compare_points);
}

/* Moves the front of sorted points to their beginning. Only a point before it can dominate a point; with two objectives, the
 * last one on the front is enough to look at, because it has the largest second objective. */
static size_t keep_front(bandit_front_point *sorted, size_t n, size_t k)
{
    size_t size = 0, compared = 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = k <= 2 && size > 0 ? size - 1 : 0;
        bool covered = false;
        pause_after(&compared, size - first + 1);
        for (size_t f = size; f > first && !covered; f--)
            covered = is_at_least(sorted[f - 1].y, sorted[i].y, k);
        if (!covered)
            sorted[size++] = sorted[i];
    }
    return size;
}

static int compare_indices(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

size_t bandit_front_find(const double *points, size_t n, size_t k, size_t *front)
{
    bandit_front_point *sorted = bandit_alloc(n, sizeof *sorted);
    if (!sorted) /* the same without memory, but slower */
        return bandit_front_extend(points, 0, n, k, front, 0);
    bandit_front_sort(sorted, points, NULL, n, k);
    size_t size = keep_front(sorted, n, k);
    for (size_t f = 0; f < size; f++)
        front[f] = sorted[f].number;
    free(sorted);
    if (size > 0)
        qsort(front, size, sizeof *front, compare_indices);
    return size;
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

/* The volume of a sorted front. */
static bandit_status volume_of(double *out, const bandit_front_point *front, size_t n, size_t k,
                               const double *reference, bandit_error *err)
{
    bandit_volume *volume;
    bandit_status status = bandit_volume_new(&volume, reference, k, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t f = 0; status == BANDIT_OK && f < n; f++)
        status = bandit_volume_add(volume, front[f].y, NULL, err);
    if (status == BANDIT_OK)
        *out = bandit_volume_value(volume);
    bandit_volume_free(volume);
    return status;
}

/* The same with two objectives: each point adds the box above the one before it. To the bit, this is the sum of the boxes
 * between local bounds. */
static double area(const bandit_front_point *front, size_t n, const double *reference)
{
    double sum = 0.0, below = reference[1];
    for (size_t f = 0; f < n; f++) {
        if (!(front[f].y[0] > reference[0]) || !(front[f].y[1] > below))
            continue;
        sum += (front[f].y[0] - reference[0]) * (front[f].y[1] - below);
        below = front[f].y[1];
    }
    return sum;
}

bandit_status bandit_hypervolume(double *out, const double *points, size_t n, size_t k,
                                 const double *reference, bandit_error *err)
{
    bandit_front_point *front = bandit_alloc(n, sizeof *front);
    bandit_status status = BANDIT_OK;
    if (!front)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    bandit_front_sort(front, points, NULL, n, k);
    size_t size = keep_front(front, n, k);
    if (k == 2)
        *out = area(front, size, reference);
    else
        status = volume_of(out, front, size, k, reference, err);
    free(front);
    return status;
}
