/* Reads the "keys" of {"points": [[…], …], "keys": ["a", null, …]} as the bytes arrive. */
#include "proto/json_parse.h"
#include "proto/points_internal.h"

#include <string.h>

static wire_status refuse(const wire_points_reader *r, wire_errors *errors, const char *why)
{
    char pointer[40];
    snprintf(pointer, sizeof pointer, "/keys/%zu", r->u.json.n_keys);
    wire_errors_add(errors, pointer, "%s", why);
    return WIRE_INVALID;
}

static wire_status malformed(const wire_points_reader *r, wire_errors *errors, const char *expected)
{
    wire_errors_add(errors, "", "not valid JSON: %s expected at byte %zu", expected, r->u.json.offset + 1);
    return WIRE_MALFORMED;
}

/* Adds a key; NULL: there is none. */
static wire_status end_item(wire_points_reader *r, const char *text, size_t n, wire_errors *errors)
{
    points_json *json = &r->u.json;
    const char *why = text && n > 0 ? wire_key_problem(text, n) : NULL;
    json->keys = KEYS_AFTER_ITEM;
    r->n_key = 0;
    if (why)
        return refuse(r, errors, why);
    return points_put_key(r, json->n_keys++, text ? text : "", n);
}

/* The text between the quotes, as it was written, is in r->key. */
static wire_status end_text(wire_points_reader *r, wire_errors *errors)
{
    char quoted[POINTS_KEY_MAX + 2];
    json_t *text;
    wire_errors problems = {0};
    quoted[0] = '"';
    memcpy(quoted + 1, r->key, r->n_key);
    quoted[r->n_key + 1] = '"';
    wire_status status = wire_parse(&text, quoted, r->n_key + 2, &problems);
    wire_errors_clear(&problems); /* its positions count from the quote */
    if (status == WIRE_OK)
        status = end_item(r, json_string_value(text), json_string_length(text), errors);
    else if (status == WIRE_MALFORMED)
        status = malformed(r, errors, "a string");
    json_decref(text);
    return status;
}

static wire_status feed_text(wire_points_reader *r, char c, wire_errors *errors)
{
    points_json *json = &r->u.json;
    if (c == '"' && !json->escaped)
        return end_text(r, errors);
    json->escaped = c == '\\' && !json->escaped;
    if (r->n_key == POINTS_KEY_MAX)
        return refuse(r, errors, "must have at most 200 bytes");
    r->key[r->n_key++] = c;
    return WIRE_OK;
}

static wire_status feed_null(wire_points_reader *r, char c, wire_errors *errors)
{
    static const char null[] = "null";
    if (c != null[r->n_key])
        return malformed(r, errors, "a string or null");
    r->n_key++;
    return null[r->n_key] == '\0' ? end_item(r, NULL, 0, errors) : WIRE_OK;
}

static wire_status feed_item(wire_points_reader *r, char c, wire_errors *errors)
{
    points_json *json = &r->u.json;
    if (c == ']' && json->keys == KEYS_AT_ITEM_OR_END) {
        json->state = JSON_AFTER_LIST;
    } else if (c == '"') {
        json->keys = KEYS_IN_TEXT;
    } else if (c == 'n') {
        json->keys = KEYS_IN_NULL;
        return feed_null(r, c, errors);
    } else {
        return refuse(r, errors, "must be a string");
    }
    return WIRE_OK;
}

wire_status points_json_feed_keys(wire_points_reader *r, char c, wire_errors *errors)
{
    points_json *json = &r->u.json;
    if (json->keys == KEYS_IN_TEXT)
        return feed_text(r, c, errors);
    if (json->keys == KEYS_IN_NULL)
        return feed_null(r, c, errors);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        return WIRE_OK;
    if (json->keys == KEYS_AT_ITEM || json->keys == KEYS_AT_ITEM_OR_END)
        return feed_item(r, c, errors);
    if (json->keys == KEYS_AT_LIST && c == '[')
        json->keys = KEYS_AT_ITEM_OR_END;
    else if (json->keys == KEYS_AT_LIST)
        return malformed(r, errors, "a list of keys");
    else if (c == ',')
        json->keys = KEYS_AT_ITEM;
    else if (c == ']')
        json->state = JSON_AFTER_LIST;
    else
        return malformed(r, errors, "a comma or ]");
    return WIRE_OK;
}
