/* Which trials an ask gets, and how it is answered. ask.c defines what is declared here, and study_ask. */
#ifndef SERVER_STUDY_ASK_H
#define SERVER_STUDY_ASK_H

#include "proto/wire.h"
#include "server/study/study.h"

enum { ASK_MAXIMUM = 1000 }; /* trials of one ask */

/* Serves one ask with n trials that it has already (room for ask->count), and, with from_queue, with queued ones.
 * False: there is nothing to hand out, and the ask is not answered. */
bool study_serve(study *s, study_request *request, const wire_ask *ask, bool from_queue, trial **trials,
                 size_t n, int64_t now);

/* The pending trials of the ask's worker, by number, that have the values in `fixed` (NULL: any), at most as many as it
 * wants; out has room for ask->count. Returns how many. */
size_t study_own_trials(study *s, const wire_ask *ask, const double *fixed, trial **out);

/* Answers an ask with these trials. reason: why they are fewer than it asked for; NULL: they are not. */
void study_answer_ask(study *s, study_request *request, trial **trials, size_t n, const char *reason);
const char *study_shortage(const study *s); /* the reason now */

/* Answers with one trial as it stands. */
void study_answer_trial(study *s, study_request *request, const trial *t);

#endif
