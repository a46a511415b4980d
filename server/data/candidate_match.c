#include "server/data/candidate_match.h"

#include "proto/arrays.h"
#include "server/data/candidate_rows.h"

#include <stdlib.h>

enum { NUMBERS_AT_ONCE = 65536 };

/* The points, sorted by their features. */
typedef struct sorted_points {
    const double *points;
    size_t width, n;
    size_t *order;
} sorted_points;

static int compare_points(const double *a, const double *b, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if ((float)a[i] != (float)b[i])
            return (float)a[i] < (float)b[i] ? -1 : 1;
    return 0;
}

static int compare_order(const void *a, const void *b, void *arg)
{
    const sorted_points *p = arg;
    return compare_points(p->points + *(const size_t *)a * p->width,
                          p->points + *(const size_t *)b * p->width, p->width);
}

static const double *point_at(const sorted_points *p, size_t place)
{
    return p->points + p->order[place] * p->width;
}

/* Gives the candidate's number to the points that have its features and no number yet. */
static void match(int64_t *out, const sorted_points *p, int64_t candidate, const double *row)
{
    size_t place;
    BANDIT_LOWER_BOUND(place, p->n, i, compare_points(point_at(p, i), row, p->width) < 0);
    for (; place < p->n && compare_points(point_at(p, place), row, p->width) == 0; place++)
        if (out[p->order[place]] < 0)
            out[p->order[place]] = candidate;
}

store_status candidate_match(int64_t *out, store *s, int64_t study, const wire_study *definition,
                             size_t width, int64_t candidates, const double *points, size_t n,
                             store_error *err)
{
    size_t at_once = width < NUMBERS_AT_ONCE ? NUMBERS_AT_ONCE / width : 1;
    sorted_points p = {.points = points, .width = width, .n = n, .order = malloc((n + 1) * sizeof *p.order)};
    double *rows = malloc(at_once * width * sizeof *rows);
    store_status status = p.order && rows ? STORE_OK : STORE_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        out[i] = -1;
    for (size_t i = 0; status == STORE_OK && i < n; i++)
        p.order[i] = i;
    if (status == STORE_OK)
        qsort_r(p.order, n, sizeof *p.order, compare_order, &p);
    for (int64_t first = 0; status == STORE_OK && first < candidates; first += (int64_t)at_once) {
        size_t left = (size_t)(candidates - first), take = left < at_once ? left : at_once;
        status = candidate_rows(rows, s, study, definition, width, first, take, err);
        for (size_t i = 0; status == STORE_OK && i < take; i++)
            match(out, &p, first + (int64_t)i, rows + i * width);
    }
    free(p.order);
    free(rows);
    return status;
}
