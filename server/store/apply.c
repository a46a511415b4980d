/* Applies events to the tables, both for new writes and for rebuilds from a log. Only this file defines what each event
 * changes. */
#include "server/store/backend.h"

static void move_trial(study_record *study, trial_state from, trial_state to)
{
    study->by_state[from]--;
    study->by_state[to]++;
}

static store_status no_trial(store_error *err, const study_record *study, int64_t trial, const char *what)
{
    return store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld that is %s",
                      (long long)study->study, (long long)trial, what);
}

/* study_insert has written everything, before the entry of the log. */
static store_status apply_study_created(store *s, study_record *study, const store_event *event,
                                        store_error *err)
{
    (void)s, (void)study, (void)event, (void)err;
    return STORE_OK;
}

static store_status apply_study_changed(store *s, study_record *study, const store_event *event,
                                        store_error *err)
{
    study->state = event->u.changed.state;
    if (event->u.changed.finds_best) {
        study->best_trial = event->u.changed.best_trial;
        study->best_candidate = event->u.changed.best_candidate;
        study->best_value = event->u.changed.best_value;
    }
    return s->backend->study_describe(s, study, event->u.changed.definition, event->u.changed.reason, err);
}

static store_status apply_candidates_set(store *s, study_record *study, const store_event *event,
                                         store_error *err)
{
    store_status status = s->backend->content_attach(s, study, event, err);
    if (status)
        return status;
    study->content = event->u.candidates.content;
    study->candidates = event->u.candidates.count;
    study->dimension = event->u.candidates.dimension;
    study->reference_candidates = event->u.candidates.count;
    return s->backend->keys_clear(s, study->study, err);
}

/* Adds candidates with the next numbers. */
static store_status add_points(store *s, study_record *study, const store_points *points, store_error *err)
{
    if (study->content != 0 && points->dimension != study->dimension)
        return store_fail(err, STORE_NOT_FOUND, "study %lld has candidates of dimension %lld",
                          (long long)study->study, (long long)study->dimension);
    store_status status = s->backend->content_extend(s, study, points, &study->content, err);
    if (status)
        return status;
    study->candidates += (int64_t)points->n;
    study->dimension = points->dimension;
    return STORE_OK;
}

static store_status apply_candidates_added(store *s, study_record *study, const store_event *event,
                                           store_error *err)
{
    if (event->u.added.first != study->candidates || event->u.added.points.n == 0)
        return store_fail(err, STORE_NOT_FOUND, "study %lld has %lld candidates", (long long)study->study,
                          (long long)study->candidates);
    return add_points(s, study, &event->u.added.points, err);
}

static store_status apply_candidates_retired(store *s, study_record *study, const store_event *event,
                                             store_error *err)
{
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < event->u.retired.n; i++)
        status = s->backend->candidate_retire(s, study->study, event->u.retired.list[i], err);
    return status;
}

static store_status apply_candidates_restored(store *s, study_record *study, const store_event *event,
                                              store_error *err)
{
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < event->u.restored.n; i++)
        status = s->backend->candidate_restore(s, study->study, event->u.restored.list[i], err);
    return status;
}

static store_status apply_candidates_keyed(store *s, study_record *study, const store_event *event,
                                           store_error *err)
{
    int64_t first = event->u.keyed.first;
    if (first < 0 || event->u.keyed.n > (uint64_t)study->candidates ||
        first > study->candidates - (int64_t)event->u.keyed.n)
        return store_fail(err, STORE_NOT_FOUND, "study %lld has %lld candidates", (long long)study->study,
                          (long long)study->candidates);
    store_status status = first == 0 ? s->backend->keys_clear(s, study->study, err) : STORE_OK;
    for (size_t i = 0; !status && i < event->u.keyed.n; i++)
        if (*event->u.keyed.keys[i])
            status = s->backend->key_put(s, study->study, first + (int64_t)i, event->u.keyed.keys[i], err);
    return status;
}

static store_status out_of_order(store_error *err, const study_record *study)
{
    return store_fail(err, STORE_NOT_FOUND,
                      "study %lld has %lld batches and %lld trials: the event does not follow them",
                      (long long)study->study, (long long)study->batches, (long long)study->trials);
}

/* Adds trials with the next numbers. */
static store_status queue_picks(store *s, study_record *study, int64_t batch, const store_pick *picks,
                                size_t n, store_error *err)
{
    store_status status = s->backend->trials_insert(s, study->study, study->trials + 1, batch, picks, n, err);
    study->trials += (int64_t)n;
    study->by_state[TRIAL_QUEUED] += (int64_t)n;
    return status;
}

