/* Reads JSON by jansson, and says when there was no memory for it. By itself, jansson reports some of these failures
 * as syntax errors ("invalid token"), which would blame the text's author; after others it cuts a string short and
 * reports none, or ends the program (an assertion). json_memory.c defines what is declared here. */
#ifndef PROTO_JSON_MEMORY_H
#define PROTO_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

/* json_loadb. NULL: *no_memory, or *error says what is wrong. */
json_t *wire_json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *no_memory);

#endif
