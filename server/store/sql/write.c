/* Writes the tables of a study, except tokens, with statements that every dialect of SQL has. */
#include "server/store/sql/sql.h"

#include <string.h>

/* ---- studies ------------------------------------------------------------------------------------------- */

/* A checksum that is too short or too long is damaged. Then the next entry begins a new chain, and a check reports
 * it. */
static void take_chain(sql_connection *c, int column, log_chain *chain)
{
    size_t n = 0;
    const void *bytes = sql_blob(c, column, &n);
    chain->exists = n == sizeof chain->bytes;
    if (chain->exists)
        memcpy(chain->bytes, bytes, n);
}

store_status sql_study_load(store *s, int64_t study, study_record *record, store_error *err)
{
    sql_connection *c = sql_writer(s);
    *record = (study_record){.study = study};
    sql_start(c, SQL_STUDY_LOAD, "i", study);
    bool found = sql_step(c);
    if (found) {
        int column = 0;
        take_chain(c, column++, &record->chain);
        record->epoch = sql_integer(c, column++);
        record->last_seq = sql_integer(c, column++);
        record->state = (study_state)sql_integer(c, column++);
        record->updated_at = sql_integer(c, column++);
        record->trials = sql_integer(c, column++);
        for (int state = 0; state < TRIAL_STATES; state++)
            record->by_state[state] = sql_integer(c, column++);
        record->issued = sql_integer(c, column++);
        record->observations = sql_integer(c, column++);
        record->imported = sql_integer(c, column++);
        record->batches = sql_integer(c, column++);
        record->through_seq = sql_integer(c, column++);
        record->best_trial = sql_integer(c, column++);
        record->best_candidate = sql_integer(c, column++);
        record->best_value = sql_number(c, column++);
        record->content = sql_integer(c, column++);
        record->candidates = sql_integer(c, column++);
        record->dimension = sql_integer(c, column++);
        record->reference_candidates = sql_integer(c, column++);
        record->cost = sql_number(c, column++);
    }
    store_status status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)study);
    return status;
}

/* NULL: none */
static const void *chain_bytes(const log_chain *chain)
{
    return chain->exists ? chain->bytes : NULL;
}

store_status sql_study_save(store *s, const study_record *r, store_error *err)
{
    const int64_t *n = r->by_state;
    return sql_run(sql_writer(s), err, SQL_STUDY_SAVE, "iiiiiiiiiiiiiiiidiiiiind", r->study, r->last_seq,
                   r->updated_at, r->trials, n[TRIAL_QUEUED], n[TRIAL_PENDING], n[TRIAL_COMPLETED],
                   n[TRIAL_FAILED], n[TRIAL_INFEASIBLE], n[TRIAL_STOPPED], r->issued, r->observations,
                   r->batches, r->through_seq, r->best_trial, r->best_candidate, r->best_value, r->content,
                   r->candidates, r->dimension, r->reference_candidates, r->imported, chain_bytes(&r->chain),
                   sizeof r->chain.bytes, r->cost);
}

store_status sql_study_describe(store *s, const study_record *record, const char *definition,
                                const char *reason, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_STUDY_DESCRIBE, "itti", record->study, definition, reason,
                   (int64_t)record->state);
}

store_status sql_study_delete(store *s, int64_t study, store_error *err)
{
    sql_connection *c = sql_writer(s);
    sql_of(s)->chores_left = true;
    store_status status = sql_run(c, err, SQL_STUDY_MARK_DELETED, "i", study);
    if (!status)
        status = sql_run(c, err, SQL_TOKENS_OF_STUDY_REMOVE, "i", study);
    return status ? status : sql_run(c, err, SQL_CONTENTS_DROP_OF_STUDY, "i", study);
}

store_status sql_drop_staged(store *s, store_error *err)
{
    static const sql_id statements[] = {SQL_CONTENTS_DROP_STAGED, SQL_CONTENTS_DROP_OF_STAGED,
                                        SQL_STUDIES_DROP_STAGED};
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < sizeof statements / sizeof *statements; i++)
        status = sql_run(sql_writer(s), err, statements[i], "");
    return status;
}

