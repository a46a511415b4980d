/* The trials of a study that are in memory, by number and in four lists. The queue owns them.
 *
 * Queued trials are in the order in which they are handed out: released ones first, the last released at the
 * head; then those whose lease expired or whose attempt failed, by number; then users' own trials; then picks,
 * by number. The order depends on how the trials came back alone, so it is the same after a restart.
 *
 * trial_queue.c defines what is declared here. */
#ifndef SERVER_STUDY_TRIAL_QUEUE_H
#define SERVER_STUDY_TRIAL_QUEUE_H

#include "server/study/trial.h"

typedef struct trial_queue trial_queue;

typedef enum trial_list {
    TRIALS_QUEUED,
    TRIALS_PENDING,
    TRIALS_REPORTED, /* closed, and no batch has taken the result in yet */
    TRIALS_JOINED,   /* closed, and part of a model that may not be stored yet */
    TRIAL_LISTS
} trial_list;

trial_queue *trial_queue_new(void); /* NULL: out of memory */
void trial_queue_free(trial_queue *q);
void trial_queue_clear(trial_queue *q); /* drops all trials */

bool trial_queue_add(trial_queue *q, trial *t);  /* takes it; false: out of memory, and it is freed */
void trial_queue_drop(trial_queue *q, trial *t); /* frees it */
trial *trial_queue_find(const trial_queue *q, int64_t id); /* NULL: not in memory */

/* Around a change of what decides a trial's list or place: state, joined_by, how it came back, its lease. */
void trial_queue_take(trial_queue *q, trial *t);
void trial_queue_put(trial_queue *q, trial *t);

/* To go through a list; the next one is NULL after the last. */
trial *trial_queue_first(const trial_queue *q, trial_list list);
trial *trial_queue_next(const trial *t);
bool trial_queue_is_empty(const trial_queue *q, trial_list list);
bool trial_queue_has(const trial_queue *q, trial_list list, size_t n); /* n or more */
size_t trial_queue_open(const trial_queue *q);                         /* queued and pending ones */

/* ms of the wall clock: not later than the first lease of a pending trial expires; INT64_MAX: none is pending.
 * `renew` makes it exact again. */
int64_t trial_queue_next_expiry(const trial_queue *q);
void trial_queue_renew_expiry(trial_queue *q);

/* Results marked `joining` have been taken into the model by this write: their trials join. Once the writes up to
 * `done` are on disk, the trials that joined by them are dropped. */
void trial_queue_join(trial_queue *q, uint64_t write);
void trial_queue_drop_joined(trial_queue *q, uint64_t done);

#endif
