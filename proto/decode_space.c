/* Domains of type "space": their parameters, and points that are given by parameter name. */
#include "bandit/lattice.h"
#include "proto/decode_study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values of a parameter ---------------------------------------------------------------------------- */

/* Reads "step" of a parameter whose range is valid. */
static void fill_step(wire_object *o, wire_parameter *p)
{
    bool ok;
    int64_t whole = 0;
    wire_place at = wire_place_member(o->place, "step");
    if (!wire_has(o, "step"))
        return;
    if (p->type == WIRE_PARAMETER_INTEGER) {
        ok = wire_take_integer(o, "step", WIRE_OPTIONAL, 1, WIRE_MAX_INTEGER, &whole);
        p->step = (double)whole;
    } else {
        ok = wire_take_real(o, "step", WIRE_OPTIONAL, &wire_positive, &p->step);
    }
    if (!ok)
        return;
    double last = lattice_last(p->min, p->max, p->step);
    if (last < 1.0)
        wire_refuse(o->decoder, &at, "must be at most max - min");
    else if (!(last < WIRE_MAX_INTEGER) || p->min + p->step == p->min || p->max - p->step == p->max)
        wire_refuse(o->decoder, &at, "is too small for this range");
}

/* Reads "precision" of a double whose range is valid. */
static void fill_precision(wire_object *o, wire_parameter *p)
{
    enum { MOST_DIGITS = 15 };
    int64_t digits = 0;
    wire_place at = wire_place_member(o->place, "precision");
    if (!wire_has(o, "precision"))
        return;
    if (p->step > 0.0) {
        wire_refuse(o->decoder, &at, "does not apply to a parameter with a step");
        return;
    }
    if (!wire_take_integer(o, "precision", WIRE_OPTIONAL, p->log ? 1 : 0, MOST_DIGITS, &digits))
        return;
    p->has_precision = true;
    p->precision = (int)digits;
    double lowest = lattice_round_digits(p->min, p->precision, p->log, p->min, p->max);
    if (!p->log && lowest != lattice_round_to(lowest, -p->precision))
        wire_refuse(o->decoder, &at,
                    "must be so large that a number with so many decimal places is in the range");
}

static void fill_range(wire_object *o, wire_parameter *p)
{
    static const char *const scales[] = {"linear", "log", NULL};
    bool integer = p->type == WIRE_PARAMETER_INTEGER;
    double bounds[2] = {0, 0};
    static const char *const names[2] = {"min", "max"};
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        int64_t whole = 0;
        if (!integer) {
            ok &= wire_take_real(o, names[i], WIRE_REQUIRED, &wire_any, &bounds[i]);
        } else {
            ok &= wire_take_integer(o, names[i], WIRE_REQUIRED, -WIRE_MAX_INTEGER, WIRE_MAX_INTEGER, &whole);
            bounds[i] = (double)whole;
        }
    }
    p->min = bounds[0];
    p->max = bounds[1];
    size_t scale = 0;
    wire_take_word(o, "scale", WIRE_OPTIONAL, scales, &scale);
    p->log = scale == 1;
    if (!ok) {
        wire_has(o, "step");
        wire_has(o, "precision");
        return;
    }
    wire_place min = wire_place_member(o->place, "min");
    wire_place max = wire_place_member(o->place, "max");
    if (p->min >= p->max)
        wire_refuse(o->decoder, &max, "must be greater than min");
    else if (!isfinite(p->max - p->min))
        wire_refuse(o->decoder, &max, "is too far from min: max - min must not overflow");
    if (p->log && p->min <= 0)
        wire_refuse(o->decoder, &min, "must be greater than 0 on a log scale");
    else
        fill_step(o, p);
    if (integer)
        wire_forbid(o, "precision", "applies only to a parameter of type \"double\"");
    else
        fill_precision(o, p);
}

