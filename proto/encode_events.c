#include "proto/encode_events.h"

#include "proto/encode.h"
#include "proto/recorded_values.h"

#include <math.h>
#include <stdlib.h>

/* Text between the values. */
static void put(wire_writer *w, const char *text)
{
    w->comma = false;
    wire_raw(w, text);
    w->comma = false;
}

static void begin(wire_writer *w, int64_t id, const char *type)
{
    if (id >= 0) {
        put(w, "id: ");
        wire_integer_value(w, id);
        put(w, "\n");
    }
    put(w, "event: ");
    put(w, type);
    put(w, "\ndata: ");
    wire_object_begin(w);
}

static void end(wire_writer *w)
{
    wire_object_end(w);
    put(w, "\n\n");
}

void wire_encode_stream_start(wire_writer *w, int64_t position)
{
    put(w, "retry: 2000\nid: ");
    wire_integer_value(w, position);
    put(w, "\n\n");
}

void wire_encode_notice(wire_writer *w, int64_t id, const char *type, const char *reason)
{
    begin(w, id, type);
    wire_string_member(w, "reason", reason);
    end(w);
}

static void true_member(wire_writer *w, const char *key, bool truth)
{
    if (!truth)
        return;
    wire_key(w, key);
    wire_boolean(w, true);
}

/* By metric: an event does not know which metric is the first. */
static void std_errors_member(wire_writer *w, const char *recorded)
{
    if (!wire_has_std_errors(recorded))
        return;
    char *errors = wire_recorded_std_errors(recorded);
    w->failed |= !errors;
    if (errors) {
        wire_key(w, "std_errors");
        wire_raw(w, errors);
    }
    free(errors);
}

void wire_encode_trial_event(wire_writer *w, int64_t id, int64_t time, const wire_trial_event *trial)
{
    begin(w, id, trial->type);
    wire_integer_member(w, "id", trial->id);
    wire_optional_string(w, "state", trial->state);
    if (trial->attempt > 0)
        wire_integer_member(w, "attempt", trial->attempt);
    wire_optional_string(w, "worker", trial->worker);
    if (trial->issued_at > 0)
        wire_time_member(w, "issued_at", trial->issued_at);
    if (trial->lease_expires_at > 0)
        wire_time_member(w, "lease_expires_at", trial->lease_expires_at);
    if (trial->has_value)
        wire_real_member(w, "value", trial->value);
    if (trial->has_value)
        std_errors_member(w, trial->recorded);
    if (trial->has_step)
        wire_integer_member(w, "step", trial->step);
    if (trial->cost > 0.0)
        wire_real_member(w, "cost", trial->cost);
    true_member(w, "best", trial->best);
    true_member(w, "amended", trial->amended);
    wire_optional_string(w, "reason", trial->reason);
    if (trial->told_at > 0)
        wire_time_member(w, "told_at", trial->told_at);
    wire_time_member(w, "time", time);
    end(w);
}

static void finite_member(wire_writer *w, const char *key, double value)
{
    wire_key(w, key);
    if (isfinite(value))
        wire_real(w, value);
    else
        wire_null(w);
}

void wire_encode_batch_event(wire_writer *w, int64_t id, int64_t time, const wire_batch *batch, bool extended,
                             int64_t first_trial, int64_t trials)
{
    begin(w, id, "batch");
    wire_integer_member(w, "batch", batch->batch);
    finite_member(w, "ratio", batch->ratio);
    wire_string_member(w, "stop_rule", batch->stop_rule);
    wire_integer_member(w, "first_trial", first_trial);
    wire_integer_member(w, "trials", trials);
    if (!extended) {
        wire_integer_member(w, "dictionary_size", batch->dictionary_size);
        finite_member(w, "beta", batch->beta);
        wire_integer_member(w, "observations", batch->observations);
        finite_member(w, "update_seconds", batch->update_seconds);
        finite_member(w, "select_seconds", batch->select_seconds);
        wire_time_member(w, "started_at", batch->started_at);
    }
    wire_time_member(w, "time", time);
    end(w);
}

void wire_encode_state_event(wire_writer *w, int64_t id, int64_t time, const char *state, const char *reason)
{
    begin(w, id, "state");
    wire_string_member(w, "state", state);
    wire_optional_string(w, "state_reason", reason);
    wire_time_member(w, "time", time);
    end(w);
}

void wire_encode_observation_event(wire_writer *w, int64_t id, int64_t time, int64_t observation,
                                   const char *state, const double *value, const char *recorded,
                                   const char *reason)
{
    begin(w, id, "observation");
    wire_integer_member(w, "observation", observation);
    wire_string_member(w, "state", state);
    if (value)
        wire_real_member(w, "value", *value);
    if (value)
        std_errors_member(w, recorded);
    true_member(w, "amended", true);
    wire_optional_string(w, "reason", reason);
    wire_time_member(w, "time", time);
    end(w);
}

void wire_encode_count_event(wire_writer *w, int64_t id, int64_t time, const char *type, int64_t count)
{
    begin(w, id, type);
    wire_integer_member(w, "count", count);
    wire_time_member(w, "time", time);
    end(w);
}
