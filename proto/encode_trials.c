#include "proto/encode.h"

static void encode_members(wire_writer *w, const wire_trial *trial)
{
    wire_integer_member(w, "id", trial->id);
    wire_string_member(w, "state", trial->state);
    if (trial->batch >= 0)
        wire_integer_member(w, "batch", trial->batch);
    wire_integer_member(w, "attempt", trial->attempt);
    wire_arm_members(w, trial->candidate, trial->space, trial->parameters);
    if (trial->point)
        wire_point_member(w, trial->point, trial->dimension);
    wire_optional_string(w, "worker", trial->worker);
    if (trial->issued_at != 0)
        wire_time_member(w, "issued_at", trial->issued_at);
    if (trial->lease_expires_at != 0)
        wire_time_member(w, "lease_expires_at", trial->lease_expires_at);
    if (trial->has_value)
        wire_real_member(w, "value", trial->value);
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

void wire_encode_trial_history(wire_writer *w, const wire_trial *trial, const wire_attempt *attempts,
                               size_t n)
{
    wire_object_begin(w);
    encode_members(w, trial);
    wire_key(w, "attempts");
    wire_array_begin(w);
    for (size_t i = 0; i < n; i++)
        encode_attempt(w, &attempts[i]);
    wire_array_end(w);
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
