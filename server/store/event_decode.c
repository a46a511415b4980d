#include "server/store/backend.h"
#include "server/store/event.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads members of one object; the first that is missing or of another type is remembered. Numbers are
 * decoded as reals (every integer of ours is below 2^53), so that -0.0 and 1e300 come through. */
typedef struct reader {
    const json_t *object;
    const char *bad;
} reader;

static void wrong(reader *r, const char *key)
{
    if (!r->bad)
        r->bad = key;
}

static bool number_of(const json_t *value, double *out)
{
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_number(value) || json_is_null(value);
}

static bool integer_of(const json_t *value, int64_t *out)
{
    double real = json_number_value(value);
    bool good = json_is_number(value) && fabs(real) <= 9007199254740992.0 && real == trunc(real);
    *out = good ? (int64_t)real : 0;
    return good;
}

static const char *text(reader *r, const char *key)
{
    const char *value = json_string_value(json_object_get(r->object, key));
    if (!value)
        wrong(r, key);
    return value ? value : "";
}

static const char *optional_text(reader *r, const char *key)
{
    return json_object_get(r->object, key) ? text(r, key) : NULL;
}

static int64_t integer(reader *r, const char *key)
{
    int64_t value;
    if (!integer_of(json_object_get(r->object, key), &value))
        wrong(r, key);
    return value;
}

/* The number of a trial's attempt. Far below the end of its type: attempts are counted on from it. */
static int32_t attempt(reader *r, int64_t least)
{
    const int64_t most = 1 << 30;
    int64_t value = integer(r, "attempt");
    if (value < least || value > most) {
        wrong(r, "attempt");
        value = least;
    }
    return (int32_t)value;
}

static double real(reader *r, const char *key)
{
    double value;
    if (!number_of(json_object_get(r->object, key), &value))
        wrong(r, key);
    return value;
}

static double finite_real(reader *r, const char *key)
{
    double value = real(r, key);
    if (!isfinite(value)) {
        wrong(r, key);
        value = 0.0;
    }
    return value;
}

static bool boolean(reader *r, const char *key)
{
    const json_t *value = json_object_get(r->object, key);
    if (!json_is_boolean(value))
        wrong(r, key);
    return json_is_true(value);
}

/* The array (NULL with an error remembered when it is none), and space for `size` bytes an element. */
static const json_t *array(reader *r, const char *key, size_t size, void **space, size_t *n, bool *no_memory)
{
    const json_t *value = json_object_get(r->object, key);
    *n = json_array_size(value);
    *space = calloc(*n + 1, size);
    *no_memory |= !*space;
    if (!json_is_array(value))
        wrong(r, key);
    if (!*space)
        *n = 0;
    return value;
}

static uint32_t index_of(reader *r, const json_t *value, const char *key)
{
    int64_t index;
    if (!integer_of(value, &index) || index < 0 || index > UINT32_MAX) {
        wrong(r, key);
        index = 0;
    }
    return (uint32_t)index;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The arrays of an event; the event's copy is made before it is freed. */
typedef struct event_space {
    void *dictionary, *sums, *picks, *observations, *rows, *retired, *held;
    unsigned char *state;
} event_space;

static void decode_sums(reader *r, store_event *event, const json_t *sums, store_arm_sum *out)
{
    for (size_t i = 0; i < event->u.planned.n_sums; i++) {
        const json_t *entry = json_array_get(sums, i);
        int64_t count;
        out[i].arm = index_of(r, json_array_get(entry, 0), "sums");
        if (!integer_of(json_array_get(entry, 1), &count) || count < 0 ||
            !number_of(json_array_get(entry, 2), &out[i].sum))
            wrong(r, "sums");
        out[i].count = (uint64_t)count;
    }
    event->u.planned.sums = out;
}

static void decode_state(reader *r, store_event *event, const char *hexadecimal, unsigned char *out)
{
    size_t n = strlen(hexadecimal) / 2;
    if (hexadecimal[2 * n] != '\0')
        wrong(r, "engine_state");
    for (size_t i = 0; i < n; i++) {
        int high = digit(hexadecimal[2 * i]), low = digit(hexadecimal[2 * i + 1]);
        if (high < 0 || low < 0)
            wrong(r, "engine_state");
        out[i] = (unsigned char)((high & 15) << 4 | (low & 15));
    }
    event->u.planned.engine_state = out;
    event->u.planned.n_engine_state = n;
}

static const store_pick *decode_picks(reader *r, event_space *space, size_t *n, bool *no_memory)
{
    const json_t *entries = array(r, "picks", sizeof(store_pick), &space->picks, n, no_memory);
    store_pick *picks = space->picks;
    for (size_t i = 0; i < *n; i++) {
        const json_t *entry = json_array_get(entries, i);
        picks[i].candidate = index_of(r, json_array_get(entry, 0), "picks");
        if (!number_of(json_array_get(entry, 1), &picks[i].variance))
            wrong(r, "picks");
    }
    return picks;
}

/* Are the entries arrays of so many values? */
static bool are_rows(const json_t *entries, size_t dimension)
{
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (json_array_size(json_array_get(entries, i)) != dimension)
            return false;
    return true;
}

/* Takes no more space than the rows that are there. */
static store_status decode_rows(reader *r, const char *key, const char *dimension_key, store_points *out,
                                event_space *space)
{
    const json_t *entries = json_object_get(r->object, key);
    int64_t dimension = integer(r, dimension_key);
    size_t n = json_array_size(entries);
    if (n == 0 || dimension < 1 || !are_rows(entries, (size_t)dimension)) {
        wrong(r, key);
        return STORE_OK;
    }
    double *rows = space->rows = calloc(n, (size_t)dimension * sizeof *rows);
    if (!rows)
        return STORE_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < (size_t)dimension; j++)
            if (!number_of(json_array_get(json_array_get(entries, i), j), &rows[i * (size_t)dimension + j]))
                wrong(r, key);
    *out = (store_points){.n = n, .dimension = dimension, .rows = rows};
    return STORE_OK;
}

