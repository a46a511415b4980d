/* Facts about candidates that the model does not have: which failed in their last trials, and which may not be picked.
 * failures.c defines what is declared here. */
#ifndef SERVER_STUDY_FAILURES_H
#define SERVER_STUDY_FAILURES_H

#include "server/study/study.h"

/* The record of a candidate: how many of its last trials failed in a row, or ARM_INFEASIBLE or ARM_EVALUATED. While the
 * candidate is retired, a flag is added. */
enum {
    ARM_RETIRED = 256, /* the flag */
    ARM_INFEASIBLE = 254,
    ARM_EVALUATED = 253,
    ARM_FAILURES = 252 /* the largest number of failures that is counted */
};

/* Is a candidate with a result never handed out again? This holds if the study never repeats, or if no point may be
 * pulled twice because the space is enumerated and evaluations have no noise. */
bool study_pulls_once(const study *s);

/* Enters a closed trial in its candidate's record. Call in the order of trials. False: out of memory. */
bool study_count_outcome(study *s, uint32_t arm, trial_state state, bool has_value);

/* What study_count_outcome has made of a candidate: a number of failures, ARM_INFEASIBLE or ARM_EVALUATED. */
unsigned study_counted_outcome(const study *s, uint32_t candidate);

bool study_is_retired(const study *s, uint32_t candidate);
bool study_mark_retired(study *s, uint32_t candidate);  /* only in memory; false: out of memory */
void study_mark_restored(study *s, uint32_t candidate); /* likewise */

/* Which candidates a plan may pick. */
typedef enum pick_repeats {
    PICKS_REPEAT,   /* any candidate, even twice */
    PICKS_DIFFER,   /* none in flight, and none twice, as long as there are others: first picks of a study */
    PICKS_ONCE_ONLY /* none in flight or with a result, and none twice */
} pick_repeats;

/* The rule for a plan of the study's first batch, or of a later one. */
pick_repeats study_pick_repeats(const study *s, bool first_batch);

/* Candidates that may not be picked now, ascending. The caller frees *out. False: out of memory. */
bool study_withheld(const study *s, pick_repeats repeats, uint32_t **out, size_t *n);

/* Candidates whose last trials failed or were infeasible, ascending, if the algorithm learns from them: in an open
 * space all algorithms do, on finite sets only log_ei does. The caller frees *out. False: out of memory. */
bool study_failed(const study *s, uint32_t **out, size_t *n);

/* Recomputes all records for the next batch, that is with all amendments. It reads the store, which must have all
 * recorded events. */
store_status study_recount_failures(study *s);

/* Recomputes all records for further picks of the last batch, that is without the amendments since it began. any: a
 * trial has failed or was infeasible. */
store_status study_load_failures(study *s, bool any);

#endif
