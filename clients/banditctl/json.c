#include "clients/banditctl/json.h"
#include "clients/banditctl/allocate.h"
#include "proto/json_parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

char *writer_text(wire_writer *w, size_t *size)
{
    char *text;
    if (!wire_writer_finish(w, &text, size))
        out_of_memory();
    return text;
}

const char *json_text(const json_t *object, const char *key, const char *fallback)
{
    const json_t *member = json_object_get(object, key);
    return json_is_string(member) ? json_string_value(member) : fallback;
}

long long json_count(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

double json_real_or(const json_t *object, const char *key, double fallback)
{
    const json_t *member = json_object_get(object, key);
    return json_is_number(member) ? json_number_value(member) : fallback;
}

const char *number_text(double number, char text[32])
{
    if (number == floor(number) && fabs(number) < 1e15) {
        snprintf(text, 32, "%.0f", number);
        return text;
    }
    wire_writer w = WIRE_WRITER_INIT;
    size_t size;
    wire_real(&w, number);
    char *written = writer_text(&w, &size);
    snprintf(text, 32, "%s", written);
    free(written);
    return text;
}

char *value_text(const json_t *value)
{
    char number[32];
    size_t size;
    if (json_is_string(value))
        return duplicate(json_string_value(value));
    if (json_is_integer(value))
        return format_text("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_real(value))
        return duplicate(number_text(json_real_value(value), number));
    wire_writer w = WIRE_WRITER_INIT;
    wire_write_json(&w, value);
    return writer_text(&w, &size);
}
