#include "server/store/sqlite/sqlite.h"

#include <string.h>

/* ---- transactions -------------------------------------------------------------------------------------- */

store_status sqlite_begin(store *s, store_error *err)
{
    store_status status = sqlite_look(sqlite_of(s), PART_LOG, err);
    if (!status && sqlite_of(s)->writer.ran_full)
        sqlite_look_for_room(sqlite_of(s));
    if (!status)
        sqlite_leave_full(sqlite_of(s)); /* writes come back with the room */
    return status ? status : connection_run(&sqlite_of(s)->writer, err, SQL_BEGIN_IMMEDIATE, "");
}

bool sqlite_in_transaction(store *s)
{
    return !sqlite3_get_autocommit(sqlite_of(s)->writer.db);
}

void sqlite_rollback(store *s)
{
    if (sqlite_in_transaction(s))
        connection_run(&sqlite_of(s)->writer, NULL, SQL_ROLLBACK, "");
}

store_status sqlite_commit(store *s, store_error *err)
{
    sqlite_store *mine = sqlite_of(s);
    store_status status = STORE_OK;
    if (mine->log_is_unmarked)
        status = connection_run(&mine->writer, err, SQL_MARK_LOG, "");
    if (!status)
        status = connection_run(&mine->writer, err, SQL_COMMIT, "");
    if (status)
        sqlite_rollback(s);
    else
        mine->log_is_unmarked = false;
    return status ? status
                  : sqlite_look(mine, PART_FILE, err); /* did it go into the file that has the name? */
}

store_status sqlite_mark(store *s, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_SAVEPOINT, "");
}

store_status sqlite_release(store *s, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_RELEASE, "");
}

store_status sqlite_undo(store *s, store_error *err)
{
    store_status status = connection_run(&sqlite_of(s)->writer, err, SQL_ROLLBACK_TO, "");
    return status ? status : sqlite_release(s, err);
}

/* Stores another value each time, since SQLite does not write an unchanged page. */
store_status sqlite_touch(store *s, store_error *err)
{
    if (sqlite_is_full(s))
        return store_fail(err, STORE_FULL, "the disk is full");
    return connection_run(&sqlite_of(s)->writer, err, SQL_TOUCH, "");
}

/* ---- studies ------------------------------------------------------------------------------------------- */

store_status sqlite_study_insert(store *s, const store_event *event, int64_t epoch, study_record *record,
                                 store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status =
        connection_run(c, err, SQL_STUDY_INSERT, "titii", event->u.created.id, epoch,
                       event->u.created.definition, (int64_t)event->u.created.state, event->time);
    *record = (study_record){
        .study = sqlite3_last_insert_rowid(c->db),
        .epoch = epoch,
        .state = event->u.created.state,
    };
    return status;
}

store_status sqlite_study_load(store *s, int64_t study, study_record *record, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    *record = (study_record){.study = study};
    sqlite3_stmt *row = connection_bind(c, SQL_STUDY_LOAD, "i", study);
    bool found = connection_step(c, row);
    if (found) {
        int column = 0;
        record->epoch = sqlite3_column_int64(row, column++);
        record->last_seq = sqlite3_column_int64(row, column++);
        record->state = (study_state)sqlite3_column_int(row, column++);
        record->updated_at = sqlite3_column_int64(row, column++);
        record->trials = sqlite3_column_int64(row, column++);
        for (int state = 0; state < TRIAL_STATES; state++)
            record->by_state[state] = sqlite3_column_int64(row, column++);
        record->issued = sqlite3_column_int64(row, column++);
        record->observations = sqlite3_column_int64(row, column++);
        record->imported = sqlite3_column_int64(row, column++);
        record->batches = sqlite3_column_int64(row, column++);
        record->through_seq = sqlite3_column_int64(row, column++);
        record->best_trial = sqlite3_column_int64(row, column++);
        record->best_candidate = sqlite3_column_int64(row, column++);
        record->best_value = sqlite3_column_double(row, column++);
        record->content = sqlite3_column_int64(row, column++);
        record->candidates = sqlite3_column_int64(row, column++);
        record->dimension = sqlite3_column_int64(row, column++);
        record->reference_candidates = sqlite3_column_int64(row, column++);
    }
    store_status status = connection_finish(c, row, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)study);
    return status;
}

