/* Reads: each in one short read transaction on a connection of the pool. */
#include "server/store/sqlite.h"

#include <stdlib.h>
#include <string.h>

/* ---- the pool ------------------------------------------------------------------------------------------ */

/* Never waits for a connection: a row's callback may read from the store again. NULL with *status and *err
 * when none can be opened. */
static connection *pool_take(sqlite_store *s, store_status *status, store_error *err)
{
    pthread_mutex_lock(&s->pool_mutex);
    connection *c = s->idle_readers;
    if (c) {
        s->idle_readers = c->next;
        s->n_idle_readers--;
    }
    pthread_mutex_unlock(&s->pool_mutex);
    *status = STORE_OK;
    if (c)
        return c;
    c = malloc(sizeof *c);
    if (!c) {
        *status = store_fail(err, STORE_NO_MEMORY, "out of memory");
        return NULL;
    }
    *status = sqlite_open_reader(c, s->path, err);
    if (*status) {
        connection_close(c);
        free(c);
        return NULL;
    }
    return c;
}

static void pool_return(sqlite_store *s, connection *c)
{
    pthread_mutex_lock(&s->pool_mutex);
    bool kept = s->n_idle_readers < sqlite_idle_readers;
    if (kept) {
        c->next = s->idle_readers;
        s->idle_readers = c;
        s->n_idle_readers++;
    }
    pthread_mutex_unlock(&s->pool_mutex);
    if (!kept) {
        connection_close(c);
        free(c);
    }
}

void sqlite_close_readers(sqlite_store *s)
{
    while (s->idle_readers) {
        connection *c = s->idle_readers;
        s->idle_readers = c->next;
        connection_close(c);
        free(c);
    }
}

/* A connection in a read transaction; NULL with *status and *err on failure. Ended by read_end. */
static connection *read_begin(store *base, store_status *status, store_error *err)
{
    sqlite_store *s = sqlite_of(base);
    *status = STORE_OK;
    if (s->snapshot)
        return &s->writer; /* its transaction is open */
    connection *c = pool_take(s, status, err);
    if (!c)
        return NULL;
    *status = connection_run(c, err, SQL_BEGIN, "");
    if (*status) {
        pool_return(s, c);
        return NULL;
    }
    return c;
}

static store_status read_end(store *base, connection *c, store_status status)
{
    if (sqlite_of(base)->snapshot)
        return status;
    connection_run(c, NULL, SQL_COMMIT, ""); /* nothing was written: it only lets the snapshot go */
    pool_return(sqlite_of(base), c);
    return status;
}

typedef struct living {
    int64_t content, candidates, dimension;
} living;

/* As read_begin, for a study that must be alive. *alive may be NULL. */
static connection *read_begin_study(store *base, int64_t study, living *alive, store_status *status,
                                    store_error *err)
{
    connection *c = read_begin(base, status, err);
    if (!c)
        return NULL;
    sqlite3_stmt *row = connection_bind(c, SQL_STUDY_ALIVE, "i", study);
    bool found = connection_step(c, row);
    if (found && alive)
        *alive = (living){.content = sqlite3_column_int64(row, 0),
                          .candidates = sqlite3_column_int64(row, 1),
                          .dimension = sqlite3_column_int64(row, 2)};
    *status = connection_finish(c, row, err);
    if (!*status && !found)
        *status = store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)study);
    if (*status) {
        read_end(base, c, *status);
        return NULL;
    }
    return c;
}

static int64_t limit_of(size_t limit)
{
    return limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
}

/* ---- studies ------------------------------------------------------------------------------------------- */

