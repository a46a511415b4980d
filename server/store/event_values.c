#include "server/store/event_kinds.h"

#include <assert.h>
#include <math.h>

/* ---- reading ------------------------------------------------------------------------------------------- */

void event_member_wrong(event_reader *r, const char *name)
{
    if (!r->bad)
        r->bad = name;
}

static bool is_present(const event_reader *r, const event_member *m)
{
    return json_object_get(r->object, m->name) != NULL;
}

bool event_read_real(const json_t *value, double *out)
{
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_number(value) || json_is_null(value);
}

bool event_read_integer(const json_t *value, int64_t *out)
{
    double real = json_number_value(value);
    bool good = json_is_number(value) && fabs(real) <= 9007199254740992.0 && real == trunc(real);
    *out = good ? (int64_t)real : 0;
    return good;
}

bool event_read_index(const json_t *value, uint32_t *out)
{
    int64_t index;
    bool good = event_read_integer(value, &index) && index >= 0 && index <= UINT32_MAX;
    *out = good ? (uint32_t)index : 0;
    return good;
}

int64_t event_member_integer(event_reader *r, const char *name)
{
    int64_t value;
    if (!event_read_integer(json_object_get(r->object, name), &value))
        event_member_wrong(r, name);
    return value;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

static const char *text_of(const event_member *m, const store_event *event)
{
    return *(const char *const *)event_value(event, m->at);
}

static void write_text(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    wire_string(w, text_of(m, event));
}

/* Borrowed from the JSON. */
static void read_text(event_reader *r, const event_member *m, store_event *event)
{
    const char **text = event_place(event, m->at);
    *text = json_string_value(json_object_get(r->object, m->name));
    if (!*text)
        event_member_wrong(r, m->name);
}

static void copy_text(arena *a, const event_member *m, store_event *event)
{
    const char **text = event_place(event, m->at);
    *text = arena_text_or_empty(a, *text);
}

const event_kind event_text = {write_text, read_text, copy_text};

static void read_optional_text(event_reader *r, const event_member *m, store_event *event)
{
    if (is_present(r, m))
        read_text(r, m, event);
}

static void write_text_unless_null(wire_writer *w, const event_member *m, const store_event *event)
{
    if (text_of(m, event))
        write_text(w, m, event);
}

static void copy_text_or_null(arena *a, const event_member *m, store_event *event)
{
    const char **text = event_place(event, m->at);
    *text = arena_text(a, *text);
}

const event_kind event_text_unless_null = {write_text_unless_null, read_optional_text, copy_text_or_null};

static void write_text_unless_empty(wire_writer *w, const event_member *m, const store_event *event)
{
    if (*text_of(m, event))
        write_text(w, m, event);
}

const event_kind event_text_unless_empty = {write_text_unless_empty, read_optional_text, copy_text};

/* ---- integers ------------------------------------------------------------------------------------------ */

static void write_integer(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    wire_integer_value(w, *(const int64_t *)event_value(event, m->at));
}

static void read_integer(event_reader *r, const event_member *m, store_event *event)
{
    *(int64_t *)event_place(event, m->at) = event_member_integer(r, m->name);
}

const event_kind event_integer = {write_integer, read_integer, NULL};

static void read_integer_or_0(event_reader *r, const event_member *m, store_event *event)
{
    if (is_present(r, m))
        read_integer(r, m, event);
}

const event_kind event_integer_or_0 = {write_integer, read_integer_or_0, NULL};

static void write_integer_unless_0(wire_writer *w, const event_member *m, const store_event *event)
{
    if (*(const int64_t *)event_value(event, m->at) != 0)
        write_integer(w, m, event);
}

const event_kind event_integer_unless_0 = {write_integer_unless_0, read_integer_or_0, NULL};

static void write_repeats(wire_writer *w, const event_member *m, const store_event *event)
{
    if (*(const int64_t *)event_value(event, m->at) != 1)
        write_integer(w, m, event);
}

static void read_repeats(event_reader *r, const event_member *m, store_event *event)
{
    int64_t repeats = is_present(r, m) ? event_member_integer(r, m->name) : 1;
    if (repeats < 1)
        event_member_wrong(r, m->name);
    *(int64_t *)event_place(event, m->at) = repeats;
}

static void copy_repeats(arena *a, const event_member *m, store_event *event)
{
    int64_t *repeats = event_place(event, m->at);
    (void)a;
    if (*repeats == 0)
        *repeats = 1;
}

const event_kind event_repeats = {write_repeats, read_repeats, copy_repeats};

static void write_repeats_unless_0(wire_writer *w, const event_member *m, const store_event *event)
{
    if (*(const int64_t *)event_value(event, m->at) != 0)
        write_integer(w, m, event);
}

static void read_repeats_or_0(event_reader *r, const event_member *m, store_event *event)
{
    if (is_present(r, m))
        read_repeats(r, m, event);
}

const event_kind event_repeats_or_0 = {write_repeats_unless_0, read_repeats_or_0, NULL};

static void write_attempt(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    wire_integer_value(w, *(const int32_t *)event_value(event, m->at));
}

/* The largest valid attempt is far below the end of the type, since later attempts get the next numbers. */
static void read_attempt_from(int64_t least, event_reader *r, const event_member *m, store_event *event)
{
    const int64_t most = 1 << 30;
    int64_t attempt = event_member_integer(r, m->name);
    if (attempt < least || attempt > most) {
        event_member_wrong(r, m->name);
        attempt = least;
    }
    *(int32_t *)event_place(event, m->at) = (int32_t)attempt;
}

static void read_attempt(event_reader *r, const event_member *m, store_event *event)
{
    read_attempt_from(1, r, m, event);
}

static void read_attempt_or_0(event_reader *r, const event_member *m, store_event *event)
{
    read_attempt_from(0, r, m, event);
}

const event_kind event_attempt = {write_attempt, read_attempt, NULL};
const event_kind event_attempt_or_0 = {write_attempt, read_attempt_or_0, NULL};

static void write_candidate(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    wire_integer_value(w, *(const uint32_t *)event_value(event, m->at));
}

static void read_candidate(event_reader *r, const event_member *m, store_event *event)
{
    if (!event_read_index(json_object_get(r->object, m->name), event_place(event, m->at)))
        event_member_wrong(r, m->name);
}

const event_kind event_candidate = {write_candidate, read_candidate, NULL};

/* ---- reals --------------------------------------------------------------------------------------------- */

double event_canonical(double x)
{
    return isfinite(x) ? x + 0.0 : NAN; /* −0.0 + 0.0 = +0.0 */
}

void event_write_real(wire_writer *w, double value)
{
    if (isfinite(value))
        wire_real(w, value);
    else
        wire_null(w);
}

static bool is_true(const store_event *event, size_t offset)
{
    return *(const bool *)event_value(event, offset);
}

static void write_real(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    event_write_real(w, *(const double *)event_value(event, m->at));
}

static void read_real_or_nan(event_reader *r, const event_member *m, store_event *event)
{
    if (!event_read_real(json_object_get(r->object, m->name), event_place(event, m->at)))
        event_member_wrong(r, m->name);
}

static void read_finite(event_reader *r, const event_member *m, store_event *event)
{
    double *value = event_place(event, m->at);
    read_real_or_nan(r, m, event);
    if (!isfinite(*value)) {
        event_member_wrong(r, m->name);
        *value = 0.0;
    }
}

static void copy_real(arena *a, const event_member *m, store_event *event)
{
    double *value = event_place(event, m->at);
    (void)a;
    *value = event_canonical(*value);
}

const event_kind event_real = {write_real, read_finite, copy_real};
const event_kind event_real_or_nan = {write_real, read_real_or_nan, copy_real};

static void copy_real_if_trial(arena *a, const event_member *m, store_event *event)
{
    if (*(const int64_t *)event_value(event, m->other) != 0)
        copy_real(a, m, event);
    else
        *(double *)event_place(event, m->at) = 0.0;
}

const event_kind event_real_if_trial = {write_real, read_finite, copy_real_if_trial};

static void write_real_unless_0(wire_writer *w, const event_member *m, const store_event *event)
{
    if (*(const double *)event_value(event, m->at) != 0.0)
        write_real(w, m, event);
}

static void read_real_unless_0(event_reader *r, const event_member *m, store_event *event)
{
    if (is_present(r, m))
        read_finite(r, m, event);
}

const event_kind event_real_unless_0 = {write_real_unless_0, read_real_unless_0, copy_real};

static void copy_result(arena *a, const event_member *m, store_event *event)
{
    assert(isfinite(*(const double *)event_value(event, m->at)));
    copy_real(a, m, event);
}

const event_kind event_result = {write_real, read_finite, copy_result};

static void write_result_if(wire_writer *w, const event_member *m, const store_event *event)
{
    if (is_true(event, m->other))
        write_real(w, m, event);
}

static void read_result_if(event_reader *r, const event_member *m, store_event *event)
{
    bool present = is_present(r, m);
    *(bool *)event_place(event, m->other) = present;
    if (present)
        read_finite(r, m, event);
}

static void copy_result_if(arena *a, const event_member *m, store_event *event)
{
    if (is_true(event, m->other))
        copy_result(a, m, event);
    else
        *(double *)event_place(event, m->at) = NAN;
}

const event_kind event_result_if = {write_result_if, read_result_if, copy_result_if};

/* ---- booleans ------------------------------------------------------------------------------------------ */

static void write_boolean(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    wire_boolean(w, is_true(event, m->at));
}

static void read_boolean(event_reader *r, const event_member *m, store_event *event)
{
    const json_t *value = json_object_get(r->object, m->name);
    if (!json_is_boolean(value))
        event_member_wrong(r, m->name);
    *(bool *)event_place(event, m->at) = json_is_true(value);
}

const event_kind event_boolean = {write_boolean, read_boolean, NULL};

static void write_boolean_unless_false(wire_writer *w, const event_member *m, const store_event *event)
{
    if (is_true(event, m->at))
        write_boolean(w, m, event);
}

static void read_boolean_unless_false(event_reader *r, const event_member *m, store_event *event)
{
    if (is_present(r, m))
        read_boolean(r, m, event);
}

const event_kind event_boolean_unless_false = {write_boolean_unless_false, read_boolean_unless_false, NULL};

static void read_boolean_if(event_reader *r, const event_member *m, store_event *event)
{
    read_boolean(r, m, event);
    if (is_true(event, m->at) && !is_true(event, m->other))
        event_member_wrong(r, m->beside);
}

static void copy_boolean_if(arena *a, const event_member *m, store_event *event)
{
    (void)a;
    assert(!is_true(event, m->at) || is_true(event, m->other));
}

const event_kind event_boolean_if = {write_boolean, read_boolean_if, copy_boolean_if};

/* ---- states -------------------------------------------------------------------------------------------- */

static void write_study_state(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    wire_string(w, study_state_name(*(const study_state *)event_value(event, m->at)));
}

static void read_study_state(event_reader *r, const event_member *m, store_event *event)
{
    const char *name = json_string_value(json_object_get(r->object, m->name));
    if (!name || !study_state_parse(event_place(event, m->at), name))
        event_member_wrong(r, m->name);
}

const event_kind event_study_state = {write_study_state, read_study_state, NULL};

static void write_trial_state(wire_writer *w, const event_member *m, const store_event *event)
{
    wire_key(w, m->name);
    wire_string(w, trial_state_name(*(const trial_state *)event_value(event, m->at)));
}

static void read_trial_state(event_reader *r, const event_member *m, store_event *event)
{
    const char *name = json_string_value(json_object_get(r->object, m->name));
    if (!name || !trial_state_parse(event_place(event, m->at), name))
        event_member_wrong(r, m->name);
}

const event_kind event_trial_state = {write_trial_state, read_trial_state, NULL};