store_status sqlite_study_save(store *s, const study_record *r, store_error *err)
{
    const int64_t *n = r->by_state;
    return connection_run(&sqlite_of(s)->writer, err, SQL_STUDY_SAVE, "iiiiiiiiiiiiiiiidiiiii", r->study,
                          r->last_seq, r->updated_at, r->trials, n[TRIAL_QUEUED], n[TRIAL_PENDING],
                          n[TRIAL_COMPLETED], n[TRIAL_FAILED], n[TRIAL_INFEASIBLE], n[TRIAL_STOPPED],
                          r->issued, r->observations, r->batches, r->through_seq, r->best_trial,
                          r->best_candidate, r->best_value, r->content, r->candidates, r->dimension,
                          r->reference_candidates, r->imported);
}

store_status sqlite_study_describe(store *s, const study_record *record, const char *definition,
                                   const char *reason, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_STUDY_DESCRIBE, "itti", record->study, definition,
                          reason, (int64_t)record->state);
}

store_status sqlite_study_delete(store *s, int64_t study, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    sqlite_of(s)->chores_left = true;
    store_status status = connection_run(c, err, SQL_STUDY_MARK_DELETED, "i", study);
    if (!status)
        status = connection_run(c, err, SQL_TOKENS_OF_STUDY_REMOVE, "i", study);
    return status ? status : connection_run(c, err, SQL_CONTENTS_DROP_OF_STUDY, "i", study);
}

store_status sqlite_study_stage(store *s, int64_t study, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_STUDY_STAGE, "i", study);
}

store_status sqlite_study_publish(store *s, int64_t study, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = connection_run(c, err, SQL_STUDY_PUBLISH, "i", study);
    if (!status && sqlite3_changes(c->db) == 0)
        status = store_fail(err, STORE_NOT_FOUND, "there is no staged study %lld", (long long)study);
    return status;
}

store_status sqlite_log_append(store *s, int64_t study, int64_t seq, const store_event *event,
                               const char *payload, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_LOG_INSERT, "iiitt", study, seq, event->time,
                          store_event_name(event->type), payload);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

store_status sqlite_batch_insert(store *s, int64_t study, const store_event *event, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    const store_batch *b = &event->u.planned.batch;
    store_status status =
        connection_run(c, err, SQL_BATCH_INSERT, "iiidtdidditiib", study, b->batch, b->size, b->ratio,
                       b->stop_rule, b->beta, b->observations, b->update_seconds, b->select_seconds,
                       b->started_at, b->code_path, event->u.planned.through_seq, b->dictionary_size,
                       event->u.planned.dictionary, (size_t)b->dictionary_size * sizeof(uint32_t));
    if (status)
        return status;
    return connection_run(c, err, SQL_ENGINE_PUT, "iib", study, b->batch, event->u.planned.engine_state,
                          event->u.planned.n_engine_state);
}

store_status sqlite_batch_extend(store *s, int64_t study, const store_event *event, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_BATCH_EXTEND, "iiidt", study,
                          event->u.extended.batch, (int64_t)event->u.extended.n_picks,
                          event->u.extended.ratio, event->u.extended.stop_rule);
}

/* Binds a row's parameters, from number `at` on. Binding numbers to existing parameters cannot fail. */
static void bind_sum(sqlite3_stmt *statement, int at, const store_arm_sum *sum)
{
    int64_t bits;
    memcpy(&bits, &sum->sum, sizeof bits);
    sqlite3_bind_int64(statement, at, sum->arm);
    sqlite3_bind_int64(statement, at + 1, (int64_t)sum->count);
    sqlite3_bind_int64(statement, at + 2, bits);
}

