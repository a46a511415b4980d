#include "proto/encode.h"
#include "proto/recorded_values.h"
#include "proto/trials.h"

#include <stdlib.h>
#include <string.h>

/* `recorded` is the text of a JSON object; its members are written into the current object. */
void wire_encode_values(wire_writer *w, const wire_metric *objective, double value, const char *recorded)
{
    char *values = wire_recorded_values(recorded);
    w->failed |= !values;
    wire_object_begin(w);
    wire_real_member(w, objective->name, value);
    if (values)
        wire_raw_members(w, values);
    wire_object_end(w);
    free(values);
}

/* "std_error", that of the first objective; and if another metric has one, "std_errors" with all of them. */
void wire_encode_std_errors(wire_writer *w, const wire_metric *objective, const char *recorded)
{
    double error;
    if (!wire_has_std_errors(recorded))
        return;
    char *errors = wire_recorded_std_errors(recorded);
    w->failed |= !errors || !wire_read_std_errors(recorded, &objective, 1, &error);
    if (!w->failed && error > 0.0)
        wire_real_member(w, "std_error", error);
    if (!w->failed && wire_count_std_errors(recorded) > (error > 0.0)) {
        wire_key(w, "std_errors");
        wire_raw(w, errors);
    }
    free(errors);
}

/* What was reported together with a value. */
static void encode_cost(wire_writer *w, double cost)
{
    if (cost > 0.0)
        wire_real_member(w, "cost", cost);
}

/* "feasible": whether the value and what was recorded with it keep all bounds; left out if there are no bounds. */
static void encode_feasible(wire_writer *w, const wire_study *definition, double value, const char *recorded)
{
    const wire_metric *metrics[WIRE_MAX_MODELLED];
    double values[WIRE_MAX_MODELLED] = {value};
    if (!wire_has_bounds(definition))
        return;
    size_t n = wire_modelled_metrics(definition, metrics);
    w->failed |= n > 1 && !wire_read_recorded(recorded, metrics + 1, n - 1, values + 1);
    if (w->failed)
        return;
    wire_key(w, "feasible");
    wire_boolean(w, wire_keeps_bounds(metrics, values, n));
}

static void encode_told_with(wire_writer *w, const wire_study *definition, bool has_value, double value,
                             const char *recorded, int64_t repeats, const char *metadata)
{
    const wire_metric *objective = wire_objective(definition);
    if (recorded && *recorded && strncmp(recorded, "{\"\":", 4) != 0) {
        wire_key(w, "values");
        wire_encode_values(w, objective, value, recorded);
    }
    if (has_value)
        encode_feasible(w, definition, value, recorded);
    wire_encode_std_errors(w, objective, recorded);
    if (repeats > 1)
        wire_integer_member(w, "repeats", repeats);
    if (metadata && *metadata) {
        wire_key(w, "metadata");
        wire_raw(w, metadata);
    }
}

static void encode_members(wire_writer *w, const wire_trial *trial)
{
    wire_integer_member(w, "id", trial->id);
    wire_string_member(w, "state", trial->state);
    if (trial->batch >= 0)
        wire_integer_member(w, "batch", trial->batch);
    wire_integer_member(w, "attempt", trial->attempt);
    wire_arm_members(w, trial->candidate, trial->key, trial->space, trial->parameters);
    if (trial->point)
        wire_point_member(w, trial->point, trial->dimension);
    wire_optional_string(w, "worker", trial->worker);
    if (trial->issued_at != 0)
        wire_time_member(w, "issued_at", trial->issued_at);
    if (trial->lease_expires_at != 0)
        wire_time_member(w, "lease_expires_at", trial->lease_expires_at);
    if (trial->has_value)
        wire_real_member(w, "value", trial->value);
    encode_told_with(w, trial->definition, trial->has_value, trial->value, trial->recorded,
                     trial->has_value ? trial->repeats : 1, trial->metadata);
    encode_cost(w, trial->cost);
    wire_optional_string(w, "reason", trial->reason);
    if (trial->told_at != 0)
        wire_time_member(w, "told_at", trial->told_at);
}

void wire_encode_trial(wire_writer *w, const wire_trial *trial)
{
    wire_object_begin(w);
    encode_members(w, trial);
    wire_object_end(w);
}

static void encode_attempt(wire_writer *w, const wire_attempt *attempt)
{
    wire_object_begin(w);
    wire_integer_member(w, "attempt", attempt->attempt);
    wire_optional_string(w, "worker", attempt->worker);
    wire_time_member(w, "issued_at", attempt->issued_at);
    wire_time_member(w, "lease_expires_at", attempt->lease_expires_at);
    if (attempt->ended_at != 0)
        wire_time_member(w, "ended_at", attempt->ended_at);
    wire_optional_string(w, "outcome", attempt->outcome);
    wire_object_end(w);
}

static void encode_step(wire_writer *w, const wire_step *step)
{
    wire_object_begin(w);
    wire_integer_member(w, "attempt", step->attempt);
    wire_integer_member(w, "step", step->step);
    wire_real_member(w, "value", step->value);
    wire_time_member(w, "measured_at", step->time);
    wire_object_end(w);
}

