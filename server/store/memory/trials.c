/* Writes the memory backend's trials, their attempts, results and measurements. */
#include "server/store/memory/memory.h"

#include <stdlib.h>
#include <string.h>

static memory_trial *find_trial(store *base, int64_t number, int64_t trial)
{
    memory_study *study = memory_find(memory_of(base), number);
    return trial >= 1 && (size_t)trial <= study->n_trials ? &study->trials[trial - 1] : NULL;
}

static store_status insert_trial(memory_study *study, int64_t trial, int64_t batch, const store_pick *pick,
                                 store_error *err)
{
    memory_trial *trials = memory_with_room(study->trials, study->n_trials, sizeof *trials);
    if (!trials)
        return memory_exhausted(err);
    study->trials = trials;
    memory_trial *row = &trials[study->n_trials++];
    *row = (memory_trial){.t = {.trial = trial,
                                .batch = batch,
                                .candidate = pick->candidate,
                                .variance = pick->variance,
                                .repeats = 1,
                                .worker = strdup(""),
                                .reason = strdup(""),
                                .recorded = strdup(""),
                                .metadata = strdup("")}};
    bool complete = row->t.worker && row->t.reason && row->t.recorded && row->t.metadata;
    return complete ? STORE_OK : memory_exhausted(err);
}

store_status memory_trials_insert(store *base, int64_t number, int64_t first, int64_t batch,
                                  const store_pick *picks, size_t n, store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < n; i++)
        status = insert_trial(study, first + (int64_t)i, batch, &picks[i], err);
    return status;
}

store_status memory_trial_load(store *base, int64_t number, int64_t trial, trial_record *record,
                               store_error *err)
{
    const memory_trial *row = find_trial(base, number, trial);
    if (!row)
        return store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld", (long long)number,
                          (long long)trial);
    *record = (trial_record){.state = row->t.state,
                             .attempt = row->t.attempt,
                             .candidate = row->t.candidate,
                             .was_issued = row->t.issued_at != 0,
                             .has_value = row->t.has_value};
    return STORE_OK;
}

store_status memory_trial_issue(store *base, int64_t number, int64_t seq, const store_event *event,
                                store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.issued.trial);
    (void)seq; /* attempts are in the order of the log */
    row->t.state = TRIAL_PENDING;
    row->t.attempt = event->u.issued.attempt;
    row->t.issued_at = event->time;
    row->t.lease_expires_at = event->u.issued.lease_expires_at;
    store_attempt *attempts = memory_with_room(row->attempts, row->n_attempts, sizeof *attempts);
    if (!attempts)
        return memory_exhausted(err);
    row->attempts = attempts;
    if (!memory_set_text(&row->t.worker, event->u.issued.worker))
        return memory_exhausted(err);
    store_attempt *attempt = &attempts[row->n_attempts++];
    *attempt = (store_attempt){.trial = event->u.issued.trial,
                               .attempt = event->u.issued.attempt,
                               .worker = strdup(event->u.issued.worker),
                               .issued_at = event->time,
                               .lease_expires_at = event->u.issued.lease_expires_at,
                               .outcome = strdup("")};
    return attempt->worker && attempt->outcome ? STORE_OK : memory_exhausted(err);
}

store_status memory_trial_renew(store *base, int64_t number, const store_event *event, store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.renewed.trial);
    const char *worker = event->u.renewed.worker;
    row->t.lease_expires_at = event->u.renewed.lease_expires_at;
    if (worker && !memory_set_text(&row->t.worker, worker))
        return memory_exhausted(err);
    for (size_t i = 0; i < row->n_attempts; i++) {
        store_attempt *attempt = &row->attempts[i];
        if (attempt->ended_at != 0)
            continue;
        attempt->lease_expires_at = event->u.renewed.lease_expires_at;
        if (worker && !memory_set_text(&attempt->worker, worker))
            return memory_exhausted(err);
    }
    return STORE_OK;
}

static store_status end_attempt(store_attempt *attempt, int64_t time, const char *outcome, store_error *err)
{
    attempt->ended_at = time;
    return memory_set_text(&attempt->outcome, outcome) ? STORE_OK : memory_exhausted(err);
}

static store_status end_open_attempts(memory_trial *row, int64_t time, const char *outcome, store_error *err)
{
    store_status status = STORE_OK;
    for (size_t i = 0; !status && i < row->n_attempts; i++)
        if (row->attempts[i].ended_at == 0)
            status = end_attempt(&row->attempts[i], time, outcome, err);
    return status;
}

store_status memory_trial_requeue(store *base, int64_t number, int32_t attempt, const store_event *event,
                                  store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.requeued.trial);
    row->t.state = TRIAL_QUEUED;
    row->t.attempt = attempt;
    row->t.cost += event->u.requeued.cost;
    while (!event->u.requeued.attempt_counts && row->n_measurements > 0 &&
           row->measurements[row->n_measurements - 1].attempt > attempt)
        row->n_measurements--; /* the attempt that does not count has measured it */
    return end_open_attempts(row, event->time, event->u.requeued.outcome, err);
}

