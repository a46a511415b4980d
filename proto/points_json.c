/* Reads {"points": [[…], …], "keys": […]} as the bytes arrive; points_json_keys.c reads the keys. Other JSON is
 * WIRE_INVALID if its first byte shows it; the reading ends there. */
#include "proto/json_decode.h"
#include "proto/json_parse.h"
#include "proto/number.h"
#include "proto/points_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A byte of a number, of true, false or null, or of an invalid literal such as NaN. */
static bool is_literal(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.';
}

/* ---- problems ----------------------------------------------------------------------------------------- */

static wire_status malformed(const wire_points_reader *r, wire_errors *errors, const char *expected)
{
    const points_json *json = &r->u.json;
    bool inside = json->state == JSON_IN_KEY || json->state == JSON_IN_CELL;
    wire_errors_add(errors, "", "not valid JSON: %s expected at byte %zu", expected,
                    (inside ? json->start : json->offset) + 1);
    return WIRE_MALFORMED;
}

/* The parts of a document that have a pointer. */
typedef enum part { BODY, POINTS, ROW, CELL } part;

static wire_status refuse(const wire_points_reader *r, wire_errors *errors, part at, const char *detail)
{
    char pointer[64] = "";
    switch (at) {
    case BODY:
        break;
    case POINTS:
        strcpy(pointer, "/points");
        break;
    case ROW:
        snprintf(pointer, sizeof pointer, "/points/%zu", r->rows);
        break;
    case CELL:
        snprintf(pointer, sizeof pointer, "/points/%zu/%zu", r->rows, r->cells);
        break;
    }
    wire_errors_add(errors, pointer, "%s", detail);
    return WIRE_INVALID;
}

/* Refuses a byte where `what` is expected: another JSON value is invalid, anything else malformed. */
static wire_status not_what(const wire_points_reader *r, wire_errors *errors, char c, part at,
                            const char *what)
{
    bool value = strchr("[{\"-tfn", c) || (c >= '0' && c <= '9');
    if (c == '\0' || !value)
        return malformed(r, errors, what);
    char detail[64];
    snprintf(detail, sizeof detail, "must be %s", what);
    return refuse(r, errors, at, detail);
}

/* ---- the parts ---------------------------------------------------------------------------------------- */

static wire_status keep(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    if (n > POINTS_CELL_MAX - r->cell_size)
        return refuse(r, errors, r->u.json.state == JSON_IN_CELL ? CELL : BODY,
                      "may have at most 1024 characters");
    memcpy(r->cell + r->cell_size, bytes, n);
    r->cell_size += n;
    return WIRE_OK;
}

/* The key's text, as written between the quotes, is in the cell. */
static wire_status end_key(wire_points_reader *r, wire_errors *errors)
{
    char text[POINTS_CELL_MAX + 3];
    size_t n = 0;
    text[n++] = '"';
    memcpy(text + n, r->cell, r->cell_size);
    n += r->cell_size;
    text[n++] = '"';
    r->cell_size = 0;

    json_t *key;
    wire_errors key_errors = {0};
    wire_status status = wire_parse(&key, text, n, &key_errors);
    wire_errors_clear(&key_errors); /* its positions count from the quote */
    if (status != WIRE_OK)
        return status == WIRE_MALFORMED ? malformed(r, errors, "a string") : status;
    bool points = strcmp(json_string_value(key), "points") == 0;
    bool *seen = points ? &r->u.json.has_points : &r->u.json.has_keys;
    if (!points && strcmp(json_string_value(key), "keys") != 0) {
        wire_decoder d = {.errors = errors};
        wire_place at = wire_place_member(NULL, json_string_value(key));
        wire_refuse(&d, &at, "unknown field; allowed here are points, keys");
        status = d.no_memory ? WIRE_NO_MEMORY : WIRE_INVALID;
    } else if (*seen) {
        wire_errors_add(errors, "", "not valid JSON: \"%s\" occurs twice", points ? "points" : "keys");
        status = WIRE_MALFORMED;
    }
    json_decref(key);
    *seen = true;
    r->u.json.key_is_points = points;
    r->u.json.state = JSON_AT_COLON;
    return status;
}

