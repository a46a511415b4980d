#include "server/store/memory.h"

#include "server/store/event.h"

#include <stdlib.h>
#include <string.h>

static store_status no_memory(store_error *err)
{
    return store_fail(err, STORE_NO_MEMORY, "out of memory");
}

/* Room for one element more in an array of n; the capacity is the power of two not below n. */
static bool grow(void *array_pointer, size_t n, size_t size)
{
    void **array = array_pointer;
    if (n > 0 && (n & (n - 1)) != 0)
        return true;
    void *grown = realloc(*array, (n ? 2 * n : 1) * size);
    if (grown)
        *array = grown;
    return grown != NULL;
}

/* Replaces an owned string by a copy. */
static bool set_text(const char **text, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    free((char *)*text);
    *text = copy;
    return true;
}

static void *copy_bytes(const void *bytes, size_t size)
{
    void *copy = malloc(size + 1);
    if (copy && size > 0)
        memcpy(copy, bytes, size);
    return copy;
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
    while (study && (study->deleted || strcmp(study->id, id) != 0))
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
    free((char *)trial->t.worker);
    free((char *)trial->t.reason);
}

/* Everything that follows from the log. */
static void clear_tables(memory_study *study)
{
    for (size_t i = 0; i < study->n_trials; i++)
        clear_trial(&study->trials[i]);
    for (size_t i = 0; i < study->n_batches; i++) {
        free((char *)study->batches[i].b.stop_rule);
        free((char *)study->batches[i].b.code_path);
        free(study->batches[i].dictionary);
    }
    free(study->trials);
    free(study->batches);
    free(study->sums);
    free(study->engine);
    study->trials = NULL;
    study->batches = NULL;
    study->sums = NULL;
    study->engine = NULL;
    study->n_trials = study->n_batches = study->n_sums = study->n_engine = 0;
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
    free(study->id);
    free(study->definition);
    free(study->reason);
    free(study->digest);
    free(study);
}

static void free_content(memory_store *s, memory_content *content)
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
    memory_rollback(base); /* every write has been undone or stays */
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
    return STORE_OK;
}

static store_status memory_release(store *base, store_error *err)
{
    (void)base;
    (void)err;
    return STORE_OK;
}

static store_status memory_undo(store *base, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_study *study = s->touched;
    store_status status = STORE_OK;
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

static void touch_study(memory_store *s, memory_study *study)
{
    if (s->touched != study) {
        s->touched = study;
        s->kept = study->n_log;
    }
}

/* ---- studies ------------------------------------------------------------------------------------------- */

static store_status memory_study_insert(store *base, const store_event *event, int64_t epoch,
                                        study_record *record, store_error *err)
{
    memory_store *s = memory_of(base);
    *record = (study_record){.study = s->last_study + 1, .epoch = epoch, .state = event->u.created.state};
    if (s->replaying) {
        record->study = s->touched->record.study;
        bool set = set_text((const char **)&s->touched->definition, event->u.created.definition) &&
                   set_text((const char **)&s->touched->reason, "") &&
                   set_text((const char **)&s->touched->digest, "");
        return set ? STORE_OK : no_memory(err);
    }
    if (memory_find_id(s, event->u.created.id))
        return store_fail(err, STORE_EXISTS, "there is a study '%s'", event->u.created.id);
    memory_study *study = calloc(1, sizeof *study);
    if (!study)
        return no_memory(err);
    study->record = *record;
    study->created_at = event->time;
    study->next = s->studies;
    s->studies = study;
    s->last_study++;
    touch_study(s, study);
    study->id = strdup(event->u.created.id);
    study->definition = strdup(event->u.created.definition);
    study->reason = strdup("");
    study->digest = strdup("");
    return study->id && study->definition && study->reason && study->digest ? STORE_OK : no_memory(err);
}

static store_status memory_study_load(store *base, int64_t number, study_record *record, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    if (!study)
        return store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)number);
    if (study->damaged)
        return no_memory(err);
    *record = study->record;
    return STORE_OK;
}

static store_status memory_study_save(store *base, const study_record *record, store_error *err)
{
    (void)err;
    memory_find(memory_of(base), record->study)->record = *record;
    return STORE_OK;
}

static store_status memory_study_describe(store *base, int64_t number, const char *definition,
                                          const char *reason, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    if (definition && !set_text((const char **)&study->definition, definition))
        return no_memory(err);
    return set_text((const char **)&study->reason, reason) ? STORE_OK : no_memory(err);
}

