/* Lists of candidates with the model's predictions for them, sorted by number or by a prediction. */
#include "server/base/ranking.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/study_space.h"
#include "server/study/engine_lane.h"
#include "server/study/failures.h"
#include "server/study/fronts.h"
#include "server/study/insight_cache.h"
#include "server/study/queries.h"
#include "server/study/requests.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_sum(const void *arm, const void *sum)
{
    uint32_t a = *(const uint32_t *)arm, b = ((const bandit_arm_sum *)sum)->arm;
    return (a > b) - (a < b);
}

/* Adds the pulls and means of the arms. */
static void take_sums(wire_candidate *shown, const study *s, const question *q, const uint32_t *arms,
                      size_t n)
{
    bandit_checkpoint checkpoint;
    double sign = q->source.config->minimize ? -1 : 1;
    bandit_engine_checkpoint(s->engine.engine, &checkpoint);
    for (size_t i = 0; checkpoint.n_sums > 0 && i < n; i++) {
        const bandit_arm_sum *sum =
            bsearch(&arms[i], checkpoint.sums, checkpoint.n_sums, sizeof *sum, compare_sum);
        if (!sum || sum->count == 0)
            continue;
        shown[i].pulls = (int64_t)sum->count;
        shown[i].mean = sign * sum->sum / (double)sum->count;
    }
}

static bool has_model(const study *s)
{
    bandit_description d;
    bandit_engine_describe(s->engine.engine, &d);
    return d.has_model;
}

/* What the answer is made of, for n arms. */
typedef struct listed {
    uint32_t *arms;
    wire_candidate *shown;
    double *rows; /* n x candidate_width */
    candidate_key *keys;
    wire_prediction *predictions; /* n for each modelled metric */
    double *feasible;
} listed;

/* The arms' posteriors of all modelled metrics. False: the model cannot be evaluated. */
static bool take_all_posteriors(listed *l, const study *s, const question *q, size_t n)
{
    const study_config *config = q->source.config;
    bandit_error error = {0};
    if (fronts_predict(s, config, l->arms, NULL, n, l->predictions, l->feasible, &error) != BANDIT_OK)
        return false;
    for (size_t i = 0; i < n; i++) {
        l->shown[i].several = config->wire;
        l->shown[i].stride = n;
        l->shown[i].feasible = l->feasible[i];
        if (fronts_shows(config, &l->predictions[i], n, l->feasible[i]))
            l->shown[i].posterior = &l->predictions[i];
    }
    return true;
}

/* False: the model cannot be evaluated. */
static bool take_posterior(listed *l, const study *s, const question *q, size_t n)
{
    bandit_error error = {0};
    if (!has_model(s))
        return true;
    if (q->source.config->several)
        return take_all_posteriors(l, s, q, n);
    for (size_t i = 0; i < n; i++) {
        bandit_prediction p;
        if (bandit_engine_predict_arms(s->engine.engine, &l->arms[i], 1, &p, &error) != BANDIT_OK)
            return false;
        l->predictions[i] = question_in_units(q, &p);
        if (question_shows(&l->predictions[i]))
            l->shown[i].posterior = &l->predictions[i];
    }
    return true;
}

/* Computes the keys of all n arms, which are sorted in descending order: the engine maximizes, whatever the metric's
 * goal. */
typedef struct key_job {
    const bandit_engine *engine; /* of the metric; for ORDER_FEASIBLE that of all metrics */
    candidate_order order;
    double *keys;
    size_t n;
    atomic_bool failed; /* the model cannot be evaluated */
} key_job;

enum { ARMS_A_PART = 1024 };

