/* Asking and telling: the trials of a study, who holds them, and who waits for one. */
#include "server/clock.h"
#include "server/log.h"
#include "server/study_internal.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* How long an ask that does not wait is held while a batch is being planned. */
enum { PLANNING_GRACE_MS = 10000 };

/* What a lease that ran out too often leaves as the reason; such a trial stays open to a late result. */
static const char lease_expired[] = "the lease ran out";

/* ---- the open trials -------------------------------------------------------------------------------------
 */

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

static void free_trial(void *t)
{
    free(((trial *)t)->worker);
    free(((trial *)t)->reason);
    free(t);
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
        free_trial(t);
        return false;
    }
    enter_list(s, t, false);
    return true;
}

void study_drop_trial(study *s, trial *t)
{
    leave_list(s, t);
    tdelete(t, &s->by_id, compare_trials);
    free_trial(t);
}

void study_drop_trials(study *s)
{
    tdestroy(s->by_id, free_trial);
    s->by_id = NULL;
    TAILQ_INIT(&s->queued);
    TAILQ_INIT(&s->pending);
    TAILQ_INIT(&s->told);
    TAILQ_INIT(&s->joined);
    s->n_open = 0;
    s->next_expiry = INT64_MAX;
}

static bool set_text(char **field, const char *text)
{
    char *copy = strdup(text ? text : "");
    if (copy) {
        free(*field);
        *field = copy;
    }
    return copy != NULL;
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static int64_t horizon(const study *s)
{
    return s->config->wire->horizon.given ? s->config->wire->horizon.value : INT64_MAX;
}

static bool may_plan(const study *s)
{
    return s->state == STUDY_ACTIVE && !s->planning && s->trials < horizon(s) && TAILQ_EMPTY(&s->queued) &&
           !atomic_load(&s->app->stopping);
}

/* ---- who is at work ---------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void keep_name(void *name)
{
    (void)name;
}

/* Adds a name to the set; true when it is new. */
static bool is_new_name(void **names, const char *name)
{
    return !tfind(name, names, compare_names) && tsearch(name, names, compare_names);
}

/* How many trials there would be out if nobody were idle: the names that hold or wait for a trial, and what
 * is held or asked for without a name. */
static size_t wanted_in_flight(const study *s)
{
    const wire_study *definition = s->config->wire;
    size_t n = 0;
    void *names = NULL;
    trial *t;
    waiting_ask *w;
    if (definition->min_in_flight.given)
        return (size_t)definition->min_in_flight.value;
    TAILQ_FOREACH(t, &s->pending, link)
    n += !*t->worker || is_new_name(&names, t->worker);
    TAILQ_FOREACH(w, &s->waiting, link)
    n += !w->ask->worker ? (size_t)w->ask->count : is_new_name(&names, w->ask->worker);
    tdestroy(names, keep_name);
    return n;
}

/* Asynchronous feedback: asks are waiting and nothing is queued. A new batch if results have come in,
 * otherwise more of the one in force, so that no worker idles. */
static void plan_for_waiting(study *s)
{
    size_t wanted = wanted_in_flight(s), asked = 0;
    waiting_ask *w;
    TAILQ_FOREACH(w, &s->waiting, link)
    asked += (size_t)w->ask->count;
    size_t beyond = wanted > s->n_open ? wanted - s->n_open : 0;
    if (beyond > asked)
        beyond = asked;
    if (s->batches == 0 || !TAILQ_EMPTY(&s->told))
        study_start_planning(s, beyond);
    else if (beyond > 0)
        study_extend_batch(s, beyond);
}

/* Why fewer trials than wanted are answered. */
static const char *shortage(const study *s)
{
    if (s->state == STUDY_PAUSED)
        return "paused";
    if (s->state == STUDY_FINISHED)
        return "finished";
    if (s->planning)
        return "computing";
    return s->trials >= horizon(s) ? "horizon_reached" : "awaiting_feedback";
}

static bool issue(study *s, trial *t, const wire_ask *ask, int64_t now)
{
    double lease = ask->lease_seconds.given ? ask->lease_seconds.value : s->config->wire->lease_seconds.value;
    bool renewed = t->state == TRIAL_PENDING;
    if (!renewed && !set_text(&t->worker, ask->worker))
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

/* Answers with these trials. */
static void answer_ask(study *s, http_request *request, trial **trials, size_t n, const char *reason)
{
    size_t d = (size_t)s->dimension;
    wire_trial *shown = calloc(n ? n : 1, sizeof *shown);
    double *points = calloc(n ? n * d : 1, sizeof *points);
    store_error error = {0};
    store_status status = shown && points ? STORE_OK : STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < n; i++) {
        trial *t = trials[i];
        shown[i] = (wire_trial){.id = t->id,
                                .state = trial_state_name(t->state),
                                .batch = t->batch,
                                .attempt = t->attempt,
                                .candidate = t->candidate,
                                .point = points + i * d,
                                .dimension = d,
                                .worker = t->worker,
                                .lease_expires_at = t->lease_expires_at};
        status = store_read_candidates(s->app->store, s->number, t->candidate, 1, points + i * d, &error);
    }
    if (status == STORE_OK) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_ask_answer(&w, shown, n, reason);
        if (reason)
            request->answer.retry_after = strcmp(reason, "finished") == 0 ? 60 : 1;
        http_answer_json(request, 200, &w);
    } else {
        http_answer_store_problem(request, status);
    }
    free(shown);
    free(points);
}

