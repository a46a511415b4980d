/* Which trials an ask gets, and how it is answered. ask.c defines what is declared here, and study_ask. */
#ifndef SERVER_STUDY_ASK_H
#define SERVER_STUDY_ASK_H

#include "proto/wire.h"
#include "server/study/study.h"

enum { ASK_MAXIMUM = 1000 }; /* most trials of one ask */

/* Answers an ask with the n trials that it already has (`trials` has room for ask->count), and with queued ones if
 * from_queue is true. False: there is nothing to hand out, and the ask is not answered. */
bool study_serve(study *s, study_request *request, const wire_ask *ask, bool from_queue, trial **trials,
                 size_t n, int64_t now);

/* Finds the pending trials of the ask's worker, ascending by number, that have the values in `fixed` (NULL:
 * any values), at most as many as the ask requests. `out` has room for ask->count. Returns how many were found. */
size_t study_own_trials(study *s, const wire_ask *ask, const double *fixed, trial **out);

/* Answers an ask with these trials. reason: why they are fewer than it requested; NULL: it gets all. */
void study_answer_ask(study *s, study_request *request, trial **trials, size_t n, const char *reason);
const char *study_shortage(const study *s); /* the present reason */

/* Answers with one trial in its current state. */
void study_answer_trial(study *s, study_request *request, const trial *t);

#endif
