/* The store: what the service must remember (records.h). Backends: SQLite (the service), memory
 * (tests). Nothing above this header knows which it is.
 *
 * Writing. Everything that happens to a study is an event. An append-only log of events per study is the
 * truth; every other table is a function of it and is written in the same transaction. Writes are handed to
 * one writer thread, which commits whatever has queued up together (group commit) and then calls each
 * write's `done`, in the order they were submitted: when `done` says STORE_OK the events are on disk.
 *
 * Lanes. A loaded study submits through a lane. After a write of a lane has failed, all later writes of that
 * lane fail with STORE_ABORTED: the owner may therefore apply events to its memory before they are durable,
 * provided that it answers nobody before `done`, and throws its memory away on a failure. A lane also carries
 * the study's epoch: the write of an owner that has been superseded fails.
 *
 * Reading. Any thread; sees what is committed. Callbacks run on the calling thread with pointers that are
 * valid during the call only. STORE_CORRUPT, and no more rows, at one that cannot have been written: a state
 * that there is not, a value or a figure that is not finite, numbers below zero. A list of studies goes on:
 * such a study is marked in it. */
#ifndef SERVER_STORE_STORE_H
#define SERVER_STORE_STORE_H

#include "server/store/records.h"

#define STORE_STATUS_LIST(X)                                                                                 \
    X(STORE_OK, "ok")                                                                                        \
    X(STORE_NOT_FOUND, "not found")                                                                          \
    X(STORE_EXISTS, "exists already")                                                                        \
    X(STORE_TOO_MANY, "there are as many as there may be")                                                   \
    X(STORE_ABORTED, "an earlier write of this study failed")                                                \
    X(STORE_SUPERSEDED, "another owner has taken the study over")                                            \
    X(STORE_BUSY, "the database is in use by another process")                                               \
    X(STORE_FULL, "the disk is full")                                                                        \
    X(STORE_READ_ONLY, "the database cannot be written to")                                                  \
    X(STORE_CORRUPT, "the database is damaged")                                                              \
    X(STORE_FOREIGN, "not a banditd database")                                                               \
    X(STORE_NEWER, "the database was written by a newer banditd")                                            \
    X(STORE_NO_MEMORY, "out of memory")                                                                      \
    X(STORE_IO, "input or output error")                                                                     \
    X(STORE_CLOSED, "the store is closing")

typedef enum store_status {
#define X(name, text) name,
    STORE_STATUS_LIST(X)
#undef X
} store_status;

const char *store_status_text(store_status status);

typedef struct store_error {
    store_status status;
    char field[32];    /* of an event that cannot be decoded: the member at fault; "" */
    char message[512]; /* for the log and the operator */
} store_error;

/* ---- opening ------------------------------------------------------------------------------------------- */

typedef struct store store;

/* Opens (creates, migrates) an SQLite database and takes its lock: STORE_BUSY when another process has it.
 * Before migrating an older database, writes the backup `<path>.v<N>`. */
store_status store_open_sqlite(store **out, const char *path, store_error *err);
store_status store_open_memory(store **out, store_error *err);

/* Finishes queued writes (their `done` is called), checkpoints, closes. NULL is fine. */
void store_close(store *s);

/* STORE_OK when a small write would be accepted now (readiness). */
store_status store_probe(store *s, store_error *err);

/* ---- files, also while a server uses them -------------------------------------------------------------- */

/* Copies the database, as it is at one moment, to a file that must not exist yet (STORE_EXISTS); it appears
 * whole or not at all. Takes no lock and never checkpoints. */
store_status store_back_up(const char *path, const char *copy, store_error *err);

/* The version of the schema; 0: an empty file. STORE_FOREIGN, STORE_NEWER. */
store_status store_read_version(const char *path, int64_t *version, store_error *err);

/* Checks the file, its keys, and that counters, log, attempts, batches and candidates fit one another;
 * `problem` is given a line of text for each that does not. STORE_OK: all was looked at. */
typedef void store_check_row(void *arg, const char *problem);
store_status store_check(const char *path, store_check_row *problem, void *arg, store_error *err);

/* The database as it is at the moment of opening, whatever a server that uses it does meanwhile. It only
 * reads: nothing is locked, nothing on disk changes, what is submitted fails with STORE_CLOSED. As long as it
 * is open the server's write-ahead log cannot start anew. One thread at a time. STORE_READ_ONLY: to be
 * migrated first. */
store_status store_open_snapshot(store **out, const char *path, store_error *err);

/* A new database that nobody will miss: nothing in it is synced. */
store_status store_open_scratch(store **out, const char *path, store_error *err);

/* Compares what the tables say of a study in a snapshot with what they say of study `other` in another
 * database; `difference` is given a line of text for the first difference in each table. */
store_status store_compare(store *snapshot, int64_t study, const char *path, int64_t other,
                           store_check_row *difference, void *arg, store_error *err);

/* ---- how it is ----------------------------------------------------------------------------------------- */

typedef struct store_statistics {
    uint64_t commits;         /* transactions so far */
    uint64_t writes;          /* writes in them */
    uint64_t wal_bytes;       /* now; 0 without one */
    uint64_t queued_writes;   /* now */
    store_error last_failure; /* of a write; status STORE_OK when none has failed */
} store_statistics;