/* Of a plan: there are none but in a space. */
static store_status decode_points(reader *r, store_points *out, event_space *space)
{
    return json_object_get(r->object, "points") ? decode_rows(r, "points", "parameters", out, space)
                                                : STORE_OK;
}

static store_held decode_held(reader *r, event_space *space, bool *no_memory)
{
    store_held held = {0};
    if (!json_object_get(r->object, "held"))
        return held;
    const json_t *entries = array(r, "held", sizeof(double), &space->held, &held.n_values, no_memory);
    double *values = space->held;
    int64_t n_picks = integer(r, "held_picks");
    for (size_t i = 0; i < held.n_values; i++)
        if (!number_of(json_array_get(entries, i), &values[i]))
            wrong(r, "held");
    if (n_picks < 0)
        wrong(r, "held_picks");
    held.values = values;
    held.n_picks = (size_t)n_picks;
    return held;
}

static store_status decode_planned(reader *r, store_event *event, event_space *space)
{
    store_batch *batch = &event->u.planned.batch;
    batch->batch = integer(r, "batch");
    batch->size = integer(r, "size");
    batch->ratio = finite_real(r, "ratio");
    batch->stop_rule = text(r, "stop_rule");
    batch->beta = finite_real(r, "beta");
    batch->observations = integer(r, "observations");
    batch->update_seconds = finite_real(r, "update_seconds");
    batch->select_seconds = finite_real(r, "select_seconds");
    batch->started_at = integer(r, "started_at");
    batch->code_path = text(r, "code_path");
    event->u.planned.through_seq = integer(r, "through_seq");
    event->u.planned.first_trial = integer(r, "first_trial");

    bool no_memory = false;
    size_t n;
    const json_t *dictionary = array(r, "dictionary", sizeof(uint32_t), &space->dictionary, &n, &no_memory);
    uint32_t *members = space->dictionary;
    for (size_t i = 0; i < n; i++)
        members[i] = index_of(r, json_array_get(dictionary, i), "dictionary");
    event->u.planned.dictionary = members;
    batch->dictionary_size = (int64_t)n;

    const json_t *sums =
        array(r, "sums", sizeof(store_arm_sum), &space->sums, &event->u.planned.n_sums, &no_memory);
    decode_sums(r, event, sums, space->sums);

    event->u.planned.picks = decode_picks(r, space, &event->u.planned.n_picks, &no_memory);
    event->u.planned.held = decode_held(r, space, &no_memory);

    const char *state = text(r, "engine_state");
    space->state = malloc(strlen(state) / 2 + 1);
    if (no_memory || !space->state)
        return STORE_NO_MEMORY;
    decode_state(r, event, state, space->state);
    return decode_points(r, &event->u.planned.points, space);
}

static study_state state_of_study(reader *r)
{
    study_state state = STUDY_ACTIVE;
    if (!study_state_parse(&state, text(r, "state")))
        wrong(r, "state");
    return state;
}