static store_status memory_study_delete(store *base, int64_t number, store_error *err)
{
    (void)err;
    memory_find(memory_of(base), number)->deleted = true;
    return STORE_OK;
}

static store_status memory_log_append(store *base, int64_t number, int64_t seq, const store_event *event,
                                      const char *payload, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_study *study = memory_find(s, number);
    (void)seq; /* entry i has log position i + 1 */
    if (s->replaying)
        return STORE_OK;
    touch_study(s, study);
    memory_log entry = {0};
    if (!grow(&study->log, study->n_log, sizeof entry) || store_event_copy(&entry.event, event))
        return no_memory(err);
    entry.payload = strdup(payload);
    if (!entry.payload) {
        free(entry.event);
        return no_memory(err);
    }
    study->log[study->n_log++] = entry;
    return STORE_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------- */

static store_status memory_batch_insert(store *base, int64_t number, const store_event *event,
                                        store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    if (!grow(&study->batches, study->n_batches, sizeof *study->batches))
        return no_memory(err);
    memory_batch *batch = &study->batches[study->n_batches++];
    *batch = (memory_batch){.b = event->u.planned.batch, .through_seq = event->u.planned.through_seq};
    batch->b.stop_rule = strdup(event->u.planned.batch.stop_rule);
    batch->b.code_path = strdup(event->u.planned.batch.code_path);
    batch->dictionary =
        copy_bytes(event->u.planned.dictionary, (size_t)batch->b.dictionary_size * sizeof(uint32_t));
    free(study->engine);
    study->engine = copy_bytes(event->u.planned.engine_state, event->u.planned.n_engine_state);
    study->n_engine = event->u.planned.n_engine_state;
    bool complete = batch->b.stop_rule && batch->b.code_path && batch->dictionary && study->engine;
    return complete ? STORE_OK : no_memory(err);
}

static store_status memory_batch_extend(store *base, int64_t number, const store_event *event,
                                        store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_batch *batch = &study->batches[event->u.extended.batch].b;
    batch->size += (int64_t)event->u.extended.n_picks;
    batch->ratio = event->u.extended.ratio;
    return set_text(&batch->stop_rule, event->u.extended.stop_rule) ? STORE_OK : no_memory(err);
}

static store_status memory_sum_put(store *base, int64_t number, const store_arm_sum *sum, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    size_t i = 0, end = study->n_sums;
    while (i < end) {
        size_t middle = i + (end - i) / 2;
        if (study->sums[middle].arm < sum->arm)
            i = middle + 1;
        else
            end = middle;
    }
    if (i == study->n_sums || study->sums[i].arm != sum->arm) {
        if (!grow(&study->sums, study->n_sums, sizeof *sum))
            return no_memory(err);
        memmove(study->sums + i + 1, study->sums + i, (study->n_sums - i) * sizeof *sum);
        study->n_sums++;
    }
    study->sums[i] = *sum;
    return STORE_OK;
}

/* ---- trials -------------------------------------------------------------------------------------------- */

static memory_trial *find_trial(store *base, int64_t number, int64_t trial)
{
    memory_study *study = memory_find(memory_of(base), number);
    return trial >= 1 && (size_t)trial <= study->n_trials ? &study->trials[trial - 1] : NULL;
}

static store_status memory_trial_insert(store *base, int64_t number, int64_t trial, int64_t batch,
                                        const store_pick *pick, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    if (!grow(&study->trials, study->n_trials, sizeof *study->trials))
        return no_memory(err);
    memory_trial *row = &study->trials[study->n_trials++];
    *row = (memory_trial){.t = {.trial = trial,
                                .batch = batch,
                                .candidate = pick->candidate,
                                .variance = pick->variance,
                                .worker = strdup(""),
                                .reason = strdup("")}};
    return row->t.worker && row->t.reason ? STORE_OK : no_memory(err);
}

static store_status memory_trial_load(store *base, int64_t number, int64_t trial, trial_record *record,
                                      store_error *err)
{
    const memory_trial *row = find_trial(base, number, trial);
    if (!row)
        return store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld", (long long)number,
                          (long long)trial);
    *record = (trial_record){.state = row->t.state,
                             .attempt = row->t.attempt,
                             .candidate = row->t.candidate,
                             .was_issued = row->t.issued_at != 0,
                             .has_value = row->t.has_value};
    return STORE_OK;
}

