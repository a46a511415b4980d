/* Waiting asks: plans trials for them, answers them, and ends their waits. */
#include "server/study/waiting.h"

#include "server/base/clock.h"
#include "server/study/ask.h"
#include "server/study/observations.h"
#include "server/study/plan.h"
#include "server/study/trial_memory.h"
#include "server/study/turn_end.h"

static bool may_pick(const study *s)
{
    return s->state == STUDY_ACTIVE && !plan_state_is_busy(s->plans) && s->trials < study_horizon(s) &&
           !commit_is_broken(s->commit) && !atomic_load(&s->app->stopping) && !study_has_too_many_trials(s);
}

static bool may_find_picks(const study *s)
{
    return may_pick(s) && !plan_state_is_exhausted(s->plans);
}

bool study_may_plan(const study *s)
{
    return may_find_picks(s) && trial_queue_is_empty(s->queue, TRIALS_QUEUED);
}

/* ---- workers ------------------------------------------------------------------------------------------- */

/* The number of trials that should be in flight so that no worker is idle: one for each worker that has a trial or
 * waits for one, and one for each trial that is pending or requested without a worker's name. */
static size_t wanted_in_flight(const study *s)
{
    const wire_study *definition = s->config->wire;
    if (definition->min_in_flight.given)
        return (size_t)definition->min_in_flight.value;
    return workers_at_work(s->workers) + trial_queue_nameless(s->queue) + waiting_line_nameless(s->waiting);
}

/* With asynchronous feedback, while asks wait and no trial is queued: plans a new batch if there are new
 * results, and otherwise more picks for the current batch, so that no worker is idle. */
static void plan_for_waiting(study *s)
{
    size_t wanted = wanted_in_flight(s), asked = waiting_line_asked(s->waiting);
    size_t min_picks = wanted > trial_queue_open(s->queue) ? wanted - trial_queue_open(s->queue) : 0;
    if (min_picks > asked)
        min_picks = asked;
    if (s->batches == 0 || (study_has_news(s) && !plan_state_is_unfinished(s->plans)))
        study_plan_batch(s, min_picks);
    else if (min_picks > 0 || plan_state_continues(s->plans))
        study_extend_batch(s, min_picks);
}

/* ---- asks that are served in full ---------------------------------------------------------------------- */

static size_t wants(const waiting_ask *w)
{
    return w->fixed ? 0 : (size_t)w->ask->count - w->n_held;
}

/* The number of trials that the queue lacks for all waiting asks. */
static size_t shortage(const study *s)
{
    size_t wanted = 0;
    for (const waiting_ask *w = waiting_line_first(s->waiting); w; w = waiting_line_next(w))
        wanted += wants(w);
    size_t queued = trial_queue_queued(s->queue);
    return wanted > queued ? wanted - queued : 0;
}

/* Plans more trials if the queue has too few for this ask. True: a plan for it is in progress. */
static bool plans_the_rest(study *s, const waiting_ask *w)
{
    bool unfinished = plan_state_is_unfinished(s->plans);
    bool in_full = unfinished || study_config_serves_in_full(s->config);
    if (w->fixed || s->state != STUDY_ACTIVE || !in_full || trial_queue_queued(s->queue) >= wants(w))
        return false;
    bool may_plan =
        may_find_picks(s) && (s->config->asynchronous || unfinished || trial_queue_open(s->queue) == 0);
    bool begins = s->batches == 0 || !s->config->asynchronous || study_has_news(s);
    if (may_plan && begins && !unfinished)
        study_plan_batch(s, shortage(s));
    else if (may_plan)
        study_extend_batch(s, shortage(s));
    return plan_state_is_computing(s->plans);
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
        commit_submit(s->commit); /* its reply gets a separate write */
}

/* Answers an ask with the trials that its worker already has, or with none and the reason. */
static void end_waiting(study *s, waiting_ask *w, bool gone)
{
    trial *held[ASK_MAXIMUM];
    const wire_ask *ask = w->ask;
    size_t n = w->holds && !gone ? study_own_trials(s, ask, w->fixed, held) : 0;
    study_request *request = waiting_line_take(s->waiting, w);
    bool keyed = request->key != NULL;
    if (n > 0 && keyed)
        commit_submit(s->commit); /* its reply gets a separate write */
    if (n > 0) {
        study_serve(s, request, ask, false, held, n, clock_now());
    } else {
        if (!keyed)                          /* an answer without trials is not stored under a key */
            commit_hold(s->commit, request); /* the reason that it gives must be on disk */
        study_answer_ask(s, request, NULL, 0, study_shortage(s));
    }
    if (n > 0 && keyed)
        commit_submit(s->commit);
}

