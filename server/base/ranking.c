#include "server/base/ranking.h"

#include <math.h>
#include <stdlib.h>

/* Negative: a comes before b. */
static int compare(const void *left, const void *right, void *context)
{
    const double *keys = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int by_nan = isnan(keys[a]) - isnan(keys[b]);
    int by_key = (keys[b] > keys[a]) - (keys[a] > keys[b]);
    int by_index = (a > b) - (a < b);
    return by_nan ? by_nan : by_key ? by_key : by_index;
}

uint32_t *ranking_of(const double *keys, size_t n)
{
    uint32_t *order = malloc((n ? n : 1) * sizeof *order);
    if (!order)
        return NULL;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof *order, compare, (void *)keys);
    return order;
}
