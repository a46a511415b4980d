#include "proto/decode_tell.h"

#include "proto/decode_keys.h"

#include <stdlib.h>

/* An object of numbers by metric. */
static void fill_named(wire_object *o, const char *member, const wire_range *range, wire_named_value **out,
                       size_t *n_out)
{
    wire_decoder *d = o->decoder;
    const json_t *json = wire_take(o, member, WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, member);
    if (!json_is_object(json)) {
        wire_refuse(d, &at, "must be an object");
        return;
    }
    size_t n = json_object_size(json);
    if (n == 0) {
        wire_refuse(d, &at, "must not be empty");
        return;
    }
    if (n > WIRE_MAX_METRICS) {
        wire_refuse(d, &at, "must have at most %d values", WIRE_MAX_METRICS);
        return;
    }
    wire_named_value *list = *out = wire_allocate(d, n, sizeof *list);
    if (!list)
        return;
    /* The iterators take a non-const object but do not change it. */
    json_t *values = (json_t *)(uintptr_t)json;
    for (void *i = json_object_iter(values); i; i = json_object_iter_next(values, i)) {
        wire_named_value *value = &list[*n_out];
        value->name = wire_duplicate(d, json_object_iter_key(i));
        if (!value->name)
            return;
        (*n_out)++;
        wire_place place = wire_place_member(&at, value->name);
        wire_read_real(d, &place, json_object_iter_value(i), range, &value->value);
    }
}

void wire_fill_values(wire_object *o, wire_result *result)
{
    fill_named(o, "values", &wire_value, &result->values, &result->n_values);
}

void wire_fill_std_errors(wire_object *o, wire_result *result)
{
    static const wire_range range = {.min = WIRE_MIN_STD_ERROR, .max = WIRE_MAX_VALUE};
    if (wire_has(o, "std_errors")) {
        wire_forbid(o, "std_error", "cannot be given together with std_errors");
        fill_named(o, "std_errors", &range, &result->std_errors, &result->n_std_errors);
    } else {
        wire_take_number(o, "std_error", &range, NULL, &result->std_error);
    }
}

void wire_take_cost(wire_object *o, double *cost)
{
    static const wire_range range = {.min = 0.0, .max = WIRE_MAX_COST};
    wire_take_real(o, "cost", WIRE_OPTIONAL, &range, cost);
}

void wire_forbid_std_errors(wire_object *o, const char *detail)
{
    wire_forbid(o, "std_error", detail);
    wire_forbid(o, "std_errors", detail);
}

void wire_take_candidate(wire_object *o, int64_t *candidate)
{
    const json_t *json = wire_take(o, "candidate", WIRE_REQUIRED);
    wire_place at = wire_place_member(o->place, "candidate");
    if (json_is_string(json))
        wire_refuse(o->decoder, &at, "must be an integer; a key is given as \"key\"");
    else if (json)
        wire_read_integer(o->decoder, &at, json, 0, WIRE_MAX_INTEGER, candidate);
}

void wire_take_arm(wire_object *o, int64_t *candidate, char **key, wire_assignments *parameters)
{
    static const char *const others[] = {"candidate", "key"};
    const json_t *json = wire_take(o, "parameters", WIRE_OPTIONAL);
    wire_place at = wire_place_member(o->place, "parameters");
    *candidate = -1;
    if (json) {
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            wire_forbid(o, others[i], "cannot be given together with parameters");
        wire_read_assignments(o->decoder, &at, json, parameters);
    } else if (wire_has(o, "key")) {
        wire_forbid(o, "candidate", "cannot be given together with key");
        wire_take_key(o, "key", key);
    } else if (wire_has(o, "candidate")) {
        wire_take_candidate(o, candidate);
    } else {
        wire_place missing = wire_place_member(o->place, "candidate");
        wire_refuse(o->decoder, &missing, "one of candidate, key and parameters is required");
    }
}

