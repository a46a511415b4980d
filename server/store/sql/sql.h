/* Shared by the SQL backends: the statements, and every write and read that is the same in all of them. Each backend
 * has a driver, which runs statements on its connections.
 *
 *   statements.h    the text of every statement
 *   sql.c           runs statements through the driver
 *   write.c         writes the tables of a study
 *   tokens.c        writes tokens and settings
 *   observations.c  writes and reads imported results
 *   keys.c          writes and reads the keys of candidates
 *   read.c          reads of studies, batches, logs, tokens, settings and answers
 *   read_trials.c   reads of trials and amendments */
#ifndef SERVER_STORE_SQL_SQL_H
#define SERVER_STORE_SQL_SQL_H

#include "server/store/backend.h"
#include "server/store/sql/statements.h"

#include <stdarg.h>

typedef struct sql_connection sql_connection;

/* One thread at a time uses a connection, and at most one statement is in progress on it. */
typedef struct sql_driver {
    /* See sql_start, sql_step … below. */
    void (*start)(sql_connection *c, sql_id id, const char *types, va_list args);
    bool (*step)(sql_connection *c);
    store_status (*finish)(sql_connection *c, store_error *err);
    store_status (*run)(sql_connection *c, store_error *err, sql_id id, const char *types, va_list args);
    store_status (*must_change)(sql_connection *c, store_error *err, store_status status,
                                const char *message);

    /* These read a column of the row. A text is never NULL; a NULL is 0 as an integer. */
    int64_t (*integer)(sql_connection *c, int column);
    double (*number)(sql_connection *c, int column);
    bool (*is_null)(sql_connection *c, int column);
    const char *(*text)(sql_connection *c, int column);
    const void *(*blob)(sql_connection *c, int column, size_t *size);

    /* A connection in a transaction that only reads, and sees the database at one moment. NULL: *status and *err have
     * the reason. end_read returns `status`. */
    sql_connection *(*begin_read)(store *s, store_status *status, store_error *err);
    store_status (*end_read)(store *s, sql_connection *c, store_status status);
} sql_driver;

/* First member of each backend's own struct. */
struct sql_connection {
    const sql_driver *driver;
};

/* First member of each backend's own struct. */
typedef struct sql_store {
    store base;
    const sql_driver *driver;
    sql_connection *writes; /* the only connection that writes */
    bool chores_left;
    unsigned answers_put;
    int64_t answered_at; /* the time of the last answer that was put; 0: none in this run */
} sql_store;

static inline sql_store *sql_of(store *s)
{
    return (sql_store *)s;
}

static inline sql_connection *sql_writer(store *s)
{
    return sql_of(s)->writes;
}

/* The members of a study that reads of candidates need. */
typedef struct reader_study {
    int64_t content, candidates, dimension;
} reader_study;

/* ---- sql.c --------------------------------------------------------------------------------------------- */

/* Starts a statement with the arguments as parameters 1, 2, … `types` has one letter per argument: i int64_t,
 * d double (NaN becomes NULL), t text (NULL stays NULL), b blob (const void *, size_t; NULL becomes an empty one),
 * n blob (NULL stays NULL). They are borrowed until sql_finish. */
void sql_start(sql_connection *c, sql_id id, const char *types, ...);

/* True: there is another row. An error is kept for sql_finish. */
bool sql_step(sql_connection *c);
store_status sql_finish(sql_connection *c, store_error *err);

/* Starts and finishes a statement; its rows are dropped. The writing connection may delay this: to the next statement
 * that has rows, to the end of a mark, or to the commit, which then returns the statement's failure. */
store_status sql_run(sql_connection *c, store_error *err, sql_id id, const char *types, ...);

/* The statement that sql_run ran last fails with this status if it changes no row. */
store_status sql_must_change(sql_connection *c, store_error *err, store_status status, const char *format,
                             ...) __attribute__((format(printf, 4, 5)));

int64_t sql_integer(sql_connection *c, int column);
double sql_number(sql_connection *c, int column); /* NULL becomes 0 */
double sql_real(sql_connection *c, int column);   /* NULL becomes NaN */
bool sql_is_null(sql_connection *c, int column);
const char *sql_text(sql_connection *c, int column); /* NULL becomes "" */
const void *sql_blob(sql_connection *c, int column, size_t *size);

/* A connection in a read transaction, which sql_end_read ends. sql_end_read returns `status`. NULL: *status and *err
 * have the reason. */
sql_connection *sql_begin_read(store *s, store_status *status, store_error *err);
store_status sql_end_read(store *s, sql_connection *c, store_status status);

