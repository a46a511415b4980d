/* The logarithm of the expected gain of one more measurement of an arm (gain.h), a bound on it, and its inverse. */
#ifndef CORE_SELECTION_LOG_GAIN_H
#define CORE_SELECTION_LOG_GAIN_H

#include <math.h>
#include <stddef.h>

/* The model's deviations are multiplied by this (ours). A search gathers rewards where they are high, and the
 * hyper-parameters learned from them describe that region. Elsewhere, and where nearby arms differ, the model
 * is too sure. */
#define BANDIT_GAIN_WIDENING 2.0

/* s~, raised to at least `smallest` > 0, for a variance v in the paper's scale. */
double bandit_gain_deviation(double variance, double lambda, double smallest);

/* log(s~ h(gap / s~)): gap = mu − f+ in units of the reward, and s~ as above. */
double bandit_log_gain(double gap, double variance, double lambda, double smallest);

/* An upper bound on bandit_log_gain, too large by at most 0.5, with fewer operations
 * (h(z) <= phi(z) / (1 + z^2) + max(0, z)). */
double bandit_log_gain_bound(double gap, double variance, double lambda, double smallest);

/* The variance that an arm needs for its log gain to reach a given value: a table over the gap between its
 * mean and the incumbent, fast enough to use for all arms. */
enum { BANDIT_GAIN_STEPS = 256 };

typedef struct bandit_gain_threshold {
    double incumbent;                   /* in units of the reward */
    double per_gap;                     /* steps of the table per unit of the gap */
    double variance[BANDIT_GAIN_STEPS]; /* at the start of each step, paper's scale */
} bandit_gain_threshold;

/* Sets the table for a log gain of `log_gain`, for arms with variances up to `most` > 0. The incumbent is the
 * largest mean among the arms with a result. */
void bandit_gain_threshold_set(bandit_gain_threshold *threshold, double incumbent, double log_gain,
                               double lambda, double most);

/* The variance that an arm with this mean needs. It is too small by at most one step of the table. 0 if the
 * mean is not below the incumbent, INFINITY if no variance up to `most` suffices. */
static inline double bandit_gain_threshold_variance(const bandit_gain_threshold *t, double mean)
{
    double step = (t->incumbent - mean) * t->per_gap;
    if (!(step > 0.0))
        return 0.0;
    return step < (double)BANDIT_GAIN_STEPS ? t->variance[(size_t)step] : (double)INFINITY;
}

#endif
