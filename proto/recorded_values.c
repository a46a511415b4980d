#include "proto/recorded_values.h"

#include "proto/json_parse.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This precedes the object of standard errors. It occurs nowhere else, because names are escaped and all other values
 * are numbers. */
static const char mark[] = "\"\":{";

static bool read_object(json_t **out, const char *text)
{
    wire_errors errors = {0};
    bool fine = wire_parse(out, text, strlen(text), &errors) == WIRE_OK && json_is_object(*out);
    wire_errors_clear(&errors);
    return fine;
}

bool wire_read_recorded(const char *text, const wire_metric *const *metrics, size_t n, double *out)
{
    json_t *object = NULL;
    bool fine = text && read_object(&object, text);
    for (size_t i = 0; fine && i < n; i++) {
        const json_t *value = json_object_get(object, metrics[i]->name);
        fine = json_is_number(value);
        out[i] = fine ? json_number_value(value) : 0.0;
    }
    json_decref(object);
    return fine;
}

bool wire_has_std_errors(const char *text)
{
    return text && strstr(text, mark);
}

size_t wire_count_std_errors(const char *text)
{
    json_t *object = NULL;
    bool told = wire_has_std_errors(text), fine = !told || read_object(&object, text);
    size_t n = told ? json_object_size(json_object_get(object, "")) : 0;
    json_decref(object);
    return fine ? n : SIZE_MAX;
}

bool wire_read_std_errors(const char *text, const wire_metric *const *metrics, size_t n, double *out)
{
    json_t *object = NULL;
    bool told = wire_has_std_errors(text), fine = !told || read_object(&object, text);
    const json_t *errors = json_object_get(object, "");
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(errors, metrics[i]->name);
        out[i] = value ? json_number_value(value) : 0.0;
    }
    json_decref(object);
    return fine;
}

/* n bytes of text, and "}" unless n is 0. */
static char *closed(const char *text, size_t n)
{
    char *out = malloc(n + 2);
    if (!out)
        return NULL;
    if (n > 0)
        memcpy(out, text, n);
    strcpy(out + n, n > 0 ? "}" : "");
    return out;
}

char *wire_recorded_values(const char *text)
{
    const char *at = text ? strstr(text, mark) : NULL;
    if (!at)
        return strdup(text ? text : "");
    return closed(text,
                  at - text > 1 ? (size_t)(at - text) - 1 : 0); /* without the comma, or the first brace */
}

char *wire_recorded_std_errors(const char *text)
{
    const char *at = text ? strstr(text, mark) : NULL;
    if (!at)
        return strdup("");
    at += strlen(mark) - 1;
    return closed(at, strlen(at) - 2);
}

char *wire_join_recorded(const char *values, const char *std_errors)
{
    size_t n = strlen(values), size = n + strlen(std_errors) + sizeof mark + 4;
    if (!*std_errors)
        return strdup(values);
    size_t used = n > 2 ? n - 1 : 0; /* without the last brace */
    char *out = malloc(size);
    if (out)
        snprintf(out, size, "%.*s%c\"\":%s}", (int)used, values, used > 0 ? ',' : '{', std_errors);
    return out;
}
