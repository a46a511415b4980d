/* Questions about the inputs of a study's model: which matter, and how its mean follows them. */
#include "bandit/insight.h"
#include "proto/insight.h"
#include "server/base/log.h"
#include "server/data/study_space.h"
#include "server/study/insight_cache.h"
#include "server/study/insight_reply.h"
#include "server/study/requests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Default and largest numbers of values of an axis, for one axis and for two. */
enum { POINTS_ONE = 25, POINTS_TWO = 15, MOST_TWO = 40 };

void insight_refuse(study_request *request, const bandit_error *error)
{
    if (error->status == BANDIT_NO_MEMORY)
        reply_store_problem(request, STORE_NO_MEMORY);
    else if (error->status == BANDIT_CANCELLED)
        reply_problem(request, REPLY_UNAVAILABLE, NULL, "the study is being reloaded: try again");
    else
        reply_problem(request, REPLY_CONFLICT, NULL, "%s", error->message);
}

void insight_reply(study *s, study_request *request, int64_t batch, const char *key, wire_writer *w)
{
    char *text;
    size_t size;
    if (!wire_writer_finish(w, &text, &size)) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    insight_cache_keep(&s->engine.insights, batch, key, text);
    wire_writer again = WIRE_WRITER_INIT;
    wire_raw(&again, text);
    free(text);
    reply_json(request, &again);
}

bool insight_reply_again(study *s, study_request *request, int64_t batch, const char *key)
{
    const char *text = insight_cache_find(s->engine.insights, batch, key);
    if (!text)
        return false;
    wire_writer w = WIRE_WRITER_INIT;
    wire_raw(&w, text);
    reply_json(request, &w);
    return true;
}

size_t insight_metric_of(const question *q)
{
    const study_config *config = q->source.config;
    const input_query *wanted = q->request->context;
    size_t j = 0;
    while (wanted->metric && j < config->n_modelled && strcmp(config->modelled[j]->name, wanted->metric) != 0)
        j++;
    return j < config->n_modelled ? j : 0;
}

/* ---- importance -------------------------------------------------------------------------------------------- */

static void show_importance(study *s, const question *q, const bandit_importance *found, size_t n,
                            double variance)
{
    const wire_study *definition = q->source.config->wire;
    size_t metric = insight_metric_of(q);
    bandit_description d;
    char key[32];
    bool fine = isfinite(variance);
    wire_importance *items = calloc(n, sizeof *items);
    char(*names)[24] = calloc(n, sizeof *names);
    bandit_engine_describe(bandit_engine_of_metric(s->engine.engine, metric), &d);
    for (size_t i = 0; items && names && i < n; i++) {
        items[i] = (wire_importance){.parameter = candidate_input_name(definition, i, names[i]),
                                     .has_first = isfinite(found[i].first),
                                     .first = found[i].first,
                                     .total = found[i].total,
                                     .std = found[i].std,
                                     .top = found[i].top};
        fine &= isfinite(found[i].total) && isfinite(found[i].std) && isfinite(found[i].top);
    }
    if (!items || !names) {
        reply_store_problem(q->request, STORE_NO_MEMORY);
    } else if (!fine) {
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s", engine_beyond_doubles);
    } else {
        wire_importances shown = {.metric = q->source.config->modelled[metric]->name,
                                  .batch = (int64_t)d.batch,
                                  .observations = (int64_t)d.observations,
                                  .measure = !q->source.config->parameters   ? "derivative"
                                             : definition->n_constraints > 0 ? "conditional"
                                                                             : "sobol",
                                  .variance = variance,
                                  .items = items,
                                  .n = n};
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_importances(&w, &shown);
        snprintf(key, sizeof key, "importance %zu", metric);
        insight_reply(s, q->request, (int64_t)d.batch, key, &w);
    }
    free(items);
    free(names);
}

static void importance(study *s, question *q)
{
    bandit_insight *insight = NULL;
    bandit_importance *found = NULL;
    bandit_description d;
    bandit_error error = {0};
    double variance = 0;
    size_t metric = insight_metric_of(q);
    const bandit_engine *engine = bandit_engine_of_metric(s->engine.engine, metric);
    char key[32];
    snprintf(key, sizeof key, "importance %zu", metric);
    bandit_engine_describe(engine, &d);
    if (insight_reply_again(s, q->request, (int64_t)d.batch, key))
        return;
    bandit_status status = bandit_insight_new(&insight, engine, &error);
    size_t n = status == BANDIT_OK ? bandit_insight_inputs(insight) : 0;
    if (status == BANDIT_OK && !(found = calloc(n + 1, sizeof *found)))
        bandit_error_set(&error, status = BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK)
        status = bandit_insight_importance(insight, found, &variance, &error);
    if (status == BANDIT_OK)
        show_importance(s, q, found, n, variance);
    else
        insight_refuse(q->request, &error);
    bandit_insight_free(insight);
    free(found);
}

static bool has_metric(const study *s, study_request *request, const char *metric, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (!metric || strcmp(metric, s->config->modelled[j]->name) == 0)
            return true;
    reply_problem(request, REPLY_INVALID, NULL, "query parameter 'metric': the model has no metric '%s'",
                  metric);
    return false;
}

