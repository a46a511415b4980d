/* Metrics of a study: "metrics": [{…}, …], or "metric": {…} for a list of one. */
#include "proto/decode_study.h"

#include <stdlib.h>
#include <string.h>

/* Bounds, the threshold and the goal, as far as the role has them. */
static void fill_bounds(wire_object *o, wire_metric *metric)
{
    static const char *const goals[] = {"maximize", "minimize", NULL};
    static const wire_range bound = {.min = -WIRE_MAX_VALUE, .max = WIRE_MAX_VALUE};
    size_t goal = 0;
    if (metric->constraint) {
        wire_forbid(o, "goal", "does not apply to a constraint: it must hold, and is not optimized");
    } else {
        metric->has_goal = wire_has(o, "goal");
        wire_take_word(o, "goal", metric->recorded ? WIRE_OPTIONAL : WIRE_REQUIRED, goals, &goal);
        metric->minimize = goal == 1;
    }
    if (metric->recorded || metric->constraint)
        wire_forbid(o, "threshold", "applies to objectives only");
    else
        wire_take_number(o, "threshold", &bound, NULL, &metric->threshold);
    if (metric->recorded) {
        wire_forbid(o, "at_least", "does not apply to a recorded metric");
        wire_forbid(o, "at_most", "does not apply to a recorded metric");
        return;
    }
    wire_take_number(o, "at_least", &bound, NULL, &metric->at_least);
    wire_take_number(o, "at_most", &bound, NULL, &metric->at_most);
}

static void fill_metric(wire_decoder *d, const wire_place *at, const json_t *json, wire_metric *metric)
{
    static const char *const roles[] = {"objective", "recorded", "constraint", NULL};
    wire_object o;
    if (!wire_object_open(&o, d, at, json))
        return;
    wire_take_string(&o, "name", WIRE_REQUIRED, 1, WIRE_MAX_NAME, &metric->name);
    size_t role = 0;
    wire_take_word(&o, "role", WIRE_OPTIONAL, roles, &role);
    wire_take_string(&o, "unit", WIRE_OPTIONAL, 1, WIRE_MAX_UNIT, &metric->unit);
    metric->recorded = role == 1;
    metric->constraint = role == 2;
    fill_bounds(&o, metric);
    wire_object_close(&o);
    if (metric->constraint && !metric->at_least.given && !metric->at_most.given)
        wire_refuse(d, at, "a constraint requires \"at_least\", \"at_most\" or both");
    if (metric->at_least.given && metric->at_most.given &&
        !(metric->at_least.value < metric->at_most.value)) {
        wire_place place = wire_place_member(at, "at_most");
        wire_refuse(d, &place, "must be greater than \"at_least\"");
    }
}

static void check_names(wire_decoder *d, const wire_place *at, const wire_study *study)
{
    for (size_t i = 0; i < study->n_metrics; i++) {
        const char *name = study->metrics[i].name;
        for (size_t j = 0; name && j < i; j++) {
            if (!study->metrics[j].name || strcmp(study->metrics[j].name, name) != 0)
                continue;
            wire_place metric = wire_place_element(at, i);
            wire_place place = wire_place_member(&metric, "name");
            wire_refuse(d, &place, "is already the name of another metric");
            break;
        }
    }
}

/* How many metrics have each role, and whether all objectives have a threshold or none. */
static void check_roles(wire_decoder *d, const wire_place *at, const wire_study *study)
{
    size_t objectives = wire_count_objectives(study), constraints = 0, thresholds = 0;
    for (size_t i = 0; i < study->n_metrics; i++) {
        constraints += study->metrics[i].constraint;
        thresholds += study->metrics[i].threshold.given;
    }
    if (objectives < 1 || objectives > WIRE_MAX_OBJECTIVES)
        wire_refuse(d, at, "1 to %d metrics must have the role \"objective\", not %zu", WIRE_MAX_OBJECTIVES,
                    objectives);
    if (constraints > WIRE_MAX_CONSTRAINTS)
        wire_refuse(d, at, "at most %d metrics may have the role \"constraint\", not %zu",
                    WIRE_MAX_CONSTRAINTS, constraints);
    if (thresholds > 0 && objectives == 1)
        wire_refuse(d, at, "a threshold applies to several objectives only");
    else if (thresholds > 0 && thresholds != objectives)
        wire_refuse(d, at, "either all objectives or none must have a threshold: here %zu of %zu have one",
                    thresholds, objectives);
}

