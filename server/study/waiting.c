/* The asks that wait: what is planned for them, when they are served, and when their time is over. */
#include "server/base/clock.h"
#include "server/study/internal.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* How long an ask that does not wait is held while a batch is being planned. */
enum { PLANNING_GRACE_MS = 10000 };

/* How often the client of a waiting ask is looked at. */
enum { CLIENT_CHECK_MS = 2000 };

static bool may_pick(const study *s)
{
    return s->state == STUDY_ACTIVE && !s->planning && s->trials < study_horizon(s) &&
           !commit_is_broken(s->commit) && !atomic_load(&s->app->stopping);
}

bool study_may_plan(const study *s)
{
    return may_pick(s) && !s->exhausted && trial_queue_is_empty(s->queue, TRIALS_QUEUED);
}

/* ---- who is at work ------------------------------------------------------------------------------------ */

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
    for (t = trial_queue_first(s->queue, TRIALS_PENDING); t; t = trial_queue_next(t))
        n += !*t->worker || is_new_name(&names, t->worker);
    TAILQ_FOREACH (w, &s->waiting, link)
        n += w->fixed ? 0 : !w->ask->worker ? (size_t)w->ask->count : is_new_name(&names, w->ask->worker);
    tdestroy(names, keep_name);
    return n;
}

/* Asynchronous feedback: asks are waiting and nothing is queued. A new batch if results have come in,
 * otherwise more of the one in force, so that no worker idles. */
static void plan_for_waiting(study *s)
{
    size_t wanted = wanted_in_flight(s), asked = 0;
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link)
        asked += w->fixed ? 0 : (size_t)w->ask->count;
    size_t beyond = wanted > trial_queue_open(s->queue) ? wanted - trial_queue_open(s->queue) : 0;
    if (beyond > asked)
        beyond = asked;
    if (s->batches == 0 || study_has_news(s))
        study_start_planning(s, beyond);
    else if (beyond > 0 || s->batch_goes_on)
        study_extend_batch(s, beyond);
}

/* ---- the line ------------------------------------------------------------------------------------------ */

/* One more ask that waits, of all studies'. False: there are as many as there may be. */
static bool count_in(app *a)
{
    if (atomic_fetch_add(&a->waiting, 1) < a->config->max_waiting)
        return true;
    atomic_fetch_sub(&a->waiting, 1);
    return false;
}

static void count_out(app *a)
{
    atomic_fetch_sub(&a->waiting, 1);
}

void study_wait(study *s, study_request *request, double *fixed)
{
    const wire_ask *ask = request->context;
    if (!count_in(s->app)) {
        free(fixed);
        reply_problem(request, REPLY_BUSY, NULL, "%zu asks wait already: that is the limit (--max-waiting)",
                      s->app->config->max_waiting);
        return;
    }
    waiting_ask *w = malloc(sizeof *w);
    if (!w) {
        free(fixed);
        count_out(s->app);
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    int64_t wait = (int64_t)(ask->wait_seconds * 1000), start = clock_steady_ms();
    *w = (waiting_ask){.number = ++s->asks,
                       .request = request,
                       .ask = ask,
                       .fixed = fixed,
                       .deadline = start + wait,
                       .planning_deadline = start + (wait > PLANNING_GRACE_MS ? wait : PLANNING_GRACE_MS)};
    request->may_wait = ask->wait_seconds;
    TAILQ_INSERT_TAIL(&s->waiting, w, link); /* served at the end of the turn, in order */
}

/* Takes an ask out of the line; its request is the caller's to answer. */
static study_request *stop_waiting(study *s, waiting_ask *w)
{
    study_request *request = w->request;
    TAILQ_REMOVE(&s->waiting, w, link);
    count_out(s->app);
    free(w->fixed);
    free(w);
    return request;
}

void study_answer_waiting(study *s, const char *reason)
{
    for (waiting_ask *w = TAILQ_FIRST(&s->waiting), *next; w; w = next) {
        next = TAILQ_NEXT(w, link);
        study_request *request = stop_waiting(s, w);
        if (reason) {
            commit_hold(s->commit, request);
            study_answer_ask(s, request, NULL, 0, reason);
        } else {
            reply_problem(request, s->deleted ? REPLY_NOT_FOUND : REPLY_UNAVAILABLE, NULL, "the study is %s",
                          s->deleted ? "deleted" : "not available now");
        }
    }
}

bool study_waits_with_key(const study *s, const study_request *request)
{
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link)
        if (request_repeats(w->request, request))
            return true;
    for (const study_request *r = s->deferred; r; r = r->next)
        if (request_repeats(r, request))
            return true;
    return false;
}

