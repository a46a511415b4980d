/* Answers with the best value of a study, and the point that the model recommends. */
#include "proto/arrays.h"
#include "server/data/best_value.h"
#include "server/data/candidate_keys.h"
#include "server/data/candidate_rows.h"
#include "server/data/estimated_arms.h"
#include "server/data/study_space.h"
#include "server/study/fronts.h"
#include "server/study/queries.h"
#include "server/study/requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- with a model ----------------------------------------------------------------------------------------- */

/* Finds the evaluated arm with the best posterior mean. If there is noise, it is the one with the best mean
 * less one standard deviation, because a single lucky measurement may have the best mean. Without a model, it
 * is the arm with the best mean of its rewards. An arm whose value is only estimated is left out. False: the model
 * cannot be evaluated. */
static bool recommend(const study *s, const question *q, const estimated_arms *estimated,
                      wire_recommended *out)
{
    bandit_checkpoint checkpoint;
    bandit_description d;
    bandit_error error = {0};
    double best = -INFINITY, sign = q->source.config->minimize ? -1 : 1;
    bandit_engine_checkpoint(s->engine.engine, &checkpoint);
    bandit_engine_describe(s->engine.engine, &d);
    bool careful = question_has_noise(&d);
    for (size_t i = 0; i < checkpoint.n_sums; i++) {
        const bandit_arm_sum *sum = &checkpoint.sums[i];
        bandit_prediction p = {.mean = sum->sum / (double)sum->count};
        if (estimated_arms_only(estimated, sum->arm, sum->count))
            continue;
        if (d.has_model &&
            bandit_engine_predict_arms(s->engine.engine, &sum->arm, 1, &p, &error) != BANDIT_OK)
            return false;
        double std = sqrt(p.variance), worth = careful && isfinite(std) ? p.mean - std : p.mean;
        if (worth > best && isfinite(p.mean)) {
            best = worth;
            *out = (wire_recommended){.given = true,
                                      .candidate = sum->arm,
                                      .mean = sign * p.mean,
                                      .has_std = d.has_model && isfinite(std),
                                      .std = std,
                                      .pulls = (int64_t)sum->count};
        }
    }
    return true;
}

store_status question_recommend(study *s, const question *q, wire_recommended *out, bool *evaluated)
{
    estimated_arms estimated = {0};
    store_status status = STORE_OK;
    if (q->source.config->estimates_stopped)
        status = engine_wait_for_store(s, &q->source)
                     ? estimated_arms_read(&estimated, s->app->store, q->source.number, q->source.through_seq)
                     : STORE_ABORTED;
    if (status == STORE_OK)
        *evaluated = recommend(s, q, &estimated, out);
    estimated_arms_clear(&estimated);
    return status;
}

/* Adds the model's prediction at the point of the best value, if the model has a result there. */
static void believe(const study *s, const question *q, const best_value *observed, wire_best *out)
{
    bandit_checkpoint checkpoint;
    bandit_description d;
    bandit_error error = {0};
    bandit_prediction p;
    double sign = q->source.config->minimize ? -1 : 1;
    size_t i = 0;
    bandit_engine_checkpoint(s->engine.engine, &checkpoint);
    bandit_engine_describe(s->engine.engine, &d);
    while (i < checkpoint.n_sums && checkpoint.sums[i].arm != observed->candidate)
        i++;
    if (i == checkpoint.n_sums || !d.has_model ||
        bandit_engine_predict_arms(s->engine.engine, &checkpoint.sums[i].arm, 1, &p, &error) != BANDIT_OK ||
        !isfinite(p.mean))
        return;
    out->has_expected = true;
    out->expected = sign * p.mean + 0.0; /* no -0.0 */
    out->lucky = question_has_noise(&d) && sign * observed->value > p.mean + sqrt(p.variance);
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

void question_answer_best(study *s, question *q)
{
    if (q->source.config->several) {
        fronts_answer_best(s, q);
        return;
    }
    best_value found;
    wire_recommended recommended = {0};
    bandit_description d;
    bandit_engine_describe(s->engine.engine, &d);
    bool has_results = d.observations > 0, evaluated = true;
    store_status status = find_observed(s, q, &found);
    if (status == STORE_OK)
        status = has_results ? question_recommend(s, q, &recommended, &evaluated)
                             : recommend_without_model(s, q, &recommended);
    if (status != STORE_OK) {
        reply_store_problem(q->request, status);
        return;
    }
    if (!evaluated) {
        reply_problem(q->request, REPLY_UNAVAILABLE, NULL, "the model cannot be evaluated");
        return;
    }
    wire_best observed = {.given = found.given,
                          .trial = found.trial,
                          .observation = found.observation,
                          .candidate = found.candidate,
                          .value = found.value,
                          .with_belief = true};
    if (!has_results)
        q->kind = REMEMBERED_NOTHING; /* every result changes this answer */
    if (has_results && found.given)
        believe(s, q, &found, &observed);
    answer_best(s, q, &observed, &recommended);
}

void study_best(study *s, study_request *request)
{
    if (s->config->several) /* every result changes the fronts: nothing is kept */
        question_ask(s, request, question_answer_best);
    else
        question_ask_kept(s, request, REMEMBERED_BEST);
}
