#include "server/data/event_view.h"

#include "server/store/event.h"

#include <math.h>

static const char *text_of(const store_event *event, const char *name)
{
    const char *const *text = store_event_member(event, name);
    return text ? *text : NULL;
}

static int64_t integer_of(const store_event *event, const char *name)
{
    const int64_t *integer = store_event_member(event, name);
    return integer ? *integer : 0;
}

/* The state that the type of a trial's event implies, in addition to its members. */
static wire_trial_event implied(const store_event *event)
{
    store_event_type type = event->type;
    wire_trial_event shown = {.type = "trial"};
    if (type == EVENT_LATE_RESULT_TOLD)
        shown.type = "late";
    if (type == EVENT_TRIAL_ESTIMATED)
        shown.type = "estimate";
    if (type == EVENT_TRIAL_MEASURED)
        shown.type = "measurement";
    if (type == EVENT_TRIAL_ISSUED || type == EVENT_TRIAL_RENEWED)
        shown.state = trial_state_name(TRIAL_PENDING);
    if (type == EVENT_TRIAL_REQUEUED || type == EVENT_TRIAL_PROPOSED)
        shown.state = trial_state_name(TRIAL_QUEUED);
    if (type == EVENT_TRIAL_ISSUED)
        shown.issued_at = event->time;
    if (type == EVENT_TRIAL_REQUEUED)
        shown.reason = event->u.requeued.outcome;
    if (type == EVENT_TRIAL_TOLD)
        shown.told_at = event->time;
    if (type == EVENT_TRIAL_AMENDED) {
        shown.amended = true;
        shown.best = event->u.amended.best_trial == event->u.amended.trial;
    }
    return shown;
}

static void show_trial(wire_writer *w, int64_t seq, const store_event *event)
{
    wire_trial_event shown = implied(event);
    const trial_state *state = store_event_member(event, "state");
    const int32_t *attempt = store_event_member(event, "attempt");
    const double *value = store_event_member(event, "value");
    const int64_t *step = store_event_member(event, "step");
    const bool *better = store_event_member(event, "better"), *outdone = store_event_member(event, "outdone");
    const bool *front = store_event_member(event, "front");
    const double *cost = store_event_member(event, "cost");
    shown.id = integer_of(event, "trial");
    if (state)
        shown.state = trial_state_name(*state);
    if (attempt)
        shown.attempt = *attempt;
    shown.worker = text_of(event, "worker");
    shown.recorded = text_of(event, "recorded");
    shown.lease_expires_at = integer_of(event, "lease_expires_at");
    if (value && !isnan(*value)) { /* NaN: a result without a value */
        shown.has_value = true;
        shown.value = *value;
    }
    if (step) {
        shown.has_step = true;
        shown.step = *step;
    }
    if (cost)
        shown.cost = *cost;
    if (better)
        shown.best = *better;
    if (outdone && *outdone) /* older entries do not say so */
        shown.best = false;
    if (front && *front)
        shown.best = true;
    if (!shown.reason)
        shown.reason = text_of(event, "reason");
    wire_encode_trial_event(w, seq, event->time, &shown);
}

static void show_study(wire_writer *w, int64_t seq, const store_event *event)
{
    const study_state *state = store_event_member(event, "state");
    wire_encode_state_event(w, seq, event->time, study_state_name(*state), text_of(event, "reason"));
}

static void show_count(wire_writer *w, int64_t seq, const store_event *event, const char *type, int64_t count)
{
    wire_encode_count_event(w, seq, event->time, type, count);
}

static void show_planned(wire_writer *w, int64_t seq, const store_event *event)
{
    const store_batch *batch = &event->u.planned.batch;
    const wire_batch shown = {.batch = batch->batch,
                              .ratio = batch->ratio,
                              .stop_rule = batch->stop_rule,
                              .dictionary_size = batch->dictionary_size,
                              .beta = batch->beta,
                              .observations = batch->observations,
                              .update_seconds = batch->update_seconds,
                              .select_seconds = batch->select_seconds,
                              .started_at = batch->started_at};
    wire_encode_batch_event(w, seq, event->time, &shown, false, event->u.planned.first_trial,
                            (int64_t)event->u.planned.n_picks);
}

static void show_extended(wire_writer *w, int64_t seq, const store_event *event)
{
    const wire_batch shown = {.batch = event->u.extended.batch,
                              .ratio = event->u.extended.ratio,
                              .stop_rule = event->u.extended.stop_rule};
    wire_encode_batch_event(w, seq, event->time, &shown, true, event->u.extended.first_trial,
                            (int64_t)event->u.extended.n_picks);
}

void event_view_encode(wire_writer *w, int64_t seq, const store_event *event)
{
    switch (event->type) {
    case EVENT_STUDY_CREATED:
    case EVENT_STUDY_CHANGED:
        show_study(w, seq, event);
        break;
    case EVENT_CANDIDATES_SET:
        show_count(w, seq, event, "candidates", event->u.candidates.count);
        break;
    case EVENT_CANDIDATES_ADDED:
        show_count(w, seq, event, "candidates", event->u.added.first + (int64_t)event->u.added.points.n);
        break;
    case EVENT_CANDIDATES_RETIRED:
        show_count(w, seq, event, "retired", (int64_t)event->u.retired.n);
        break;
    case EVENT_CANDIDATES_RESTORED:
        show_count(w, seq, event, "restored", (int64_t)event->u.restored.n);
        break;
    case EVENT_CANDIDATES_KEYED:
        show_count(w, seq, event, "keyed", (int64_t)event->u.keyed.n);
        break;
    case EVENT_OBSERVATIONS_ADDED:
        show_count(w, seq, event, "observations", (int64_t)event->u.observed.n);
        break;
    case EVENT_OBSERVATION_AMENDED:
        wire_encode_observation_event(w, seq, event->time, event->u.reobserved.observation,
                                      trial_state_name(event->u.reobserved.state),
                                      event->u.reobserved.has_value ? &event->u.reobserved.value : NULL,
                                      event->u.reobserved.recorded, event->u.reobserved.reason);
        break;
    case EVENT_BATCH_PLANNED:
        show_planned(w, seq, event);
        break;
    case EVENT_BATCH_EXTENDED:
        show_extended(w, seq, event);
        break;
    case EVENT_TRIAL_ISSUED:
    case EVENT_TRIAL_RENEWED:
    case EVENT_TRIAL_REQUEUED:
    case EVENT_TRIAL_PROPOSED:
    case EVENT_TRIAL_TOLD:
    case EVENT_TRIAL_AMENDED:
    case EVENT_LATE_RESULT_TOLD:
    case EVENT_TRIAL_ESTIMATED:
    case EVENT_TRIAL_MEASURED:
        show_trial(w, seq, event);
        break;
    case STORE_EVENT_TYPES:
        break;
    }
}
