/* Corrections of reported results. amend.c defines what is declared here, and study_amend. */
#ifndef SERVER_STUDY_AMEND_H
#define SERVER_STUDY_AMEND_H

#include "server/study/trials.h"

/* Fills in the values of a change, in the engine's units. */
void study_fill_change(const study *s, bandit_amendment *change, const told_result *was,
                       const told_result *now);

/* Sets *so to whether this was the trial's result before it was amended. */
store_status study_was_amended_from(study *s, const trial *t, const told_result *result, bool *so);

#endif