void store_read_statistics(store *s, store_statistics *out);

/* What one transaction has done. */
typedef struct store_commit {
    double seconds;                   /* from its begin to its end on disk */
    size_t writes, failed;            /* what was refused, being there already or not at all, is neither */
    size_t events[STORE_EVENT_TYPES]; /* of the writes that succeeded */
} store_commit;

/* Has the observer called after each transaction with writes, on the writer thread, before their `done`. To
 * be set before anything is written. */
typedef void store_observer(void *arg, const store_commit *commit);
void store_observe(store *s, store_observer *observer, void *arg);

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Called on the writer thread, once per write. Must be short, and of the store's functions may only call
 * those that submit, abandon or close a lane. `study` and `last_seq` are the study's number and the log
 * position of the write's last event (without events: of the last one before it). */
typedef void store_done(void *arg, store_status status, int64_t study, int64_t last_seq);

typedef struct store_lane store_lane;

/* A lane for a study that exists (or 0: for creating one; after its first write has succeeded the lane is
 * that of the new study). last_seq: as read with the study. */
store_status store_lane_open(store_lane **out, store *s, int64_t study, int64_t epoch, int64_t last_seq);
void store_lane_close(store_lane *lane); /* after the last `done` of its writes; NULL is fine */

/* Log position that the first event of the next write submitted through this lane will have. */
int64_t store_lane_next_seq(const store_lane *lane);

/* A transaction in the making; owned by the caller until store_submit takes it. One without events takes its
 * place in the line. STORE_NOT_FOUND for a write that speaks of what is not there (a trial, a finished
 * upload, a trial in a state that does not allow the event), STORE_EXISTS for one that makes what is. */
typedef struct store_write store_write;

store_status store_write_new(store_write **out, store_lane *lane);
store_status store_write_add(store_write *write, const store_event *event); /* copies it */
size_t store_write_events(const store_write *write);
void store_write_free(store_write *write); /* one that is not submitted; NULL is fine */

/* For a study that comes from elsewhere, in many writes. store_write_stage: the study that this write makes
 * is seen by nobody, and removed at the next start, until a write with store_write_publish is on disk; that
 * one fails with STORE_EXISTS when by then there is another study of its id. */
void store_write_stage(store_write *write);
void store_write_publish(store_write *write);

/* A write that makes a study for all to see, or publishes one, fails with STORE_TOO_MANY, and does nothing,
 * when there are so many already. */
void store_write_limit_studies(store_write *write, size_t most);

/* The answer to a request with an Idempotency-Key, stored with what the request did. Kept for a day at least.
 */
#define STORE_ANSWER_KEPT ((int64_t)24 * 3600 * 1000) /* ms */
typedef struct store_answer {
    const char *token; /* whose request it was; "" */
    const char
        *path; /* of a study's resource: with the study's number, so that a new one of that id differs */
    const char *key;
    int64_t time;
    unsigned char body_hash[32];
    const unsigned char *response; /* as the caller encodes it */
    size_t n_response;
} store_answer;

/* Copies it; at most one a write. The write fails with STORE_EXISTS, and does nothing, when an answer of less
 * than a day is stored for that token, path and key. */
store_status store_write_set_answer(store_write *write, const store_answer *answer);

/* Adds a token (copied), or removes the one of that id; at most one of both a write, which needs no events
 * then. The write fails with STORE_NOT_FOUND when there is no such study or token, with STORE_EXISTS when the
 * id is taken. A study's tokens go when it is deleted. */
store_status store_write_put_token(store_write *write, const store_token *token);
store_status store_write_remove_token(store_write *write, const char *id);

/* Takes the write. `done` is called exactly once, also when the store is failing or closing. Writes of a
 * lane are committed in the order of their submission. Never blocks on the disk. */
void store_submit(store_write *write, store_done *done, void *arg);

/* Deletes a study: gone at once for readers, its pages are freed in slices later, also after a restart. */
void store_submit_delete(store_lane *lane, store_done *done, void *arg);

/* Uploads are staged outside any study and become visible with EVENT_CANDIDATES_SET, which is submitted after
 * `done` has said STORE_OK of every block; what is never made visible is removed by store_upload_abandon or
 * at the next start. */
store_status store_upload_begin(store *s, int64_t *content, store_error *err);

/* Queues rows first … first+n−1 (n x dimension doubles, copied) for writing; blocks come in order. done as
 * above (study 0), on the calling thread when there is no memory for the copy. After a failed block the later
 * ones fail with STORE_ABORTED. */
void store_upload_append(store *s, int64_t content, int64_t first, size_t n, size_t dimension,
                         const double *rows, store_done *done, void *arg);
void store_upload_abandon(store *s, int64_t content);

/* ---- reading ------------------------------------------------------------------------------------------- */

typedef void store_study_row(void *arg, const store_study *study);
typedef void store_trial_row(void *arg, const store_trial *trial);
typedef void store_attempt_row(void *arg, const store_attempt *attempt);
typedef void store_batch_row(void *arg, const store_batch *batch);
typedef void store_log_row(void *arg, int64_t seq, int64_t time, const char *type, const char *payload);

