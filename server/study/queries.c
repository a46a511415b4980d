/* Questions to the model: predict and model. Other files, such as best.c and candidate_list.c, answer the others. */
#include "server/study/queries.h"

#include "server/base/log.h"
#include "server/data/study_space.h"
#include "server/study/engine_lane.h"
#include "server/study/fronts.h"
#include "server/study/pending_results.h"
#include "server/study/plan.h"
#include "server/study/preview.h"
#include "server/study/requests.h"
#include "server/study/trial_queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void question_done(study *s, study_job *job)
{
    question *q = (question *)((char *)job - offsetof(question, done));
    study_engine_job_done(s);
    bool keyed = q->request->key != NULL;
    if (keyed)
        commit_submit(s->commit);
    commit_hold(s->commit, q->request); /* the state that the answer is based on may not be on disk yet */
    if (keyed)
        commit_submit(s->commit);
    remembered_keep(s, q);
    plan_free(q->preview);
    free(q);
}

static void run_question(study *s, engine_job *job)
{
    question *q = (question *)(void *)job;
    engine_ensure(s, &q->source, &q->outcome);
    if (q->outcome.stored == STORE_ABORTED)
        reply_problem(q->request, REPLY_UNAVAILABLE, NULL, "the study is being reloaded: try again");
    else if (q->outcome.stored != STORE_OK)
        reply_store_problem(q->request, q->outcome.stored);
    else if (q->outcome.error.status != BANDIT_OK)
        reply_problem(q->request, REPLY_CONFLICT, NULL, "the model cannot be built: %s",
                      q->outcome.error.message);
    else if (q->preview)
        preview_answer(s, q);
    else
        q->answer(s, q);
    q->done.run = question_done;
    study_post(s, &q->done);
}

static bool values_wait(const study *s)
{
    size_t n;
    const store_imported *imported = pending_results_observations(s->results, &n);
    for (const trial *t = trial_queue_first(s->queue, TRIALS_REPORTED); t; t = trial_queue_next(t))
        if (t->has_value)
            return true;
    for (size_t i = 0; i < n; i++)
        if (imported[i].has_value)
            return true;
    return pending_results_first_late(s->results) != NULL;
}

void question_fill(question *q, const study *s, study_request *request, remembered_kind kind)
{
    q->source = engine_source_of(s);
    q->request = request;
    q->kind = kind;
    q->best_trial = s->best_trial;
    q->best_value = s->best_value;
    q->imported = s->imported;
    q->forgotten = s->forgotten;
    q->values_wait = values_wait(s);
    q->has_begun = s->batches > 0;
    if (kind != REMEMBERED_NOTHING)
        q->answer = kind == REMEMBERED_BEST ? question_answer_best : question_answer_model;
}

void question_reply(question *q, wire_writer *w)
{
    if (q->kind != REMEMBERED_NOTHING && !w->failed && (q->kept = malloc(w->size + 1))) {
        memcpy(q->kept, w->data, w->size);
        q->kept[w->size] = '\0';
    }
    reply_json(q->request, w);
}

