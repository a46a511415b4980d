/* The store keeps the service's permanent records (records.h). Backends: SQLite and PostgreSQL for the service, memory
 * for tests. Code above this header does not depend on the backend.
 *
 * Writing. Everything that happens to a study is an event. Each study has an append-only log of events; every
 * other table is a function of the logs and is written in the same transaction. One writer thread commits the
 * waiting writes together (group commit) and then calls the `done` of each, in the order in which they were
 * submitted. When `done` says STORE_OK, the events are on disk.
 *
 * Lanes. A loaded study submits its writes through a lane. After one of them has failed, all later ones of
 * the lane fail with STORE_ABORTED. So the owner may apply events to its memory before they are durable, if
 * it sends no response before `done` and discards its memory after a failure. A lane also carries the study's
 * epoch: the write of an owner that has been superseded fails.
 *
 * Reading. Any thread may read, and sees the committed state. Callbacks run on the calling thread; their
 * pointers are valid during the call only. A row that cannot have been written (an unknown state, a number
 * that is not finite, a negative count) ends the read with STORE_CORRUPT. A list of studies marks such a
 * study and continues. */
#ifndef SERVER_STORE_STORE_H
#define SERVER_STORE_STORE_H

#include "server/store/records.h"

#define STORE_STATUS_LIST(X)                                                                                 \
    X(STORE_OK, "ok")                                                                                        \
    X(STORE_NOT_FOUND, "not found")                                                                          \
    X(STORE_EXISTS, "already exists")                                                                        \
    X(STORE_TOO_MANY, "the limit is reached")                                                                \
    X(STORE_ABORTED, "an earlier write of this study failed")                                                \
    X(STORE_SUPERSEDED, "the study has another owner")                                                       \
    X(STORE_BUSY, "the database is in use by another process")                                               \
    X(STORE_FULL, "the disk is full")                                                                        \
    X(STORE_READ_ONLY, "the database is read-only")                                                          \
    X(STORE_CORRUPT, "the database is damaged")                                                              \
    X(STORE_FOREIGN, "not a banditd database")                                                               \
    X(STORE_NEWER, "the database was written by a newer banditd")                                            \
    X(STORE_NO_MEMORY, "out of memory")                                                                      \
    X(STORE_IO, "input or output error")                                                                     \
    X(STORE_MOVED, "the database's file was moved, replaced or removed under the server")                    \
    X(STORE_UNREACHABLE, "the database cannot be reached")                                                   \
    X(STORE_ELSEWHERE, "another server has taken the database over")                                         \
    X(STORE_CLOSED, "the store is closing")

typedef enum store_status {
#define X(name, text) name,
    STORE_STATUS_LIST(X)
#undef X
} store_status;

const char *store_status_text(store_status status);

typedef struct store_error {
    store_status status;
    char field[32];    /* STORE_CORRUPT for an event: the member that is wrong or missing; "" otherwise */
    char message[512]; /* for the log and the operator */
} store_error;

/* ---- opening ------------------------------------------------------------------------------------------- */

typedef struct store store;

/* Opens an SQLite database, creates or migrates it if needed, and takes its locks. STORE_BUSY: another process
 * has one of them. Before a migration from version N, writes the backup `<path>.v<N>`. Once another file has the name
 * of the opened file or of its write-ahead log, writes fail with STORE_MOVED. */
store_status store_open_sqlite(store **out, const char *path, store_error *err);
store_status store_open_memory(store **out, store_error *err);

const char *store_sqlite_version(void);

/* Opens a PostgreSQL database, of the newest schema, for this process alone. Loads libpq. `uri`: a URI or settings in
 * libpq's form; a password in it is in no message. patience: the number of seconds for which opening and writes wait
 * when the database cannot be reached. STORE_BUSY: another server uses it. STORE_READ_ONLY: it must be migrated first.
 * STORE_FOREIGN: it cannot hold a store; *err has the reason. Writes fail with STORE_UNREACHABLE while the database has
 * been unreachable for longer than the patience. After another server has opened it, all writes fail with
 * STORE_ELSEWHERE. */
