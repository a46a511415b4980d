#include "proto/json_decode.h"

#include "proto/json_parse.h"
#include "proto/utf8.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const wire_range wire_any = {.min = -DBL_MAX, .max = DBL_MAX};
const wire_range wire_value = {.min = -WIRE_MAX_VALUE, .max = WIRE_MAX_VALUE};
const wire_range wire_positive = {.min = 0, .open_min = true, .max = DBL_MAX};
const wire_range wire_nonnegative = {.min = 0, .max = DBL_MAX};
const wire_range wire_fraction = {.min = 0, .max = 1};

/* ---- places and problems ------------------------------------------------------------------------------ */

wire_place wire_place_member(const wire_place *parent, const char *key)
{
    return (wire_place){.parent = parent, .key = key};
}

wire_place wire_place_element(const wire_place *parent, size_t index)
{
    return (wire_place){.parent = parent, .index = index};
}

/* Appends one reference token of a JSON pointer to text at `at` (NULL: only counts) and returns its end. RFC
 * 6901, section 3: ~ is written ~0, / is written ~1. */
static size_t write_token(char *text, size_t at, const char *token)
{
    const char *pieces[] = {"/", token};
    for (size_t p = 0; p < 2; p++) {
        for (const char *c = pieces[p]; *c; c++) {
            bool escaped = p == 1 && (*c == '~' || *c == '/');
            if (text) {
                text[at] = escaped ? '~' : *c;
                if (escaped)
                    text[at + 1] = *c == '~' ? '0' : '1';
            }
            at += escaped ? 2 : 1;
        }
    }
    return at;
}

static size_t write_pointer(char *text, const wire_place *place)
{
    if (!place)
        return 0;
    size_t at = write_pointer(text, place->parent);
    if (place->key)
        return write_token(text, at, place->key);
    char index[24];
    snprintf(index, sizeof index, "%zu", place->index);
    return write_token(text, at, index);
}

char *wire_pointer_text(const wire_place *place)
{
    size_t n = write_pointer(NULL, place);
    char *pointer = malloc(n + 1);
    if (pointer) {
        write_pointer(pointer, place);
        pointer[n] = '\0';
    }
    return pointer;
}

void wire_refuse(wire_decoder *d, const wire_place *at, const char *format, ...)
{
    d->invalid = true;
    char *pointer = wire_pointer_text(at);
    if (!pointer) {
        d->no_memory = true;
        return;
    }

    char detail[256];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    wire_errors_add(d->errors, pointer, "%s", detail);
    free(pointer);
}

void *wire_allocate(wire_decoder *d, size_t n, size_t size)
{
    void *p = calloc(n > 0 ? n : 1, size);
    if (!p)
        d->no_memory = true;
    return p;
}

