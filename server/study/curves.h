/* The intermediate measurements of a study's trials, as curves. Only for measure.c, which decides who should stop, and
 * estimates.c. curves.c defines what is declared here. */
#ifndef SERVER_STUDY_CURVES_H
#define SERVER_STUDY_CURVES_H

#include "server/data/stopping.h"
#include "server/study/measure.h"

/* The curve of one attempt: its measurements. */
typedef struct attempt_curve {
    int64_t trial;
    int32_t attempt;
    stopping_curve curve;
} attempt_curve;

/* The attempt of a trial whose curve is used for comparison: the current one, or the one that completed the
 * trial. */
typedef struct counting {
    int32_t attempt;
    trial_state state;
    bool finished; /* with a value */
    double value;
    bool estimated; /* its value has been estimated */
} counting;

/* All curves, in memory from the first measurement until the study leaves memory. */
struct study_curves {
    attempt_curve *list; /* ascending by trial and attempt */
    size_t n, capacity;
    counting *trials; /* by number, from 1 */
    size_t n_trials;
    bool failed;
};

/* Loads the curves unless they are in memory. Measurements are recorded only while they are, so that the store has all
 * others. */
store_status curves_load(study *s);

attempt_curve *curves_find(const struct study_curves *curves, int64_t number, int32_t attempt);

/* Adds a measurement to a curve. False: out of memory. */
bool curves_set(struct study_curves *curves, int64_t number, int32_t attempt, int64_t step, double value);

/* The trial of the curve if it is the curve that is used for comparison; otherwise NULL. */
counting *curves_counting(const struct study_curves *curves, const attempt_curve *c);

#endif
