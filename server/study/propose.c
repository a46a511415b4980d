/* Trials that users propose. Such a trial is queued before the engine's picks, and is in flight like any other. */
#include "server/study/propose.h"

#include "proto/changes.h"
#include "proto/constraints.h"
#include "server/base/clock.h"
#include "server/study/ask.h"
#include "server/study/engine_lane.h"
#include "server/study/failures.h"
#include "server/study/points.h"
#include "server/study/requests.h"
#include "server/study/trial_memory.h"
#include "server/study/trials.h"
#include "server/study/turn_end.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- notifying the engine ------------------------------------------------------------------------------ */

typedef struct notice {
    engine_job job;
    study_job done;
    uint32_t candidate;
} notice;

static void notice_done(study *s, study_job *job)
{
    study_engine_job_done(s);
    free((char *)job - offsetof(notice, done));
}

/* Tells the engine about the trial. If the engine is not loaded, it will be restored with the trial. */
static void run_notice(study *s, engine_job *job)
{
    notice *n = (notice *)(void *)job;
    bandit_executor executor = computing_executor(s->app->computing);
    bandit_pick pick = {.arm = n->candidate, .variance = NAN};
    bandit_error error = {0};
    if (s->engine.engine &&
        bandit_engine_replay_picks(s->engine.engine, &pick, 1, &executor, &error) != BANDIT_OK)
        study_drop_engine(s);
    n->done.run = notice_done;
    study_post(s, &n->done);
}

/* With asynchronous feedback, the engine must condition further picks of the current batch on all trials in
 * flight. */
static void notify_engine(study *s, uint32_t candidate)
{
    if (!s->config->asynchronous || s->batches == 0)
        return;
    notice *n = calloc(1, sizeof *n);
    if (!n) {
        commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
        return;
    }
    n->candidate = candidate;
    n->job.run = run_notice;
    study_post_engine(s, &n->job);
}

/* ---- proposing ----------------------------------------------------------------------------------------- */

/* The reason why no trial can be added now; NULL: one can be. */
static const char *obstacle(const study *s)
{
    switch (s->state) {
    case STUDY_AWAITING_CANDIDATES:
        return "the study has no candidates yet: upload them first";
    case STUDY_FINISHED:
        return "the study is finished";
    case STUDY_ERROR:
        return "the study has stopped";
    case STUDY_ACTIVE:
    case STUDY_PAUSED:
        break;
    }
    return s->trials >= study_horizon(s) ? "the study has reached its horizon" : NULL;
}

/* Can a trial be proposed now? False: the request was refused. */
static bool is_possible(const study *s, study_request *request)
{
    const char *why = obstacle(s);
    bool full = !why && study_has_too_many_trials(s);
    if (why)
        reply_problem(request, REPLY_CONFLICT, NULL, "%s", why);
    else if (full)
        reply_problem(request, REPLY_BUSY, NULL,
                      "the study's open trials fill its share of memory (--study-memory, --total-memory): "
                      "report or release some");
    return !why && !full;
}

/* Closes a trial at a point that breaks a constraint, because it must not be evaluated. */
static void close_broken(study *s, trial *t, const char *constraint)
{
    char reason[256];
    snprintf(reason, sizeof reason, "breaks the constraint %.200s", constraint);
    const told_result told = {.state = TRIAL_INFEASIBLE, .repeats = 1, .reason = reason};
    study_close_trial(s, t, &told, 0, clock_now());
}

/* Queues and records the proposed trial. point: only in an open space; otherwise NULL. */
static void add_proposed(study *s, study_request *request, uint32_t candidate, const double *point)
{
    const proposal *p = request->context;
    const bandit_pick own = {.arm = candidate, .variance = NAN};
    trial *t = study_queue_trial(s, s->trials + 1, -1, &own, point);
    if (!t) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    s->trials++;
    store_event event = {.type = EVENT_TRIAL_PROPOSED, .time = clock_now()};
    event.u.proposed.trial = t->id;
    event.u.proposed.pick = (store_pick){.candidate = t->candidate, .variance = NAN};
    commit_record(s->commit, &event);
    if ((int64_t)t->candidate < study_candidates(s))
        notify_engine(s, t->candidate);
    if (p->broken)
        close_broken(s, t, p->broken);
    commit_hold(s->commit, request);
    study_answer_trial(s, request, t);
}

static void placed(study *s, study_request *request, const uint32_t *arms)
{
    proposal *p = request->context;
    p->broken = p->takes_broken ? wire_broken_constraint(s->config->wire, p->point) : NULL;
    if (is_possible(s, request))
        add_proposed(s, request, arms[0], p->point);
}

/* Proposes a point given by its parameters. First its candidate number must be found, or assigned. */
static void propose_point(study *s, study_request *request)
{
    proposal *p = request->context;
    const wire_study *definition = s->config->wire;
    wire_errors errors = {0};
    p->point = malloc(definition->n_parameters * sizeof *p->point);
    if (!p->point)
        reply_store_problem(request, STORE_NO_MEMORY);
    else if (wire_code_parameters(p->point, definition->parameters, definition->n_parameters,
                                  &p->wanted->parameters, WIRE_WHOLE, "/parameters", &errors) &&
             (p->takes_broken || wire_check_constraints(definition, p->point, "/parameters", &errors)))
        study_place_points(s, request, p->point, 1, placed);
    else
        reply_undecodable(request, WIRE_INVALID, &errors);
    wire_errors_clear(&errors);
}

static void propose(study *s, study_request *request)
{
    const proposal *p = request->context;
    int64_t candidate = p->wanted->candidate;
    wire_errors errors = {0};
    if (!is_possible(s, request))
        return;
    if (p->takes_broken && s->config->wire->n_constraints == 0) {
        reply_problem(request, REPLY_INVALID, NULL,
                      "query parameter 'broken' applies to a space with constraints only");
        return;
    }
    if (candidate < 0 && s->config->parameters) {
        propose_point(s, request);
        return;
    }
    if (candidate < 0)
        wire_errors_add(&errors, "/parameters", "applies to a domain of type \"space\" only");
    else if (candidate >= study_candidates(s))
        wire_errors_add(&errors, "/candidate", "the study has %lld candidates",
                        (long long)study_candidates(s));
    else if (study_is_retired(s, (uint32_t)candidate))
        wire_errors_add(&errors, "/candidate", "has been retired");
    if (errors.n > 0)
        reply_problem(request, REPLY_INVALID, &errors, "no trial was queued");
    else
        add_proposed(s, request, (uint32_t)candidate, NULL);
    wire_errors_clear(&errors);
}

void study_propose(study *s, study_request *request)
{
    if (!plan_state_is_busy(s->plans)) {
        propose(s, request);
        return;
    }
    /* The engine must be notified of trials in the order of their numbers, and this trial comes after the picks
         * that are being planned. */
    plan_state_defer(s->plans, request);
}

void study_run_deferred(study *s)
{
    if (plan_state_is_busy(s->plans))
        return;
    for (study_request *request = plan_state_take_deferred(s->plans), *next; request; request = next) {
        next = request->next;
        bool keyed = request->key != NULL;
        if (keyed)
            commit_submit(s->commit); /* its reply gets a separate write */
        propose(s, request);
        if (keyed)
            commit_submit(s->commit);
    }
}

void study_fail_deferred(study *s, store_status status)
{
    for (study_request *request = plan_state_take_deferred(s->plans), *next; request; request = next) {
        next = request->next;
        if (s->deleted)
            reply_problem(request, REPLY_NOT_FOUND, NULL, "the study is deleted");
        else
            reply_store_problem(request, status);
    }
}
