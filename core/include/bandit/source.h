/* The findings of earlier studies, as hints for a new one.
 *
 * A source is a function of the point, frozen: the posterior mean of an earlier study, on at most
 * BANDIT_SOURCE_POINTS of its points, shifted and scaled to a mean of 0 and a deviation of 1 over them,
 *
 *   m(x) = sum_j w_j k(x, x_j) + shift,
 *
 * where k is the kernel of the new study with lengthscales and short_share of the source. The new study's prior mean is a
 * combination of its sources whose weights are learned with the other hyper-parameters
 * (core/learning/source_weights.h); the weights become 0 if the sources do not help. */
#ifndef BANDIT_SOURCE_H
#define BANDIT_SOURCE_H

#include "bandit/status.h"

#include <stddef.h>
#include <stdint.h>

enum { BANDIT_MOST_SOURCES = 8, BANDIT_SOURCE_POINTS = 256 };

typedef struct bandit_source {
    size_t n;              /* 1 … BANDIT_SOURCE_POINTS */
    const double *points;  /* n x bandit_arms_point_width: as arms are given, unscaled or coded */
    const double *weights; /* n */
    double shift;
    const double *lengthscales; /* one per feature */
    size_t n_lengthscales;
    double short_share; /* as in bandit_kernel */
} bandit_source;

struct bandit_engine;

/* The result of bandit_engine_freeze; {0} before the call. The arrays are the caller's to free. */
typedef struct bandit_frozen {
    size_t n;
    uint32_t *arms;  /* n: the points, as arms of the engine */
    double *weights; /* n */
    double shift;
    double *lengthscales;
    size_t n_lengthscales;
    double short_share;
} bandit_frozen;

/* Freezes the posterior mean of the current batch of an engine that learns its hyper-parameters, has no
 * sources itself and has results of at most BANDIT_SOURCE_POINTS arms. Errors: BANDIT_UNSUPPORTED,
 * BANDIT_NO_MEMORY. */
bandit_status bandit_engine_freeze(const struct bandit_engine *engine, bandit_frozen *out, bandit_error *err);
void bandit_frozen_clear(bandit_frozen *frozen);

#endif
