/* Answers with the best value of a study, and the point that the model recommends. */
#include "bandit/insight.h"
#include "proto/arrays.h"
#include "server/data/best_value.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/estimated_arms.h"
#include "server/data/study_space.h"
#include "server/study/fronts.h"
#include "server/study/queries.h"
#include "server/study/recommendation.h"
#include "server/study/requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- with a model ----------------------------------------------------------------------------------------- */

/* What the model expects of the arms with results. Without a model, `list` is NULL. */
typedef struct expected {
    const bandit_engine *engine;
    bandit_checkpoint checkpoint;
    bandit_prediction *list; /* as the checkpoint's sums; owned */
    bool careful;            /* there is noise */
} expected;

/* False: the model cannot be evaluated. */
static bool expect(expected *out, const study *s)
{
    bandit_description d;
    bandit_error error = {0};
    bandit_engine_checkpoint(s->engine.engine, &out->checkpoint);
    bandit_engine_describe(s->engine.engine, &d);
    size_t n = out->checkpoint.n_sums;
    out->engine = s->engine.engine;
    out->careful = question_has_noise(&d);
    out->list = NULL;
    if (!d.has_model)
        return true;
    out->list = recommendation_expect(s->engine.engine, out->checkpoint.sums, n, &error);
    return out->list;
}

/* Finds the arm to recommend. Without a model, it is the one with the best mean of its rewards. An arm whose value is only
 * estimated is left out. */
static void recommend(const expected *e, const question *q, const estimated_arms *estimated,
                      wire_recommended *out)
{
    double sign = q->source.config->minimize ? -1 : 1;
    recommendation_point best = RECOMMENDATION_NONE;
    for (size_t i = 0; i < e->checkpoint.n_sums; i++) {
        const bandit_arm_sum *sum = &e->checkpoint.sums[i];
        bandit_prediction p =
            e->list ? e->list[i] : (bandit_prediction){.mean = sum->sum / (double)sum->count};
        recommendation_point one = recommendation_point_of(e->engine, sum, &p);
        if (!estimated_arms_only(estimated, sum->arm, sum->count) &&
            recommendation_beats(&one, &best, e->careful)) {
            best = one;
            *out = (wire_recommended){.given = true,
                                      .candidate = sum->arm,
                                      .mean = sign * one.mean,
                                      .has_std = e->list && isfinite(one.std),
                                      .std = one.std,
                                      .pulls = (int64_t)sum->count};
        }
    }
}

static store_status recommend_by(const expected *e, study *s, const question *q, wire_recommended *out)
{
    estimated_arms estimated = {0};
    store_status status = STORE_OK;
    if (q->source.config->estimates_stopped)
        status = engine_wait_for_store(s, &q->source)
                     ? estimated_arms_read(&estimated, s->app->store, q->source.number, q->source.through_seq)
                     : STORE_ABORTED;
    if (status == STORE_OK)
        recommend(e, q, &estimated, out);
    estimated_arms_clear(&estimated);
    return status;
}

store_status question_recommend(study *s, const question *q, wire_recommended *out, bool *evaluated)
{
    expected e;
    store_status status = STORE_OK;
    *evaluated = expect(&e, s);
    if (*evaluated)
        status = recommend_by(&e, s, q, out);
    free(e.list);
    return status;
}

/* Adds what the model expects at the point of the best value, if the model has a result there. */
static void believe(const expected *e, const question *q, const best_value *observed, wire_best *out)
{
    double sign = q->source.config->minimize ? -1 : 1;
    size_t i = 0;
    while (i < e->checkpoint.n_sums && e->checkpoint.sums[i].arm != observed->candidate)
        i++;
    if (i == e->checkpoint.n_sums || !e->list || !isfinite(e->list[i].mean))
        return;
    const bandit_prediction *p = &e->list[i];
    out->has_expected = true;
    out->expected = sign * p->mean + 0.0; /* no -0.0 */
    out->lucky = (e->careful || bandit_insight_set_aside(e->engine, e->checkpoint.sums[i].arm) > 0) &&
                 sign * observed->value > p->mean + sqrt(p->variance);
}

