/* Reads of studies, batches, logs, tokens, settings and answers, each in one short transaction. */
#include "server/store/sql/sql.h"

#include <stdlib.h>
#include <string.h>

/* ---- studies ------------------------------------------------------------------------------------------- */

/* Columns as in STUDY_COLUMNS. */
static void read_study_row(sql_connection *c, store_study_row *callback, void *arg)
{
    int column = 0;
    store_study study = {0};
    study.study = sql_integer(c, column++);
    study.id = sql_text(c, column++);
    study.definition = sql_text(c, column++);
    study.state = (study_state)sql_integer(c, column++);
    study.state_reason = sql_text(c, column++);
    study.epoch = sql_integer(c, column++);
    study.created_at = sql_integer(c, column++);
    study.updated_at = sql_integer(c, column++);
    study.last_seq = sql_integer(c, column++);
    study.trials = sql_integer(c, column++);
    for (int state = 0; state < TRIAL_STATES; state++)
        study.by_state[state] = sql_integer(c, column++);
    study.issued = sql_integer(c, column++);
    study.observations = sql_integer(c, column++);
    study.imported = sql_integer(c, column++);
    study.batches = sql_integer(c, column++);
    study.through_seq = sql_integer(c, column++);
    study.best_trial = sql_integer(c, column++);
    study.best_candidate = sql_integer(c, column++);
    study.best_value = sql_number(c, column++);
    study.candidates = sql_integer(c, column++);
    study.dimension = sql_integer(c, column++);
    study.reference_candidates = sql_integer(c, column++);
    study.digest = sql_text(c, column++);
    study.advice = sql_text(c, column++);
    study.cost = sql_number(c, column++);
    study.has_keys = sql_integer(c, column++) != 0;
    callback(arg, &study);
}

store_status sql_read_studies(store *s, const store_study_filter *filter, size_t limit, store_study_row *row,
                              void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_read(s, &status, err);
    if (!c)
        return status;
    const char *after = filter->after ? filter->after : "";
    int64_t most = sql_limit(limit), state = (int64_t)filter->state;
    if (filter->id)
        sql_start(c, SQL_STUDIES_OF_ID, "tiittt", after, most, filter->by_state ? state : -1, filter->label,
                  filter->label_value, filter->id);
    else if (filter->label && filter->by_state)
        sql_start(c, SQL_STUDIES_OF_STATE_LABELLED, "tiitt", after, most, state, filter->label,
                  filter->label_value);
    else if (filter->label)
        sql_start(c, SQL_STUDIES_LABELLED, "titt", after, most, filter->label, filter->label_value);
    else if (filter->by_state)
        sql_start(c, SQL_STUDIES_OF_STATE, "tii", after, most, state);
    else
        sql_start(c, SQL_STUDIES, "ti", after, most);
    while (sql_step(c))
        read_study_row(c, row, arg);
    return sql_end_read(s, c, sql_finish(c, err));
}

static store_status count_studies(sql_connection *c, size_t *n, store_error *err)
{
    sql_start(c, SQL_STUDIES_COUNT, "");
    if (sql_step(c))
        *n = (size_t)sql_integer(c, 0);
    return sql_finish(c, err);
}

store_status sql_count_studies(store *s, size_t *n, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_read(s, &status, err);
    return c ? sql_end_read(s, c, count_studies(c, n, err)) : status;
}

store_status sql_study_count(store *s, size_t *n, store_error *err)
{
    return count_studies(sql_writer(s), n, err);
}

store_status sql_read_totals(store *s, store_totals *out, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_read(s, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_TOTALS, "");
    while (sql_step(c)) {
        int state = (int32_t)sql_integer(c, 0);
        if (state >= 0 && state < STUDY_STATES)
            out->studies[state] = sql_integer(c, 1);
        for (int i = 0; i < TRIAL_STATES; i++)
            out->trials[i] += sql_integer(c, 2 + i);
    }
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_study(store *s, const char *id, store_study_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_read(s, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_STUDY_BY_ID, "t", id);
    bool found = sql_step(c);
    if (found)
        read_study_row(c, row, arg);
    status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no study '%s'", id);
    return sql_end_read(s, c, status);
}

store_status sql_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_read(s, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_STUDY_STAGED, "i", study);
    bool found = sql_step(c);
    if (found)
        read_study_row(c, row, arg);
    status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no staged study %lld", (long long)study);
    return sql_end_read(s, c, status);
}

/* ---- batches and engines ------------------------------------------------------------------------------- */

store_status sql_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                              void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_BATCHES_AFTER, "iii", study, after, sql_limit(limit));
    while (sql_step(c)) {
        store_batch batch = {
            .batch = sql_integer(c, 0),
            .size = sql_integer(c, 1),
            .ratio = sql_real(c, 2),
            .stop_rule = sql_text(c, 3),
            .beta = sql_real(c, 4),
            .dictionary_size = sql_integer(c, 5),
            .observations = sql_integer(c, 6),
            .update_seconds = sql_real(c, 7),
            .select_seconds = sql_real(c, 8),
            .started_at = sql_integer(c, 9),
            .code_path = sql_text(c, 10),
            .through_seq = sql_integer(c, 11),
            .advice = sql_text(c, 12),
        };
        row(arg, &batch);
    }
    return sql_end_read(s, c, sql_finish(c, err));
}

