/* Responses to read requests: lists, the best result, predictions, the model, batches. */
#include "proto/encode.h"
#include "proto/fronts.h"

void wire_list_begin(wire_writer *w)
{
    wire_object_begin(w);
    wire_key(w, "items");
    wire_array_begin(w);
}

void wire_list_end(wire_writer *w, const char *next_page_token)
{
    wire_study_list_end(w, NULL, next_page_token);
}

void wire_study_list_end(wire_writer *w, const char *damaged, const char *next_page_token)
{
    wire_array_end(w);
    if (damaged) {
        wire_key(w, "damaged");
        wire_raw(w, damaged);
    }
    if (next_page_token)
        wire_string_member(w, "next_page_token", next_page_token);
    wire_object_end(w);
}

void wire_encode_candidates_answer(wire_writer *w, int64_t count, int64_t dimension)
{
    wire_object_begin(w);
    wire_integer_member(w, "count", count);
    wire_integer_member(w, "dimension", dimension);
    wire_object_end(w);
}

static void encode_belief(wire_writer *w, const wire_best *best)
{
    wire_key(w, "expected");
    if (best->has_expected)
        wire_real(w, best->expected);
    else
        wire_null(w);
    wire_key(w, "lucky");
    wire_boolean(w, best->lucky);
}

void wire_encode_observed(wire_writer *w, const wire_best *best)
{
    if (!best->given) {
        wire_null(w);
        return;
    }
    wire_object_begin(w);
    if (best->trial > 0)
        wire_integer_member(w, "trial", best->trial);
    else
        wire_integer_member(w, "observation", best->observation);
    wire_arm_members(w, best->candidate, best->key, best->space, best->parameters);
    wire_real_member(w, "value", best->value);
    if (best->with_belief)
        encode_belief(w, best);
    wire_object_end(w);
}

static void encode_recommended(wire_writer *w, const wire_recommended *recommended)
{
    if (!recommended->given) {
        wire_null(w);
        return;
    }
    wire_object_begin(w);
    wire_arm_members(w, recommended->candidate, recommended->key, recommended->space,
                     recommended->parameters);
    wire_real_member(w, "mean", recommended->mean);
    wire_key(w, "std");
    if (recommended->has_std)
        wire_real(w, recommended->std);
    else
        wire_null(w);
    wire_integer_member(w, "pulls", recommended->pulls);
    wire_object_end(w);
}

void wire_encode_best(wire_writer *w, const wire_best *observed, const wire_recommended *recommended)
{
    wire_object_begin(w);
    wire_key(w, "observed");
    wire_encode_observed(w, observed);
    wire_key(w, "recommended");
    encode_recommended(w, recommended);
    wire_object_end(w);
}

void wire_encode_predictions(wire_writer *w, const wire_prediction *predictions, size_t n)
{
    wire_object_begin(w);
    wire_key(w, "predictions");
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++) {
        wire_object_begin(w);
        wire_real_member(w, "mean", predictions[i].mean);
        wire_real_member(w, "std", predictions[i].std);
        wire_real_member(w, "ucb", predictions[i].ucb);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
}

static void encode_dictionary(wire_writer *w, const wire_model *model)
{
    wire_object_begin(w);
    const wire_study *definition = model->definition;
    wire_integer_member(w, "size", (int64_t)model->n_dictionary);
    wire_key(w, model->points ? "points" : "candidates");
    wire_array_begin(w);
    for (size_t i = 0; i < model->n_dictionary; i++)
        if (model->points)
            wire_encode_parameters(w, definition->parameters, definition->n_parameters,
                                   model->points + i * definition->n_parameters);
        else
            wire_integer_value(w, model->dictionary[i]);
    wire_array_end(w);
    wire_object_end(w);
}

