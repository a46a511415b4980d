/* Typed members of JSON objects, taken one by one; proto/json_decode.h. */
#include "proto/json_decode.h"
#include "proto/json_parse.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED_MAXIMUM = 200 }; /* bytes of a message that list the allowed members */

bool wire_object_open(wire_object *o, wire_decoder *d, const wire_place *place, const json_t *json)
{
    *o = (wire_object){.decoder = d, .place = place, .json = json};
    if (json_is_object(json))
        return true;
    wire_refuse(d, place, "must be an object");
    return false;
}

/* The member's place among those asked for, or their number. */
static size_t find_known(const wire_object *o, const char *name)
{
    size_t i = 0;
    while (i < o->n_known && strcmp(o->known[i], name) != 0)
        i++;
    return i;
}

static bool is_known(const wire_object *o, const char *name)
{
    return find_known(o, name) < o->n_known;
}

/* Lists the members that may be here: "; allowed here are a, b". A list that is too long ends with "…". */
static void list_known(const wire_object *o, char *out, size_t size)
{
    static const char more[] = ", …";
    size_t n = 0, most = size - sizeof more;
    for (size_t i = 0; i < o->n_known; i++) {
        if (o->forbidden[i])
            continue;
        const char *before = n > 0 ? ", " : "; allowed here are ";
        if (n + strlen(before) + strlen(o->known[i]) > most) {
            memcpy(out + n, more, sizeof more);
            return;
        }
        n += (size_t)snprintf(out + n, size - n, "%s%s", before, o->known[i]);
    }
}

void wire_object_close(wire_object *o)
{
    char known[LISTED_MAXIMUM] = "";
    /* The iterators take a non-const object but do not change it. */
    json_t *json = (json_t *)(uintptr_t)o->json;
    for (void *i = json_object_iter(json); i; i = json_object_iter_next(json, i)) {
        if (is_known(o, json_object_iter_key(i)))
            continue;
        wire_place at = wire_place_member(o->place, json_object_iter_key(i));
        if (*known == '\0')
            list_known(o, known, sizeof known);
        wire_refuse(o->decoder, &at, "unknown field%s", known);
    }
}

const json_t *wire_take(wire_object *o, const char *name, wire_presence presence)
{
    if (!is_known(o, name)) {
        assert(o->n_known < WIRE_MAX_MEMBERS);
        o->known[o->n_known++] = name;
    }
    const json_t *json = json_object_get(o->json, name);
    if (!json && presence == WIRE_REQUIRED) {
        wire_place at = wire_place_member(o->place, name);
        wire_refuse(o->decoder, &at, "is required");
    }
    return json;
}

bool wire_has(wire_object *o, const char *name)
{
    return wire_take(o, name, WIRE_OPTIONAL) != NULL;
}

void wire_forbid(wire_object *o, const char *name, const char *why)
{
    bool given = wire_has(o, name);
    o->forbidden[find_known(o, name)] = true;
    if (given) {
        wire_place at = wire_place_member(o->place, name);
        wire_refuse(o->decoder, &at, "%s", why);
    }
}

bool wire_take_boolean(wire_object *o, const char *name, bool *out)
{
    const json_t *json = wire_take(o, name, WIRE_OPTIONAL);
    if (!json)
        return false;
    if (!json_is_boolean(json)) {
        wire_place at = wire_place_member(o->place, name);
        wire_refuse(o->decoder, &at, "must be true or false");
        return false;
    }
    *out = json_is_true(json);
    return true;
}

bool wire_take_integer(wire_object *o, const char *name, wire_presence presence, int64_t min, int64_t max,
                       int64_t *out)
{
    const json_t *json = wire_take(o, name, presence);
    wire_place at = wire_place_member(o->place, name);
    return json && wire_read_integer(o->decoder, &at, json, min, max, out);
}

bool wire_take_real(wire_object *o, const char *name, wire_presence presence, const wire_range *range,
                    double *out)
{
    const json_t *json = wire_take(o, name, presence);
    wire_place at = wire_place_member(o->place, name);
    return json && wire_read_real(o->decoder, &at, json, range, out);
}

bool wire_take_string(wire_object *o, const char *name, wire_presence presence, size_t min, size_t max,
                      char **out)
{
    const json_t *json = wire_take(o, name, presence);
    wire_place at = wire_place_member(o->place, name);
    return json && wire_read_string(o->decoder, &at, json, min, max, out);
}

