/* Members of JSON objects, one call each. */
#ifndef PROTO_ENCODE_H
#define PROTO_ENCODE_H

#include "proto/wire.h"

static inline void wire_string_member(wire_writer *w, const char *key, const char *text)
{
    wire_key(w, key);
    wire_string(w, text);
}

static inline void wire_integer_member(wire_writer *w, const char *key, int64_t value)
{
    wire_key(w, key);
    wire_integer_value(w, value);
}

static inline void wire_real_member(wire_writer *w, const char *key, double value)
{
    wire_key(w, key);
    wire_real(w, value);
}

static inline void wire_time_member(wire_writer *w, const char *key, int64_t milliseconds)
{
    wire_key(w, key);
    wire_time(w, milliseconds);
}

/* Members that are left out if they have no value. */

static inline void wire_optional_string(wire_writer *w, const char *key, const char *text)
{
    if (text && *text)
        wire_string_member(w, key, text);
}

static inline void wire_given_integer(wire_writer *w, const char *key, wire_integer integer)
{
    if (integer.given)
        wire_integer_member(w, key, integer.value);
}

static inline void wire_given_number(wire_writer *w, const char *key, wire_number number)
{
    if (!number.given)
        return;
    if (number.word)
        wire_string_member(w, key, number.word);
    else
        wire_real_member(w, key, number.value);
}

/* "candidate" unless negative, "key" unless empty or NULL, "parameters" unless NULL. */
static inline void wire_arm_members(wire_writer *w, int64_t candidate, const char *key,
                                    const wire_study *space, const double *parameters)
{
    if (candidate >= 0)
        wire_integer_member(w, "candidate", candidate);
    wire_optional_string(w, "key", key);
    if (parameters) {
        wire_key(w, "parameters");
        wire_encode_parameters(w, space->parameters, space->n_parameters, parameters);
    }
}

static inline void wire_point_member(wire_writer *w, const double *point, size_t dimension)
{
    wire_key(w, "point");
    wire_array_begin(w);
    for (size_t i = 0; i < dimension; i++)
        wire_real(w, point[i]);
    wire_array_end(w);
}

/* The members of the algorithm's "kernel", as an object. */
void wire_encode_kernel(wire_writer *w, const wire_kernel *kernel);

/* `learn_from`, if there is any: the ids of the studies, or their frozen functions. */
void wire_encode_learn_from(wire_writer *w, const wire_study *study, bool frozen);

#endif