/* Reads and codes a value of the parameter, or refuses it. Only for parameters without problems. */
static bool read_value(wire_decoder *d, const wire_place *at, const json_t *json, const wire_parameter *p,
                       double *out)
{
    wire_assignment given = {.type = WIRE_ASSIGN_NUMBER};
    char *text = NULL;
    if (json_is_number(json)) {
        given.number = json_number_value(json);
    } else if (json_is_string(json)) {
        given.type = WIRE_ASSIGN_TEXT;
        given.text = text = wire_duplicate(d, json_string_value(json));
        if (!text)
            return false;
    } else if (json_is_boolean(json)) {
        given.type = WIRE_ASSIGN_TRUTH;
        given.number = json_is_true(json);
    } else {
        wire_refuse(d, at, "must be a number, a string, true or false");
        return false;
    }
    *out = wire_code_assignment(p, &given);
    free(text);
    if (!isnan(*out))
        return true;
    char detail[WIRE_VALUES_TEXT];
    if (wire_describe_values(p, detail))
        wire_refuse(d, at, "%s", detail);
    else
        d->no_memory = true;
    return false;
}

/* ---- parameters --------------------------------------------------------------------------------------- */

/* Without a type, it is not known which members are allowed, but no type has others than these. */
static void refuse_foreign(wire_object *o)
{
    static const char *const members[] = {"min",    "max",     "scale",    "step",          "precision",
                                          "values", "ordered", "features", "feature_names", "encoding",
                                          "unit",   "role",    "default",  "active_when"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        wire_has(o, members[i]);
    wire_object_close(o);
}

static void fill_parameter(wire_decoder *d, const wire_place *at, const json_t *json, wire_parameter *p)
{
    static const char *const types[] = {
        [WIRE_PARAMETER_DOUBLE] = "double",     [WIRE_PARAMETER_INTEGER] = "integer",
        [WIRE_PARAMETER_DISCRETE] = "discrete", [WIRE_PARAMETER_CATEGORICAL] = "categorical",
        [WIRE_PARAMETER_BOOLEAN] = "boolean",   NULL,
    };
    p->parent = WIRE_NO_PARENT;
    p->parent_min = -INFINITY;
    p->parent_max = INFINITY;
    wire_object o;
    if (!wire_object_open(&o, d, at, json))
        return;
    wire_take_string(&o, "name", WIRE_REQUIRED, 1, WIRE_MAX_NAME, &p->name);
    size_t type;
    if (!wire_take_word(&o, "type", WIRE_REQUIRED, types, &type)) {
        refuse_foreign(&o);
        return;
    }
    p->type = (wire_parameter_type)type;
    switch (p->type) {
    case WIRE_PARAMETER_DOUBLE:
    case WIRE_PARAMETER_INTEGER:
        fill_range(&o, p);
        break;
    case WIRE_PARAMETER_DISCRETE:
    case WIRE_PARAMETER_CATEGORICAL:
        wire_fill_list_of_values(&o, p);
        break;
    case WIRE_PARAMETER_BOOLEAN:
        break;
    }
    wire_take_string(&o, "unit", WIRE_OPTIONAL, 1, WIRE_MAX_UNIT, &p->unit);
    static const char *const roles[] = {"context", NULL};
    size_t role;
    p->context = wire_take_word(&o, "role", WIRE_OPTIONAL, roles, &role);
    /* Read later, once all parameters are known to be valid. */
    wire_has(&o, "default");
    wire_has(&o, "active_when");
    wire_object_close(&o);
}

static void check_names(wire_decoder *d, const wire_place *at, const wire_study *study)
{
    for (size_t i = 0; i < study->n_parameters; i++) {
        const char *name = study->parameters[i].name;
        for (size_t j = 0; name && j < i; j++) {
            if (!study->parameters[j].name || strcmp(study->parameters[j].name, name) != 0)
                continue;
            wire_place parameter = wire_place_element(at, i);
            wire_place place = wire_place_member(&parameter, "name");
            wire_refuse(d, &place, "is already the name of another parameter");
            break;
        }
    }
}

/* Something must be left to choose. */
static void check_roles(wire_decoder *d, const wire_place *at, const wire_study *study)
{
    size_t contexts = 0;
    for (size_t i = 0; i < study->n_parameters; i++)
        contexts += study->parameters[i].context;
    if (contexts == study->n_parameters)
        wire_refuse(d, at, "must have a parameter that is not a context");
}

/* ---- conditions --------------------------------------------------------------------------------------- */

/* Reads the range of a condition on the numbers of another parameter. */
static void fill_parent_range(wire_object *o, const wire_parameter *other, wire_parameter *p)
{
    wire_place name = wire_place_member(o->place, "parameter"), max = wire_place_member(o->place, "max");
    if (other->type == WIRE_PARAMETER_CATEGORICAL || other->type == WIRE_PARAMETER_BOOLEAN) {
        wire_refuse(o->decoder, &name, "must be a parameter with numbers if min or max is given");
        return;
    }
    wire_take_real(o, "min", WIRE_OPTIONAL, &wire_any, &p->parent_min);
    wire_take_real(o, "max", WIRE_OPTIONAL, &wire_any, &p->parent_max);
    if (p->parent_min > p->parent_max)
        wire_refuse(o->decoder, &max, "must be at least min");
}

static void fill_condition(wire_decoder *d, const wire_place *at, const json_t *json, wire_study *study,
                           wire_parameter *p)
{
    wire_object o;
    if (!wire_object_open(&o, d, at, json))
        return;
    wire_place name_place = wire_place_member(at, "parameter"), list = wire_place_member(at, "in");
    char *name = NULL;
    wire_take_string(&o, "parameter", WIRE_REQUIRED, 1, WIRE_MAX_NAME, &name);
    bool has_min = wire_has(&o, "min"), has_max = wire_has(&o, "max"), ranged = has_min || has_max;
    const json_t *in = wire_take(&o, "in", ranged ? WIRE_OPTIONAL : WIRE_REQUIRED);
    if (ranged && in)
        wire_refuse(d, &list, "cannot be given together with min or max");
    wire_object_close(&o);
    size_t parent = 0;
    while (name && parent < study->n_parameters && strcmp(study->parameters[parent].name, name) != 0)
        parent++;
    bool found = name && parent < study->n_parameters;
    free(name);
    if (!found || (!in && !ranged)) {
        if (!found && json_is_string(json_object_get(json, "parameter")))
            wire_refuse(d, &name_place, "is not a parameter of this space");
        return;
    }
    const wire_parameter *other = &study->parameters[parent];
    if (ranged) {
        p->parent = parent;
        fill_parent_range(&o, other, p);
        return;
    }
    if (other->type == WIRE_PARAMETER_DOUBLE) {
        wire_refuse(d, &name_place, "must not be a parameter of type \"double\", except with min or max");
        return;
    }
    if (!wire_check_list(d, &list, in, 1, WIRE_MAX_CHOICES))
        return;
    size_t n = json_array_size(in);
    p->parent_values = wire_allocate(d, n, sizeof *p->parent_values);
    if (!p->parent_values)
        return;
    p->parent = parent;
    p->n_parent_values = n;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(&list, i);
        read_value(d, &place, json_array_get(in, i), other, &p->parent_values[i]);
    }
}

