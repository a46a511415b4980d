/* How well the model predicts results that it has not seen: leave-one-out predictions, and figures computed from
 * them. */
#include "bandit/insight.h"
#include "proto/insight.h"
#include "server/data/candidate_keys.h"
#include "server/data/study_space.h"
#include "server/study/insight_cache.h"
#include "server/study/insight_reply.h"
#include "server/study/requests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREDICTIONS = 1000, /* the most that are shown, evenly spaced */
    OUTLIERS = 50       /* the most that are named, the largest distances first */
};

/* A result at this distance or beyond, in standard deviations, is named as an outlier. */
static const double far_off = 4.0;

/* Shares of a normal distribution, and half the width of their intervals in standard deviations. */
static const struct {
    double share, z;
} intervals[WIRE_INTERVALS] = {
    {0.5, 0.67448975019608171}, {0.8, 1.2815515655446004}, {0.95, 1.959963984540054}};

typedef struct diagnosis {
    const study *s;
    const question *q;
    const bandit_left_out *found;
    size_t n;
    double sign;
    size_t metric;              /* among the modelled ones */
    char key[32];               /* of the answer */
    double *points;             /* in a space: a coded point for each shown item */
    candidate_key *keys;        /* of each item */
    wire_unseen *items;         /* PREDICTIONS + OUTLIERS */
    size_t n_items, n_outliers; /* outliers come first */
    wire_diagnostics shown;
} diagnosis;

/* Adds an item for one of the points. */
static wire_unseen *add_item(diagnosis *d, const bandit_left_out *from)
{
    const wire_study *definition = d->q->source.config->wire;
    wire_unseen *item = &d->items[d->n_items];
    double *row = d->points + d->n_items * definition->n_parameters;
    if (d->q->source.config->parameters)
        bandit_arms_coded(d->s->engine.arms, from->arm, row);
    candidate_view view =
        candidate_view_of(definition, (int64_t)d->q->source.reference_candidates, from->arm, row);
    *item = (wire_unseen){.arm = from->arm,
                          .candidate = view.candidate,
                          .space = view.space,
                          .parameters = view.parameters,
                          .pulls = (int64_t)from->count,
                          .value = d->sign * from->value + 0.0, /* no -0.0 */
                          .mean = d->sign * from->mean + 0.0,
                          .std = from->std,
                          .z = d->sign * from->z + 0.0,
                          .set_aside = from->set_aside};
    d->n_items++;
    return item;
}

static int compare_distances(const void *a, const void *b)
{
    const bandit_left_out *x = *(const bandit_left_out *const *)a, *y = *(const bandit_left_out *const *)b;
    if (x->set_aside != y->set_aside)
        return x->set_aside ? -1 : 1;
    double p = fabs(x->z), q = fabs(y->z);
    return p > q ? -1 : p < q ? 1 : x->arm < y->arm ? -1 : 1;
}

/* Names the outliers: first the results that the model leaves out, then those that are far off. False: out of
 * memory. */
static bool name_outliers(diagnosis *d)
{
    const bandit_left_out **far = calloc(d->n + 1, sizeof *far);
    size_t n = 0;
    for (size_t i = 0; far && i < d->n; i++)
        if (d->found[i].set_aside || fabs(d->found[i].z) > far_off)
            far[n++] = &d->found[i];
    if (n > 0)
        qsort(far, n, sizeof *far, compare_distances);
    for (size_t i = 0; i < n && i < OUTLIERS; i++)
        add_item(d, far[i]);
    d->n_outliers = d->n_items;
    free(far);
    return far != NULL;
}

/* Adds the trial to the outlier at its candidate. */
static void take_trial(void *arg, const store_trial *row)
{
    diagnosis *d = arg;
    if (!row->has_value)
        return;
    for (size_t i = 0; i < d->n_outliers; i++) {
        wire_unseen *item = &d->items[i];
        if (item->arm == row->candidate && item->n_trials < WIRE_UNSEEN_TRIALS)
            item->trials[item->n_trials++] = row->trial;
    }
}

static bool is_shown(const bandit_left_out *p)
{
    return isfinite(p->value) && isfinite(p->mean) && isfinite(p->std) && isfinite(p->z);
}

