/* Results of an attempt other than the one that completed the trial. late_results.c defines what is declared here. */
#ifndef SERVER_STUDY_LATE_RESULTS_H
#define SERVER_STUDY_LATE_RESULTS_H

#include "server/study/trials.h"

typedef enum late_verdict {
    LATE_NEW,         /* the attempt has no result so far */
    LATE_SAME,        /* the attempt has the same result */
    LATE_OTHER,       /* the attempt has a different result */
    LATE_NEVER_ISSUED /* the trial has had no such attempt */
} late_verdict;

store_status study_judge_late(study *s, const trial *t, int32_t attempt, const told_result *told,
                              late_verdict *verdict);

/* Does a result that is reported again have the cost that it had the first time? True if it now comes without a cost
 * (0). */
bool study_same_cost(double told, double known);

/* Keeps and records a late result. False: out of memory. */
bool study_tell_late(study *s, trial *t, int32_t attempt, const told_result *result, int64_t now);

#endif
