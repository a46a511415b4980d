#include "server/store/event.h"

#include "proto/json_writer.h"

#include <math.h>
#include <stdlib.h>

static void member_text(wire_writer *w, const char *key, const char *text)
{
    wire_key(w, key);
    wire_string(w, text);
}

static void member_integer(wire_writer *w, const char *key, int64_t value)
{
    wire_key(w, key);
    wire_integer_value(w, value);
}

static void real_or_null(wire_writer *w, double value)
{
    if (isfinite(value))
        wire_real(w, value);
    else
        wire_null(w);
}

static void member_real(wire_writer *w, const char *key, double value)
{
    wire_key(w, key);
    real_or_null(w, value);
}

static void member_picks(wire_writer *w, int64_t first_trial, const store_pick *picks, size_t n)
{
    member_integer(w, "first_trial", first_trial);
    wire_key(w, "picks"); /* [candidate, variance] */
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        wire_array_begin(w);
        wire_integer_value(w, picks[i].candidate);
        real_or_null(w, picks[i].variance);
        wire_array_end(w);
    }
    wire_array_end(w);
}

static void member_rows(wire_writer *w, const char *key, const store_points *points)
{
    size_t dimension = (size_t)points->dimension;
    wire_key(w, key);
    wire_array_begin(w);
    for (size_t i = 0; i < points->n; i++) {
        wire_array_begin(w);
        for (size_t j = 0; j < dimension; j++)
            real_or_null(w, points->rows[i * dimension + j]);
        wire_array_end(w);
    }
    wire_array_end(w);
}

/* What a plan in a space has beside its picks. */
static void member_points(wire_writer *w, const store_points *points)
{
    if (points->n == 0)
        return;
    member_integer(w, "parameters", points->dimension);
    member_rows(w, "points", points);
}

static void member_held(wire_writer *w, const store_held *held)
{
    if (held->n_values == 0)
        return;
    wire_key(w, "held");
    wire_array_begin(w);
    for (size_t i = 0; i < held->n_values; i++)
        real_or_null(w, held->values[i]);
    wire_array_end(w);
    member_integer(w, "held_picks", (int64_t)held->n_picks);
}

/* The state in hexadecimal; the caller frees it. NULL: out of memory. */
static char *hexadecimal(const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * n + 1);
    if (!text)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * n] = '\0';
    return text;
}

static store_status encode_planned(wire_writer *w, const store_event *event)
{
    char *state = hexadecimal(event->u.planned.engine_state, event->u.planned.n_engine_state);
    if (!state)
        return STORE_NO_MEMORY;
    const store_batch *batch = &event->u.planned.batch;
    member_integer(w, "batch", batch->batch);
    member_integer(w, "size", batch->size);
    member_real(w, "ratio", batch->ratio);
    member_text(w, "stop_rule", batch->stop_rule);
    member_real(w, "beta", batch->beta);
    member_integer(w, "observations", batch->observations);
    member_real(w, "update_seconds", batch->update_seconds);
    member_real(w, "select_seconds", batch->select_seconds);
    member_integer(w, "started_at", batch->started_at);
    member_text(w, "code_path", batch->code_path);
    member_integer(w, "through_seq", event->u.planned.through_seq);
    wire_key(w, "dictionary");
    wire_array_begin(w);
    for (int64_t i = 0; i < batch->dictionary_size; i++)
        wire_integer_value(w, event->u.planned.dictionary[i]);
    wire_array_end(w);
    wire_key(w, "sums"); /* [arm, count, sum] */
    wire_array_begin(w);
    for (size_t i = 0; i < event->u.planned.n_sums; i++) {
        const store_arm_sum *sum = &event->u.planned.sums[i];
        wire_array_begin(w);
        wire_integer_value(w, sum->arm);
        wire_integer_value(w, (int64_t)sum->count);
        real_or_null(w, sum->sum);
        wire_array_end(w);
    }
    wire_array_end(w);
    member_text(w, "engine_state", state); /* hexadecimal */
    free(state);
    member_picks(w, event->u.planned.first_trial, event->u.planned.picks, event->u.planned.n_picks);
    member_held(w, &event->u.planned.held);
    member_points(w, &event->u.planned.points);
    return STORE_OK;
}

static void encode_observed(wire_writer *w, const store_event *event)
{
    wire_key(w, "observations"); /* [candidate, repeats, value] */
    wire_array_begin(w);
    for (size_t i = 0; i < event->u.observed.n; i++) {
        const store_observation *observation = &event->u.observed.list[i];
        wire_array_begin(w);
        wire_integer_value(w, observation->candidate);
        wire_integer_value(w, observation->repeats);
        wire_real(w, observation->value);
        wire_array_end(w);
    }
    wire_array_end(w);
}

static void encode_added(wire_writer *w, const store_event *event)
{
    member_integer(w, "first", event->u.added.first);
    member_integer(w, "dimension", event->u.added.points.dimension);
    member_rows(w, "rows", &event->u.added.points);
}

static void encode_retired(wire_writer *w, const store_event *event)
{
    wire_key(w, "candidates");
    wire_array_begin(w);
    for (size_t i = 0; i < event->u.retired.n; i++)
        wire_integer_value(w, event->u.retired.list[i]);
    wire_array_end(w);
}

/* What a value was told with; left out where it is usual. Objects as strings, so that they read back to the
 * same bytes. */
static void encode_told_with(wire_writer *w, int64_t repeats, const char *recorded, const char *metadata)
{
    if (repeats != 1)
        member_integer(w, "repeats", repeats);
    if (*recorded)
        member_text(w, "recorded", recorded);
    if (*metadata)
        member_text(w, "metadata", metadata);
}