store_status sqlite_sums_put(store *s, int64_t study, const store_arm_sum *sums, size_t n, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = STORE_OK;
    for (size_t i = 0, rows; !status && i < n; i += rows) {
        rows = n - i < SQL_ROWS ? 1 : SQL_ROWS;
        sqlite3_stmt *put = connection_bind(c, rows > 1 ? SQL_SUMS_PUT : SQL_SUM_PUT, "i", study);
        for (size_t k = 0; put && k < rows; k++)
            bind_sum(put, 2 + 3 * (int)k, &sums[i + k]);
        connection_step(c, put);
        status = connection_finish(c, put, err);
    }
    return status;
}

/* ---- trials -------------------------------------------------------------------------------------------- */

store_status sqlite_trials_insert(store *s, int64_t study, int64_t first, int64_t batch,
                                  const store_pick *picks, size_t n, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = STORE_OK;
    for (size_t i = 0, rows; !status && i < n; i += rows) {
        rows = n - i < SQL_ROWS ? 1 : SQL_ROWS;
        sqlite3_stmt *insert = connection_bind(c, rows > 1 ? SQL_TRIALS_INSERT : SQL_TRIAL_INSERT, "iii",
                                               study, batch, first + (int64_t)i);
        for (int k = 0; insert && k < (int)rows; k++) {
            sqlite3_bind_int64(insert, 4 + 2 * k, picks[i + (size_t)k].candidate);
            sqlite3_bind_double(insert, 5 + 2 * k, picks[i + (size_t)k].variance);
        }
        connection_step(c, insert);
        status = connection_finish(c, insert, err);
    }
    return status;
}

store_status sqlite_trial_load(store *s, int64_t study, int64_t trial, trial_record *record, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    *record = (trial_record){0};
    sqlite3_stmt *row = connection_bind(c, SQL_TRIAL_LOAD, "ii", study, trial);
    bool found = connection_step(c, row);
    if (found) {
        record->state = (trial_state)sqlite3_column_int(row, 0);
        record->attempt = sqlite3_column_int(row, 1);
        record->candidate = sqlite3_column_int64(row, 2);
        record->was_issued = sqlite3_column_int64(row, 3) != 0;
        record->has_value = sqlite3_column_int(row, 4);
    }
    store_status status = connection_finish(c, row, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld", (long long)study,
                            (long long)trial);
    if (!status && record->state >= TRIAL_STATES)
        status = store_fail(err, STORE_CORRUPT, "trial %lld of study %lld is in state %u", (long long)trial,
                            (long long)study, (unsigned)record->state);
    return status;
}

store_status sqlite_trial_issue(store *s, int64_t study, int64_t seq, const store_event *event,
                                store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    int64_t trial = event->u.issued.trial, attempt = event->u.issued.attempt;
    const char *worker = event->u.issued.worker;
    int64_t lease = event->u.issued.lease_expires_at;
    store_status status =
        connection_run(c, err, SQL_TRIAL_ISSUE, "iiitii", study, trial, attempt, worker, event->time, lease);
    if (status)
        return status;
    return connection_run(c, err, SQL_ATTEMPT_INSERT, "iiiitii", study, trial, seq, attempt, worker,
                          event->time, lease);
}

store_status sqlite_trial_renew(store *s, int64_t study, const store_event *event, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = STORE_OK;
    static const sql_id statements[] = {SQL_TRIAL_RENEW, SQL_ATTEMPT_RENEW};
    for (size_t i = 0; !status && i < sizeof statements / sizeof *statements; i++)
        status = connection_run(c, err, statements[i], "iiti", study, event->u.renewed.trial,
                                event->u.renewed.worker, event->u.renewed.lease_expires_at);
    return status;
}