enum { ASK_MAXIMUM = 1000 };

/* Trials that this worker holds already: a restarted worker gets them back. */
static size_t own_trials(study *s, const wire_ask *ask, trial **out)
{
    size_t n = 0;
    trial *t;
    if (!ask->worker || ask->fresh)
        return 0;
    TAILQ_FOREACH(t, &s->pending, link)
    if (n < (size_t)ask->count && strcmp(t->worker, ask->worker) == 0)
        out[n++] = t;
    return n;
}

/* Serves one ask with its own n trials and what can be handed out now; false when that is nothing. */
static bool serve(study *s, http_request *request, const wire_ask *ask, trial **trials, size_t n, int64_t now)
{
    size_t wanted = (size_t)ask->count;
    for (size_t i = 0; i < n; i++)
        issue(s, trials[i], ask, now);
    while (n < wanted && s->state == STUDY_ACTIVE && !TAILQ_EMPTY(&s->queued)) {
        trial *t = TAILQ_FIRST(&s->queued);
        if (!issue(s, t, ask, now))
            break;
        trials[n++] = t;
    }
    if (n == 0)
        return false;
    study_hold(s, request);
    answer_ask(s, request, trials, n, n < wanted ? shortage(s) : NULL);
    return true;
}

void study_ask(study *s, http_request *request)
{
    const wire_ask *ask = request->context;
    int64_t now = clock_now();
    if (s->state == STUDY_AWAITING_CANDIDATES) {
        http_answer_problem(request, 409, NULL, "the study has no candidates yet: upload them first");
        return;
    }
    if (s->state == STUDY_ERROR) {
        http_answer_problem(request, 409, NULL, "the study has stopped: %s", s->state_reason);
        return;
    }
    trial *own[ASK_MAXIMUM];
    assert(ask->count <= ASK_MAXIMUM);
    size_t n = own_trials(s, ask, own);
    if (n > 0) {
        serve(s, request, ask, own, n, now);
        return;
    }
    waiting_ask *w = malloc(sizeof *w);
    if (!w) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    int64_t wait = (int64_t)(ask->wait_seconds * 1000);
    *w = (waiting_ask){.request = request,
                       .ask = ask,
                       .deadline = now + wait,
                       .planning_deadline = now + (wait > PLANNING_GRACE_MS ? wait : PLANNING_GRACE_MS)};
    TAILQ_INSERT_TAIL(&s->waiting, w, link); /* served at the end of the turn, in order */
}

static void stop_waiting(study *s, waiting_ask *w)
{
    TAILQ_REMOVE(&s->waiting, w, link);
    free(w);
}

void study_answer_waiting(study *s, const char *reason)
{
    for (waiting_ask *w; (w = TAILQ_FIRST(&s->waiting));) {
        http_request *request = w->request;
        stop_waiting(s, w);
        if (reason) {
            study_hold(s, request);
            answer_ask(s, request, NULL, 0, reason);
        } else {
            http_answer_problem(request, s->deleted ? 404 : 503, NULL, "the study is %s",
                                s->deleted ? "deleted" : "not available now");
        }
    }
}

