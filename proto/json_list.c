#include "proto/json_list.h"

#include "proto/arrays.h"
#include "proto/json_decode.h"
#include "proto/json_parse.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wire_status keep(wire_json_list *list, char c, wire_errors *errors)
{
    if (list->n == list->capacity) {
        if (list->capacity >= WIRE_ELEMENT_MAX) {
            wire_errors_add(errors, "", "an element of %s has more than %d bytes", list->name,
                            WIRE_ELEMENT_MAX);
            return WIRE_INVALID;
        }
        if (!wire_grow(&list->text, &list->capacity, list->n + 1, 1024, 1))
            return WIRE_NO_MEMORY;
    }
    list->text[list->n++] = c;
    return WIRE_OK;
}

static bool is_blank(const wire_json_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!strchr(" \t\r\n", list->text[i]) || list->text[i] == '\0')
            return false;
    }
    return true;
}

static wire_status malformed(wire_errors *errors, const char *where, const wire_errors *cause)
{
    wire_errors_add(errors, "", "%s: %s", where, cause->n > 0 ? cause->items[0].detail : "not valid JSON");
    return WIRE_MALFORMED;
}

/* Checks the document without the elements, {"<name>":[]}, by the same rules as every other request. */
static wire_status check_frame(wire_json_list *list, wire_errors *errors)
{
    json_t *body;
    wire_errors cause = {0};
    wire_status status = wire_parse(&body, list->text, list->n, &cause);
    if (status == WIRE_OK) {
        wire_decoder d = {.errors = errors};
        wire_object o;
        if (wire_object_open(&o, &d, NULL, body)) {
            wire_place at = wire_place_member(NULL, list->name);
            const json_t *json = wire_take(&o, list->name, WIRE_REQUIRED);
            if (json)
                wire_check_list(&d, &at, json, 0, SIZE_MAX);
            wire_object_close(&o);
        }
        status = d.no_memory ? WIRE_NO_MEMORY : d.invalid ? WIRE_INVALID : WIRE_OK;
        json_decref(body);
    } else if (status == WIRE_MALFORMED) {
        malformed(errors, "outside the list", &cause);
    }
    wire_errors_clear(&cause);
    list->n = 0;
    return status;
}

static wire_status end_element(wire_json_list *list, wire_errors *errors)
{
    json_t *element;
    wire_errors cause = {0};
    wire_status status = wire_parse(&element, list->text, list->n, &cause);
    if (status == WIRE_OK) {
        status = list->element(list->arg, list->count, element, errors);
        json_decref(element);
        list->count++;
    } else if (status == WIRE_MALFORMED) {
        char where[96];
        snprintf(where, sizeof where, "/%.40s/%zu", list->name, list->count);
        malformed(errors, where, &cause);
    }
    wire_errors_clear(&cause);
    list->n = 0;
    return status;
}

/* Takes a byte of the list. An element ends at a comma or the closing bracket, outside strings and
 * brackets. */
static wire_status feed_element(wire_json_list *list, char c, wire_errors *errors)
{
    if (list->in_string) {
        list->in_string = c != '"' || list->escaped;
        list->escaped = c == '\\' && !list->escaped;
        return keep(list, c, errors);
    }
    if (list->depth == 0 && (c == ',' || c == ']')) {
        bool empty_list = c == ']' && list->count == 0 && is_blank(list);
        if (c == ']')
            list->state = WIRE_LIST_TAIL;
        if (!empty_list)
            return end_element(list, errors);
        list->n = 0;
        return WIRE_OK;
    }
    list->in_string = c == '"';
    if (c == '[' || c == '{')
        list->depth++;
    else if ((c == ']' || c == '}') && list->depth > 0)
        list->depth--;
    return keep(list, c, errors);
}

static wire_status feed_head(wire_json_list *list, char c, wire_errors *errors)
{
    wire_status status = keep(list, c, errors);
    bool was_in_string = list->in_string;
    if (was_in_string) {
        list->in_string = c != '"' || list->escaped;
        list->escaped = c == '\\' && !list->escaped;
    } else {
        list->in_string = c == '"';
        if (c == '{')
            list->depth++;
        else if (c == '}' && list->depth > 0)
            list->depth--;
    }
    if (status != WIRE_OK || was_in_string || c != '[')
        return status;
    /* The first list must be ours. Close everything that is open, and check what precedes the list. */
    list->state = WIRE_LIST_ELEMENT;
    status = keep(list, ']', errors);
    for (; list->depth > 0 && status == WIRE_OK; list->depth--)
        status = keep(list, '}', errors);
    return status == WIRE_OK ? check_frame(list, errors) : status;
}

wire_status wire_json_list_feed(wire_json_list *list, const char *bytes, size_t n, wire_errors *errors)
{
    wire_status status = WIRE_OK;
    for (size_t i = 0; i < n && status == WIRE_OK; i++) {
        switch (list->state) {
        case WIRE_LIST_HEAD:
            status = feed_head(list, bytes[i], errors);
            break;
        case WIRE_LIST_ELEMENT:
            status = feed_element(list, bytes[i], errors);
            break;
        case WIRE_LIST_TAIL:
            status = keep(list, bytes[i], errors);
            break;
        }
    }
    return status;
}

wire_status wire_json_list_finish(wire_json_list *list, wire_errors *errors)
{
    if (list->state == WIRE_LIST_HEAD) {
        /* There is no list: the object lacks it, or it is no object, or no JSON. */
        wire_status status = check_frame(list, errors);
        assert(status != WIRE_OK);
        return status;
    }
    if (list->state == WIRE_LIST_ELEMENT) {
        wire_errors_add(errors, "", "not valid JSON: ends inside the list");
        return WIRE_MALFORMED;
    }
    /* Check the tail together with a head of its own, by the same rules. */
    size_t n = list->n;
    char *tail = list->text;
    list->text = NULL;
    list->n = list->capacity = 0;
    wire_status status = WIRE_OK;
    const char *head[] = {"{\"", list->name, "\":[]"};
    for (size_t i = 0; i < 3; i++) {
        for (const char *c = head[i]; *c && status == WIRE_OK; c++)
            status = keep(list, *c, errors);
    }
    for (size_t i = 0; i < n && status == WIRE_OK; i++)
        status = keep(list, tail[i], errors);
    free(tail);
    if (status == WIRE_OK)
        status = check_frame(list, errors);
    if (status == WIRE_OK && list->count == 0) {
        wire_place at = wire_place_member(NULL, list->name);
        wire_decoder d = {.errors = errors};
        wire_refuse(&d, &at, "must not be empty");
        return d.no_memory ? WIRE_NO_MEMORY : WIRE_INVALID;
    }
    return status;
}

void wire_json_list_clear(wire_json_list *list)
{
    free(list->text);
    list->text = NULL;
}