/* A copy of a blob column. NULL: out of memory. */
static void *copy_blob(sql_connection *c, int column, size_t *size)
{
    const void *blob = sql_blob(c, column, size);
    void *copy = malloc(*size + 1);
    if (copy && *size > 0)
        memcpy(copy, blob, *size);
    return copy;
}

static store_status read_engine(sql_connection *c, int64_t study, store_engine_state *out, store_error *err)
{
    sql_start(c, SQL_ENGINE, "i", study);
    bool found = sql_step(c);
    if (found) {
        size_t size;
        out->batch = sql_integer(c, 0);
        out->through_seq = sql_integer(c, 1);
        strncpy(out->code_path, sql_text(c, 2), sizeof out->code_path - 1);
        out->dictionary = copy_blob(c, 3, &size);
        out->n_dictionary = size / sizeof *out->dictionary;
        out->state = copy_blob(c, 4, &out->n_state);
    }
    store_status status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "study %lld has no batch yet", (long long)study);
    if (!status && (!out->dictionary || !out->state))
        status = store_fail(err, STORE_NO_MEMORY, "out of memory");
    return status;
}

static store_status read_sums(sql_connection *c, int64_t study, store_engine_state *out, store_error *err)
{
    size_t n = 0;
    sql_start(c, SQL_SUMS_COUNT, "i", study);
    if (sql_step(c))
        n = (size_t)sql_integer(c, 0);
    store_status status = sql_finish(c, err);
    if (status)
        return status;
    out->sums = malloc((n + 1) * sizeof *out->sums);
    if (!out->sums)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    sql_start(c, SQL_SUMS, "i", study);
    while (out->n_sums < n && sql_step(c)) {
        store_arm_sum *sum = &out->sums[out->n_sums++];
        int64_t bits = sql_integer(c, 2);
        sum->arm = (uint32_t)sql_integer(c, 0);
        sum->count = (uint64_t)sql_integer(c, 1);
        memcpy(&sum->sum, &bits, sizeof bits);
    }
    return sql_finish(c, err);
}

store_status sql_read_engine_state(store *s, int64_t study, store_engine_state *out, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    status = read_engine(c, study, out, err);
    if (!status)
        status = read_sums(c, study, out, err);
    return sql_end_read(s, c, status);
}

store_status sql_read_retired(store *s, int64_t study, store_retired_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_RETIRED, "i", study);
    while (sql_step(c))
        row(arg, (uint32_t)sql_integer(c, 0));
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_log(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                          void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_LOG_AFTER, "iii", study, after_seq, sql_limit(limit));
    while (sql_step(c))
        row(arg, sql_integer(c, 0), sql_integer(c, 1), sql_text(c, 2), sql_text(c, 3));
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_chain(store *s, int64_t study, int64_t after_seq, size_t limit, log_chain_row *row,
                            void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_CHAIN_AFTER, "iii", study, after_seq, sql_limit(limit));
    while (sql_step(c)) {
        chained_entry entry = {.seq = sql_integer(c, 0),
                               .time = sql_integer(c, 1),
                               .type = sql_text(c, 2),
                               .payload = sql_text(c, 3)};
        entry.chain = sql_blob(c, 4, &entry.n_chain);
        row(arg, &entry);
    }
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_tokens(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                             store_error *err)
{
    store_status status;
    bool whole = true;
    sql_connection *c = sql_begin_read(s, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_TOKENS_AFTER, "ii", after, sql_limit(limit));
    while (sql_step(c)) {
        store_token token = {.number = sql_integer(c, 0),
                             .id = sql_text(c, 1),
                             .role = sql_text(c, 3),
                             .study = sql_text(c, 4),
                             .description = sql_text(c, 5),
                             .created_at = sql_integer(c, 6),
                             .expires_at = sql_integer(c, 7)};
        size_t n_hash;
        const void *hash = sql_blob(c, 2, &n_hash);
        whole = whole && n_hash == sizeof token.hash;
        if (whole) {
            memcpy(token.hash, hash, sizeof token.hash);
            row(arg, &token);
        }
    }
    status = sql_finish(c, err);
    if (!status && !whole)
        status = store_fail(err, STORE_CORRUPT, "a token's hash is damaged");
    return sql_end_read(s, c, status);
}

store_status sql_read_answer(store *s, const char *token, const char *path, const char *key, int64_t now,
                             store_answer_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_read(s, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_ANSWER, "ttti", token, path, key, now - STORE_ANSWER_KEPT);
    bool found = sql_step(c);
    size_t n_hash = 0;
    const void *hash = found ? sql_blob(c, 1, &n_hash) : NULL;
    bool whole = found && n_hash == sizeof((store_answer *)0)->body_hash;
    if (whole) {
        store_answer answer = {.token = token, .path = path, .key = key, .time = sql_integer(c, 0)};
        memcpy(answer.body_hash, hash, sizeof answer.body_hash);
        answer.response = sql_blob(c, 2, &answer.n_response);
        row(arg, &answer);
    }
    status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "no answer is stored for key '%s'", key);
    else if (!status && !whole)
        status = store_fail(err, STORE_CORRUPT, "the answer stored for key '%s' is damaged", key);
    return sql_end_read(s, c, status);
}

store_status sql_read_setting(store *s, const char *name, store_setting_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_read(s, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_SETTING, "t", name);
    bool found = sql_step(c);
    if (found)
        row(arg, sql_text(c, 0));
    status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no setting '%s'", name);
    return sql_end_read(s, c, status);
}
