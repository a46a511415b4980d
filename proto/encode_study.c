#include "proto/algorithm_fields.h"
#include "proto/encode.h"

#include <math.h>
#include <string.h>

static void encode_metric(wire_writer *w, const wire_metric *metric)
{
    wire_object_begin(w);
    wire_string_member(w, "name", metric->name);
    if (metric->has_goal)
        wire_string_member(w, "goal", metric->minimize ? "minimize" : "maximize");
    wire_string_member(w, "role",
                       metric->recorded     ? "recorded"
                       : metric->constraint ? "constraint"
                                            : "objective");
    wire_optional_string(w, "unit", metric->unit);
    if (metric->threshold.given)
        wire_real_member(w, "threshold", metric->threshold.value);
    if (metric->at_least.given)
        wire_real_member(w, "at_least", metric->at_least.value);
    if (metric->at_most.given)
        wire_real_member(w, "at_most", metric->at_most.value);
    wire_object_end(w);
}

static void encode_metrics(wire_writer *w, const wire_study *study)
{
    if (!study->metrics_as_list) {
        wire_key(w, "metric");
        encode_metric(w, &study->metrics[0]);
        return;
    }
    wire_key(w, "metrics");
    wire_array_begin(w);
    for (size_t i = 0; i < study->n_metrics; i++)
        encode_metric(w, &study->metrics[i]);
    wire_array_end(w);
}

/* A bound of a condition, if it is given. */
static void encode_bound(wire_writer *w, const char *name, const wire_parameter *parent, double bound)
{
    if (!isfinite(bound))
        return;
    wire_key(w, name);
    if (parent->type == WIRE_PARAMETER_DOUBLE || bound != trunc(bound) || fabs(bound) > WIRE_MAX_INTEGER)
        wire_real(w, bound);
    else
        wire_integer_value(w, (int64_t)bound);
}

/* The properties of words. */
static void encode_properties(wire_writer *w, const wire_parameter *p)
{
    wire_optional_string(w, "encoding", p->encoding);
    if (!p->features)
        return;
    wire_key(w, "features");
    wire_array_begin(w);
    for (size_t i = 0; i < p->n_values; i++) {
        wire_array_begin(w);
        for (size_t j = 0; j < p->n_features; j++)
            wire_real(w, p->features[i * p->n_features + j]);
        wire_array_end(w);
    }
    wire_array_end(w);
    if (p->feature_names) {
        wire_key(w, "feature_names");
        wire_array_begin(w);
        for (size_t j = 0; j < p->n_features; j++)
            wire_string(w, p->feature_names[j]);
        wire_array_end(w);
    }
    wire_optional_string(w, "scaling", p->scaling);
}

static void encode_condition(wire_writer *w, const wire_study *study, const wire_parameter *p)
{
    const wire_parameter *parent = &study->parameters[p->parent];
    wire_key(w, "active_when");
    wire_object_begin(w);
    wire_string_member(w, "parameter", parent->name);
    if (p->parent_values) {
        wire_key(w, "in");
        wire_array_begin(w);
        for (size_t i = 0; i < p->n_parent_values; i++)
            wire_encode_parameter_value(w, parent, p->parent_values[i]);
        wire_array_end(w);
    } else {
        encode_bound(w, "min", parent, p->parent_min);
        encode_bound(w, "max", parent, p->parent_max);
    }
    wire_object_end(w);
}

static void encode_parameter(wire_writer *w, const wire_study *study, const wire_parameter *p)
{
    static const char *const types[] = {
        [WIRE_PARAMETER_DOUBLE] = "double",     [WIRE_PARAMETER_INTEGER] = "integer",
        [WIRE_PARAMETER_DISCRETE] = "discrete", [WIRE_PARAMETER_CATEGORICAL] = "categorical",
        [WIRE_PARAMETER_BOOLEAN] = "boolean",
    };
    wire_object_begin(w);
    wire_string_member(w, "name", p->name);
    wire_string_member(w, "type", types[p->type]);
    if (p->type == WIRE_PARAMETER_DOUBLE || p->type == WIRE_PARAMETER_INTEGER) {
        wire_key(w, "min");
        wire_encode_parameter_value(w, p, p->min);
        wire_key(w, "max");
        wire_encode_parameter_value(w, p, p->max);
        wire_string_member(w, "scale", p->log ? "log" : "linear");
        if (p->step > 0.0) {
            wire_key(w, "step");
            wire_encode_parameter_value(w, p, p->step);
        }
        if (p->has_precision)
            wire_integer_member(w, "precision", p->precision);
    }
    if (p->n_values > 0) {
        wire_key(w, "values");
        wire_array_begin(w);
        for (size_t i = 0; i < p->n_values; i++)
            wire_encode_parameter_value(w, p, p->numbers ? p->numbers[i] : (double)i);
        wire_array_end(w);
    }
    if (p->ordered) {
        wire_key(w, "ordered");
        wire_boolean(w, true);
    }
    encode_properties(w, p);
    wire_optional_string(w, "unit", p->unit);
    if (p->context)
        wire_string_member(w, "role", "context");
    if (p->has_default) {
        wire_key(w, "default");
        wire_encode_parameter_value(w, p, p->default_value);
    }
    if (p->parent != WIRE_NO_PARENT)
        encode_condition(w, study, p);
    wire_object_end(w);
}

