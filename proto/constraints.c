/* The constraints of a space: "constraints": ["a + b <= 1", …] in its domain, and whether points keep them. */
#include "proto/constraints.h"

#include "proto/decode_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static expression_kind kind_of(const wire_parameter *p)
{
    switch (p->type) {
    case WIRE_PARAMETER_DOUBLE:
        return p->step > 0.0 ? EXPRESSION_WHOLE : EXPRESSION_REAL;
    case WIRE_PARAMETER_INTEGER:
    case WIRE_PARAMETER_DISCRETE:
        return EXPRESSION_WHOLE;
    case WIRE_PARAMETER_CATEGORICAL:
        return EXPRESSION_WORDS;
    case WIRE_PARAMETER_BOOLEAN:
        break;
    }
    return EXPRESSION_SWITCH;
}

expression_status wire_parse_constraint(expression **out, const wire_parameter *parameters, size_t n,
                                        const char *text, expression_error *error)
{
    *out = NULL;
    expression_name *names = calloc(n, sizeof *names);
    if (!names)
        return EXPRESSION_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const wire_parameter *p = &parameters[i];
        names[i] = (expression_name){.name = p->name,
                                     .kind = kind_of(p),
                                     .log = p->log,
                                     .ordered = p->ordered,
                                     .words = p->words,
                                     .n_words = p->words ? p->n_values : 0};
    }
    expression_status status = expression_parse(out, text, names, n, error);
    free(names);
    return status;
}

static void fill_constraint(wire_decoder *d, const wire_place *at, const json_t *json,
                            const wire_study *study, wire_constraint *constraint)
{
    expression_error error = {0};
    if (!json_is_string(json)) {
        wire_refuse(d, at, "must be a string");
        return;
    }
    if (json_string_length(json) > WIRE_MAX_RULE) {
        wire_refuse(d, at, "must have at most %d bytes", WIRE_MAX_RULE);
        return;
    }
    constraint->text = wire_duplicate(d, json_string_value(json));
    if (!constraint->text)
        return;
    switch (wire_parse_constraint(&constraint->rule, study->parameters, study->n_parameters, constraint->text,
                                  &error)) {
    case EXPRESSION_OK:
        break;
    case EXPRESSION_INVALID:
        wire_refuse(d, at, "column %zu: %s", error.column, error.text);
        break;
    case EXPRESSION_NO_MEMORY:
        d->no_memory = true;
        break;
    }
}

void wire_fill_constraints(wire_decoder *d, const wire_place *at, const json_t *json, wire_study *study)
{
    if (!wire_check_list(d, at, json, 1, WIRE_MAX_RULES))
        return;
    size_t n = json_array_size(json);
    study->constraints = wire_allocate(d, n, sizeof *study->constraints);
    if (!study->constraints)
        return;
    study->n_constraints = n;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(at, i);
        fill_constraint(d, &place, json_array_get(json, i), study, &study->constraints[i]);
    }
}

void wire_constraints_clear(wire_study *study)
{
    for (size_t i = 0; i < study->n_constraints; i++) {
        free(study->constraints[i].text);
        expression_free(study->constraints[i].rule);
    }
    free(study->constraints);
}

const char *wire_broken_constraint(const wire_study *study, const double *values)
{
    for (size_t i = 0; i < study->n_constraints; i++) {
        const expression *rule = study->constraints[i].rule;
        for (size_t k = 0; k < expression_parts(rule); k++) {
            if (expression_slack(rule, k, values) > 0.0)
                return study->constraints[i].text;
        }
    }
    return NULL;
}

bool wire_check_constraints(const wire_study *study, const double *values, const char *pointer,
                            wire_errors *errors)
{
    const char *broken = wire_broken_constraint(study, values);
    if (broken)
        wire_errors_add(errors, pointer, "breaks the constraint %.200s", broken);
    return !broken;
}