store_status sql_study_stage(store *s, int64_t study, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_STUDY_STAGE, "i", study);
}

store_status sql_study_publish(store *s, int64_t study, store_error *err)
{
    sql_connection *c = sql_writer(s);
    store_status status = sql_run(c, err, SQL_STUDY_PUBLISH, "i", study);
    return status
               ? status
               : sql_must_change(c, err, STORE_NOT_FOUND, "there is no staged study %lld", (long long)study);
}

store_status sql_log_append(store *s, int64_t study, int64_t seq, const store_event *event,
                            const char *payload, const log_chain *chain, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_LOG_INSERT, "iiittn", study, seq, event->time,
                   store_event_name(event->type), payload, chain_bytes(chain), sizeof chain->bytes);
}

/* ---- batches ------------------------------------------------------------------------------------------- */

store_status sql_batch_insert(store *s, int64_t study, const store_event *event, store_error *err)
{
    sql_connection *c = sql_writer(s);
    const store_batch *b = &event->u.planned.batch;
    store_status status =
        sql_run(c, err, SQL_BATCH_INSERT, "iiidtdidditiibt", study, b->batch, b->size, b->ratio, b->stop_rule,
                b->beta, b->observations, b->update_seconds, b->select_seconds, b->started_at, b->code_path,
                event->u.planned.through_seq, b->dictionary_size, event->u.planned.dictionary,
                (size_t)b->dictionary_size * sizeof(uint32_t), b->advice);
    if (status)
        return status;
    return sql_run(c, err, SQL_ENGINE_PUT, "iib", study, b->batch, event->u.planned.engine_state,
                   event->u.planned.n_engine_state);
}

store_status sql_batch_extend(store *s, int64_t study, const store_event *event, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_BATCH_EXTEND, "iiidt", study, event->u.extended.batch,
                   (int64_t)event->u.extended.n_picks, event->u.extended.ratio, event->u.extended.stop_rule);
}

store_status sql_trial_load(store *s, int64_t study, int64_t trial, trial_record *record, store_error *err)
{
    sql_connection *c = sql_writer(s);
    *record = (trial_record){0};
    sql_start(c, SQL_TRIAL_LOAD, "ii", study, trial);
    bool found = sql_step(c);
    if (found) {
        record->state = (trial_state)sql_integer(c, 0);
        record->attempt = (int32_t)sql_integer(c, 1);
        record->candidate = sql_integer(c, 2);
        record->was_issued = sql_integer(c, 3) != 0;
        record->has_value = (int32_t)sql_integer(c, 4);
    }
    store_status status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld", (long long)study,
                            (long long)trial);
    if (!status && record->state >= TRIAL_STATES)
        status = store_fail(err, STORE_CORRUPT, "trial %lld of study %lld is in state %u", (long long)trial,
                            (long long)study, (unsigned)record->state);
    return status;
}

store_status sql_trial_issue(store *s, int64_t study, int64_t seq, const store_event *event, store_error *err)
{
    sql_connection *c = sql_writer(s);
    int64_t trial = event->u.issued.trial, attempt = event->u.issued.attempt;
    const char *worker = event->u.issued.worker;
    int64_t lease = event->u.issued.lease_expires_at;
    store_status status =
        sql_run(c, err, SQL_TRIAL_ISSUE, "iiitii", study, trial, attempt, worker, event->time, lease);
    if (status)
        return status;
    return sql_run(c, err, SQL_ATTEMPT_INSERT, "iiiitii", study, trial, seq, attempt, worker, event->time,
                   lease);
}

store_status sql_trial_renew(store *s, int64_t study, const store_event *event, store_error *err)
{
    sql_connection *c = sql_writer(s);
    store_status status = STORE_OK;
    static const sql_id statements[] = {SQL_TRIAL_RENEW, SQL_ATTEMPT_RENEW};
    for (size_t i = 0; !status && i < sizeof statements / sizeof *statements; i++)
        status = sql_run(c, err, statements[i], "iiti", study, event->u.renewed.trial,
                         event->u.renewed.worker, event->u.renewed.lease_expires_at);
    return status;
}

