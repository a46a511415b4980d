/* The problems of a request, and the problem+json document that reports them. */
#include "proto/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DETAIL_MAX 512

void wire_errors_add(wire_errors *errors, const char *pointer, const char *format, ...)
{
    if (errors->n == WIRE_ERRORS_MAX) {
        errors->dropped++;
        return;
    }
    char detail[DETAIL_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);

    wire_error_item item = {.pointer = malloc(strlen(pointer) + 1), .detail = malloc(strlen(detail) + 1)};
    if (!item.pointer || !item.detail) {
        free(item.pointer);
        free(item.detail);
        errors->no_memory = true;
        return;
    }
    strcpy(item.pointer, pointer);
    strcpy(item.detail, detail);
    errors->items[errors->n++] = item;
}

void wire_errors_clear(wire_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++) {
        free(errors->items[i].pointer);
        free(errors->items[i].detail);
    }
    *errors = (wire_errors){0};
}

void wire_encode_problem(wire_writer *w, const wire_problem *problem)
{
    wire_object_begin(w);
    wire_key(w, "type");
    wire_string(w, problem->type);
    wire_key(w, "title");
    wire_string(w, problem->title);
    wire_key(w, "status");
    wire_integer_value(w, problem->status);
    if (problem->detail) {
        wire_key(w, "detail");
        wire_string(w, problem->detail);
    }
    const wire_errors *errors = problem->errors;
    if (errors && errors->n > 0) {
        wire_key(w, "errors");
        wire_array_begin(w);
        for (size_t i = 0; i < errors->n; i++) {
            wire_object_begin(w);
            wire_key(w, "pointer");
            wire_string(w, errors->items[i].pointer);
            wire_key(w, "detail");
            wire_string(w, errors->items[i].detail);
            wire_object_end(w);
        }
        wire_array_end(w);
        if (errors->dropped > 0) {
            wire_key(w, "errors_omitted");
            wire_integer_value(w, (int64_t)errors->dropped);
        }
    }
    wire_object_end(w);
}