/* Computes calibration, errors and rank correlation of the results that the model has. */
static bandit_status summarize(diagnosis *d, bandit_error *err)
{
    double *values = calloc(2 * d->n + 1, sizeof *values);
    size_t n = 0, inside[WIRE_INTERVALS] = {0};
    if (!values) {
        bandit_error_set(err, BANDIT_NO_MEMORY, "", "out of memory");
        return BANDIT_NO_MEMORY;
    }
    double *means = values + d->n;
    for (size_t i = 0; i < d->n; i++) {
        const bandit_left_out *p = &d->found[i];
        if (p->set_aside) {
            d->shown.set_aside++;
            continue;
        }
        for (size_t k = 0; k < WIRE_INTERVALS; k++)
            inside[k] += fabs(p->z) <= intervals[k].z;
        values[n] = p->value;
        means[n++] = p->mean;
        d->shown.error += (p->value - p->mean) * (p->value - p->mean);
    }
    d->shown.points = (int64_t)n;
    d->shown.error = sqrt(d->shown.error / (double)(n ? n : 1));
    for (size_t k = 0; k < WIRE_INTERVALS; k++) {
        d->shown.intervals[k].share = intervals[k].share;
        d->shown.intervals[k].inside = (double)inside[k] / (double)(n ? n : 1);
    }
    bandit_status status = bandit_rank_correlation(values, means, n, &d->shown.rank_correlation, err);
    free(values);
    return status;
}

static store_status read_keys(diagnosis *d)
{
    store_error error = {0};
    store_status status = STORE_OK;
    const engine_source *from = &d->q->source;
    for (size_t i = 0; status == STORE_OK && i < d->n_items; i++) {
        status = candidate_keys_at(&d->keys[i], d->s->app->store, from->number, from->has_keys,
                                   &d->items[i].arm, 1, &error);
        d->items[i].key = d->keys[i].text;
    }
    return status;
}

static void show(study *s, diagnosis *d, bandit_error *error)
{
    store_trial_filter told = {.told = true, .told_through = INT64_MAX};
    store_error failure = {0};
    bandit_description about;
    bandit_engine_describe(bandit_engine_of_metric(s->engine.engine, d->metric), &about);
    size_t step = (d->n + PREDICTIONS - 1) / PREDICTIONS;
    bool fine = true;
    for (size_t i = 0; i < d->n; i++)
        fine &= is_shown(&d->found[i]);
    if (!fine) {
        reply_problem(d->q->request, REPLY_CONFLICT, NULL, "%s", engine_beyond_doubles);
        return;
    }
    if (!name_outliers(d)) {
        reply_store_problem(d->q->request, STORE_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < d->n; i += step)
        add_item(d, &d->found[i]);
    store_status stored = read_keys(d);
    if (stored == STORE_OK && d->n_outliers > 0)
        stored =
            store_read_trials(s->app->store, d->q->source.number, &told, SIZE_MAX, take_trial, d, &failure);
    if (stored != STORE_OK) {
        reply_store_problem(d->q->request, stored);
        return;
    }
    if (summarize(d, error) != BANDIT_OK) {
        insight_refuse(d->q->request, error);
        return;
    }
    d->shown.metric = d->q->source.config->modelled[d->metric]->name;
    d->shown.batch = (int64_t)about.batch;
    d->shown.observations = (int64_t)about.observations;
    d->shown.outliers = d->items;
    d->shown.n_outliers = d->n_outliers;
    d->shown.predictions = d->items + d->n_outliers;
    d->shown.n_predictions = d->n_items - d->n_outliers;
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_diagnostics(&w, &d->shown);
    insight_reply(s, d->q->request, (int64_t)about.batch, d->key, &w);
}

static void diagnose(study *s, question *q)
{
    bandit_insight *insight = NULL;
    bandit_left_out *found = NULL;
    bandit_description about;
    bandit_error error = {0};
    size_t n = 0, width = q->source.config->wire->n_parameters, metric = insight_metric_of(q);
    const bandit_engine *engine = bandit_engine_of_metric(s->engine.engine, metric);
    char key[32];
    snprintf(key, sizeof key, "diagnostics %zu", metric);
    bandit_engine_describe(engine, &about);
    if (insight_reply_again(s, q->request, (int64_t)about.batch, key))
        return;
    bandit_status status = bandit_insight_new(&insight, engine, &error);
    if (status == BANDIT_OK)
        status = bandit_insight_leave_one_out(insight, &found, &n, &error);
    diagnosis d = {
        .s = s, .q = q, .found = found, .n = n, .sign = q->source.config->signs[metric], .metric = metric};
    memcpy(d.key, key, sizeof key);
    d.items = calloc(PREDICTIONS + OUTLIERS, sizeof *d.items);
    d.points = calloc((PREDICTIONS + OUTLIERS) * (width + 1), sizeof *d.points);
    d.keys = calloc(PREDICTIONS + OUTLIERS, sizeof *d.keys);
    if (status != BANDIT_OK)
        insight_refuse(q->request, &error);
    else if (!d.items || !d.points || !d.keys)
        reply_store_problem(q->request, STORE_NO_MEMORY);
    else
        show(s, &d, &error);
    free(d.items);
    free(d.points);
    free(d.keys);
    free(found);
    bandit_insight_free(insight);
}

void study_diagnostics(study *s, study_request *request)
{
    const input_query *wanted = request->context;
    if (insight_is_modelled(s, request, wanted->metric))
        question_ask(s, request, diagnose);
}