static store_status apply_batch_planned(store *s, study_record *study, const store_event *event,
                                        store_error *err)
{
    if (event->u.planned.batch.batch != study->batches || event->u.planned.first_trial != study->trials + 1)
        return out_of_order(err, study);
    store_status status = s->backend->batch_insert(s, study->study, event, err);
    if (!status && event->u.planned.points.n > 0)
        status = add_points(s, study, &event->u.planned.points, err);
    if (!status)
        status = s->backend->sums_put(s, study->study, event->u.planned.sums, event->u.planned.n_sums, err);
    if (status)
        return status;
    study->batches++;
    study->through_seq = event->u.planned.through_seq;
    return queue_picks(s, study, event->u.planned.batch.batch, event->u.planned.picks,
                       event->u.planned.n_picks, err);
}

static store_status apply_batch_extended(store *s, study_record *study, const store_event *event,
                                         store_error *err)
{
    if (event->u.extended.batch != study->batches - 1 || event->u.extended.first_trial != study->trials + 1)
        return out_of_order(err, study);
    store_status status = s->backend->batch_extend(s, study->study, event, err);
    if (!status && event->u.extended.points.n > 0)
        status = add_points(s, study, &event->u.extended.points, err);
    if (status)
        return status;
    return queue_picks(s, study, event->u.extended.batch, event->u.extended.picks, event->u.extended.n_picks,
                       err);
}

static store_status apply_trial_issued(store *s, study_record *study, const store_event *event,
                                       store_error *err)
{
    int64_t number = event->u.issued.trial;
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, number, &trial, err);
    if (status)
        return status;
    if (trial.state != TRIAL_QUEUED)
        return no_trial(err, study, number, "queued");
    status = s->backend->trial_issue(s, study->study, study->last_seq, event, err);
    if (status)
        return status;
    move_trial(study, TRIAL_QUEUED, TRIAL_PENDING);
    study->issued += !trial.was_issued;
    return STORE_OK;
}

static store_status apply_trial_renewed(store *s, study_record *study, const store_event *event,
                                        store_error *err)
{
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, event->u.renewed.trial, &trial, err);
    if (status)
        return status;
    if (trial.state != TRIAL_PENDING)
        return no_trial(err, study, event->u.renewed.trial, "pending");
    return s->backend->trial_renew(s, study->study, event, err);
}

static store_status apply_trial_requeued(store *s, study_record *study, const store_event *event,
                                         store_error *err)
{
    int64_t number = event->u.requeued.trial;
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, number, &trial, err);
    if (status)
        return status;
    if (trial.state != TRIAL_PENDING)
        return no_trial(err, study, number, "pending");
    int32_t attempt = event->u.requeued.attempt_counts ? trial.attempt : trial.attempt - 1;
    status = s->backend->trial_requeue(s, study->study, attempt, event, err);
    if (status)
        return status;
    move_trial(study, TRIAL_PENDING, TRIAL_QUEUED);
    study->cost += event->u.requeued.cost;
    return STORE_OK;
}

static store_status apply_trial_told(store *s, study_record *study, const store_event *event,
                                     store_error *err)
{
    int64_t number = event->u.told.trial;
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, number, &trial, err);
    if (status)
        return status;
    int32_t attempt = event->u.told.attempt > 0 ? event->u.told.attempt : trial.attempt;
    status = s->backend->trial_tell(s, study->study, study->last_seq, attempt, event, err);
    if (status)
        return status;
    move_trial(study, trial.state, event->u.told.state);
    study->observations += event->u.told.has_value - trial.has_value;
    study->cost += event->u.told.cost;
    if (event->u.told.better) {
        study->best_trial = number;
        study->best_candidate = trial.candidate;
        study->best_value = event->u.told.value;
    }
    return STORE_OK;
}

static store_status apply_trial_proposed(store *s, study_record *study, const store_event *event,
                                         store_error *err)
{
    if (event->u.proposed.trial != study->trials + 1)
        return out_of_order(err, study);
    return queue_picks(s, study, -1, &event->u.proposed.pick, 1, err);
}

static store_status apply_late_result_told(store *s, study_record *study, const store_event *event,
                                           store_error *err)
{
    int64_t number = event->u.late.trial;
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, number, &trial, err);
    if (status)
        return status;
    if (!trial.has_value)
        return no_trial(err, study, number, "completed with a value");
    status = s->backend->late_result_insert(s, study->study, study->last_seq, event, err);
    if (status)
        return status;
    study->observations++;
    study->cost += event->u.late.cost;
    if (event->u.late.better) {
        study->best_trial = number;
        study->best_candidate = trial.candidate;
        study->best_value = event->u.late.value;
    }
    return STORE_OK;
}

