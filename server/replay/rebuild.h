/* A study made again, in another store or under another name, from its candidates and the entries of its log
 * in their order: what an import does with a file, and a check with a database. Entries may come from
 * anybody: they are looked at as requests are. Used by one thread at a time; writes go on meanwhile. */
#ifndef SERVER_REPLAY_REBUILD_H
#define SERVER_REPLAY_REBUILD_H

#include "proto/wire.h"
#include "server/store/store.h"

typedef struct rebuild rebuild;

/* id: the study's name in its new place; NULL: as in the log. staged: nobody sees the study until it is
 * published. */
store_status rebuild_new(rebuild **out, store *s, const char *id, bool staged);

/* The candidates that were uploaded (of a precomputed set: its matrix), in order, before the first entry: the
 * last set, if there were several. */
wire_status rebuild_rows(rebuild *r, size_t n, size_t dimension, const double *rows, wire_errors *errors);

/* Entry `seq` of the log, from 1. WIRE_INVALID, with what is wrong with it; a failing store is not said here.
 */
wire_status rebuild_entry(rebuild *r, int64_t seq, int64_t time, const char *type, const char *payload,
                          wire_errors *errors);

/* After the last entry: is anything missing? */
wire_status rebuild_finish(rebuild *r, wire_errors *errors);

/* Hands on what has been gathered, and calls `settled` (any thread) once at most `most` writes are on their
 * way; after rebuild_rows everything else waits for the candidates. One wait at a time. */
void rebuild_settle(rebuild *r, size_t most, void (*settled)(void *arg), void *arg);
/* The same, waiting here for all. -> rebuild_status */
store_status rebuild_wait(rebuild *r);

/* Are the candidates that the log speaks of those that were given? */
bool rebuild_has_candidates(const rebuild *r);

/* STORE_OK, or what the first write that failed failed with. */
store_status rebuild_status(rebuild *r);

const char *rebuild_id(const rebuild *r);
int64_t rebuild_entries(const rebuild *r);
int64_t rebuild_number(rebuild *r); /* the study's, in its new store; once its first entry is on disk */

/* The write that makes the staged study a living one; an answer may be added to it. */
store_status rebuild_publication(rebuild *r, store_write **out);
/* Takes it, when all that was submitted has been waited for. STORE_EXISTS, as `done` is told: there is a
 * study of that id. */
void rebuild_publish(rebuild *r, store_write *publication, store_done *done, void *arg);

/* Waits for no one. A staged study that was not published is removed. NULL is fine. */
void rebuild_free(rebuild *r);

#endif
