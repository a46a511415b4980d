#include "server/study/fronts.h"

#include "bandit/front.h"
#include "bandit/insight.h"
#include "proto/fronts.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/observed_front.h"
#include "server/data/study_space.h"
#include "server/study/engine_lane.h"
#include "server/study/requests.h"

#include <math.h>
#include <stdlib.h>

/* ---- predictions --------------------------------------------------------------------------------------- */

/* The models' predictions for n arms or points. */
typedef struct outlook {
    size_t n;
    uint32_t *arms;
    int64_t *pulls;
    wire_prediction *predictions; /* n for each modelled metric */
    double *feasible;             /* n: the probability that all bounds hold */
    bool *
        unknown; /* n: of some objective, the model leaves all values out as outliers; of arms with results */
} outlook;

static void outlook_clear(outlook *o)
{
    free(o->arms);
    free(o->pulls);
    free(o->predictions);
    free(o->feasible);
    free(o->unknown);
}

/* A prediction in the metric's units and with its sign. */
static wire_prediction in_units(double sign, const bandit_prediction *p)
{
    return (wire_prediction){
        .mean = sign * p->mean + 0.0, .std = sqrt(p->variance), .ucb = sign * p->ucb + 0.0}; /* no -0.0 */
}

bandit_status fronts_predict(const study *s, const study_config *config, const uint32_t *arms,
                             const double *points, size_t n, wire_prediction *out, double *feasible,
                             bandit_error *err)
{
    bandit_prediction *each = calloc(n + 1, sizeof *each);
    bandit_status status = each ? BANDIT_OK : BANDIT_NO_MEMORY;
    for (size_t j = 0; status == BANDIT_OK && j < config->n_modelled; j++) {
        const bandit_engine *engine = bandit_engine_of_metric(s->engine.engine, j);
        status = points ? bandit_engine_predict_points(engine, points, n, each, err)
                        : bandit_engine_predict_arms(engine, arms, n, each, err);
        for (size_t i = 0; status == BANDIT_OK && i < n; i++)
            out[j * n + i] = in_units(config->signs[j], &each[i]);
    }
    if (status == BANDIT_OK)
        status = points ? bandit_engine_feasible_points(s->engine.engine, points, n, feasible, err)
                        : bandit_engine_feasible_arms(s->engine.engine, arms, n, feasible, err);
    free(each);
    return status;
}

bool fronts_shows(const study_config *config, const wire_prediction *predictions, size_t stride,
                  double feasible)
{
    bool fine = isfinite(feasible);
    for (size_t j = 0; j < config->n_modelled; j++)
        fine &= question_shows(&predictions[j * stride]);
    return fine;
}

/* Sets predictions and feasible, for o->arms, or for points if they are not NULL. */
static bandit_status look(outlook *o, const study *s, const study_config *config, const double *points,
                          bandit_error *err)
{
    o->predictions = calloc(o->n * config->n_modelled + 1, sizeof *o->predictions);
    o->feasible = calloc(o->n + 1, sizeof *o->feasible);
    if (!o->predictions || !o->feasible)
        return BANDIT_NO_MEMORY;
    return fronts_predict(s, config, o->arms, points, o->n, o->predictions, o->feasible, err);
}

static bool is_shown(const outlook *o, const study_config *config, size_t i)
{
    return fronts_shows(config, &o->predictions[i], o->n, o->feasible[i]);
}

/* Predicts for all arms with results, and keeps those that probably keep the bounds. */
static bandit_status look_at_results(outlook *o, const study *s, const study_config *config,
                                     bandit_error *err)
{
    bandit_checkpoint now;
    bandit_engine_checkpoint(s->engine.engine, &now);
    o->n = now.n_sums;
    o->arms = calloc(o->n + 1, sizeof *o->arms);
    o->pulls = calloc(o->n + 1, sizeof *o->pulls);
    o->unknown = calloc(o->n + 1, sizeof *o->unknown);
    if (!o->arms || !o->pulls || !o->unknown)
        return BANDIT_NO_MEMORY;
    for (size_t i = 0; i < o->n; i++) {
        o->arms[i] = now.sums[i].arm;
        o->pulls[i] = (int64_t)now.sums[i].count;
        for (size_t j = 0; j < config->n_modelled; j++)
            o->unknown[i] |= config->metrics[j].objective &&
                             bandit_insight_set_aside(bandit_engine_of_metric(s->engine.engine, j),
                                                      now.sums[i].arm) == now.sums[i].count;
    }
    return look(o, s, config, NULL, err);
}