static void take_part(void *arg, size_t index, size_t worker)
{
    key_job *job = arg;
    uint32_t arms[ARMS_A_PART] = {0};
    bandit_prediction p[ARMS_A_PART];
    bandit_error error = {0};
    size_t first = index * ARMS_A_PART, left = job->n - first, m = left < ARMS_A_PART ? left : ARMS_A_PART;
    (void)worker;
    if (bandit_pause()) {
        atomic_store(&job->failed, true);
        return;
    }
    for (size_t i = 0; i < m; i++)
        arms[i] = (uint32_t)(first + i);
    bool feasible = job->order == ORDER_FEASIBLE;
    bandit_status status = feasible
                               ? bandit_engine_feasible_arms(job->engine, arms, m, job->keys + first, &error)
                               : bandit_engine_predict_arms(job->engine, arms, m, p, &error);
    if (status != BANDIT_OK)
        atomic_store(&job->failed, true);
    for (size_t i = 0; status == BANDIT_OK && !feasible && i < m; i++)
        job->keys[first + i] = job->order == ORDER_MEAN  ? p[i].mean
                               : job->order == ORDER_UCB ? p[i].ucb
                                                         : p[i].variance;
}

static void take_pulls(double *keys, size_t n, const study *s, const question *q)
{
    bandit_checkpoint checkpoint = {0};
    if (q->has_begun)
        bandit_engine_checkpoint(s->engine.engine, &checkpoint);
    memset(keys, 0, n * sizeof *keys);
    for (size_t i = 0; i < checkpoint.n_sums; i++)
        keys[checkpoint.sums[i].arm] = (double)checkpoint.sums[i].count;
}

/* False: the model cannot be evaluated. */
static bool take_keys(double *keys, size_t n, const study *s, const question *q, const candidate_range *range)
{
    const bandit_engine *engine = s->engine.engine;
    if (range->order == ORDER_PULLS) {
        take_pulls(keys, n, s, q);
        return true;
    }
    if (range->order != ORDER_FEASIBLE)
        engine = bandit_engine_of_metric(engine, range->metric_index);
    key_job job = {.engine = engine, .order = range->order, .keys = keys, .n = n};
    bandit_executor executor = computing_executor(s->app->computing);
    executor.for_each(executor.context, (n + ARMS_A_PART - 1) / ARMS_A_PART, take_part, &job);
    return !atomic_load(&job.failed);
}

static bool passes(const candidate_range *range, const double *pulls, uint32_t arm)
{
    if (range->which != RETIRED_ANY && range->retired[arm] != (range->which == RETIRED_YES))
        return false;
    return !range->pulls.given || pulls[arm] == (double)range->pulls.value;
}

/* Keeps the arms that pass the filters, out of n, from `first` on. `first` is a number, or, in orders other than by
 * number, a rank among the arms that pass. Sets range->n and range->more. False: out of memory. */
static bool filter_arms(uint32_t *arms, const uint32_t *ranked, size_t n, const study *s, const question *q,
                        candidate_range *range)
{
    bool by_number = range->order == ORDER_NUMBER;
    size_t found = 0, most = range->n;
    int64_t rank = 0;
    double *pulls = malloc((n ? n : 1) * sizeof *pulls);
    if (!pulls)
        return false;
    take_pulls(pulls, n, s, q);
    for (size_t i = by_number ? (size_t)range->first : 0; i < n && !range->more; i++) {
        uint32_t arm = ranked ? ranked[i] : (uint32_t)i;
        if (!passes(range, pulls, arm) || (!by_number && rank++ < range->first))
            continue;
        range->more = found == most;
        if (!range->more)
            arms[found++] = arm;
    }
    range->n = found;
    free(pulls);
    return true;
}

/* All arms in this order. They are kept, because the next page needs them again. NULL: the request has been answered. */
static const uint32_t *ranking(study *s, const question *q, const candidate_range *range)
{
    size_t n = q->source.candidates;
    int order = (int)range->order + CANDIDATE_ORDERS * (int)range->metric_index;
    bandit_description about;
    bandit_engine_describe(s->engine.engine, &about);
    int64_t batch = q->has_begun ? (int64_t)about.batch : -1;
    const uint32_t *kept = insight_cache_ranking(s->engine.insights, batch, order, n);
    if (kept)
        return kept;
    double *keys = malloc((n ? n : 1) * sizeof *keys);
    bool evaluated = keys && take_keys(keys, n, s, q, range);
    uint32_t *arms = evaluated ? ranking_of(keys, n) : NULL;
    free(keys);
    if (keys && !evaluated) {
        reply_problem(q->request, REPLY_UNAVAILABLE, NULL, "the model cannot be evaluated");
        return NULL;
    }
    if (!arms || !insight_cache_keep_ranking(&s->engine.insights, batch, order, arms, n)) {
        reply_store_problem(q->request, STORE_NO_MEMORY);
        return NULL;
    }
    study_count_memory(s);
    return arms;
}

