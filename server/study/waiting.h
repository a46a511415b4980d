/* Serving the asks that wait. waiting.c defines what is declared here; waiting_line.h keeps the line. */
#ifndef SERVER_STUDY_WAITING_H
#define SERVER_STUDY_WAITING_H

#include "server/study/study.h"

/* At the end of a turn: plans for the asks that wait, serves those that can be served, and ends the waits that are
 * over. */
void study_serve_waiting(study *s, int64_t now);

/* Answers every waiting ask: with no trial and this reason, or (NULL) that the study is gone. */
void study_answer_waiting(study *s, const char *reason);

/* The ask of this number, with fixed parameters, gets n trials from number `first` if it still waits. Call `begin`
 * before the trials are recorded. */
void study_begin_fixed(study *s, uint64_t number);
void study_serve_fixed(study *s, uint64_t number, int64_t first, size_t n);

/* May a batch be planned now? */
bool study_may_plan(const study *s);

/* ms of the steady clock: when the next wait ends; INT64_MAX: none does. */
int64_t study_next_wake(const study *s);

#endif
