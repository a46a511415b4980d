#include "server/data/event_view.h"

static void encode_planned(wire_writer *w, int64_t seq, const store_event *event)
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

static void encode_extended(wire_writer *w, int64_t seq, const store_event *event)
{
    const wire_batch shown = {.batch = event->u.extended.batch,
                              .ratio = event->u.extended.ratio,
                              .stop_rule = event->u.extended.stop_rule};
    wire_encode_batch_event(w, seq, event->time, &shown, true, event->u.extended.first_trial,
                            (int64_t)event->u.extended.n_picks);
}

void event_view_encode(wire_writer *w, int64_t seq, const store_event *event)
{
    int64_t time = event->time;
    switch (event->type) {
    case EVENT_STUDY_CREATED:
        wire_encode_state_event(w, seq, time, study_state_name(event->u.created.state), "");
        break;
    case EVENT_STUDY_CHANGED:
        wire_encode_state_event(w, seq, time, study_state_name(event->u.changed.state),
                                event->u.changed.reason);
        break;
    case EVENT_CANDIDATES_SET:
        wire_encode_count_event(w, seq, time, "candidates", event->u.candidates.count);
        break;
    case EVENT_CANDIDATES_ADDED:
        wire_encode_count_event(w, seq, time, "candidates",
                                event->u.added.first + (int64_t)event->u.added.points.n);
        break;
    case EVENT_CANDIDATES_RETIRED:
        wire_encode_count_event(w, seq, time, "retired", (int64_t)event->u.retired.n);
        break;
    case EVENT_BATCH_PLANNED:
        encode_planned(w, seq, event);
        break;
    case EVENT_BATCH_EXTENDED:
        encode_extended(w, seq, event);
        break;
    case EVENT_TRIAL_ISSUED:
        wire_encode_trial_event(w, seq, time,
                                &(wire_trial_event){.type = "trial",
                                                    .id = event->u.issued.trial,
                                                    .state = trial_state_name(TRIAL_PENDING),
                                                    .attempt = event->u.issued.attempt,
                                                    .worker = event->u.issued.worker,
                                                    .issued_at = time,
                                                    .lease_expires_at = event->u.issued.lease_expires_at});
        break;
    case EVENT_TRIAL_RENEWED:
        wire_encode_trial_event(w, seq, time,
                                &(wire_trial_event){.type = "trial",
                                                    .id = event->u.renewed.trial,
                                                    .state = trial_state_name(TRIAL_PENDING),
                                                    .attempt = event->u.renewed.attempt,
                                                    .worker = event->u.renewed.worker,
                                                    .lease_expires_at = event->u.renewed.lease_expires_at});
        break;
    case EVENT_TRIAL_REQUEUED:
        wire_encode_trial_event(w, seq, time,
                                &(wire_trial_event){.type = "trial",
                                                    .id = event->u.requeued.trial,
                                                    .state = trial_state_name(TRIAL_QUEUED),
                                                    .reason = event->u.requeued.outcome});
        break;
    case EVENT_TRIAL_TOLD:
        wire_encode_trial_event(w, seq, time,
                                &(wire_trial_event){.type = "trial",
                                                    .id = event->u.told.trial,
                                                    .state = trial_state_name(event->u.told.state),
                                                    .attempt = event->u.told.attempt,
                                                    .has_value = event->u.told.has_value,
                                                    .value = event->u.told.value,
                                                    .best = event->u.told.better,
                                                    .reason = event->u.told.reason,
                                                    .told_at = time});
        break;
    case EVENT_TRIAL_PROPOSED:
        wire_encode_trial_event(w, seq, time,
                                &(wire_trial_event){.type = "trial",
                                                    .id = event->u.proposed.trial,
                                                    .state = trial_state_name(TRIAL_QUEUED)});
        break;
    case EVENT_LATE_RESULT_TOLD:
        wire_encode_trial_event(w, seq, time,
                                &(wire_trial_event){.type = "late",
                                                    .id = event->u.late.trial,
                                                    .attempt = event->u.late.attempt,
                                                    .has_value = true,
                                                    .value = event->u.late.value,
                                                    .best = event->u.late.better});
        break;
    case EVENT_TRIAL_AMENDED:
        wire_encode_trial_event(
            w, seq, time,
            &(wire_trial_event){.type = "trial",
                                .id = event->u.amended.trial,
                                .state = trial_state_name(event->u.amended.state),
                                .has_value = event->u.amended.has_value,
                                .value = event->u.amended.value,
                                .best = event->u.amended.best_trial == event->u.amended.trial,
                                .amended = true,
                                .reason = event->u.amended.reason});
        break;
    case EVENT_TRIAL_MEASURED:
        wire_encode_trial_event(w, seq, time,
                                &(wire_trial_event){.type = "measurement",
                                                    .id = event->u.measured.trial,
                                                    .attempt = event->u.measured.attempt,
                                                    .has_value = true,
                                                    .value = event->u.measured.value,
                                                    .has_step = true,
                                                    .step = event->u.measured.step});
        break;
    case EVENT_OBSERVATIONS_ADDED:
        wire_encode_count_event(w, seq, time, "observations", (int64_t)event->u.observed.n);
        break;
    case STORE_EVENT_TYPES:
        break;
    }
}