/* Fills in the range->n listed arms. False: the request has been answered. */
static bool choose_arms(uint32_t *arms, study *s, const question *q, candidate_range *range)
{
    size_t all = q->source.candidates;
    if (range->order == ORDER_NUMBER && range->filtered) {
        if (filter_arms(arms, NULL, all, s, q, range))
            return true;
        reply_store_problem(q->request, STORE_NO_MEMORY);
        return false;
    }
    range->more = !range->one && range->first + (int64_t)range->n < (int64_t)all;
    if (range->order == ORDER_NUMBER) {
        for (size_t i = 0; i < range->n; i++)
            arms[i] = (uint32_t)(range->first + (int64_t)i);
        return true;
    }
    if (range->order != ORDER_PULLS && !has_model(s)) {
        reply_problem(q->request, REPLY_CONFLICT, NULL, "%s has no model: sort by pulls or candidate",
                      q->source.config->wire->algorithm.name);
        return false;
    }
    const uint32_t *ranked = ranking(s, q, range);
    if (!ranked)
        return false;
    if (!range->filtered) {
        memcpy(arms, ranked + range->first, range->n * sizeof *arms);
        return true;
    }
    range->more = false;
    if (filter_arms(arms, ranked, all, s, q, range))
        return true;
    reply_store_problem(q->request, STORE_NO_MEMORY);
    return false;
}

static void answer_candidates(const question *q, const candidate_range *range, const uint32_t *arms,
                              const wire_candidate *shown)
{
    wire_writer w = WIRE_WRITER_INIT;
    char token[24];
    int64_t end = range->first + (int64_t)range->n;
    bool by_arm = range->order == ORDER_NUMBER && range->n > 0;
    snprintf(token, sizeof token, "%lld", by_arm ? (long long)arms[range->n - 1] : (long long)(end - 1));
    if (!range->alone)
        wire_list_begin(&w);
    for (size_t i = 0; i < range->n; i++)
        wire_encode_candidate(&w, &shown[i]);
    if (!range->alone)
        wire_list_end(&w, range->more ? token : NULL);
    reply_json(q->request, &w);
}

/* Reads the arms' features, one row per arm. */
static store_status read_rows(double *rows, const study *s, const question *q, const candidate_range *range,
                              const uint32_t *arms, size_t width)
{
    store_error error = {0};
    store_status status = STORE_OK;
    store *st = s->app->store;
    const wire_study *definition = q->source.config->wire;
    int64_t number = q->source.number;
    if (range->order == ORDER_NUMBER && !range->filtered)
        return candidate_rows(rows, st, number, definition, width, range->first, range->n, &error);
    for (size_t i = 0; status == STORE_OK && i < range->n; i++)
        status = candidate_rows(rows + i * width, st, number, definition, width, arms[i], 1, &error);
    return status;
}

static store_status read_keys(candidate_key *keys, const study *s, const question *q, const uint32_t *arms,
                              size_t n)
{
    store_error error = {0};
    store_status status = STORE_OK;
    for (size_t i = 0; status == STORE_OK && i < n; i++) {
        int64_t candidate = arms[i];
        status = candidate_keys_at(&keys[i], s->app->store, q->source.number, q->source.has_keys, &candidate,
                                   1, &error);
    }
    return status;
}