static void ask(study *s, study_request *request, remembered_kind kind, void (*answer)(study *s, question *q))
{
    if (s->state == STUDY_AWAITING_CANDIDATES) {
        reply_problem(request, REPLY_CONFLICT, NULL, "the study has no candidates yet: upload them first");
        return;
    }
    question *q = calloc(1, sizeof *q);
    if (!q) {
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    question_fill(q, s, request, kind);
    if (answer)
        q->answer = answer;
    if (!preview_gather(&q->preview, s)) {
        free(q);
        reply_store_problem(request, STORE_NO_MEMORY);
        return;
    }
    q->job.run = run_question;
    request->held = true;
    study_post_engine(s, &q->job);
}

void question_ask(study *s, study_request *request, void (*answer)(study *s, question *q))
{
    ask(s, request, REMEMBERED_NOTHING, answer);
}

void question_ask_kept(study *s, study_request *request, remembered_kind kind)
{
    if (!remembered_answer(s, request, kind))
        ask(s, request, kind, NULL);
}

wire_prediction question_in_units(const question *q, const bandit_prediction *p)
{
    double sign = q->source.config->minimize ? -1 : 1;
    return (wire_prediction){
        .mean = sign * p->mean + 0.0, .std = sqrt(p->variance), .ucb = sign * p->ucb + 0.0}; /* no -0.0 */
}

bool question_shows(const wire_prediction *p)
{
    return isfinite(p->mean) && isfinite(p->std) && isfinite(p->ucb);
}

bool question_has_noise(const bandit_description *d)
{
    static const double least = 1e-4; /* ratio of the noise variance to the prior variance */
    return d->has_model && d->noise_std * d->noise_std >= least * d->signal_std * d->signal_std;
}

static void answer_engine_error(study_request *request, const bandit_error *error)
{
    if (error->status == BANDIT_NO_MEMORY)
        reply_store_problem(request, STORE_NO_MEMORY);
    else if (error->status == BANDIT_UNSUPPORTED)
        reply_problem(request, REPLY_CONFLICT, NULL, "%s", error->message);
    else
        reply_problem(request, REPLY_INVALID, NULL, "%s", error->message);
}

/* Where to predict: `arms` or `points`. */
typedef struct places {
    uint32_t *arms;
    double *points; /* n x the domain's width */
} places;

/* False: out of memory, or *errors has the problems. */
static bool find_places(places *out, const question *q, const wire_predict *wanted, wire_errors *errors)
{
    const wire_study *definition = q->source.config->wire;
    bool space = definition->domain_type == WIRE_DOMAIN_SPACE, fine = true;
    size_t width = wanted->parameters && space ? definition->n_parameters : wanted->dimension;
    out->arms = calloc(wanted->n, sizeof *out->arms);
    out->points = calloc(wanted->candidates ? 1 : wanted->n * (width ? width : 1), sizeof *out->points);
    if (!out->arms || !out->points)
        return false;
    for (size_t i = 0; wanted->candidates && i < wanted->n; i++) {
        fine &= wanted->candidates[i] < (int64_t)q->source.candidates;
        if (wanted->candidates[i] >= (int64_t)q->source.candidates)
            wire_errors_add(errors, log_format("/candidates/%zu", i), "there are %zu candidates, from 0",
                            q->source.candidates);
        out->arms[i] = (uint32_t)wanted->candidates[i];
    }
    if (wanted->parameters && !space) {
        wire_errors_add(errors, "/parameters", "applies to a domain of type \"space\" only");
        return false;
    }
    for (size_t i = 0; wanted->parameters && i < wanted->n; i++)
        fine &= wire_code_parameters(out->points + i * width, definition->parameters, width,
                                     &wanted->parameters[i], WIRE_WHOLE, log_format("/parameters/%zu", i),
                                     errors);
    if (wanted->points && space)
        wire_errors_add(errors, "/points", "does not apply to a space: name the values in \"parameters\"");
    else if (wanted->points && wanted->dimension != q->source.dimension)
        wire_errors_add(errors, "/points/0", "must have %zu features", q->source.dimension);
    else if (wanted->points)
        memcpy(out->points, wanted->points, wanted->n * width * sizeof *out->points);
    return fine && errors->n == 0;
}

/* Answers with n predictions. shown: memory for them. */
static void answer_predictions(const question *q, const bandit_prediction *raw, wire_prediction *shown,
                               size_t n)
{
    bool fine = true;
    for (size_t i = 0; i < n; i++) {
        shown[i] = question_in_units(q, &raw[i]);
        fine &= question_shows(&shown[i]);
    }
    if (!fine) {
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s", engine_beyond_doubles);
        return;
    }
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_predictions(&w, shown, n);
    reply_json(q->request, &w);
}

/* Are there results, but none that the model includes? Its predictions would be those of ignorance. */
static bool is_before_results(const study *s, const question *q)
{
    bandit_description d;
    bandit_engine_describe(bandit_engine_of_metric(s->engine.engine, 0), &d);
    return d.has_model && d.observations == 0 && q->values_wait;
}

static void predict(study *s, question *q)
{
    const wire_predict *wanted = q->request->context;
    wire_errors errors = {0};
    bandit_error error = {0};
    bandit_prediction *raw = calloc(wanted->n, sizeof *raw);
    wire_prediction *shown = calloc(wanted->n, sizeof *shown);
    places at = {0};
    bool placed = find_places(&at, q, wanted, &errors);
    if (errors.n > 0) {
        reply_undecodable(q->request, WIRE_INVALID, &errors);
    } else if (!raw || !shown || !placed) {
        reply_store_problem(q->request, STORE_NO_MEMORY);
    } else if (is_before_results(s, q)) {
        reply_problem(q->request, REPLY_CONFLICT, NULL,
                      "the model has no results yet: the next batch takes them in");
    } else if (q->source.config->several) {
        fronts_answer_predictions(s, q, at.arms, wanted->candidates ? NULL : at.points, wanted->n);
    } else if ((wanted->candidates
                    ? bandit_engine_predict_arms(s->engine.engine, at.arms, wanted->n, raw, &error)
                    : bandit_engine_predict_points(s->engine.engine, at.points, wanted->n, raw, &error)) !=
               BANDIT_OK) {
        answer_engine_error(q->request, &error);
    } else {
        answer_predictions(q, raw, shown, wanted->n);
    }
    wire_errors_clear(&errors);
    free(raw);
    free(shown);
    free(at.arms);
    free(at.points);
}

void study_predict(study *s, study_request *request)
{
    question_ask(s, request, predict);
}

/* The points of the dictionary, for an open space, whose candidates have no public numbers. NULL: out of
 * memory. */
static double *dictionary_points(const study *s, const bandit_description *d)
{
    size_t width = bandit_arms_point_width(s->engine.arms);
    double *points = malloc((d->n_dictionary + 1) * width * sizeof *points);
    for (size_t i = 0; points && i < d->n_dictionary; i++)
        bandit_arms_coded(s->engine.arms, d->dictionary[i], points + i * width);
    return points;
}

static bool is_shown(const bandit_description *d)
{
    const double figures[] = {d->beta,      d->effective_dimension, d->information_gain, d->lambda,
                              d->noise_std, d->norm_bound,          d->signal_std,       d->shift,
                              d->unit};
    bool fine = true;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        fine &= isfinite(figures[i]);
    for (size_t i = 0; i < d->n_lengthscales; i++)
        fine &= isfinite(d->lengthscales[i]);
    return fine;
}

/* The index of the modelled metric that the request names, or of the first; SIZE_MAX if it is not modelled. */
static size_t asked_metric(const question *q)
{
    const study_config *config = q->source.config;
    const char *name = q->request->context;
    for (size_t j = 0; name && j < config->n_modelled; j++)
        if (strcmp(config->modelled[j]->name, name) == 0)
            return j;
    return name ? SIZE_MAX : 0;
}

void question_answer_model(study *s, question *q)
{
    bandit_description d;
    size_t metric = asked_metric(q);
    if (metric == SIZE_MAX) {
        reply_problem(q->request, REPLY_INVALID, NULL, "the study models no metric '%s'",
                      (const char *)q->request->context);
        return;
    }
    double sign = q->source.config->signs[metric];
    bandit_engine_describe(bandit_engine_of_metric(s->engine.engine, metric), &d);
    if (!d.has_model) {
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s has no model",
                      q->source.config->wire->algorithm.name);
        return;
    }
    if (!is_shown(&d)) {
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s", engine_beyond_doubles);
        return;
    }
    double *points = NULL;
    if (bandit_arms_is_open_space(s->engine.arms) && !(points = dictionary_points(s, &d))) {
        reply_store_problem(q->request, STORE_NO_MEMORY);
        return;
    }
    wire_model shown = {.definition = q->source.config->wire,
                        .points = points,
                        .batch = (int64_t)d.batch,
                        .beta = d.beta,
                        .dictionary = d.dictionary,
                        .n_dictionary = d.n_dictionary,
                        .effective_dimension = d.effective_dimension,
                        .information_gain = d.information_gain,
                        .lambda = d.lambda,
                        .noise_std = d.noise_std,
                        .norm_bound = d.norm_bound,
                        .signal_std = d.signal_std,
                        .offset = sign * d.shift,
                        .scale = d.unit,
                        .warped = d.warped,
                        .warp_offset = sign * d.warp_offset,
                        .warp_scale = d.warp_scale,
                        .warp_power = d.warp_power,
                        .lengthscales = d.lengthscales,
                        .n_lengthscales = d.n_lengthscales,
                        .short_share = d.short_share,
                        .fitted_on = (int64_t)d.fitted_on,
                        .set_aside = (int64_t)d.set_aside,
                        .observations = (int64_t)d.observations,
                        .source_weights = d.n_sources > 0 ? d.source_weights : NULL};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_model(&w, &shown);
    question_reply(q, &w);
    free(points);
}

void study_model(study *s, study_request *request)
{
    if (request->context) /* for one metric */
        question_ask(s, request, question_answer_model);
    else
        question_ask_kept(s, request, REMEMBERED_MODEL);
}