static void encode_late_result(wire_writer *w, const wire_late_result *late)
{
    wire_object_begin(w);
    wire_integer_member(w, "attempt", late->attempt);
    wire_real_member(w, "value", late->value);
    encode_told_with(w, late->definition, true, late->value, late->recorded, late->repeats, late->metadata);
    encode_cost(w, late->cost);
    wire_time_member(w, "told_at", late->told_at);
    wire_object_end(w);
}

static void encode_estimate(wire_writer *w, const wire_late_result *estimate)
{
    wire_key(w, "estimate");
    wire_object_begin(w);
    wire_real_member(w, "value", estimate->value);
    wire_encode_std_errors(w, wire_objective(estimate->definition), estimate->recorded);
    wire_time_member(w, "estimated_at", estimate->told_at);
    wire_object_end(w);
}

static void encode_amended(wire_writer *w, const wire_amended *amended)
{
    wire_object_begin(w);
    wire_time_member(w, "amended_at", amended->amended_at);
    wire_optional_string(w, "reason", amended->reason);
    wire_key(w, "was");
    wire_object_begin(w);
    wire_string_member(w, "state", amended->state);
    if (amended->has_value)
        wire_real_member(w, "value", amended->value);
    encode_told_with(w, amended->definition, amended->has_value, amended->value, amended->recorded,
                     amended->has_value ? amended->repeats : 1, NULL);
    wire_optional_string(w, "reason", amended->was_reason);
    wire_object_end(w);
    wire_object_end(w);
}

/* A named list; left out if it is empty. */
#define ENCODE_LIST(w, name, items, n, encode)                                                               \
    do {                                                                                                     \
        if ((n) == 0)                                                                                        \
            break;                                                                                           \
        wire_key((w), (name));                                                                               \
        wire_array_begin(w);                                                                                 \
        for (size_t i = 0; i < (n); i++)                                                                     \
            encode((w), &(items)[i]);                                                                        \
        wire_array_end(w);                                                                                   \
    } while (0)

void wire_encode_curve(wire_writer *w, int64_t trial, const wire_step *steps, size_t n)
{
    wire_object_begin(w);
    wire_integer_member(w, "trial", trial);
    ENCODE_LIST(w, "measurements", steps, n, encode_step);
    wire_object_end(w);
}

void wire_encode_trial_history(wire_writer *w, const wire_trial *trial, const wire_history *history)
{
    wire_object_begin(w);
    encode_members(w, trial);
    wire_key(w, "attempts");
    wire_array_begin(w);
    for (size_t i = 0; i < history->n_attempts; i++)
        encode_attempt(w, &history->attempts[i]);
    wire_array_end(w);
    ENCODE_LIST(w, "measurements", history->steps, history->n_steps, encode_step);
    ENCODE_LIST(w, "late_results", history->late, history->n_late, encode_late_result);
    if (history->estimate)
        encode_estimate(w, history->estimate);
    ENCODE_LIST(w, "amendments", history->amended, history->n_amended, encode_amended);
    wire_object_end(w);
}

void wire_encode_imported(wire_writer *w, const wire_imported *imported)
{
    wire_object_begin(w);
    wire_integer_member(w, "observation", imported->observation);
    wire_string_member(w, "state", imported->state);
    wire_arm_members(w, imported->candidate, imported->key, imported->space, imported->parameters);
    if (imported->point)
        wire_point_member(w, imported->point, imported->dimension);
    if (imported->has_value)
        wire_real_member(w, "value", imported->value);
    encode_told_with(w, imported->definition, imported->has_value, imported->value, imported->recorded,
                     imported->repeats, NULL);
    encode_cost(w, imported->cost);
    wire_optional_string(w, "reason", imported->reason);
    wire_time_member(w, "imported_at", imported->imported_at);
    ENCODE_LIST(w, "amendments", imported->amended, imported->n_amended, encode_amended);
    wire_object_end(w);
}

void wire_encode_import_answer(wire_writer *w, int64_t first, int64_t n)
{
    wire_object_begin(w);
    wire_integer_member(w, "accepted", n);
    wire_integer_member(w, "first", first);
    wire_integer_member(w, "last", first + n - 1);
    wire_object_end(w);
}

void wire_encode_ask_answer(wire_writer *w, const wire_trial *trials, size_t n, const char *reason)
{
    wire_object_begin(w);
    wire_key(w, "trials");
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++)
        wire_encode_trial(w, &trials[i]);
    wire_array_end(w);
    wire_key(w, "reason");
    if (reason)
        wire_string(w, reason);
    else
        wire_null(w);
    wire_object_end(w);
}

void wire_encode_tell_answer(wire_writer *w, int64_t accepted, int64_t duplicates, int64_t late)
{
    wire_object_begin(w);
    wire_integer_member(w, "accepted", accepted);
    wire_integer_member(w, "duplicates", duplicates);
    wire_integer_member(w, "late", late);
    wire_object_end(w);
}
