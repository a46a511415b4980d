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
} bucket;

/* Values are stored in `kept` while they fit, and also in buckets. The number of buckets is chosen so that two points
 * of each bucket, together with the first and the last value, are at most `points` points. When all buckets are full,
 * neighbours are merged. */
struct series {
    size_t points;
    bool minimize;
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

static void widen(bucket *into, const bucket *from)
{
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
    bucket alone = {added, added};
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
        bool ascending = b->smallest.place < b->largest.place;
        keep(s, n, ascending ? &b->smallest : &b->largest);
        keep(s, n, ascending ? &b->largest : &b->smallest);
    }
    keep(s, n, &s->last);
    assert(*n <= s->points);
    return s->kept;
}
