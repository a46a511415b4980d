/* Reads of the memory backend. Each holds the lock; a row's callback may read again, since the lock prefers
 * readers. */
#include "server/store/memory/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

memory_study *memory_lock_study(store *base, int64_t number, store_status *status, store_error *err)
{
    memory_store *s = memory_of(base);
    pthread_rwlock_rdlock(&s->lock);
    memory_study *study = memory_find(s, number);
    *status = STORE_OK;
    if (!study)
        *status = store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)number);
    else if (study->damaged)
        *status = store_fail(err, STORE_NO_MEMORY, "out of memory");
    if (*status) {
        pthread_rwlock_unlock(&s->lock);
        return NULL;
    }
    return study;
}

store_status memory_unlock(store *base, store_status status)
{
    pthread_rwlock_unlock(&memory_of(base)->lock);
    return status;
}

static void show_study(const memory_study *study, store_study_row *row, void *arg)
{
    const study_record *r = &study->record;
    store_study shown = {.study = r->study,
                         .id = study->id,
                         .definition = study->definition,
                         .state = r->state,
                         .state_reason = study->reason,
                         .epoch = r->epoch,
                         .created_at = study->created_at,
                         .updated_at = r->updated_at,
                         .last_seq = r->last_seq,
                         .trials = r->trials,
                         .issued = r->issued,
                         .observations = r->observations,
                         .imported = r->imported,
                         .batches = r->batches,
                         .through_seq = r->through_seq,
                         .best_trial = r->best_trial,
                         .best_candidate = r->best_candidate,
                         .best_value = r->best_value,
                         .cost = r->cost,
                         .candidates = r->candidates,
                         .dimension = r->dimension,
                         .reference_candidates = r->reference_candidates,
                         .digest = study->digest,
                         .advice = study->n_batches > 0 ? study->batches[study->n_batches - 1].b.advice : "",
                         .has_keys = memory_has_keys(study)};
    memcpy(shown.by_state, r->by_state, sizeof shown.by_state);
    row(arg, &shown);
}

/* The study with the smallest id > after that readers may see; NULL: none. */
static const memory_study *next_by_id(const memory_store *s, const char *after)
{
    const memory_study *best = NULL;
    for (const memory_study *study = s->studies; study; study = study->next)
        if (!study->deleted && !study->staged && strcmp(study->id, after) > 0 &&
            (!best || strcmp(study->id, best->id) < 0))
            best = study;
    return best;
}

static bool is_wanted(const memory_study *study, const store_study_filter *filter)
{
    if ((filter->by_state && study->record.state != filter->state) ||
        (filter->id && strcmp(study->id, filter->id) != 0))
        return false;
    if (!filter->label)
        return true;
    json_t *json = json_loads(study->definition, 0, NULL);
    const char *text = json_string_value(json_object_get(json_object_get(json, "labels"), filter->label));
    bool wanted = text && strcmp(text, filter->label_value) == 0;
    json_decref(json);
    return wanted;
}

store_status memory_read_studies(store *base, const store_study_filter *filter, size_t limit,
                                 store_study_row *row, void *arg, store_error *err)
{
    memory_store *s = memory_of(base);
    (void)err;
    pthread_rwlock_rdlock(&s->lock);
    const memory_study *study = next_by_id(s, filter->after ? filter->after : "");
    for (size_t n = 0; study && n < limit; study = next_by_id(s, study->id)) {
        if (!is_wanted(study, filter))
            continue;
        show_study(study, row, arg);
        n++;
    }
    return memory_unlock(base, STORE_OK);
}

store_status memory_count_studies(store *base, size_t *n, store_error *err)
{
    pthread_rwlock_rdlock(&memory_of(base)->lock);
    return memory_unlock(base, memory_study_count(base, n, err));
}