static void decode_told_with(reader *r, int64_t *repeats, const char **recorded, const char **metadata)
{
    *repeats = json_object_get(r->object, "repeats") ? integer(r, "repeats") : 1;
    if (*repeats < 1)
        wrong(r, "repeats");
    *recorded = optional_text(r, "recorded");
    *metadata = optional_text(r, "metadata");
}

static void decode_late(reader *r, store_event *event)
{
    event->u.late.trial = integer(r, "trial");
    event->u.late.attempt = attempt(r, 1);
    event->u.late.value = finite_real(r, "value");
    event->u.late.better = boolean(r, "better");
    decode_told_with(r, &event->u.late.repeats, &event->u.late.recorded, &event->u.late.metadata);
}

static void decode_amended(reader *r, store_event *event)
{
    event->u.amended.trial = integer(r, "trial");
    if (!trial_state_parse(&event->u.amended.state, text(r, "state")))
        wrong(r, "state");
    event->u.amended.has_value = json_object_get(r->object, "value") != NULL;
    if (event->u.amended.has_value)
        event->u.amended.value = finite_real(r, "value");
    event->u.amended.recorded = text(r, "recorded");
    event->u.amended.reason = text(r, "reason");
    event->u.amended.best_trial = integer(r, "best_trial");
    event->u.amended.best_candidate = integer(r, "best_candidate");
    event->u.amended.best_value = finite_real(r, "best_value");
}

static void decode_told(reader *r, store_event *event)
{
    event->u.told.trial = integer(r, "trial");
    event->u.told.attempt = attempt(r, 0); /* 0: the one it is at */
    if (!trial_state_parse(&event->u.told.state, text(r, "state")))
        wrong(r, "state");
    event->u.told.has_value = json_object_get(r->object, "value") != NULL;
    if (event->u.told.has_value)
        event->u.told.value = real(r, "value");
    event->u.told.better = boolean(r, "better");
    if ((event->u.told.has_value && !isfinite(event->u.told.value)) ||
        (event->u.told.better && !event->u.told.has_value))
        wrong(r, "value");
    event->u.told.reason = text(r, "reason");
    decode_told_with(r, &event->u.told.repeats, &event->u.told.recorded, &event->u.told.metadata);
}

static store_status decode_extended(reader *r, store_event *event, event_space *space)
{
    bool no_memory = false;
    event->u.extended.batch = integer(r, "batch");
    event->u.extended.through_seq = json_object_get(r->object, "through_seq") ? integer(r, "through_seq") : 0;
    event->u.extended.ratio = finite_real(r, "ratio");
    event->u.extended.stop_rule = text(r, "stop_rule");
    event->u.extended.first_trial = integer(r, "first_trial");
    event->u.extended.picks = decode_picks(r, space, &event->u.extended.n_picks, &no_memory);
    event->u.extended.held = decode_held(r, space, &no_memory);
    return no_memory ? STORE_NO_MEMORY : decode_points(r, &event->u.extended.points, space);
}

static store_status decode_observed(reader *r, store_event *event, event_space *space)
{
    bool no_memory = false;
    const json_t *entries = array(r, "observations", sizeof(store_observation), &space->observations,
                                  &event->u.observed.n, &no_memory);
    store_observation *list = space->observations;
    for (size_t i = 0; i < event->u.observed.n; i++) {
        const json_t *entry = json_array_get(entries, i);
        list[i].candidate = index_of(r, json_array_get(entry, 0), "observations");
        if (!integer_of(json_array_get(entry, 1), &list[i].repeats) ||
            !number_of(json_array_get(entry, 2), &list[i].value))
            wrong(r, "observations");
        if (!isfinite(list[i].value)) {
            wrong(r, "observations");
            list[i].value = 0.0;
        }
    }
    event->u.observed.list = list;
    return no_memory ? STORE_NO_MEMORY : STORE_OK;
}

static store_status decode_added(reader *r, store_event *event, event_space *space)
{
    event->u.added.first = integer(r, "first");
    return decode_rows(r, "rows", "dimension", &event->u.added.points, space);
}

static store_status decode_retired(reader *r, store_event *event, event_space *space)
{
    bool no_memory = false;
    const json_t *entries =
        array(r, "candidates", sizeof(uint32_t), &space->retired, &event->u.retired.n, &no_memory);
    uint32_t *list = space->retired;
    for (size_t i = 0; i < event->u.retired.n; i++)
        list[i] = index_of(r, json_array_get(entries, i), "candidates");
    event->u.retired.list = list;
    return no_memory ? STORE_NO_MEMORY : STORE_OK;
}

