/* The asks that wait: what is planned for them, when they are served, and when their time is over. */
#include "server/study/waiting.h"

#include "server/base/clock.h"
#include "server/study/ask.h"
#include "server/study/observations.h"
#include "server/study/plan.h"
#include "server/study/turn_end.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static bool may_pick(const study *s)
{
    return s->state == STUDY_ACTIVE && !plan_state_is_busy(s->plans) && s->trials < study_horizon(s) &&
           !commit_is_broken(s->commit) && !atomic_load(&s->app->stopping);
}

bool study_may_plan(const study *s)
{
    return may_pick(s) && !plan_state_is_exhausted(s->plans) && trial_queue_is_empty(s->queue, TRIALS_QUEUED);
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

/* Adds a name to the set. True: it is new. */
static bool is_new_name(void **names, const char *name)
{
    return !tfind(name, names, compare_names) && tsearch(name, names, compare_names);
}

/* How many trials should be in flight so that no worker is idle: one for each worker that has a trial or waits for
 * one, and those that are pending or asked for without a worker's name. */
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
    for (w = waiting_line_first(s->waiting); w; w = waiting_line_next(w))
        n += w->fixed ? 0 : !w->ask->worker ? (size_t)w->ask->count : is_new_name(&names, w->ask->worker);
    tdestroy(names, keep_name);
    return n;
}

/* Asynchronous feedback, while asks wait and nothing is queued: plans a new batch if there are new results, and
 * otherwise more picks for the current batch, so that no worker is idle. */
static void plan_for_waiting(study *s)
{
    size_t wanted = wanted_in_flight(s), asked = 0;
    waiting_ask *w;
    for (w = waiting_line_first(s->waiting); w; w = waiting_line_next(w))
        asked += w->fixed ? 0 : (size_t)w->ask->count;
    size_t min_picks = wanted > trial_queue_open(s->queue) ? wanted - trial_queue_open(s->queue) : 0;
    if (min_picks > asked)
        min_picks = asked;
    if (s->batches == 0 || study_has_news(s))
        study_plan_batch(s, min_picks);
    else if (min_picks > 0 || plan_state_continues(s->plans))
        study_extend_batch(s, min_picks);
}

/* ---- serving ------------------------------------------------------------------------------------------- */

void study_answer_waiting(study *s, const char *reason)
{
    for (waiting_ask *w = waiting_line_first(s->waiting), *next; w; w = next) {
        next = waiting_line_next(w);
        study_request *request = waiting_line_take(s->waiting, w);
        if (reason) {
            commit_hold(s->commit, request);
            study_answer_ask(s, request, NULL, 0, reason);
        } else {
            reply_problem(request, s->deleted ? REPLY_NOT_FOUND : REPLY_UNAVAILABLE, NULL, "the study is %s",
                          s->deleted ? "deleted" : "not available now");
        }
    }
}

void study_begin_fixed(study *s, uint64_t number)
{
    const waiting_ask *w = waiting_line_find(s->waiting, number);
    if (w && w->request->key)
        commit_submit(s->commit); /* its reply gets a write of its own */
}

/* Answers an ask with no trial, and why. */
static void end_waiting(study *s, waiting_ask *w)
{
    study_request *request = waiting_line_take(s->waiting, w);
    if (!request->key)                   /* an answer without trials is not stored under a key */
        commit_hold(s->commit, request); /* but the reason that it gives must be on disk */
    study_answer_ask(s, request, NULL, 0, study_shortage(s));
}

void study_serve_fixed(study *s, uint64_t number, int64_t first, size_t n)
{
    waiting_ask *w = waiting_line_find(s->waiting, number);
    trial *trials[ASK_MAXIMUM];
    size_t found = 0;
    if (!w || commit_has_failed(s->commit))
        return;
    if (waiting_ask_is_gone(w, clock_steady_ms())) {
        end_waiting(s, w);
        return;
    }
    bool keyed = w->request->key != NULL;
    for (size_t i = 0; i < n && i < ASK_MAXIMUM; i++)
        if ((trials[found] = trial_queue_find(s->queue, first + (int64_t)i)))
            found++;
    const wire_ask *wanted = w->ask;
    study_request *request = waiting_line_take(s->waiting, w);
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
        ; /* later, when the plan under way is done */
    else if (study_may_plan(s) && s->config->asynchronous)
        plan_for_waiting(s);
    else if (study_may_plan(s) && trial_queue_open(s->queue) == 0)
        study_plan_batch(s, 0);
}

/* An ask whose client has gone is ended. That is checked when the ask has found no trial at first, every few seconds,
 * and before a trial is handed out to an ask that has waited. It is not checked for an ask that has just come and
 * can be served: a client that has only shut down its sending side looks as if it had gone. */
void study_serve_waiting(study *s, int64_t now)
{
    int64_t steady = clock_steady_ms();
    waiting_ask *w, *next;
    for (w = waiting_line_first(s->waiting); w; w = next) {
        next = waiting_line_next(w);
        if (s->state == STUDY_ERROR) {
            study_request *request = waiting_line_take(s->waiting, w);
            commit_hold(s->commit, request); /* the state may not be on disk yet */
            reply_problem(request, REPLY_CONFLICT, NULL, "the study has stopped: %s", s->state_reason);
            continue;
        }
        trial *trials[ASK_MAXIMUM];
        bool may_serve =
            s->state == STUDY_ACTIVE && !trial_queue_is_empty(s->queue, TRIALS_QUEUED) && !w->fixed;
        bool comes = w->checked_at == 0;
        bool gone = !comes && (may_serve || waiting_ask_is_due(w, steady)) && waiting_ask_is_gone(w, steady);
        bool keyed = may_serve && !gone && w->request->key;
        if (keyed)
            commit_submit(s->commit); /* its reply gets a write of its own */
        if (may_serve && !gone && study_serve(s, w->request, w->ask, true, trials, 0, now)) {
            waiting_line_take(s->waiting, w);
            if (keyed)
                commit_submit(s->commit);
            continue;
        }
        if (!gone)
            plan_for(s, w);
        bool computing = plan_state_is_computing(s->plans);
        bool over = steady >= w->deadline && (!computing || steady >= w->planning_deadline);
        bool no_hope = s->state == STUDY_FINISHED || atomic_load(&s->app->stopping);
        if (over || no_hope || gone || (comes && waiting_ask_is_gone(w, steady)))
            end_waiting(s, w);
    }
}

int64_t study_next_wake(const study *s)
{
    return plan_state_is_delayed(s->plans) ? 0
                                           : waiting_line_wake_at(s->waiting, plan_state_is_busy(s->plans));
}
