#include "server/study/trials.h"

#include "server/base/clock.h"
#include "server/data/modelled.h"
#include "server/study/failures.h"
#include "server/study/imported_best.h"
#include "server/study/known_front.h"
#include "server/study/lease.h"
#include "server/study/measure.h"
#include "server/study/news.h"
#include "server/watch/metrics.h"

#include <stdlib.h>
#include <string.h>

const char study_lease_expired[] = "the lease ran out";

trial *study_queue_trial(study *s, int64_t id, int64_t batch, const bandit_pick *pick, const double *point)
{
    store_trial row = {.trial = id,
                       .state = TRIAL_QUEUED,
                       .batch = batch,
                       .candidate = pick->arm,
                       .variance = pick->variance,
                       .worker = "",
                       .reason = "",
                       .recorded = "",
                       .metadata = ""};
    trial *t = trial_of_row(&row);
    if (t && point && !trial_set_point(t, point, (size_t)s->dimension)) {
        trial_free(t);
        return NULL;
    }
    return t && trial_queue_add(s->queue, t) ? t : NULL;
}

/* ---- transitions --------------------------------------------------------------------------------------- */

bool study_issue(study *s, trial *t, const wire_ask *ask, int64_t now)
{
    double lease = ask->lease_seconds.given ? ask->lease_seconds.value : s->config->wire->lease_seconds.value;
    bool renewed = t->state == TRIAL_PENDING;
    if (!renewed && !trial_queue_set_worker(s->queue, t, ask->worker))
        return false;
    trial_queue_take(s->queue, t);
    t->state = TRIAL_PENDING;
    lease_begin(t, now, lease);
    if (!renewed) {
        t->attempt++;
        t->issued_at = now;
    }
    trial_queue_put(s->queue, t);
    store_event event = {.type = renewed ? EVENT_TRIAL_RENEWED : EVENT_TRIAL_ISSUED, .time = now};
    event.u.issued.trial = t->id;
    event.u.issued.attempt = t->attempt;
    event.u.issued.worker = t->worker;
    event.u.issued.lease_expires_at = t->lease_expires_at;
    commit_record(s->commit, &event);
    return true;
}

bool study_can_be_best(const study *s, double value, const char *recorded)
{
    double values[WIRE_MAX_MODELLED];
    if (!s->config->several)
        return true;
    return s->config->n_objectives == 1 && modelled_values(s->config, value, recorded, values) &&
           modelled_is_feasible(s->config, values);
}

bool study_is_better(const study *s, double value, const char *recorded)
{
    if (!study_can_be_best(s, value, recorded))
        return false;
    if (s->best_trial == 0)
        return true;
    return s->config->minimize ? value < s->best_value : value > s->best_value;
}

void study_close_trial(study *s, trial *t, const told_result *result, int32_t attempt, int64_t now)
{
    bool better = result->has_value && study_is_better(s, result->value, result->recorded);
    bool outdone = better && study_is_outdone(s, result->value);
    bool front = result->has_value && study_enters_front(s, result->value, result->recorded);
    plan_state_set_exhausted(s->plans, false);
    trial_queue_take(s->queue, t);
    t->state = result->state;
    if (attempt > 0)
        t->attempt = attempt;
    t->has_value = result->has_value;
    t->value = result->value;
    t->repeats = result->repeats;
    t->told_at = now;
    t->told_seq = commit_next_seq(s->commit);
    t->told_cost = result->cost;
    t->joining = false;
    t->joined_by = 0;
    if (!text_replace(&t->reason, result->reason) || !text_replace(&t->recorded, result->recorded) ||
        !text_replace(&t->metadata, result->metadata))
        commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
    trial_queue_put(s->queue, t);
    study_note_progress(s, t);
    if (better) {
        s->best_trial = t->id;
        s->best_value = result->value;
    }
    store_event event = {.type = EVENT_TRIAL_TOLD, .time = now};
    event.u.told.trial = t->id;
    event.u.told.attempt = attempt;
    event.u.told.state = result->state;
    event.u.told.has_value = result->has_value;
    event.u.told.value = result->value;
    event.u.told.better = better;
    event.u.told.outdone = outdone;
    event.u.told.front = front;
    event.u.told.reason = result->reason ? result->reason : "";
    event.u.told.repeats = result->repeats;
    event.u.told.recorded = result->recorded;
    event.u.told.metadata = result->metadata;
    event.u.told.cost = result->cost;
    s->cost += result->cost;
    commit_record(s->commit, &event);
    study_tell_result(s, t, better && !outdone);
}

/* ---- queued trials that are not handed out any more ---------------------------------------------------- */

static const char retired[] = "the candidate was retired";

static void cancel(study *s, trial *t, const char *reason, int64_t now)
{
    told_result cancelled = {.state = TRIAL_STOPPED, .repeats = 1, .reason = reason};
    study_close_trial(s, t, &cancelled, 0, now);
}

size_t study_cancel_retired(study *s)
{
    size_t n = 0;
    int64_t now = clock_now();
    trial *t, *next;
    for (t = trial_queue_first(s->queue, TRIALS_QUEUED); t; t = next) {
        next = trial_queue_next(t);
        if (!study_is_retired(s, t->candidate))
            continue;
        cancel(s, t, retired, now);
        n++;
    }
    return n;
}

