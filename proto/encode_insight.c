#include "proto/insight.h"

#include "proto/encode.h"

#include <math.h>

void wire_encode_importances(wire_writer *w, const wire_importances *importances)
{
    wire_object_begin(w);
    wire_string_member(w, "metric", importances->metric);
    wire_integer_member(w, "batch", importances->batch);
    wire_integer_member(w, "observations", importances->observations);
    wire_string_member(w, "measure", importances->measure);
    wire_real_member(w, "variance", importances->variance);
    wire_key(w, "parameters");
    wire_array_begin(w);
    for (size_t i = 0; i < importances->n; i++) {
        const wire_importance *item = &importances->items[i];
        wire_object_begin(w);
        wire_string_member(w, "parameter", item->parameter);
        wire_key(w, "first");
        if (item->has_first)
            wire_real(w, item->first);
        else
            wire_null(w);
        wire_real_member(w, "total", item->total);
        wire_real_member(w, "std", item->std);
        wire_real_member(w, "top", item->top);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
}

static void encode_axis(wire_writer *w, const wire_effects *effects, const wire_effect *item, size_t axis)
{
    wire_key(w, axis == 0 ? "value" : "with_value");
    if (effects->parameters[axis])
        wire_encode_parameter_value(w, effects->parameters[axis], item->value[axis]);
    else
        wire_real(w, item->value[axis]);
    if (!item->is_bin)
        return;
    wire_real_member(w, axis == 0 ? "low" : "with_low", item->low[axis]);
    wire_real_member(w, axis == 0 ? "high" : "with_high", item->high[axis]);
}

void wire_encode_effects(wire_writer *w, const wire_effects *effects)
{
    wire_object_begin(w);
    wire_string_member(w, "metric", effects->metric);
    wire_integer_member(w, "batch", effects->batch);
    wire_string_member(w, "parameter", effects->names[0]);
    if (effects->n_axes > 1)
        wire_string_member(w, "with", effects->names[1]);
    wire_key(w, "effects");
    wire_array_begin(w);
    for (size_t i = 0; i < effects->n; i++) {
        const wire_effect *item = &effects->items[i];
        wire_object_begin(w);
        for (size_t axis = 0; axis < effects->n_axes; axis++)
            encode_axis(w, effects, item, axis);
        if (item->is_bin)
            wire_integer_member(w, "candidates", item->candidates);
        wire_real_member(w, "mean", item->mean);
        wire_real_member(w, "std", item->std);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
}

static void encode_unseen(wire_writer *w, const wire_unseen *item, bool with_trials)
{
    wire_object_begin(w);
    wire_arm_members(w, item->candidate, item->key, item->space, item->parameters);
    if (with_trials) {
        wire_key(w, "trials");
        wire_array_begin(w);
        for (size_t i = 0; i < item->n_trials; i++)
            wire_integer_value(w, item->trials[i]);
        wire_array_end(w);
    }
    wire_integer_member(w, "pulls", item->pulls);
    wire_real_member(w, "value", item->value);
    wire_real_member(w, "mean", item->mean);
    wire_real_member(w, "std", item->std);
    wire_real_member(w, "z", item->z);
    wire_key(w, "set_aside");
    wire_boolean(w, item->set_aside);
    wire_object_end(w);
}

static void encode_list(wire_writer *w, const char *key, const wire_unseen *items, size_t n, bool with_trials)
{
    wire_key(w, key);
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++)
        encode_unseen(w, &items[i], with_trials);
    wire_array_end(w);
}

void wire_encode_diagnostics(wire_writer *w, const wire_diagnostics *diagnostics)
{
    wire_object_begin(w);
    wire_string_member(w, "metric", diagnostics->metric);
    wire_integer_member(w, "batch", diagnostics->batch);
    wire_integer_member(w, "observations", diagnostics->observations);
    wire_integer_member(w, "points", diagnostics->points);
    wire_integer_member(w, "set_aside", diagnostics->set_aside);
    wire_key(w, "calibration");
    wire_array_begin(w);
    for (size_t k = 0; k < WIRE_INTERVALS; k++) {
        wire_object_begin(w);
        wire_real_member(w, "share", diagnostics->intervals[k].share);
        wire_real_member(w, "inside", diagnostics->intervals[k].inside);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_real_member(w, "error", diagnostics->error);
    wire_key(w, "rank_correlation");
    if (isfinite(diagnostics->rank_correlation))
        wire_real(w, diagnostics->rank_correlation);
    else
        wire_null(w);
    encode_list(w, "outliers", diagnostics->outliers, diagnostics->n_outliers, true);
    encode_list(w, "predictions", diagnostics->predictions, diagnostics->n_predictions, false);
    wire_object_end(w);
}

void wire_encode_outlook(wire_writer *w, const wire_outlook *outlook)
{
    wire_object_begin(w);
    wire_string_member(w, "metric", outlook->metric);
    wire_integer_member(w, "batch", outlook->batch);
    wire_integer_member(w, "observations", outlook->observations);
    wire_key(w, "recommended");
    wire_object_begin(w);
    wire_arm_members(w, outlook->candidate, outlook->key, outlook->space, outlook->parameters);
    wire_real_member(w, "mean", outlook->mean);
    wire_real_member(w, "std", outlook->std);
    wire_object_end(w);
    wire_real_member(w, "epsilon", outlook->epsilon);
    wire_real_member(w, "probability", outlook->probability);
    wire_real_member(w, "possible", outlook->possible);
    wire_key(w, "gains");
    wire_array_begin(w);
    for (size_t k = 0; k < WIRE_GAINS; k++) {
        wire_object_begin(w);
        wire_integer_member(w, "trials", outlook->gains[k].trials);
        wire_real_member(w, "gain", outlook->gains[k].gain);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_integer_member(w, "draws", outlook->draws);
    wire_object_end(w);
}