typedef struct store_study_filter {
    const char *after; /* studies with a larger id; NULL: from the start */
    const char *id;    /* only the one of this id; NULL: all */
    bool by_state;     /* only those in `state` */
    study_state state;
    const char *label, *label_value; /* only those whose definition has this among its labels; NULL: all */
} store_study_filter;

/* Living studies, by id, the damaged among them. */
store_status store_read_studies(store *s, const store_study_filter *filter, size_t limit,
                                store_study_row *row, void *arg, store_error *err);
store_status store_count_studies(store *s, size_t *n, store_error *err);
store_status store_read_study(store *s, const char *id, store_study_row *row, void *arg, store_error *err);

/* Over all living studies. */
typedef struct store_totals {
    int64_t studies[STUDY_STATES], trials[TRIAL_STATES];
} store_totals;
store_status store_read_totals(store *s, store_totals *out, store_error *err);

/* A staged study, by its number. */
store_status store_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err);

typedef struct store_trial_filter {
    int64_t after; /* trials with a larger number */
    bool told;     /* only told ones, with told_after < told_seq <= told_through */
    int64_t told_after, told_through;
    uint32_t states;    /* bit 1 << state; 0: all */
    bool failed_arms;   /* only of candidates of which some trial failed or was infeasible; with `told` and
                         * told_after 0 only, states and worker do not count */
    const char *worker; /* NULL: all */
} store_trial_filter;

/* By trial number. */
store_status store_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                               store_trial_row *row, void *arg, store_error *err);
store_status store_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                              store_error *err);
store_status store_read_attempts(store *s, int64_t study, int64_t trial, store_attempt_row *row, void *arg,
                                 store_error *err);
/* Late results by trial and attempt; trial 0: of all, in the order of the log. after_seq < told_seq <=
 * through_seq. */
typedef void store_late_result_row(void *arg, const store_late_result *result);
store_status store_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                     int64_t through_seq, store_late_result_row *row, void *arg,
                                     store_error *err);
/* Amendments with seq > after_seq, in the order of the log; trial 0: of all. */
typedef void store_amendment_row(void *arg, const store_amendment *amendment);
store_status store_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                   store_amendment_row *row, void *arg, store_error *err);
/* By trial, attempt and step; trial 0: of all. */
typedef void store_measurement_row(void *arg, const store_measurement *measurement);
store_status store_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                     void *arg, store_error *err);
store_status store_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                                void *arg, store_error *err);

/* Told values alone, by trial number: quicker than whole trials. */
typedef void store_value_row(void *arg, int64_t trial, double value, int64_t told_at);
store_status store_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err);

/* Imported rewards with after_seq < log position <= through_seq, in the order of the log. */
typedef void store_observation_row(void *arg, int64_t seq, const store_observation *observation);
store_status store_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                     store_observation_row *row, void *arg, store_error *err);

/* n rows of raw features (in a space: coded points) from `first` on into rows (n x dimension, caller's).
 * STORE_NOT_FOUND past the end, STORE_CORRUPT for a study whose rows have another dimension. */
store_status store_read_candidates(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                   double *rows, store_error *err);

/* The raw features of n candidates that stored rows speak of, in the order of `indices`, into rows (n x
 * dimension, caller's). STORE_CORRUPT for one past the end, or for another dimension. */
store_status store_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                      size_t dimension, double *rows, store_error *err);

/* Those that are no longer handed out, ascending. */
typedef void store_retired_row(void *arg, uint32_t candidate);
store_status store_read_retired(store *s, int64_t study, store_retired_row *row, void *arg, store_error *err);

/* What an engine is restored from: the last planned batch. The caller frees it with
 * store_engine_state_clear. STORE_NOT_FOUND before the first batch. */
typedef struct store_engine_state {
    int64_t batch;
    int64_t through_seq;
    uint32_t *dictionary;
    size_t n_dictionary;
    store_arm_sum *sums; /* ascending by arm */
    size_t n_sums;
    unsigned char *state;
    size_t n_state;
    char code_path[24];
} store_engine_state;

store_status store_read_engine_state(store *s, int64_t study, store_engine_state *out, store_error *err);
void store_engine_state_clear(store_engine_state *state);

/* STORE_NOT_FOUND also when it is older than a day at `now`. */
typedef void store_answer_row(void *arg, const store_answer *answer);
store_status store_read_answer(store *s, const char *token, const char *path, const char *key, int64_t now,
                               store_answer_row *row, void *arg, store_error *err);

/* Tokens with number > after, in their order. */
typedef void store_token_row(void *arg, const store_token *token);
store_status store_read_tokens(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                               store_error *err);

/* The log as events, by position; STORE_CORRUPT when one of them cannot be read. */
typedef void store_event_row(void *arg, int64_t seq, const store_event *event);
store_status store_read_events(store *s, int64_t study, int64_t after_seq, size_t limit, store_event_row *row,
                               void *arg, store_error *err);
store_status store_read_log(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                            void *arg, store_error *err);

#endif
