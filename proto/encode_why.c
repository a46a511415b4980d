#include "proto/why.h"

#include "proto/encode.h"

#include <math.h>

static void figure(wire_writer *w, const char *key, double value)
{
    wire_key(w, key);
    if (isfinite(value))
        wire_real(w, value);
    else
        wire_null(w);
}

static void number(wire_writer *w, const char *key, bool given, int64_t value)
{
    wire_key(w, key);
    if (given)
        wire_integer_value(w, value);
    else
        wire_null(w);
}

static void encode_neighbor(wire_writer *w, const wire_neighbor *n)
{
    wire_object_begin(w);
    number(w, "trial", n->trial > 0, n->trial);
    wire_arm_members(w, n->candidate, n->key, n->space, n->parameters);
    figure(w, "value", n->value);
    figure(w, "distance", n->distance);
    wire_object_end(w);
}

static void encode_predictions(wire_writer *w, const wire_why *why)
{
    wire_key(w, "predictions");
    wire_array_begin(w);
    for (size_t i = 0; i < why->n_predictions; i++) {
        wire_object_begin(w);
        wire_string_member(w, "metric", why->predictions[i].metric);
        figure(w, "mean", why->predictions[i].mean);
        figure(w, "std", why->predictions[i].std);
        wire_object_end(w);
    }
    wire_array_end(w);
}

void wire_encode_why(wire_writer *w, const wire_why *why)
{
    wire_object_begin(w);
    wire_integer_member(w, "trial", why->trial);
    wire_string_member(w, "rule", why->rule);
    wire_string_member(w, "sentence", why->sentence);
    number(w, "batch", why->batch >= 0, why->batch);
    wire_key(w, "planned_at");
    if (why->planned_at)
        wire_time(w, why->planned_at);
    else
        wire_null(w);
    wire_integer_member(w, "observations", why->observations);
    encode_predictions(w, why);
    figure(w, "score", why->score);
    figure(w, "promise", why->promise);
    figure(w, "ignorance", why->ignorance);
    figure(w, "width", why->width);
    figure(w, "incumbent", why->incumbent);
    wire_key(w, "in_flight");
    wire_array_begin(w);
    for (size_t i = 0; i < why->n_in_flight; i++)
        wire_integer_value(w, why->in_flight[i]);
    wire_array_end(w);
    wire_key(w, "nearest");
    wire_array_begin(w);
    for (size_t i = 0; i < why->n_nearest; i++)
        encode_neighbor(w, &why->nearest[i]);
    wire_array_end(w);
    wire_object_end(w);
}
