/* How a score splits between promise and ignorance (bandit/reason.h). */
#ifndef CORE_ALGORITHMS_REASON_H
#define CORE_ALGORITHMS_REASON_H

#include "bandit/reason.h"
#include "core/selection/acquisition.h"

#include <math.h>

/* Sets the mean, the variance and the incumbent of the only metric. */
static inline void bandit_reason_set_model(bandit_reason *out, double mean, double variance, double incumbent)
{
    out->n = 1;
    out->mean[0] = mean;
    out->variance[0] = fmax(0.0, variance);
    out->incumbent = incumbent;
}

/* For a score that is a value of the function: a bound, a sample, a mean. */
static inline void bandit_reason_split_value(bandit_reason *out)
{
    out->promise = out->mean[0] - out->incumbent;
    out->ignorance = out->score + out->penalty - out->mean[0];
}

/* For an expected improvement s h(z), z = gap / s: gap Phi(z) + s phi(z). */
static inline void bandit_reason_split_improvement(bandit_reason *out, double gap, double s)
{
    double all = s > 0.0 ? s * exp(bandit_log_improvement(gap / s)) : fmax(0.0, gap);
    out->promise = s > 0.0 ? 0.5 * gap * erfc(-gap / s * sqrt(0.5)) : all;
    out->ignorance = all - out->promise;
}

static inline void bandit_reason_split_variance(bandit_reason *out)
{
    out->promise = 0.0;
    out->ignorance = out->score + out->penalty;
}

#endif
