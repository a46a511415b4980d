/* The algorithms' parameters: which apply to which algorithm, and what is built. */
#ifndef SERVER_DATA_ALGORITHM_OPTIONS_H
#define SERVER_DATA_ALGORITHM_OPTIONS_H

#include "bandit/engine.h"
#include "proto/wire.h"

/* Lists parameters that are given and do not apply to the algorithm. */
void parameters_check(const wire_algorithm *given, bandit_algorithm algorithm, wire_errors *errors);

/* {"algorithms": [{"name", "description", "parameters": […]}, …]}: those that are built. */
void parameters_encode(wire_writer *w);

bool parameter_applies(const char *name, bandit_algorithm algorithm);

#endif