/* ---- before a batch includes the first results ------------------------------------------------------------- */

/* The results so far, used while there is no model. */
typedef struct results {
    struct result {
        int64_t candidate;
        double pulls, value;
    } * list;
    size_t n, capacity;
    bool no_memory;
} results;

static void add_result(results *r, int64_t candidate, int64_t repeats, double value)
{
    r->no_memory |= !wire_grow(&r->list, &r->capacity, r->n + 1, 64, sizeof *r->list);
    if (!r->no_memory)
        r->list[r->n++] = (struct result){.candidate = candidate, .pulls = (double)repeats, .value = value};
}

static void take_observation(void *arg, const store_imported *row)
{
    if (row->has_value)
        add_result(arg, row->candidate, row->repeats, row->value);
}

static void take_trial(void *arg, const store_trial *row)
{
    if (row->has_value)
        add_result(arg, row->candidate, row->repeats, row->value);
}

static int compare_candidates(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* The candidate with the best mean of its values. */
static wire_recommended best_mean(results *r, bool minimize)
{
    wire_recommended best = {0};
    if (r->n > 0)
        qsort(r->list, r->n, sizeof *r->list, compare_candidates);
    for (size_t i = 0, next; i < r->n; i = next) {
        double pulls = 0, sum = 0;
        for (next = i; next < r->n && r->list[next].candidate == r->list[i].candidate; next++) {
            pulls += r->list[next].pulls;
            sum += r->list[next].pulls * r->list[next].value;
        }
        double mean = sum / pulls;
        if (!best.given || (minimize ? mean < best.mean : mean > best.mean))
            best = (wire_recommended){
                .given = true, .candidate = r->list[i].candidate, .mean = mean, .pulls = (int64_t)pulls};
    }
    return best;
}

static store_status recommend_without_model(const study *s, const question *q, wire_recommended *out)
{
    results r = {0};
    store_error error = {0};
    store_trial_filter told = {.told = true, .told_through = INT64_MAX};
    store *from = s->app->store;
    store_status status =
        store_read_observations(from, q->source.number, 0, INT64_MAX, take_observation, &r, &error);
    if (status == STORE_OK)
        status = store_read_trials(from, q->source.number, &told, SIZE_MAX, take_trial, &r, &error);
    if (status == STORE_OK && r.no_memory)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK)
        *out = best_mean(&r, q->source.config->minimize);
    free(r.list);
    return status;
}

/* ---- the answer ------------------------------------------------------------------------------------------- */

static void take_candidate(void *arg, const store_trial *row)
{
    *(int64_t *)arg = row->candidate;
}

/* In a space, reads the rows of the observed and the recommended candidate, each of the space's width. The
 * caller frees *rows. */
static store_status read_named(double **rows, const study *s, const question *q, const wire_best *observed,
                               const wire_recommended *recommended)
{
    store_error error = {0};
    size_t width = q->source.config->wire->n_parameters;
    store_status status = STORE_OK;
    *rows = malloc((width ? 2 * width : 1) * sizeof **rows);
    if (!*rows)
        return STORE_NO_MEMORY;
    if (width > 0 && observed->given)
        status = candidate_rows(*rows, s->app->store, q->source.number, q->source.config->wire, width,
                                observed->candidate, 1, &error);
    if (status == STORE_OK && width > 0 && recommended->given)
        status = candidate_rows(*rows + width, s->app->store, q->source.number, q->source.config->wire, width,
                                recommended->candidate, 1, &error);
    return status;
}

