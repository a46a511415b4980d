/* The memory backend's tables, as apply.c writes them. */
#include "server/store/event.h"
#include "server/store/memory.h"

#include <stdlib.h>
#include <string.h>

static store_status no_memory(store_error *err)
{
    return store_fail(err, STORE_NO_MEMORY, "out of memory");
}

/* The array with room for one element more than n, perhaps elsewhere; NULL (and the array stays) without
 * memory. The capacity is the power of two not below n. */
static void *with_room(void *array, size_t n, size_t size)
{
    if (n > 0 && (n & (n - 1)) != 0)
        return array;
    return realloc(array, (n ? 2 * n : 1) * size);
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

static void touch_study(memory_store *s, memory_study *study)
{
    if (s->touched != study) {
        s->touched = study;
        s->kept = study->n_log;
    }
}

/* ---- studies ------------------------------------------------------------------------------------------- */

store_status memory_study_count(store *base, size_t *n, store_error *err)
{
    (void)err;
    *n = 0;
    for (const memory_study *study = memory_of(base)->studies; study; study = study->next)
        *n += !study->deleted && !study->staged;
    return STORE_OK;
}

store_status memory_study_insert(store *base, const store_event *event, int64_t epoch, study_record *record,
                                 store_error *err)
{
    memory_store *s = memory_of(base);
    *record = (study_record){.study = s->last_study + 1, .epoch = epoch, .state = event->u.created.state};
    if (s->replaying) {
        record->study = s->touched->record.study;
        bool set = set_text(&s->touched->definition, event->u.created.definition) &&
                   set_text(&s->touched->reason, "") && set_text(&s->touched->digest, "");
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

store_status memory_study_load(store *base, int64_t number, study_record *record, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    if (!study)
        return store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)number);
    if (study->damaged)
        return no_memory(err);
    *record = study->record;
    return STORE_OK;
}

store_status memory_study_save(store *base, const study_record *record, store_error *err)
{
    (void)err;
    memory_find(memory_of(base), record->study)->record = *record;
    return STORE_OK;
}

store_status memory_study_describe(store *base, const study_record *record, const char *definition,
                                   const char *reason, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), record->study);
    if (definition && !set_text(&study->definition, definition))
        return no_memory(err);
    return set_text(&study->reason, reason) ? STORE_OK : no_memory(err);
}

store_status memory_study_delete(store *base, int64_t number, store_error *err)
{
    (void)err;
    memory_study *study = memory_find(memory_of(base), number);
    memory_remove_tokens_of(memory_of(base), study->id);
    study->deleted = true;
    return STORE_OK;
}

store_status memory_study_stage(store *base, int64_t number, store_error *err)
{
    (void)err;
    memory_find(memory_of(base), number)->staged = true;
    return STORE_OK;
}

store_status memory_study_publish(store *base, int64_t number, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_study *study = memory_find(s, number);
    if (!study || !study->staged)
        return store_fail(err, STORE_NOT_FOUND, "there is no staged study %lld", (long long)number);
    if (memory_find_id(s, study->id))
        return store_fail(err, STORE_EXISTS, "there is a study '%s'", study->id);
    study->staged = false;
    return STORE_OK;
}