/* Is parameter i its own ancestor? Each parameter has at most one parent, so n steps complete any cycle. */
static bool in_cycle(const wire_study *study, size_t i)
{
    size_t ancestor = study->parameters[i].parent;
    for (size_t steps = 0; ancestor != WIRE_NO_PARENT && steps < study->n_parameters; steps++) {
        if (ancestor == i)
            return true;
        ancestor = study->parameters[ancestor].parent;
    }
    return false;
}

static void fill_conditions(wire_decoder *d, const wire_place *at, const json_t *list, wire_study *study)
{
    for (size_t i = 0; i < study->n_parameters; i++) {
        wire_place place = wire_place_element(at, i);
        wire_parameter *p = &study->parameters[i];
        const json_t *json = json_array_get(list, i);
        const json_t *value = json_object_get(json, "default");
        wire_place default_place = wire_place_member(&place, "default");
        if (value)
            p->has_default = read_value(d, &default_place, value, p, &p->default_value);
        const json_t *condition = json_object_get(json, "active_when");
        wire_place condition_place = wire_place_member(&place, "active_when");
        if (condition && p->context)
            wire_refuse(d, &condition_place, "does not apply to a context");
        else if (condition)
            fill_condition(d, &condition_place, condition, study, p);
    }
    for (size_t i = 0; i < study->n_parameters; i++) {
        if (!in_cycle(study, i))
            continue;
        wire_place place = wire_place_element(at, i);
        wire_place condition = wire_place_member(&place, "active_when");
        wire_place name = wire_place_member(&condition, "parameter");
        wire_refuse(d, &name, "the conditions of the parameters form a cycle");
    }
}