/* Columns as in STUDY_COLUMNS. */
static void read_study_row(sqlite3_stmt *row, store_study_row *callback, void *arg)
{
    int column = 0;
    store_study study = {0};
    study.study = sqlite3_column_int64(row, column++);
    study.id = column_text(row, column++);
    study.definition = column_text(row, column++);
    study.state = (study_state)sqlite3_column_int(row, column++);
    study.state_reason = column_text(row, column++);
    study.epoch = sqlite3_column_int64(row, column++);
    study.created_at = sqlite3_column_int64(row, column++);
    study.updated_at = sqlite3_column_int64(row, column++);
    study.last_seq = sqlite3_column_int64(row, column++);
    study.trials = sqlite3_column_int64(row, column++);
    for (int state = 0; state < TRIAL_STATES; state++)
        study.by_state[state] = sqlite3_column_int64(row, column++);
    study.issued = sqlite3_column_int64(row, column++);
    study.observations = sqlite3_column_int64(row, column++);
    study.batches = sqlite3_column_int64(row, column++);
    study.through_seq = sqlite3_column_int64(row, column++);
    study.best_trial = sqlite3_column_int64(row, column++);
    study.best_candidate = sqlite3_column_int64(row, column++);
    study.best_value = sqlite3_column_double(row, column++);
    study.candidates = sqlite3_column_int64(row, column++);
    study.dimension = sqlite3_column_int64(row, column++);
    study.reference_candidates = sqlite3_column_int64(row, column++);
    study.digest = column_text(row, column++);
    callback(arg, &study);
}

store_status sqlite_read_studies(store *s, const store_study_filter *filter, size_t limit,
                                 store_study_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin(s, &status, err);
    if (!c)
        return status;
    const char *after = filter->after ? filter->after : "";
    int64_t most = limit_of(limit), state = (int64_t)filter->state;
    sqlite3_stmt *statement;
    if (filter->id)
        statement =
            connection_bind(c, SQL_STUDIES_OF_ID, "tiittt", after, most, filter->by_state ? state : -1,
                            filter->label, filter->label_value, filter->id);
    else if (filter->label && filter->by_state)
        statement = connection_bind(c, SQL_STUDIES_OF_STATE_LABELLED, "tiitt", after, most, state,
                                    filter->label, filter->label_value);
    else if (filter->label)
        statement =
            connection_bind(c, SQL_STUDIES_LABELLED, "titt", after, most, filter->label, filter->label_value);
    else if (filter->by_state)
        statement = connection_bind(c, SQL_STUDIES_OF_STATE, "tii", after, most, state);
    else
        statement = connection_bind(c, SQL_STUDIES, "ti", after, most);
    while (connection_step(c, statement))
        read_study_row(statement, row, arg);
    return read_end(s, c, connection_finish(c, statement, err));
}

static store_status count_studies(connection *c, size_t *n, store_error *err)
{
    sqlite3_stmt *statement = connection_bind(c, SQL_STUDIES_COUNT, "");
    if (connection_step(c, statement))
        *n = (size_t)sqlite3_column_int64(statement, 0);
    return connection_finish(c, statement, err);
}

store_status sqlite_count_studies(store *s, size_t *n, store_error *err)
{
    store_status status;
    connection *c = read_begin(s, &status, err);
    return c ? read_end(s, c, count_studies(c, n, err)) : status;
}

store_status sqlite_study_count(store *s, size_t *n, store_error *err)
{
    return count_studies(&sqlite_of(s)->writer, n, err);
}

store_status sqlite_read_totals(store *s, store_totals *out, store_error *err)
{
    store_status status;
    connection *c = read_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *row = connection_bind(c, SQL_TOTALS, "");
    while (connection_step(c, row)) {
        int state = sqlite3_column_int(row, 0);
        if (state >= 0 && state < STUDY_STATES)
            out->studies[state] = sqlite3_column_int64(row, 1);
        for (int i = 0; i < TRIAL_STATES; i++)
            out->trials[i] += sqlite3_column_int64(row, 2 + i);
    }
    return read_end(s, c, connection_finish(c, row, err));
}

store_status sqlite_read_study(store *s, const char *id, store_study_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_STUDY_BY_ID, "t", id);
    bool found = connection_step(c, statement);
    if (found)
        read_study_row(statement, row, arg);
    status = connection_finish(c, statement, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no study '%s'", id);
    return read_end(s, c, status);
}