static bool find_word(const char *const *words, const char *text, size_t *out)
{
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* "must be a, b or c", after `prefix` ("a number, " …). */
static void refuse_word(wire_decoder *d, const wire_place *at, const char *prefix, const char *const *words)
{
    char list[512] = "";
    size_t n = 0;
    for (size_t i = 0; words[i] && n < sizeof list; i++) {
        bool alone = i == 0 && !*prefix;
        const char *separator = alone ? "" : words[i + 1] ? ", " : " or ";
        n += (size_t)snprintf(list + n, sizeof list - n, "%s\"%s\"", separator, words[i]);
    }
    assert(n < sizeof list);
    wire_refuse(d, at, "must be %s%s", prefix, list);
}

bool wire_take_word(wire_object *o, const char *name, wire_presence presence, const char *const *words,
                    size_t *out)
{
    const json_t *json = wire_take(o, name, presence);
    if (!json)
        return false;
    if (json_is_string(json) && find_word(words, json_string_value(json), out))
        return true;
    wire_place at = wire_place_member(o->place, name);
    refuse_word(o->decoder, &at, "", words);
    return false;
}

bool wire_take_word_text(wire_object *o, const char *name, wire_presence presence, const char *const *words,
                         char **out)
{
    size_t i;
    if (!wire_take_word(o, name, presence, words, &i))
        return false;
    char *copy = wire_duplicate(o->decoder, words[i]);
    if (!copy)
        return false;
    *out = copy;
    return true;
}

bool wire_take_object_text(wire_object *o, const char *name, size_t max_bytes, char **out)
{
    const json_t *json = wire_take(o, name, WIRE_OPTIONAL);
    if (!json)
        return false;
    wire_place at = wire_place_member(o->place, name);
    if (!json_is_object(json)) {
        wire_refuse(o->decoder, &at, "must be an object");
        return false;
    }
    wire_writer w = WIRE_WRITER_INIT;
    wire_write_json(&w, json);
    char *text;
    size_t size;
    if (!wire_writer_finish(&w, &text, &size)) {
        o->decoder->no_memory = true;
        return false;
    }
    if (size > max_bytes) {
        wire_refuse(o->decoder, &at, "must have at most %zu bytes as JSON, not %zu", max_bytes, size);
        free(text);
        return false;
    }
    *out = text;
    return true;
}

bool wire_take_given_integer(wire_object *o, const char *name, int64_t min, int64_t max, wire_integer *out)
{
    return out->given = wire_take_integer(o, name, WIRE_OPTIONAL, min, max, &out->value);
}

bool wire_take_number(wire_object *o, const char *name, const wire_range *range, const char *const *words,
                      wire_number *out)
{
    const json_t *json = wire_take(o, name, WIRE_OPTIONAL);
    if (!json)
        return false;
    wire_place at = wire_place_member(o->place, name);
    size_t i;
    if (json_is_number(json) || !words) {
        out->given = wire_read_real(o->decoder, &at, json, range, &out->value);
    } else if (json_is_string(json) && find_word(words, json_string_value(json), &i)) {
        out->given = true;
        out->word = words[i];
    } else {
        refuse_word(o->decoder, &at, "a number", words);
    }
    return out->given;
}

/* Names and values are strings. A name has no colon, because of ?label=name:value. */
bool wire_take_labels(wire_object *o, char **out)
{
    if (!wire_take_object_text(o, "labels", WIRE_MAX_METADATA, out))
        return false;
    wire_place at = wire_place_member(o->place, "labels");
    json_t *labels = json_object_get(o->json, "labels");
    if (json_object_size(labels) > WIRE_MAX_LABELS)
        wire_refuse(o->decoder, &at, "must have at most %d labels", WIRE_MAX_LABELS);
    for (void *i = json_object_iter(labels); i; i = json_object_iter_next(labels, i)) {
        const char *name = json_object_iter_key(i);
        wire_place label = wire_place_member(&at, name);
        if (!*name || strchr(name, ':'))
            wire_refuse(o->decoder, &label, "the name of a label must not be empty or contain a colon");
        char *value = NULL;
        wire_read_string(o->decoder, &label, json_object_iter_value(i), 0, WIRE_MAX_NAME, &value);
        free(value);
    }
    return true;
}
