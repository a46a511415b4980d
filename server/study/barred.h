/* Candidates that may not be handed out any more, because of results that the open batch does not include. barred.c defines
 * what is declared here. */
#ifndef SERVER_STUDY_BARRED_H
#define SERVER_STUDY_BARRED_H

#include "server/store/store.h"

struct study;
struct trial;

/* The results of the candidate so far make its queued pick pointless: it is infeasible; or its trials failed
 * max_arm_failures times in a row, and the pick was never handed out; or it has a result, and the study hands out no
 * candidate again. Returns the reason with which the pick is to be closed. NULL: it may be handed out. Users' own trials always
 * may. */
const char *study_bar(const struct study *s, const struct trial *pick);

/* Was the trial closed because its candidate had failed too often? Then it is not counted among the candidate's results:
 * it would end the row of failures. attempt: 0 if the trial was never handed out. */
bool study_is_barred_by_failures(trial_state state, int32_t attempt, const char *reason);

#endif
