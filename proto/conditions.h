/* Whether the conditions of parameters can ever hold. */
#ifndef PROTO_CONDITIONS_H
#define PROTO_CONDITIONS_H

#include "proto/wire.h"

/* Checks the `min` and `max` of conditions: each must be in the range of the other parameter, and one of that
 * parameter's values must lie between them. False: it has added problems. Only for new definitions: definitions that
 * were stored before this check existed may fail it. */
bool wire_check_conditions(const wire_study *study, wire_errors *errors);

#endif