static store_status decode_parts(reader *r, store_event *event, event_space *space)
{
    switch (event->type) {
    case EVENT_STUDY_CREATED:
        event->u.created.id = text(r, "id");
        event->u.created.definition = text(r, "definition");
        event->u.created.state = state_of_study(r);
        break;
    case EVENT_STUDY_CHANGED:
        event->u.changed.definition = optional_text(r, "definition");
        event->u.changed.state = state_of_study(r);
        event->u.changed.reason = text(r, "reason");
        break;
    case EVENT_CANDIDATES_SET:
        event->u.candidates.content = integer(r, "content");
        event->u.candidates.count = integer(r, "count");
        event->u.candidates.dimension = integer(r, "dimension");
        event->u.candidates.digest = text(r, "digest");
        break;
    case EVENT_CANDIDATES_ADDED:
        return decode_added(r, event, space);
    case EVENT_CANDIDATES_RETIRED:
        return decode_retired(r, event, space);
    case EVENT_BATCH_PLANNED:
        return decode_planned(r, event, space);
    case EVENT_BATCH_EXTENDED:
        return decode_extended(r, event, space);
    case EVENT_TRIAL_ISSUED:
        event->u.issued.trial = integer(r, "trial");
        event->u.issued.attempt = attempt(r, 1);
        event->u.issued.worker = text(r, "worker");
        event->u.issued.lease_expires_at = integer(r, "lease_expires_at");
        break;
    case EVENT_TRIAL_RENEWED:
        event->u.renewed.trial = integer(r, "trial");
        event->u.renewed.attempt = attempt(r, 1);
        event->u.renewed.worker = optional_text(r, "worker");
        event->u.renewed.lease_expires_at = integer(r, "lease_expires_at");
        break;
    case EVENT_TRIAL_REQUEUED:
        event->u.requeued.trial = integer(r, "trial");
        event->u.requeued.outcome = text(r, "outcome");
        event->u.requeued.attempt_counts = boolean(r, "attempt_counts");
        break;
    case EVENT_TRIAL_TOLD:
        decode_told(r, event);
        break;
    case EVENT_OBSERVATIONS_ADDED:
        return decode_observed(r, event, space);
    case EVENT_TRIAL_PROPOSED:
        event->u.proposed.trial = integer(r, "trial");
        event->u.proposed.pick.candidate = index_of(r, json_object_get(r->object, "candidate"), "candidate");
        event->u.proposed.pick.variance = real(r, "variance");
        break;
    case EVENT_LATE_RESULT_TOLD:
        decode_late(r, event);
        break;
    case EVENT_TRIAL_AMENDED:
        decode_amended(r, event);
        break;
    case EVENT_TRIAL_MEASURED:
        event->u.measured.trial = integer(r, "trial");
        event->u.measured.attempt = attempt(r, 1);
        event->u.measured.step = integer(r, "step");
        event->u.measured.value = finite_real(r, "value");
        break;
    case STORE_EVENT_TYPES:
        break;
    }
    return STORE_OK;
}

store_status store_event_decode(store_event **out, const char *type, int64_t time, const char *payload,
                                store_error *err)
{
    *out = NULL;
    store_event event = {.time = time};
    if (!store_event_parse(&event.type, type))
        return store_fail(err, STORE_CORRUPT, "the log has an event of the unknown type '%s'", type);
    json_error_t problem;
    json_t *object = json_loads(payload, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &problem);
    if (!object) {
        bool no_memory = json_error_code(&problem) == json_error_out_of_memory;
        return store_fail(err, no_memory ? STORE_NO_MEMORY : STORE_CORRUPT, "%s event in the log: %s", type,
                          problem.text);
    }
    reader r = {.object = object, .bad = json_is_object(object) ? NULL : "(not an object)"};
    event_space space = {0};
    store_status status = decode_parts(&r, &event, &space);
    if (!status && r.bad)
        status = STORE_CORRUPT;
    if (!status)
        status = store_event_copy(out, &event);
    if (status)
        store_error_set(err, status, "%s event in the log: %s", type,
                        r.bad ? r.bad : store_status_text(status));
    if (status == STORE_CORRUPT && err && r.bad && json_is_object(object))
        snprintf(err->field, sizeof err->field, "%s", r.bad);
    free(space.dictionary);
    free(space.sums);
    free(space.picks);
    free(space.observations);
    free(space.rows);
    free(space.retired);
    free(space.held);
    free(space.state);
    json_decref(object);
    return status;
}