store_status memory_log_append(store *base, int64_t number, int64_t seq, const store_event *event,
                               const char *payload, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_study *study = memory_find(s, number);
    (void)seq; /* entry i has log position i + 1 */
    if (s->replaying)
        return STORE_OK;
    touch_study(s, study);
    memory_log entry = {0};
    memory_log *log = with_room(study->log, study->n_log, sizeof entry);
    if (!log)
        return no_memory(err);
    study->log = log;
    if (store_event_copy(&entry.event, event))
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

store_status memory_batch_insert(store *base, int64_t number, const store_event *event, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    memory_batch *batches = with_room(study->batches, study->n_batches, sizeof *batches);
    if (!batches)
        return no_memory(err);
    study->batches = batches;
    memory_batch *batch = &batches[study->n_batches++];
    *batch = (memory_batch){.b = event->u.planned.batch, .through_seq = event->u.planned.through_seq};
    batch->b.through_seq = batch->through_seq;
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

store_status memory_batch_extend(store *base, int64_t number, const store_event *event, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_batch *batch = &study->batches[event->u.extended.batch].b;
    batch->size += (int64_t)event->u.extended.n_picks;
    batch->ratio = event->u.extended.ratio;
    return set_text(&batch->stop_rule, event->u.extended.stop_rule) ? STORE_OK : no_memory(err);
}

store_status memory_sum_put(store *base, int64_t number, const store_arm_sum *sum, store_error *err)
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
        store_arm_sum *sums = with_room(study->sums, study->n_sums, sizeof *sums);
        if (!sums)
            return no_memory(err);
        study->sums = sums;
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

store_status memory_trial_insert(store *base, int64_t number, int64_t trial, int64_t batch,
                                 const store_pick *pick, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    memory_trial *trials = with_room(study->trials, study->n_trials, sizeof *trials);
    if (!trials)
        return no_memory(err);
    study->trials = trials;
    memory_trial *row = &trials[study->n_trials++];
    *row = (memory_trial){.t = {.trial = trial,
                                .batch = batch,
                                .candidate = pick->candidate,
                                .variance = pick->variance,
                                .repeats = 1,
                                .worker = strdup(""),
                                .reason = strdup(""),
                                .recorded = strdup(""),
                                .metadata = strdup("")}};
    bool complete = row->t.worker && row->t.reason && row->t.recorded && row->t.metadata;
    return complete ? STORE_OK : no_memory(err);
}

store_status memory_trial_load(store *base, int64_t number, int64_t trial, trial_record *record,
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

store_status memory_trial_issue(store *base, int64_t number, int64_t seq, const store_event *event,
                                store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.issued.trial);
    (void)seq; /* attempts are in the order of the log */
    row->t.state = TRIAL_PENDING;
    row->t.attempt = event->u.issued.attempt;
    row->t.issued_at = event->time;
    row->t.lease_expires_at = event->u.issued.lease_expires_at;
    store_attempt *attempts = with_room(row->attempts, row->n_attempts, sizeof *attempts);
    if (!attempts)
        return no_memory(err);
    row->attempts = attempts;
    if (!set_text(&row->t.worker, event->u.issued.worker))
        return no_memory(err);
    store_attempt *attempt = &attempts[row->n_attempts++];
    *attempt = (store_attempt){.attempt = event->u.issued.attempt,
                               .worker = strdup(event->u.issued.worker),
                               .issued_at = event->time,
                               .lease_expires_at = event->u.issued.lease_expires_at,
                               .outcome = strdup("")};
    return attempt->worker && attempt->outcome ? STORE_OK : no_memory(err);
}

store_status memory_trial_renew(store *base, int64_t number, const store_event *event, store_error *err)
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

store_status memory_trial_requeue(store *base, int64_t number, int32_t attempt, const store_event *event,
                                  store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.requeued.trial);
    row->t.state = TRIAL_QUEUED;
    row->t.attempt = attempt;
    while (!event->u.requeued.attempt_counts && row->n_measurements > 0 &&
           row->measurements[row->n_measurements - 1].attempt > attempt)
        row->n_measurements--; /* what the attempt that is given back has measured */
    return end_open_attempts(row, event->time, event->u.requeued.outcome, err);
}

store_status memory_trial_tell(store *base, int64_t number, int64_t seq, int32_t attempt,
                               const store_event *event, store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.told.trial);
    row->t.state = event->u.told.state;
    row->t.attempt = attempt;
    row->t.has_value = event->u.told.has_value;
    row->t.value = event->u.told.has_value ? event->u.told.value : 0.0;
    row->t.told_at = event->time;
    row->t.told_seq = seq;
    row->t.repeats = event->u.told.repeats;
    if (!set_text(&row->t.reason, event->u.told.reason) ||
        !set_text(&row->t.recorded, event->u.told.recorded) ||
        !set_text(&row->t.metadata, event->u.told.metadata))
        return no_memory(err);
    const char *outcome = trial_state_name(event->u.told.state);
    if (event->u.told.attempt == 0)
        return end_open_attempts(row, event->time, outcome, err);
    size_t last = row->n_attempts;
    while (last > 0 && row->attempts[last - 1].attempt != attempt)
        last--;
    if (last > 0) {
        store_status status = end_attempt(&row->attempts[last - 1], event->time, outcome, err);
        if (status)
            return status;
    }
    return end_open_attempts(row, event->time, "superseded", err);
}

store_status memory_late_result_insert(store *base, int64_t number, int64_t seq, const store_event *event,
                                       store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_late_result *late = with_room(study->late, study->n_late, sizeof *late);
    if (!late)
        return no_memory(err);
    study->late = late;
    store_late_result *row = &late[study->n_late++];
    *row = (store_late_result){.trial = event->u.late.trial,
                               .candidate = find_trial(base, number, event->u.late.trial)->t.candidate,
                               .attempt = event->u.late.attempt,
                               .value = event->u.late.value,
                               .repeats = event->u.late.repeats,
                               .recorded = strdup(event->u.late.recorded),
                               .metadata = strdup(event->u.late.metadata),
                               .told_at = event->time,
                               .told_seq = seq};
    return row->recorded && row->metadata ? STORE_OK : no_memory(err);
}

store_status memory_trial_amend(store *base, int64_t number, int64_t seq, const store_event *event,
                                store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_trial *t = &find_trial(base, number, event->u.amended.trial)->t;
    bool has_value = event->u.amended.has_value;
    store_amendment *amendments = with_room(study->amendments, study->n_amendments, sizeof *amendments);
    if (!amendments)
        return no_memory(err);
    study->amendments = amendments;
    store_amendment *row = &amendments[study->n_amendments++];
    *row = (store_amendment){.trial = t->trial,
                             .seq = seq,
                             .amended_at = event->time,
                             .reason = strdup(event->u.amended.reason),
                             .was = t->state,
                             .had_value = t->has_value,
                             .value = t->value,
                             .repeats = t->repeats,
                             .recorded = strdup(t->recorded),
                             .was_reason = strdup(t->reason)};
    if (!row->reason || !row->recorded || !row->was_reason)
        return no_memory(err);
    t->state = event->u.amended.state;
    t->has_value = has_value;
    t->value = has_value ? event->u.amended.value : 0.0;
    t->repeats = has_value ? t->repeats : 1;
    bool set = set_text(&t->recorded, event->u.amended.recorded) &&
               set_text(&t->reason, has_value ? "" : event->u.amended.reason);
    return set ? STORE_OK : no_memory(err);
}