/* The same, with STORE_NOT_FOUND for a deleted study. `alive` may be NULL. */
sql_connection *sql_begin_study(store *s, int64_t study, reader_study *alive, store_status *status,
                                store_error *err);

/* Tells the probe whether the database answers reads. */
void sql_note_read(store *s, store_status status);

int64_t sql_limit(size_t limit); /* as an integer for SQL */

/* ---- functions of store_backend: write.c, tokens.c, observations.c, keys.c, read.c, read_trials.c ---------------- */

store_status sql_study_load(store *s, int64_t study, study_record *record, store_error *err);
store_status sql_study_save(store *s, const study_record *record, store_error *err);
store_status sql_study_describe(store *s, const study_record *record, const char *definition,
                                const char *reason, store_error *err);
store_status sql_study_delete(store *s, int64_t study, store_error *err);
/* Drops the uploads and staged studies that an earlier server left unfinished. */
store_status sql_drop_staged(store *s, store_error *err);
store_status sql_study_stage(store *s, int64_t study, store_error *err);
store_status sql_study_publish(store *s, int64_t study, store_error *err);
store_status sql_log_append(store *s, int64_t study, int64_t seq, const store_event *event,
                            const char *payload, const log_chain *chain, store_error *err);
store_status sql_content_extend(store *s, const study_record *record, const store_points *points,
                                int64_t *content, store_error *err);
store_status sql_candidate_retire(store *s, int64_t study, uint32_t candidate, store_error *err);
store_status sql_candidate_restore(store *s, int64_t study, uint32_t candidate, store_error *err);
store_status sql_content_attach(store *s, const study_record *record, const store_event *event,
                                store_error *err);
store_status sql_batch_insert(store *s, int64_t study, const store_event *event, store_error *err);
store_status sql_batch_extend(store *s, int64_t study, const store_event *event, store_error *err);
store_status sql_trial_load(store *s, int64_t study, int64_t trial, trial_record *record, store_error *err);
store_status sql_trial_issue(store *s, int64_t study, int64_t seq, const store_event *event,
                             store_error *err);
store_status sql_trial_renew(store *s, int64_t study, const store_event *event, store_error *err);
store_status sql_trial_requeue(store *s, int64_t study, int32_t attempt, const store_event *event,
                               store_error *err);
store_status sql_trial_tell(store *s, int64_t study, int64_t seq, int32_t attempt, const store_event *event,
                            store_error *err);
/* The part of sql_trial_tell that writes the trial's row. */
store_status sql_trial_put_result(store *s, int64_t study, int64_t seq, int32_t attempt,
                                  const store_event *event, store_error *err);
store_status sql_late_result_insert(store *s, int64_t study, int64_t seq, const store_event *event,
                                    store_error *err);
store_status sql_trial_amend(store *s, int64_t study, int64_t seq, const store_event *event,
                             store_error *err);
store_status sql_measurement_put(store *s, int64_t study, const store_event *event, store_error *err);
store_status sql_content_append(store *s, int64_t content, int64_t first, size_t n, size_t dimension,
                                const double *rows, store_error *err);
store_status sql_content_abandon(store *s, int64_t content, store_error *err);
store_status sql_answer_put(store *base, const store_answer *answer, store_error *err);
store_status sql_token_put(store *s, const store_token *token, store_error *err);
store_status sql_token_remove(store *s, const char *id, store_error *err);
store_status sql_setting_put(store *s, const store_setting *setting, store_error *err);
store_status sql_study_count(store *s, size_t *n, store_error *err);
store_status sql_read_studies(store *s, const store_study_filter *filter, size_t limit, store_study_row *row,
                              void *arg, store_error *err);
store_status sql_count_studies(store *s, size_t *n, store_error *err);
store_status sql_read_totals(store *s, store_totals *out, store_error *err);
store_status sql_read_study(store *s, const char *id, store_study_row *row, void *arg, store_error *err);
store_status sql_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err);
store_status sql_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                              void *arg, store_error *err);
store_status sql_read_engine_state(store *s, int64_t study, store_engine_state *out, store_error *err);
store_status sql_read_answer(store *s, const char *token, const char *path, const char *key, int64_t now,
                             store_answer_row *row, void *arg, store_error *err);
store_status sql_read_setting(store *s, const char *name, store_setting_row *row, void *arg,
                              store_error *err);
store_status sql_read_tokens(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                             store_error *err);
store_status sql_read_log(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                          void *arg, store_error *err);
store_status sql_read_chain(store *s, int64_t study, int64_t after_seq, size_t limit, log_chain_row *row,
                            void *arg, store_error *err);
