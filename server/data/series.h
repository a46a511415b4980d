/* Thins the values of a study for plotting, one value at a time, in bounded memory. */
#ifndef SERVER_DATA_SERIES_H
#define SERVER_DATA_SERIES_H

#include "proto/encode_export.h"
#include "server/data/running_costs.h"

#define SERIES_POINTS_MIN     10
#define SERIES_POINTS_DEFAULT 1000
#define SERIES_POINTS_MAX     10000

typedef struct series series;

/* At most `points` points will be kept (SERIES_POINTS_MIN … MAX). NULL: out of memory. */
series *series_new(size_t points, bool minimize);
void series_free(series *s); /* NULL is fine */

/* Each value that is added from now on shows the total cost of the results up to it. `costs` is borrowed. */
void series_show_costs(series *s, const running_costs *costs);

/* Adds the next value, whose `best` and `cost` are ignored. Beyond `points` values, neighbours share buckets of equal
 * size, and the smallest and the largest value of each bucket are kept, and the first and the last of all
 * values. */
void series_add(series *s, const wire_series_point *value);
/* The same; a value that breaks a bound cannot be the best. While none can, the best is NaN. series_expect_bounds must
 * have been called before the first value; then buckets are larger, and each also keeps the last value that changed the
 * best. */
void series_expect_bounds(series *s);
void series_add_bounded(series *s, const wire_series_point *value, bool feasible);

/* The kept values in their order, borrowed, each with the best of all values up to it. No more values
 * can be added. *count: the number of added values. */
const wire_series_point *series_finish(series *s, size_t *n, int64_t *count);

#endif