static wire_status feed_key(wire_points_reader *r, char c, wire_errors *errors)
{
    points_json *json = &r->u.json;
    if (c == '"' && !json->escaped)
        return end_key(r, errors);
    json->escaped = c == '\\' && !json->escaped;
    return keep(r, &c, 1, errors);
}

static wire_status end_cell(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    double value;
    wire_number_result result = wire_read_number(text, n, WIRE_NUMBER_JSON, &value);
    r->cell_size = 0;
    if (result == WIRE_NUMBER_FINITE) {
        r->u.json.state = JSON_AFTER_CELL;
        if (r->dimension > 0 && r->cells == r->dimension) {
            char detail[64];
            snprintf(detail, sizeof detail, "has more than %zu number%s", r->dimension,
                     r->dimension == 1 ? "" : "s");
            return refuse(r, errors, ROW, detail);
        }
        if (r->cells == WIRE_MAX_DIMENSION)
            return refuse(r, errors, ROW, "may have at most 10000 numbers");
        return points_put(r, value);
    }
    if ((n == 4 && memcmp(text, "true", n) == 0) || (n == 5 && memcmp(text, "false", n) == 0) ||
        (n == 4 && memcmp(text, "null", n) == 0))
        return refuse(r, errors, CELL, "must be a number");
    return malformed(r, errors, "a finite number");
}

/* Takes the available part of a number; *used: its bytes. */
static wire_status feed_cell(wire_points_reader *r, const char *bytes, size_t n, size_t *used,
                             wire_errors *errors)
{
    size_t i = 0;
    while (i < n && is_literal(bytes[i]))
        i++;
    *used = i;
    if (r->u.json.state != JSON_IN_CELL)
        r->u.json.start = r->u.json.offset;
    r->u.json.state = JSON_IN_CELL;
    if (i < n && r->cell_size == 0)
        return end_cell(r, bytes, i, errors); /* complete in this chunk: not copied */
    wire_status status = keep(r, bytes, i, errors);
    if (status == WIRE_OK && i < n)
        status = end_cell(r, r->cell, r->cell_size, errors);
    return status;
}

static wire_status end_row(wire_points_reader *r, wire_errors *errors)
{
    r->u.json.state = JSON_AFTER_ROW;
    if (r->dimension > 0 && r->cells != r->dimension) {
        char detail[96];
        snprintf(detail, sizeof detail, "has %zu number%s, %zu expected", r->cells, r->cells == 1 ? "" : "s",
                 r->dimension);
        return refuse(r, errors, ROW, detail);
    }
    return points_end_row(r);
}

/* Expects one of two bytes, and sets the state that follows it. */
static wire_status feed_separator(wire_points_reader *r, char c, char first, unsigned after_first,
                                  char second, unsigned after_second, wire_errors *errors)
{
    char expected[] = "a comma or ]";
    expected[sizeof expected - 2] = second;
    if (c != first && c != second)
        return malformed(r, errors, expected);
    r->u.json.state = c == first ? after_first : after_second;
    return WIRE_OK;
}

/* Outside the list of points. */
static wire_status feed_object(wire_points_reader *r, char c, wire_errors *errors)
{
    points_json *json = &r->u.json;
    if (json->state == JSON_AT_START) {
        if (c != '{')
            return not_what(r, errors, c, BODY, "an object");
        json->state = JSON_AT_KEY_OR_END;
        return WIRE_OK;
    }
    if (json->state == JSON_AT_COLON) {
        if (c != ':')
            return malformed(r, errors, "a colon");
        json->state = json->key_is_points ? JSON_AT_LIST : JSON_IN_KEYS;
        return WIRE_OK;
    }
    if (json->state == JSON_AT_LIST) {
        if (c != '[')
            return not_what(r, errors, c, POINTS, "a list");
        json->state = JSON_AT_ROW_OR_END;
        return WIRE_OK;
    }
    if (c == '}' && json->state == JSON_AT_KEY_OR_END)
        return refuse(r, errors, POINTS, "is required");
    if (c != '"')
        return malformed(r, errors, "a string");
    json->start = json->offset;
    json->state = JSON_IN_KEY;
    return WIRE_OK;
}

