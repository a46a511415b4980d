/* The trials of a study that are open or not yet part of a stored model: where they are, and how they move.
 */
#include "server/study/internal.h"
#include "server/watch/metrics.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

const char study_lease_expired[] = "the lease ran out";

/* ---- the open trials ----------------------------------------------------------------------------------- */

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
    free(((trial *)t)->recorded);
    free(((trial *)t)->metadata);
    free(((trial *)t)->point);
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
                 .repeats = row->repeats ? row->repeats : 1,
                 .told_at = row->told_at,
                 .told_seq = row->told_seq};
    if (study_set_text(&t->worker, row->worker) && study_set_text(&t->reason, row->reason) &&
        study_set_text(&t->recorded, row->recorded) && study_set_text(&t->metadata, row->metadata))
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

/* Released, to be handed out again for another reason, a user's own, picked. */
enum { PLACE_OF_RELEASED, PLACE_OF_REISSUED, PLACE_OF_OWN, PLACE_OF_PICKS };

static int place_in_queue(const trial *t)
{
    if (t->requeued_at)
        return t->released ? PLACE_OF_RELEASED : PLACE_OF_REISSUED;
    return t->batch < 0 ? PLACE_OF_OWN : PLACE_OF_PICKS;
}

static bool goes_before(const trial *a, const trial *b)
{
    int x = place_in_queue(a), y = place_in_queue(b);
    if (x != y)
        return x < y;
    if (x != PLACE_OF_RELEASED)
        return a->id < b->id;
    return a->requeued_at > b->requeued_at || (a->requeued_at == b->requeued_at && a->id > b->id);
}

/* The first in the queue that t goes before; NULL: none. */
static trial *first_after(study *s, const trial *t)
{
    for (trial *other = TAILQ_FIRST(&s->queued); other; other = TAILQ_NEXT(other, link)) {
        if (goes_before(t, other))
            return other;
    }
    return NULL;
}

/* The last in the queue that t does not go before; NULL: none. */
static trial *last_before(study *s, const trial *t)
{
    for (trial *other = TAILQ_LAST(&s->queued, trial_list); other;
         other = TAILQ_PREV(other, trial_list, link)) {
        if (!goes_before(t, other))
            return other;
    }
    return NULL;
}

/* The same order after a restart, whatever led to it. Picks are numbered as they are queued: from the end
 * they are in their place at once; what goes before them is looked for from the head. */
static void insert_queued(study *s, trial *t)
{
    if (place_in_queue(t) < PLACE_OF_PICKS) {
        trial *after = first_after(s, t);
        if (after)
            TAILQ_INSERT_BEFORE(after, t, link);
        else
            TAILQ_INSERT_TAIL(&s->queued, t, link);
        return;
    }
    trial *before = last_before(s, t);
    if (before)
        TAILQ_INSERT_AFTER(&s->queued, before, t, link);
    else
        TAILQ_INSERT_HEAD(&s->queued, t, link);
}

void study_place_queued(study *s, trial *t)
{
    TAILQ_REMOVE(&s->queued, t, link);
    insert_queued(s, t);
}

/* Puts a trial in the list of its state. */
static void enter_list(study *s, trial *t)
{
    struct trial_list *list = list_of(s, t);
    if (list == &s->queued)
        insert_queued(s, t);
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
    enter_list(s, t);
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

/* A copy. */
static bool set_point(const study *s, trial *t, const double *point)
{
    size_t size = (size_t)s->dimension * sizeof *point;
    t->point = malloc(size);
    if (t->point)
        memcpy(t->point, point, size);
    return t->point != NULL;
}

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
    trial *t = study_trial_of_row(&row);
    if (t && point && !set_point(s, t, point)) {
        study_free_trial(t);
        return NULL;
    }
    return t && study_add_trial(s, t) ? t : NULL;
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

/* ---- how they move ------------------------------------------------------------------------------------- */

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
    enter_list(s, t);
    store_event event = {.type = renewed ? EVENT_TRIAL_RENEWED : EVENT_TRIAL_ISSUED, .time = now};
    event.u.issued.trial = t->id;
    event.u.issued.attempt = t->attempt;
    event.u.issued.worker = t->worker;
    event.u.issued.lease_expires_at = t->lease_expires_at;
    commit_record(s->commit, &event);
    return true;
}

