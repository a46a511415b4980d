#include "server/data/stop_rule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

void advice_of_rule(char out[ADVICE_SIZE], wire_stop_rule rule, int64_t since)
{
    snprintf(out, ADVICE_SIZE, "%s %" PRId64, wire_stop_rule_names[rule], since);
}

bool advice_is_of_rule(const char *advice, const char **rule, int64_t *since)
{
    for (int i = 0; wire_stop_rule_names[i]; i++) {
        char again[ADVICE_SIZE];
        size_t n = strlen(wire_stop_rule_names[i]);
        if (strncmp(advice, wire_stop_rule_names[i], n) != 0 || advice[n] != ' ')
            continue;
        *rule = wire_stop_rule_names[i];
        *since = strtoll(advice + n, NULL, 10);
        advice_of_rule(again, (wire_stop_rule)i, *since);
        return *since >= 0 && strcmp(again, advice) == 0;
    }
    return false;
}

bool advice_is_known(const char *advice)
{
    const char *rule;
    int64_t since;
    return *advice == '\0' || strcmp(advice, ADVICE_NO_FEASIBLE_POINT) == 0 ||
           advice_is_of_rule(advice, &rule, &since);
}
