/* Why a batch has no more picks, in the words of the API and of the log: the engine's rules, and three of the
 * server's own. */
#ifndef SERVER_DATA_STOP_RULE_H
#define SERVER_DATA_STOP_RULE_H

#include "bandit/engine.h"

#define STOP_RULE_PLANNED_AHEAD "planned_ahead" /* the engine would pick more; they are not needed yet */
#define STOP_RULE_FIXED         "fixed" /* the last picks were made for an ask with fixed parameters */
#define STOP_RULE_MIN_IN_FLIGHT                                                                              \
    "min_in_flight" /* the last picks are beyond the bound, for workers that wait */

/* BANDIT_STOP_NONE is "max_batch": the room for picks is the largest batch. */
const char *stop_rule_name(bandit_stop_rule rule);

/* May a batch have this rule? */
bool stop_rule_is_known(const char *name);

/* May a batch with this rule have more picks? */
bool stop_rule_continues(const char *name);

#endif
