/* Parts of results that other requests share. */
#ifndef PROTO_DECODE_TELL_H
#define PROTO_DECODE_TELL_H

#include "proto/json_decode.h"

/* The member "values". */
void wire_fill_values(wire_object *o, wire_result *result);
/* "std_error" or "std_errors", beside a value. */
void wire_fill_std_errors(wire_object *o, wire_result *result);
/* "cost", beside a value or a state; *cost is unchanged without it. */
void wire_take_cost(wire_object *o, double *cost);
/* Refuses both standard errors. */
void wire_forbid_std_errors(wire_object *o, const char *detail);
/* "candidate", which is required. */
void wire_take_candidate(wire_object *o, int64_t *candidate);
/* "candidate", "key" or "parameters"; *candidate is −1 unless it is given. *key is a new string. */
void wire_take_arm(wire_object *o, int64_t *candidate, char **key, wire_assignments *parameters);
/* Frees what the result holds. */
void wire_result_clear(wire_result *result);

#endif