store_status store_open_postgres(store **out, const char *uri, double patience, store_error *err);

/* The server, database and user, for messages. */
const char *store_name_postgres(const store *s);

typedef struct store_migration {
    int64_t before, now; /* versions of the schema; before 0: there was none */
    char name[160];      /* in the form of store_name_postgres */
} store_migration;

/* Makes the schema, or migrates it, in one transaction. STORE_BUSY: a server uses the database. */
store_status store_migrate_postgres(const char *uri, store_migration *out, store_error *err);

/* Finishes the queued writes, whose `done` is called, checkpoints and closes. `s` may be NULL. */
void store_close(store *s);

/* Readiness. Has a write reached the disk within the last second, and has none failed since then? */
bool store_is_proved(store *s);

/* Finds out with a small write, which all callers that wait at that time share. `done` is called once, by any thread,
 * perhaps before store_probe_start returns. outcome->status STORE_OK: the write succeeded; STORE_BUSY: it takes too
 * long. The caller owns the probe, which must live until then. store_tick ends probes that take too long; call it
 * several times a second. */
typedef struct store_probe {
    void (*done)(struct store_probe *probe, const store_error *outcome);
    struct store_probe *next; /* the store's */
} store_probe;
void store_probe_start(store *s, store_probe *probe);
void store_tick(store *s);

/* ---- files that a server may be using ------------------------------------------------------------------ */

/* Each of these fails with STORE_MOVED if the file's write-ahead log was written for another file. */

/* Copies the state of the database at one moment to a file that must not exist yet (otherwise STORE_EXISTS). The
 * copy appears complete or not at all. Takes no lock and never checkpoints. STORE_FOREIGN: not a database of banditd, or
 * an empty file. */
store_status store_back_up(const char *path, const char *copy, store_error *err);

/* The version of the schema; 0: an empty file. STORE_FOREIGN, STORE_NEWER. */
store_status store_read_version(const char *path, int64_t *version, store_error *err);

/* Checks the file and its keys, and whether counters, log, attempts, batches and candidates are consistent. Calls
 * `problem` with one line of text per problem. STORE_OK: all checks ran. */
typedef void store_check_row(void *arg, const char *problem);
store_status store_check(const char *path, store_check_row *problem, void *arg, store_error *err);
store_status store_check_postgres(const char *uri, store_check_row *problem, void *arg, store_error *err);

/* Opens the state of the database at this moment, even if a server writes to the database afterwards. A snapshot only
 * reads: it locks nothing and changes nothing on disk; writes fail with STORE_CLOSED. While it is open, the server's
 * write-ahead log cannot restart. Only one thread may use it at a time. STORE_READ_ONLY: the database must be migrated
 * first. */
store_status store_open_snapshot(store **out, const char *path, store_error *err);

store_status store_open_snapshot_postgres(store **out, const char *uri, store_error *err);

/* A new temporary database. It is never synced to disk. */
store_status store_open_scratch(store **out, const char *path, store_error *err);

/* Compares a study's rows in a snapshot with those of study `other` in another SQLite database. Calls `difference`
 * with a line of text for the first difference in each table. */
store_status store_compare(store *snapshot, const char *id, int64_t study, const char *path, int64_t other,
                           store_check_row *difference, void *arg, store_error *err);

/* Uses the checksums to find the first log entry of a study that is missing or was changed after it was written, and
 * calls `problem` with a line about it. Older entries may have no checksum. Adds the number of entries that have one to
 * *checked. last_seq: as read with the study. */
store_status store_check_log(store *s, int64_t study, int64_t last_seq, int64_t *checked,
                             store_check_row *problem, void *arg, store_error *err);

/* Like store_compare, for studies with the same id in any two stores. Compares everything that can be read of them.
 * Either study may be staged. */
