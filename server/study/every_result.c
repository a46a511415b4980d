#include "server/study/every_result.h"

#include "server/data/definition.h"
#include "server/study/pending_results.h"
#include "server/study/trial_queue.h"

typedef struct results_visit {
    study *s;
    visit_result *visit;
    void *arg;
} results_visit;

static void visit_value(void *arg, int64_t id, double value, int64_t told_at)
{
    results_visit *v = arg;
    (void)told_at;
    if (!trial_queue_find(v->s->queue, id)) /* a trial in memory may be newer than its row */
        v->visit(v->arg, id, value, NULL);
}

static void visit_row(void *arg, const store_trial *row)
{
    results_visit *v = arg;
    if (row->has_value && !trial_queue_find(v->s->queue, row->trial))
        v->visit(v->arg, row->trial, row->value, row->recorded);
}

static void visit_late(void *arg, const store_late_result *row)
{
    results_visit *v = arg;
    if (row->attempt != ESTIMATED_ATTEMPT)
        v->visit(v->arg, row->trial, row->value, row->recorded);
}

static void visit_trials(results_visit *v, trial_list list)
{
    for (const trial *t = trial_queue_first(v->s->queue, list); t; t = trial_queue_next(t))
        if (t->has_value)
            v->visit(v->arg, t->id, t->value, t->recorded);
}

/* With several modelled metrics, all values of a result are needed. */
static store_status visit_stored(results_visit *v)
{
    const study *s = v->s;
    store_error error = {0};
    store_trial_filter told = {.told = true, .told_through = INT64_MAX};
    return s->config->several
               ? store_read_trials(s->app->store, s->number, &told, SIZE_MAX, visit_row, v, &error)
               : store_read_values(s->app->store, s->number, visit_value, v, &error);
}

store_status study_visit_results(study *s, visit_result *visit, void *arg)
{
    results_visit v = {.s = s, .visit = visit, .arg = arg};
    store_error error = {0};
    store_status status = visit_stored(&v);
    if (status == STORE_OK)
        status = store_read_late_results(s->app->store, s->number, 0, 0, INT64_MAX, visit_late, &v, &error);
    visit_trials(&v, TRIALS_REPORTED);
    visit_trials(&v, TRIALS_JOINED);
    const late_result *late = pending_results_first_late(s->results);
    for (; late; late = pending_results_next_late(late))
        if (late->attempt != ESTIMATED_ATTEMPT)
            visit(arg, late->trial, late->value, late->recorded);
    return status;
}

typedef struct imported_visit {
    study *s;
    visit_imported *visit;
    void *arg;
} imported_visit;

/* A result in memory may be newer than its row. */
static void visit_newest(void *arg, const store_imported *row)
{
    imported_visit *v = arg;
    const store_imported *known = pending_results_find_observation(v->s->results, row->observation);
    if (known)
        row = known;
    if (row->has_value)
        v->visit(v->arg, row);
}

store_status study_visit_imported(study *s, visit_imported *visit, void *arg)
{
    imported_visit v = {.s = s, .visit = visit, .arg = arg};
    store_error error = {0};
    size_t n;
    if (s->imported == 0)
        return STORE_OK;
    store_status status =
        store_read_observations(s->app->store, s->number, 0, INT64_MAX, visit_newest, &v, &error);
    const store_imported *pending = pending_results_observations(s->results, &n);
    for (size_t i = 0; i < n; i++)
        if (pending[i].has_value)
            visit(arg, &pending[i]);
    return status;
}