void study_cancel_barred(study *s, suspects *all)
{
    trial *t, *next;
    int64_t now = clock_now();
    if (all->no_memory)
        commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
    if (all->n > 0 && !trial_queue_is_empty(s->queue, TRIALS_QUEUED)) {
        study_suspects_gather(s, all);
        for (t = trial_queue_first(s->queue, TRIALS_QUEUED); t; t = next) {
            next = trial_queue_next(t);
            const char *bar = study_bar(s, all, t);
            if (bar)
                cancel(s, t, bar, now);
        }
    }
    free(all->list);
    *all = (suspects){0};
}

void study_cancel_all_barred(study *s)
{
    size_t n;
    suspects all = {0};
    for (trial *t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t))
        if (!t->joining)
            study_suspects_add(s, &all, t->candidate, t->state);
    for (trial *t = trial_queue_first(s->queue, TRIALS_JOINED); t; t = trial_queue_next(t))
        if (t->state == TRIAL_INFEASIBLE) /* perhaps by an amendment during the plan */
            study_suspects_add(s, &all, t->candidate, t->state);
    const store_imported *imported = pending_results_observations(s->results, &n);
    for (size_t i = 0; i < n; i++)
        study_suspects_add(s, &all, imported[i].candidate, TRIAL_COMPLETED);
    study_cancel_barred(s, &all);
}

/* Closes a trial that returned to the queue if it may not be handed out again. */
static void cancel_returned(study *s, trial *t, int64_t now)
{
    candidate_outcomes outcomes = {.candidate = t->candidate};
    suspects one = {.list = &outcomes, .n = 1};
    study_suspects_gather(s, &one);
    const char *reason = study_is_retired(s, t->candidate) ? retired : study_bar(s, &one, t);
    if (reason)
        cancel(s, t, reason, now);
}

/* ---- trials that come back ----------------------------------------------------------------------------- */

void study_requeue(study *s, trial *t, const char *outcome, bool counts, double cost, int64_t now)
{
    trial_queue_take(s->queue, t);
    t->state = TRIAL_QUEUED;
    t->released = !counts;
    t->requeued_at = now;
    if (!counts) {
        study_forget_progress(s, t);
        t->attempt--;
    }
    trial_queue_put(s->queue, t);
    store_event event = {.type = EVENT_TRIAL_REQUEUED, .time = now};
    event.u.requeued.trial = t->id;
    event.u.requeued.outcome = outcome;
    event.u.requeued.attempt_counts = counts;
    event.u.requeued.cost = cost;
    s->cost += cost;
    commit_record(s->commit, &event);
    if (counts)
        study_tell_failure(s);
    cancel_returned(s, t, now);
}

/* The leases of a hundred thousand trials may expire at the same time, and other studies wait for the thread and the
 * writer while trials are requeued. So one turn handles this many, and the next one waits until these are on disk. The
 * timer gives the study its next turn. */
enum { EXPIRIES = 200 };

void study_expire_leases(study *s, int64_t now)
{
    int64_t boot = clock_boot_ms();
    if (trial_queue_next_expiry(s->queue) > boot || s->expiry_write > commit_done(s->commit))
        return;
    s->expiry_write = commit_number(s->commit);
    suspects suspected = {0};
    for (size_t n = 0; n < EXPIRIES && trial_queue_next_expiry(s->queue) <= boot; n++) {
        trial *t = trial_queue_first_lease(s->queue);
        metrics_count_expiry(s->app->metrics);
        study_tell_expiry(s);
        if (t->attempt >= s->config->wire->max_attempts.value) {
            told_result nothing = {.state = TRIAL_FAILED, .repeats = 1, .reason = study_lease_expired};
            study_close_trial(s, t, &nothing, t->attempt, now);
            study_suspects_add(s, &suspected, t->candidate, t->state);
        } else {
            study_requeue(s, t, "expired", true, 0.0, now);
        }
    }
    study_cancel_barred(s, &suspected);
}

/* ---- trials that are only in the store ----------------------------------------------------------------- */

typedef struct recalling {
    study *s;
    trial *found;
    bool no_memory;
} recalling;

static void read_told(void *arg, const store_trial *row)
{
    recalling *r = arg;
    trial *t = trial_of_row(row);
    if (t)
        t->joined_by = 1; /* a model already includes its result, so no batch must add it again */
    if (t && trial_queue_add(r->s->queue, t))
        r->found = t;
    else
        r->no_memory = true;
}

trial *study_recall_trial(study *s, int64_t id, store_status *status)
{
    recalling r = {.s = s, .found = trial_queue_find(s->queue, id)};
    store_error error = {0};
    *status = STORE_OK;
    if (!r.found)
        *status = store_read_trial(s->app->store, s->number, id, read_told, &r, &error);
    if (*status == STORE_OK && r.no_memory)
        *status = STORE_NO_MEMORY;
    return *status == STORE_OK ? r.found : NULL;
}
