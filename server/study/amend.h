/* Corrections of reported results. amend.c defines what is declared here, and study_amend. */
#ifndef SERVER_STUDY_AMEND_H
#define SERVER_STUDY_AMEND_H

#include "server/study/trials.h"

/* Sets *so to whether this was the trial's result before it was amended. */
store_status study_was_amended_from(study *s, const trial *t, const told_result *result, bool *so);

#endif
