/* Names, errors and the clock, for every part of the store. */
#include "server/store/backend.h"
#include "server/store/event.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *store_status_text(store_status status)
{
    static const char *const texts[] = {
#define X(name, text) [name] = (text),
        STORE_STATUS_LIST(X)
#undef X
    };
    return texts[status];
}

void store_error_set(store_error *err, store_status status, const char *format, ...)
{
    if (!err)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    err->status = status;
    err->field[0] = '\0';
}

double store_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *const study_states[] = {
    [STUDY_AWAITING_CANDIDATES] = "awaiting_candidates",
    [STUDY_ACTIVE] = "active",
    [STUDY_PAUSED] = "paused",
    [STUDY_FINISHED] = "finished",
    [STUDY_ERROR] = "error",
};

static const char *const trial_states[TRIAL_STATES] = {
    [TRIAL_QUEUED] = "queued", [TRIAL_PENDING] = "pending",       [TRIAL_COMPLETED] = "completed",
    [TRIAL_FAILED] = "failed", [TRIAL_INFEASIBLE] = "infeasible", [TRIAL_STOPPED] = "stopped",
};

static const char *const event_names[STORE_EVENT_TYPES] = {
#define X(enumerator, name) [enumerator] = #name,
    STORE_EVENT_LIST(X)
#undef X
};

/* Index of `name` in the list, or n. */
static size_t find_name(const char *const *names, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i;
}

const char *study_state_name(study_state state)
{
    return study_states[state];
}

bool study_state_parse(study_state *out, const char *name)
{
    size_t n = sizeof study_states / sizeof *study_states;
    size_t i = find_name(study_states, n, name);
    if (i < n)
        *out = (study_state)i;
    return i < n;
}

const char *trial_state_name(trial_state state)
{
    return trial_states[state];
}

bool trial_state_parse(trial_state *out, const char *name)
{
    size_t i = find_name(trial_states, TRIAL_STATES, name);
    if (i < TRIAL_STATES)
        *out = (trial_state)i;
    return i < TRIAL_STATES;
}

const char *store_event_name(store_event_type type)
{
    return event_names[type];
}

bool store_event_parse(store_event_type *out, const char *name)
{
    size_t i = find_name(event_names, STORE_EVENT_TYPES, name);
    if (i < STORE_EVENT_TYPES)
        *out = (store_event_type)i;
    return i < STORE_EVENT_TYPES;
}
