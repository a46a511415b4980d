#include "core/selection/boxes.h"

#include "bandit/sorted.h"
#include "core/base/allocate.h"
#include "core/base/pause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The largest number of points of a front that count with 4 and with 5 objectives. In both cases there are up
 * to 2000 boxes, which are recomputed for each pick in less than a tenth of a second. */
enum { MOST_POINTS_OF_4 = 100, MOST_POINTS_OF_5 = 40, MOST_BOUNDS = 1 << 22 };

void bandit_boxes_clear(bandit_boxes *b)
{
    for (size_t j = 0; j < BANDIT_MOST_OBJECTIVES; j++)
        free(b->cuts[j]);
    free(b->low);
    free(b->high);
    free(b->scratch);
    free(b->table);
    free(b->sorted);
    free(b->front);
    bandit_local_bounds_clear(&b->bounds);
    bandit_local_bounds_clear(&b->gaps);
    *b = (bandit_boxes){0};
}

size_t bandit_boxes_memory(const bandit_boxes *b)
{
    size_t doubles = b->capacity_scratch + b->bounds.capacity_u + b->bounds.capacity_defining +
                     b->gaps.capacity_u + b->gaps.capacity_defining;
    for (size_t j = 0; j < BANDIT_MOST_OBJECTIVES; j++)
        doubles += b->capacity_cuts[j];
    return doubles * sizeof(double) + (b->capacity_low + b->capacity_high) * sizeof(uint32_t) +
           b->capacity_sorted * sizeof *b->sorted + b->capacity_front * sizeof *b->front;
}

/* ---- the front ----------------------------------------------------------------------------------------- */

static double volume_above(const double *y, const double *reference, size_t k)
{
    double volume = 1.0;
    for (size_t j = 0; j < k; j++)
        volume *= fmax(0.0, y[j] - reference[j]);
    return volume;
}

/* Keeps the points with the largest volumes above the reference, in their order. */
static size_t keep_largest(bandit_boxes *b, size_t n, size_t most, const double *reference)
{
    while (n > most) {
        size_t smallest = 0;
        for (size_t i = 1; i < n; i++)
            if (volume_above(b->sorted[i].y, reference, b->k) <
                volume_above(b->sorted[smallest].y, reference, b->k))
                smallest = i;
        memmove(b->sorted + smallest, b->sorted + smallest + 1, (n - 1 - smallest) * sizeof *b->sorted);
        n--;
    }
    return n;
}

/* Sets b->sorted to the front. Returns its size. */
static size_t sort_front(bandit_boxes *b, const double *points, const double *reference)
{
    bandit_front_sort(b->sorted, points, b->front, b->n_front, b->k);
    return b->k < 4 ? b->n_front
                    : keep_largest(b, b->n_front, b->k == 4 ? MOST_POINTS_OF_4 : MOST_POINTS_OF_5, reference);
}

/* ---- boxes --------------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint32_t place_of(const bandit_boxes *b, size_t j, double x)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, b->n_cuts[j], i, b->cuts[j][i] < x);
    return (uint32_t)place;
}

/* Collects the coordinates of the corners. */
static bool find_cuts(bandit_boxes *b)
{
    double low[BANDIT_MOST_OBJECTIVES], high[BANDIT_MOST_OBJECTIVES];
    for (size_t j = 0; j < b->k; j++)
        if (!bandit_reserve((void **)&b->cuts[j], &b->capacity_cuts[j], 2 * b->gaps.n + 1, sizeof(double)))
            return false;
    memset(b->n_cuts, 0, sizeof b->n_cuts);
    for (size_t i = 0; i < b->gaps.n; i++) {
        if (!bandit_local_bounds_box(&b->gaps, i, low, high))
            continue;
        for (size_t j = 0; j < b->k; j++) {
            b->cuts[j][b->n_cuts[j]++] = low[j];
            b->cuts[j][b->n_cuts[j]++] = high[j];
        }
    }
    for (size_t j = 0; j < b->k; j++) {
        size_t kept = 0, n = b->n_cuts[j];
        b->cuts[j][n++] = INFINITY;
        qsort(b->cuts[j], n, sizeof(double), compare_numbers);
        for (size_t i = 0; i < n; i++)
            if (i == 0 || b->cuts[j][i] != b->cuts[j][kept - 1])
                b->cuts[j][kept++] = b->cuts[j][i];
        b->n_cuts[j] = kept;
    }
    return true;
}