static void answer_best(const study *s, question *q, wire_best *observed, wire_recommended *recommended)
{
    const wire_study *definition = q->source.config->wire;
    int64_t listed = (int64_t)q->source.reference_candidates;
    double *rows;
    store_error error = {0};
    candidate_key keys[2];
    const int64_t named[] = {observed->given ? observed->candidate : -1,
                             recommended->given ? recommended->candidate : -1};
    store_status status = read_named(&rows, s, q, observed, recommended);
    for (size_t i = 0; status == STORE_OK && i < 2; i++)
        status = candidate_keys_at(&keys[i], s->app->store, q->source.number, q->source.has_keys, &named[i],
                                   1, &error);
    if (status == STORE_OK) {
        candidate_view first = candidate_view_of(definition, listed, observed->candidate, rows);
        candidate_view second =
            candidate_view_of(definition, listed, recommended->candidate, rows + definition->n_parameters);
        observed->candidate = first.candidate;
        observed->space = recommended->space = first.space;
        observed->parameters = first.parameters;
        observed->key = keys[0].text;
        recommended->key = keys[1].text;
        recommended->candidate = second.candidate;
        recommended->parameters = second.parameters;
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_best(&w, observed, recommended);
        question_reply(q, &w);
        observed->key = recommended->key = NULL; /* the texts that they point to are valid only here */
    } else {
        reply_store_problem(q->request, status);
    }
    free(rows);
}

/* The best of all stored values: those reported for trials, as of the question's turn, and imported ones. */
static store_status find_observed(const study *s, const question *q, best_value *best)
{
    store_error error = {0};
    store_status status = STORE_OK;
    *best = (best_value){.given = q->best_trial > 0, .trial = q->best_trial, .value = q->best_value};
    if (best->given)
        status = store_read_trial(s->app->store, q->source.number, best->trial, take_candidate,
                                  &best->candidate, &error);
    if (status == STORE_OK)
        status = best_value_compare_imported(best, s->app->store, q->source.number, q->source.config->wire,
                                             &error);
    return status;
}

static void answer_by_model(study *s, question *q, const best_value *found, wire_best *observed)
{
    wire_recommended recommended = {0};
    expected e;
    store_status status = STORE_OK;
    bool evaluated = expect(&e, s);
    if (evaluated)
        status = recommend_by(&e, s, q, &recommended);
    if (evaluated && found->given)
        believe(&e, q, found, observed);
    free(e.list);
    if (status != STORE_OK)
        reply_store_problem(q->request, status);
    else if (!evaluated)
        reply_problem(q->request, REPLY_UNAVAILABLE, NULL, "the model cannot be evaluated");
    else
        answer_best(s, q, observed, &recommended);
}

static void answer_by_results(const study *s, question *q, wire_best *observed)
{
    wire_recommended recommended = {0};
    store_status status = recommend_without_model(s, q, &recommended);
    q->kind = REMEMBERED_NOTHING; /* every result changes this answer */
    if (status == STORE_OK)
        answer_best(s, q, observed, &recommended);
    else
        reply_store_problem(q->request, status);
}

void question_answer_best(study *s, question *q)
{
    if (q->source.config->several) {
        fronts_answer_best(s, q);
        return;
    }
    best_value found;
    bandit_description d;
    bandit_engine_describe(s->engine.engine, &d);
    store_status status = find_observed(s, q, &found);
    if (status != STORE_OK) {
        reply_store_problem(q->request, status);
        return;
    }
    wire_best observed = {.given = found.given,
                          .trial = found.trial,
                          .observation = found.observation,
                          .candidate = found.candidate,
                          .value = found.value,
                          .with_belief = true};
    if (d.observations > 0)
        answer_by_model(s, q, &found, &observed);
    else
        answer_by_results(s, q, &observed);
}

void study_best(study *s, study_request *request)
{
    if (s->config->several) /* every result changes the fronts: nothing is remembered */
        question_ask(s, request, question_answer_best);
    else
        question_ask_kept(s, request, REMEMBERED_BEST);
}