static waiting_ask *find_waiting(study *s, uint64_t number)
{
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link)
        if (w->number == number)
            return w;
    return NULL;
}

void study_begin_fixed(study *s, uint64_t number)
{
    const waiting_ask *w = find_waiting(s, number);
    if (w && w->request->key)
        commit_submit(s->commit); /* its answer has a write of its own */
}

static bool has_gone(waiting_ask *w, int64_t steady)
{
    w->checked_at = steady;
    return w->request->client->is_gone(w->request);
}

/* Answers an ask with no trial, and why. */
static void end_waiting(study *s, waiting_ask *w)
{
    study_request *request = stop_waiting(s, w);
    if (!request->key)                   /* nothing to store: not even under a key */
        commit_hold(s->commit, request); /* but what it says is to be true */
    study_answer_ask(s, request, NULL, 0, study_shortage(s));
}

void study_serve_fixed(study *s, uint64_t number, int64_t first, size_t n)
{
    waiting_ask *w = find_waiting(s, number);
    trial *trials[ASK_MAXIMUM];
    size_t found = 0;
    if (!w || commit_has_failed(s->commit))
        return;
    if (has_gone(w, clock_steady_ms())) {
        end_waiting(s, w);
        return;
    }
    bool keyed = w->request->key != NULL;
    for (size_t i = 0; i < n && i < ASK_MAXIMUM; i++)
        if ((trials[found] = trial_queue_find(s->queue, first + (int64_t)i)))
            found++;
    const wire_ask *wanted = w->ask;
    study_request *request = stop_waiting(s, w);
    if (found > 0)
        study_serve(s, request, wanted, false, trials, found, clock_now());
    else if (s->trials >= study_horizon(s))
        study_answer_ask(s, request, NULL, 0, study_shortage(s));
    else
        reply_problem(request, REPLY_CONFLICT, NULL, "no point with these values is left to be handed out");
    if (keyed)
        commit_submit(s->commit);
}

static void plan_for(study *s, waiting_ask *w)
{
    if (w->fixed && may_pick(s))
        study_plan_fixed(s, w);
    else if (w->fixed)
        ; /* its turn comes */
    else if (study_may_plan(s) && s->config->asynchronous)
        plan_for_waiting(s);
    else if (study_may_plan(s) && trial_queue_open(s->queue) == 0)
        study_start_planning(s, 0);
}

/* Whether a client has gone is looked at when its ask begins to wait, now and then, and before it is handed a
 * trial: then its time is over. What it can be given as it comes it is: it may have ended its sending only.
 */
void study_serve_waiting(study *s, int64_t now)
{
    int64_t steady = clock_steady_ms();
    waiting_ask *w, *next;
    for (w = TAILQ_FIRST(&s->waiting); w; w = next) {
        next = TAILQ_NEXT(w, link);
        if (s->state == STUDY_ERROR) {
            study_request *request = stop_waiting(s, w);
            commit_hold(s->commit, request); /* the state may not be on disk yet */
            reply_problem(request, REPLY_CONFLICT, NULL, "the study has stopped: %s", s->state_reason);
            continue;
        }
        trial *trials[ASK_MAXIMUM];
        bool may_serve =
            s->state == STUDY_ACTIVE && !trial_queue_is_empty(s->queue, TRIALS_QUEUED) && !w->fixed;
        bool comes = w->checked_at == 0;
        bool gone = !comes && (may_serve || steady - w->checked_at >= CLIENT_CHECK_MS) && has_gone(w, steady);
        bool keyed = may_serve && !gone && w->request->key;
        if (keyed)
            commit_submit(s->commit); /* its answer has a write of its own */
        if (may_serve && !gone && study_serve(s, w->request, w->ask, true, trials, 0, now)) {
            stop_waiting(s, w);
            if (keyed)
                commit_submit(s->commit);
            continue;
        }
        if (!gone)
            plan_for(s, w);
        bool computing = s->planning || s->delayed;
        bool over = steady >= w->deadline && (!computing || steady >= w->planning_deadline);
        bool no_hope = s->state == STUDY_FINISHED || atomic_load(&s->app->stopping);
        if (over || no_hope || gone || (comes && has_gone(w, steady)))
            end_waiting(s, w);
    }
}

int64_t study_next_wake(const study *s)
{
    int64_t at = s->delayed ? 0 : INT64_MAX;
    waiting_ask *w;
    TAILQ_FOREACH (w, &s->waiting, link) {
        int64_t deadline = s->planning || s->delayed ? w->planning_deadline : w->deadline;
        if (deadline < at)
            at = deadline;
        if (w->checked_at + CLIENT_CHECK_MS < at)
            at = w->checked_at + CLIENT_CHECK_MS;
    }
    return at;
}