void wire_fill_space(wire_object *domain, wire_study *study)
{
    wire_decoder *d = domain->decoder;
    static const char *const others[] = {"scaling", "points", "dimension", "names", "size", "keys"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        wire_forbid(domain, others[i], "does not apply to a domain of type \"space\"");
    const json_t *json = wire_take(domain, "parameters", WIRE_REQUIRED);
    wire_place at = wire_place_member(domain->place, "parameters");
    wire_has(domain, "constraints"); /* read last, once the parameters are known to be valid */
    if (!json || !wire_check_list(d, &at, json, 1, WIRE_MAX_PARAMETERS))
        return;
    size_t n = json_array_size(json);
    study->parameters = wire_allocate(d, n, sizeof *study->parameters);
    if (!study->parameters)
        return;
    study->n_parameters = n;
    bool others_invalid = d->invalid;
    d->invalid = false;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(&at, i);
        fill_parameter(d, &place, json_array_get(json, i), &study->parameters[i]);
    }
    check_names(d, &at, study);
    check_roles(d, &at, study);
    /* Defaults and conditions refer to values of the parameters, which must be valid first. */
    if (!d->invalid && !d->no_memory)
        fill_conditions(d, &at, json, study);
    const json_t *constraints = wire_take(domain, "constraints", WIRE_OPTIONAL);
    wire_place rules = wire_place_member(domain->place, "constraints");
    if (constraints && !d->invalid && !d->no_memory)
        wire_fill_constraints(d, &rules, constraints, study);
    d->invalid |= others_invalid;
}

void wire_space_clear(wire_study *study)
{
    for (size_t i = 0; i < study->n_parameters; i++) {
        wire_parameter *p = &study->parameters[i];
        free(p->name);
        free(p->unit);
        wire_values_clear(p);
        free(p->parent_values);
    }
    free(study->parameters);
    wire_constraints_clear(study);
}

/* ---- points given by name ----------------------------------------------------------------------------- */

void wire_read_assignments(wire_decoder *d, const wire_place *at, const json_t *json, wire_assignments *out)
{
    if (!json_is_object(json)) {
        wire_refuse(d, at, "must be an object");
        return;
    }
    size_t n = json_object_size(json);
    if (n > WIRE_MAX_PARAMETERS) {
        wire_refuse(d, at, "must have at most %d parameters", WIRE_MAX_PARAMETERS);
        return;
    }
    out->items = wire_allocate(d, n, sizeof *out->items);
    if (!out->items)
        return;
    /* The iterators take a non-const object but do not change it. */
    json_t *object = (json_t *)(uintptr_t)json;
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        const json_t *value = json_object_iter_value(i);
        wire_place place = wire_place_member(at, json_object_iter_key(i));
        wire_assignment *item = &out->items[out->n++];
        item->name = wire_duplicate(d, json_object_iter_key(i));
        if (json_is_number(value)) {
            item->type = WIRE_ASSIGN_NUMBER;
            item->number = json_number_value(value);
        } else if (json_is_boolean(value)) {
            item->type = WIRE_ASSIGN_TRUTH;
            item->number = json_is_true(value);
        } else if (json_is_string(value)) {
            item->type = WIRE_ASSIGN_TEXT;
            item->text = wire_duplicate(d, json_string_value(value));
        } else {
            wire_refuse(d, &place, "must be a number, a string, true or false");
        }
    }
}
