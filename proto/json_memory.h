/* Reads JSON with jansson, and reports when memory ran out. Jansson itself reports some of these failures as syntax
 * errors ("invalid token"), which would blame the text's author. After others, it truncates a string and reports no
 * error, or ends the program (an assertion). json_memory.c defines the function. */
#ifndef PROTO_JSON_MEMORY_H
#define PROTO_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

/* json_loadb. NULL: *no_memory, or *error says what is wrong. */
json_t *wire_json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *no_memory);

#endif