store_status store_event_encode(char **out, const store_event *event)
{
    *out = NULL;
    wire_writer w = WIRE_WRITER_INIT;
    store_status status = STORE_OK;
    wire_object_begin(&w);
    switch (event->type) {
    case EVENT_STUDY_CREATED:
        member_text(&w, "id", event->u.created.id);
        /* As a string, so that reading it back gives the same bytes. */
        member_text(&w, "definition", event->u.created.definition);
        member_text(&w, "state", study_state_name(event->u.created.state));
        break;
    case EVENT_STUDY_CHANGED:
        if (event->u.changed.definition)
            member_text(&w, "definition", event->u.changed.definition);
        member_text(&w, "state", study_state_name(event->u.changed.state));
        member_text(&w, "reason", event->u.changed.reason);
        break;
    case EVENT_CANDIDATES_SET:
        member_integer(&w, "content", event->u.candidates.content);
        member_integer(&w, "count", event->u.candidates.count);
        member_integer(&w, "dimension", event->u.candidates.dimension);
        member_text(&w, "digest", event->u.candidates.digest);
        break;
    case EVENT_CANDIDATES_ADDED:
        encode_added(&w, event);
        break;
    case EVENT_CANDIDATES_RETIRED:
        encode_retired(&w, event);
        break;
    case EVENT_BATCH_PLANNED:
        status = encode_planned(&w, event);
        break;
    case EVENT_BATCH_EXTENDED:
        member_integer(&w, "batch", event->u.extended.batch);
        member_integer(&w, "through_seq", event->u.extended.through_seq);
        member_real(&w, "ratio", event->u.extended.ratio);
        member_text(&w, "stop_rule", event->u.extended.stop_rule);
        member_picks(&w, event->u.extended.first_trial, event->u.extended.picks, event->u.extended.n_picks);
        member_held(&w, &event->u.extended.held);
        member_points(&w, &event->u.extended.points);
        break;
    case EVENT_TRIAL_ISSUED:
        member_integer(&w, "trial", event->u.issued.trial);
        member_integer(&w, "attempt", event->u.issued.attempt);
        member_text(&w, "worker", event->u.issued.worker);
        member_integer(&w, "lease_expires_at", event->u.issued.lease_expires_at);
        break;
    case EVENT_TRIAL_RENEWED:
        member_integer(&w, "trial", event->u.renewed.trial);
        member_integer(&w, "attempt", event->u.renewed.attempt);
        if (event->u.renewed.worker)
            member_text(&w, "worker", event->u.renewed.worker);
        member_integer(&w, "lease_expires_at", event->u.renewed.lease_expires_at);
        break;
    case EVENT_TRIAL_REQUEUED:
        member_integer(&w, "trial", event->u.requeued.trial);
        member_text(&w, "outcome", event->u.requeued.outcome);
        wire_key(&w, "attempt_counts");
        wire_boolean(&w, event->u.requeued.attempt_counts);
        break;
    case EVENT_TRIAL_TOLD:
        member_integer(&w, "trial", event->u.told.trial);
        member_integer(&w, "attempt", event->u.told.attempt);
        member_text(&w, "state", trial_state_name(event->u.told.state));
        if (event->u.told.has_value)
            member_real(&w, "value", event->u.told.value);
        wire_key(&w, "better");
        wire_boolean(&w, event->u.told.better);
        member_text(&w, "reason", event->u.told.reason);
        encode_told_with(&w, event->u.told.repeats, event->u.told.recorded, event->u.told.metadata);
        break;
    case EVENT_TRIAL_PROPOSED:
        member_integer(&w, "trial", event->u.proposed.trial);
        member_integer(&w, "candidate", event->u.proposed.pick.candidate);
        member_real(&w, "variance", event->u.proposed.pick.variance);
        break;
    case EVENT_LATE_RESULT_TOLD:
        member_integer(&w, "trial", event->u.late.trial);
        member_integer(&w, "attempt", event->u.late.attempt);
        member_real(&w, "value", event->u.late.value);
        wire_key(&w, "better");
        wire_boolean(&w, event->u.late.better);
        encode_told_with(&w, event->u.late.repeats, event->u.late.recorded, event->u.late.metadata);
        break;
    case EVENT_TRIAL_AMENDED:
        member_integer(&w, "trial", event->u.amended.trial);
        member_text(&w, "state", trial_state_name(event->u.amended.state));
        if (event->u.amended.has_value)
            member_real(&w, "value", event->u.amended.value);
        member_text(&w, "recorded", event->u.amended.recorded);
        member_text(&w, "reason", event->u.amended.reason);
        member_integer(&w, "best_trial", event->u.amended.best_trial);
        member_integer(&w, "best_candidate", event->u.amended.best_candidate);
        member_real(&w, "best_value", event->u.amended.best_value);
        break;
    case EVENT_TRIAL_MEASURED:
        member_integer(&w, "trial", event->u.measured.trial);
        member_integer(&w, "attempt", event->u.measured.attempt);
        member_integer(&w, "step", event->u.measured.step);
        member_real(&w, "value", event->u.measured.value);
        break;
    case EVENT_OBSERVATIONS_ADDED:
        encode_observed(&w, event);
        break;
    case STORE_EVENT_TYPES:
        break;
    }
    wire_object_end(&w);
    size_t size;
    if (!wire_writer_finish(&w, out, &size))
        status = STORE_NO_MEMORY;
    if (status) {
        free(*out);
        *out = NULL;
    }
    return status;
}
