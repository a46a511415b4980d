#include "server/store/event.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pass measures (block NULL), a second one copies into the block; what is pointed to is aligned. */
typedef struct arena {
    unsigned char *block;
    size_t used;
} arena;

static void *arena_copy(arena *a, const void *data, size_t size)
{
    enum { alignment = 8 };
    void *copy = NULL;
    if (a->block) {
        copy = a->block + a->used;
        if (size > 0)
            memcpy(copy, data, size);
    }
    a->used += (size + alignment - 1) / alignment * alignment;
    return copy;
}

static const char *arena_text(arena *a, const char *text)
{
    return text ? arena_copy(a, text, strlen(text) + 1) : NULL;
}

static const char *arena_text_or_empty(arena *a, const char *text)
{
    return arena_text(a, text ? text : "");
}

static double canonical(double x)
{
    return isfinite(x) ? x + 0.0 : NAN; /* −0.0 + 0.0 = +0.0 */
}

static const double *copy_rows(arena *a, const double *rows, size_t n)
{
    double *copy = arena_copy(a, rows, n * sizeof *rows);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = canonical(copy[i]);
    return copy;
}

static const store_pick *copy_picks(arena *a, const store_pick *picks, size_t n)
{
    store_pick *copy = arena_copy(a, picks, n * sizeof *picks);
    for (size_t i = 0; copy && i < n; i++)
        copy[i].variance = canonical(copy[i].variance);
    return copy;
}

static const store_observation *copy_observations(arena *a, const store_observation *list, size_t n)
{
    store_observation *copy = arena_copy(a, list, n * sizeof *list);
    for (size_t i = 0; copy && i < n; i++) {
        assert(isfinite(copy[i].value));
        copy[i].value = canonical(copy[i].value);
    }
    return copy;
}

static store_points copy_points(arena *a, store_points points)
{
    points.rows = copy_rows(a, points.rows, points.n * (size_t)points.dimension);
    return points;
}

static store_held copy_held(arena *a, store_held held)
{
    held.values = copy_rows(a, held.values, held.n_values);
    return held;
}

static void copy_planned(arena *a, store_event *event)
{
    store_batch *batch = &event->u.planned.batch;
    batch->stop_rule = arena_text_or_empty(a, batch->stop_rule);
    batch->code_path = arena_text_or_empty(a, batch->code_path);
    batch->ratio = canonical(batch->ratio);
    batch->beta = canonical(batch->beta);
    batch->update_seconds = canonical(batch->update_seconds);
    batch->select_seconds = canonical(batch->select_seconds);
    event->u.planned.dictionary =
        arena_copy(a, event->u.planned.dictionary, (size_t)batch->dictionary_size * sizeof(uint32_t));
    event->u.planned.sums =
        arena_copy(a, event->u.planned.sums, event->u.planned.n_sums * sizeof(store_arm_sum));
    event->u.planned.engine_state =
        arena_copy(a, event->u.planned.engine_state, event->u.planned.n_engine_state);
    event->u.planned.points = copy_points(a, event->u.planned.points);
    event->u.planned.held = copy_held(a, event->u.planned.held);
    event->u.planned.picks = copy_picks(a, event->u.planned.picks, event->u.planned.n_picks);
}

