#include "proto/json_parse.h"
#include "proto/json_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTE(x) #x
#define TEXT(x)  QUOTE(x)

/* jansson recurses up to 2048 levels, far more than any request needs. This counts brackets outside strings,
 * so the result may be wrong for text that is not JSON, but it is correct for JSON. */
static bool too_deep(const char *body, size_t size)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = body[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > WIRE_MAX_DEPTH)
                return true;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static wire_status malformed(wire_errors *errors, const char *detail)
{
    wire_errors_add(errors, "", "%s", detail);
    return errors->no_memory ? WIRE_NO_MEMORY : WIRE_MALFORMED;
}

wire_status wire_parse(json_t **out, const char *body, size_t size, wire_errors *errors)
{
    *out = NULL;
    if (size == 0)
        return malformed(errors, "not valid JSON: the text is empty");
    /* jansson accepts a NUL after a number. */
    if (memchr(body, '\0', size))
        return malformed(errors, "not valid JSON: contains a NUL byte");
    if (too_deep(body, size))
        return malformed(errors,
                         "arrays and objects are nested more than " TEXT(WIRE_MAX_DEPTH) " levels deep");
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    json_error_t error;
    bool no_memory;
    json_t *json = wire_json_load(body, size, flags, &error, &no_memory);
    if (!json && !no_memory && json_error_code(&error) == json_error_numeric_overflow) {
        /* Some clients write 1e20 as 100000000000000000000, which is valid for a real. A number that is too
         * large for a real fails again. */
        json = wire_json_load(body, size, flags | JSON_DECODE_INT_AS_REAL, &error, &no_memory);
    }
    if (no_memory)
        return WIRE_NO_MEMORY;
    if (!json) {
        char detail[sizeof error.text + 64];
        bool nul = json_error_code(&error) == json_error_null_character;
        /* jansson's text for this error names one of its flags. */
        snprintf(detail, sizeof detail, "not valid JSON: line %d, column %d: %s", error.line, error.column,
                 nul ? "\\u0000 is not allowed in a string" : error.text);
        return malformed(errors, detail);
    }
    *out = json;
    return WIRE_OK;
}

void wire_write_json(wire_writer *w, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT: {
        wire_object_begin(w);
        /* The iterators take a non-const object but do not change it. */
        json_t *object = (json_t *)(uintptr_t)json;
        for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
            wire_key(w, json_object_iter_key(i));
            wire_write_json(w, json_object_iter_value(i));
        }
        wire_object_end(w);
        break;
    }
    case JSON_ARRAY:
        wire_array_begin(w);
        for (size_t i = 0; i < json_array_size(json); i++)
            wire_write_json(w, json_array_get(json, i));
        wire_array_end(w);
        break;
    case JSON_STRING:
        wire_string(w, json_string_value(json));
        break;
    case JSON_INTEGER:
        wire_integer_value(w, json_integer_value(json));
        break;
    case JSON_REAL:
        wire_real(w, json_real_value(json));
        break;
    case JSON_TRUE:
        wire_boolean(w, true);
        break;
    case JSON_FALSE:
        wire_boolean(w, false);
        break;
    case JSON_NULL:
        wire_null(w);
        break;
    }
}
