#include "server/data/stop_rule.h"

#include <string.h>

const char *stop_rule_name(bandit_stop_rule rule)
{
    return bandit_stop_rule_name(rule == BANDIT_STOP_NONE ? BANDIT_STOP_MAX_BATCH : rule);
}

bool stop_rule_is_known(const char *name)
{
    for (int rule = BANDIT_STOP_NONE + 1; rule < BANDIT_STOP_RULES; rule++)
        if (strcmp(name, bandit_stop_rule_name((bandit_stop_rule)rule)) == 0)
            return true;
    return strcmp(name, STOP_RULE_MIN_IN_FLIGHT) == 0 || stop_rule_continues(name);
}

bool stop_rule_continues(const char *name)
{
    return strcmp(name, STOP_RULE_PLANNED_AHEAD) == 0 || strcmp(name, STOP_RULE_FIXED) == 0 ||
           stop_rule_is_unfinished(name);
}

bool stop_rule_is_unfinished(const char *name)
{
    return strcmp(name, STOP_RULE_UNFINISHED) == 0;
}