/* An estimate is a row beside the late results. It is not counted, and never the best. */
static store_status apply_trial_estimated(store *s, study_record *study, const store_event *event,
                                          store_error *err)
{
    store_event row = {.type = EVENT_LATE_RESULT_TOLD, .time = event->time};
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, event->u.estimated.trial, &trial, err);
    if (status)
        return status;
    if (trial.state != TRIAL_STOPPED || trial.has_value)
        return no_trial(err, study, event->u.estimated.trial, "stopped without a value");
    row.u.late.trial = event->u.estimated.trial;
    row.u.late.attempt = ESTIMATED_ATTEMPT;
    row.u.late.value = event->u.estimated.value;
    row.u.late.repeats = 1;
    row.u.late.recorded = event->u.estimated.recorded;
    row.u.late.metadata = "";
    return s->backend->late_result_insert(s, study->study, study->last_seq, &row, err);
}

static store_status apply_trial_amended(store *s, study_record *study, const store_event *event,
                                        store_error *err)
{
    int64_t number = event->u.amended.trial;
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, number, &trial, err);
    if (status)
        return status;
    if (trial.state == TRIAL_QUEUED || trial.state == TRIAL_PENDING)
        return no_trial(err, study, number, "told");
    status = s->backend->trial_amend(s, study->study, study->last_seq, event, err);
    if (status)
        return status;
    move_trial(study, trial.state, event->u.amended.state);
    study->observations += event->u.amended.has_value - trial.has_value;
    study->best_trial = event->u.amended.best_trial;
    study->best_candidate = event->u.amended.best_candidate;
    study->best_value = event->u.amended.best_value;
    return STORE_OK;
}

static store_status apply_trial_measured(store *s, study_record *study, const store_event *event,
                                         store_error *err)
{
    trial_record trial;
    store_status status = s->backend->trial_load(s, study->study, event->u.measured.trial, &trial, err);
    if (status)
        return status;
    if (trial.state != TRIAL_PENDING)
        return no_trial(err, study, event->u.measured.trial, "pending");
    return s->backend->measurement_put(s, study->study, event, err);
}

static store_status apply_observations_added(store *s, study_record *study, const store_event *event,
                                             store_error *err)
{
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < event->u.observed.n; i++) {
        const store_observation *o = &event->u.observed.list[i];
        store_imported row = {.observation = study->imported + 1 + (int64_t)i,
                              .told_seq = study->last_seq,
                              .imported_at = event->time,
                              .candidate = o->candidate,
                              .state = TRIAL_COMPLETED,
                              .has_value = true,
                              .value = o->value,
                              .repeats = o->repeats,
                              .cost = o->cost,
                              .recorded = o->recorded,
                              .reason = ""};
        study->cost += o->cost;
        status = s->backend->observation_insert(s, study->study, &row, err);
    }
    study->observations += (int64_t)event->u.observed.n;
    study->imported += (int64_t)event->u.observed.n;
    return status;
}

static store_status apply_observation_amended(store *s, study_record *study, const store_event *event,
                                              store_error *err)
{
    int64_t number = event->u.reobserved.observation;
    bool had_value;
    if (number < 1 || number > study->imported)
        return store_fail(err, STORE_NOT_FOUND, "study %lld has no observation %lld", (long long)study->study,
                          (long long)number);
    store_status status =
        s->backend->observation_amend(s, study->study, study->last_seq, event, &had_value, err);
    study->observations += event->u.reobserved.has_value - had_value;
    return status;
}

/* Applies an event to the tables and to *study, whose last_seq is already the event's position. */
typedef store_status applied(store *s, study_record *study, const store_event *event, store_error *err);

static applied *const apply[STORE_EVENT_TYPES] = {
#define X(enumerator, name) [enumerator] = apply_##name,
    STORE_EVENT_LIST(X)
#undef X
};

store_status store_apply(store *s, study_record *record, int64_t epoch, const store_event *event,
                         const char *payload, store_error *err)
{
    store_status status = STORE_OK;
    if (event->type == EVENT_STUDY_CREATED)
        status = s->backend->study_insert(s, event, epoch, record, err);
    if (status)
        return status;
    int64_t seq = record->last_seq + 1;
    if (s->no_checksums)
        record->chain = (log_chain){0};
    else
        chain_extend(&record->chain, seq, event->time, store_event_name(event->type), payload);
    status = s->backend->log_append(s, record->study, seq, event, payload, &record->chain, err);
    if (status)
        return status;
    record->last_seq = seq;
    record->updated_at = event->time;
    return apply[event->type](s, record, event, err);
}