static void encode_domain(wire_writer *w, const wire_study *study)
{
    static const char *const types[] = {
        [WIRE_DOMAIN_CANDIDATES] = "candidates",
        [WIRE_DOMAIN_PRECOMPUTED] = "precomputed",
        [WIRE_DOMAIN_SPACE] = "space",
    };
    wire_key(w, "domain");
    wire_object_begin(w);
    wire_string_member(w, "type", types[study->domain_type]);
    wire_given_integer(w, "dimension", study->dimension);
    wire_given_integer(w, "size", study->size);
    wire_optional_string(w, "scaling", study->scaling);
    if (study->n_feature_names > 0) {
        wire_key(w, "names");
        wire_array_begin(w);
        for (size_t i = 0; i < study->n_feature_names; i++)
            wire_string(w, study->feature_names[i]);
        wire_array_end(w);
    }
    if (study->n_parameters > 0) {
        wire_key(w, "parameters");
        wire_array_begin(w);
        for (size_t i = 0; i < study->n_parameters; i++)
            encode_parameter(w, study, &study->parameters[i]);
        wire_array_end(w);
    }
    if (study->n_constraints > 0) {
        wire_key(w, "constraints");
        wire_array_begin(w);
        for (size_t i = 0; i < study->n_constraints; i++)
            wire_string(w, study->constraints[i].text);
        wire_array_end(w);
    }
    wire_object_end(w);
}

void wire_encode_kernel(wire_writer *w, const wire_kernel *kernel)
{
    wire_object_begin(w);
    wire_optional_string(w, "type", kernel->type);
    wire_given_number(w, "nu", kernel->nu);
    if (kernel->n_lengthscales > 0) {
        wire_key(w, "lengthscale");
        wire_array_begin(w);
        for (size_t i = 0; i < kernel->n_lengthscales; i++)
            wire_real(w, kernel->lengthscales[i]);
        wire_array_end(w);
    } else {
        wire_given_number(w, "lengthscale", kernel->lengthscale);
    }
    wire_object_end(w);
}

static void encode_confidence(wire_writer *w, const wire_algorithm *a)
{
    if (strcmp(a->confidence, "fixed") != 0) {
        wire_string_member(w, "confidence", a->confidence);
        return;
    }
    wire_key(w, "confidence");
    wire_object_begin(w);
    wire_given_number(w, "beta", a->beta);
    wire_object_end(w);
}

static void encode_init(wire_writer *w, const wire_algorithm *a)
{
    wire_key(w, "init");
    wire_object_begin(w);
    wire_string_member(w, "type", a->init);
    wire_given_number(w, "parallelism", a->parallelism);
    if (a->init_method)
        wire_string_member(w, "method", a->init_method);
    wire_object_end(w);
}

static void encode_field(wire_writer *w, const wire_algorithm *a, const wire_algorithm_field *field)
{
    const void *value = wire_field_value(a, field);
    if (!wire_field_is_given(a, field))
        return;
    switch (field->kind) {
    case WIRE_FIELD_NUMBER:
        wire_given_number(w, field->name, *(const wire_number *)value);
        break;
    case WIRE_FIELD_INTEGER:
        wire_given_integer(w, field->name, *(const wire_integer *)value);
        break;
    case WIRE_FIELD_WORD:
        wire_string_member(w, field->name, *(char *const *)value);
        break;
    case WIRE_FIELD_SWITCH:
        wire_key(w, field->name);
        wire_boolean(w, *(const bool *)value);
        break;
    case WIRE_FIELD_KERNEL:
        wire_key(w, field->name);
        wire_encode_kernel(w, value);
        break;
    case WIRE_FIELD_CONFIDENCE:
        encode_confidence(w, a);
        break;
    case WIRE_FIELD_INIT:
        encode_init(w, a);
        break;
    }
}

static void encode_algorithm(wire_writer *w, const wire_algorithm *a)
{
    if (!a->given)
        return;
    wire_key(w, "algorithm");
    wire_object_begin(w);
    wire_optional_string(w, "name", a->name);
    for (const wire_algorithm_field *field = wire_algorithm_fields; field->name; field++)
        encode_field(w, a, field);
    wire_object_end(w);
}

static void encode_stopping(wire_writer *w, const wire_stopping *stopping)
{
    if (stopping->rule == WIRE_STOPPING_NONE)
        return;
    wire_key(w, "stopping");
    wire_object_begin(w);
    wire_string_member(w, "rule", stopping->rule == WIRE_STOPPING_MEDIAN ? "median" : "successive_halving");
    wire_given_integer(w, "min_steps", stopping->min_steps);
    wire_given_integer(w, "min_trials", stopping->min_trials);
    wire_given_integer(w, "min_resource", stopping->min_resource);
    wire_given_integer(w, "reduction", stopping->reduction);
    if (stopping->safe) {
        wire_key(w, "safe");
        wire_boolean(w, true);
    }
    wire_optional_string(w, "stopped", stopping->stopped);
    wire_object_end(w);
}

