/* Writes the memory backend's tables, except those of trials. */
#include "proto/arrays.h"
#include "server/store/arena.h"
#include "server/store/event.h"
#include "server/store/memory/memory.h"

#include <stdlib.h>
#include <string.h>

store_status memory_exhausted(store_error *err)
{
    return store_fail(err, STORE_NO_MEMORY, "out of memory");
}

void *memory_with_room(void *array, size_t n, size_t size)
{
    if (n > 0 && (n & (n - 1)) != 0)
        return array;
    return realloc(array, (n ? 2 * n : 1) * size);
}

bool memory_set_text(const char **text, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    free((char *)*text);
    *text = copy;
    return true;
}

void *memory_copy(const void *bytes, size_t size)
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
        bool set = memory_set_text(&s->touched->definition, event->u.created.definition) &&
                   memory_set_text(&s->touched->reason, "") && memory_set_text(&s->touched->digest, "");
        return set ? STORE_OK : memory_exhausted(err);
    }
    if (memory_find_id(s, event->u.created.id))
        return store_fail(err, STORE_EXISTS, "there is a study '%s'", event->u.created.id);
    memory_study *study = calloc(1, sizeof *study);
    if (!study)
        return memory_exhausted(err);
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
    return study->id && study->definition && study->reason && study->digest ? STORE_OK
                                                                            : memory_exhausted(err);
}

store_status memory_study_load(store *base, int64_t number, study_record *record, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    if (!study)
        return store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)number);
    if (study->damaged)
        return memory_exhausted(err);
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
    if (definition && !memory_set_text(&study->definition, definition))
        return memory_exhausted(err);
    return memory_set_text(&study->reason, reason) ? STORE_OK : memory_exhausted(err);
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
                               const char *payload, const log_chain *chain, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_study *study = memory_find(s, number);
    (void)seq; /* entry i has log position i + 1 */
    if (s->replaying)
        return STORE_OK;
    touch_study(s, study);
    memory_log entry = {.chain = *chain};
    memory_log *log = memory_with_room(study->log, study->n_log, sizeof entry);
    if (!log)
        return memory_exhausted(err);
    study->log = log;
    if (store_event_copy(&entry.event, event))
        return memory_exhausted(err);
    entry.payload = strdup(payload);
    if (!entry.payload) {
        free(entry.event);
        return memory_exhausted(err);
    }
    study->log[study->n_log++] = entry;
    return STORE_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------- */

store_status memory_batch_insert(store *base, int64_t number, const store_event *event, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    memory_batch *batches = memory_with_room(study->batches, study->n_batches, sizeof *batches);
    if (!batches)
        return memory_exhausted(err);
    study->batches = batches;
    memory_batch *batch = &batches[study->n_batches++];
    *batch = (memory_batch){.b = event->u.planned.batch, .through_seq = event->u.planned.through_seq};
    batch->b.through_seq = batch->through_seq;
    batch->b.stop_rule = strdup(event->u.planned.batch.stop_rule);
    batch->b.code_path = strdup(event->u.planned.batch.code_path);
    batch->b.advice = strdup(event->u.planned.batch.advice);
    batch->dictionary =
        memory_copy(event->u.planned.dictionary, (size_t)batch->b.dictionary_size * sizeof(uint32_t));
    free(study->engine);
    study->engine = memory_copy(event->u.planned.engine_state, event->u.planned.n_engine_state);
    study->n_engine = event->u.planned.n_engine_state;
    bool complete =
        batch->b.stop_rule && batch->b.code_path && batch->b.advice && batch->dictionary && study->engine;
    return complete ? STORE_OK : memory_exhausted(err);
}

store_status memory_batch_extend(store *base, int64_t number, const store_event *event, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_batch *batch = &study->batches[event->u.extended.batch].b;
    batch->size += (int64_t)event->u.extended.n_picks;
    batch->ratio = event->u.extended.ratio;
    return memory_set_text(&batch->stop_rule, event->u.extended.stop_rule) ? STORE_OK : memory_exhausted(err);
}

