/* The rules by which a batch ends, with their names in the API and in the log: the rules of the engine, and four of the
 * server. Also the advice that a batch gives. */
#ifndef SERVER_DATA_STOP_RULE_H
#define SERVER_DATA_STOP_RULE_H

#include "bandit/engine.h"
#include "proto/wire.h"

#define STOP_RULE_PLANNED_AHEAD "planned_ahead" /* the engine could pick more, but they are not needed yet */
#define STOP_RULE_UNFINISHED    "unfinished"    /* the batch is planned in parts, and this was not the last */
#define STOP_RULE_FIXED         "fixed"         /* the last picks were for an ask with fixed parameters */
#define STOP_RULE_MIN_IN_FLIGHT "min_in_flight" /* the last picks exceed the bound, for waiting workers */

/* What a batch advises the user (store_batch.advice). */
#define ADVICE_NO_FEASIBLE_POINT "no_feasible_point" /* its model knows no point that may keep all bounds */
enum { ADVICE_SIZE = 64 };

/* The text that says that a rule of `stop_when` has advised to end the study since a batch: "target 12". */
void advice_of_rule(char out[ADVICE_SIZE], wire_stop_rule rule, int64_t since);

/* Reads such a text. *rule becomes the name of the rule, a constant. False: it is another text. */
bool advice_is_of_rule(const char *advice, const char **rule, int64_t *since);

/* Is it a text of advice that the log may have, or ""? */
bool advice_is_known(const char *advice);

/* BANDIT_STOP_NONE gives "max_batch", since the capacity for picks is the largest batch. */
const char *stop_rule_name(bandit_stop_rule rule);

/* Is it the name of a rule? */
bool stop_rule_is_known(const char *name);

/* Can a batch that ended by this rule be extended? */
bool stop_rule_continues(const char *name);

/* Must a batch that ended by this rule be extended until another rule ends it, whatever has been reported? */
bool stop_rule_is_unfinished(const char *name);

#endif
