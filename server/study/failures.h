/* What is known of candidates beside the model: which failed in their last trials, which may not be picked.
 * failures.c defines what is declared here. */
#ifndef SERVER_STUDY_FAILURES_H
#define SERVER_STUDY_FAILURES_H

#include "server/study/study.h"

/* The record of a candidate: how many of its last trials failed in a row, or one of the first three. */
enum {
    ARM_RETIRED = 255,
    ARM_INFEASIBLE = 254,
    ARM_EVALUATED = 253,
    ARM_FAILURES = 252 /* the most failures that are counted */
};

/* No candidate is handed out again once it has a result: the study never repeats, or no point is worth a second pull,
 * because the space is enumerated and evaluations have no noise. */
bool study_pulls_once(const study *s);

/* A closed trial enters its candidate's record. Call in the order of trials. False: out of memory. */
bool study_count_outcome(study *s, uint32_t arm, trial_state state, bool has_value);

bool study_is_retired(const study *s, uint32_t candidate);
bool study_mark_retired(study *s, uint32_t candidate); /* in memory; false: out of memory */

/* Which candidates a plan may pick. */
typedef enum pick_repeats {
    PICKS_REPEAT, /* any, also twice */
    PICKS_DIFFER, /* none that is in flight, and none twice, while there are others: the first picks of a study */
    PICKS_ONCE_ONLY /* none that is in flight or has a result, and none twice */
} pick_repeats;

/* repeats: of a plan for the study's first batch, or for a later one. */
pick_repeats study_pick_repeats(const study *s, bool first_batch);

/* Candidates that may not be picked now, ascending; *out is the caller's to free. False: out of memory. */
bool study_withheld(const study *s, pick_repeats repeats, uint32_t **out, size_t *n);

/* Candidates whose last trials failed or were infeasible, ascending, where the algorithm learns from them: all do in an
 * open space, log_ei on finite sets. *out is the caller's to free. False: out of memory. */
bool study_failed(const study *s, uint32_t **out, size_t *n);

/* Makes all records again from the store, where everything that was recorded must be. */
store_status study_recount_failures(study *s);

#endif