static store_status memory_trial_issue(store *base, int64_t number, int64_t seq, const store_event *event,
                                       store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.issued.trial);
    (void)seq; /* attempts are in the order of the log */
    row->t.state = TRIAL_PENDING;
    row->t.attempt = event->u.issued.attempt;
    row->t.issued_at = event->time;
    row->t.lease_expires_at = event->u.issued.lease_expires_at;
    if (!set_text(&row->t.worker, event->u.issued.worker) ||
        !grow(&row->attempts, row->n_attempts, sizeof *row->attempts))
        return no_memory(err);
    store_attempt *attempt = &row->attempts[row->n_attempts++];
    *attempt = (store_attempt){.attempt = event->u.issued.attempt,
                               .worker = strdup(event->u.issued.worker),
                               .issued_at = event->time,
                               .lease_expires_at = event->u.issued.lease_expires_at,
                               .outcome = strdup("")};
    return attempt->worker && attempt->outcome ? STORE_OK : no_memory(err);
}

static store_status memory_trial_renew(store *base, int64_t number, const store_event *event,
                                       store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.renewed.trial);
    const char *worker = event->u.renewed.worker;
    row->t.lease_expires_at = event->u.renewed.lease_expires_at;
    if (worker && !set_text(&row->t.worker, worker))
        return no_memory(err);
    for (size_t i = 0; i < row->n_attempts; i++) {
        store_attempt *attempt = &row->attempts[i];
        if (attempt->ended_at != 0)
            continue;
        attempt->lease_expires_at = event->u.renewed.lease_expires_at;
        if (worker && !set_text(&attempt->worker, worker))
            return no_memory(err);
    }
    return STORE_OK;
}

static store_status end_attempt(store_attempt *attempt, int64_t time, const char *outcome, store_error *err)
{
    attempt->ended_at = time;
    return set_text(&attempt->outcome, outcome) ? STORE_OK : no_memory(err);
}

static store_status end_open_attempts(memory_trial *row, int64_t time, const char *outcome, store_error *err)
{
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < row->n_attempts; i++)
        if (row->attempts[i].ended_at == 0)
            status = end_attempt(&row->attempts[i], time, outcome, err);
    return status;
}

static store_status memory_trial_requeue(store *base, int64_t number, int32_t attempt,
                                         const store_event *event, store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.requeued.trial);
    row->t.state = TRIAL_QUEUED;
    row->t.attempt = attempt;
    return end_open_attempts(row, event->time, event->u.requeued.outcome, err);
}

static store_status memory_trial_tell(store *base, int64_t number, int64_t seq, int32_t attempt,
                                      const store_event *event, store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.told.trial);
    row->t.state = event->u.told.state;
    row->t.attempt = attempt;
    row->t.has_value = event->u.told.has_value;
    row->t.value = event->u.told.has_value ? event->u.told.value : 0.0;
    row->t.told_at = event->time;
    row->t.told_seq = seq;
    if (!set_text(&row->t.reason, event->u.told.reason))
        return no_memory(err);
    size_t last = row->n_attempts;
    while (last > 0 && row->attempts[last - 1].attempt != attempt)
        last--;
    if (last > 0) {
        const char *outcome = trial_state_name(event->u.told.state);
        store_status status = end_attempt(&row->attempts[last - 1], event->time, outcome, err);
        if (status)
            return status;
    }
    return end_open_attempts(row, event->time, "superseded", err);
}

