#include "server/data/series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct bucket {
    wire_series_point smallest, largest;
} bucket;

/* Values are stored in `kept` while they fit, and also in buckets. The number of buckets is such that two
 * points of each, the first and the last value are at most `points`. When all buckets are full, neighbours
 * are merged. */
struct series {
    size_t points;
    bool minimize;
    int64_t count;
    double best; /* of the values so far */
    wire_series_point first, last;
    int64_t width; /* values per bucket */
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
    *s = (series){
        .points = points, .minimize = minimize, .width = 1, .max_buckets = max_buckets, .buckets = buckets};
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
    if (from->smallest.value < into->smallest.value)
        into->smallest = from->smallest;
    if (from->largest.value > into->largest.value)
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

void series_add(series *s, int64_t trial, double value, int64_t told_at)
{
    bool better = s->count == 0 || (s->minimize ? value < s->best : value > s->best);
    s->best = better ? value : s->best;
    wire_series_point point = {.trial = trial, .value = value, .best = s->best, .told_at = told_at};
    bucket alone = {point, point};
    if (s->count == 0)
        s->first = point;
    s->last = point;
    if ((size_t)s->count < s->points)
        s->kept[s->count] = point;
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
static void keep(series *s, size_t *n, const wire_series_point *point)
{
    if (*n == 0 || s->kept[*n - 1].trial != point->trial)
        s->kept[(*n)++] = *point;
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
        bool ascending = b->smallest.trial < b->largest.trial;
        keep(s, n, ascending ? &b->smallest : &b->largest);
        keep(s, n, ascending ? &b->largest : &b->smallest);
    }
    keep(s, n, &s->last);
    assert(*n <= s->points);
    return s->kept;
}
