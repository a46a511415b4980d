#include "server/data/feature_ranges.h"

#include <assert.h>
#include <stdlib.h>

static bool begin(feature_ranges *r, size_t dimension, const double *row)
{
    r->low = malloc(dimension * sizeof *r->low);
    r->high = malloc(dimension * sizeof *r->high);
    if (!r->low || !r->high) {
        feature_ranges_clear(r);
        return false;
    }
    r->dimension = dimension;
    for (size_t j = 0; j < dimension; j++)
        r->low[j] = r->high[j] = row[j];
    return true;
}

bool feature_ranges_add(feature_ranges *r, size_t n, size_t dimension, const double *rows)
{
    if (n == 0)
        return true;
    if (!r->low && !begin(r, dimension, rows))
        return false;
    assert(r->dimension == dimension);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dimension; j++) {
            double x = rows[i * dimension + j];
            r->low[j] = x < r->low[j] ? x : r->low[j];
            r->high[j] = x > r->high[j] ? x : r->high[j];
        }
    r->n += n;
    return true;
}

bandit_status feature_ranges_check(const feature_ranges *r, bandit_scaling scaling, bandit_error *err)
{
    return r->n == 0 ? BANDIT_OK
                     : bandit_arms_check_ranges(r->low, r->high, r->dimension, r->n, scaling, err);
}

void feature_ranges_clear(feature_ranges *r)
{
    free(r->low);
    free(r->high);
    *r = (feature_ranges){0};
}