store_status memory_read_totals(store *base, store_totals *out, store_error *err)
{
    memory_store *s = memory_of(base);
    (void)err;
    pthread_rwlock_rdlock(&s->lock);
    for (const memory_study *study = s->studies; study; study = study->next) {
        if (study->deleted)
            continue;
        out->studies[study->record.state]++;
        for (int i = 0; i < TRIAL_STATES; i++)
            out->trials[i] += study->record.by_state[i];
    }
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_study(store *base, const char *id, store_study_row *row, void *arg, store_error *err)
{
    memory_store *s = memory_of(base);
    pthread_rwlock_rdlock(&s->lock);
    const memory_study *study = memory_find_id(s, id);
    if (!study)
        return memory_unlock(base, store_fail(err, STORE_NOT_FOUND, "there is no study '%s'", id));
    show_study(study, row, arg);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_staged(store *base, int64_t number, store_study_row *row, void *arg,
                                store_error *err)
{
    memory_store *s = memory_of(base);
    pthread_rwlock_rdlock(&s->lock);
    const memory_study *study = memory_find(s, number);
    if (!study || !study->staged)
        return memory_unlock(
            base, store_fail(err, STORE_NOT_FOUND, "there is no staged study %lld", (long long)number));
    show_study(study, row, arg);
    return memory_unlock(base, STORE_OK);
}

static bool wanted(const store_trial *trial, const store_trial_filter *filter)
{
    if (trial->trial <= filter->after || (filter->states && !(filter->states >> trial->state & 1)))
        return false;
    if (filter->told && (trial->told_seq == 0 || trial->told_seq <= filter->told_after ||
                         trial->told_seq > filter->told_through))
        return false;
    return !filter->worker || strcmp(filter->worker, trial->worker) == 0;
}

static bool has_failed(const memory_study *study, int64_t candidate)
{
    for (size_t i = 0; i < study->n_trials; i++) {
        const store_trial *trial = &study->trials[i].t;
        if (trial->candidate == candidate &&
            (trial->state == TRIAL_FAILED || trial->state == TRIAL_INFEASIBLE))
            return true;
    }
    return false;
}

store_status memory_read_trials(store *base, int64_t number, const store_trial_filter *filter, size_t limit,
                                store_trial_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    size_t given = 0;
    for (size_t i = 0; i < study->n_trials && given < limit; i++) {
        const store_trial *trial = &study->trials[i].t;
        if (wanted(trial, filter) && (!filter->failed_arms || has_failed(study, trial->candidate))) {
            row(arg, &study->trials[i].t);
            given++;
        }
    }
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_trial(store *base, int64_t number, int64_t trial, store_trial_row *row, void *arg,
                               store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    if (trial < 1 || (size_t)trial > study->n_trials)
        return memory_unlock(base, store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld",
                                              (long long)number, (long long)trial));
    row(arg, &study->trials[trial - 1].t);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_attempts(store *base, int64_t number, int64_t first, int64_t last,
                                  store_attempt_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (int64_t t = first < 1 ? 1 : first; t <= last && (size_t)t <= study->n_trials; t++)
        for (size_t i = 0; i < study->trials[t - 1].n_attempts; i++)
            row(arg, &study->trials[t - 1].attempts[i]);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_late_results(store *base, int64_t number, int64_t trial, int64_t after_seq,
                                      int64_t through_seq, store_late_result_row *row, void *arg,
                                      store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; i < study->n_late; i++) {
        const store_late_result *result = &study->late[i];
        if ((trial == 0 || result->trial == trial) && result->told_seq > after_seq &&
            result->told_seq <= through_seq)
            row(arg, result);
    }
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_amendments(store *base, int64_t number, int64_t trial, int64_t after_seq,
                                    store_amendment_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; i < study->n_amendments; i++)
        if ((trial == 0 || study->amendments[i].trial == trial) && study->amendments[i].seq > after_seq)
            row(arg, &study->amendments[i]);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_measurements(store *base, int64_t number, int64_t trial, store_measurement_row *row,
                                      void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t t = 0; t < study->n_trials; t++)
        for (size_t i = 0; (trial == 0 || (int64_t)t + 1 == trial) && i < study->trials[t].n_measurements;
             i++)
            row(arg, &study->trials[t].measurements[i]);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_batches(store *base, int64_t number, int64_t after, size_t limit,
                                 store_batch_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    size_t first = after < 0 ? 0 : (size_t)after + 1;
    for (size_t i = first; i < study->n_batches && i - first < limit; i++)
        row(arg, &study->batches[i].b);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_values(store *base, int64_t number, store_value_row *row, void *arg,
                                store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; i < study->n_trials; i++)
        if (study->trials[i].t.has_value)
            row(arg, study->trials[i].t.trial, study->trials[i].t.value, study->trials[i].t.told_at);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_candidates(store *base, int64_t number, int64_t first, size_t n, size_t dimension,
                                    double *rows, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    const study_record *r = &study->record;
    if (first < 0 || first > r->candidates || n > (size_t)(r->candidates - first))
        return memory_unlock(base, store_fail(err, STORE_NOT_FOUND, "study %lld has %lld candidates",
                                              (long long)number, (long long)r->candidates));
    if (n > 0 && (int64_t)dimension != r->dimension)
        return memory_unlock(base, store_fail_dimension(err, number, dimension));
    if (n > 0) {
        const memory_content *content = memory_find_content(memory_of(base), r->content);
        memcpy(rows, content->rows + (size_t)first * dimension, n * dimension * sizeof *rows);
    }
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_candidates_at(store *base, int64_t number, const int64_t *indices, size_t n,
                                       size_t dimension, double *rows, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    const memory_content *content = memory_find_content(memory_of(base), study->record.content);
    if (n > 0 && (int64_t)dimension != study->record.dimension)
        status = store_fail_dimension(err, number, dimension);
    for (size_t i = 0; !status && i < n; i++) {
        if (indices[i] < 0 || indices[i] >= study->record.candidates)
            status = store_fail(err, STORE_CORRUPT, "study %lld: a row names a candidate that does not exist",
                                (long long)number);
        else
            memcpy(rows + i * dimension, content->rows + (size_t)indices[i] * dimension,
                   dimension * sizeof *rows);
    }
    return memory_unlock(base, status);
}

store_status memory_read_retired(store *base, int64_t number, store_retired_row *row, void *arg,
                                 store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    for (size_t i = 0; i < study->n_retired; i++)
        row(arg, study->retired[i]);
    return memory_unlock(base, STORE_OK);
}

static void *copy(const void *data, size_t size)
{
    void *block = malloc(size + 1);
    if (block && size > 0)
        memcpy(block, data, size);
    return block;
}

store_status memory_read_engine_state(store *base, int64_t number, store_engine_state *out, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    if (study->n_batches == 0)
        return memory_unlock(
            base, store_fail(err, STORE_NOT_FOUND, "study %lld has no batch yet", (long long)number));
    const memory_batch *batch = &study->batches[study->n_batches - 1];
    out->batch = batch->b.batch;
    out->through_seq = batch->through_seq;
    strncpy(out->code_path, batch->b.code_path, sizeof out->code_path - 1);
    out->n_dictionary = (size_t)batch->b.dictionary_size;
    out->dictionary = copy(batch->dictionary, out->n_dictionary * sizeof *out->dictionary);
    out->n_sums = study->n_sums;
    out->sums = copy(study->sums, study->n_sums * sizeof *out->sums);
    out->n_state = study->n_engine;
    out->state = copy(study->engine, study->n_engine);
    if (!out->dictionary || !out->sums || !out->state)
        status = store_fail(err, STORE_NO_MEMORY, "out of memory");
    return memory_unlock(base, status);
}

store_status memory_read_answer(store *base, const char *token, const char *path, const char *key,
                                int64_t now, store_answer_row *row, void *arg, store_error *err)
{
    memory_store *s = memory_of(base);
    pthread_rwlock_rdlock(&s->lock);
    const memory_answer *entry = memory_find_answer(s, token, path, key);
    if (!entry || entry->answer->time <= now - STORE_ANSWER_KEPT)
        return memory_unlock(base, store_fail(err, STORE_NOT_FOUND, "no answer is stored for key '%s'", key));
    row(arg, entry->answer);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_log(store *base, int64_t number, int64_t after_seq, size_t limit, store_log_row *row,
                             void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    size_t first = after_seq < 0 ? 0 : (size_t)after_seq;
    for (size_t i = first; i < study->n_log && i - first < limit; i++)
        row(arg, (int64_t)i + 1, study->log[i].event->time, store_event_name(study->log[i].event->type),
            study->log[i].payload);
    return memory_unlock(base, STORE_OK);
}

store_status memory_read_chain(store *base, int64_t number, int64_t after_seq, size_t limit,
                               log_chain_row *row, void *arg, store_error *err)
{
    store_status status;
    memory_study *study = memory_lock_study(base, number, &status, err);
    if (!study)
        return status;
    size_t first = after_seq < 0 ? 0 : (size_t)after_seq;
    for (size_t i = first; i < study->n_log && i - first < limit; i++) {
        const memory_log *log = &study->log[i];
        const chained_entry entry = {.seq = (int64_t)i + 1,
                                     .time = log->event->time,
                                     .type = store_event_name(log->event->type),
                                     .payload = log->payload,
                                     .chain = log->chain.bytes,
                                     .n_chain = log->chain.exists ? sizeof log->chain.bytes : 0};
        row(arg, &entry);
    }
    return memory_unlock(base, STORE_OK);
}
