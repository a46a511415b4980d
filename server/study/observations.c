#include "server/study/observations.h"

#include "proto/trials.h"
#include "server/base/clock.h"
#include "server/study/failures.h"
#include "server/study/imported_best.h"
#include "server/study/known_front.h"
#include "server/study/points.h"
#include "server/study/requests.h"
#include "server/study/stop_when.h"
#include "server/study/trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool study_has_news(const study *s)
{
    return !trial_queue_is_empty(s->queue, TRIALS_REPORTED) || !pending_results_is_empty(s->results);
}

static bool is_broken(const import *in, size_t i)
{
    return in->takes_broken && in->broken[i];
}

/* Results at points that break a constraint have no value for the model. The log records this as an amendment; the
 * amended result has the imported value. */
static void take_back_broken(study *s, const import *in, int64_t time)
{
    for (size_t i = 0; i < in->n; i++) {
        char reason[256];
        if (!is_broken(in, i))
            continue;
        snprintf(reason, sizeof reason, "breaks the constraint %.200s", in->broken[i]);
        store_event event = {.type = EVENT_OBSERVATION_AMENDED, .time = time};
        event.u.reobserved.observation = s->imported - (int64_t)(in->n - 1 - i);
        event.u.reobserved.state = TRIAL_INFEASIBLE;
        event.u.reobserved.reason = reason;
        commit_record(s->commit, &event);
    }
}

/* Numbers the results, and keeps them for the next batch. False: out of memory. */
static bool keep_observations(study *s, const import *in, int64_t time)
{
    bool kept = true;
    study_find_best_imported(s);
    for (size_t i = 0; kept && i < in->n; i++) {
        store_imported row = {.observation = ++s->imported,
                              .told_seq = commit_next_seq(s->commit),
                              .imported_at = time,
                              .candidate = in->list[i].candidate,
                              .state = is_broken(in, i) ? TRIAL_INFEASIBLE : TRIAL_COMPLETED,
                              .has_value = !is_broken(in, i),
                              .value = is_broken(in, i) ? 0.0 : in->list[i].value,
                              .repeats = in->list[i].repeats,
                              .cost = in->list[i].cost,
                              .recorded =
                                  is_broken(in, i) || !in->list[i].recorded ? "" : in->list[i].recorded,
                              .reason = ""};
        kept = pending_results_add_observation(s->results, &row);
        study_note_imported(s, &row);
        if (s->front.known && row.has_value)
            study_enters_front(s, row.value, row.recorded);
        s->cost += in->list[i].cost;
    }
    return kept;
}

static void observe(study *s, study_request *request)
{
    const import *in = request->context;
    store_event event = {.type = EVENT_OBSERVATIONS_ADDED, .time = clock_now()};
    event.u.observed.list = in->list;
    event.u.observed.n = in->n;
    if (!keep_observations(s, in, event.time))
        commit_fail(s->commit, STORE_NO_MEMORY); /* the turn fails, and the study is loaded again */
    commit_record(s->commit, &event);
    take_back_broken(s, in, event.time);
    suspects suspected = {0};
    for (size_t i = 0; i < in->n; i++)
        study_suspects_add(s, &suspected, in->list[i].candidate, TRIAL_COMPLETED);
    study_cancel_barred(s, &suspected);
    stop_when_spent(s);
    commit_hold(s->commit, request);
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_import_answer(&w, s->imported - (int64_t)in->n + 1, (int64_t)in->n);
    reply_json(request, &w);
}

static void observe_placed(study *s, study_request *request, const uint32_t *arms)
{
    import *in = request->context;
    for (size_t i = 0; i < in->n; i++)
        in->list[i].candidate = arms[i];
    observe(s, request);
}

void study_observe(study *s, study_request *request)
{
    const import *in = request->context;
    if (!study_is_meant(s, request, in->study))
        return;
    if (s->state == STUDY_AWAITING_CANDIDATES)
        reply_problem(request, REPLY_CONFLICT, NULL, "the study has no candidates yet: upload them first");
    else if (in->candidates > s->candidates || strcmp(in->digest, s->digest) != 0)
        reply_problem(request, REPLY_CONFLICT, NULL, "the candidates were replaced during the upload");
    else if (s->config->parameters)
        study_place_points(s, request, in->points, in->n, observe_placed);
    else
        observe(s, request);
}
