/* Rules that stop trials early, based on the curves of intermediate measurements.
 *
 * A curve has the last reported value of each step, in the order of steps. A rule judges a trial at its
 * largest step. Values are compared in the direction of the metric: `minimize`. */
#ifndef SERVER_DATA_STOPPING_H
#define SERVER_DATA_STOPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stopping_curve {
    int64_t *steps; /* n, ascending, no duplicates */
    double *values; /* n */
    size_t n, capacity;
} stopping_curve;

/* Sets the value of a step. False: out of memory, and the curve is unchanged. */
bool stopping_curve_set(stopping_curve *curve, int64_t step, double value);
void stopping_curve_clear(stopping_curve *curve);

/* The part up to a step. It shares the memory of `curve`. */
stopping_curve stopping_curve_until(const stopping_curve *curve, int64_t step);

/* Median stopping (Golovin et al. 2017, Google Vizier, section 3.2.1). Each of the n finished trials that has
 * a step up to the trial's step contributes the average of its values up to that step. The trial should stop
 * if its best value is worse than the median of these averages. It never stops before it has measured
 * min_steps steps, or against fewer than min_trials others. The median of an even number is the mean of the
 * middle two. Sets *stop; false: out of memory. */
bool stopping_median(bool *stop, const stopping_curve *curve, const stopping_curve *const *finished, size_t n,
                     int64_t min_steps, int64_t min_trials, bool minimize);

/* Asynchronous successive halving (Li et al. 2020, ASHA), as a stopping rule. The rungs are at min_resource *
 * reduction^k steps, and the value of a trial at a rung is that of its first step at or beyond it. At the
 * highest rung that it has reached, the trial continues if fewer than max(1, floor(m / reduction)) of the m
 * trials that have reached this rung, including itself, are better. all: the curves of all n trials,
 * including this one. */
bool stopping_halving(const stopping_curve *curve, const stopping_curve *const *all, size_t n,
                      int64_t min_resource, int64_t reduction, bool minimize);

/* A complete trial: its curve and its result. */
typedef struct stopping_complete {
    const stopping_curve *curve;
    double value;
} stopping_complete;

/* The value that a trial with this curve would have had if it had not been stopped, and the standard error of this
 * estimate. Compares with the n complete trials that have a value up to the curve's last step s:
 *
 *   of eight or more, if their values at s have a correlation of at least 0.5 with their results: a linear regression
 *   of the results on these values, whose slope is drawn towards 1 as if by one more trial, because the trials that
 *   were allowed to complete are the good ones. The error is that of a new observation: it includes the residuals'
 *   deviation;
 *   of three or more otherwise: the trial's value plus the mean of the differences between result and value.
 *
 * The error is at least a hundredth of the standard deviation of the results. False: fewer than three such trials, or
 * they do not differ. */
bool stopping_estimate(double *value, double *error, const stopping_curve *curve,
                       const stopping_complete *complete, size_t n);

#endif