static void serve_waiting(study *s, int64_t now)
{
    waiting_ask *w, *next;
    if (s->state == STUDY_ERROR && !TAILQ_EMPTY(&s->waiting)) {
        while ((w = TAILQ_FIRST(&s->waiting))) {
            http_request *request = w->request;
            stop_waiting(s, w);
            http_answer_problem(request, 409, NULL, "the study has stopped: %s", s->state_reason);
        }
    }
    for (w = TAILQ_FIRST(&s->waiting); w; w = next) {
        next = TAILQ_NEXT(w, link);
        trial *trials[ASK_MAXIMUM];
        if (serve(s, w->request, w->ask, trials, 0, now)) {
            stop_waiting(s, w);
            continue;
        }
        if (may_plan(s) && s->config->asynchronous)
            plan_for_waiting(s);
        else if (may_plan(s) && s->n_open == 0)
            study_start_planning(s, 0);
        bool over = now >= w->deadline && (!s->planning || now >= w->planning_deadline);
        bool no_hope = s->state == STUDY_FINISHED || atomic_load(&s->app->stopping);
        if (over || no_hope) {
            http_request *request = w->request;
            stop_waiting(s, w);
            study_hold(s, request);
            answer_ask(s, request, NULL, 0, shortage(s));
        }
    }
}

/* ---- telling ------------------------------------------------------------------------------------------- */

typedef enum verdict { ACCEPT, DUPLICATE } verdict;

typedef struct telling {
    const wire_tell *tell;
    verdict *verdicts; /* one a result */
    trial **trials;    /* one a result: what it applies to; NULL for duplicates of closed trials */
    wire_errors errors;
    bool invalid; /* at least one 422, not only 409s */
} telling;

static void refuse(telling *t, size_t i, const char *member, bool conflict, const char *detail)
{
    wire_errors_add(&t->errors, log_format("/results/%zu/%s", i, member), "%s", detail);
    if (!conflict)
        t->invalid = true;
}

static trial_state outcome_state(const wire_result *result)
{
    switch (result->outcome) {
    case WIRE_COMPLETED:
        return TRIAL_COMPLETED;
    case WIRE_FAILED:
        return TRIAL_FAILED;
    case WIRE_INFEASIBLE:
        return TRIAL_INFEASIBLE;
    case WIRE_STOPPED:
        return TRIAL_STOPPED;
    case WIRE_RELEASED:
        break;
    }
    return TRIAL_QUEUED;
}

static bool same_value(bool has_a, double a, bool has_b, double b)
{
    return has_a == has_b && (!has_a || a == b);
}

/* A closed trial that only the store knows, brought back for a late result. */
typedef struct reading {
    study *s;
    trial *found;
    bool no_memory;
} reading;

static void read_closed(void *arg, const store_trial *row)
{
    reading *r = arg;
    trial *t = calloc(1, sizeof *t);
    if (t)
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
    if (!t || !set_text(&t->worker, row->worker) || !set_text(&t->reason, row->reason)) {
        if (t)
            free_trial(t);
        r->no_memory = true;
        return;
    }
    /* Part of the stored model, if it had a value: a list that is swept as soon as nothing needs it. */
    t->joined_by = 1;
    if (study_add_trial(r->s, t))
        r->found = t;
    else
        r->no_memory = true;
}

/* The value of the one objective, from "values"; false: refused. */
static bool objective_value(const study *s, telling *t, size_t i, wire_result *result)
{
    const char *name = s->config->wire->metrics[0].name;
    size_t before = t->errors.n;
    bool found = !result->values;
    for (size_t k = 0; k < result->n_values; k++) {
        if (strcmp(result->values[k].name, name) == 0) {
            result->has_value = found = true;
            result->value = result->values[k].value;
        } else {
            refuse(t, i, log_format("values/%s", result->values[k].name), false,
                   "the study declares no such metric");
        }
    }
    if (!found)
        refuse(t, i, log_format("values/%s", name), false, "is the study's objective, and must be there");
    return t->errors.n == before;
}

