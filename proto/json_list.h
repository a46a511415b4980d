/* Splits {"<name>": [element, element, …]} into its elements as the bytes arrive. Memory is bounded by one
 * element. */
#ifndef PROTO_JSON_LIST_H
#define PROTO_JSON_LIST_H

#include "proto/wire.h"

#include <jansson.h>

#define WIRE_ELEMENT_MAX 262144 /* bytes of an element */

/* Takes an element, borrowed. Any result but WIRE_OK ends the reading. */
typedef wire_status wire_json_element(void *arg, size_t index, json_t *element, wire_errors *errors);

/* Transparent, so that it can be a member of its user; starts as {.name = …, .element = …, .arg = …}. */
typedef struct wire_json_list {
    const char *name; /* of the one member */
    wire_json_element *element;
    void *arg;
    enum {
        WIRE_LIST_HEAD,    /* up to the list's [ */
        WIRE_LIST_ELEMENT, /* in an element, or before its first byte */
        WIRE_LIST_TAIL     /* after the list's ] */
    } state;
    char *text; /* of the head, of an element, or of the tail */
    size_t n, capacity;
    size_t depth; /* of brackets in the element */
    bool in_string, escaped;
    size_t count; /* elements so far */
} wire_json_list;

wire_status wire_json_list_feed(wire_json_list *list, const char *bytes, size_t n, wire_errors *errors);
wire_status wire_json_list_finish(wire_json_list *list, wire_errors *errors);
void wire_json_list_clear(wire_json_list *list);

#endif
