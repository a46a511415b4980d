/* Parses JSON text into a json_t, with the rules that all requests share. */
#ifndef PROTO_JSON_PARSE_H
#define PROTO_JSON_PARSE_H

#include "proto/wire.h"

#include <jansson.h>

#define WIRE_MAX_DEPTH 64 /* of nested arrays and objects */

/* *out is a new reference; NULL unless WIRE_OK. WIRE_MALFORMED adds one error at "" with the line and the
 * column. Integers beyond 64 bits become reals, and then so do all integers of that text. */
wire_status wire_parse(json_t **out, const char *body, size_t size, wire_errors *errors);

/* Writes a json_t unchanged. wire_parse has bounded its depth. */
void wire_write_json(wire_writer *w, const json_t *json);

#endif