bool insight_is_modelled(const study *s, study_request *request, const char *metric)
{
    return has_metric(s, request, metric, s->config->n_modelled);
}

bool insight_is_objective(const study *s, study_request *request, const char *metric)
{
    return has_metric(s, request, metric, 1);
}

void study_importance(study *s, study_request *request)
{
    const input_query *wanted = request->context;
    if (insight_is_modelled(s, request, wanted->metric))
        question_ask(s, request, importance);
}

/* ---- effects ----------------------------------------------------------------------------------------------- */

typedef struct axes {
    size_t inputs[2], n, points;
    char names[2][24];
} axes;

/* False: the request has been answered. */
static bool find_axis(const question *q, const char *parameter, const char *name, size_t *out)
{
    *out = candidate_input(q->source.config->wire, name);
    if (*out == SIZE_MAX)
        reply_problem(q->request, REPLY_INVALID, NULL,
                      "query parameter '%s': the study has no parameter or feature '%s'", parameter, name);
    return *out != SIZE_MAX;
}

static bool find_axes(const question *q, axes *out)
{
    const input_query *wanted = q->request->context;
    *out = (axes){.n = wanted->with ? 2 : 1};
    if (!wanted->parameter) {
        reply_problem(q->request, REPLY_INVALID, NULL, "query parameter 'parameter' is required");
        return false;
    }
    if (!find_axis(q, "parameter", wanted->parameter, &out->inputs[0]) ||
        (wanted->with && !find_axis(q, "with", wanted->with, &out->inputs[1])))
        return false;
    int64_t most = wanted->with ? MOST_TWO : BANDIT_EFFECTS_MOST;
    out->points = (size_t)(wanted->points > 0 ? wanted->points : wanted->with ? POINTS_TWO : POINTS_ONE);
    if (wanted->with && out->inputs[0] == out->inputs[1])
        reply_problem(q->request, REPLY_INVALID, NULL, "query parameter 'with' must differ from 'parameter'");
    else if ((int64_t)out->points > most)
        reply_problem(q->request, REPLY_INVALID, NULL, "query parameter 'points' must be at most %d",
                      (int)most);
    else
        return true;
    return false;
}

static void show_effects(study *s, const question *q, axes *a, const char *key, const bandit_effect *found,
                         size_t n)
{
    const wire_study *definition = q->source.config->wire;
    bool fine = true, space = q->source.config->parameters != NULL;
    size_t metric = insight_metric_of(q);
    double sign = q->source.config->signs[metric];
    bandit_description d;
    wire_effect *items = calloc(n + 1, sizeof *items);
    bandit_engine_describe(s->engine.engine, &d);
    for (size_t i = 0; items && i < n; i++) {
        wire_effect *item = &items[i];
        *item = (wire_effect){.is_bin = !space,
                              .candidates = (int64_t)found[i].count,
                              .mean = sign * found[i].mean + 0.0, /* no -0.0 */
                              .std = found[i].std};
        memcpy(item->value, found[i].at, sizeof item->value);
        memcpy(item->low, found[i].low, sizeof item->low);
        memcpy(item->high, found[i].high, sizeof item->high);
        fine &= isfinite(item->mean) && isfinite(item->std);
    }
    if (!items) {
        reply_store_problem(q->request, STORE_NO_MEMORY);
    } else if (!fine) {
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s", engine_beyond_doubles);
    } else {
        wire_effects shown = {.metric = q->source.config->modelled[metric]->name,
                              .batch = (int64_t)d.batch,
                              .n_axes = a->n,
                              .items = items,
                              .n = n};
        for (size_t k = 0; k < a->n; k++) {
            shown.names[k] = candidate_input_name(definition, a->inputs[k], a->names[k]);
            shown.parameters[k] = space ? &definition->parameters[a->inputs[k]] : NULL;
        }
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_effects(&w, &shown);
        insight_reply(s, q->request, (int64_t)d.batch, key, &w);
    }
    free(items);
}

static void effects(study *s, question *q)
{
    bandit_insight *insight = NULL;
    bandit_effect *found = NULL;
    bandit_description d;
    bandit_error error = {0};
    axes a;
    size_t n = 0, metric = insight_metric_of(q);
    const bandit_engine *engine = bandit_engine_of_metric(s->engine.engine, metric);
    char key[120];
    bandit_engine_describe(s->engine.engine, &d);
    if (!find_axes(q, &a))
        return;
    snprintf(key, sizeof key, "effects %zu %zu %zu %zu %zu", metric, a.n, a.inputs[0], a.inputs[1], a.points);
    if (insight_reply_again(s, q->request, (int64_t)d.batch, key))
        return;
    bandit_status status = bandit_insight_new(&insight, engine, &error);
    if (status == BANDIT_OK)
        status = bandit_insight_effects(insight, a.inputs, a.n, a.points, &found, &n, &error);
    if (status == BANDIT_OK)
        show_effects(s, q, &a, key, found, n);
    else
        insight_refuse(q->request, &error);
    bandit_insight_free(insight);
    free(found);
}

void study_effects(study *s, study_request *request)
{
    const input_query *wanted = request->context;
    if (insight_is_modelled(s, request, wanted->metric))
        question_ask(s, request, effects);
}
