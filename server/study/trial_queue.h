/* The trials of a study that are in memory, by number and in four lists. The queue owns them.
 *
 * Queued trials are in the order in which they are handed out: released ones first, the last released at the
 * head; then those whose lease expired or whose attempt failed, by number; then trials that users proposed; then
 * picks, by number. The order depends only on how the trials were requeued, so it is the same after a restart.
 *
 * trial_queue.c defines what is declared here. */
#ifndef SERVER_STUDY_TRIAL_QUEUE_H
#define SERVER_STUDY_TRIAL_QUEUE_H

#include "server/study/trial.h"
#include "server/study/workers.h"

typedef struct trial_queue trial_queue;

typedef enum trial_list {
    TRIALS_QUEUED,
    TRIALS_PENDING,
    TRIALS_REPORTED, /* closed; no batch includes the result yet */
    TRIALS_JOINED,   /* closed; part of a model that may not be stored yet */
    TRIAL_LISTS
} trial_list;

trial_queue *trial_queue_new(workers *w); /* w is borrowed. NULL: out of memory */
void trial_queue_free(trial_queue *q);
void trial_queue_clear(trial_queue *q); /* frees all trials */

bool trial_queue_add(trial_queue *q, trial *t);  /* takes ownership; false: out of memory, t is freed */
void trial_queue_drop(trial_queue *q, trial *t); /* frees the trial */
trial *trial_queue_find(const trial_queue *q, int64_t id); /* NULL: not in memory */

/* Before you change anything that determines a trial's list or place (its state, joined_by, how it was requeued, its
 * lease), call trial_queue_take; afterwards, call trial_queue_put. */
void trial_queue_take(trial_queue *q, trial *t);
void trial_queue_put(trial_queue *q, trial *t);

/* Changes the name of the trial's worker; the trial must not be pending. False: out of memory. */
bool trial_queue_set_worker(trial_queue *q, trial *t, const char *name);

trial *trial_queue_head(
    const trial_queue *q); /* the queued trial that is handed out next; NULL: none is queued */

/* Iteration over a list, in no particular order. NULL after the last trial. */
trial *trial_queue_first(const trial_queue *q, trial_list list);
trial *trial_queue_next(const trial *t);
bool trial_queue_is_empty(const trial_queue *q, trial_list list);
size_t trial_queue_queued(const trial_queue *q);
size_t trial_queue_open(const trial_queue *q); /* number of queued and pending trials */

/* The bytes that all trials take, and those that the open trials take. */
size_t trial_queue_memory(const trial_queue *q);
size_t trial_queue_open_memory(const trial_queue *q);

size_t trial_queue_nameless(const trial_queue *q); /* pending trials without a worker's name */

/* The pending trial whose lease expires first; NULL: none is pending. trial_queue_next_expiry: this time in ms of the
 * boot clock; INT64_MAX: never. */
trial *trial_queue_first_lease(const trial_queue *q);
int64_t trial_queue_next_expiry(const trial_queue *q);

/* The trials marked `joining` have joined the model by this write. Once the writes up to number `done` are on
 * disk, trials that joined by them are dropped from memory. */
void trial_queue_join(trial_queue *q, uint64_t write);
void trial_queue_drop_joined(trial_queue *q, uint64_t done);

#endif
