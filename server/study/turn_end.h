/* The state of a study, and the end of a turn. turn_end.c defines what is declared here. */
#ifndef SERVER_STUDY_TURN_END_H
#define SERVER_STUDY_TURN_END_H

#include "server/study/study.h"

int64_t study_horizon(const study *s); /* number of trials after which it is finished; INT64_MAX: none */

/* Sets the state and records it. reason: "" or why; definition: the new one, as text; NULL: it stays. */
void study_set_state(study *s, study_state state, const char *reason, const char *definition);

/* What time and the turn's jobs have brought: expired leases, planning, asks that can be served; sets the timer. */
void study_after_turn(study *s);

#endif