static void fill_list(wire_decoder *d, const wire_place *at, const json_t *json, wire_study *study)
{
    study->metrics_as_list = true;
    if (!wire_check_list(d, at, json, 1, WIRE_MAX_METRICS))
        return;
    size_t n = json_array_size(json);
    study->metrics = wire_allocate(d, n, sizeof *study->metrics);
    if (!study->metrics)
        return;
    study->n_metrics = n;
    for (size_t i = 0; i < n; i++) {
        wire_place metric = wire_place_element(at, i);
        fill_metric(d, &metric, json_array_get(json, i), &study->metrics[i]);
    }
    check_names(d, at, study);
    check_roles(d, at, study);
}

static void fill_single(wire_decoder *d, const wire_place *at, const json_t *json, wire_study *study)
{
    study->metrics = wire_allocate(d, 1, sizeof *study->metrics);
    if (!study->metrics)
        return;
    study->n_metrics = 1;
    fill_metric(d, at, json, &study->metrics[0]);
    if (study->metrics[0].recorded || study->metrics[0].constraint) {
        wire_place role = wire_place_member(at, "role");
        wire_refuse(d, &role, "must be \"objective\" for the only metric");
    }
    if (study->metrics[0].threshold.given) {
        wire_place threshold = wire_place_member(at, "threshold");
        wire_refuse(d, &threshold, "applies to several objectives only");
    }
}

static bool is_objective(const wire_metric *metric)
{
    return !metric->recorded && !metric->constraint;
}

const wire_metric *wire_objective(const wire_study *study)
{
    size_t i = 0;
    while (i + 1 < study->n_metrics && !is_objective(&study->metrics[i]))
        i++;
    return &study->metrics[i];
}

size_t wire_metric_named(const wire_study *study, const char *name)
{
    size_t i = 0;
    while (i < study->n_metrics && strcmp(study->metrics[i].name, name) != 0)
        i++;
    return i;
}

size_t wire_modelled_metrics(const wire_study *study, const wire_metric **out)
{
    const wire_metric *first = wire_objective(study);
    size_t n = 1;
    if (out)
        out[0] = first;
    for (size_t i = 0; i < study->n_metrics; i++) {
        const wire_metric *metric = &study->metrics[i];
        if (metric == first || metric->recorded)
            continue;
        if (out && n < WIRE_MAX_MODELLED)
            out[n] = metric;
        n++;
    }
    return n;
}

size_t wire_count_objectives(const wire_study *study)
{
    size_t n = 0;
    for (size_t i = 0; i < study->n_metrics; i++)
        n += is_objective(&study->metrics[i]);
    return n;
}

bool wire_has_bounds(const wire_study *study)
{
    bool some = false;
    for (size_t i = 0; i < study->n_metrics; i++)
        some |= study->metrics[i].at_least.given || study->metrics[i].at_most.given;
    return some;
}

bool wire_has_several(const wire_study *study)
{
    return wire_modelled_metrics(study, NULL) > 1 || wire_has_bounds(study);
}

bool wire_keeps_bounds(const wire_metric *const *metrics, const double *values, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        const wire_metric *metric = metrics[j];
        if ((metric->at_least.given && values[j] < metric->at_least.value) ||
            (metric->at_most.given && values[j] > metric->at_most.value))
            return false;
    }
    return true;
}

void wire_fill_metrics(wire_object *definition, wire_study *study)
{
    wire_decoder *d = definition->decoder;
    const json_t *list = wire_take(definition, "metrics", WIRE_OPTIONAL);
    const json_t *single = wire_take(definition, "metric", list ? WIRE_OPTIONAL : WIRE_REQUIRED);
    wire_place list_place = wire_place_member(definition->place, "metrics");
    wire_place single_place = wire_place_member(definition->place, "metric");
    if (list && single)
        wire_refuse(d, &single_place, "cannot be given together with metrics");
    else if (list)
        fill_list(d, &list_place, list, study);
    else if (single)
        fill_single(d, &single_place, single, study);
}
