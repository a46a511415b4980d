/* The state of a study's planning, and the requests that wait for it.
 *
 * Only one engine job at a time may number points or trials: a plan, or a job that finds the candidate
 * numbers of a request's points. From the turn that posts such a job until the turn that takes its result,
 * the state is busy.
 *
 * plan_state.c defines what is declared here. */
#ifndef SERVER_STUDY_PLAN_STATE_H
#define SERVER_STUDY_PLAN_STATE_H

#include "server/study/request.h"

#include <sys/queue.h>

typedef struct plan_state plan_state;

plan_state *plan_state_new(void);     /* NULL: out of memory */
void plan_state_free(plan_state *p);  /* no request may be waiting in it; accepts NULL */
void plan_state_reset(plan_state *p); /* the study leaves memory; waiting requests stay */

void plan_state_begin(plan_state *p); /* call when a numbering job is posted */
void plan_state_end(plan_state *p);   /* call when its result is taken */
bool plan_state_is_busy(const plan_state *p);

/* A delayed plan waits until everything recorded so far is on disk. */
void plan_state_delay(plan_state *p, bool delayed);
bool plan_state_is_delayed(const plan_state *p);
bool plan_state_is_computing(const plan_state *p); /* busy or delayed, so that an ask should wait */

/* May the rule of the current batch allow more picks? */
void plan_state_set_continues(plan_state *p, bool continues);
bool plan_state_continues(const plan_state *p);

/* Is the current batch planned in parts, with parts to come? Then the next plan extends it, even if results have been
 * reported, so that the batch has the picks of a batch that is planned at once. */
void plan_state_set_unfinished(plan_state *p, bool unfinished);
bool plan_state_is_unfinished(const plan_state *p);

/* No candidate may be handed out until a trial is closed or a candidate is added. */
void plan_state_set_exhausted(plan_state *p, bool exhausted);
bool plan_state_is_exhausted(const plan_state *p);

/* The engine must be loaded again as soon as no numbering job uses it. */
void plan_state_set_renewing(plan_state *p, bool renewing);
bool plan_state_is_renewing(const plan_state *p);

/* Proposals of users wait here during a plan, in order, linked by `next`. */
void plan_state_defer(plan_state *p, study_request *request);
study_request *plan_state_take_deferred(plan_state *p);
bool plan_state_has_deferred(const plan_state *p);
bool plan_state_defers_key(const plan_state *p,
                           const study_request *request); /* does a request with this key wait? */

/* Requests with points, for points.c. The first one may be in progress on the engine lane. */
typedef struct placing placing;
STAILQ_HEAD(placing_list, placing);
struct placing_list *plan_state_placing(plan_state *p);

#endif
