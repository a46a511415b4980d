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
    const wire_ask *ask; /* the request's context */
    double *fixed;       /* the parameters that it fixes, one each, NaN: open; NULL: none */
    bool holds;          /* its worker has trials already, which count */
    size_t n_held;       /* so many when they were last looked at */
    /* ms of the steady clock: */
    bool keeps;                    /* it has a place to wait */
    int64_t checked_at;            /* when its client was last looked at; 0: never */
    int64_t deadline;              /* it is answered then, unless a batch is being planned */
    int64_t planning_deadline;     /* it is answered then in any case */
    TAILQ_ENTRY(waiting_ask) link; /* waiting_line.c's, and the next one */
    study_worker *worker;          /* of the name that asks; NULL: without a name, or with fixed parameters */
} waiting_ask;

typedef struct waiting_line waiting_line;

waiting_line *waiting_line_new(app *a, workers *w); /* borrowed until it is freed. NULL: out of memory */
void waiting_line_free(waiting_line *line);         /* must be empty; NULL is fine */

/* Puts an ask in the line, to be looked at in this turn; takes `fixed`. n_held: trials that its worker has already.
 * Replies when there is no memory. */
void waiting_line_add(waiting_line *line, study_request *request, double *fixed, size_t n_held);

/* Lets an ask that was not served wait for wait_seconds, or, when that is shorter, for as long as a batch is being
 * planned. False: its caller has as many waiting as it may; take the ask, and reply so. */
bool waiting_line_keep(waiting_line *line, waiting_ask *w);

/* Removes an ask from the line and frees it. The caller replies to its request. */
study_request *waiting_line_take(waiting_line *line, waiting_ask *w);

bool waiting_line_is_empty(const waiting_line *line);
waiting_ask *waiting_line_first(const waiting_line *line);
waiting_ask *waiting_line_next(const waiting_ask *w);
waiting_ask *waiting_line_find(const waiting_line *line, uint64_t number);
/* Whether the same request, by its idempotency key, already waits. */
bool waiting_line_has_key(const waiting_line *line, const study_request *request);

/* Trials that all asks without fixed parameters ask for; and those of them that ask without a name. */
size_t waiting_line_asked(const waiting_line *line);
size_t waiting_line_nameless(const waiting_line *line);

/* Is it time to look whether its client has gone away? */
bool waiting_ask_is_due(const waiting_ask *w, int64_t steady);
/* Checks now whether the client has disconnected. */
bool waiting_ask_is_gone(waiting_ask *w, int64_t steady);

/* ms of the steady clock: when the line must be checked next; INT64_MAX: it is empty. */
int64_t waiting_line_wake_at(const waiting_line *line, bool planning);

#endif
