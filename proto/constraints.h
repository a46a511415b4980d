/* The constraints of a space. */
#ifndef PROTO_CONSTRAINTS_H
#define PROTO_CONSTRAINTS_H

#include "proto/expressions/expression.h"
#include "proto/wire.h"

/* Reads a constraint over these parameters. *out is owned by the caller, and borrows nothing. */
expression_status wire_parse_constraint(expression **out, const wire_parameter *parameters, size_t n,
                                        const char *text, expression_error *error);

/* The text of the first constraint that a coded point breaks; NULL if it keeps all. */
const char *wire_broken_constraint(const wire_study *study, const double *values);

/* Does a coded point keep the constraints? False: it has added a problem at the pointer. */
bool wire_check_constraints(const wire_study *study, const double *values, const char *pointer,
                            wire_errors *errors);

#endif