store_status sqlite_trial_requeue(store *s, int64_t study, int32_t attempt, const store_event *event,
                                  store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    int64_t trial = event->u.requeued.trial;
    store_status status = connection_run(c, err, SQL_TRIAL_REQUEUE, "iii", study, trial, (int64_t)attempt);
    if (!status && !event->u.requeued.attempt_counts) /* measured by the attempt that does not count */
        status = connection_run(c, err, SQL_MEASUREMENTS_FORGET, "iii", study, trial, (int64_t)attempt);
    if (status)
        return status;
    return connection_run(c, err, SQL_ATTEMPT_END, "iiit", study, trial, event->time,
                          event->u.requeued.outcome);
}

store_status sqlite_trial_tell(store *s, int64_t study, int64_t seq, int32_t attempt,
                               const store_event *event, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    int64_t trial = event->u.told.trial;
    trial_state state = event->u.told.state;
    store_status status =
        connection_run(c, err, SQL_TRIAL_TELL, "iiiidtiiitt", study, trial, (int64_t)state, (int64_t)attempt,
                       event->u.told.value, event->u.told.reason, event->time, seq, event->u.told.repeats,
                       event->u.told.recorded, event->u.told.metadata);
    if (status)
        return status;
    if (event->u.told.attempt == 0)
        return connection_run(c, err, SQL_ATTEMPT_END, "iiit", study, trial, event->time,
                              trial_state_name(state));
    status = connection_run(c, err, SQL_ATTEMPT_TELL, "iiiit", study, trial, (int64_t)attempt, event->time,
                            trial_state_name(state));
    if (!status) /* an earlier attempt told, while a later one was open */
        status = connection_run(c, err, SQL_ATTEMPT_END, "iiit", study, trial, event->time, "superseded");
    return status;
}

store_status sqlite_late_result_insert(store *s, int64_t study, int64_t seq, const store_event *event,
                                       store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_LATE_INSERT, "iiiiditti", study,
                          event->u.late.trial, seq, (int64_t)event->u.late.attempt, event->u.late.value,
                          event->u.late.repeats, event->u.late.recorded, event->u.late.metadata, event->time);
}

store_status sqlite_trial_amend(store *s, int64_t study, int64_t seq, const store_event *event,
                                store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    int64_t trial = event->u.amended.trial;
    store_status status = connection_run(c, err, SQL_TRIAL_KEEP_AMENDED, "iiiit", study, trial, seq,
                                         event->time, event->u.amended.reason);
    if (status)
        return status;
    return connection_run(c, err, SQL_TRIAL_AMEND, "iiidtt", study, trial, (int64_t)event->u.amended.state,
                          event->u.amended.value, event->u.amended.recorded,
                          event->u.amended.has_value ? "" : event->u.amended.reason);
}

store_status sqlite_measurement_put(store *s, int64_t study, const store_event *event, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_MEASUREMENT_PUT, "iiiidi", study,
                          event->u.measured.trial, (int64_t)event->u.measured.attempt, event->u.measured.step,
                          event->u.measured.value, event->time);
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

typedef struct content_record {
    int64_t state, dimension, count;
} content_record;

static store_status content_load(connection *c, int64_t content, content_record *out, bool *found,
                                 store_error *err)
{
    *out = (content_record){0};
    sqlite3_stmt *row = connection_bind(c, SQL_CONTENT_LOAD, "i", content);
    *found = connection_step(c, row);
    if (*found)
        *out = (content_record){.state = sqlite3_column_int64(row, 0),
                                .dimension = sqlite3_column_int64(row, 1),
                                .count = sqlite3_column_int64(row, 2)};
    return connection_finish(c, row, err);
}

static store_status insert_block(connection *c, int64_t content, int64_t first, size_t n, size_t dimension,
                                 const double *rows, store_error *err)
{
    store_status status = connection_run(c, err, SQL_BLOCK_INSERT, "iiib", content, first, (int64_t)n, rows,
                                         n * dimension * sizeof *rows);
    return status ? status : connection_run(c, err, SQL_CONTENT_GROW, "ii", content, (int64_t)n);
}

