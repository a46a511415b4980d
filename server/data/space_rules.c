#include "server/data/space_rules.h"

#include "proto/constraints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The rules of a set of arms. Each part of each constraint is a rule. */
typedef struct owned_rules {
    bandit_rules rules; /* comes first */
    expression **expressions;
    size_t n_expressions;
    bandit_rule *list;
    struct part {
        const expression *of;
        size_t number;
    } * parts;
    bool *counted;
} owned_rules;

static double slack(const bandit_rules *rules, size_t i, const double *coded)
{
    const owned_rules *own = (const owned_rules *)(const void *)rules;
    return expression_slack(own->parts[i].of, own->parts[i].number, coded);
}

static void release(bandit_rules *rules)
{
    owned_rules *own = (owned_rules *)(void *)rules;
    for (size_t i = 0; own->expressions && i < own->n_expressions; i++)
        expression_free(own->expressions[i]);
    free(own->expressions);
    free(own->list);
    free(own->parts);
    free(own->counted);
    free(own);
}

static void take_part(owned_rules *own, const expression *e, size_t k)
{
    bandit_rule *rule = &own->list[own->rules.n];
    expression_linear form;
    rule->parameters = expression_parameters(e, k, &rule->n);
    if (expression_is_linear(e, k, &form)) {
        rule->coefficients = form.coefficients;
        rule->bound = form.bound;
        rule->equality = form.equality;
    }
    own->parts[own->rules.n].of = e;
    own->parts[own->rules.n].number = k;
    own->rules.n++;
}

/* Parses the constraints again, so that the arms borrow nothing from the definition. */
static owned_rules *rules_new(const wire_study *definition)
{
    owned_rules *own = calloc(1, sizeof *own);
    size_t n = definition->n_constraints, parts = 0;
    bool ok = own != NULL;
    if (!own)
        return NULL;
    own->n_expressions = n;
    own->expressions = calloc(n, sizeof *own->expressions);
    own->counted = calloc(definition->n_parameters, sizeof *own->counted);
    ok = own->expressions && own->counted;
    for (size_t i = 0; ok && i < n; i++) {
        expression_error error;
        ok = wire_parse_constraint(&own->expressions[i], definition->parameters, definition->n_parameters,
                                   definition->constraints[i].text, &error) == EXPRESSION_OK;
        parts += ok ? expression_parts(own->expressions[i]) : 0;
    }
    if (ok) {
        own->list = calloc(parts, sizeof *own->list);
        own->parts = calloc(parts, sizeof *own->parts);
        ok = own->list && own->parts;
    }
    for (size_t i = 0; ok && i < n; i++) {
        for (size_t k = 0; k < expression_parts(own->expressions[i]); k++)
            take_part(own, own->expressions[i], k);
        for (size_t p = 0; p < definition->n_parameters; p++)
            own->counted[p] |= expression_counts(own->expressions[i], p);
    }
    if (!ok) {
        release(&own->rules);
        return NULL;
    }
    own->rules.list = own->list;
    own->rules.counted = own->counted;
    own->rules.slack = slack;
    own->rules.tolerance = EXPRESSION_TOLERANCE;
    own->rules.release = release;
    return own;
}

bandit_status space_arms_new(bandit_arms **out, const wire_study *definition,
                             const bandit_parameter *parameters, bandit_error *err)
{
    bandit_status status = bandit_arms_new_space(out, parameters, definition->n_parameters, err);
    if (status != BANDIT_OK || definition->n_constraints == 0)
        return status;
    owned_rules *own = rules_new(definition);
    if (!own) {
        bandit_arms_free(*out);
        *out = NULL;
        bandit_error_set(err, BANDIT_NO_MEMORY, "", "out of memory");
        return BANDIT_NO_MEMORY;
    }
    bandit_arms_constrain(*out, &own->rules);
    return BANDIT_OK;
}

/* ---- do points exist that keep the constraints? -------------------------------------------------------- */

/* Looks for points in a set of arms that has only some of the constraints. */
static bandit_status find_without(const wire_study *definition, const bandit_parameter *parameters,
                                  size_t without, bool *found)
{
    wire_study some = *definition;
    bandit_arms *arms = NULL;
    bandit_error err;
    double share;
    *found = true;
    some.constraints = malloc(definition->n_constraints * sizeof *some.constraints);
    if (!some.constraints)
        return BANDIT_NO_MEMORY;
    some.n_constraints = 0;
    for (size_t i = 0; i < definition->n_constraints; i++) {
        if (i != without)
            some.constraints[some.n_constraints++] = definition->constraints[i];
    }
    bandit_status status =
        some.n_constraints == 0 ? BANDIT_OK : space_arms_new(&arms, &some, parameters, &err);
    if (status == BANDIT_OK && arms)
        status = bandit_arms_find_allowed(arms, SIZE_MAX, found, &share, &err);
    bandit_arms_free(arms);
    free(some.constraints);
    return status;
}

bool space_has_points(const bandit_arms *arms, const wire_study *definition, wire_errors *errors,
                      bool *no_memory)
{
    size_t n;
    const bandit_parameter *parameters = bandit_arms_parameters(arms, &n);
    bandit_error err;
    bool found;
    double share;
    bandit_status status = bandit_arms_find_allowed(arms, SIZE_MAX, &found, &share, &err);
    size_t culprit = definition->n_constraints;
    for (size_t i = definition->n_constraints; status == BANDIT_OK && !found && i-- > 0;) {
        bool others;
        status = find_without(definition, parameters, i, &others);
        if (others) {
            culprit = i;
            break;
        }
    }
    *no_memory = status != BANDIT_OK;
    if (*no_memory || found)
        return !*no_memory;
    if (culprit < definition->n_constraints) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/domain/constraints/%zu", culprit);
        wire_errors_add(errors, pointer, "%s",
                        definition->n_constraints == 1
                            ? "no point of the space, or almost none, was found that satisfies it"
                            : "no point, or almost none, was found that satisfies it together with the other "
                              "constraints; without it there are such points");
    } else {
        wire_errors_add(errors, "/domain/constraints",
                        "no point of the space, or almost none, was found that satisfies them");
    }
    return false;
}