/* Nothing beside the log: it is read from there. */
static store_status memory_observation_insert(store *base, int64_t number, int64_t seq, int64_t i,
                                              const store_observation *observation, store_error *err)
{
    (void)base;
    (void)number;
    (void)seq;
    (void)i;
    (void)observation;
    (void)err;
    return STORE_OK;
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

static store_status memory_content_append(store *base, int64_t number, int64_t first, size_t n,
                                          size_t dimension, const double *rows, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_content *content = memory_find_content(s, number);
    if (!content && first == 0) {
        content = calloc(1, sizeof *content);
        if (!content)
            return no_memory(err);
        *content = (memory_content){.next = s->contents, .content = number, .dimension = (int64_t)dimension};
        s->contents = content;
    } else if (!content || content->study || content->count != first ||
               content->dimension != (int64_t)dimension) {
        return store_fail(err, STORE_ABORTED, "upload %lld does not end at row %lld", (long long)number,
                          (long long)first);
    }
    size_t old = (size_t)content->count * dimension;
    double *grown = realloc(content->rows, (old + n * dimension) * sizeof *grown);
    if (!grown)
        return no_memory(err);
    memcpy(grown + old, rows, n * dimension * sizeof *rows);
    content->rows = grown;
    content->count += (int64_t)n;
    return STORE_OK;
}

static store_status memory_content_abandon(store *base, int64_t number, store_error *err)
{
    memory_content *content = memory_find_content(memory_of(base), number);
    (void)err;
    if (content && !content->study)
        free_content(memory_of(base), content);
    return STORE_OK;
}

/* Contents that were replaced stay: a replay passes through them. */
static store_status memory_content_attach(store *base, const study_record *record, const store_event *event,
                                          store_error *err)
{
    memory_store *s = memory_of(base);
    memory_content *content = memory_find_content(s, event->u.candidates.content);
    if (!content || (content->study && !s->replaying) || content->count != event->u.candidates.count ||
        content->dimension != event->u.candidates.dimension)
        return store_fail(err, STORE_NOT_FOUND, "there is no finished upload %lld",
                          (long long)event->u.candidates.content);
    content->study = record->study;
    memory_study *study = memory_find(s, record->study);
    return set_text((const char **)&study->digest, event->u.candidates.digest) ? STORE_OK : no_memory(err);
}

/* ---- answers ------------------------------------------------------------------------------------------- */

memory_answer *memory_find_answer(memory_store *s, const char *token, const char *path, const char *key)
{
    memory_answer *entry = s->answers;
    while (entry && (strcmp(entry->answer->token, token) != 0 || strcmp(entry->answer->path, path) != 0 ||
                     strcmp(entry->answer->key, key) != 0))
        entry = entry->next;
    return entry;
}

/* Frees the answers up to that time. */
static void expire_answers(memory_store *s, int64_t time)
{
    for (memory_answer **link = &s->answers; *link;) {
        memory_answer *entry = *link;
        if (entry->answer->time > time) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        free(entry->answer);
        free(entry);
    }
}

static store_status memory_answer_put(store *base, const store_answer *answer, store_error *err)
{
    memory_store *s = memory_of(base);
    expire_answers(s, answer->time - STORE_ANSWER_KEPT);
    if (memory_find_answer(s, answer->token, answer->path, answer->key))
        return store_fail(err, STORE_EXISTS, "the request with key '%s' has been answered", answer->key);
    memory_answer *entry = calloc(1, sizeof *entry);
    if (!entry || store_answer_copy(&entry->answer, answer)) {
        free(entry);
        return no_memory(err);
    }
    entry->next = s->answers;
    s->answers = entry;
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

/* Frees one deleted study and what it used. */
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
                free_content(s, content);
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
        free_content(s, s->contents);
    expire_answers(s, INT64_MAX);
    pthread_rwlock_destroy(&s->lock);
    free(s);
}

static uint64_t memory_wal_bytes(store *base)
{
    (void)base;
    return 0;
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
    .study_load = memory_study_load,
    .study_save = memory_study_save,
    .study_describe = memory_study_describe,
    .study_delete = memory_study_delete,
    .log_append = memory_log_append,
    .content_attach = memory_content_attach,
    .batch_insert = memory_batch_insert,
    .batch_extend = memory_batch_extend,
    .sum_put = memory_sum_put,
    .trial_insert = memory_trial_insert,
    .trial_load = memory_trial_load,
    .trial_issue = memory_trial_issue,
    .trial_renew = memory_trial_renew,
    .trial_requeue = memory_trial_requeue,
    .trial_tell = memory_trial_tell,
    .observation_insert = memory_observation_insert,
    .content_append = memory_content_append,
    .content_abandon = memory_content_abandon,
    .answer_put = memory_answer_put,
    .touch = memory_touch,
    .after_commit = memory_after_commit,
    .chore = memory_chore,
    .idle = memory_after_commit,
    .close = memory_close,
    .wal_bytes = memory_wal_bytes,
    .read_studies = memory_read_studies,
    .read_study = memory_read_study,
    .read_trials = memory_read_trials,
    .read_trial = memory_read_trial,
    .read_attempts = memory_read_attempts,
    .read_batches = memory_read_batches,
    .read_observations = memory_read_observations,
    .read_candidates = memory_read_candidates,
    .read_engine_state = memory_read_engine_state,
    .read_answer = memory_read_answer,
    .read_log = memory_read_log,
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
