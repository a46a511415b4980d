/* The interface that a backend implements, and the parts that all backends share: the writer thread, lanes, and the
 * meaning of events.
 *
 *   lane.c           lanes, writes, uploads: what is submitted
 *   writer.c         the queue and the writer thread
 *   group.c          one transaction for several writes    (calls apply.c and the backend)
 *   apply.c          what each event does to the tables    (calls the backend)
 *   chain.c          checksums of logs: made, and checked
 *   event*.c         events as values and as JSON          (map in event_kinds.h)
 *   arena.c          deep copies
 *   checked_reads.c  reads, and checks of the read values  (calls the backend)
 *   names.c          names, errors, the clock
 *   sql/             shared by the SQL backends            (map in sql/sql.h)
 *   compare.c        compares studies of any two stores
 *   sqlite/          the SQLite backend                    (map in sqlite/sqlite.h)
 *   postgres/        the PostgreSQL backend                (map in postgres/postgres.h)
 *   memory/          the backend in memory                 (map in memory/memory.h)
 *
 * The functions of `store_backend` up to `idle` run on the writer thread only. */
#ifndef SERVER_STORE_BACKEND_H
#define SERVER_STORE_BACKEND_H

#include "server/store/store.h"

#include <pthread.h>
#include <stdatomic.h>

