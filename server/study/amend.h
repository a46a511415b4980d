/* Corrections of reported results. amend.c defines what is declared here, and study_amend. */
#ifndef SERVER_STUDY_AMEND_H
#define SERVER_STUDY_AMEND_H

#include "server/study/trials.h"

/* Sets *so to true if this was the trial's result before it was amended. */
store_status study_was_amended_from(study *s, const trial *t, const told_result *result, bool *so);

/* Sets the parts `was` and `now` of a change from the results before and after it. False: out of memory, or the
 * stored values are not valid. */
bool study_fill_change(const study *s, bandit_amendment *change, const told_result *was,
                       const told_result *now);

/* The reason why a result without a value cannot be amended to one with a value: its point is not among the
 * candidates. */
extern const char study_breaks_constraint[];

/* Sets the study's best trial to the trial with the best reported value. */
store_status study_find_best(study *s);

#endif
