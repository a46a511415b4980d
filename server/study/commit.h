/* The writes of a study. A turn records events into one write, and holds its replies until that write, and
 * all before it, are on disk. When a write fails, its replies and those of all later writes become failures.
 * The study's memory, which is then ahead of the store, must be loaded again: commit_is_broken.
 *
 * Call all functions in the study's turn, unless they say otherwise. commit.c defines what is declared
 * here. */
#ifndef SERVER_STUDY_COMMIT_H
#define SERVER_STUDY_COMMIT_H

#include "server/app.h"
#include "server/study/request.h"

#include <stdatomic.h>

typedef struct commit commit;

/* id: the study's, for log messages. wake_at: is set to 0 when a write has failed, so that the timer gives the study a
 * turn. Both are borrowed until commit_free. NULL: out of memory. */
commit *commit_new(app *a, const char *id, atomic_llong *wake_at);
void commit_free(commit *c); /* no write may be in progress; accepts NULL */

/* Directs writes to this study of the store. Call when the study is loaded. */
store_status commit_open(commit *c, int64_t number, int64_t epoch, int64_t last_seq);
void commit_close(commit *c); /* call when the study leaves memory */

/* ---- the turn's write ---------------------------------------------------------------------------------- */

/* Adds an event to the turn's write. If that is impossible, the turn fails. */
void commit_record(commit *c, const store_event *event);

/* The news that receivers of notifications get once the turn's events are on disk. */
struct notify_news *commit_news(commit *c);

/* Makes the turn fail: its replies become this failure, and the study is loaded again. */
void commit_fail(commit *c, store_status status);
bool commit_has_failed(const commit *c); /* whether this turn has failed */

/* The position in the log of the next event that is recorded. */
int64_t commit_next_seq(const commit *c);

/* The number of the turn's write, counted from 1, and of the last write that has an event or was
 * submitted. */
uint64_t commit_number(const commit *c);
uint64_t commit_last(const commit *c);

/* Holds the reply that is made next until the turn's write is on disk. Call before making the reply. */
void commit_hold(commit *c, study_request *request);

/* Submits the recorded events, with the replies that wait for them. */
void commit_submit(commit *c);

/* Submits the deletion of the study, and replies to the request once it is stored. No write may follow.
 * False: out of memory. */
bool commit_submit_deletion(commit *c, study_request *request);

/* A request with an idempotency key has a separate write, so this submits the events that were recorded before it.
 * False: the request was answered, with the stored reply or because the same request is still being answered. `waits`:
 * a request with this key waits in the study. For a request without a key, the function returns true. */
bool commit_begin_keyed(commit *c, study_request *request, bool waits);

/* ---- the outcome of writes: any thread ----------------------------------------------------------------- */

/* Number of the last write that is on disk or has failed. */
uint64_t commit_done(const commit *c);
bool commit_is_broken(const commit *c);          /* a write has failed, or commit_break was called */
bool commit_deletion_is_stored(const commit *c); /* the id may belong to another study now */

/* Only in the turn. Settled: no write is in progress. Idle: in addition, the turn has recorded and held
 * nothing. */
bool commit_is_settled(const commit *c);
bool commit_is_idle(const commit *c);

/* Marks the memory as ahead of the store, so that it is loaded again once the writes are settled. */
void commit_break(commit *c);
void commit_break_after(commit *c); /* after the turn's events have been submitted, with its replies */
void commit_mend(commit *c);        /* call when the memory has been dropped */

#endif