store_status store_compare_rows(store *a, const char *id, int64_t study, store *b, int64_t other,
                                store_check_row *difference, void *arg, store_error *err);

/* ---- statistics ---------------------------------------------------------------------------------------- */

typedef struct store_statistics {
    uint64_t commits;         /* transactions so far */
    uint64_t writes;          /* writes in them */
    uint64_t wal_bytes;       /* of the write-ahead log now; 0 without one */
    uint64_t queued_writes;   /* now */
    store_error last_failure; /* of a write; status STORE_OK: none has failed */
    /* Of a database on a server. reconnects: new connections after one was lost. ambiguous_…: commits whose answer was
     * lost, and that turned out to have happened, or not. history_lost: how often the database has lost commits.
     * unreachable_seconds: for how long it has been unreachable now. */
    uint64_t reconnects, ambiguous_happened, ambiguous_lost, history_lost;
    double unreachable_seconds; /* 0: it can be reached */
} store_statistics;

void store_read_statistics(store *s, store_statistics *out);

/* One transaction. */
typedef struct store_commit {
    double seconds;                   /* from its begin until it is on disk */
    size_t writes, failed;            /* neither counts writes refused as existing, missing or too many */
    size_t events[STORE_EVENT_TYPES]; /* of the writes that succeeded */
} store_commit;

/* Calls the observer after each transaction with writes, on the writer thread, before their `done`. Set it before the
 * first write. */
typedef void store_observer(void *arg, const store_commit *commit);
void store_observe(store *s, store_observer *observer, void *arg);

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Sets whether log entries get checksums; by default they do. Call it before the first write. */
void store_set_checksums(store *s, bool on);

/* Called on the writer thread, once per write. It must be short. Of the store's functions it may call only
 * those that submit, abandon or close a lane. `study`: the study's number. `last_seq`: the log position of
 * the write's last event, or of the last event before a write without events. */
typedef void store_done(void *arg, store_status status, int64_t study, int64_t last_seq);

typedef struct store_lane store_lane;

/* A lane for an existing study, or for a new one: then `study` is 0, and the lane belongs to the new study
 * once its first write has succeeded. last_seq: as read with the study. */
store_status store_lane_open(store_lane **out, store *s, int64_t study, int64_t epoch, int64_t last_seq);
void store_lane_close(store_lane *lane); /* after the last `done` of its writes; may be NULL */

/* The log position of the first event of the next write that is submitted through this lane. */
int64_t store_lane_next_seq(const store_lane *lane);

/* A write that is being assembled. The caller owns it until store_submit takes it. A write without events
 * is queued like any other. It fails with STORE_NOT_FOUND if an event names a trial or an upload that does
 * not exist, or whose state does not allow the event, and with STORE_EXISTS if it creates something that
 * exists. */
typedef struct store_write store_write;

store_status store_write_new(store_write **out, store_lane *lane);
store_status store_write_add(store_write *write, const store_event *event); /* copies the event */
size_t store_write_events(const store_write *write);
void store_write_free(store_write *write); /* if not submitted; may be NULL */

/* For a study that is imported in many writes. store_write_stage: the study that this write creates is hidden
 * from readers until a write with store_write_publish is on disk, and the next start removes it unless that has
 * happened. The publishing write fails with STORE_EXISTS if another study has the id by then. */
void store_write_stage(store_write *write);
void store_write_publish(store_write *write);

/* A write that creates a visible study, or publishes one, fails with STORE_TOO_MANY and changes nothing if
 * there are this many studies already. */
void store_write_limit_studies(store_write *write, size_t most);

/* The response to a request with an Idempotency-Key. It is stored together with the request's effects, and kept for at
 * least a day. */
#define STORE_ANSWER_KEPT ((int64_t)24 * 3600 * 1000) /* ms */
typedef struct store_answer {
    const char *token; /* the token that authorized the request; "": none */
    const char *path;  /* has the study's number, so that a later study of the same id has another path */
    const char *key;
    int64_t time;
    unsigned char body_hash[32];
    const unsigned char *response; /* encoded by the caller */
    size_t n_response;
} store_answer;

