/* Where the planning of a study stands, and the requests that wait for it.
 *
 * Only one engine job at a time may number points or trials: a plan, or one that finds the places of a request's
 * points. From the turn that posts such a job to the turn that takes its result, the state is busy.
 *
 * plan_state.c defines what is declared here. */
#ifndef SERVER_STUDY_PLAN_STATE_H
#define SERVER_STUDY_PLAN_STATE_H

#include "server/study/request.h"

#include <sys/queue.h>

typedef struct plan_state plan_state;

plan_state *plan_state_new(void);     /* NULL: out of memory */
void plan_state_free(plan_state *p);  /* no request may wait in it; NULL is fine */
void plan_state_reset(plan_state *p); /* the study leaves memory; the requests that wait stay */

void plan_state_begin(plan_state *p); /* a numbering job is posted */
void plan_state_end(plan_state *p);   /* its result is here */
bool plan_state_is_busy(const plan_state *p);

/* A plan waits until all that was recorded is on disk. */
void plan_state_delay(plan_state *p, bool delayed);
bool plan_state_is_delayed(const plan_state *p);
bool plan_state_is_computing(const plan_state *p); /* busy, or delayed: an ask does well to wait */

/* Does the current batch's rule perhaps allow more picks? */
void plan_state_set_continues(plan_state *p, bool continues);
bool plan_state_continues(const plan_state *p);

/* No candidate may be handed out until a trial is closed or a candidate is added. */
void plan_state_set_exhausted(plan_state *p, bool exhausted);
bool plan_state_is_exhausted(const plan_state *p);

/* The engine is to be loaded again, once no numbering job is at it. */
void plan_state_set_renewing(plan_state *p, bool renewing);
bool plan_state_is_renewing(const plan_state *p);

/* Users' own trials wait here while a plan is made; in order, linked by `next`. */
void plan_state_defer(plan_state *p, study_request *request);
study_request *plan_state_take_deferred(plan_state *p);
bool plan_state_has_deferred(const plan_state *p);
bool plan_state_defers_key(const plan_state *p,
                           const study_request *request); /* the same request, by its key */

/* Requests with points wait here, for points.c: the first may be at the engine. */
typedef struct placing placing;
STAILQ_HEAD(placing_list, placing);
struct placing_list *plan_state_placing(plan_state *p);

#endif
