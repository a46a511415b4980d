/* Reads of studies, batches, logs, tokens and answers, each in one short transaction. */
#include "server/store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

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
    study.imported = sqlite3_column_int64(row, column++);
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
    connection *c = reader_begin(s, &status, err);
    if (!c)
        return status;
    const char *after = filter->after ? filter->after : "";
    int64_t most = reader_limit(limit), state = (int64_t)filter->state;
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
    return reader_end(s, c, connection_finish(c, statement, err));
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
    connection *c = reader_begin(s, &status, err);
    return c ? reader_end(s, c, count_studies(c, n, err)) : status;
}

store_status sqlite_study_count(store *s, size_t *n, store_error *err)
{
    return count_studies(&sqlite_of(s)->writer, n, err);
}

store_status sqlite_read_totals(store *s, store_totals *out, store_error *err)
{
    store_status status;
    connection *c = reader_begin(s, &status, err);
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
    return reader_end(s, c, connection_finish(c, row, err));
}

store_status sqlite_read_study(store *s, const char *id, store_study_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_STUDY_BY_ID, "t", id);
    bool found = connection_step(c, statement);
    if (found)
        read_study_row(statement, row, arg);
    status = connection_finish(c, statement, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no study '%s'", id);
    return reader_end(s, c, status);
}

store_status sqlite_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_STUDY_STAGED, "i", study);
    bool found = connection_step(c, statement);
    if (found)
        read_study_row(statement, row, arg);
    status = connection_finish(c, statement, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no staged study %lld", (long long)study);
    return reader_end(s, c, status);
}

/* ---- batches and engines ------------------------------------------------------------------------------- */

store_status sqlite_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                                 void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_BATCHES_AFTER, "iii", study, after, reader_limit(limit));
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
    return reader_end(s, c, connection_finish(c, statement, err));
}

/* A copy of a blob column. NULL: out of memory. */
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
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    status = read_engine(c, study, out, err);
    if (!status)
        status = read_sums(c, study, out, err);
    return reader_end(s, c, status);
}

store_status sqlite_read_log(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                             void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_LOG_AFTER, "iii", study, after_seq, reader_limit(limit));
    while (connection_step(c, statement))
        row(arg, sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
            column_text(statement, 2), column_text(statement, 3));
    return reader_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_tokens(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                                store_error *err)
{
    store_status status;
    bool whole = true;
    connection *c = reader_begin(s, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_TOKENS_AFTER, "ii", after, reader_limit(limit));
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
    return reader_end(s, c, status);
}

store_status sqlite_read_answer(store *s, const char *token, const char *path, const char *key, int64_t now,
                                store_answer_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin(s, &status, err);
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
    return reader_end(s, c, status);
}
