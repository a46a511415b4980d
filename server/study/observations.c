/* Imported rewards: kept until a batch takes them in. */
#include "server/study/observations.h"
#include "server/base/clock.h"
#include "server/study/internal.h"

#include <stdlib.h>
#include <string.h>

bool study_keep_observations(study *s, const store_observation *observations, size_t n)
{
    if (s->n_observations + n > s->observations_capacity) {
        size_t capacity = s->observations_capacity ? s->observations_capacity : 64;
        while (capacity < s->n_observations + n)
            capacity *= 2;
        store_observation *grown = realloc(s->observations, capacity * sizeof *grown);
        if (!grown)
            return false;
        s->observations = grown;
        s->observations_capacity = capacity;
    }
    memcpy(s->observations + s->n_observations, observations, n * sizeof *observations);
    s->n_observations += n;
    return true;
}

void study_drop_observations(study *s, size_t n)
{
    s->n_observations -= n;
    s->n_observations_joining = 0;
    if (s->n_observations > 0) {
        memmove(s->observations, s->observations + n, s->n_observations * sizeof *s->observations);
        return;
    }
    free(s->observations);
    s->observations = NULL;
    s->observations_capacity = 0;
}

bool study_has_news(const study *s)
{
    const late_result *late;
    TAILQ_FOREACH (late, &s->late, link)
        if (late->joined_by == 0)
            return true;
    return !trial_queue_is_empty(s->queue, TRIALS_REPORTED) || s->n_observations > 0 || s->n_amendments > 0;
}

static void observe(study *s, study_request *request)
{
    const import *in = request->context;
    store_event event = {.type = EVENT_OBSERVATIONS_ADDED, .time = clock_now()};
    event.u.observed.list = in->list;
    event.u.observed.n = in->n;
    commit_record(s->commit, &event);
    if (!study_keep_observations(s, in->list, in->n))
        commit_fail(s->commit, STORE_NO_MEMORY); /* fails the turn, and the study is loaded again */
    commit_hold(s->commit, request);
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    wire_key(&w, "accepted");
    wire_integer_value(&w, (int64_t)in->n);
    wire_object_end(&w);
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
        reply_problem(request, REPLY_CONFLICT, NULL, "the candidates were replaced meanwhile");
    else if (s->config->parameters)
        study_place_points(s, request, in->points, in->n, observe_placed);
    else
        observe(s, request);
}
