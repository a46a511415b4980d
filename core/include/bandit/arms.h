/* The finite candidate set ("arms") that an engine chooses from. */
#ifndef BANDIT_ARMS_H
#define BANDIT_ARMS_H

#include "bandit/status.h"

#include <stddef.h>

/* How features are scaled before the kernel sees them. Statistics are taken over the first n_reference
 * arms (the set first uploaded) and frozen. */
typedef enum bandit_scaling {
    BANDIT_SCALING_STANDARDIZE, /* mean 0, standard deviation 1 (divisor n); constant features become 0 */
    BANDIT_SCALING_UNIT,        /* minimum 0, maximum 1; constant features become 0 */
    BANDIT_SCALING_NONE
} bandit_scaling;

typedef struct bandit_arms bandit_arms;

/* n arms of `dimension` features, all 0. At most 2^31−1 arms. The caller owns *out.
 * Errors: BANDIT_NO_MEMORY, BANDIT_INVALID_ARMS (n or dimension 0 or too large). */
bandit_status bandit_arms_new(bandit_arms **out, size_t n, size_t dimension, bandit_error *err);

/* n arms known by their kernel matrix alone (n x n, symmetric, positive semi-definite). */
bandit_status bandit_arms_new_precomputed(bandit_arms **out, size_t n, bandit_error *err);

/* Stores rows first … first+n−1. `rows` is n x dimension, row-major, raw (unscaled) units; for a
 * precomputed set n x n_arms rows of the kernel matrix. Values must be finite:
 * BANDIT_INVALID_ARMS names row and column. */
bandit_status bandit_arms_set_rows(bandit_arms *arms, size_t first, size_t n, const double *rows,
                                   bandit_error *err);

/* Checks, before a set of arms exists, whether a model can be built from n rows whose features have these
 * ranges: any values within the ranges can be scaled, and squares and products of scaled features do not
 * overflow. BANDIT_INVALID_ARMS names the column. */
bandit_status bandit_arms_check_ranges(const double *low, const double *high, size_t dimension, size_t n,
                                       bandit_scaling scaling, bandit_error *err);

/* The same for n rows that are to be appended to a finished set of features. The error names row and
 * column. */
bandit_status bandit_arms_check_appended(const bandit_arms *arms, const double *rows, size_t n,
                                         bandit_error *err);

/* Called once, after all rows are set: checks and scales the features in place. A precomputed matrix is
 * checked for symmetry and positive semi-definiteness (the message has an estimate of the most negative
 * eigenvalue). n_reference in 1 … n. */
bandit_status bandit_arms_finish(bandit_arms *arms, bandit_scaling scaling, size_t n_reference,
                                 bandit_error *err);

size_t bandit_arms_count(const bandit_arms *arms);
size_t bandit_arms_dimension(const bandit_arms *arms); /* 0 for a precomputed set */

/* Scales a raw point as the arms are scaled; `in` and `out` have `dimension` entries and may be the same. In
 * a space (see bandit/space.h) `in` is a coded point, and `out` receives its features. */
void bandit_arms_scale_point(const bandit_arms *arms, const double *in, double *out);

/* Bytes held. */
size_t bandit_arms_memory(const bandit_arms *arms);

void bandit_arms_free(bandit_arms *arms); /* NULL is fine */

#endif