/* Where a row may begin. */
static wire_status feed_row(wire_points_reader *r, char c, wire_errors *errors)
{
    if (c == ']' && r->u.json.state == JSON_AT_ROW_OR_END)
        return refuse(r, errors, POINTS, "must not be empty");
    if (c != '[')
        return not_what(r, errors, c, ROW, "a list");
    r->u.json.state = JSON_AT_CELL_OR_END;
    return WIRE_OK;
}

/* A byte that is not a blank, in a state between values and keys. */
static wire_status feed_structure(wire_points_reader *r, char c, wire_errors *errors)
{
    points_json *json = &r->u.json;
    assert(json->state != JSON_IN_KEY && json->state != JSON_IN_CELL);
    switch (json->state) {
    case JSON_AT_START:
    case JSON_AT_KEY_OR_END:
    case JSON_AT_KEY:
    case JSON_AT_COLON:
    case JSON_AT_LIST:
        return feed_object(r, c, errors);
    case JSON_AT_ROW_OR_END:
    case JSON_AT_ROW:
        return feed_row(r, c, errors);
    case JSON_AT_CELL_OR_END:
        if (c == ']')
            return refuse(r, errors, ROW, "must not be empty");
        return not_what(r, errors, c, CELL, "a number");
    case JSON_AT_CELL:
        return not_what(r, errors, c, CELL, "a number");
    case JSON_AFTER_CELL:
        return c == ']' ? end_row(r, errors)
                        : feed_separator(r, c, ',', JSON_AT_CELL, ']', JSON_AFTER_CELL, errors);
    case JSON_AFTER_ROW:
        return feed_separator(r, c, ',', JSON_AT_ROW, ']', JSON_AFTER_LIST, errors);
    case JSON_AFTER_LIST:
        if (c == '}' && !json->has_points)
            return refuse(r, errors, POINTS, "is required");
        return feed_separator(r, c, ',', JSON_AT_KEY, '}', JSON_AT_EOF, errors);
    case JSON_IN_KEY:
    case JSON_IN_CELL:
    case JSON_IN_KEYS: /* never here */
    case JSON_AT_EOF:
        break;
    }
    return malformed(r, errors, "the end of the document");
}

wire_status points_json_feed(wire_points_reader *r, const char *bytes, size_t n, wire_errors *errors)
{
    points_json *json = &r->u.json;
    wire_status status = WIRE_OK;
    for (size_t i = 0; i < n && status == WIRE_OK;) {
        char c = bytes[i];
        size_t used = 1;
        bool at_cell = json->state == JSON_AT_CELL || json->state == JSON_AT_CELL_OR_END;
        if (json->state == JSON_IN_KEY)
            status = feed_key(r, c, errors);
        else if (json->state == JSON_IN_KEYS)
            status = points_json_feed_keys(r, c, errors);
        else if (json->state == JSON_IN_CELL || (at_cell && is_literal(c)))
            status = feed_cell(r, bytes + i, n - i, &used, errors);
        else if (!is_space(c))
            status = feed_structure(r, c, errors);
        i += used;
        json->offset += used;
    }
    return status;
}

wire_status points_json_finish(wire_points_reader *r, wire_errors *errors)
{
    if (r->u.json.state == JSON_AT_EOF)
        return WIRE_OK;
    return malformed(r, errors, "the rest of the document");
}