bool study_is_better(const study *s, double value)
{
    if (s->best_trial == 0)
        return true;
    return s->config->minimize ? value < s->best_value : value > s->best_value;
}

void study_close_trial(study *s, trial *t, const told_result *result, int32_t attempt, int64_t now)
{
    bool better = result->has_value && study_is_better(s, result->value);
    s->exhausted = false;
    leave_list(s, t);
    t->state = result->state;
    if (attempt > 0)
        t->attempt = attempt;
    t->has_value = result->has_value;
    t->value = result->value;
    t->repeats = result->repeats;
    t->told_at = now;
    t->told_seq = commit_next_seq(s->commit);
    t->joining = false;
    t->joined_by = 0;
    if (!study_set_text(&t->reason, result->reason) || !study_set_text(&t->recorded, result->recorded) ||
        !study_set_text(&t->metadata, result->metadata))
        commit_fail(s->commit, STORE_NO_MEMORY); /* fails the turn, and the study is loaded again */
    enter_list(s, t);
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
    event.u.told.reason = result->reason ? result->reason : "";
    event.u.told.repeats = result->repeats;
    event.u.told.recorded = result->recorded;
    event.u.told.metadata = result->metadata;
    commit_record(s->commit, &event);
}

void study_cancel_trial(study *s, trial *t, int64_t now)
{
    told_result cancelled = {.state = TRIAL_STOPPED, .repeats = 1, .reason = "the candidate was retired"};
    study_close_trial(s, t, &cancelled, 0, now);
}

void study_requeue(study *s, trial *t, const char *outcome, bool counts, int64_t now)
{
    leave_list(s, t);
    t->state = TRIAL_QUEUED;
    t->released = !counts;
    t->requeued_at = now;
    if (!counts) {
        study_forget_progress(s, t);
        t->attempt--;
    }
    enter_list(s, t);
    store_event event = {.type = EVENT_TRIAL_REQUEUED, .time = now};
    event.u.requeued.trial = t->id;
    event.u.requeued.outcome = outcome;
    event.u.requeued.attempt_counts = counts;
    commit_record(s->commit, &event);
    if (study_is_retired(s, t->candidate))
        study_cancel_trial(s, t, now);
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
            continue;
        }
        metrics_count_expiry(s->app->metrics);
        if (t->attempt >= s->config->wire->max_attempts.value) {
            told_result nothing = {.state = TRIAL_FAILED, .repeats = 1, .reason = study_lease_expired};
            study_close_trial(s, t, &nothing, t->attempt, now);
        } else {
            study_requeue(s, t, "expired", true, now);
        }
    }
}

/* Trials whose results are part of a stored model need no memory any more. */
void study_sweep_joined(study *s)
{
    uint64_t committed = commit_done(s->commit);
    trial *t, *next;
    for (t = TAILQ_FIRST(&s->joined); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (t->joined_by <= committed)
            study_drop_trial(s, t);
    }
}

/* ---- trials that only the store knows ------------------------------------------------------------------ */

typedef struct recalling {
    study *s;
    trial *found;
    bool no_memory;
} recalling;

static void read_told(void *arg, const store_trial *row)
{
    recalling *r = arg;
    trial *t = study_trial_of_row(row);
    if (t)
        t->joined_by = 1; /* not for the next batch: in the list that is swept as soon as nothing needs it */
    if (t && study_add_trial(r->s, t))
        r->found = t;
    else
        r->no_memory = true;
}

trial *study_recall_trial(study *s, int64_t id, store_status *status)
{
    recalling r = {.s = s, .found = study_find_trial(s, id)};
    store_error error = {0};
    *status = STORE_OK;
    if (!r.found)
        *status = store_read_trial(s->app->store, s->number, id, read_told, &r, &error);
    if (*status == STORE_OK && r.no_memory)
        *status = STORE_NO_MEMORY;
    return *status == STORE_OK ? r.found : NULL;
}