static store_status put_sum(memory_study *study, const store_arm_sum *sum, store_error *err)
{
    size_t i;
    BANDIT_LOWER_BOUND(i, study->n_sums, k, study->sums[k].arm < sum->arm);
    if (i == study->n_sums || study->sums[i].arm != sum->arm) {
        store_arm_sum *sums = memory_with_room(study->sums, study->n_sums, sizeof *sums);
        if (!sums)
            return memory_exhausted(err);
        study->sums = sums;
        memmove(study->sums + i + 1, study->sums + i, (study->n_sums - i) * sizeof *sum);
        study->n_sums++;
    }
    study->sums[i] = *sum;
    return STORE_OK;
}

store_status memory_sums_put(store *base, int64_t number, const store_arm_sum *sums, size_t n,
                             store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < n; i++)
        status = put_sum(study, &sums[i], err);
    return status;
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
            return memory_exhausted(err);
        *content = (memory_content){.next = s->contents, .content = number, .dimension = (int64_t)dimension};
        s->contents = content;
    } else if (!content || content->study || content->count != first ||
               content->dimension != (int64_t)dimension) {
        return store_fail(err, STORE_ABORTED, "upload %lld does not end at row %lld", (long long)number,
                          (long long)first);
    }
    return append_rows(content, n, rows) ? STORE_OK : memory_exhausted(err);
}

/* Rows after the study's candidates remain from an undone write; they are overwritten. */
store_status memory_content_extend(store *base, const study_record *record, const store_points *points,
                                   int64_t *number, store_error *err)
{
    memory_store *s = memory_of(base);
    memory_content *content = *number ? memory_find_content(s, *number) : NULL;
    if (!content) {
        content = calloc(1, sizeof *content);
        if (!content)
            return memory_exhausted(err);
        *content = (memory_content){.next = s->contents,
                                    .content = store_new_content(base),
                                    .study = record->study,
                                    .dimension = points->dimension};
        s->contents = content;
        *number = content->content;
    }
    content->count = record->candidates;
    return append_rows(content, points->n, points->rows) ? STORE_OK : memory_exhausted(err);
}

store_status memory_candidate_retire(store *base, int64_t number, uint32_t candidate, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    size_t i = study->n_retired;
    uint32_t *retired = memory_with_room(study->retired, study->n_retired, sizeof *retired);
    if (!retired)
        return memory_exhausted(err);
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

store_status memory_candidate_restore(store *base, int64_t number, uint32_t candidate, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    size_t i;
    BANDIT_LOWER_BOUND(i, study->n_retired, k, study->retired[k] < candidate);
    if (i == study->n_retired || study->retired[i] != candidate)
        return store_fail(err, STORE_NOT_FOUND, "candidate %u is not retired", candidate);
    study->n_retired--;
    memmove(study->retired + i, study->retired + i + 1, (study->n_retired - i) * sizeof *study->retired);
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

/* Replaced contents are kept, since undoing a write applies the events that attached them again. */
store_status memory_content_attach(store *base, const study_record *record, const store_event *event,
                                   store_error *err)
{
    memory_store *s = memory_of(base);
    memory_content *content = memory_find_content(s, event->u.candidates.content);
    memory_study *study = memory_find(s, record->study);
    if (event->u.candidates.content == 0)
        return memory_set_text(&study->digest, event->u.candidates.digest) ? STORE_OK : memory_exhausted(err);
    if (content && s->replaying)
        content->count = event->u.candidates.count; /* later events add their rows again */
    if (!content || (content->study && !s->replaying) || content->count != event->u.candidates.count ||
        content->dimension != event->u.candidates.dimension)
        return store_fail(err, STORE_NOT_FOUND, "there is no finished upload %lld",
                          (long long)event->u.candidates.content);
    content->study = record->study;
    return memory_set_text(&study->digest, event->u.candidates.digest) ? STORE_OK : memory_exhausted(err);
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
        return memory_exhausted(err);
    }
    entry->next = s->answers;
    s->answers = entry;
    return STORE_OK;
}
