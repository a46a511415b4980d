/* Keys of candidates in JSON, for the other decoders. */
#ifndef PROTO_DECODE_KEYS_H
#define PROTO_DECODE_KEYS_H

#include "proto/json_decode.h"
#include "proto/keys.h"

/* Reads a list of 1 … max keys, or, with `gaps`, of keys and nulls or empty strings, which are read as "". Each
 * problem is recorded at its element. False: the JSON is not such a list. The caller clears *out. */
bool wire_read_keys(wire_decoder *d, const wire_place *at, const json_t *json, size_t max, bool gaps,
                    wire_keys *out);
/* Reads a list of 1 … max keys that name candidates. *candidates has room for their numbers, which are found later. */
void wire_read_named(wire_decoder *d, const wire_place *at, const json_t *json, size_t max,
                     int64_t **candidates, size_t *n, wire_keys **keys);
/* A key, as a member of an object. *out is a new string. */
bool wire_take_key(wire_object *o, const char *name, char **out);

#endif