store_status sqlite_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_STUDY_STAGED, "i", study);
    bool found = connection_step(c, statement);
    if (found)
        read_study_row(statement, row, arg);
    status = connection_finish(c, statement, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no staged study %lld", (long long)study);
    return read_end(s, c, status);
}

/* ---- trials -------------------------------------------------------------------------------------------- */

/* Columns as in TRIAL_COLUMNS. */
static void read_trial_row(sqlite3_stmt *row, store_trial_row *callback, void *arg)
{
    store_trial trial = {
        .trial = sqlite3_column_int64(row, 0),
        .state = (trial_state)sqlite3_column_int(row, 1),
        .attempt = sqlite3_column_int(row, 2),
        .batch = sqlite3_column_int64(row, 3),
        .candidate = sqlite3_column_int64(row, 4),
        .variance = column_real(row, 5),
        .worker = column_text(row, 6),
        .issued_at = sqlite3_column_int64(row, 7),
        .lease_expires_at = sqlite3_column_int64(row, 8),
        .has_value = sqlite3_column_type(row, 9) != SQLITE_NULL,
        .value = sqlite3_column_double(row, 9),
        .reason = column_text(row, 10),
        .told_at = sqlite3_column_int64(row, 11),
        .told_seq = sqlite3_column_int64(row, 12),
        .repeats = sqlite3_column_int64(row, 13),
        .recorded = column_text(row, 14),
        .metadata = column_text(row, 15),
    };
    callback(arg, &trial);
}

store_status sqlite_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                                store_trial_row *row, void *arg, store_error *err)
{
    const uint32_t open_states = 1u << TRIAL_QUEUED | 1u << TRIAL_PENDING;
    uint32_t states = filter->states ? filter->states : UINT32_MAX;
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement;
    if (filter->told && filter->failed_arms)
        statement = connection_bind(c, SQL_TRIALS_FAILED_ARMS, "iiii", study, filter->after, limit_of(limit),
                                    filter->told_through);
    else if (filter->told)
        statement =
            connection_bind(c, SQL_TRIALS_TOLD, "iiitiii", study, filter->after, (int64_t)states,
                            filter->worker, limit_of(limit), filter->told_after, filter->told_through);
    else
        statement = connection_bind(c, (states & ~open_states) ? SQL_TRIALS : SQL_TRIALS_OPEN, "iiiti", study,
                                    filter->after, (int64_t)states, filter->worker, limit_of(limit));
    while (connection_step(c, statement))
        read_trial_row(statement, row, arg);
    return read_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                               store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_TRIAL, "ii", study, trial);
    bool found = connection_step(c, statement);
    if (found)
        read_trial_row(statement, row, arg);
    status = connection_finish(c, statement, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld", (long long)study,
                            (long long)trial);
    return read_end(s, c, status);
}