store_status sql_trial_requeue(store *s, int64_t study, int32_t attempt, const store_event *event,
                               store_error *err)
{
    sql_connection *c = sql_writer(s);
    int64_t trial = event->u.requeued.trial;
    store_status status =
        sql_run(c, err, SQL_TRIAL_REQUEUE, "iiid", study, trial, (int64_t)attempt, event->u.requeued.cost);
    if (!status && !event->u.requeued.attempt_counts) /* the attempt that does not count has measured them */
        status = sql_run(c, err, SQL_MEASUREMENTS_FORGET, "iii", study, trial, (int64_t)attempt);
    if (status)
        return status;
    return sql_run(c, err, SQL_ATTEMPT_END, "iiit", study, trial, event->time, event->u.requeued.outcome);
}

store_status sql_trial_put_result(store *s, int64_t study, int64_t seq, int32_t attempt,
                                  const store_event *event, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_TRIAL_TELL, "iiiidtiiittd", study, event->u.told.trial,
                   (int64_t)event->u.told.state, (int64_t)attempt, event->u.told.value, event->u.told.reason,
                   event->time, seq, event->u.told.repeats, event->u.told.recorded, event->u.told.metadata,
                   event->u.told.cost);
}

store_status sql_trial_tell(store *s, int64_t study, int64_t seq, int32_t attempt, const store_event *event,
                            store_error *err)
{
    sql_connection *c = sql_writer(s);
    int64_t trial = event->u.told.trial;
    trial_state state = event->u.told.state;
    store_status status = sql_trial_put_result(s, study, seq, attempt, event, err);
    if (status)
        return status;
    if (event->u.told.attempt == 0)
        return sql_run(c, err, SQL_ATTEMPT_END, "iiit", study, trial, event->time, trial_state_name(state));
    status = sql_run(c, err, SQL_ATTEMPT_TELL, "iiiit", study, trial, (int64_t)attempt, event->time,
                     trial_state_name(state));
    if (!status) /* an earlier attempt has reported while a later one was open */
        status = sql_run(c, err, SQL_ATTEMPT_END, "iiit", study, trial, event->time, "superseded");
    return status;
}

store_status sql_late_result_insert(store *s, int64_t study, int64_t seq, const store_event *event,
                                    store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_LATE_INSERT, "iiiidittid", study, event->u.late.trial, seq,
                   (int64_t)event->u.late.attempt, event->u.late.value, event->u.late.repeats,
                   event->u.late.recorded, event->u.late.metadata, event->time, event->u.late.cost);
}

store_status sql_trial_amend(store *s, int64_t study, int64_t seq, const store_event *event, store_error *err)
{
    sql_connection *c = sql_writer(s);
    int64_t trial = event->u.amended.trial;
    store_status status = sql_run(c, err, SQL_TRIAL_KEEP_AMENDED, "iiiit", study, trial, seq, event->time,
                                  event->u.amended.reason);
    if (status)
        return status;
    return sql_run(c, err, SQL_TRIAL_AMEND, "iiidtti", study, trial, (int64_t)event->u.amended.state,
                   event->u.amended.value, event->u.amended.recorded,
                   event->u.amended.has_value ? "" : event->u.amended.reason, event->u.amended.repeats);
}

store_status sql_measurement_put(store *s, int64_t study, const store_event *event, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_MEASUREMENT_PUT, "iiiidi", study, event->u.measured.trial,
                   (int64_t)event->u.measured.attempt, event->u.measured.step, event->u.measured.value,
                   event->time);
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

typedef struct content_record {
    int64_t state, dimension, count;
} content_record;

static store_status content_load(sql_connection *c, int64_t content, content_record *out, bool *found,
                                 store_error *err)
{
    *out = (content_record){0};
    sql_start(c, SQL_CONTENT_LOAD, "i", content);
    *found = sql_step(c);
    if (*found)
        *out = (content_record){
            .state = sql_integer(c, 0), .dimension = sql_integer(c, 1), .count = sql_integer(c, 2)};
    return sql_finish(c, err);
}

