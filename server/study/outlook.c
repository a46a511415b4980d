/* How much a study can still gain, according to its model. */
#include "bandit/insight.h"
#include "proto/insight.h"
#include "server/data/candidate_keys.h"
#include "server/data/study_space.h"
#include "server/study/insight_reply.h"
#include "server/study/requests.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* If no epsilon is given, it is this share of the prior's standard deviation. */
static const double small_share = 0.01;

static bool is_shown(const bandit_outlook *found, double epsilon)
{
    bool fine =
        isfinite(epsilon) && isfinite(found->mean) && isfinite(found->std) && isfinite(found->possible);
    for (size_t k = 0; k < BANDIT_OUTLOOK_GAINS; k++)
        fine &= isfinite(found->gains[k]);
    return fine;
}

static void show(study *s, const question *q, const bandit_outlook *found, double epsilon, const char *key)
{
    const wire_study *definition = q->source.config->wire;
    bandit_description about;
    double *row = calloc(definition->n_parameters + 1, sizeof *row);
    bandit_engine_describe(s->engine.engine, &about);
    if (!row) {
        reply_store_problem(q->request, STORE_NO_MEMORY);
        return;
    }
    if (q->source.config->parameters)
        bandit_arms_coded(s->engine.arms, found->arm, row);
    candidate_view view =
        candidate_view_of(definition, (int64_t)q->source.reference_candidates, found->arm, row);
    candidate_key named;
    int64_t candidate = (int64_t)found->arm;
    store_error problem = {0};
    store_status status = candidate_keys_at(&named, s->app->store, q->source.number, q->source.has_keys,
                                            &candidate, 1, &problem);
    if (status != STORE_OK) {
        reply_store_problem(q->request, status);
        free(row);
        return;
    }
    wire_outlook shown = {.metric = wire_objective(definition)->name,
                          .batch = (int64_t)about.batch,
                          .observations = (int64_t)about.observations,
                          .draws = (int64_t)found->draws,
                          .candidate = view.candidate,
                          .key = named.text,
                          .space = view.space,
                          .parameters = view.parameters,
                          .mean = (q->source.config->minimize ? -found->mean : found->mean) + 0.0,
                          .std = found->std,
                          .epsilon = epsilon,
                          .probability = found->probability,
                          .possible = found->possible};
    static_assert((int)WIRE_GAINS == (int)BANDIT_OUTLOOK_GAINS, "all gains are shown");
    for (size_t k = 0; k < WIRE_GAINS; k++) {
        shown.gains[k].trials = (int64_t)found->trials[k];
        shown.gains[k].gain = found->gains[k];
    }
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_outlook(&w, &shown);
    insight_reply(s, q->request, (int64_t)about.batch, key, &w);
    free(row);
}

/* The arm of the point that `best` recommends. False: the request has been answered. */
static bool find_recommended(study *s, const question *q, uint32_t *arm)
{
    wire_recommended best = {0};
    bool evaluated = true;
    store_status status = question_recommend(s, q, &best, &evaluated);
    if (status != STORE_OK)
        reply_store_problem(q->request, status);
    else if (!evaluated || !best.given)
        reply_problem(q->request, REPLY_CONFLICT, NULL, "the model recommends no point");
    *arm = (uint32_t)best.candidate;
    return status == STORE_OK && evaluated && best.given;
}

static void outlook(study *s, question *q)
{
    const input_query *wanted = q->request->context;
    bandit_insight *insight = NULL;
    bandit_outlook found;
    bandit_description about;
    bandit_error error = {0};
    uint32_t arm = 0;
    char key[60];
    bandit_engine_describe(s->engine.engine, &about);
    double epsilon = isnan(wanted->epsilon) ? small_share * about.signal_std : wanted->epsilon;
    snprintf(key, sizeof key, "outlook %.17g", epsilon);
    if (insight_reply_again(s, q->request, (int64_t)about.batch, key))
        return;
    bandit_status status = bandit_insight_new(&insight, s->engine.engine, &error);
    if (status == BANDIT_OK && !find_recommended(s, q, &arm)) {
        bandit_insight_free(insight);
        return;
    }
    if (status == BANDIT_OK)
        status = bandit_insight_outlook(insight, arm, epsilon, &found, &error);
    if (status != BANDIT_OK)
        insight_refuse(q->request, &error);
    else if (!is_shown(&found, epsilon))
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s", engine_beyond_doubles);
    else
        show(s, q, &found, epsilon, key);
    bandit_insight_free(insight);
}

void study_outlook(study *s, study_request *request)
{
    const input_query *wanted = request->context;
    if (!insight_is_objective(s, request, wanted->metric))
        return;
    if (s->config->several)
        reply_problem(request, REPLY_CONFLICT, NULL,
                      "only a study with one objective and without bounds has an outlook");
    else
        question_ask(s, request, outlook);
}