store_status sql_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                             store_trial_row *row, void *arg, store_error *err);
store_status sql_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                            store_error *err);
store_status sql_read_attempts(store *s, int64_t study, int64_t first, int64_t last, store_attempt_row *row,
                               void *arg, store_error *err);
store_status sql_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                   int64_t through_seq, store_late_result_row *row, void *arg,
                                   store_error *err);
store_status sql_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                 store_amendment_row *row, void *arg, store_error *err);
store_status sql_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                   void *arg, store_error *err);
store_status sql_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err);
store_status sql_read_observation_amendments(store *s, int64_t study, int64_t observation,
                                             store_amendment_row *row, void *arg, store_error *err);
store_status sql_observation_insert(store *s, int64_t study, const store_imported *observation,
                                    store_error *err);
store_status sql_observation_amend(store *s, int64_t study, int64_t seq, const store_event *event,
                                   bool *had_value, store_error *err);
store_status sql_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                   store_observation_row *row, void *arg, store_error *err);
store_status sql_read_observation_page(store *s, int64_t study, int64_t after, size_t limit,
                                       store_observation_row *row, void *arg, store_error *err);
store_status sql_keys_clear(store *s, int64_t study, store_error *err);
store_status sql_key_put(store *s, int64_t study, int64_t candidate, const char *key, store_error *err);
store_status sql_read_keys(store *s, int64_t study, int64_t first, size_t limit, store_key_row *row,
                           void *arg, store_error *err);
store_status sql_read_keys_at(store *s, int64_t study, const int64_t *indices, size_t n, store_key_row *row,
                              void *arg, store_error *err);
store_status sql_find_key(store *s, int64_t study, const char *key, int64_t *candidate, store_error *err);
store_status sql_read_retired(store *s, int64_t study, store_retired_row *row, void *arg, store_error *err);

/* The functions that are the same in every SQL backend, for the initializer of its store_backend. */
#define SQL_BACKEND                                                                                          \
    .study_count = sql_study_count, .study_describe = sql_study_describe, .study_stage = sql_study_stage,    \
    .study_publish = sql_study_publish, .log_append = sql_log_append, .content_attach = sql_content_attach,  \
    .content_extend = sql_content_extend, .candidate_retire = sql_candidate_retire,                          \
    .candidate_restore = sql_candidate_restore, .keys_clear = sql_keys_clear, .key_put = sql_key_put,        \
    .batch_insert = sql_batch_insert, .batch_extend = sql_batch_extend, .trial_renew = sql_trial_renew,      \
    .late_result_insert = sql_late_result_insert, .measurement_put = sql_measurement_put,                    \
    .observation_insert = sql_observation_insert, .observation_amend = sql_observation_amend,                \
    .content_append = sql_content_append, .content_abandon = sql_content_abandon,                            \
    .answer_put = sql_answer_put, .token_put = sql_token_put, .token_remove = sql_token_remove,              \
    .read_studies = sql_read_studies, .count_studies = sql_count_studies, .read_totals = sql_read_totals,    \
    .read_study = sql_read_study, .read_staged = sql_read_staged, .read_trials = sql_read_trials,            \
    .read_trial = sql_read_trial, .read_attempts = sql_read_attempts,                                        \
    .read_late_results = sql_read_late_results, .read_amendments = sql_read_amendments,                      \
    .read_measurements = sql_read_measurements, .read_batches = sql_read_batches,                            \
    .read_values = sql_read_values, .read_observations = sql_read_observations,                              \
    .read_observation_page = sql_read_observation_page,                                                      \
    .read_observation_amendments = sql_read_observation_amendments, .read_retired = sql_read_retired,        \
    .read_keys = sql_read_keys, .read_keys_at = sql_read_keys_at, .find_key = sql_find_key,                  \
    .read_engine_state = sql_read_engine_state, .read_answer = sql_read_answer,                              \
    .setting_put = sql_setting_put, .read_setting = sql_read_setting, .read_tokens = sql_read_tokens,        \
    .read_log = sql_read_log, .read_chain = sql_read_chain

/* The tables with rows of a study, in the order in which the rows of a deleted study are removed. */
#define SQL_STUDY_SLICES                                                                                     \
    SQL_SLICE_LOG, SQL_SLICE_ATTEMPTS, SQL_SLICE_LATE, SQL_SLICE_AMENDMENTS, SQL_SLICE_MEASUREMENTS,         \
        SQL_SLICE_TRIALS, SQL_SLICE_OBSERVATIONS, SQL_SLICE_SUMS, SQL_SLICE_RETIRED, SQL_SLICE_KEYS,         \
        SQL_SLICE_ENGINE, SQL_SLICE_BATCHES

#endif