/* A result without a state has a value; of the states, only "stopped" may have one. */
static void fill_measured(wire_object *o, bool has_state, wire_result *result)
{
    bool value = wire_has(o, "value");
    if (has_state && result->outcome != WIRE_STOPPED) {
        wire_forbid(o, "value", "only allowed without a state or with the state \"stopped\"");
        wire_forbid(o, "values", "only allowed without a state or with the state \"stopped\"");
    } else if (value) {
        wire_forbid(o, "values", "cannot be given together with value");
        result->has_value = wire_take_real(o, "value", WIRE_REQUIRED, &wire_value, &result->value);
    } else if (wire_has(o, "values")) {
        wire_fill_values(o, result);
    } else if (!has_state) {
        wire_take(o, "value", WIRE_REQUIRED);
    }
}

static void fill_result(wire_decoder *d, const wire_place *at, const json_t *json, wire_result *result)
{
    static const struct {
        const char *word;
        wire_outcome outcome;
    } states[] = {{"failed", WIRE_FAILED},
                  {"infeasible", WIRE_INFEASIBLE},
                  {"stopped", WIRE_STOPPED},
                  {"released", WIRE_RELEASED}};
    static const char *const words[] = {"failed", "infeasible", "stopped", "released", NULL};
    static const char *const no_state = "only allowed together with a state";

    wire_object o;
    if (!wire_object_open(&o, d, at, json))
        return;
    wire_take_integer(&o, "trial", WIRE_REQUIRED, 1, WIRE_MAX_INTEGER, &result->trial);
    wire_take_given_integer(&o, "attempt", 1, WIRE_MAX_COUNT, &result->attempt);
    wire_take_object_text(&o, "metadata", WIRE_MAX_RESULT_METADATA, &result->metadata);
    wire_take_cost(&o, &result->cost);
    bool has_state = wire_has(&o, "state");
    size_t state = 0;
    bool understood = !has_state || wire_take_word(&o, "state", WIRE_OPTIONAL, words, &state);
    result->outcome = has_state ? states[state].outcome : WIRE_COMPLETED;
    if (!understood) {
        /* For an unknown state it is not known which members are allowed. */
        static const char *const others[] = {"value",      "values", "repeats", "std_error",
                                             "std_errors", "retry",  "reason"};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            wire_has(&o, others[i]);
    } else {
        fill_measured(&o, has_state, result);
        if (wire_has(&o, "value") || wire_has(&o, "values")) {
            wire_take_given_integer(&o, "repeats", 1, WIRE_MAX_REPEATS, &result->repeats);
            wire_fill_std_errors(&o, result);
        } else {
            wire_forbid(&o, "repeats", "only allowed together with a value");
            wire_forbid_std_errors(&o, "only allowed together with a value");
        }
        if (result->outcome == WIRE_FAILED)
            wire_take_boolean(&o, "retry", &result->retry);
        else
            wire_forbid(&o, "retry", "applies only to the state \"failed\"");
        if (has_state)
            wire_take_string(&o, "reason", WIRE_OPTIONAL, 0, WIRE_MAX_REASON, &result->reason);
        else
            wire_forbid(&o, "reason", no_state);
    }
    wire_object_close(&o);
}

static void fill_tell(wire_decoder *d, json_t *body, void *out)
{
    wire_tell *tell = out;
    wire_object o;
    if (!wire_object_open(&o, d, NULL, body))
        return;
    const json_t *results = wire_take(&o, "results", WIRE_REQUIRED);
    wire_object_close(&o);
    wire_place at = wire_place_member(NULL, "results");
    if (!results || !wire_check_list(d, &at, results, 1, WIRE_MAX_TRIALS))
        return;
    size_t n = json_array_size(results);
    tell->results = wire_allocate(d, n, sizeof *tell->results);
    if (!tell->results)
        return;
    tell->n = n;
    for (size_t i = 0; i < n; i++) {
        wire_place place = wire_place_element(&at, i);
        fill_result(d, &place, json_array_get(results, i), &tell->results[i]);
    }
}

WIRE_DEFINE_DECODER(tell)

void wire_result_clear(wire_result *result)
{
    for (size_t i = 0; i < result->n_values; i++)
        free(result->values[i].name);
    for (size_t i = 0; i < result->n_std_errors; i++)
        free(result->std_errors[i].name);
    free(result->values);
    free(result->std_errors);
    free(result->reason);
    free(result->metadata);
}

void wire_tell_free(wire_tell *tell)
{
    if (!tell)
        return;
    for (size_t i = 0; i < tell->n; i++)
        wire_result_clear(&tell->results[i]);
    free(tell->results);
    free(tell);
}