/* Sets `which` to the front of the means, or, with one objective, to the best arm; of arms that are `unknown` or not. */
static bool choose_among(const outlook *o, const study_config *config, bool unknown, size_t *which, size_t *n)
{
    size_t k = config->n_objectives, kept = 0;
    double *points = calloc(o->n * k + 1, sizeof *points);
    size_t *all = malloc((o->n + 1) * sizeof *all);
    *n = 0;
    for (size_t i = 0; points && all && i < o->n; i++) {
        if (!(o->feasible[i] >= 0.5) || o->unknown[i] != unknown || !is_shown(o, config, i))
            continue;
        for (size_t j = 0, objective = 0; j < config->n_modelled; j++)
            if (config->metrics[j].objective)
                points[kept * k + objective++] = config->signs[j] * o->predictions[j * o->n + i].mean;
        all[kept++] = i;
    }
    if (points && all)
        *n = bandit_front_find(points, kept, k, which);
    for (size_t f = 0; f < *n; f++)
        which[f] = all[which[f]];
    free(all);
    free(points);
    return points && all;
}

/* Sets `which` to the arms to recommend. Arms of which an objective is not known are only recommended if there are no
 * others: what the model expects there is not what was measured. */
static bool choose_recommended(const outlook *o, const study_config *config, size_t *which, size_t *n)
{
    return choose_among(o, config, false, which, n) && (*n > 0 || choose_among(o, config, true, which, n));
}

/* ---- GET …/best ---------------------------------------------------------------------------------------- */

typedef struct best_answer {
    const study *s;
    question *q;
    const study_config *config;
    observed_results observed;
    outlook outlook;
    size_t *recommended, n_recommended;
    wire_front_point *points; /* of the observed front, then the recommended ones */
    size_t n_points;
    double *values;      /* two for each modelled metric and recommended point: mean and deviation */
    double *rows;        /* in a space: of the points */
    candidate_key *keys; /* of each point */
} best_answer;

static void clear(best_answer *a)
{
    observed_results_clear(&a->observed);
    outlook_clear(&a->outlook);
    free(a->recommended);
    free(a->points);
    free(a->values);
    free(a->rows);
    free(a->keys);
}

/* With one objective, the observed front has one point: that of the best value. Among equal values, the lowest trial's
 * is taken. */
static bool fill_points(best_answer *a)
{
    const study_config *config = a->config;
    const outlook *o = &a->outlook;
    size_t n_observed = a->observed.n_front, modelled = config->n_modelled;
    a->n_points = n_observed + a->n_recommended;
    a->points = calloc(a->n_points + 1, sizeof *a->points);
    a->values = calloc(2 * modelled * a->n_recommended + 1, sizeof *a->values);
    if (!a->points || !a->values)
        return false;
    for (size_t f = 0; f < n_observed; f++) {
        const observed_result *result = &a->observed.list[a->observed.front[f]];
        a->points[f] = (wire_front_point){.trial = result->trial,
                                          .observation = result->observation,
                                          .candidate = result->candidate,
                                          .values = result->values};
    }
    for (size_t f = 0; f < a->n_recommended; f++) {
        size_t i = a->recommended[f];
        double *values = a->values + 2 * modelled * f, *stds = values + modelled;
        for (size_t j = 0; j < modelled; j++) {
            values[j] = o->predictions[j * o->n + i].mean;
            stds[j] = o->predictions[j * o->n + i].std;
        }
        a->points[n_observed + f] = (wire_front_point){.candidate = o->arms[i],
                                                       .values = values,
                                                       .stds = stds,
                                                       .feasible = o->feasible[i],
                                                       .pulls = o->pulls[i]};
    }
    return true;
}

/* Reads the points' rows in a space, and sets the shown members of each candidate. */
static store_status place_points(best_answer *a)
{
    const wire_study *definition = a->config->wire;
    store_error error = {0};
    int64_t listed = (int64_t)a->q->source.reference_candidates;
    size_t width = definition->n_parameters;
    int64_t *indices = malloc((a->n_points + 1) * sizeof *indices);
    store_status status = STORE_OK;
    a->rows = malloc((a->n_points * width + 1) * sizeof *a->rows);
    if (!indices || !a->rows)
        status = STORE_NO_MEMORY;
    for (size_t i = 0; status == STORE_OK && i < a->n_points; i++)
        indices[i] = a->points[i].candidate;
    if (status == STORE_OK && width > 0 && a->n_points > 0)
        status = candidate_rows_at(a->rows, a->s->app->store, a->q->source.number, definition, width, indices,
                                   a->n_points, &error);
    a->keys = malloc((a->n_points + 1) * sizeof *a->keys);
    if (!a->keys)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = candidate_keys_at(a->keys, a->s->app->store, a->q->source.number, a->q->source.has_keys,
                                   indices, a->n_points, &error);
    for (size_t i = 0; status == STORE_OK && i < a->n_points; i++) {
        a->points[i].key = a->keys[i].text;
        candidate_view view =
            candidate_view_of(definition, listed, a->points[i].candidate, a->rows + i * width);
        a->points[i].candidate = view.candidate;
        a->points[i].space = view.space;
        a->points[i].parameters = view.parameters;
    }
    free(indices);
    return status;
}

