/* Rebuilds a study, in another store or under another id, from its candidates and the entries of its log. An
 * import does this with a file, and `banditd check` with a database. Entries are validated like requests,
 * since they may come from anybody. Use by one thread at a time; the writes run in the background. */
#ifndef SERVER_REPLAY_REBUILD_H
#define SERVER_REPLAY_REBUILD_H

#include "proto/wire.h"
#include "server/store/store.h"

typedef struct rebuild rebuild;

/* id: the id of the rebuilt study; NULL: as in the log. staged: the study is invisible until it is
 * published. */
store_status rebuild_new(rebuild **out, store *s, const char *id, bool staged);

/* Adds the uploaded candidates (for a precomputed kernel: the matrix), in order, before the first entry. If
 * there were several uploads, these are the candidates of the last one. */
wire_status rebuild_rows(rebuild *r, size_t n, size_t dimension, const double *rows, wire_errors *errors);

/* Adds entry `seq` of the log, counted from 1. WIRE_INVALID with an error if it is not valid. Failures of the
 * store are reported by rebuild_status only. */
wire_status rebuild_entry(rebuild *r, int64_t seq, int64_t time, const char *type, const char *payload,
                          wire_errors *errors);

/* Call after the last entry. WIRE_INVALID with an error if something is missing. */
wire_status rebuild_finish(rebuild *r, wire_errors *errors);

/* Submits the write that is being filled, and calls `settled` (any thread) once at most `most` writes are unfinished.
 * Writes after rebuild_rows wait for the candidates. Only one wait at a time. */
void rebuild_settle(rebuild *r, size_t most, void (*settled)(void *arg), void *arg);
/* Submits and waits for all writes. Returns rebuild_status. */
store_status rebuild_wait(rebuild *r);

/* Are the added candidates the ones that the log refers to? */
bool rebuild_has_candidates(const rebuild *r);

/* STORE_OK, or the status of the first write that failed. */
store_status rebuild_status(rebuild *r);

const char *rebuild_id(const rebuild *r);
int64_t rebuild_entries(const rebuild *r);
int64_t rebuild_number(rebuild *r); /* of the rebuilt study, once its first entry has been written */

/* Makes the write that publishes the staged study. The caller may add an answer to it. */
store_status rebuild_publication(rebuild *r, store_write **out);
/* Takes ownership of that write and submits it; call it after rebuild_wait. `done` gets STORE_EXISTS if a study with
 * this id exists. */
void rebuild_publish(rebuild *r, store_write *publication, store_done *done, void *arg);

/* Does not wait for writes. A staged study that was not published is removed. Accepts NULL. */
void rebuild_free(rebuild *r);

#endif
