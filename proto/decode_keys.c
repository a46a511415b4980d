#include "proto/decode_keys.h"

#include "proto/encode.h"

static void read_key(wire_decoder *d, const wire_place *at, const json_t *json, bool gaps, wire_keys *out)
{
    const char *text = json_string_value(json);
    size_t n = json_string_length(json);
    bool none = gaps && (json_is_null(json) || (text && n == 0));
    const char *why = none ? NULL : text ? wire_key_problem(text, n) : "must be a string";
    if (why)
        wire_refuse(d, at, "%s", why);
    else if (!wire_keys_add(out, none ? "" : text, none ? 0 : n))
        d->no_memory = true;
}

bool wire_read_keys(wire_decoder *d, const wire_place *at, const json_t *json, size_t max, bool gaps,
                    wire_keys *out)
{
    if (!wire_check_list(d, at, json, 1, max))
        return false;
    size_t n = json_array_size(json), first, second;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(at, i);
        read_key(d, &place, json_array_get(json, i), gaps, out);
    }
    if (!gaps || out->n < n)
        return out->n == n;
    wire_status status = wire_keys_find_repeated(out, &first, &second);
    wire_place place = wire_place_element(at, second);
    if (status == WIRE_INVALID)
        wire_refuse(d, &place, "is already the key of element %zu", first);
    d->no_memory |= status == WIRE_NO_MEMORY;
    return status == WIRE_OK;
}

void wire_read_named(wire_decoder *d, const wire_place *at, const json_t *json, size_t max,
                     int64_t **candidates, size_t *n, wire_keys **keys)
{
    *keys = wire_allocate(d, 1, sizeof **keys);
    if (!*keys || !wire_read_keys(d, at, json, max, false, *keys))
        return;
    *n = (*keys)->n;
    *candidates = wire_allocate(d, *n, sizeof **candidates);
}

bool wire_take_key(wire_object *o, const char *name, char **out)
{
    const json_t *json = wire_take(o, name, WIRE_REQUIRED);
    wire_place at = wire_place_member(o->place, name);
    wire_keys one = {0};
    if (json)
        read_key(o->decoder, &at, json, false, &one);
    bool found = one.n == 1;
    if (found)
        *out = wire_duplicate(o->decoder, wire_keys_at(&one, 0));
    wire_keys_clear(&one);
    return found && *out;
}

static void fill_keys(wire_decoder *d, json_t *body, void *out)
{
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    const json_t *json = wire_take(&o, "keys", WIRE_REQUIRED);
    wire_place at = wire_place_member(NULL, "keys");
    if (json)
        wire_read_keys(d, &at, json, WIRE_MAX_COUNT, true, out);
    wire_object_close(&o);
}

wire_status wire_decode_keys(wire_keys *out, const char *body, size_t size, wire_errors *errors)
{
    return wire_decode_body(body, size, errors, fill_keys, out);
}

void wire_encode_keys_answer(wire_writer *w, int64_t n)
{
    wire_object_begin(w);
    wire_integer_member(w, "keys", n);
    wire_object_end(w);
}