static void reply_best(const best_answer *a)
{
    const study_config *config = a->config;
    size_t n_observed = a->observed.n_front;
    const wire_front_point *recommended = a->points + n_observed;
    wire_writer w = WIRE_WRITER_INIT;
    if (config->n_objectives > 1) {
        wire_fronts shown = {.definition = config->wire,
                             .has_volume = a->observed.has_volume,
                             .volume = a->observed.volume,
                             .reference = a->observed.has_reference ? a->observed.reference : NULL,
                             .inferred = a->observed.inferred,
                             .observed = a->points,
                             .n_observed = n_observed,
                             .recommended = recommended,
                             .n_recommended = a->n_recommended};
        wire_encode_fronts(&w, &shown);
    } else {
        const wire_front_point *first = &a->points[0];
        wire_best best = {.given = n_observed > 0,
                          .trial = first->trial,
                          .observation = first->observation,
                          .candidate = first->candidate,
                          .key = first->key,
                          .space = first->space,
                          .parameters = first->parameters,
                          .value = n_observed > 0 ? first->values[0] : 0.0};
        wire_encode_feasible_best(&w, config->wire, &best, first->values,
                                  a->n_recommended > 0 ? recommended : NULL);
    }
    question_reply(a->q, &w);
}

void fronts_answer_best(study *s, question *q)
{
    best_answer a = {.s = s, .q = q, .config = q->source.config};
    bandit_description about;
    bandit_error error = {0};
    bandit_status looked = BANDIT_OK;
    store_status status = observed_results_read(&a.observed, s->app->store, q->source.number, a.config);
    if (status == STORE_OK)
        status = observed_results_rank(&a.observed);
    bandit_engine_describe(bandit_engine_of_metric(s->engine.engine, 0), &about);
    if (status == STORE_OK && about.observations > 0)
        looked = look_at_results(&a.outlook, s, a.config, &error);
    if (looked == BANDIT_NO_MEMORY)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK && looked == BANDIT_OK) {
        a.recommended = malloc((a.outlook.n + 1) * sizeof *a.recommended);
        if (!a.recommended || !choose_recommended(&a.outlook, a.config, a.recommended, &a.n_recommended) ||
            !fill_points(&a))
            status = STORE_NO_MEMORY;
        if (status == STORE_OK)
            status = place_points(&a);
    }
    if (status != STORE_OK)
        reply_store_problem(q->request, status);
    else if (looked != BANDIT_OK)
        reply_problem(q->request, REPLY_UNAVAILABLE, NULL, "the model cannot be evaluated");
    else
        reply_best(&a);
    clear(&a);
}

/* ---- POST …/predict ------------------------------------------------------------------------------------ */

void fronts_answer_predictions(study *s, question *q, const uint32_t *arms, const double *points, size_t n)
{
    const study_config *config = q->source.config;
    bandit_error error = {0};
    outlook o = {.n = n, .arms = malloc((n + 1) * sizeof *o.arms)};
    bool fine = true;
    bandit_status status = BANDIT_NO_MEMORY;
    for (size_t i = 0; o.arms && i < n; i++)
        o.arms[i] = arms ? arms[i] : 0;
    if (o.arms)
        status = look(&o, s, config, points, &error);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++)
        fine &= is_shown(&o, config, i);
    if (status == BANDIT_NO_MEMORY) {
        reply_store_problem(q->request, STORE_NO_MEMORY);
    } else if (status != BANDIT_OK) {
        reply_problem(q->request, status == BANDIT_UNSUPPORTED ? REPLY_CONFLICT : REPLY_INVALID, NULL, "%s",
                      error.message);
    } else if (!fine) {
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s", engine_beyond_doubles);
    } else {
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_all_predictions(&w, config->wire, o.predictions, o.feasible, n);
        reply_json(q->request, &w);
    }
    outlook_clear(&o);
}
