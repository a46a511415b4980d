/* Results of another attempt than the one that completed the trial. late_results.c defines what is declared here. */
#ifndef SERVER_STUDY_LATE_RESULTS_H
#define SERVER_STUDY_LATE_RESULTS_H

#include "server/study/trials.h"

typedef enum late_verdict {
    LATE_NEW,         /* the attempt has reported nothing so far */
    LATE_SAME,        /* it has reported the same */
    LATE_OTHER,       /* it has reported something else */
    LATE_NEVER_ISSUED /* the trial has had no such attempt */
} late_verdict;

store_status study_judge_late(study *s, const trial *t, int32_t attempt, const told_result *told,
                              late_verdict *verdict);

/* Whether a result that is told again has the cost that it had. Without a cost (0) it has. */
bool study_same_cost(double told, double known);

/* Keeps and records a late result. False: out of memory. */
bool study_tell_late(study *s, trial *t, int32_t attempt, const told_result *result, int64_t now);

#endif
