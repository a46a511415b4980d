/* Points in NDJSON: a line {"point": [0.5, 1], "key": "a"} per candidate; the key is optional. */
#include "proto/json_parse.h"
#include "proto/points_internal.h"

#include <string.h>

static wire_status refuse(wire_errors *errors, size_t line, const char *why)
{
    wire_errors_add(errors, "", "line %zu: %s", line, why);
    return WIRE_INVALID;
}

static wire_status take_numbers(wire_points_reader *r, size_t line, const json_t *list, wire_errors *errors)
{
    size_t n = json_array_size(list);
    wire_status status = WIRE_OK;
    if (n == 0 || n > WIRE_MAX_DIMENSION)
        return refuse(errors, line, "\"point\" must be a list of 1 to 10000 numbers");
    if (r->dimension > 0 && n != r->dimension) {
        wire_errors_add(errors, "", "line %zu, row %zu: %zu number%s, %zu expected", line, r->rows + 1, n,
                        n == 1 ? "" : "s", r->dimension);
        return WIRE_INVALID;
    }
    for (size_t i = 0; i < n && status == WIRE_OK; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_number(number)) {
            wire_errors_add(errors, "", "line %zu, row %zu, column %zu: must be a number", line, r->rows + 1,
                            i + 1);
            return WIRE_INVALID;
        }
        status = points_put(r, json_number_value(number));
    }
    return status == WIRE_OK ? points_end_row(r) : status;
}

static wire_status take_key(wire_points_reader *r, size_t line, const json_t *key, wire_errors *errors)
{
    if (!key || json_is_null(key))
        return WIRE_OK;
    const char *text = json_string_value(key);
    size_t n = json_string_length(key);
    const char *why = text ? wire_key_problem(text, n) : "must be a string";
    if (!why)
        return points_put_key(r, r->rows, text, n);
    wire_errors_add(errors, "", "line %zu, row %zu: \"key\" %s", line, r->rows + 1, why);
    return WIRE_INVALID;
}

static wire_status take_line(void *arg, size_t number, const char *text, size_t n, wire_errors *errors)
{
    json_t *json = NULL, *member;
    const char *name;
    wire_errors problems = {0};
    wire_status status = wire_parse(&json, text, n, &problems);
    if (status == WIRE_MALFORMED)
        wire_errors_add(errors, "", "line %zu: %s", number, problems.n ? problems.items[0].detail : "");
    wire_errors_clear(&problems);
    if (status == WIRE_OK && !json_is_object(json))
        status = refuse(errors, number, "must be an object such as {\"point\": [0.5, 1]}");
    json_object_foreach(json, name, member)
    {
        if (status == WIRE_OK && strcmp(name, "point") != 0 && strcmp(name, "key") != 0) {
            wire_errors_add(errors, "", "line %zu: unknown field \"%.100s\"; allowed here are point, key",
                            number, name);
            status = WIRE_INVALID;
        }
    }
    if (status == WIRE_OK)
        status = take_key(arg, number, json_object_get(json, "key"), errors);
    if (status == WIRE_OK)
        status = take_numbers(arg, number, json_object_get(json, "point"), errors);
    json_decref(json);
    return status;
}

void points_ndjson_init(wire_points_reader *r)
{
    r->u.ndjson = (wire_lines){.line = take_line, .arg = r};
}

wire_status points_ndjson_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    return wire_lines_feed(&r->u.ndjson, bytes, n, errors);
}

wire_status points_ndjson_finish(wire_points_reader *r, wire_errors *errors)
{
    wire_status status = wire_lines_finish(&r->u.ndjson, errors);
    if (status == WIRE_OK && r->rows == 0) {
        wire_errors_add(errors, "", "there are no rows");
        return WIRE_INVALID;
    }
    return status;
}

void points_ndjson_clear(wire_points_reader *r)
{
    wire_lines_clear(&r->u.ndjson);
}
