/* Whether the conditions of parameters can ever hold. */
#ifndef PROTO_CONDITIONS_H
#define PROTO_CONDITIONS_H

#include "proto/wire.h"

/* Checks the `min` and `max` of conditions: each is in the range of the other parameter, and one of its values is between
 * them. False: it has added problems. Only for new definitions: those that were stored before this check may break it. */
bool wire_check_conditions(const wire_study *study, wire_errors *errors);

#endif