void study_serve_fixed(study *s, uint64_t number, int64_t first, size_t n)
{
    waiting_ask *w = waiting_line_find(s->waiting, number);
    trial *trials[ASK_MAXIMUM];
    if (!w || commit_has_failed(s->commit))
        return;
    if (waiting_ask_is_gone(w, clock_steady_ms())) {
        end_waiting(s, w, true);
        return;
    }
    bool keyed = w->request->key != NULL;
    size_t found = w->holds ? study_own_trials(s, w->ask, w->fixed, trials) : 0;
    for (size_t i = 0; i < n && found < (size_t)w->ask->count; i++)
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
    if (w->fixed && may_pick(s) && w->n_held < (size_t)w->ask->count)
        study_plan_fixed(s, w);
    else if (w->fixed)
        ; /* trials are planned when the current plan ends */
    else if (study_config_serves_in_full(s->config))
        ; /* plans_the_rest has planned for it */
    else if (study_may_plan(s) && s->config->asynchronous)
        plan_for_waiting(s);
    else if (study_may_plan(s) && plan_state_is_unfinished(s->plans))
        study_extend_batch(s, 0);
    else if (study_may_plan(s) && trial_queue_open(s->queue) == 0)
        study_plan_batch(s, 0);
}

static void refuse_place(study *s, waiting_ask *w)
{
    study_request *request = waiting_line_take(s->waiting, w);
    reply_problem(
        request, REPLY_BUSY, NULL,
        "this caller's waiting asks have used up its share of the %zu that may wait (--max-waiting)",
        s->app->config->max_waiting);
}

/* An ask whose client has disconnected is ended. This is checked when the ask first finds no trial, every few seconds,
 * and before an ask that has waited gets a trial. It is not checked for a new ask that can be served at once, because a
 * client that has only shut down its sending side looks disconnected. */
void study_serve_waiting(study *s, int64_t now)
{
    int64_t steady = clock_steady_ms();
    waiting_ask *w, *next;
    bool kept_back = false; /* an ask waits for the rest of its trials, and later asks wait for it */
    for (w = waiting_line_first(s->waiting); w; w = next) {
        next = waiting_line_next(w);
        if (s->state == STUDY_ERROR) {
            study_request *request = waiting_line_take(s->waiting, w);
            commit_hold(s->commit, request); /* the state may not be on disk yet */
            reply_problem(request, REPLY_CONFLICT, NULL, "the study has stopped: %s", s->state_reason);
            continue;
        }
        trial *held[ASK_MAXIMUM];
        w->n_held = w->holds ? study_own_trials(s, w->ask, w->fixed, held) : 0;
        bool late = steady >= w->deadline && steady >= w->planning_deadline;
        kept_back |= plans_the_rest(s, w) && !late;
        bool has_some = w->n_held > 0 || !trial_queue_is_empty(s->queue, TRIALS_QUEUED);
        bool may_serve = s->state == STUDY_ACTIVE && has_some && !w->fixed && (!kept_back || late);
        bool comes = w->checked_at == 0;
        bool gone = !comes && (may_serve || waiting_ask_is_due(w, steady)) && waiting_ask_is_gone(w, steady);
        bool keyed = may_serve && !gone && w->request->key;
        if (keyed)
            commit_submit(s->commit); /* its reply gets a separate write */
        if (may_serve && !gone && study_serve(s, w->request, w->ask, true, held, w->n_held, now)) {
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
        bool settled = w->n_held > 0 && !computing; /* waiting longer would not help */
        bool ends = over || no_hope || settled || gone;
        if (!ends && comes)
            ends = gone = waiting_ask_is_gone(w, steady);
        if (ends)
            end_waiting(s, w, gone);
        else if (!waiting_line_keep(s->waiting, w))
            refuse_place(s, w);
    }
}

int64_t study_next_wake(const study *s)
{
    return plan_state_is_delayed(s->plans) ? 0
                                           : waiting_line_wake_at(s->waiting, plan_state_is_busy(s->plans));
}
