/* Small requests that change a study or one of its trials. */
#include "proto/changes.h"
#include "proto/decode_keys.h"
#include "proto/decode_study.h"
#include "proto/decode_tell.h"

#include <stdlib.h>
#include <string.h>

/* ---- PATCH of a study --------------------------------------------------------------------------------- */

/* Takes a member that is null. False: it is not null, and must still be taken. */
static bool take_null(wire_object *o, const char *name, bool *out)
{
    *out = json_is_null(json_object_get(o->json, name));
    return *out && wire_has(o, name);
}

/* The members of a definition that a patch cannot change. */
static void forbid_fixed(wire_object *o)
{
    static const char *const fixed[] = {"id",   "aim",          "metric",   "optimum",  "domain", "algorithm",
                                        "seed", "history_from", "feedback", "stopping", "repeats"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        wire_forbid(o, fixed[i], "cannot be changed after the study was created");
}

/* A patch may change which values are good enough, not what is optimized. */
static void fill_metric_patch(wire_decoder *d, const wire_place *at, const json_t *json,
                              wire_metric_patch *metric)
{
    static const char *const fixed[] = {"goal", "role", "unit"};
    static const wire_range bound = {.min = -WIRE_MAX_VALUE, .max = WIRE_MAX_VALUE};
    wire_object o;
    if (!wire_object_open(&o, d, at, json))
        return;
    wire_take_string(&o, "name", WIRE_REQUIRED, 1, WIRE_MAX_NAME, &metric->name);
    wire_take_number(&o, "threshold", &bound, NULL, &metric->threshold);
    wire_take_number(&o, "at_least", &bound, NULL, &metric->at_least);
    wire_take_number(&o, "at_most", &bound, NULL, &metric->at_most);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        wire_forbid(&o, fixed[i], "cannot be changed after the study was created");
    wire_object_close(&o);
}

static void fill_metric_patches(wire_object *o, wire_study_patch *patch)
{
    wire_decoder *d = o->decoder;
    const json_t *list = wire_take(o, "metrics", WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, "metrics");
    if (!list || !wire_check_list(d, &at, list, 1, WIRE_MAX_METRICS))
        return;
    size_t n = json_array_size(list);
    patch->metrics = wire_allocate(d, n, sizeof *patch->metrics);
    if (!patch->metrics)
        return;
    patch->n_metrics = n;
    for (size_t i = 0; i < n; i++) {
        wire_place metric = wire_place_element(&at, i);
        fill_metric_patch(d, &metric, json_array_get(list, i), &patch->metrics[i]);
    }
}

static void fill_study_patch(wire_decoder *d, json_t *body, void *out)
{
    static const char *const states[] = {"active", "paused", "finished", NULL};
    static const wire_range lease = {.min = 1, .max = WIRE_MAX_LEASE_SECONDS};
    wire_study_patch *patch = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    if (!take_null(&o, "display_name", &patch->no_display_name))
        wire_take_string(&o, "display_name", WIRE_OPTIONAL, 0, WIRE_MAX_NAME, &patch->display_name);
    if (!take_null(&o, "labels", &patch->no_labels))
        wire_take_labels(&o, &patch->labels);
    if (!take_null(&o, "metadata", &patch->no_metadata))
        wire_take_object_text(&o, "metadata", WIRE_MAX_METADATA, &patch->metadata);
    wire_take_word_text(&o, "state", WIRE_OPTIONAL, states, &patch->state);
    if (!take_null(&o, "horizon", &patch->no_horizon))
        wire_take_given_integer(&o, "horizon", 1, WIRE_MAX_INTEGER, &patch->horizon);
    wire_take_number(&o, "lease_seconds", &lease, NULL, &patch->lease_seconds);
    wire_take_given_integer(&o, "max_attempts", 1, WIRE_MAX_COUNT, &patch->max_attempts);
    wire_take_given_integer(&o, "min_in_flight", 1, WIRE_MAX_COUNT, &patch->min_in_flight);
    if (!take_null(&o, "stop_when", &patch->new_stop_when)) {
        patch->new_stop_when = wire_has(&o, "stop_when");
        wire_fill_stop_when(&o, &patch->stop_when, &patch->n_stop_when);
    }
    fill_metric_patches(&o, patch);
    forbid_fixed(&o);
    wire_object_close(&o);
}

WIRE_DEFINE_DECODER(study_patch)

void wire_study_patch_free(wire_study_patch *patch)
{
    if (!patch)
        return;
    free(patch->display_name);
    free(patch->labels);
    free(patch->metadata);
    free(patch->state);
    free(patch->stop_when);
    for (size_t i = 0; i < patch->n_metrics; i++)
        free(patch->metrics[i].name);
    free(patch->metrics);
    free(patch);
}

/* ---- candidates --------------------------------------------------------------------------------------- */

static void fill_retire(wire_decoder *d, json_t *body, void *out)
{
    wire_retire *retire = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    const json_t *keys = wire_take(&o, "keys", WIRE_OPTIONAL);
    if (keys)
        wire_forbid(&o, "candidates", "cannot be given together with keys");
    const json_t *json = keys ? keys : wire_take(&o, "candidates", WIRE_REQUIRED);
    wire_object_close(&o);
    wire_place at = wire_place_member(NULL, keys ? "keys" : "candidates");
    if (keys)
        wire_read_named(d, &at, json, WIRE_MAX_COUNT, &retire->candidates, &retire->n, &retire->keys);
    else if (json)
        wire_read_candidates(d, &at, json, SIZE_MAX, &retire->candidates, &retire->n);
}

WIRE_DEFINE_DECODER(retire)

void wire_retire_free(wire_retire *retire)
{
    if (!retire)
        return;
    free(retire->candidates);
    wire_keys_free(retire->keys);
    free(retire);
}

void wire_encode_added(wire_writer *w, int64_t first, int64_t n)
{
    wire_object_begin(w);
    wire_key(w, "candidates");
    wire_array_begin(w);
    for (int64_t i = 0; i < n; i++)
        wire_integer_value(w, first + i);
    wire_array_end(w);
    wire_object_end(w);
}

void wire_encode_retired(wire_writer *w, int64_t retired, int64_t cancelled)
{
    wire_object_begin(w);
    wire_key(w, "retired");
    wire_integer_value(w, retired);
    wire_key(w, "cancelled");
    wire_integer_value(w, cancelled);
    wire_object_end(w);
}

void wire_encode_restored(wire_writer *w, int64_t restored)
{
    wire_object_begin(w);
    wire_key(w, "restored");
    wire_integer_value(w, restored);
    wire_object_end(w);
}

/* ---- trials ------------------------------------------------------------------------------------------- */

static void fill_proposal(wire_decoder *d, json_t *body, void *out)
{
    wire_proposal *proposal = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    wire_take_arm(&o, &proposal->candidate, &proposal->key, &proposal->parameters);
    wire_object_close(&o);
}

WIRE_DEFINE_DECODER(proposal)

void wire_proposal_free(wire_proposal *proposal)
{
    if (!proposal)
        return;
    wire_assignments_clear(&proposal->parameters);
    free(proposal->key);
    free(proposal);
}

static void fill_heartbeat(wire_decoder *d, json_t *body, void *out)
{
    static const wire_range lease = {.min = 1, .max = WIRE_MAX_LEASE_SECONDS};
    wire_heartbeat *heartbeat = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    wire_take_number(&o, "lease_seconds", &lease, NULL, &heartbeat->lease_seconds);
    wire_take_given_integer(&o, "attempt", 1, WIRE_MAX_COUNT, &heartbeat->attempt);
    wire_object_close(&o);
}

wire_status wire_decode_heartbeat(wire_heartbeat *out, const char *body, size_t size, wire_errors *errors)
{
    *out = (wire_heartbeat){0};
    return size > 0 ? wire_decode_body(body, size, errors, fill_heartbeat, out) : WIRE_OK;
}

static void fill_measurement(wire_decoder *d, json_t *body, void *out)
{
    wire_measurement *measurement = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    wire_take_integer(&o, "step", WIRE_REQUIRED, 0, WIRE_MAX_INTEGER, &measurement->step);
    wire_take_real(&o, "value", WIRE_REQUIRED, &wire_value, &measurement->value);
    wire_take_given_integer(&o, "attempt", 1, WIRE_MAX_COUNT, &measurement->attempt);
    wire_object_close(&o);
}

wire_status wire_decode_measurement(wire_measurement *out, const char *body, size_t size, wire_errors *errors)
{
    *out = (wire_measurement){0};
    return wire_decode_body(body, size, errors, fill_measurement, out);
}

void wire_encode_measurement_answer(wire_writer *w, bool should_stop)
{
    wire_object_begin(w);
    wire_key(w, "should_stop");
    wire_boolean(w, should_stop);
    wire_object_end(w);
}

/* A result without the members that belong to the worker that reported it. */
static void fill_amendment(wire_decoder *d, json_t *body, void *out)
{
    static const char *const states[] = {"failed", "infeasible", NULL};
    wire_result *result = &((wire_amendment *)out)->result;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    size_t state = 0;
    if (wire_has(&o, "state")) {
        wire_take_word(&o, "state", WIRE_OPTIONAL, states, &state);
        result->outcome = state == 0 ? WIRE_FAILED : WIRE_INFEASIBLE;
        wire_forbid(&o, "value", "cannot be given together with state");
        wire_forbid(&o, "values", "cannot be given together with state");
        wire_forbid(&o, "repeats", "cannot be given together with state");
        wire_forbid_std_errors(&o, "cannot be given together with state");
    } else if (wire_has(&o, "values")) {
        wire_forbid(&o, "value", "cannot be given together with values");
        wire_fill_values(&o, result);
    } else {
        result->has_value = wire_take_real(&o, "value", WIRE_REQUIRED, &wire_value, &result->value);
    }
    if (!wire_has(&o, "state")) {
        wire_take_given_integer(&o, "repeats", 1, WIRE_MAX_REPEATS, &result->repeats);
        wire_fill_std_errors(&o, result);
    }
    wire_take_string(&o, "reason", WIRE_OPTIONAL, 0, WIRE_MAX_REASON, &result->reason);
    wire_object_close(&o);
}

WIRE_DEFINE_DECODER(amendment)

void wire_amendment_free(wire_amendment *amendment)
{
    if (!amendment)
        return;
    wire_result_clear(&amendment->result);
    free(amendment);
}