static void encode_sources(wire_writer *w, const wire_model *model)
{
    wire_key(w, "sources");
    wire_array_begin(w);
    for (size_t i = 0; i < model->definition->n_learn_from; i++) {
        const wire_source *source = &model->definition->learn_from[i];
        wire_object_begin(w);
        wire_string_member(w, "study", source->study);
        wire_real_member(w, "weight", model->source_weights[i]);
        wire_integer_member(w, "observations", source->observations);
        wire_object_end(w);
    }
    wire_array_end(w);
}

void wire_encode_model(wire_writer *w, const wire_model *model)
{
    const wire_algorithm *algorithm = &model->definition->algorithm;
    wire_object_begin(w);
    wire_optional_string(w, "algorithm", algorithm->name);
    wire_key(w, "kernel");
    wire_encode_kernel(w, &algorithm->kernel);
    wire_real_member(w, "lambda", model->lambda);
    wire_real_member(w, "noise_std", model->noise_std);
    wire_real_member(w, "norm_bound", model->norm_bound);
    wire_real_member(w, "signal_std", model->signal_std);
    wire_key(w, "lengthscales");
    wire_array_begin(w);
    for (size_t i = 0; i < model->n_lengthscales; i++)
        wire_real(w, model->lengthscales[i]);
    wire_array_end(w);
    if (model->short_share > 0.0)
        wire_real_member(w, "short_share", model->short_share);
    wire_real_member(w, "offset", model->offset);
    wire_real_member(w, "scale", model->scale);
    if (model->warped) {
        wire_key(w, "warp");
        wire_object_begin(w);
        wire_real_member(w, "offset", model->warp_offset);
        wire_real_member(w, "scale", model->warp_scale);
        wire_real_member(w, "power", model->warp_power);
        wire_object_end(w);
    }
    wire_integer_member(w, "fitted_on", model->fitted_on);
    wire_integer_member(w, "set_aside", model->set_aside);
    wire_integer_member(w, "batch", model->batch);
    wire_integer_member(w, "observations", model->observations);
    wire_real_member(w, "beta", model->beta);
    wire_key(w, "dictionary");
    encode_dictionary(w, model);
    wire_real_member(w, "effective_dimension", model->effective_dimension);
    wire_real_member(w, "information_gain", model->information_gain);
    if (model->source_weights)
        encode_sources(w, model);
    wire_object_end(w);
}

void wire_encode_batch(wire_writer *w, const wire_batch *batch)
{
    wire_object_begin(w);
    wire_integer_member(w, "batch", batch->batch);
    wire_integer_member(w, "size", batch->size);
    wire_real_member(w, "ratio", batch->ratio);
    wire_string_member(w, "stop_rule", batch->stop_rule);
    wire_integer_member(w, "dictionary_size", batch->dictionary_size);
    wire_real_member(w, "beta", batch->beta);
    wire_integer_member(w, "observations", batch->observations);
    wire_real_member(w, "update_seconds", batch->update_seconds);
    wire_real_member(w, "select_seconds", batch->select_seconds);
    wire_time_member(w, "started_at", batch->started_at);
    wire_object_end(w);
}

void wire_encode_candidate(wire_writer *w, const wire_candidate *candidate)
{
    wire_object_begin(w);
    wire_arm_members(w, candidate->candidate, candidate->key, candidate->space, candidate->parameters);
    if (candidate->point)
        wire_point_member(w, candidate->point, candidate->dimension);
    if (candidate->retired) {
        wire_key(w, "retired");
        wire_boolean(w, true);
    }
    wire_integer_member(w, "pulls", candidate->pulls);
    wire_key(w, "mean");
    if (candidate->pulls > 0)
        wire_real(w, candidate->mean);
    else
        wire_null(w);
    wire_key(w, "posterior");
    if (candidate->posterior) {
        wire_object_begin(w);
        wire_encode_prediction(w, candidate->posterior);
        if (candidate->several)
            wire_encode_metrics_predicted(w, candidate->several, candidate->posterior, candidate->stride,
                                          candidate->feasible);
        wire_object_end(w);
    } else {
        wire_null(w);
    }
    wire_object_end(w);
}
