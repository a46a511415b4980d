/* The state of a study, and what happens at the end of a turn. turn_end.c defines what is declared here. */
#ifndef SERVER_STUDY_TURN_END_H
#define SERVER_STUDY_TURN_END_H

#include "server/study/study.h"

int64_t study_horizon(const study *s); /* the study finishes after this many trials; INT64_MAX: no horizon */

/* Sets the state and records it. reason: "" or the reason; definition: the new one, as text; NULL:
 * unchanged. */
void study_set_state(study *s, study_state state, const char *reason, const char *definition);

/* The same with a definition that has other bounds, and with the study's best trial, which now keeps these. */
void study_set_bounds(study *s, study_state state, const char *reason, const char *definition,
                      int64_t best_candidate);

/* Handles the consequences of time and of the turn's jobs: expired leases, planning, and asks that can be
 * served. Sets the timer. */
void study_after_turn(study *s);

#endif