/* Adds a copy of the answer to the write; at most one per write. The write fails with STORE_EXISTS and changes nothing
 * if an answer less than a day old is stored for the same token, path and key. */
store_status store_write_set_answer(store_write *write, const store_answer *answer);

/* Adds a token, which is copied, or removes the token with that id. A write does at most one of both, and then needs no
 * events. It fails with STORE_NOT_FOUND if there is no such study or token, and with STORE_EXISTS if the id is taken.
 * Deleting a study removes its tokens. */
store_status store_write_put_token(store_write *write, const store_token *token);
store_status store_write_remove_token(store_write *write, const char *id);

/* Sets a setting of the whole server, which replaces an earlier value. Name and value are copied. A write sets at most
 * one, and then needs no events. */
store_status store_write_put_setting(store_write *write, const char *name, const char *value);

/* Takes ownership of the write. `done` is called exactly once, also if the store fails or closes. The writes of a lane
 * are committed in the order of submission. Never blocks on the disk. */
void store_submit(store_write *write, store_done *done, void *arg);

/* Deletes a study. Readers no longer see it. Its pages are freed later in slices, if necessary after a restart. */
void store_submit_delete(store_lane *lane, store_done *done, void *arg);

/* An upload belongs to no study until EVENT_CANDIDATES_SET attaches it; that event is submitted after `done`
 * has said STORE_OK for every block. An upload that is not attached is removed by store_upload_abandon, or at
 * the next start. */
store_status store_upload_begin(store *s, int64_t *content, store_error *err);

/* Queues rows first … first + n − 1 (n x dimension doubles, copied) for writing. Blocks come in order.
 * `done`: as above, with study 0; called on the calling thread if there is no memory for the copy. After a
 * block has failed, later ones fail with STORE_ABORTED. */
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
    const char *after; /* studies with a larger id; NULL: all */
    const char *id;    /* only the study with this id; NULL: all */
    bool by_state;     /* only those in `state` */
    study_state state;
    const char *label, *label_value; /* only those whose definition has this among its labels; NULL: all */
} store_study_filter;

/* Studies that are neither deleted nor staged, by id. Damaged ones are marked. */
store_status store_read_studies(store *s, const store_study_filter *filter, size_t limit,
                                store_study_row *row, void *arg, store_error *err);
store_status store_count_studies(store *s, size_t *n, store_error *err);
store_status store_read_study(store *s, const char *id, store_study_row *row, void *arg, store_error *err);

/* Counts over all studies that are neither deleted nor staged. */
typedef struct store_totals {
    int64_t studies[STUDY_STATES], trials[TRIAL_STATES];
} store_totals;
store_status store_read_totals(store *s, store_totals *out, store_error *err);

/* A staged study, by its number. */
store_status store_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err);

typedef struct store_trial_filter {
    int64_t after; /* trials with a larger number */
    bool told;     /* only trials with results, with told_after < told_seq <= told_through */
    int64_t told_after, told_through;
    uint32_t states;  /* bit 1 << state; 0: all */
    bool failed_arms; /* only trials of candidates that have a failed or infeasible trial; requires `told` and
                         * told_after 0, and ignores states and worker */
    const char *worker; /* NULL: all */
} store_trial_filter;

/* By trial number. */
store_status store_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                               store_trial_row *row, void *arg, store_error *err);
store_status store_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                              store_error *err);
/* Attempts of the trials first … last, by trial and then in the order of the log. */
store_status store_read_attempts(store *s, int64_t study, int64_t first, int64_t last, store_attempt_row *row,
                                 void *arg, store_error *err);
/* The late results of a trial, in the order of the log, with after_seq < told_seq <= through_seq; trial 0: those of all
 * trials. */
typedef void store_late_result_row(void *arg, const store_late_result *result);
store_status store_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                     int64_t through_seq, store_late_result_row *row, void *arg,
                                     store_error *err);
