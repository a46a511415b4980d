/* The logarithm of the expected gain of one more measurement of an arm (gain.h), a bound on it, and its inverse. */
#ifndef CORE_SELECTION_LOG_GAIN_H
#define CORE_SELECTION_LOG_GAIN_H

#include <math.h>
#include <stddef.h>

/* log(s~ h(gap / s~)): gap = mu − f+ in reward units, variance v in the paper's scale; s~ counts as at least
 * `smallest` > 0. */
double bandit_log_gain(double gap, double variance, double lambda, double smallest);

/* At or above bandit_log_gain, by at most 0.5, with fewer operations (h(z) <= phi(z) / (1 + z^2) + max(0, z)). */
double bandit_log_gain_bound(double gap, double variance, double lambda, double smallest);

/* What variance an arm must have for its log gain to reach a given value: a table over the gap of its mean to the
 * incumbent, so that all arms can be asked. */
enum { BANDIT_GAIN_STEPS = 256 };

typedef struct bandit_gain_threshold {
    double incumbent;                   /* reward units */
    double per_gap;                     /* steps of the table for a unit of the gap */
    double variance[BANDIT_GAIN_STEPS]; /* at the gap that begins a step, paper's scale */
} bandit_gain_threshold;

/* For arms of at most `most` variance: `log_gain` is to be reached. The incumbent is the largest mean of an arm
 * with a result; most > 0. */
void bandit_gain_threshold_set(bandit_gain_threshold *threshold, double incumbent, double log_gain,
                               double lambda, double most);

/* The variance that an arm of this mean needs: at most what the value takes, by one step of the table; 0 where the
 * mean is not below the incumbent, INFINITY where no variance up to `most` is enough. */
static inline double bandit_gain_threshold_variance(const bandit_gain_threshold *t, double mean)
{
    double step = (t->incumbent - mean) * t->per_gap;
    if (!(step > 0.0))
        return 0.0;
    return step < (double)BANDIT_GAIN_STEPS ? t->variance[(size_t)step] : (double)INFINITY;
}

#endif
