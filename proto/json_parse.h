/* JSON text to a json_t, with the rules that all requests share. */
#ifndef PROTO_JSON_PARSE_H
#define PROTO_JSON_PARSE_H

#include "proto/wire.h"

#include <jansson.h>

#define WIRE_MAX_DEPTH 64 /* of arrays and objects in each other */

/* *out is a new reference; NULL unless WIRE_OK. WIRE_MALFORMED adds one error at "" that says where. Numbers
 * that are whole but beyond 64 bits come as reals (all whole numbers of that text then do). */
wire_status wire_parse(json_t **out, const char *body, size_t size, wire_errors *errors);

/* Writes a json_t as it is; its depth is bounded by wire_parse. */
void wire_write_json(wire_writer *w, const json_t *json);

#endif
