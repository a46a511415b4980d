/* Sets of arms in the space of a definition, with its constraints as rules for the engine. */
#ifndef SERVER_DATA_SPACE_RULES_H
#define SERVER_DATA_SPACE_RULES_H

#include "bandit/space.h"
#include "proto/wire.h"

/* Makes an empty set of arms in the definition's space. parameters: from space_parameters_new(definition). The arms
 * borrow nothing. Errors: those of bandit_arms_new_space. */
bandit_status space_arms_new(bandit_arms **out, const wire_study *definition,
                             const bandit_parameter *parameters, bandit_error *err);

/* Looks for points that keep the constraints. False: *errors has a new problem, which names a constraint that leaves no
 * points or nearly none; or *no_memory. `arms` is an empty set in a space with constraints. */
bool space_has_points(const bandit_arms *arms, const wire_study *definition, wire_errors *errors,
                      bool *no_memory);

#endif