store_status sqlite_read_attempts(store *s, int64_t study, int64_t trial, store_attempt_row *row, void *arg,
                                  store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_ATTEMPTS, "ii", study, trial);
    while (connection_step(c, statement)) {
        store_attempt attempt = {
            .attempt = sqlite3_column_int(statement, 0),
            .worker = column_text(statement, 1),
            .issued_at = sqlite3_column_int64(statement, 2),
            .lease_expires_at = sqlite3_column_int64(statement, 3),
            .ended_at = sqlite3_column_int64(statement, 4),
            .outcome = column_text(statement, 5),
        };
        row(arg, &attempt);
    }
    return read_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_VALUES, "i", study);
    while (connection_step(c, statement))
        row(arg, sqlite3_column_int64(statement, 0), sqlite3_column_double(statement, 1),
            sqlite3_column_int64(statement, 2));
    return read_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                      int64_t through_seq, store_late_result_row *row, void *arg,
                                      store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement =
        trial ? connection_bind(c, SQL_LATE_OF_TRIAL, "iiii", study, trial, after_seq, through_seq)
              : connection_bind(c, SQL_LATE, "iii", study, after_seq, through_seq);
    while (connection_step(c, statement)) {
        store_late_result result = {
            .trial = sqlite3_column_int64(statement, 0),
            .candidate = sqlite3_column_int64(statement, 1),
            .attempt = sqlite3_column_int(statement, 2),
            .value = sqlite3_column_double(statement, 3),
            .repeats = sqlite3_column_int64(statement, 4),
            .recorded = column_text(statement, 5),
            .metadata = column_text(statement, 6),
            .told_at = sqlite3_column_int64(statement, 7),
            .told_seq = sqlite3_column_int64(statement, 8),
        };
        row(arg, &result);
    }
    return read_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                    store_amendment_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement =
        trial ? connection_bind(c, SQL_AMENDMENTS_OF_TRIAL, "iii", study, trial, after_seq)
              : connection_bind(c, SQL_AMENDMENTS, "ii", study, after_seq);
    while (connection_step(c, statement)) {
        store_amendment amendment = {
            .trial = sqlite3_column_int64(statement, 0),
            .seq = sqlite3_column_int64(statement, 1),
            .amended_at = sqlite3_column_int64(statement, 2),
            .reason = column_text(statement, 3),
            .was = (trial_state)sqlite3_column_int(statement, 4),
            .had_value = sqlite3_column_type(statement, 5) != SQLITE_NULL,
            .value = sqlite3_column_double(statement, 5),
            .repeats = sqlite3_column_int64(statement, 6),
            .recorded = column_text(statement, 7),
            .was_reason = column_text(statement, 8),
        };
        row(arg, &amendment);
    }
    return read_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                      void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = trial ? connection_bind(c, SQL_MEASUREMENTS_OF_TRIAL, "ii", study, trial)
                                    : connection_bind(c, SQL_MEASUREMENTS, "i", study);
    while (connection_step(c, statement)) {
        store_measurement measurement = {
            .trial = sqlite3_column_int64(statement, 0),
            .attempt = sqlite3_column_int(statement, 1),
            .step = sqlite3_column_int64(statement, 2),
            .value = sqlite3_column_double(statement, 3),
            .time = sqlite3_column_int64(statement, 4),
        };
        row(arg, &measurement);
    }
    return read_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                      store_observation_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_OBSERVATIONS, "iii", study, after_seq, through_seq);
    while (connection_step(c, statement)) {
        store_observation observation = {
            .candidate = (uint32_t)sqlite3_column_int64(statement, 1),
            .repeats = sqlite3_column_int64(statement, 2),
            .value = sqlite3_column_double(statement, 3),
        };
        row(arg, sqlite3_column_int64(statement, 0), &observation);
    }
    return read_end(s, c, connection_finish(c, statement, err));
}

/* ---- batches and engines ------------------------------------------------------------------------------- */

store_status sqlite_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                                 void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_BATCHES_AFTER, "iii", study, after, limit_of(limit));
    while (connection_step(c, statement)) {
        store_batch batch = {
            .batch = sqlite3_column_int64(statement, 0),
            .size = sqlite3_column_int64(statement, 1),
            .ratio = column_real(statement, 2),
            .stop_rule = column_text(statement, 3),
            .beta = column_real(statement, 4),
            .dictionary_size = sqlite3_column_int64(statement, 5),
            .observations = sqlite3_column_int64(statement, 6),
            .update_seconds = column_real(statement, 7),
            .select_seconds = column_real(statement, 8),
            .started_at = sqlite3_column_int64(statement, 9),
            .code_path = column_text(statement, 10),
            .through_seq = sqlite3_column_int64(statement, 11),
        };
        row(arg, &batch);
    }
    return read_end(s, c, connection_finish(c, statement, err));
}

/* A copy of a blob column; NULL when out of memory. */
static void *copy_blob(sqlite3_stmt *row, int column, size_t *size)
{
    const void *blob = sqlite3_column_blob(row, column);
    *size = (size_t)sqlite3_column_bytes(row, column);
    void *copy = malloc(*size + 1);
    if (copy && *size > 0)
        memcpy(copy, blob, *size);
    return copy;
}