static bool check_built(telling *t, size_t i, const wire_result *result)
{
    size_t before = t->errors.n;
    if (result->repeats.given)
        refuse(t, i, "repeats", false, "is not built yet");
    if (result->metadata)
        refuse(t, i, "metadata", false, "is not built yet");
    return t->errors.n == before;
}

/* What this result is, given the trial as it stands. */
static void judge_trial(telling *t, size_t i, const wire_result *result, trial *target)
{
    bool open = target->state == TRIAL_QUEUED || target->state == TRIAL_PENDING;
    bool expired = target->state == TRIAL_FAILED && strcmp(target->reason, lease_expired) == 0;
    if (result->attempt.given && (result->attempt.value < 1 || result->attempt.value > target->attempt)) {
        refuse(t, i, "attempt", false, "the trial has had no such attempt");
    } else if (target->state == TRIAL_QUEUED && target->attempt == 0) {
        refuse(t, i, "trial", true, "the trial is queued: nobody holds it");
    } else if (open || expired) {
        bool current = !result->attempt.given || result->attempt.value == target->attempt;
        bool held = target->state == TRIAL_PENDING && current;
        /* What has gone back to the queue already cannot be released again. */
        t->verdicts[i] = result->outcome == WIRE_RELEASED && !held ? DUPLICATE : ACCEPT;
    } else if (outcome_state(result) == target->state &&
               same_value(result->has_value, result->value, target->has_value, target->value)) {
        t->verdicts[i] = DUPLICATE;
    } else {
        refuse(t, i, "trial", true, "the trial has been told otherwise already");
    }
}

/* An earlier result of the same request for the same trial, or SIZE_MAX. */
static size_t earlier_result(const wire_tell *tell, size_t i)
{
    for (size_t k = i; k-- > 0;)
        if (tell->results[k].trial == tell->results[i].trial)
            return k;
    return SIZE_MAX;
}

static store_status judge(study *s, telling *t, size_t i)
{
    wire_result *result = &t->tell->results[i];
    if (result->trial < 1 || result->trial > s->trials) {
        refuse(t, i, "trial", false, "there is no such trial");
        return STORE_OK;
    }
    if (!check_built(t, i, result) || !objective_value(s, t, i, result))
        return STORE_OK;
    size_t k = earlier_result(t->tell, i);
    if (k != SIZE_MAX) {
        const wire_result *earlier = &t->tell->results[k];
        if (outcome_state(earlier) == outcome_state(result) &&
            same_value(earlier->has_value, earlier->value, result->has_value, result->value))
            t->verdicts[i] = DUPLICATE;
        else
            refuse(t, i, "trial", true, "is told twice in this request, differently");
        return STORE_OK;
    }
    trial *target = study_find_trial(s, result->trial);
    if (!target) {
        reading r = {.s = s};
        store_error error = {0};
        store_status status =
            store_read_trial(s->app->store, s->number, result->trial, read_closed, &r, &error);
        if (status == STORE_OK && r.no_memory)
            status = STORE_NO_MEMORY;
        if (status != STORE_OK)
            return status;
        target = r.found;
    }
    t->trials[i] = target;
    judge_trial(t, i, result, target);
    return STORE_OK;
}

static bool is_better(const study *s, double value)
{
    if (s->best_trial == 0)
        return true;
    return s->config->minimize ? value < s->best_value : value > s->best_value;
}