static bool take_boxes(bandit_boxes *b)
{
    double low[BANDIT_MOST_OBJECTIVES], high[BANDIT_MOST_OBJECTIVES];
    size_t k = b->k, cuts = 0;
    if (!find_cuts(b) || !bandit_reserve((void **)&b->low, &b->capacity_low, b->gaps.n * k, sizeof *b->low) ||
        !bandit_reserve((void **)&b->high, &b->capacity_high, b->gaps.n * k, sizeof *b->high))
        return false;
    for (size_t i = 0; i < b->gaps.n; i++) {
        if (!bandit_local_bounds_box(&b->gaps, i, low, high))
            continue;
        for (size_t j = 0; j < k; j++) {
            b->low[b->n * k + j] = place_of(b, j, low[j]);
            b->high[b->n * k + j] = place_of(b, j, high[j]);
        }
        b->n++;
    }
    for (size_t j = 0; j < k; j++)
        cuts += b->n_cuts[j];
    return bandit_boxes_reserve_table(b) &&
           bandit_reserve((void **)&b->scratch, &b->capacity_scratch, 4 * cuts + b->n, sizeof(double));
}

/* Covers the part that the front does not dominate. */
static bandit_status cover_front(bandit_boxes *b, const double *points, const double *reference,
                                 bandit_error *err)
{
    double limits[BANDIT_MOST_OBJECTIVES], turned[BANDIT_MOST_OBJECTIVES];
    size_t k = b->k, size = sort_front(b, points, reference);
    b->n = 0;
    for (size_t j = 0; j < k; j++)
        limits[j] = -reference[j];
    bandit_status status = bandit_local_bounds_start(&b->bounds, limits, k, MOST_BOUNDS, err);
    for (size_t i = 0; status == BANDIT_OK && i < size; i++) {
        for (size_t j = 0; j < k; j++)
            turned[j] = -b->sorted[i].y[j];
        status = bandit_local_bounds_add(&b->bounds, turned, NULL, err);
    }
    /* the part that the front does not dominate is dominated by the front's local bounds, from below */
    for (size_t j = 0; j < k; j++)
        limits[j] = INFINITY;
    if (status == BANDIT_OK)
        status = bandit_local_bounds_start(&b->gaps, limits, k, MOST_BOUNDS, err);
    for (size_t i = 0; status == BANDIT_OK && i < b->bounds.n; i++) {
        for (size_t j = 0; j < k; j++)
            turned[j] = -b->bounds.u[i * k + j];
        status = bandit_local_bounds_add(&b->gaps, turned, NULL, err);
    }
    if (status == BANDIT_OK && !take_boxes(b))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    return status;
}

bandit_status bandit_boxes_cover(bandit_boxes *b, const double *points, size_t n, size_t k,
                                 const double *reference, bandit_error *err)
{
    b->k = k;
    b->n_points = b->n_front = 0;
    return bandit_boxes_cover_more(b, points, n, reference, err);
}

bandit_status bandit_boxes_cover_more(bandit_boxes *b, const double *points, size_t n,
                                      const double *reference, bandit_error *err)
{
    size_t first = b->n_points;
    if (!bandit_reserve((void **)&b->sorted, &b->capacity_sorted, n, sizeof *b->sorted) ||
        !bandit_reserve_keep((void **)&b->front, &b->capacity_front, b->n_front, n, sizeof *b->front))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    b->n_front = bandit_front_extend(points, first, n, b->k, b->front, b->n_front);
    b->n_points = n;
    if (first > 0 && b->front[b->n_front - 1] < first)
        return BANDIT_OK; /* the front is as it was */
    bandit_status status = cover_front(b, points, reference, err);
    if (status != BANDIT_OK)
        b->n_points = b->n_front = 0;
    return status;
}

double bandit_boxes_added(const bandit_boxes *b, const double *u, double *gradient)
{
    size_t k = b->k;
    double sum = 0.0;
    for (size_t j = 0; gradient && j < k; j++)
        gradient[j] = 0.0;
    for (size_t i = 0; i < b->n; i++) {
        double side[BANDIT_MOST_OBJECTIVES], volume = 1.0;
        for (size_t j = 0; j < k; j++) {
            double low = b->cuts[j][b->low[i * k + j]], high = b->cuts[j][b->high[i * k + j]];
            side[j] = fmin(u[j], high) - low;
            volume *= fmax(0.0, side[j]);
        }
        sum += volume;
        for (size_t j = 0; gradient && volume > 0.0 && j < k; j++)
            if (u[j] < b->cuts[j][b->high[i * k + j]])
                gradient[j] += volume / side[j];
    }
    return sum;
}
