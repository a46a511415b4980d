/* The workers of a study by name: the trials that each holds, and how many of its asks wait. So what a worker holds
 * is found without a look at all pending trials, and the number of workers at work is known at any time.
 * workers.c defines what is declared here. */
#ifndef SERVER_STUDY_WORKERS_H
#define SERVER_STUDY_WORKERS_H

#include "server/study/trial.h"

typedef struct workers workers;

/* A name in use. */
typedef struct study_worker study_worker;

workers *workers_new(void);    /* NULL: out of memory */
void workers_free(workers *w); /* no name may be in use; NULL is fine */

/* The worker of that name, which is in use until it is left as often. NULL: out of memory. */
study_worker *workers_use(workers *w, const char *name);
void workers_leave(workers *w, study_worker *one);

/* Does it hold this pending trial? Each trial has at most one holder. */
void workers_hold(workers *w, study_worker *one, trial *t);
void workers_let_go(workers *w, study_worker *one, trial *t);

void workers_wait(workers *w, study_worker *one); /* one more of its asks waits */
void workers_stop_waiting(workers *w, study_worker *one);

/* To go through the trials that the worker of that name holds; NULL: there are no more. */
trial *workers_first_held(const workers *w, const char *name);
trial *workers_next_held(const trial *t);

size_t workers_at_work(const workers *w); /* names that hold a trial or wait for one */

#endif
