/* Serving waiting asks. waiting.c defines what is declared here; waiting_line.h stores the asks. */
#ifndef SERVER_STUDY_WAITING_H
#define SERVER_STUDY_WAITING_H

#include "server/study/study.h"

/* At the end of a turn: plans for the waiting asks, serves those that can be served, and ends waits whose
 * time is over. */
void study_serve_waiting(study *s, int64_t now);

/* Answers every waiting ask, without a trial and with this reason; NULL: the answer is that the study was deleted. */
void study_answer_waiting(study *s, const char *reason);

/* Gives the ask with this number, which fixes parameters, n trials from number `first` on, if it still waits.
 * Call `begin` before the trials are recorded. */
void study_begin_fixed(study *s, uint64_t number);
void study_serve_fixed(study *s, uint64_t number, int64_t first, size_t n);

/* May a batch be planned now? */
bool study_may_plan(const study *s);

/* When the next wait ends, in ms of the steady clock; INT64_MAX: there is none. */
int64_t study_next_wake(const study *s);

#endif
