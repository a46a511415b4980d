#include "tests/support/linear_rules.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A point keeps a rule to a billionth of what is added up. */
static double slack(const bandit_rules *rules, size_t i, const double *coded)
{
    const bandit_rule *rule = &rules->list[i];
    double sum = -rule->bound, size = fabs(rule->bound);
    for (size_t j = 0; j < rule->n; j++) {
        double term = rule->coefficients[j] * coded[rule->parameters[j]];
        sum += term;
        size += fabs(term);
    }
    double share = size > 0.0 ? sum / size : 0.0;
    return (rule->equality ? fabs(share) : share) - 1e-9;
}

static void release(bandit_rules *rules)
{
    (void)rules;
}

void linear_rules_init(linear_rules *own, size_t n)
{
    assert(n <= LINEAR_RULES_PARAMETERS);
    memset(own, 0, sizeof *own);
    for (size_t i = 0; i < LINEAR_RULES_PARAMETERS; i++)
        own->parameters[i] = i;
    for (size_t k = 0; k < LINEAR_RULES_MOST; k++) {
        own->list[k].n = n;
        own->list[k].parameters = own->parameters;
    }
    own->rules = (bandit_rules){
        .list = own->list, .counted = own->counted, .slack = slack, .tolerance = 1e-9, .release = release};
}

void linear_rules_add(linear_rules *own, const double *coefficients, double bound, bool equality)
{
    bandit_rule *rule = &own->list[own->rules.n];
    assert(own->rules.n < LINEAR_RULES_MOST);
    memcpy(own->coefficients[own->rules.n], coefficients, rule->n * sizeof *coefficients);
    rule->coefficients = own->coefficients[own->rules.n++];
    rule->bound = bound;
    rule->equality = equality;
}
