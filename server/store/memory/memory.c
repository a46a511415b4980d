#include "server/store/memory/memory.h"

#include <stdlib.h>
#include <string.h>

static store_status no_memory(store_error *err)
{
    return store_fail(err, STORE_NO_MEMORY, "out of memory");
}

memory_study *memory_find(memory_store *s, int64_t number)
{
    memory_study *study = s->studies;
    while (study && (study->deleted || study->record.study != number))
        study = study->next;
    return study;
}

memory_study *memory_find_id(memory_store *s, const char *id)
{
    memory_study *study = s->studies;
    while (study && (study->deleted || study->staged || strcmp(study->id, id) != 0))
        study = study->next;
    return study;
}

memory_content *memory_find_content(memory_store *s, int64_t number)
{
    memory_content *content = s->contents;
    while (content && content->content != number)
        content = content->next;
    return content;
}

/* ---- freeing ------------------------------------------------------------------------------------------- */

static void clear_trial(memory_trial *trial)
{
    for (size_t i = 0; i < trial->n_attempts; i++) {
        free((char *)trial->attempts[i].worker);
        free((char *)trial->attempts[i].outcome);
    }
    free(trial->attempts);
    free(trial->measurements);
    free((char *)trial->t.worker);
    free((char *)trial->t.reason);
    free((char *)trial->t.recorded);
    free((char *)trial->t.metadata);
}

static void clear_late_results(memory_study *study)
{
    for (size_t i = 0; i < study->n_late; i++) {
        free((char *)study->late[i].recorded);
        free((char *)study->late[i].metadata);
    }
    free(study->late);
    study->late = NULL;
    study->n_late = 0;
}

static void clear_amendments(memory_study *study)
{
    for (size_t i = 0; i < study->n_amendments; i++) {
        free((char *)study->amendments[i].reason);
        free((char *)study->amendments[i].recorded);
        free((char *)study->amendments[i].was_reason);
    }
    free(study->amendments);
    study->amendments = NULL;
    study->n_amendments = 0;
}

/* Clears everything that follows from the log. */
static void clear_tables(memory_study *study)
{
    for (size_t i = 0; i < study->n_trials; i++)
        clear_trial(&study->trials[i]);
    for (size_t i = 0; i < study->n_batches; i++) {
        free((char *)study->batches[i].b.stop_rule);
        free((char *)study->batches[i].b.code_path);
        free((char *)study->batches[i].b.advice);
        free(study->batches[i].dictionary);
    }
    free(study->trials);
    free(study->batches);
    free(study->sums);
    clear_late_results(study);
    clear_amendments(study);
    memory_clear_imported(study);
    memory_clear_keys(study);
    free(study->retired);
    free(study->engine);
    study->trials = NULL;
    study->batches = NULL;
    study->sums = NULL;
    study->retired = NULL;
    study->engine = NULL;
    study->n_trials = study->n_batches = study->n_sums = study->n_retired = study->n_engine = 0;
}

static void cut_log(memory_study *study, size_t n)
{
    while (study->n_log > n) {
        memory_log *last = &study->log[--study->n_log];
        free(last->event);
        free(last->payload);
    }
}

static void free_study(memory_study *study)
{
    clear_tables(study);
    cut_log(study, 0);
    free(study->log);
    free((char *)study->id);
    free((char *)study->definition);
    free((char *)study->reason);
    free((char *)study->digest);
    free(study);
}

void memory_free_content(memory_store *s, memory_content *content)
{
    memory_content **link = &s->contents;
    while (*link != content)
        link = &(*link)->next;
    *link = content->next;
    free(content->rows);
    free(content);
}

/* ---- transactions -------------------------------------------------------------------------------------- */

static store_status memory_begin(store *base, store_error *err)
{
    memory_store *s = memory_of(base);
    (void)err;
    pthread_rwlock_wrlock(&s->lock);
    s->in_transaction = true;
    return STORE_OK;
}

static void memory_rollback(store *base)
{
    memory_store *s = memory_of(base);
    s->in_transaction = false;
    pthread_rwlock_unlock(&s->lock);
}

static store_status memory_commit(store *base, store_error *err)
{
    (void)err;
    memory_rollback(base); /* failed writes are already undone */
    return STORE_OK;
}

static bool memory_in_transaction(store *base)
{
    return memory_of(base)->in_transaction;
}

static store_status memory_mark(store *base, store_error *err)
{
    (void)err;
    memory_of(base)->touched = NULL;
    memory_of(base)->new_token = NULL;
    memory_of(base)->removed_token = NULL;
    memory_release_setting(memory_of(base));
    return STORE_OK;
}

static store_status memory_release(store *base, store_error *err)
{
    memory_release_token(memory_of(base));
    memory_release_setting(memory_of(base));
    (void)err;
    return STORE_OK;
}