static store_status insert_block(sql_connection *c, int64_t content, int64_t first, size_t n,
                                 size_t dimension, const double *rows, store_error *err)
{
    store_status status = sql_run(c, err, SQL_BLOCK_INSERT, "iiib", content, first, (int64_t)n, rows,
                                  n * dimension * sizeof *rows);
    return status ? status : sql_run(c, err, SQL_CONTENT_GROW, "ii", content, (int64_t)n);
}

store_status sql_content_append(store *s, int64_t content, int64_t first, size_t n, size_t dimension,
                                const double *rows, store_error *err)
{
    sql_connection *c = sql_writer(s);
    content_record record;
    bool found;
    store_status status = content_load(c, content, &record, &found, err);
    if (status)
        return status;
    if (!found && first == 0) {
        record.dimension = (int64_t)dimension;
        status = sql_run(c, err, SQL_CONTENT_INSERT, "ii", content, (int64_t)dimension);
    } else if (!found || record.state != 0 || record.count != first ||
               record.dimension != (int64_t)dimension) {
        status = store_fail(err, STORE_ABORTED, "upload %lld does not end at row %lld", (long long)content,
                            (long long)first);
    }
    return status ? status : insert_block(c, content, first, n, dimension, rows, err);
}

store_status sql_content_extend(store *s, const study_record *record, const store_points *points,
                                int64_t *content, store_error *err)
{
    sql_connection *c = sql_writer(s);
    store_status status = STORE_OK;
    if (*content == 0) {
        *content = store_new_content(s);
        status = sql_run(c, err, SQL_CONTENT_INSERT, "ii", *content, points->dimension);
        if (!status)
            status = sql_run(c, err, SQL_CONTENT_ATTACH, "ii", *content, record->study);
    }
    return status ? status
                  : insert_block(c, *content, record->candidates, points->n, (size_t)points->dimension,
                                 points->rows, err);
}

store_status sql_candidate_retire(store *s, int64_t study, uint32_t candidate, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_RETIRE, "ii", study, (int64_t)candidate);
}

store_status sql_candidate_restore(store *s, int64_t study, uint32_t candidate, store_error *err)
{
    sql_connection *c = sql_writer(s);
    store_status status = sql_run(c, err, SQL_RESTORE, "ii", study, (int64_t)candidate);
    return status ? status
                  : sql_must_change(c, err, STORE_NOT_FOUND, "candidate %u of study %lld is not retired",
                                    candidate, (long long)study);
}

store_status sql_content_abandon(store *s, int64_t content, store_error *err)
{
    sql_of(s)->chores_left = true;
    return sql_run(sql_writer(s), err, SQL_CONTENT_DROP_STAGED, "i", content);
}

store_status sql_content_attach(store *s, const study_record *record, const store_event *event,
                                store_error *err)
{
    sql_connection *c = sql_writer(s);
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
        sql_of(s)->chores_left = true;
        status = sql_run(c, err, SQL_CONTENT_DROP, "i", record->content);
    }
    if (!status && content)
        status = sql_run(c, err, SQL_CONTENT_ATTACH, "ii", content, record->study);
    if (!status)
        status = sql_run(c, err, SQL_STUDY_DIGEST, "it", record->study, event->u.candidates.digest);
    return status;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

store_status sql_answer_put(store *base, const store_answer *answer, store_error *err)
{
    enum { puts_per_expiry = 256 };
    sql_store *s = sql_of(base);
    store_status status = sql_run(s->writes, err, SQL_ANSWER_PUT, "tttibbi", answer->token, answer->path,
                                  answer->key, answer->time, answer->body_hash, sizeof answer->body_hash,
                                  answer->response, answer->n_response, answer->time - STORE_ANSWER_KEPT);
    s->answered_at = answer->time;
    if (s->answers_put++ % puts_per_expiry == 0) /* also for the first one */
        s->chores_left = true;
    return status ? status
                  : sql_must_change(s->writes, err, STORE_EXISTS,
                                    "the request with key '%s' has been answered", answer->key);
}