static void show_candidates(study *s, question *q, listed *l)
{
    const candidate_range *range = q->request->context;
    const uint32_t *arms = l->arms;
    const wire_study *definition = q->source.config->wire;
    size_t width = candidate_width(definition);
    int64_t flags_from = range->order == ORDER_NUMBER && !range->filtered ? range->first : 0;
    store_status status = STORE_OK;
    if ((width > 0 || q->source.has_keys) && !engine_wait_for_store(s, &q->source))
        status = STORE_ABORTED;
    if (status == STORE_OK && width > 0)
        status = read_rows(l->rows, s, q, range, arms, width);
    if (status == STORE_OK)
        status = read_keys(l->keys, s, q, arms, range->n);
    if (status != STORE_OK) {
        reply_store_problem(q->request, status);
        return;
    }
    for (size_t i = 0; i < range->n; i++) {
        candidate_view view = candidate_view_of(definition, INT64_MAX, arms[i], l->rows + i * width);
        l->shown[i] = (wire_candidate){.candidate = view.candidate,
                                       .key = l->keys[i].text,
                                       .point = view.point,
                                       .dimension = width,
                                       .space = view.space,
                                       .parameters = view.parameters,
                                       .retired = range->retired[arms[i] - flags_from]};
    }
    if (q->has_begun)
        take_sums(l->shown, s, q, arms, range->n);
    if (take_posterior(l, s, q, range->n))
        answer_candidates(q, range, arms, l->shown);
    else
        reply_problem(q->request, REPLY_UNAVAILABLE, NULL, "the model cannot be evaluated");
}

static void candidates(study *s, question *q)
{
    candidate_range *range = q->request->context;
    size_t n = range->n, width = candidate_width(q->source.config->wire);
    listed l = {.arms = calloc(n + 1, sizeof *l.arms),
                .shown = calloc(n + 1, sizeof *l.shown),
                .rows = calloc(n * width + 1, sizeof *l.rows),
                .keys = calloc(n + 1, sizeof *l.keys),
                .predictions = calloc(n * q->source.config->n_modelled + 1, sizeof *l.predictions),
                .feasible = calloc(n + 1, sizeof *l.feasible)};
    if (!l.arms || !l.shown || !l.rows || !l.keys || !l.predictions || !l.feasible)
        reply_store_problem(q->request, STORE_NO_MEMORY);
    else if (choose_arms(l.arms, s, q, range))
        show_candidates(s, q, &l);
    free(l.arms);
    free(l.shown);
    free(l.rows);
    free(l.keys);
    free(l.predictions);
    free(l.feasible);
}

/* Finds the metric to sort by. False: the request has been answered. */
static bool find_metric(const study *s, study_request *request, candidate_range *range)
{
    const study_config *config = s->config;
    size_t j = 0;
    while (range->metric && j < config->n_modelled && strcmp(config->modelled[j]->name, range->metric) != 0)
        j++;
    range->metric_index = j;
    if (j == config->n_modelled)
        reply_problem(request, REPLY_INVALID, NULL, "query parameter 'sort': the study models no metric '%s'",
                      range->metric);
    else if (range->order == ORDER_FEASIBLE && !config->bounded)
        reply_problem(request, REPLY_INVALID, NULL, "query parameter 'sort': the study has no bounds");
    else
        return true;
    return false;
}

/* A page ends early if its candidates have more numbers in total than this. */
enum { NUMBERS_A_PAGE = 50000 };

void study_list_candidates(study *s, study_request *request)
{
    candidate_range *range = request->context;
    if (range->alone && range->first >= study_candidates(s)) {
        reply_problem(request, REPLY_NOT_FOUND, NULL, "there is no candidate %lld", (long long)range->first);
        return;
    }
    if (!find_metric(s, request, range))
        return;
    int64_t left = study_candidates(s) > range->first ? study_candidates(s) - range->first : 0;
    if (left < (int64_t)range->n)
        range->n = (size_t)left;
    size_t most = NUMBERS_A_PAGE / (candidate_width(s->config->wire) + 1) + 1;
    if (most < range->n)
        range->n = most;
    bool by_number = range->order == ORDER_NUMBER && !range->filtered;
    int64_t flags_from = by_number ? range->first : 0;
    size_t flags = by_number ? range->n : (size_t)study_candidates(s);
    range->retired = calloc(flags + 1, sizeof *range->retired);
    if (!range->retired) {
        reply_store_problem(request, STORE_NO_MEMORY);
    } else if (range->n == 0) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_list_begin(&w);
        wire_list_end(&w, NULL);
        reply_json(request, &w);
    } else {
        for (size_t i = 0; i < flags; i++)
            range->retired[i] = study_is_retired(s, (uint32_t)(flags_from + (int64_t)i));
        question_ask(s, request, candidates);
    }
}