/* Fills *err, which may be NULL. */
void store_error_set(store_error *err, store_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the status as its value. A macro, so that static analyzers see which status it is. */
#define store_fail(err, status, ...) (store_error_set(err, status, __VA_ARGS__), (store_status)(status))

/* STORE_CORRUPT: the rows of the study's candidates do not have this dimension. */
store_status store_fail_dimension(store_error *err, int64_t study, size_t dimension);

/* Seconds on a monotonic clock. */
double store_clock(void);

enum { CHAIN_BYTES = 16 };

/* The checksum of a log entry. It covers the entry and the checksum of the entry before it. */
typedef struct log_chain {
    bool exists; /* entries of older programs have none */
    unsigned char bytes[CHAIN_BYTES];
} log_chain;

/* A study's numbers. They are loaded before its events are applied, and saved after the last event of a write. */
typedef struct study_record {
    int64_t study, epoch, last_seq;
    study_state state;
    int64_t updated_at;
    int64_t trials, by_state[TRIAL_STATES], issued, observations, imported, batches;
    int64_t through_seq, best_trial, best_candidate;
    double best_value, cost;
    int64_t content, candidates, dimension, reference_candidates;
    log_chain chain; /* of the last log entry */
} study_record;

/* The part of a trial that decides which events may follow. */
typedef struct trial_record {
    trial_state state;
    int32_t attempt;
    int64_t candidate;
    bool was_issued, has_value;
} trial_record;

typedef enum store_chore {
    CHORE_NONE,  /* no work is left */
    CHORE_MORE,  /* a slice of work was done, more is left */
    CHORE_FAILED /* try again later */
} store_chore;

/* A log entry as it is stored. n_chain 0: it has no checksum. */
typedef struct chained_entry {
    int64_t seq, time;
    const char *type, *payload;
    const void *chain;
    size_t n_chain;
} chained_entry;
typedef void log_chain_row(void *arg, const chained_entry *entry);

typedef struct store_backend {
    /* Transactions. A failure inside one may end it: in_transaction says whether it is still open. undo
     * undoes everything since mark. commit and rollback end the transaction in any case; rollback undoes all
     * of it if rolls_back is true, and nothing if it is false. */
    bool rolls_back;
    store_status (*begin)(store *s, store_error *err);
    store_status (*commit)(store *s, store_error *err);
    void (*rollback)(store *s);
    bool (*in_transaction)(store *s);
    store_status (*mark)(store *s, store_error *err);
    store_status (*release)(store *s, store_error *err);
    store_status (*undo)(store *s, store_error *err);

    /* Studies. study_load: STORE_NOT_FOUND also for a deleted study. */
    store_status (*study_insert)(store *s, const store_event *created, int64_t epoch, study_record *record,
                                 store_error *err); /* STORE_EXISTS; fills *record, last_seq 0 */
    store_status (*study_count)(store *s, size_t *n, store_error *err); /* neither deleted nor staged */
    store_status (*study_load)(store *s, int64_t study, study_record *record, store_error *err);
    store_status (*study_save)(store *s, const study_record *record, store_error *err);
    store_status (*study_describe)(store *s, const study_record *record, const char *definition,
                                   const char *reason,
                                   store_error *err); /* definition NULL: keeps the stored one */
    store_status (*study_delete)(store *s, int64_t study, store_error *err);
    /* Only load, save and delete see a staged study. study_publish: STORE_EXISTS. */
    store_status (*study_stage)(store *s, int64_t study, store_error *err);
    store_status (*study_publish)(store *s, int64_t study, store_error *err);
    store_status (*log_append)(store *s, int64_t study, int64_t seq, const store_event *event,
                               const char *payload, const log_chain *chain, store_error *err);

    /* Tables of a study. */
    store_status (*content_attach)(store *s, const study_record *record, const store_event *candidates,
                                   store_error *err);
    /* Appends candidates to those of the study. *content is the content of its record. If the study has no candidates
     * yet, it is 0, and becomes the number of a new content. */
    store_status (*content_extend)(store *s, const study_record *record, const store_points *points,
                                   int64_t *content, store_error *err);
    store_status (*candidate_retire)(store *s, int64_t study, uint32_t candidate, store_error *err);
    /* STORE_NOT_FOUND: it is not retired. */
    store_status (*candidate_restore)(store *s, int64_t study, uint32_t candidate, store_error *err);
    store_status (*keys_clear)(store *s, int64_t study, store_error *err);
    /* Replaces an earlier key of the candidate. */
    store_status (*key_put)(store *s, int64_t study, int64_t candidate, const char *key, store_error *err);
    store_status (*batch_insert)(store *s, int64_t study, const store_event *planned, store_error *err);
    store_status (*batch_extend)(store *s, int64_t study, const store_event *extended, store_error *err);
    store_status (*sums_put)(store *s, int64_t study, const store_arm_sum *sums, size_t n, store_error *err);
    /* The trials' numbers are first, first + 1 … */
    store_status (*trials_insert)(store *s, int64_t study, int64_t first, int64_t batch,
                                  const store_pick *picks, size_t n, store_error *err);
    store_status (*trial_load)(store *s, int64_t study, int64_t trial, trial_record *record,
                               store_error *err);
    store_status (*trial_issue)(store *s, int64_t study, int64_t seq, const store_event *issued,
                                store_error *err);
    store_status (*trial_renew)(store *s, int64_t study, const store_event *renewed, store_error *err);
    store_status (*trial_requeue)(store *s, int64_t study, int32_t attempt, const store_event *requeued,
                                  store_error *err);
    store_status (*trial_tell)(store *s, int64_t study, int64_t seq, int32_t attempt, const store_event *told,
                               store_error *err);
    store_status (*late_result_insert)(store *s, int64_t study, int64_t seq, const store_event *late,
                                       store_error *err);
    /* Stores the replaced result as an amendment. */
    store_status (*trial_amend)(store *s, int64_t study, int64_t seq, const store_event *amended,
                                store_error *err);
    /* Replaces an earlier value for the same trial, attempt and step. */
    store_status (*measurement_put)(store *s, int64_t study, const store_event *measured, store_error *err);

    store_status (*observation_insert)(store *s, int64_t study, const store_imported *observation,
                                       store_error *err);
    /* Stores the replaced result as an amendment. The observation exists. */
    store_status (*observation_amend)(store *s, int64_t study, int64_t seq, const store_event *amended,
                                      bool *had_value, store_error *err);

    /* Uploads: blocks of rows come in order, without gaps. STORE_ABORTED: an earlier block is missing. */
    store_status (*content_append)(store *s, int64_t content, int64_t first, size_t n, size_t dimension,
                                   const double *rows, store_error *err);
    store_status (*content_abandon)(store *s, int64_t content, store_error *err);

    /* Comes last in a write. STORE_EXISTS. */
    store_status (*answer_put)(store *s, const store_answer *answer, store_error *err);

    /* Tokens. STORE_EXISTS, STORE_NOT_FOUND. */
    store_status (*token_put)(store *s, const store_token *token, store_error *err);
    store_status (*token_remove)(store *s, const char *id, store_error *err);
    store_status (*setting_put)(store *s, const store_setting *setting, store_error *err);

    /* Inside a transaction: makes its commit write to the disk without changing any data. */
    store_status (*touch)(store *s, store_error *err);

    /* True: the store is full, and only writes that make room are accepted: deletions, no events. NULL: it is never
     * full. */
    bool (*is_full)(store *s);

    /* Called outside transactions. after_commit: makes checkpoints when they are due. chore: does one slice, of about
     * 20 ms at most, of removing deleted studies and abandoned uploads. idle: called after a second without writes. */
    void (*after_commit)(store *s);
    store_chore (*chore)(store *s);
    void (*idle)(store *s);

    /* Called after the writer thread has ended. Frees the store's own memory. */
    void (*close)(store *s);

    /* Any thread. */
    void (*add_statistics)(store *s, store_statistics *out); /* NULL: the backend has none of its own */
    store_status (*read_studies)(store *s, const store_study_filter *filter, size_t limit,
                                 store_study_row *row, void *arg, store_error *err);
    store_status (*count_studies)(store *s, size_t *n, store_error *err);
    store_status (*read_totals)(store *s, store_totals *out, store_error *err); /* adds to *out */
    store_status (*read_staged)(store *s, int64_t study, store_study_row *row, void *arg, store_error *err);
    store_status (*read_study)(store *s, const char *id, store_study_row *row, void *arg, store_error *err);
    store_status (*read_trials)(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                                store_trial_row *row, void *arg, store_error *err);
    store_status (*read_trial)(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                               store_error *err);
    store_status (*read_attempts)(store *s, int64_t study, int64_t first, int64_t last,
                                  store_attempt_row *row, void *arg, store_error *err);
    store_status (*read_late_results)(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                      int64_t through_seq, store_late_result_row *row, void *arg,
                                      store_error *err);
    store_status (*read_amendments)(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                    store_amendment_row *row, void *arg, store_error *err);
    store_status (*read_measurements)(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                      void *arg, store_error *err);
    store_status (*read_batches)(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                                 void *arg, store_error *err);
    store_status (*read_values)(store *s, int64_t study, store_value_row *row, void *arg, store_error *err);
    store_status (*read_observations)(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                      store_observation_row *row, void *arg, store_error *err);
    store_status (*read_observation_page)(store *s, int64_t study, int64_t after, size_t limit,
                                          store_observation_row *row, void *arg, store_error *err);
    store_status (*read_observation_amendments)(store *s, int64_t study, int64_t observation,
                                                store_amendment_row *row, void *arg, store_error *err);
    store_status (*read_candidates)(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                    double *rows, store_error *err);
    store_status (*read_retired)(store *s, int64_t study, store_retired_row *row, void *arg,
                                 store_error *err);
    store_status (*read_keys)(store *s, int64_t study, int64_t first, size_t limit, store_key_row *row,
                              void *arg, store_error *err);
    store_status (*read_keys_at)(store *s, int64_t study, const int64_t *indices, size_t n,
                                 store_key_row *row, void *arg, store_error *err);
    store_status (*find_key)(store *s, int64_t study, const char *key, int64_t *candidate, store_error *err);
    store_status (*read_candidates_at)(store *s, int64_t study, const int64_t *indices, size_t n,
                                       size_t dimension, double *rows, store_error *err);
    store_status (*read_engine_state)(store *s, int64_t study, store_engine_state *out, store_error *err);
    store_status (*read_answer)(store *s, const char *token, const char *path, const char *key, int64_t now,
                                store_answer_row *row, void *arg, store_error *err);
    store_status (*read_tokens)(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                                store_error *err);
    store_status (*read_setting)(store *s, const char *name, store_setting_row *row, void *arg,
                                 store_error *err);
    store_status (*read_log)(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                             void *arg, store_error *err);
    store_status (*read_chain)(store *s, int64_t study, int64_t after_seq, size_t limit, log_chain_row *row,
                               void *arg, store_error *err);
} store_backend;

/* ---- shared by both backends --------------------------------------------------------------------------- */

typedef struct store_op store_op;

typedef struct op_queue {
    store_op *first, **end;
} op_queue;

/* First member of each backend's own struct. */
struct store {
    const store_backend *backend;
    pthread_t thread;
    bool running;
    pthread_mutex_t mutex; /* guards the members below, except observer, no_checksums and the counters */
    pthread_cond_t work;
    op_queue writes, uploads;
    bool closing, stopped;
    bool no_checksums; /* of log entries */
    int64_t next_content;
    store_probe *probes;  /* the probes that wait for an outcome */
    double probing_since; /* of store_clock: when the probe in progress was requested; 0: there is none */
    store_error last_failure;
    store_observer *observer; /* NULL: none */
    void *observer_arg;
    _Atomic uint64_t commits, written, queued;
    _Atomic double
        proved_at; /* of store_clock: when a write last reached the disk; < 0: the last one failed */
    _Atomic bool read_failed; /* the last read failed */
};

/* Starts the writer thread. The backend has filled its own part of *s. On failure the caller still owns the
 * store. */
store_status store_start(store *s, const store_backend *backend, int64_t next_content, store_error *err);

/* The number of a new content; any thread. */
int64_t store_new_content(store *s);

/* Replaces *chain, the checksum of an entry, by the checksum of the next entry. */
void chain_extend(log_chain *chain, int64_t seq, int64_t time, const char *type, const char *payload);

/* Carries out an event: appends it to the log at position record->last_seq + 1, changes the tables, and
 * changes *record, which the caller saves. EVENT_STUDY_CREATED fills *record. Called inside a transaction, on the
 * writer thread. STORE_NOT_FOUND: the event names a study, trial, batch or upload that does not exist, or whose
 * state does not allow the event. STORE_EXISTS: it creates one that exists. */
store_status store_apply(store *s, study_record *record, int64_t epoch, const store_event *event,
                         const char *payload, store_error *err);

#endif