static store_status read_engine(connection *c, int64_t study, store_engine_state *out, store_error *err)
{
    sqlite3_stmt *row = connection_bind(c, SQL_ENGINE, "i", study);
    bool found = connection_step(c, row);
    if (found) {
        size_t size;
        out->batch = sqlite3_column_int64(row, 0);
        out->through_seq = sqlite3_column_int64(row, 1);
        strncpy(out->code_path, column_text(row, 2), sizeof out->code_path - 1);
        out->dictionary = copy_blob(row, 3, &size);
        out->n_dictionary = size / sizeof *out->dictionary;
        out->state = copy_blob(row, 4, &out->n_state);
    }
    store_status status = connection_finish(c, row, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "study %lld has no batch yet", (long long)study);
    if (!status && (!out->dictionary || !out->state))
        status = store_fail(err, STORE_NO_MEMORY, "out of memory");
    return status;
}

static store_status read_sums(connection *c, int64_t study, store_engine_state *out, store_error *err)
{
    size_t n = 0;
    sqlite3_stmt *row = connection_bind(c, SQL_SUMS_COUNT, "i", study);
    if (connection_step(c, row))
        n = (size_t)sqlite3_column_int64(row, 0);
    store_status status = connection_finish(c, row, err);
    if (status)
        return status;
    out->sums = malloc((n + 1) * sizeof *out->sums);
    if (!out->sums)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    row = connection_bind(c, SQL_SUMS, "i", study);
    while (out->n_sums < n && connection_step(c, row)) {
        store_arm_sum *sum = &out->sums[out->n_sums++];
        int64_t bits = sqlite3_column_int64(row, 2);
        sum->arm = (uint32_t)sqlite3_column_int64(row, 0);
        sum->count = (uint64_t)sqlite3_column_int64(row, 1);
        memcpy(&sum->sum, &bits, sizeof bits);
    }
    return connection_finish(c, row, err);
}

store_status sqlite_read_engine_state(store *s, int64_t study, store_engine_state *out, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    status = read_engine(c, study, out, err);
    if (!status)
        status = read_sums(c, study, out, err);
    return read_end(s, c, status);
}

store_status sqlite_read_log(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                             void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_LOG_AFTER, "iii", study, after_seq, limit_of(limit));
    while (connection_step(c, statement))
        row(arg, sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
            column_text(statement, 2), column_text(statement, 3));
    return read_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_tokens(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                                store_error *err)
{
    store_status status;
    bool whole = true;
    connection *c = read_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_TOKENS_AFTER, "ii", after, limit_of(limit));
    while (connection_step(c, statement)) {
        store_token token = {.number = sqlite3_column_int64(statement, 0),
                             .id = column_text(statement, 1),
                             .role = column_text(statement, 3),
                             .study = column_text(statement, 4),
                             .description = column_text(statement, 5),
                             .created_at = sqlite3_column_int64(statement, 6),
                             .expires_at = sqlite3_column_int64(statement, 7)};
        whole = whole && sqlite3_column_bytes(statement, 2) == (int)sizeof token.hash;
        if (whole) {
            memcpy(token.hash, sqlite3_column_blob(statement, 2), sizeof token.hash);
            row(arg, &token);
        }
    }
    status = connection_finish(c, statement, err);
    if (!status && !whole)
        status = store_fail(err, STORE_CORRUPT, "a token's hash is damaged");
    return read_end(s, c, status);
}

