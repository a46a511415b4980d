/* The asks of a study that wait for a trial, in order of arrival. waiting_line.c defines what is declared
 * here; waiting.c serves the line. */
#ifndef SERVER_STUDY_WAITING_LINE_H
#define SERVER_STUDY_WAITING_LINE_H

#include "server/app.h"
#include "server/study/request.h"
#include "server/study/workers.h"

#include <sys/queue.h>

typedef struct waiting_ask {
    uint64_t number; /* among the study's asks that have waited: 1, 2, … */
    study_request *request;
    const wire_ask *ask; /* the context of the request */
    double *fixed; /* the parameters that it fixes: one entry per parameter, NaN: not fixed; NULL: none */
    bool holds;    /* its worker already has trials, which count towards the ask */
    size_t n_held; /* the number of these when they were last counted */
    /* All times are in ms of the steady clock. */
    bool keeps;                    /* it is counted as a waiting ask */
    int64_t checked_at;            /* when its client was last checked; 0: never */
    int64_t deadline;              /* when it is answered, unless a batch is being planned */
    int64_t planning_deadline;     /* when it is answered in any case */
    TAILQ_ENTRY(waiting_ask) link; /* this and the next one: used by waiting_line.c */
    study_worker *worker;          /* the one that asks; NULL: it has no name, or the ask fixes parameters */
} waiting_ask;

typedef struct waiting_line waiting_line;

waiting_line *waiting_line_new(app *a, workers *w); /* w is borrowed. NULL: out of memory */
void waiting_line_free(waiting_line *line);         /* must be empty; accepts NULL */

/* Puts an ask in the line, to be served in this turn. Takes ownership of `fixed`. n_held: number of trials
 * that its worker already has. If memory has run out, it replies instead. */
void waiting_line_add(waiting_line *line, study_request *request, double *fixed, size_t n_held);

/* Lets an ask that was not served wait for wait_seconds, or, if that is shorter, while a batch is being
 * planned. False: its caller has as many waiting asks as allowed; take the ask from the line, and refuse
 * it. */
bool waiting_line_keep(waiting_line *line, waiting_ask *w);

/* Removes an ask from the line and frees it. The caller replies to its request. */
study_request *waiting_line_take(waiting_line *line, waiting_ask *w);

bool waiting_line_is_empty(const waiting_line *line);
waiting_ask *waiting_line_first(const waiting_line *line);
waiting_ask *waiting_line_next(const waiting_ask *w);
waiting_ask *waiting_line_find(const waiting_line *line, uint64_t number);
/* Does a request with the same idempotency key already wait? */
bool waiting_line_has_key(const waiting_line *line, const study_request *request);

/* The number of trials that all asks without fixed parameters request. waiting_line_nameless: only asks of workers
 * without a name. */
size_t waiting_line_asked(const waiting_line *line);
size_t waiting_line_nameless(const waiting_line *line);

/* Is it time to check the ask's client? */
bool waiting_ask_is_due(const waiting_ask *w, int64_t steady);
/* Checks now whether the client has disconnected. */
bool waiting_ask_is_gone(waiting_ask *w, int64_t steady);

/* ms of the steady clock: when the line must be checked next; INT64_MAX: it is empty. */
int64_t waiting_line_wake_at(const waiting_line *line, bool planning);

#endif
