/* The trials of a study that are open or not yet part of a stored model: where they are, and how they move.
 */
#include "server/study_internal.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

const char study_lease_expired[] = "the lease ran out";

/* ---- the open trials ------------------------------------------------------------------------------- */

static int compare_trials(const void *a, const void *b)
{
    int64_t x = ((const trial *)a)->id, y = ((const trial *)b)->id;
    return (x > y) - (x < y);
}

trial *study_find_trial(const study *s, int64_t id)
{
    trial key = {.id = id};
    trial **found = tfind(&key, &s->by_id, compare_trials);
    return found ? *found : NULL;
}

void study_free_trial(void *t)
{
    free(((trial *)t)->worker);
    free(((trial *)t)->reason);
    free(t);
}

trial *study_trial_of_row(const store_trial *row)
{
    trial *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (trial){.id = row->trial,
                 .state = row->state,
                 .attempt = row->attempt,
                 .batch = row->batch,
                 .candidate = (uint32_t)row->candidate,
                 .variance = row->variance,
                 .issued_at = row->issued_at,
                 .lease_expires_at = row->lease_expires_at,
                 .has_value = row->has_value,
                 .value = row->value,
                 .told_at = row->told_at};
    if (study_set_text(&t->worker, row->worker) && study_set_text(&t->reason, row->reason))
        return t;
    study_free_trial(t);
    return NULL;
}

static struct trial_list *list_of(study *s, const trial *t)
{
    if (t->joined_by)
        return &s->joined;
    if (t->state == TRIAL_QUEUED)
        return &s->queued;
    return t->state == TRIAL_PENDING ? &s->pending : &s->told;
}

static void leave_list(study *s, trial *t)
{
    TAILQ_REMOVE(list_of(s, t), t, link);
    if (t->state == TRIAL_QUEUED || t->state == TRIAL_PENDING)
        s->n_open--;
}

/* Puts a trial in the list of its state, at the head or at the tail. */
static void enter_list(study *s, trial *t, bool at_head)
{
    struct trial_list *list = list_of(s, t);
    if (at_head)
        TAILQ_INSERT_HEAD(list, t, link);
    else
        TAILQ_INSERT_TAIL(list, t, link);
    if (t->state == TRIAL_QUEUED || t->state == TRIAL_PENDING)
        s->n_open++;
    if (t->state == TRIAL_PENDING && t->lease_expires_at < s->next_expiry)
        s->next_expiry = t->lease_expires_at;
}

bool study_add_trial(study *s, trial *t)
{
    if (!tsearch(t, &s->by_id, compare_trials)) {
        study_free_trial(t);
        return false;
    }
    enter_list(s, t, false);
    return true;
}

void study_drop_trial(study *s, trial *t)
{
    leave_list(s, t);
    tdelete(t, &s->by_id, compare_trials);
    study_free_trial(t);
}

void study_drop_trials(study *s)
{
    tdestroy(s->by_id, study_free_trial);
    s->by_id = NULL;
    TAILQ_INIT(&s->queued);
    TAILQ_INIT(&s->pending);
    TAILQ_INIT(&s->told);
    TAILQ_INIT(&s->joined);
    s->n_open = 0;
    s->next_expiry = INT64_MAX;
}

bool study_set_text(char **field, const char *text)
{
    char *copy = strdup(text ? text : "");
    if (copy) {
        free(*field);
        *field = copy;
    }
    return copy != NULL;
}

/* ---- how they move --------------------------------------------------------------------------------- */

bool study_issue(study *s, trial *t, const wire_ask *ask, int64_t now)
{
    double lease = ask->lease_seconds.given ? ask->lease_seconds.value : s->config->wire->lease_seconds.value;
    bool renewed = t->state == TRIAL_PENDING;
    if (!renewed && !study_set_text(&t->worker, ask->worker))
        return false;
    leave_list(s, t);
    t->state = TRIAL_PENDING;
    t->lease_expires_at = now + (int64_t)(lease * 1000);
    if (!renewed) {
        t->attempt++;
        t->issued_at = now;
    }
    enter_list(s, t, false);
    store_event event = {.type = renewed ? EVENT_TRIAL_RENEWED : EVENT_TRIAL_ISSUED, .time = now};
    event.u.issued.trial = t->id;
    event.u.issued.attempt = t->attempt;
    event.u.issued.worker = t->worker;
    event.u.issued.lease_expires_at = t->lease_expires_at;
    study_record(s, &event);
    return true;
}

static bool is_better(const study *s, double value)
{
    if (s->best_trial == 0)
        return true;
    return s->config->minimize ? value < s->best_value : value > s->best_value;
}

void study_close_trial(study *s, trial *t, trial_state state, bool has_value, double value,
                       const char *reason, int32_t attempt, int64_t now)
{
    bool better = has_value && is_better(s, value);
    s->exhausted = false;
    leave_list(s, t);
    t->state = state;
    t->has_value = has_value;
    t->value = value;
    t->told_at = now;
    t->joining = false;
    t->joined_by = 0;
    study_set_text(&t->reason,
                   reason); /* the store's row is what is shown; this copy only judges later results */
    enter_list(s, t, false);
    if (better) {
        s->best_trial = t->id;
        s->best_value = value;
    }
    store_event event = {.type = EVENT_TRIAL_TOLD, .time = now};
    event.u.told.trial = t->id;
    event.u.told.attempt = attempt;
    event.u.told.state = state;
    event.u.told.has_value = has_value;
    event.u.told.value = value;
    event.u.told.better = better;
    event.u.told.reason = reason ? reason : "";
    study_record(s, &event);
}

void study_requeue(study *s, trial *t, const char *outcome, bool counts, bool at_head, int64_t now)
{
    leave_list(s, t);
    t->state = TRIAL_QUEUED;
    if (!counts)
        t->attempt--;
    enter_list(s, t, at_head);
    store_event event = {.type = EVENT_TRIAL_REQUEUED, .time = now};
    event.u.requeued.trial = t->id;
    event.u.requeued.outcome = outcome;
    event.u.requeued.attempt_counts = counts;
    study_record(s, &event);
}

void study_expire_leases(study *s, int64_t now)
{
    if (now < s->next_expiry)
        return;
    trial *t, *next;
    s->next_expiry = INT64_MAX;
    for (t = TAILQ_FIRST(&s->pending); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (t->lease_expires_at > now) {
            if (t->lease_expires_at < s->next_expiry)
                s->next_expiry = t->lease_expires_at;
        } else if (t->attempt >= s->config->wire->max_attempts.value) {
            study_close_trial(s, t, TRIAL_FAILED, false, 0, study_lease_expired, t->attempt, now);
        } else {
            study_requeue(s, t, "expired", true, false, now);
            /* Handed out again first, oldest first: behind those that ran out before, ahead of new ones. */
            TAILQ_REMOVE(&s->queued, t, link);
            trial *place;
            TAILQ_FOREACH (place, &s->queued, link)
                if (place->attempt == 0 || place->id > t->id)
                    break;
            if (place)
                TAILQ_INSERT_BEFORE(place, t, link);
            else
                TAILQ_INSERT_TAIL(&s->queued, t, link);
        }
    }
}

/* Trials whose results are part of a stored model need no memory any more. */
void study_sweep_joined(study *s)
{
    uint64_t committed = atomic_load(&s->committed);
    trial *t, *next;
    for (t = TAILQ_FIRST(&s->joined); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (t->joined_by <= committed)
            study_drop_trial(s, t);
    }
}