static bool is_before(const store_measurement *m, int32_t attempt, int64_t step)
{
    return m->attempt < attempt || (m->attempt == attempt && m->step < step);
}

store_status memory_measurement_put(store *base, int64_t number, const store_event *event, store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.measured.trial);
    int32_t attempt = event->u.measured.attempt;
    int64_t step = event->u.measured.step;
    store_measurement *list = with_room(row->measurements, row->n_measurements, sizeof *list);
    if (!list)
        return no_memory(err);
    row->measurements = list;
    size_t i = row->n_measurements;
    while (i > 0 && !is_before(&list[i - 1], attempt, step))
        i--;
    if (i == row->n_measurements || list[i].attempt != attempt || list[i].step != step) {
        memmove(list + i + 1, list + i, (row->n_measurements - i) * sizeof *list);
        row->n_measurements++;
    }
    list[i] = (store_measurement){.trial = row->t.trial,
                                  .attempt = attempt,
                                  .step = step,
                                  .value = event->u.measured.value,
                                  .time = event->time};
    return STORE_OK;
}

/* Nothing beside the log: it is read from there. */
store_status memory_observation_insert(store *base, int64_t number, int64_t seq, int64_t i,
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

static bool append_rows(memory_content *content, size_t n, const double *rows)
{
    size_t width = (size_t)content->dimension, old = (size_t)content->count * width;
    double *grown = realloc(content->rows, (old + n * width) * sizeof *grown);
    if (!grown)
        return false;
    memcpy(grown + old, rows, n * width * sizeof *rows);
    content->rows = grown;
    content->count += (int64_t)n;
    return true;
}

store_status memory_content_append(store *base, int64_t number, int64_t first, size_t n, size_t dimension,
                                   const double *rows, store_error *err)
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
    return append_rows(content, n, rows) ? STORE_OK : no_memory(err);
}

/* What an undone write has added is cut off again. */
store_status memory_content_extend(store *base, const study_record *record, const store_points *points,
                                   int64_t *number, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_content *content = *number ? memory_find_content(s, *number) : NULL;
    if (!content) {
        content = calloc(1, sizeof *content);
        if (!content)
            return no_memory(err);
        *content = (memory_content){.next = s->contents,
                                    .content = store_new_content(base),
                                    .study = record->study,
                                    .dimension = points->dimension};
        s->contents = content;
        *number = content->content;
    }
    content->count = record->candidates;
    return append_rows(content, points->n, points->rows) ? STORE_OK : no_memory(err);
}

store_status memory_candidate_retire(store *base, int64_t number, uint32_t candidate, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    size_t i = study->n_retired;
    uint32_t *retired = with_room(study->retired, study->n_retired, sizeof *retired);
    if (!retired)
        return no_memory(err);
    study->retired = retired;
    while (i > 0 && retired[i - 1] > candidate)
        i--;
    if (i > 0 && retired[i - 1] == candidate)
        return store_fail(err, STORE_EXISTS, "candidate %u has been retired already", candidate);
    memmove(retired + i + 1, retired + i, (study->n_retired - i) * sizeof *retired);
    retired[i] = candidate;
    study->n_retired++;
    return STORE_OK;
}

store_status memory_content_abandon(store *base, int64_t number, store_error *err)
{
    memory_content *content = memory_find_content(memory_of(base), number);
    (void)err;
    if (content && !content->study)
        memory_free_content(memory_of(base), content);
    return STORE_OK;
}

/* Contents that were replaced stay: a replay passes through them. */
store_status memory_content_attach(store *base, const study_record *record, const store_event *event,
                                   store_error *err)
{
    memory_store *s = memory_of(base);
    memory_content *content = memory_find_content(s, event->u.candidates.content);
    memory_study *study = memory_find(s, record->study);
    if (event->u.candidates.content == 0)
        return set_text(&study->digest, event->u.candidates.digest) ? STORE_OK : no_memory(err);
    if (content && s->replaying)
        content->count = event->u.candidates.count; /* those added later are added again */
    if (!content || (content->study && !s->replaying) || content->count != event->u.candidates.count ||
        content->dimension != event->u.candidates.dimension)
        return store_fail(err, STORE_NOT_FOUND, "there is no finished upload %lld",
                          (long long)event->u.candidates.content);
    content->study = record->study;
    return set_text(&study->digest, event->u.candidates.digest) ? STORE_OK : no_memory(err);
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
void memory_expire_answers(memory_store *s, int64_t time)
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

store_status memory_answer_put(store *base, const store_answer *answer, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_expire_answers(s, answer->time - STORE_ANSWER_KEPT);
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