static void close_trial(study *s, trial *t, trial_state state, bool has_value, double value,
                        const char *reason, int32_t attempt, int64_t now)
{
    bool better = has_value && is_better(s, value);
    leave_list(s, t);
    t->state = state;
    t->has_value = has_value;
    t->value = value;
    t->told_at = now;
    t->joining = false;
    t->joined_by = 0;
    set_text(&t->reason, reason); /* the store's row is what is shown; this copy only judges later results */
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

static void requeue(study *s, trial *t, const char *outcome, bool counts, bool at_head, int64_t now)
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

static void apply(study *s, trial *t, const wire_result *result, int64_t now)
{
    int32_t attempt = result->attempt.given ? (int32_t)result->attempt.value : t->attempt;
    if (result->outcome == WIRE_RELEASED)
        requeue(s, t, "released", false, true, now);
    else if (result->outcome == WIRE_FAILED && result->retry && t->state == TRIAL_PENDING &&
             t->attempt < s->config->wire->max_attempts.value)
        requeue(s, t, "failed", true, false, now);
    else
        close_trial(s, t, outcome_state(result), result->has_value, result->value, result->reason, attempt,
                    now);
}

void study_tell(study *s, http_request *request)
{
    telling t = {.tell = request->context};
    store_status status = STORE_OK;
    int64_t counts[2] = {0}, now = clock_now();
    size_t n = t.tell->n;
    t.verdicts = calloc(n, sizeof *t.verdicts);
    t.trials = calloc(n, sizeof(trial *));
    if (!t.verdicts || !t.trials)
        status = STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < n; i++)
        status = judge(s, &t, i);
    if (status != STORE_OK) {
        http_answer_store_problem(request, status);
    } else if (t.errors.n > 0) {
        http_answer_problem(request, t.invalid ? 422 : 409, &t.errors,
                            "nothing was accepted: the results at fault are listed in errors");
    } else {
        for (size_t i = 0; i < n; i++) {
            counts[t.verdicts[i]]++;
            if (t.verdicts[i] != DUPLICATE)
                apply(s, t.trials[i], &t.tell->results[i], now);
        }
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_tell_answer(&w, counts[ACCEPT], counts[DUPLICATE], 0);
        study_hold(s, request);
        http_answer_json(request, 200, &w);
    }
    wire_errors_clear(&t.errors);
    free(t.verdicts);
    free(t.trials);
}

/* ---- what time brings ---------------------------------------------------------------------------------- */

static void expire_leases(study *s, int64_t now)
{
    if (now < s->next_expiry)
        return;
    trial *t, *next;
    struct trial_list expired = TAILQ_HEAD_INITIALIZER(expired);
    s->next_expiry = INT64_MAX;
    for (t = TAILQ_FIRST(&s->pending); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (t->lease_expires_at > now) {
            if (t->lease_expires_at < s->next_expiry)
                s->next_expiry = t->lease_expires_at;
        } else if (t->attempt >= s->config->wire->max_attempts.value) {
            close_trial(s, t, TRIAL_FAILED, false, 0, lease_expired, t->attempt, now);
        } else {
            requeue(s, t, "expired", true, false, now);
            /* Handed out again first, oldest first: behind those that ran out before, ahead of new ones. */
            TAILQ_REMOVE(&s->queued, t, link);
            trial *place;
            TAILQ_FOREACH(place, &s->queued, link)
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
static void sweep_joined(study *s)
{
    uint64_t committed = atomic_load(&s->committed);
    trial *t, *next;
    for (t = TAILQ_FIRST(&s->joined); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (t->joined_by <= committed)
            study_drop_trial(s, t);
    }
}

static int64_t next_wake(const study *s)
{
    int64_t at = s->next_expiry;
    waiting_ask *w;
    TAILQ_FOREACH(w, &s->waiting, link)
    {
        int64_t deadline = s->planning ? w->planning_deadline : w->deadline;
        if (deadline < at)
            at = deadline;
    }
    return at;
}

void study_set_state(study *s, study_state state, const char *reason, const char *definition)
{
    s->state = state;
    strncpy(s->state_reason, reason, sizeof s->state_reason - 1);
    store_event event = {.type = EVENT_STUDY_CHANGED, .time = clock_now()};
    event.u.changed.definition = definition;
    event.u.changed.state = state;
    event.u.changed.reason = reason;
    study_record(s, &event);
    log_event(LOG_INFO, "study_state", "study", s->id, "state", study_state_name(state), "reason",
              *reason ? reason : NULL, NULL);
}

void study_after_turn(study *s)
{
    int64_t now = clock_now();
    expire_leases(s, now);
    if (s->state == STUDY_ACTIVE && s->n_open == 0 && s->trials >= horizon(s))
        study_set_state(s, STUDY_FINISHED, "", NULL);
    if (s->batches > 0 && may_plan(s) && s->n_open == 0 && !s->config->asynchronous)
        study_start_planning(s, 0); /* so that the next ask finds the batch ready */
    serve_waiting(s, now);
    sweep_joined(s);
    atomic_store(&s->wake_at, next_wake(s));
}