static store_status memory_undo(store *base, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_study *study = s->touched;
    store_status status = STORE_OK;
    memory_undo_token(s);
    memory_undo_setting(s);
    if (!study)
        return STORE_OK;
    if (s->kept == 0) {
        s->studies = study->next;
        s->last_study--;
        free_study(study);
        return STORE_OK;
    }
    cut_log(study, s->kept);
    clear_tables(study);
    s->replaying = true;
    study_record record = {0};
    for (size_t i = 0; !status && i < study->n_log; i++)
        status =
            store_apply(base, &record, study->record.epoch, study->log[i].event, study->log[i].payload, err);
    s->replaying = false;
    study->record = record;
    study->damaged = status != STORE_OK;
    return STORE_OK;
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

static store_status memory_touch(store *base, store_error *err)
{
    (void)base;
    (void)err;
    return STORE_OK;
}

static void memory_after_commit(store *base)
{
    (void)base;
}

/* Frees one deleted study and its memory. */
static store_chore memory_chore(store *base)
{
    memory_store *s = memory_of(base);
    pthread_rwlock_wrlock(&s->lock);
    memory_study **link = &s->studies;
    while (*link && !(*link)->deleted)
        link = &(*link)->next;
    memory_study *study = *link;
    if (study) {
        memory_content *next;
        for (memory_content *content = s->contents; content; content = next) {
            next = content->next;
            if (content->study == study->record.study)
                memory_free_content(s, content);
        }
        *link = study->next;
        free_study(study);
    }
    pthread_rwlock_unlock(&s->lock);
    return study ? CHORE_MORE : CHORE_NONE;
}

static void memory_close(store *base)
{
    memory_store *s = memory_of(base);
    while (s->studies) {
        memory_study *next = s->studies->next;
        free_study(s->studies);
        s->studies = next;
    }
    while (s->contents)
        memory_free_content(s, s->contents);
    memory_expire_answers(s, INT64_MAX);
    memory_free_tokens(s);
    memory_free_settings(s);
    pthread_rwlock_destroy(&s->lock);
    free(s);
}

static const store_backend memory_backend = {
    .begin = memory_begin,
    .commit = memory_commit,
    .rollback = memory_rollback,
    .in_transaction = memory_in_transaction,
    .mark = memory_mark,
    .release = memory_release,
    .undo = memory_undo,
    .study_insert = memory_study_insert,
    .study_count = memory_study_count,
    .study_load = memory_study_load,
    .study_save = memory_study_save,
    .study_describe = memory_study_describe,
    .study_delete = memory_study_delete,
    .study_stage = memory_study_stage,
    .study_publish = memory_study_publish,
    .log_append = memory_log_append,
    .content_attach = memory_content_attach,
    .content_extend = memory_content_extend,
    .candidate_retire = memory_candidate_retire,
    .candidate_restore = memory_candidate_restore,
    .keys_clear = memory_keys_clear,
    .key_put = memory_key_put,
    .batch_insert = memory_batch_insert,
    .batch_extend = memory_batch_extend,
    .sums_put = memory_sums_put,
    .trials_insert = memory_trials_insert,
    .trial_load = memory_trial_load,
    .trial_issue = memory_trial_issue,
    .trial_renew = memory_trial_renew,
    .trial_requeue = memory_trial_requeue,
    .trial_tell = memory_trial_tell,
    .late_result_insert = memory_late_result_insert,
    .trial_amend = memory_trial_amend,
    .measurement_put = memory_measurement_put,
    .observation_insert = memory_observation_insert,
    .observation_amend = memory_observation_amend,
    .content_append = memory_content_append,
    .content_abandon = memory_content_abandon,
    .answer_put = memory_answer_put,
    .token_put = memory_token_put,
    .token_remove = memory_token_remove,
    .setting_put = memory_setting_put,
    .touch = memory_touch,
    .after_commit = memory_after_commit,
    .chore = memory_chore,
    .idle = memory_after_commit,
    .close = memory_close,
    .read_studies = memory_read_studies,
    .count_studies = memory_count_studies,
    .read_totals = memory_read_totals,
    .read_study = memory_read_study,
    .read_staged = memory_read_staged,
    .read_trials = memory_read_trials,
    .read_trial = memory_read_trial,
    .read_attempts = memory_read_attempts,
    .read_late_results = memory_read_late_results,
    .read_amendments = memory_read_amendments,
    .read_measurements = memory_read_measurements,
    .read_batches = memory_read_batches,
    .read_values = memory_read_values,
    .read_observations = memory_read_observations,
    .read_observation_page = memory_read_observation_page,
    .read_observation_amendments = memory_read_observation_amendments,
    .read_candidates = memory_read_candidates,
    .read_candidates_at = memory_read_candidates_at,
    .read_retired = memory_read_retired,
    .read_keys = memory_read_keys,
    .read_keys_at = memory_read_keys_at,
    .find_key = memory_find_key,
    .read_engine_state = memory_read_engine_state,
    .read_answer = memory_read_answer,
    .read_tokens = memory_read_tokens,
    .read_setting = memory_read_setting,
    .read_log = memory_read_log,
    .read_chain = memory_read_chain,
};

store_status store_open_memory(store **out, store_error *err)
{
    *out = NULL;
    memory_store *s = calloc(1, sizeof *s);
    if (!s)
        return no_memory(err);
    pthread_rwlock_init(&s->lock, NULL);
    store_status status = store_start(&s->base, &memory_backend, 1, err);
    if (status)
        memory_close(&s->base);
    else
        *out = &s->base;
    return status;
}
