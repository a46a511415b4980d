#include "server/store/event.h"

#include "proto/json_memory.h"
#include "server/store/backend.h"
#include "server/store/event_kinds.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static event_members members_of(const store_event *event)
{
    assert(event->type < STORE_EVENT_TYPES);
    return store_event_members[event->type];
}

/* ---- copying ------------------------------------------------------------------------------------------- */

static void copy_members(arena *a, void *value)
{
    store_event *event = value;
    const event_members members = members_of(event);
    for (size_t i = 0; i < members.n; i++) {
        const event_member *m = &members.list[i];
        if (m->kind->copy)
            m->kind->copy(a, m, event);
    }
}

store_status store_event_copy(store_event **out, const store_event *event)
{
    *out = arena_clone(event, sizeof *event, copy_members);
    return *out ? STORE_OK : STORE_NO_MEMORY;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

store_status store_event_encode(char **out, const store_event *event)
{
    const event_members members = members_of(event);
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    for (size_t i = 0; i < members.n; i++)
        members.list[i].kind->write(&w, &members.list[i], event);
    wire_object_end(&w);
    size_t size;
    return wire_writer_finish(&w, out, &size) ? STORE_OK : STORE_NO_MEMORY;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* *event points into the reader's arrays and JSON, so *out is a copy. */
static store_status read_members(event_reader *r, store_event **out, store_event *event)
{
    const event_members members = members_of(event);
    for (size_t i = 0; i < members.n; i++)
        members.list[i].kind->read(r, &members.list[i], event);
    if (r->no_memory)
        return STORE_NO_MEMORY;
    return r->bad ? STORE_CORRUPT : store_event_copy(out, event);
}

store_status store_event_decode(store_event **out, const char *type, int64_t time, const char *payload,
                                store_error *err)
{
    *out = NULL;
    store_event event = {.time = time};
    if (!store_event_parse(&event.type, type))
        return store_fail(err, STORE_CORRUPT, "the log has an event of the unknown type '%s'", type);
    /* Integers are read as reals, since -0.0 and 1e300 are written like integers. Our integers are at most 2^53. */
    json_error_t problem;
    bool no_memory;
    json_t *object = wire_json_load(payload, strlen(payload),
                                    JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &problem, &no_memory);
    if (!object)
        return store_fail(err, no_memory ? STORE_NO_MEMORY : STORE_CORRUPT, "%s event in the log: %s", type,
                          no_memory ? "out of memory" : problem.text);
    event_reader r = {.object = object, .bad = json_is_object(object) ? NULL : "(not an object)"};
    store_status status = read_members(&r, out, &event);
    if (status)
        store_error_set(err, status, "%s event in the log: %s", type,
                        r.bad ? r.bad : store_status_text(status));
    if (status == STORE_CORRUPT && err && json_is_object(object))
        snprintf(err->field, sizeof err->field, "%s", r.bad);
    for (size_t i = 0; i < r.n_arrays; i++)
        free(r.arrays[i]);
    json_decref(object);
    return status;
}

/* ---- looking at members -------------------------------------------------------------------------------- */

const void *store_event_member(const store_event *event, const char *name)
{
    const event_members members = members_of(event);
    for (size_t i = 0; i < members.n; i++)
        if (strcmp(members.list[i].name, name) == 0)
            return event_value(event, members.list[i].at);
    return NULL;
}