/* Amendments with seq > after_seq, in the order of the log; trial 0: of all trials and imported results. */
typedef void store_amendment_row(void *arg, const store_amendment *amendment);
store_status store_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                   store_amendment_row *row, void *arg, store_error *err);
/* The measurements of a trial, by trial, attempt and step; trial 0: those of all trials. */
typedef void store_measurement_row(void *arg, const store_measurement *measurement);
store_status store_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                     void *arg, store_error *err);
store_status store_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                                void *arg, store_error *err);

/* The values of trials, by trial number: faster than reading whole trials. */
typedef void store_value_row(void *arg, int64_t trial, double value, int64_t told_at);
store_status store_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err);

/* Imported results with after_seq < told_seq <= through_seq, by number, which is the order of the log. */
typedef void store_observation_row(void *arg, const store_imported *observation);
store_status store_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                     store_observation_row *row, void *arg, store_error *err);
/* Imported results with number > after, in the order of their numbers. */
store_status store_read_observation_page(store *s, int64_t study, int64_t after, size_t limit,
                                         store_observation_row *row, void *arg, store_error *err);
/* The amendments of one imported result, in the order of the log. */
store_status store_read_observation_amendments(store *s, int64_t study, int64_t observation,
                                               store_amendment_row *row, void *arg, store_error *err);

/* Reads n rows of raw features (in a space: coded points), from `first` on, into rows (memory of the caller for n x
 * dimension numbers). STORE_NOT_FOUND: some are beyond the last candidate. STORE_CORRUPT: the study's rows have another
 * dimension. */
store_status store_read_candidates(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                   double *rows, store_error *err);

/* Reads the raw features of n candidates that stored rows name, in the order of `indices`, into rows (memory of the
 * caller for n x dimension numbers). STORE_CORRUPT: no such candidate, or another dimension. */
store_status store_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                      size_t dimension, double *rows, store_error *err);

/* The retired candidates, ascending. */
typedef void store_retired_row(void *arg, uint32_t candidate);
store_status store_read_retired(store *s, int64_t study, store_retired_row *row, void *arg, store_error *err);

/* The keys of candidates from `first` on, ascending by candidate. Candidates without a key are left out. */
typedef void store_key_row(void *arg, const store_key *key);
store_status store_read_keys(store *s, int64_t study, int64_t first, size_t limit, store_key_row *row,
                             void *arg, store_error *err);
/* The keys of n candidates, in the order of `indices`. Candidates without a key are left out. */
store_status store_read_keys_at(store *s, int64_t study, const int64_t *indices, size_t n, store_key_row *row,
                                void *arg, store_error *err);
/* The candidate that has the key; −1: none has it. */
store_status store_find_key(store *s, int64_t study, const char *key, int64_t *candidate, store_error *err);

/* The last planned batch, from which an engine is restored. The caller frees it with
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

/* Reads a stored answer. STORE_NOT_FOUND also if it is a day old at `now`. */
typedef void store_answer_row(void *arg, const store_answer *answer);
store_status store_read_answer(store *s, const char *token, const char *path, const char *key, int64_t now,
                               store_answer_row *row, void *arg, store_error *err);

/* Tokens with number > after, in their order. */
typedef void store_token_row(void *arg, const store_token *token);
store_status store_read_tokens(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                               store_error *err);

/* A setting of the whole server. STORE_NOT_FOUND: it has not been set. */
typedef void store_setting_row(void *arg, const char *value);
store_status store_read_setting(store *s, const char *name, store_setting_row *row, void *arg,
                                store_error *err);

/* The log as events, by position. STORE_CORRUPT: one of them cannot be decoded. */
typedef void store_event_row(void *arg, int64_t seq, const store_event *event);
store_status store_read_events(store *s, int64_t study, int64_t after_seq, size_t limit, store_event_row *row,
                               void *arg, store_error *err);
store_status store_read_log(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                            void *arg, store_error *err);

#endif
