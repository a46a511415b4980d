/* The range of each feature of candidates that arrive in blocks. With it, an upload that no model can be built from is
 * refused, although its rows are not kept in memory. feature_ranges.c defines what is declared here. */
#ifndef SERVER_DATA_FEATURE_RANGES_H
#define SERVER_DATA_FEATURE_RANGES_H

#include "bandit/arms.h"

#include <stdbool.h>

typedef struct feature_ranges {
    size_t dimension, n; /* rows so far */
    double *low, *high;  /* of each feature; NULL before the first rows */
} feature_ranges;

/* Adds n x dimension values; each call has the same dimension. False: out of memory. */
bool feature_ranges_add(feature_ranges *r, size_t n, size_t dimension, const double *rows);

/* Calls bandit_arms_check_ranges for the rows so far; BANDIT_OK if there are none. */
bandit_status feature_ranges_check(const feature_ranges *r, bandit_scaling scaling, bandit_error *err);

void feature_ranges_clear(feature_ranges *r);

#endif
