/* The workers of a study by name: the trials that each holds, and the number of its waiting asks. So a worker's trials
 * are found without searching all pending trials, and the number of active workers is always known. workers.c defines
 * what is declared here. */
#ifndef SERVER_STUDY_WORKERS_H
#define SERVER_STUDY_WORKERS_H

#include "server/study/trial.h"

typedef struct workers workers;

/* A name in use. */
typedef struct study_worker study_worker;

workers *workers_new(void);    /* NULL: out of memory */
void workers_free(workers *w); /* no name may be in use; accepts NULL */

/* The worker of that name. It stays in use until workers_leave has been called as often as workers_use. NULL:
 * out of memory. */
study_worker *workers_use(workers *w, const char *name);
void workers_leave(workers *w, study_worker *one);

/* workers_hold: the worker now holds this pending trial; workers_let_go: it no longer does. Each trial has at most one
 * holder. */
void workers_hold(workers *w, study_worker *one, trial *t);
void workers_let_go(workers *w, study_worker *one, trial *t);

void workers_wait(workers *w, study_worker *one); /* one more of its asks is waiting */
void workers_stop_waiting(workers *w, study_worker *one);

/* Iteration over the trials that the worker of that name holds. NULL after the last. */
trial *workers_first_held(const workers *w, const char *name);
trial *workers_next_held(const trial *t);

size_t workers_at_work(const workers *w); /* number of names that hold a trial or wait for one */

#endif
