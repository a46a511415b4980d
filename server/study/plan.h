/* When a plan is started, and what becomes of it. plan.c defines what is declared here. */
#ifndef SERVER_STUDY_PLAN_H
#define SERVER_STUDY_PLAN_H

#include "server/study/study.h"

/* Starts a plan for a new batch with the results reported so far; of at least min_picks picks, even if its rule
 * would end it earlier. */
void study_plan_batch(study *s, size_t min_picks);

/* Starts a plan for more picks of the current batch: at least min_picks. */
void study_extend_batch(study *s, size_t min_picks);

/* Starts a plan for an ask that fixes parameters: picks of the current batch, or of a new one when results have
 * come in and nothing is queued. */
void study_plan_fixed(study *s, const waiting_ask *ask);

/* Starts a plan without picks: the last results of a finished study join the model. */
void study_close_model(study *s);

/* Plans again what an event of the log says was planned: a batch, or more picks for one. Runs on the calling thread,
 * one of the pool, with the study as it is when loaded from a log that ends at the event's through_seq; nothing
 * else may go on in the study. *event becomes what is planned this time, but for its times and first trial, or
 * *refusal what the engine says. Both borrow from *out, which plan_free frees. */
typedef struct plan plan;
store_status plan_again(study *s, const store_event *recorded, store_event *event, plan **out,
                        const char **refusal);
void plan_free(plan *p); /* NULL is fine */

#endif
