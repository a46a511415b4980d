/* When a trial should stop before its end: rules on the curves that trials have measured so far.
 *
 * A curve is the last value told for each step, in the order of steps, however they arrived. A rule speaks of
 * a trial at its largest step. Values are compared in the metric's own direction: `minimize`. */
#ifndef SERVER_DATA_STOPPING_H
#define SERVER_DATA_STOPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct stopping_curve {
    int64_t *steps; /* n, ascending, each once */
    double *values; /* n */
    size_t n, capacity;
} stopping_curve;

/* Sets the value of a step. False: out of memory, and nothing has changed. */
bool stopping_curve_set(stopping_curve *curve, int64_t step, double value);
void stopping_curve_clear(stopping_curve *curve);

/* Median stopping (Golovin et al. 2017, Google Vizier, section 3.2.1): the trial's best value so far is worse
 * than the median, over the `n` finished trials that have measured a step up to this one, of the average of
 * the values that each measured up to this step. Never before the trial has measured min_steps steps, nor
 * against fewer than min_trials others. Of an even number the median is the mean of the middle two. `*stop`
 * is set; false: out of memory. */
bool stopping_median(bool *stop, const stopping_curve *curve, const stopping_curve *const *finished, size_t n,
                     int64_t min_steps, int64_t min_trials, bool minimize);

/* Asynchronous successive halving (Li et al. 2020, ASHA), as a rule that stops: rungs are at min_resource *
 * reduction^k steps; a trial's value at a rung is that of its first step there or beyond. At the highest rung
 * that the trial has reached it goes on when fewer than max(1, floor(m / reduction)) of the m trials that
 * have reached it by now, itself included, are better. `all`: the curves of all n trials, this one's
 * included. */
bool stopping_halving(const stopping_curve *curve, const stopping_curve *const *all, size_t n,
                      int64_t min_resource, int64_t reduction, bool minimize);

#endif