char *wire_duplicate(wire_decoder *d, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = wire_allocate(d, size, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

wire_status wire_decode_body(const char *body, size_t size, wire_errors *errors, wire_fill *fill, void *out)
{
    json_t *json;
    wire_status status = wire_parse(&json, body, size, errors);
    if (status != WIRE_OK)
        return status;
    wire_decoder d = {.errors = errors};
    fill(&d, json, out);
    json_decref(json);
    if (d.no_memory || errors->no_memory)
        return WIRE_NO_MEMORY;
    return d.invalid ? WIRE_INVALID : WIRE_OK;
}

/* ---- values ------------------------------------------------------------------------------------------- */

static bool in_range(wire_decoder *d, const wire_place *at, double value, const wire_range *range)
{
    if (value < range->min || (range->open_min && value == range->min)) {
        wire_refuse(d, at, "must be %s %.17g", range->open_min ? "greater than" : "at least", range->min);
        return false;
    }
    if (value > range->max || (range->open_max && value == range->max)) {
        wire_refuse(d, at, "must be %s %.17g", range->open_max ? "less than" : "at most", range->max);
        return false;
    }
    return true;
}

bool wire_read_real(wire_decoder *d, const wire_place *at, const json_t *json, const wire_range *range,
                    double *out)
{
    if (!json_is_number(json)) {
        wire_refuse(d, at, "must be a number");
        return false;
    }
    double value = json_number_value(json);
    assert(isfinite(value)); /* jansson refuses numbers that are too large */
    if (!in_range(d, at, value, range))
        return false;
    *out = value;
    return true;
}

bool wire_read_integer(wire_decoder *d, const wire_place *at, const json_t *json, int64_t min, int64_t max,
                       int64_t *out)
{
    int64_t value;
    if (json_is_integer(json)) {
        value = json_integer_value(json);
    } else if (json_is_real(json) && trunc(json_real_value(json)) == json_real_value(json)) {
        /* As in JSON Schema, 3.0 is an integer. Values beyond 2^53 exceed every max. */
        double real = json_real_value(json);
        value = real > 0x1p53 ? INT64_MAX : real < -0x1p53 ? INT64_MIN : (int64_t)real;
    } else {
        wire_refuse(d, at, "must be an integer");
        return false;
    }
    if (value < min) {
        wire_refuse(d, at, "must be at least %" PRId64, min);
        return false;
    }
    if (value > max) {
        wire_refuse(d, at, "must be at most %" PRId64, max);
        return false;
    }
    *out = value;
    return true;
}

static size_t count_characters(const char *text)
{
    size_t characters = 0;
    for (size_t n = strlen(text); n > 0; characters++) {
        size_t length = wire_utf8_length(text, n);
        assert(length > 0); /* jansson refuses other strings */
        text += length;
        n -= length;
    }
    return characters;
}

bool wire_read_string(wire_decoder *d, const wire_place *at, const json_t *json, size_t min, size_t max,
                      char **out)
{
    if (!json_is_string(json)) {
        wire_refuse(d, at, "must be a string");
        return false;
    }
    assert(min <= 1);
    size_t n = count_characters(json_string_value(json));
    if (n < min) {
        wire_refuse(d, at, "must not be empty");
        return false;
    }
    if (n > max) {
        wire_refuse(d, at, "must have at most %zu characters", max);
        return false;
    }
    char *copy = wire_duplicate(d, json_string_value(json));
    if (!copy)
        return false;
    *out = copy;
    return true;
}

bool wire_check_list(wire_decoder *d, const wire_place *at, const json_t *json, size_t min, size_t max)
{
    if (!json_is_array(json)) {
        wire_refuse(d, at, "must be a list");
        return false;
    }
    assert(min <= 1);
    size_t n = json_array_size(json);
    if (n < min) {
        wire_refuse(d, at, "must not be empty");
        return false;
    }
    if (n > max) {
        wire_refuse(d, at, "must have at most %zu elements", max);
        return false;
    }
    return true;
}

int wire_compare_strings(const void *a, const void *b)
{
    char *const *x = *(char *const *const *)a, *const *y = *(char *const *const *)b;
    if (!*x || !*y) /* a refused element comes last and equals no other */
        return !*x && !*y ? (x > y) - (x < y) : !*x ? 1 : -1;
    return strcmp(*x, *y);
}

void wire_refuse_repeated(wire_decoder *d, const wire_place *at, uint32_t *order, size_t n, const void *list,
                          size_t size, wire_compare_elements *compare, const char *why)
{
    const char **sorted = wire_allocate(d, n, sizeof *sorted);
    bool *repeated = wire_allocate(d, n, sizeof *repeated);
    if (sorted && repeated) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = (const char *)list + i * size;
        qsort(sorted, n, sizeof *sorted, compare);
        for (size_t k = 0; k < n; k++)
            order[k] = (uint32_t)((size_t)(sorted[k] - (const char *)list) / size);
        size_t first = 0; /* of a run of equal elements */
        for (size_t k = 1; k < n; k++) {
            bool equal = compare(&sorted[first], &sorted[k]) == 0;
            if (equal)
                repeated[order[first] > order[k] ? order[first] : order[k]] = true;
            if (!equal || order[k] < order[first])
                first = k;
        }
    }
    for (size_t i = 0; repeated && i < n; i++) {
        wire_place place = wire_place_element(at, i);
        if (repeated[i])
            wire_refuse(d, &place, "%s", why);
    }
    free(sorted);
    free(repeated);
}

bool wire_read_matrix(wire_decoder *d, const wire_place *at, const json_t *json, size_t max_rows,
                      double **out, size_t *rows, size_t *columns)
{
    if (!wire_check_list(d, at, json, 1, max_rows))
        return false;
    size_t n = json_array_size(json);
    size_t dimension = 0; /* of the first row that is well-formed */
    double *matrix = NULL;
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(json, i);
        wire_place row_place = wire_place_element(at, i);
        if (!wire_check_list(d, &row_place, row, 1, WIRE_MAX_DIMENSION)) {
            ok = false;
            continue;
        }
        size_t length = json_array_size(row);
        if (!matrix) {
            dimension = length;
            matrix = wire_allocate(d, n, dimension * sizeof *matrix);
            if (!matrix)
                return false;
        } else if (length != dimension) {
            wire_refuse(d, &row_place, "has %zu number%s, but the rows before it have %zu", length,
                        length == 1 ? "" : "s", dimension);
            ok = false;
            continue;
        }
        for (size_t j = 0; j < length; j++) {
            wire_place cell = wire_place_element(&row_place, j);
            ok &= wire_read_real(d, &cell, json_array_get(row, j), &wire_any, &matrix[i * dimension + j]);
        }
    }
    if (!ok) {
        free(matrix);
        return false;
    }
    *out = matrix;
    *rows = n;
    *columns = dimension;
    return true;
}

bool wire_read_candidates(wire_decoder *d, const wire_place *at, const json_t *json, size_t max,
                          int64_t **out, size_t *n)
{
    if (!wire_check_list(d, at, json, 1, max))
        return false;
    size_t length = json_array_size(json);
    int64_t *candidates = wire_allocate(d, length, sizeof *candidates);
    if (!candidates)
        return false;
    bool ok = true;
    for (size_t i = 0; i < length; i++) {
        wire_place place = wire_place_element(at, i);
        const json_t *one = json_array_get(json, i);
        if (json_is_string(one))
            wire_refuse(d, &place, "must be an integer; keys are given as \"keys\"");
        ok &= !json_is_string(one) && wire_read_integer(d, &place, one, 0, WIRE_MAX_INTEGER, &candidates[i]);
    }
    if (!ok) {
        free(candidates);
        return false;
    }
    *out = candidates;
    *n = length;
    return true;
}
