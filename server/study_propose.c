/* Users' own trials: queued before what the engine picks, and counted as out like any other. */
#include "proto/changes.h"
#include "server/clock.h"
#include "server/study_engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the engine hears of it -------------------------------------------------------------------------- */

typedef struct notice {
    engine_job job;
    study_job done;
    uint32_t candidate;
} notice;

static void notice_done(study *s, study_job *job)
{
    s->engine_jobs_out--;
    free((char *)job - offsetof(notice, done));
}

/* An engine that is not there will be restored with the trial. */
static void run_notice(study *s, engine_job *job)
{
    notice *n = (notice *)(void *)job;
    bandit_executor executor = pool_executor(s->app->pool);
    bandit_pick pick = {.arm = n->candidate, .variance = NAN};
    bandit_error error = {0};
    if (s->engine.engine &&
        bandit_engine_replay_picks(s->engine.engine, &pick, 1, &executor, &error) != BANDIT_OK)
        study_drop_engine(s);
    n->done.run = notice_done;
    study_post(s, &n->done);
}

/* With asynchronous feedback further picks of the batch in force are made with everything that is out. */
static void notify_engine(study *s, uint32_t candidate)
{
    if (!s->config->asynchronous || s->batches == 0)
        return;
    notice *n = calloc(1, sizeof *n);
    if (!n) {
        s->write_status = STORE_NO_MEMORY; /* fails the turn, and the study is loaded again */
        return;
    }
    n->candidate = candidate;
    n->job.run = run_notice;
    study_post_engine(s, &n->job);
}

/* ---- proposing --------------------------------------------------------------------------------------- */

/* Why there can be no new trial now; NULL: there can. */
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
    return s->trials >= study_horizon(s) ? "the study's horizon is reached" : NULL;
}

static void propose(study *s, http_request *request)
{
    const wire_proposal *proposal = request->context;
    wire_errors errors = {0};
    const char *why = obstacle(s);
    if (why) {
        http_answer_problem(request, 409, NULL, "%s", why);
        return;
    }
    if (proposal->candidate < 0)
        wire_errors_add(&errors, "/parameters", "applies to a domain of type \"space\" only");
    else if (proposal->candidate >= s->candidates)
        wire_errors_add(&errors, "/candidate", "the study has %lld candidates", (long long)s->candidates);
    if (errors.n > 0) {
        http_answer_problem(request, 422, &errors, "no trial was made: see errors");
        wire_errors_clear(&errors);
        return;
    }
    store_trial row = {.trial = s->trials + 1,
                       .state = TRIAL_QUEUED,
                       .batch = -1,
                       .candidate = proposal->candidate,
                       .variance = NAN,
                       .worker = "",
                       .reason = "",
                       .recorded = "",
                       .metadata = ""};
    trial *t = study_trial_of_row(&row);
    if (!t || !study_add_trial(s, t)) {
        http_answer_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    s->trials++;
    store_event event = {.type = EVENT_TRIAL_PROPOSED, .time = clock_now()};
    event.u.proposed.trial = t->id;
    event.u.proposed.pick = (store_pick){.candidate = t->candidate, .variance = NAN};
    study_record(s, &event);
    notify_engine(s, t->candidate);
    study_hold(s, request);
    study_answer_trial(s, request, t);
}

void study_propose(study *s, http_request *request)
{
    if (!s->planning) {
        propose(s, request);
        return;
    }
    /* Trials are numbered in the order in which the engine hears of them: after the picks under way. */
    request->next = NULL;
    *s->last_deferred = request;
    s->last_deferred = &request->next;
}

static http_request *take_deferred(study *s)
{
    http_request *first = s->deferred;
    s->deferred = NULL;
    s->last_deferred = &s->deferred;
    return first;
}

void study_run_deferred(study *s)
{
    if (s->planning)
        return;
    for (http_request *request = take_deferred(s), *next; request; request = next) {
        next = request->next;
        bool keyed = request->idempotency_key != NULL;
        if (keyed)
            study_submit(s); /* its answer has a write of its own */
        propose(s, request);
        if (keyed)
            study_submit(s);
    }
}

void study_fail_deferred(study *s, store_status status)
{
    for (http_request *request = take_deferred(s), *next; request; request = next) {
        next = request->next;
        if (s->deleted)
            http_answer_problem(request, 404, NULL, "the study is deleted");
        else
            http_answer_store_problem(request, status);
    }
}