static void encode_stop_when(wire_writer *w, const wire_study *study)
{
    if (study->n_stop_when == 0)
        return;
    wire_key(w, "stop_when");
    wire_array_begin(w);
    for (size_t i = 0; i < study->n_stop_when; i++) {
        const wire_stop_when *rule = &study->stop_when[i];
        wire_object_begin(w);
        wire_string_member(w, "rule", wire_stop_rule_names[rule->rule]);
        if (rule->rule == WIRE_STOP_TARGET) {
            wire_real_member(w, "value", rule->value);
        } else if (rule->rule == WIRE_STOP_COST) {
            wire_real_member(w, "total", rule->total);
        } else if (rule->rule == WIRE_STOP_REGRET) {
            wire_real_member(w, "epsilon", rule->epsilon);
            wire_real_member(w, "probability", rule->probability);
        } else {
            wire_integer_member(w, "results", rule->results);
            wire_real_member(w, "gain", rule->gain);
        }
        wire_string_member(w, "then", rule->tells ? "tell" : "finish");
        wire_object_end(w);
    }
    wire_array_end(w);
}

/* frozen: also the frozen functions of other studies */
static void encode_members(wire_writer *w, const wire_study *study, bool frozen)
{
    if (study->id)
        wire_string_member(w, "id", study->id);
    if (study->display_name)
        wire_string_member(w, "display_name", study->display_name);
    if (study->labels) {
        wire_key(w, "labels");
        wire_raw(w, study->labels);
    }
    if (study->metadata) {
        wire_key(w, "metadata");
        wire_raw(w, study->metadata);
    }
    wire_optional_string(w, "aim", study->aim);
    encode_metrics(w, study);
    wire_given_number(w, "optimum", study->optimum);
    encode_domain(w, study);
    encode_algorithm(w, &study->algorithm);
    wire_given_integer(w, "horizon", study->horizon);
    wire_given_integer(w, "seed", study->seed);
    wire_optional_string(w, "history_from", study->history_from);
    wire_encode_learn_from(w, study, frozen);
    wire_optional_string(w, "feedback", study->feedback);
    wire_optional_string(w, "repeats", study->repeats);
    wire_given_integer(w, "min_in_flight", study->min_in_flight);
    wire_given_number(w, "lease_seconds", study->lease_seconds);
    wire_given_integer(w, "max_attempts", study->max_attempts);
    encode_stopping(w, &study->stopping);
    encode_stop_when(w, study);
}

void wire_encode_definition(wire_writer *w, const wire_study *study)
{
    wire_object_begin(w);
    encode_members(w, study, true);
    wire_object_end(w);
}

static void encode_taken_over(wire_writer *w, const wire_taken_over *history)
{
    wire_key(w, "history");
    wire_object_begin(w);
    wire_string_member(w, "study", history->study);
    wire_integer_member(w, "imported", history->imported);
    wire_integer_member(w, "left_out", history->left_out);
    wire_key(w, "examples");
    wire_array_begin(w);
    for (size_t i = 0; i < history->n_examples; i++) {
        const wire_left_out *one = &history->examples[i];
        wire_object_begin(w);
        wire_integer_member(w, one->is_trial ? "trial" : "observation", one->number);
        wire_string_member(w, "pointer", one->pointer);
        wire_string_member(w, "detail", one->detail);
        wire_object_end(w);
    }
    wire_array_end(w);
    wire_object_end(w);
}

static void encode_advice(wire_writer *w, const wire_study_view *view)
{
    if (!view->advising_rule) {
        wire_optional_string(w, "advice", view->advice);
        return;
    }
    wire_key(w, "advice");
    wire_object_begin(w);
    wire_key(w, "stop");
    wire_boolean(w, true);
    wire_string_member(w, "rule", view->advising_rule);
    wire_integer_member(w, "since_batch", view->advised_since);
    wire_object_end(w);
}

void wire_encode_study(wire_writer *w, const wire_study_view *view)
{
    wire_object_begin(w);
    if (view->text)
        wire_raw_members(w, view->text);
    else
        encode_members(w, view->definition, false);
    wire_string_member(w, "state", view->state);
    wire_optional_string(w, "state_reason", view->state_reason);
    encode_advice(w, view);
    wire_time_member(w, "created_at", view->created_at);
    wire_time_member(w, "updated_at", view->updated_at);
    wire_integer_member(w, "candidates", view->candidates);
    wire_integer_member(w, "trials_queued", view->queued);
    wire_integer_member(w, "trials_pending", view->pending);
    wire_integer_member(w, "trials_completed", view->completed);
    wire_integer_member(w, "trials_failed", view->failed);
    wire_integer_member(w, "trials_infeasible", view->infeasible);
    wire_integer_member(w, "trials_stopped", view->stopped);
    wire_integer_member(w, "observations", view->observations);
    wire_real_member(w, "cost", view->cost);
    wire_integer_member(w, "batch", view->batch);
    wire_key(w, "best");
    wire_encode_observed(w, &view->best);
    if (view->history)
        encode_taken_over(w, view->history);
    wire_object_end(w);
}