store_status memory_trial_tell(store *base, int64_t number, int64_t seq, int32_t attempt,
                               const store_event *event, store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.told.trial);
    row->t.state = event->u.told.state;
    row->t.attempt = attempt;
    row->t.has_value = event->u.told.has_value;
    row->t.value = event->u.told.has_value ? event->u.told.value : 0.0;
    row->t.told_at = event->time;
    row->t.told_seq = seq;
    row->t.repeats = event->u.told.repeats;
    row->t.cost += event->u.told.cost;
    if (!memory_set_text(&row->t.reason, event->u.told.reason) ||
        !memory_set_text(&row->t.recorded, event->u.told.recorded) ||
        !memory_set_text(&row->t.metadata, event->u.told.metadata))
        return memory_exhausted(err);
    const char *outcome = trial_state_name(event->u.told.state);
    if (event->u.told.attempt == 0)
        return end_open_attempts(row, event->time, outcome, err);
    size_t last = row->n_attempts;
    while (last > 0 && row->attempts[last - 1].attempt != attempt)
        last--;
    if (last > 0) {
        store_status status = end_attempt(&row->attempts[last - 1], event->time, outcome, err);
        if (status)
            return status;
    }
    return end_open_attempts(row, event->time, "superseded", err);
}

store_status memory_late_result_insert(store *base, int64_t number, int64_t seq, const store_event *event,
                                       store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_late_result *late = memory_with_room(study->late, study->n_late, sizeof *late);
    if (!late)
        return memory_exhausted(err);
    study->late = late;
    store_late_result *row = &late[study->n_late++];
    *row = (store_late_result){.trial = event->u.late.trial,
                               .candidate = find_trial(base, number, event->u.late.trial)->t.candidate,
                               .attempt = event->u.late.attempt,
                               .value = event->u.late.value,
                               .repeats = event->u.late.repeats,
                               .cost = event->u.late.cost,
                               .recorded = strdup(event->u.late.recorded),
                               .metadata = strdup(event->u.late.metadata),
                               .told_at = event->time,
                               .told_seq = seq};
    return row->recorded && row->metadata ? STORE_OK : memory_exhausted(err);
}

bool memory_keep_amendment(memory_study *study, const store_amendment *amendment)
{
    store_amendment *amendments =
        memory_with_room(study->amendments, study->n_amendments, sizeof *amendments);
    if (!amendments)
        return false;
    study->amendments = amendments;
    store_amendment *row = &amendments[study->n_amendments++];
    *row = *amendment;
    row->reason = strdup(amendment->reason);
    row->recorded = strdup(amendment->recorded);
    row->was_reason = strdup(amendment->was_reason);
    return row->reason && row->recorded && row->was_reason;
}

store_status memory_trial_amend(store *base, int64_t number, int64_t seq, const store_event *event,
                                store_error *err)
{
    memory_study *study = memory_find(memory_of(base), number);
    store_trial *t = &find_trial(base, number, event->u.amended.trial)->t;
    bool has_value = event->u.amended.has_value;
    const store_amendment kept = {.trial = t->trial,
                                  .seq = seq,
                                  .amended_at = event->time,
                                  .reason = event->u.amended.reason,
                                  .was = t->state,
                                  .had_value = t->has_value,
                                  .value = t->value,
                                  .repeats = t->repeats,
                                  .recorded = t->recorded,
                                  .was_reason = t->reason};
    if (!memory_keep_amendment(study, &kept))
        return memory_exhausted(err);
    t->state = event->u.amended.state;
    t->has_value = has_value;
    t->value = has_value ? event->u.amended.value : 0.0;
    if (event->u.amended.repeats > 0)
        t->repeats = event->u.amended.repeats;
    else if (!has_value)
        t->repeats = 1;
    bool set = memory_set_text(&t->recorded, event->u.amended.recorded) &&
               memory_set_text(&t->reason, has_value ? "" : event->u.amended.reason);
    return set ? STORE_OK : memory_exhausted(err);
}

static bool is_before(const store_measurement *m, int32_t attempt, int64_t step)
{
    return m->attempt < attempt || (m->attempt == attempt && m->step < step);
}

store_status memory_measurement_put(store *base, int64_t number, const store_event *event, store_error *err)
{
    memory_trial *row = find_trial(base, number, event->u.measured.trial);
    int32_t attempt = event->u.measured.attempt;
    int64_t step = event->u.measured.step;
    store_measurement *list = memory_with_room(row->measurements, row->n_measurements, sizeof *list);
    if (!list)
        return memory_exhausted(err);
    row->measurements = list;
    size_t i = row->n_measurements;
    while (i > 0 && !is_before(&list[i - 1], attempt, step))
        i--;
    if (i == row->n_measurements || list[i].attempt != attempt || list[i].step != step) {
        memmove(list + i + 1, list + i, (row->n_measurements - i) * sizeof *list);
        row->n_measurements++;
    }
    list[i] = (store_measurement){.trial = row->t.trial,
                                  .attempt = attempt,
                                  .step = step,
                                  .value = event->u.measured.value,
                                  .time = event->time};
    return STORE_OK;
}
