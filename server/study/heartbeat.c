#include "server/study/heartbeat.h"

#include "server/base/clock.h"
#include "server/study/ask.h"
#include "server/study/requests.h"
#include "server/study/trials.h"

trial *study_pending_trial(study *s, study_request *request, wire_integer attempt)
{
    trial *t = trial_queue_find(s->queue, request->number);
    if (request->number < 1 || request->number > s->trials) {
        reply_problem(request, REPLY_NOT_FOUND, NULL, "there is no trial %lld", (long long)request->number);
        return NULL;
    }
    if (!t || t->state != TRIAL_PENDING) {
        reply_problem(request, REPLY_CONFLICT, NULL, "the trial is %s: no worker has it",
                      t ? trial_state_name(t->state) : "closed");
        return NULL;
    }
    if (attempt.given && attempt.value != t->attempt) {
        reply_problem(request, REPLY_CONFLICT, NULL,
                      "the trial is at attempt %d: the lease of attempt %lld has expired", t->attempt,
                      (long long)attempt.value);
        return NULL;
    }
    return t;
}

void study_heartbeat(study *s, study_request *request)
{
    const wire_heartbeat *heartbeat = request->context;
    trial *t = study_pending_trial(s, request, heartbeat->attempt);
    if (!t)
        return;
    wire_ask renewal = {.lease_seconds = heartbeat->lease_seconds};
    if (!study_issue(s, t, &renewal, clock_now())) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    commit_hold(s->commit, request);
    study_answer_trial(s, request, t);
}