store_status sqlite_content_append(store *s, int64_t content, int64_t first, size_t n, size_t dimension,
                                   const double *rows, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    content_record record;
    bool found;
    store_status status = content_load(c, content, &record, &found, err);
    if (status)
        return status;
    if (!found && first == 0) {
        record.dimension = (int64_t)dimension;
        status = connection_run(c, err, SQL_CONTENT_INSERT, "ii", content, (int64_t)dimension);
    } else if (!found || record.state != 0 || record.count != first ||
               record.dimension != (int64_t)dimension) {
        status = store_fail(err, STORE_ABORTED, "upload %lld does not end at row %lld", (long long)content,
                            (long long)first);
    }
    return status ? status : insert_block(c, content, first, n, dimension, rows, err);
}

store_status sqlite_content_extend(store *s, const study_record *record, const store_points *points,
                                   int64_t *content, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = STORE_OK;
    if (*content == 0) {
        *content = store_new_content(s);
        status = connection_run(c, err, SQL_CONTENT_INSERT, "ii", *content, points->dimension);
        if (!status)
            status = connection_run(c, err, SQL_CONTENT_ATTACH, "ii", *content, record->study);
    }
    return status ? status
                  : insert_block(c, *content, record->candidates, points->n, (size_t)points->dimension,
                                 points->rows, err);
}

store_status sqlite_candidate_retire(store *s, int64_t study, uint32_t candidate, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_RETIRE, "ii", study, (int64_t)candidate);
}

store_status sqlite_candidate_restore(store *s, int64_t study, uint32_t candidate, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = connection_run(c, err, SQL_RESTORE, "ii", study, (int64_t)candidate);
    if (!status && sqlite3_changes(c->db) == 0)
        status = store_fail(err, STORE_NOT_FOUND, "candidate %u of study %lld is not retired", candidate,
                            (long long)study);
    return status;
}

store_status sqlite_content_abandon(store *s, int64_t content, store_error *err)
{
    sqlite_of(s)->chores_left = true;
    return connection_run(&sqlite_of(s)->writer, err, SQL_CONTENT_DROP_STAGED, "i", content);
}

store_status sqlite_content_attach(store *s, const study_record *record, const store_event *event,
                                   store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    int64_t content = event->u.candidates.content;
    content_record upload = {0};
    bool found = false;
    store_status status = content ? content_load(c, content, &upload, &found, err) : STORE_OK;
    if (status)
        return status;
    if (content == 0) {
        /* there is nothing to attach */
    } else if (!found || upload.state != 0 || upload.count != event->u.candidates.count ||
               upload.dimension != event->u.candidates.dimension)
        return store_fail(err, STORE_NOT_FOUND, "there is no finished upload %lld of %lld x %lld values",
                          (long long)content, (long long)event->u.candidates.count,
                          (long long)event->u.candidates.dimension);
    if (record->content) {
        sqlite_of(s)->chores_left = true;
        status = connection_run(c, err, SQL_CONTENT_DROP, "i", record->content);
    }
    if (!status && content)
        status = connection_run(c, err, SQL_CONTENT_ATTACH, "ii", content, record->study);
    if (!status)
        status = connection_run(c, err, SQL_STUDY_DIGEST, "it", record->study, event->u.candidates.digest);
    return status;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

store_status sqlite_answer_put(store *base, const store_answer *answer, store_error *err)
{
    enum { puts_per_expiry = 256 };
    sqlite_store *s = sqlite_of(base);
    store_status status =
        connection_run(&s->writer, err, SQL_ANSWER_PUT, "tttibbi", answer->token, answer->path, answer->key,
                       answer->time, answer->body_hash, sizeof answer->body_hash, answer->response,
                       answer->n_response, answer->time - STORE_ANSWER_KEPT);
    s->answered_at = answer->time;
    if (s->answers_put++ % puts_per_expiry == 0) /* the first one too */
        s->chores_left = true;
    if (!status && sqlite3_changes(s->writer.db) == 0)
        status = store_fail(err, STORE_EXISTS, "the request with key '%s' has been answered", answer->key);
    return status;
}
