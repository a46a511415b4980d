/* Thins a study's values for plotting, one value at a time, in memory that does not grow with them. */
#ifndef SERVER_DATA_SERIES_H
#define SERVER_DATA_SERIES_H

#include "proto/encode_export.h"

#define SERIES_POINTS_MIN     10
#define SERIES_POINTS_DEFAULT 1000
#define SERIES_POINTS_MAX     10000

typedef struct series series;

/* At most `points` points will be kept (SERIES_POINTS_MIN … MAX). NULL: out of memory. */
series *series_new(size_t points, bool minimize);
void series_free(series *s); /* NULL is fine */

/* The next value, in the order of trials. Once there are more than `points` of them, they are in buckets of
 * neighbours, of equal size, whose smallest and largest are kept; so are the first and the last of all. */
void series_add(series *s, int64_t trial, double value, int64_t told_at);

/* What is kept, in the order of trials, each with the best of all values up to it; no more can be added.
 * *count: values added. Borrowed. */
const wire_series_point *series_finish(series *s, size_t *n, int64_t *count);

#endif