/* Replaces the pointers of *event, itself a copy already, by copies in the arena (or by NULL). */
static void copy_parts(arena *a, store_event *event)
{
    switch (event->type) {
    case EVENT_STUDY_CREATED:
        event->u.created.id = arena_text(a, event->u.created.id);
        event->u.created.definition = arena_text(a, event->u.created.definition);
        break;
    case EVENT_STUDY_CHANGED:
        event->u.changed.definition = arena_text(a, event->u.changed.definition);
        event->u.changed.reason = arena_text_or_empty(a, event->u.changed.reason);
        break;
    case EVENT_CANDIDATES_SET:
        event->u.candidates.digest = arena_text_or_empty(a, event->u.candidates.digest);
        break;
    case EVENT_CANDIDATES_ADDED:
        event->u.added.points = copy_points(a, event->u.added.points);
        break;
    case EVENT_CANDIDATES_RETIRED:
        event->u.retired.list =
            arena_copy(a, event->u.retired.list, event->u.retired.n * sizeof *event->u.retired.list);
        break;
    case EVENT_BATCH_PLANNED:
        copy_planned(a, event);
        break;
    case EVENT_BATCH_EXTENDED:
        event->u.extended.ratio = canonical(event->u.extended.ratio);
        event->u.extended.stop_rule = arena_text_or_empty(a, event->u.extended.stop_rule);
        event->u.extended.points = copy_points(a, event->u.extended.points);
        event->u.extended.held = copy_held(a, event->u.extended.held);
        event->u.extended.picks = copy_picks(a, event->u.extended.picks, event->u.extended.n_picks);
        break;
    case EVENT_TRIAL_ISSUED:
        event->u.issued.worker = arena_text_or_empty(a, event->u.issued.worker);
        break;
    case EVENT_TRIAL_RENEWED:
        event->u.renewed.worker = arena_text(a, event->u.renewed.worker);
        break;
    case EVENT_TRIAL_REQUEUED:
        event->u.requeued.outcome = arena_text_or_empty(a, event->u.requeued.outcome);
        break;
    case EVENT_TRIAL_TOLD:
        assert(!event->u.told.has_value || isfinite(event->u.told.value));
        assert(event->u.told.has_value || !event->u.told.better);
        event->u.told.value = event->u.told.has_value ? canonical(event->u.told.value) : NAN;
        event->u.told.reason = arena_text_or_empty(a, event->u.told.reason);
        event->u.told.recorded = arena_text_or_empty(a, event->u.told.recorded);
        event->u.told.metadata = arena_text_or_empty(a, event->u.told.metadata);
        if (event->u.told.repeats == 0)
            event->u.told.repeats = 1;
        break;
    case EVENT_TRIAL_PROPOSED:
        event->u.proposed.pick.variance = canonical(event->u.proposed.pick.variance);
        break;
    case EVENT_LATE_RESULT_TOLD:
        assert(isfinite(event->u.late.value));
        event->u.late.value = canonical(event->u.late.value);
        event->u.late.recorded = arena_text_or_empty(a, event->u.late.recorded);
        event->u.late.metadata = arena_text_or_empty(a, event->u.late.metadata);
        if (event->u.late.repeats == 0)
            event->u.late.repeats = 1;
        break;
    case EVENT_TRIAL_AMENDED:
        assert(!event->u.amended.has_value || isfinite(event->u.amended.value));
        event->u.amended.value = event->u.amended.has_value ? canonical(event->u.amended.value) : NAN;
        event->u.amended.best_value =
            event->u.amended.best_trial ? canonical(event->u.amended.best_value) : 0.0;
        event->u.amended.recorded = arena_text_or_empty(a, event->u.amended.recorded);
        event->u.amended.reason = arena_text_or_empty(a, event->u.amended.reason);
        break;
    case EVENT_TRIAL_MEASURED:
        assert(isfinite(event->u.measured.value));
        event->u.measured.value = canonical(event->u.measured.value);
        break;
    case EVENT_OBSERVATIONS_ADDED:
        event->u.observed.list = copy_observations(a, event->u.observed.list, event->u.observed.n);
        break;
    case STORE_EVENT_TYPES:
        assert(!"an event has a type");
    }
}

store_status store_event_copy(store_event **out, const store_event *event)
{
    *out = NULL;
    store_event measured = *event;
    arena a = {.block = NULL, .used = 0};
    arena_copy(&a, event, sizeof *event);
    copy_parts(&a, &measured);
    unsigned char *block = malloc(a.used);
    if (!block)
        return STORE_NO_MEMORY;
    a = (arena){.block = block, .used = 0};
    store_event *copy = arena_copy(&a, event, sizeof *event);
    copy_parts(&a, copy);
    *out = copy;
    return STORE_OK;
}

/* The parts only; *answer is a copy already. */
static void copy_answer(arena *a, store_answer *answer)
{
    answer->token = arena_text_or_empty(a, answer->token);
    answer->path = arena_text_or_empty(a, answer->path);
    answer->key = arena_text_or_empty(a, answer->key);
    answer->response = arena_copy(a, answer->response, answer->n_response);
}

store_status store_answer_copy(store_answer **out, const store_answer *answer)
{
    *out = NULL;
    store_answer measured = *answer;
    arena a = {.block = NULL, .used = 0};
    arena_copy(&a, answer, sizeof *answer);
    copy_answer(&a, &measured);
    unsigned char *block = malloc(a.used);
    if (!block)
        return STORE_NO_MEMORY;
    a = (arena){.block = block, .used = 0};
    store_answer *copy = arena_copy(&a, answer, sizeof *answer);
    copy_answer(&a, copy);
    *out = copy;
    return STORE_OK;
}

static void copy_token(arena *a, store_token *token)
{
    token->id = arena_text(a, token->id);
    token->role = arena_text(a, token->role);
    token->study = arena_text(a, token->study);
    token->description = arena_text(a, token->description);
}

store_status store_token_copy(store_token **out, const store_token *token)
{
    *out = NULL;
    store_token measured = *token;
    arena a = {.block = NULL, .used = 0};
    arena_copy(&a, token, sizeof *token);
    copy_token(&a, &measured);
    unsigned char *block = malloc(a.used);
    if (!block)
        return STORE_NO_MEMORY;
    a = (arena){.block = block, .used = 0};
    store_token *copy = arena_copy(&a, token, sizeof *token);
    copy_token(&a, copy);
    *out = copy;
    return STORE_OK;
}
