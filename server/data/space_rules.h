/* Sets of arms in the space of a definition, with the rules that its constraints make for the engine. */
#ifndef SERVER_DATA_SPACE_RULES_H
#define SERVER_DATA_SPACE_RULES_H

#include "bandit/space.h"
#include "proto/wire.h"

/* An empty set of arms in the definition's space; parameters: space_parameters_new of it. The arms borrow nothing. Errors:
 * those of bandit_arms_new_space. */
bandit_status space_arms_new(bandit_arms **out, const wire_study *definition,
                             const bandit_parameter *parameters, bandit_error *err);

/* Looks for points that keep the constraints. False: it has added a problem that names a constraint because of which
 * there are none, or nearly none; or *no_memory. `arms` are empty, in a space with constraints. */
bool space_has_points(const bandit_arms *arms, const wire_study *definition, wire_errors *errors,
                      bool *no_memory);

#endif
