#include "proto/encode.h"
#include "proto/fronts.h"

/* "values": {name: value} or {name: {"mean", "std"}} */
static void encode_values(wire_writer *w, const wire_study *definition, const double *values,
                          const double *stds)
{
    const wire_metric *metrics[WIRE_MAX_MODELLED];
    size_t n = wire_modelled_metrics(definition, metrics);
    wire_key(w, "values");
    wire_object_begin(w);
    for (size_t j = 0; j < n; j++) {
        wire_key(w, metrics[j]->name);
        if (stds) {
            wire_object_begin(w);
            wire_real_member(w, "mean", values[j]);
            wire_real_member(w, "std", stds[j]);
            wire_object_end(w);
        } else {
            wire_real(w, values[j]);
        }
    }
    wire_object_end(w);
}

static void encode_members(wire_writer *w, const wire_study *definition, const wire_front_point *point)
{
    if (point->trial > 0)
        wire_integer_member(w, "trial", point->trial);
    if (point->observation > 0)
        wire_integer_member(w, "observation", point->observation);
    wire_arm_members(w, point->candidate, point->key, point->space, point->parameters);
    encode_values(w, definition, point->values, point->stds);
    if (point->stds && wire_has_bounds(definition))
        wire_real_member(w, "feasible_probability", point->feasible);
    if (point->stds)
        wire_integer_member(w, "pulls", point->pulls);
}

static void encode_front(wire_writer *w, const char *key, const wire_study *definition,
                         const wire_front_point *points, size_t n)
{
    wire_key(w, key);
    wire_object_begin(w);
    wire_key(w, "pareto");
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        wire_object_begin(w);
        encode_members(w, definition, &points[i]);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
}

static void encode_reference(wire_writer *w, const wire_fronts *fronts)
{
    const wire_metric *metrics[WIRE_MAX_MODELLED];
    size_t n = wire_modelled_metrics(fronts->definition, metrics), k = 0;
    wire_key(w, "reference");
    if (!fronts->reference) {
        wire_null(w);
    } else {
        wire_object_begin(w);
        for (size_t j = 0; j < n; j++)
            if (!metrics[j]->constraint)
                wire_real_member(w, metrics[j]->name, fronts->reference[k++]);
        wire_object_end(w);
    }
    wire_key(w, "reference_inferred");
    wire_boolean(w, fronts->inferred);
}

void wire_encode_fronts(wire_writer *w, const wire_fronts *fronts)
{
    wire_object_begin(w);
    wire_key(w, "hypervolume");
    if (fronts->has_volume)
        wire_real(w, fronts->volume);
    else
        wire_null(w);
    encode_reference(w, fronts);
    encode_front(w, "observed", fronts->definition, fronts->observed, fronts->n_observed);
    encode_front(w, "recommended", fronts->definition, fronts->recommended, fronts->n_recommended);
    wire_object_end(w);
}

void wire_encode_feasible_best(wire_writer *w, const wire_study *definition, const wire_best *best,
                               const double *values, const wire_front_point *recommended)
{
    wire_object_begin(w);
    wire_key(w, "observed");
    if (best->given) {
        wire_object_begin(w);
        if (best->observation > 0)
            wire_integer_member(w, "observation", best->observation);
        else
            wire_integer_member(w, "trial", best->trial);
        wire_arm_members(w, best->candidate, best->key, best->space, best->parameters);
        wire_real_member(w, "value", best->value);
        encode_values(w, definition, values, NULL);
        wire_object_end(w);
    } else {
        wire_null(w);
    }
    wire_key(w, "recommended");
    if (recommended) {
        wire_object_begin(w);
        wire_real_member(w, "mean", recommended->values[0]);
        wire_real_member(w, "std", recommended->stds[0]);
        encode_members(w, definition, recommended);
        wire_object_end(w);
    } else {
        wire_null(w);
    }
    wire_object_end(w);
}

void wire_encode_prediction(wire_writer *w, const wire_prediction *p)
{
    wire_real_member(w, "mean", p->mean);
    wire_real_member(w, "std", p->std);
    wire_real_member(w, "ucb", p->ucb);
}

void wire_encode_metrics_predicted(wire_writer *w, const wire_study *definition,
                                   const wire_prediction *predictions, size_t stride, double feasible)
{
    const wire_metric *metrics[WIRE_MAX_MODELLED];
    size_t n = wire_modelled_metrics(definition, metrics);
    wire_key(w, "values");
    wire_object_begin(w);
    for (size_t j = 0; j < n; j++) {
        wire_key(w, metrics[j]->name);
        wire_object_begin(w);
        wire_encode_prediction(w, &predictions[j * stride]);
        wire_object_end(w);
    }
    wire_object_end(w);
    if (wire_has_bounds(definition))
        wire_real_member(w, "feasible_probability", feasible);
}

void wire_encode_all_predictions(wire_writer *w, const wire_study *definition,
                                 const wire_prediction *predictions, const double *feasible, size_t n)
{
    wire_object_begin(w);
    wire_key(w, "predictions");
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        wire_object_begin(w);
        if (wire_count_objectives(definition) == 1)
            wire_encode_prediction(w, &predictions[i]);
        wire_encode_metrics_predicted(w, definition, predictions + i, n, feasible[i]);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
}
