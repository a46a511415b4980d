#include "server/data/series.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value with its place in the order. */
typedef struct placed {
    wire_series_point point;
    int64_t place;
} placed;

typedef struct bucket {
    placed smallest, largest;
    placed step; /* the last value that changed the best; place -1: none did */
} bucket;

/* Values are stored in `kept` while they fit, and also in buckets. The number of buckets is chosen so that two points
 * of each bucket (three with bounds, where a step of the best need not be an extreme), together with the first and the
 * last value, are at most `points` points. When all buckets are full,
 * neighbours are merged. */
struct series {
    size_t points;
    bool minimize, bounded;
    int64_t count;
    double best;                /* of the values so far; NaN: none */
    const running_costs *costs; /* NULL: not shown */
    int64_t trial, observation; /* the highest numbers so far */
    placed first, last;
    int64_t last_kept; /* place of the last kept point; used by series_finish */
    int64_t width;     /* values per bucket */
    size_t n_buckets, max_buckets;
    int64_t in_last; /* values in the last bucket */
    bucket *buckets;
    wire_series_point kept[]; /* points */
};

series *series_new(size_t points, bool minimize)
{
    assert(points >= SERIES_POINTS_MIN && points <= SERIES_POINTS_MAX);
    series *s = malloc(sizeof *s + points * sizeof s->kept[0]);
    size_t max_buckets = (points - 2) / 2;
    bucket *buckets = malloc(max_buckets * sizeof *buckets);
    if (!s || !buckets) {
        free(s);
        free(buckets);
        return NULL;
    }
    *s = (series){.points = points,
                  .minimize = minimize,
                  .width = 1,
                  .max_buckets = max_buckets,
                  .buckets = buckets,
                  .best = NAN};
    return s;
}

void series_free(series *s)
{
    if (!s)
        return;
    free(s->buckets);
    free(s);
}

void series_expect_bounds(series *s)
{
    assert(s->count == 0);
    s->max_buckets = (s->points - 2) / 3;
    s->bounded = true;
}

static void widen(bucket *into, const bucket *from)
{
    if (from->step.place >= 0)
        into->step = from->step;
    if (from->smallest.point.value < into->smallest.point.value)
        into->smallest = from->smallest;
    if (from->largest.point.value > into->largest.point.value)
        into->largest = from->largest;
}

/* Merges neighbouring buckets; the last may remain alone, half full. */
static void halve(series *s)
{
    size_t n = s->n_buckets;
    for (size_t i = 0; i < n; i += 2) {
        bucket merged = s->buckets[i];
        if (i + 1 < n)
            widen(&merged, &s->buckets[i + 1]);
        s->buckets[i / 2] = merged;
    }
    s->in_last = n % 2 ? s->width : 2 * s->width;
    s->n_buckets = (n + 1) / 2;
    s->width *= 2;
}

void series_show_costs(series *s, const running_costs *costs)
{
    s->costs = costs;
}

/* The total cost of the results up to the next value. */
static double cost_at(series *s, const wire_series_point *next)
{
    if (next->trial > s->trial)
        s->trial = next->trial;
    if (next->observation > s->observation)
        s->observation = next->observation;
    return s->costs ? running_costs_at(s->costs, s->trial, s->observation) : NAN;
}

void series_add(series *s, const wire_series_point *next)
{
    series_add_bounded(s, next, true);
}

void series_add_bounded(series *s, const wire_series_point *next, bool feasible)
{
    bool better =
        feasible && (isnan(s->best) || (s->minimize ? next->value < s->best : next->value > s->best));
    s->best = better ? next->value : s->best;
    placed added = {.point = *next, .place = s->count};
    added.point.best = s->best;
    added.point.cost = cost_at(s, next);
    bucket alone = {added, added, added};
    if (!better)
        alone.step.place = -1;
    if (s->count == 0)
        s->first = added;
    s->last = added;
    if ((size_t)s->count < s->points)
        s->kept[s->count] = added.point;
    s->count++;
    if (s->n_buckets == s->max_buckets && s->in_last == s->width)
        halve(s);
    if (s->n_buckets > 0 && s->in_last < s->width) {
        widen(&s->buckets[s->n_buckets - 1], &alone);
        s->in_last++;
    } else {
        s->buckets[s->n_buckets++] = alone;
        s->in_last = 1;
    }
}

/* Keeps a point, unless it is already the last kept one. */
static void keep(series *s, size_t *n, const placed *added)
{
    if (*n > 0 && s->last_kept == added->place)
        return;
    s->kept[(*n)++] = added->point;
    s->last_kept = added->place;
}

static int compare_places(const void *a, const void *b)
{
    const placed *const *x = a, *const *y = b;
    return ((*x)->place > (*y)->place) - ((*x)->place < (*y)->place);
}

const wire_series_point *series_finish(series *s, size_t *n, int64_t *count)
{
    *count = s->count;
    *n = (size_t)s->count;
    if (*n <= s->points)
        return s->kept;
    *n = 0;
    keep(s, n, &s->first);
    for (size_t i = 0; i < s->n_buckets; i++) {
        const bucket *b = &s->buckets[i];
        const placed *points[] = {&b->smallest, &b->largest, &b->step};
        size_t of_bucket = s->bounded && b->step.place >= 0 ? 3 : 2;
        qsort(points, of_bucket, sizeof *points, compare_places);
        for (size_t k = 0; k < of_bucket; k++)
            keep(s, n, points[k]);
    }
    keep(s, n, &s->last);
    assert(*n <= s->points);
    return s->kept;
}