store_status sqlite_read_answer(store *s, const char *token, const char *path, const char *key, int64_t now,
                                store_answer_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement =
        connection_bind(c, SQL_ANSWER, "ttti", token, path, key, now - STORE_ANSWER_KEPT);
    bool found = connection_step(c, statement);
    bool whole = found && sqlite3_column_bytes(statement, 1) == (int)sizeof((store_answer *)0)->body_hash;
    if (whole) {
        store_answer answer = {
            .token = token, .path = path, .key = key, .time = sqlite3_column_int64(statement, 0)};
        memcpy(answer.body_hash, sqlite3_column_blob(statement, 1), sizeof answer.body_hash);
        answer.response = sqlite3_column_blob(statement, 2);
        answer.n_response = (size_t)sqlite3_column_bytes(statement, 2);
        row(arg, &answer);
    }
    status = connection_finish(c, statement, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "no answer is stored for key '%s'", key);
    else if (!status && !whole)
        status = store_fail(err, STORE_CORRUPT, "the answer stored for key '%s' is damaged", key);
    return read_end(s, c, status);
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

/* The part of rows first … end−1 that lies in the block, straight from its pages to the caller's rows. */
static store_status read_block(connection *c, sqlite3_blob **blob, sqlite3_stmt *row, size_t width,
                               int64_t first, int64_t end, double *rows, int64_t *next)
{
    int64_t block = sqlite3_column_int64(row, 0), start = sqlite3_column_int64(row, 1);
    int64_t stop = start + sqlite3_column_int64(row, 2);
    int64_t from = start > first ? start : first, to = stop < end ? stop : end;
    if (*blob)
        c->error = sqlite3_blob_reopen(*blob, block);
    else
        c->error = sqlite3_blob_open(c->db, "main", "candidate_blocks", "rows", block, 0, blob);
    if (c->error || start > *next || to <= from ||
        (int64_t)sqlite3_blob_bytes(*blob) != (stop - start) * (int64_t)width)
        return c->error ? STORE_IO : STORE_CORRUPT;
    c->error = sqlite3_blob_read(*blob, (char *)rows + (size_t)(from - first) * width,
                                 (int)((to - from) * (int64_t)width), (int)((from - start) * (int64_t)width));
    *next = to;
    return c->error ? STORE_IO : STORE_OK;
}

/* Rows first … first + n − 1, within an open read of a study that has them. */
static store_status read_rows(connection *c, sqlite3_blob **blob, const living *alive, int64_t study,
                              int64_t first, size_t n, double *rows, store_error *err)
{
    store_status status = STORE_OK;
    int64_t end = first + (int64_t)n, next = first;
    if (first < 0 || first > alive->candidates || n > (size_t)(alive->candidates - first))
        return store_fail(err, STORE_NOT_FOUND, "study %lld has %lld candidates", (long long)study,
                          (long long)alive->candidates);
    sqlite3_stmt *row = connection_bind(c, SQL_BLOCKS, "iii", alive->content, first, end);
    while (!status && next < end && connection_step(c, row))
        status = read_block(c, blob, row, (size_t)alive->dimension * sizeof *rows, first, end, rows, &next);
    if (c->error)
        status = connection_finish(c, row, err);
    else if (status || next != end)
        status = store_fail(err, STORE_CORRUPT, "candidates %lld … of study %lld are damaged",
                            (long long)next, (long long)study);
    sqlite3_reset(row);
    return status;
}

store_status sqlite_read_candidates(store *s, int64_t study, int64_t first, size_t n, double *rows,
                                    store_error *err)
{
    store_status status;
    living alive = {0};
    sqlite3_blob *blob = NULL;
    connection *c = read_begin_study(s, study, &alive, &status, err);
    if (!c)
        return status;
    status = read_rows(c, &blob, &alive, study, first, n, rows, err);
    sqlite3_blob_close(blob);
    return read_end(s, c, status);
}

store_status sqlite_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                       double *rows, store_error *err)
{
    store_status status;
    living alive = {0};
    sqlite3_blob *blob = NULL;
    connection *c = read_begin_study(s, study, &alive, &status, err);
    if (!c)
        return status;
    for (size_t i = 0; !status && i < n; i++)
        status = read_rows(c, &blob, &alive, study, indices[i], 1, rows + i * (size_t)alive.dimension, err);
    sqlite3_blob_close(blob);
    return read_end(s, c, status);
}

store_status sqlite_read_retired(store *s, int64_t study, store_retired_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = read_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_RETIRED, "i", study);
    while (connection_step(c, statement))
        row(arg, (uint32_t)sqlite3_column_int64(statement, 0));
    return read_end(s, c, connection_finish(c, statement, err));
}
