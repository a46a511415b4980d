/* Metrics of a study: "metrics": [{…}, …], or "metric": {…} for a list of one. */
#include "proto/decode_study.h"

#include <stdlib.h>
#include <string.h>

static void fill_metric(wire_decoder *d, const wire_place *at, const json_t *json, wire_metric *metric)
{
    static const char *const goals[] = {"maximize", "minimize", NULL};
    static const char *const roles[] = {"objective", "recorded", NULL};
    wire_object o;
    if (!wire_object_open(&o, d, at, json))
        return;
    wire_take_string(&o, "name", WIRE_REQUIRED, 1, WIRE_MAX_NAME, &metric->name);
    size_t goal = 0, role = 0;
    wire_take_word(&o, "goal", WIRE_REQUIRED, goals, &goal);
    wire_take_word(&o, "role", WIRE_OPTIONAL, roles, &role);
    wire_take_string(&o, "unit", WIRE_OPTIONAL, 1, WIRE_MAX_UNIT, &metric->unit);
    metric->minimize = goal == 1;
    metric->recorded = role == 1;
    wire_object_close(&o);
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
    size_t objectives = 0;
    for (size_t i = 0; i < n; i++) {
        wire_place metric = wire_place_element(at, i);
        fill_metric(d, &metric, json_array_get(json, i), &study->metrics[i]);
        objectives += !study->metrics[i].recorded;
    }
    check_names(d, at, study);
    if (objectives != 1)
        wire_refuse(d, at, "exactly one metric must have the role \"objective\", not %zu", objectives);
}

static void fill_single(wire_decoder *d, const wire_place *at, const json_t *json, wire_study *study)
{
    study->metrics = wire_allocate(d, 1, sizeof *study->metrics);
    if (!study->metrics)
        return;
    study->n_metrics = 1;
    fill_metric(d, at, json, &study->metrics[0]);
    if (study->metrics[0].recorded) {
        wire_place role = wire_place_member(at, "role");
        wire_refuse(d, &role, "must be \"objective\" for the only metric");
    }
}

const wire_metric *wire_objective(const wire_study *study)
{
    size_t i = 0;
    while (i + 1 < study->n_metrics && study->metrics[i].recorded)
        i++;
    return &study->metrics[i];
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
