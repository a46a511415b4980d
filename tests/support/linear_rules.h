/* Linear rules for spaces of tests. */
#ifndef TESTS_SUPPORT_LINEAR_RULES_H
#define TESTS_SUPPORT_LINEAR_RULES_H

#include "bandit/space.h"

enum { LINEAR_RULES_MOST = 8, LINEAR_RULES_PARAMETERS = 12 };

typedef struct linear_rules {
    bandit_rules rules; /* first */
    bandit_rule list[LINEAR_RULES_MOST];
    size_t parameters[LINEAR_RULES_PARAMETERS];
    double coefficients[LINEAR_RULES_MOST][LINEAR_RULES_PARAMETERS];
    bool counted[LINEAR_RULES_PARAMETERS];
} linear_rules;

/* No rules yet over n parameters. The struct must outlive the arms that it is given to. */
void linear_rules_init(linear_rules *own, size_t n);

/* Adds sum of coefficients * values <= bound, or = bound. */
void linear_rules_add(linear_rules *own, const double *coefficients, double bound, bool equality);

#endif
