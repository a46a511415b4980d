/* The writes of a study. A turn records events into one write, and holds its replies until that write, and all
 * before it, is on disk. When a write fails, its replies and those of all later writes become failures, and the
 * study's memory, which is ahead of the store, must be loaded again: commit_is_broken.
 *
 * All functions are for the study's turn, but for those that say otherwise. commit.c defines what is declared
 * here. */
#ifndef SERVER_STUDY_COMMIT_H
#define SERVER_STUDY_COMMIT_H

#include "server/app.h"
#include "server/study/request.h"

#include <stdatomic.h>

typedef struct commit commit;

/* id: the study's, for the log. wake_at: set to 0 when a write has failed, so that the timer gives the study a
 * turn. Both are borrowed until commit_free. NULL: out of memory. */
commit *commit_new(app *a, const char *id, atomic_llong *wake_at);
void commit_free(commit *c); /* no write may be on its way; NULL is fine */

/* Writes go to this study of the store. Call when the study is loaded. */
store_status commit_open(commit *c, int64_t number, int64_t epoch, int64_t last_seq);
void commit_close(commit *c); /* the study leaves memory */

/* ---- the turn's write ---------------------------------------------------------------------------------- */

/* Adds an event to the turn's write. When that is not possible the turn fails. */
void commit_record(commit *c, const store_event *event);

/* The turn fails: its replies become this failure, and the study is loaded again. */
void commit_fail(commit *c, store_status status);
bool commit_has_failed(const commit *c); /* this turn */

/* Position in the log that the next recorded event will have. */
int64_t commit_next_seq(const commit *c);

/* Number of the turn's write, from 1; and of the last one that has an event or has been submitted. */
uint64_t commit_number(const commit *c);
uint64_t commit_last(const commit *c);

/* Holds the request's coming reply until the turn's write is on disk. Call before the reply is made. */
void commit_hold(commit *c, study_request *request);

/* Submits what has been recorded, with the replies that wait for it. */
void commit_submit(commit *c);

/* Submits the deletion of the study, and nothing after it; replies to the request. False: out of memory. */
bool commit_submit_deletion(commit *c, study_request *request);

/* A request with an idempotency key has a write of its own, and this submits what was recorded before it. False:
 * the request has been answered, with the reply that is stored or because the same request is still being
 * answered; `waits`: one with this key waits in the study. True for a request without a key. */
bool commit_begin_keyed(commit *c, study_request *request, bool waits);

/* ---- what has become of them: any thread --------------------------------------------------------------- */

/* Number of the last write that is on disk or has failed. */
uint64_t commit_done(const commit *c);
bool commit_is_broken(const commit *c);          /* a write has failed, or commit_break was called */
bool commit_deletion_is_stored(const commit *c); /* the id may be another study's by now */

/* The turn only. Settled: no write is on its way. Idle: nor has the turn recorded or held anything. */
bool commit_is_settled(const commit *c);
bool commit_is_idle(const commit *c);

/* The memory is ahead of the store: it has to be loaded again once the writes are settled. */
void commit_break(commit *c);
void commit_mend(commit *c); /* it has been dropped */

#endif
