/* Starting plans, and recording them. plan.c defines what is declared here. */
#ifndef SERVER_STUDY_PLAN_H
#define SERVER_STUDY_PLAN_H

#include "server/study/study.h"

/* Starts a plan for a new batch with the results reported so far. The batch has at least min_picks picks,
 * even if its rule would end it earlier. */
void study_plan_batch(study *s, size_t min_picks);

/* Starts a plan for more picks of the current batch: at least min_picks. */
void study_extend_batch(study *s, size_t min_picks);

/* Starts a plan for an ask that fixes parameters: picks of the current batch, or of a new one if there are
 * new results and no queued trials. */
void study_plan_fixed(study *s, const waiting_ask *ask);

/* Starts a plan without picks, through which the last results of a finished study join the model. */
void study_close_model(study *s);

/* Replans the batch, or the further picks of a batch, that an event of the log recorded. It runs on the calling thread,
 * which must belong to the pool. The study must be in the state that loading from a log that ends at the event's
 * through_seq gives, and must have no other jobs. *event becomes the new plan, except for its times and first trial; or
 * *refusal becomes the engine's refusal. Both borrow from *out, which plan_free frees. */
typedef struct plan plan;
store_status plan_again(study *s, const store_event *recorded, store_event *event, plan **out,
                        const char **refusal);
void plan_free(plan *p); /* accepts NULL */

#endif
