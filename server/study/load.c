#include "server/study/load.h"

#include "server/base/log.h"
#include "server/data/stop_rule.h"
#include "server/study/amend.h"
#include "server/study/failures.h"
#include "server/study/known_front.h"
#include "server/study/lease.h"
#include "server/study/measure.h"
#include "server/study/patch.h"
#include "server/study/points.h"
#include "server/study/trial_memory.h"
#include "server/watch/metrics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct loading {
    study *s;
    int64_t epoch, last_seq;
    int64_t latest; /* time of the last event */
    char *definition;
    bool failures; /* some trial failed or was infeasible */
    bool failed;   /* out of memory */
    bool strays;   /* a row names a candidate that does not exist */
} loading;

/* Does the candidate exist? Arrays by candidate are only long enough for existing ones. */
static bool is_known(loading *l, int64_t candidate)
{
    bool known = candidate >= 0 && candidate < l->s->candidates;
    l->strays |= !known;
    return known;
}

static void take_study(void *arg, const store_study *row)
{
    loading *l = arg;
    study *s = l->s;
    s->number = row->study;
    s->state = row->state;
    strncpy(s->state_reason, row->state_reason, sizeof s->state_reason - 1);
    s->trials = row->trials;
    s->imported = row->imported;
    s->batches = row->batches;
    s->through_seq = row->through_seq;
    s->candidates = row->candidates;
    s->dimension = row->dimension;
    s->reference_candidates = row->reference_candidates;
    strncpy(s->digest, row->digest, sizeof s->digest - 1);
    s->has_keys = row->has_keys;
    strncpy(s->advice, row->advice, sizeof s->advice - 1);
    s->best_trial = row->best_trial;
    s->best_value = row->best_value;
    s->knows_best_imported = false;
    study_forget_front(s);
    s->cost = row->cost;
    l->epoch = row->epoch;
    l->last_seq = row->last_seq;
    l->latest = row->updated_at;
    l->failures = row->by_state[TRIAL_FAILED] + row->by_state[TRIAL_INFEASIBLE] > 0;
    l->definition = strdup(row->definition);
}

static void take_trial(void *arg, const store_trial *row)
{
    loading *l = arg;
    if (!is_known(l, row->candidate))
        return;
    trial *t = trial_of_row(row);
    if (t && t->state == TRIAL_PENDING)
        lease_resume(l->s, t, l->latest);
    if (!t || !trial_queue_add(l->s->queue, t))
        l->failed = true;
}

static void take_observation(void *arg, const store_imported *row)
{
    loading *l = arg;
    if (is_known(l, row->candidate) && !pending_results_add_observation(l->s->results, row))
        l->failed = true;
}

static void take_late(void *arg, const store_late_result *row)
{
    loading *l = arg;
    if (is_known(l, row->candidate) && !pending_results_add_late(l->s->results, row))
        l->failed = true;
}

/* ---- the queue ----------------------------------------------------------------------------------------- */

/* If at most this many trials lie between two that are needed, their attempts are read as well, because each read is a
 * round trip to PostgreSQL. */
enum { READ_ALONG = 100 };

/* Queued trials that were handed out earlier, by number. */
typedef struct requeued {
    trial **list;
    size_t n;
} requeued;

static int compare_numbers(const void *x, const void *y)
{
    const trial *a = *(trial *const *)x, *b = *(trial *const *)y;
    return (a->id > b->id) - (a->id < b->id);
}

/* Attempts come in the order of the log, so the last one of a trial is used. */
static void take_attempt(void *arg, const store_attempt *row)
{
    const requeued *r = arg;
    trial wanted = {.id = row->trial}, *key = &wanted;
    trial *const *found = bsearch(&key, r->list, r->n, sizeof(trial *), compare_numbers);
    if (!found)
        return;
    (*found)->requeued_at = row->ended_at;
    (*found)->released = strcmp(row->outcome, "released") == 0;
}

static store_status read_attempts(const study *s, requeued *r, store_error *err)
{
    store_status status = STORE_OK;
    for (size_t from = 0, to; status == STORE_OK && from < r->n; from = to) {
        for (to = from + 1; to < r->n && r->list[to]->id - r->list[to - 1]->id <= READ_ALONG;)
            to++;
        status = store_read_attempts(s->app->store, s->number, r->list[from]->id, r->list[to - 1]->id,
                                     take_attempt, r, err);
    }
    return status;
}

static void take_retired(void *arg, uint32_t candidate)
{
    loading *l = arg;
    if (is_known(l, candidate) && !study_mark_retired(l->s, candidate))
        l->failed = true;
}

static void take_last_batch(void *arg, const store_batch *row)
{
    loading *l = arg;
    plan_state_set_continues(l->s->plans, stop_rule_continues(row->stop_rule));
    plan_state_set_unfinished(l->s->plans, stop_rule_is_unfinished(row->stop_rule));
}

/* Moves queued trials that were handed out earlier to their places, which depend on how their last attempts ended. */
static store_status place_queued(study *s, store_error *err)
{
    size_t open = trial_queue_open(s->queue);
    requeued r = {.list = malloc((open ? open : 1) * sizeof(trial *))};
    if (!r.list)
        return STORE_NO_MEMORY;
    for (trial *t = trial_queue_first(s->queue, TRIALS_QUEUED); t; t = trial_queue_next(t))
        if (t->issued_at != 0)
            r.list[r.n++] = t;
    qsort(r.list, r.n, sizeof(trial *), compare_numbers);
    for (size_t i = 0; i < r.n; i++)
        trial_queue_take(s->queue, r.list[i]);
    store_status status = read_attempts(s, &r, err);
    for (size_t i = 0; i < r.n; i++)
        trial_queue_put(s->queue, r.list[i]);
    free(r.list);
    return status;
}

/* Loads the open trials, and those reported since the last batch was planned. */
static store_status load_trials(study *s, loading *l, store_error *err)
{
    store_trial_filter open = {.states = 1u << TRIAL_QUEUED | 1u << TRIAL_PENDING};
    store_trial_filter told = {.told = true, .told_after = s->through_seq, .told_through = INT64_MAX};
    store_status status = store_read_trials(s->app->store, s->number, &open, SIZE_MAX, take_trial, l, err);
    if (status == STORE_OK)
        status = store_read_trials(s->app->store, s->number, &told, SIZE_MAX, take_trial, l, err);
    if (status == STORE_OK)
        status = store_read_late_results(s->app->store, s->number, 0, s->through_seq, INT64_MAX, take_late, l,
                                         err);
    return status == STORE_OK ? place_queued(s, err) : status;
}

/* ---- amendments ---------------------------------------------------------------------------------------- */

/* The current state of a result. */
typedef struct current_result {
    int64_t told_seq;
    uint32_t candidate;
    bool chosen; /* the engine has chosen it, with this variance */
    double variance;
    bool has_value;
    double value;
    int64_t repeats;
    char *recorded; /* owned; NULL: none */
} current_result;

/* Amendments since the last batch, of results that a batch includes. */
typedef struct amendments {
    study *s;
    store_amendment *rows; /* without their strings, except `recorded`, which is owned */
    size_t n;
    current_result now; /* of the current row */
    bool failed;
} amendments;

static void take_amendment(void *arg, const store_amendment *row)
{
    amendments *a = arg;
    store_amendment *rows = realloc(a->rows, (a->n + 1) * sizeof *rows);
    a->failed |= !rows;
    if (!rows)
        return;
    a->rows = rows;
    rows[a->n] = *row;
    rows[a->n].recorded = strdup(row->recorded);
    a->failed |= !rows[a->n++].recorded;
}

static void take_row(void *arg, const store_trial *row)
{
    amendments *a = arg;
    bool chosen = row->batch >= 0 && isfinite(row->variance);
    free(a->now.recorded);
    a->now = (current_result){.told_seq = row->told_seq,
                              .candidate = (uint32_t)row->candidate,
                              .chosen = chosen,
                              .variance = chosen ? row->variance : 0.0,
                              .has_value = row->has_value,
                              .value = row->value,
                              .repeats = row->repeats,
                              .recorded = strdup(row->recorded)};
    a->failed |= !a->now.recorded;
}

static void take_imported(void *arg, const store_imported *row)
{
    amendments *a = arg;
    free(a->now.recorded);
    a->now = (current_result){.told_seq = row->told_seq,
                              .candidate = row->candidate,
                              .has_value = row->has_value,
                              .value = row->value,
                              .repeats = row->repeats,
                              .recorded = strdup(row->recorded)};
    a->failed |= !a->now.recorded;
}

/* Adds the change that an amendment made: from the result that it replaced to the one that the next amendment of the
 * same trial or import replaced, or, for the last amendment, to the current result. */
static bool keep_change(amendments *a, size_t i)
{
    const study *s = a->s;
    const store_amendment *was = &a->rows[i], *next = NULL;
    for (size_t k = a->n - 1; k > i; k--)
        if (a->rows[k].trial == was->trial && a->rows[k].observation == was->observation)
            next = &a->rows[k];
    amendment kept = {.trial = was->trial, .told_seq = a->now.told_seq};
    const told_result before = {
        .has_value = was->had_value, .value = was->value, .repeats = was->repeats, .recorded = was->recorded};
    const told_result after = {.has_value = next ? next->had_value : a->now.has_value,
                               .value = next ? next->value : a->now.value,
                               .repeats = next ? next->repeats : a->now.repeats,
                               .recorded = next ? next->recorded : a->now.recorded};
    kept.change.arm = a->now.candidate;
    kept.change.chosen = a->now.chosen;
    kept.change.variance = a->now.variance;
    return study_fill_change(s, &kept.change, &before, &after) &&
           pending_results_add_amendment(a->s->results, &kept);
}

static store_status load_amendments(study *s, store_error *err)
{
    amendments a = {.s = s};
    store *from = s->app->store;
    store_status status = store_read_amendments(from, s->number, 0, s->through_seq, take_amendment, &a, err);
    for (size_t i = 0; status == STORE_OK && !a.failed && i < a.n; i++) {
        status = a.rows[i].trial ? store_read_trial(from, s->number, a.rows[i].trial, take_row, &a, err)
                                 : store_read_observation_page(from, s->number, a.rows[i].observation - 1, 1,
                                                               take_imported, &a, err);
        if (status == STORE_OK && !a.failed && a.now.told_seq <= s->through_seq && !keep_change(&a, i))
            a.failed = true;
    }
    for (size_t i = 0; i < a.n; i++)
        free((char *)a.rows[i].recorded);
    free(a.now.recorded);
    free(a.rows);
    return status == STORE_OK && a.failed ? STORE_NO_MEMORY : status;
}

store_status study_load(study *s, store_error *err)
{
    loading l = {.s = s};
    wire_errors errors = {0};
    wire_study *definition = NULL;
    assert(!s->loaded);
    store_status status = s->staged ? store_read_staged(s->app->store, s->staged, take_study, &l, err)
                                    : store_read_study(s->app->store, s->id, take_study, &l, err);
    if (status != STORE_OK)
        return status;
    trial_queue_clear(s->queue);
    s->clock_jumps = atomic_load(&s->app->clock_jumps);
    status = l.definition ? study_config_read(&definition, l.definition) : STORE_NO_MEMORY;
    if (status == STORE_OK)
        status = study_config_status(study_config_new(&s->config, definition, &errors));
    if (status == STORE_OK && s->config->parameters)
        s->dimension = (int64_t)s->config->wire->n_parameters;
    if (status == STORE_OK)
        status = commit_open(s->commit, s->number, l.epoch, l.last_seq);
    if (status == STORE_OK)
        status = load_trials(s, &l, err);
    if (status == STORE_OK)
        status = store_read_observations(s->app->store, s->number, s->through_seq, INT64_MAX,
                                         take_observation, &l, err);
    if (status == STORE_OK)
        status = study_load_failures(s, l.failures);
    if (status == STORE_OK)
        status = store_read_batches(s->app->store, s->number, s->batches - 2, 1, take_last_batch, &l, err);
    if (status == STORE_OK)
        status = store_read_retired(s->app->store, s->number, take_retired, &l, err);
    if (status == STORE_OK && s->batches > 0)
        status = load_amendments(s, err);
    if (status == STORE_OK && (l.failed || l.strays))
        status = l.failed ? STORE_NO_MEMORY : STORE_CORRUPT;
    s->loaded = status == STORE_OK;
    if (s->loaded) {
        metrics_add(s->app->metrics, METRICS_LOADED_STUDIES, 1);
        log_event(LOG_DEBUG, "study_loaded", "study", s->id, NULL);
    } else {
        log_event(LOG_ERROR, "study_load_failed", "study", s->id, "reason", store_status_text(status),
                  "detail", errors.n ? errors.items[0].detail : NULL, NULL);
        study_unload(s);
    }
    wire_errors_clear(&errors);
    free(l.definition);
    return status;
}

void study_unload(study *s)
{
    study_refuse_placing(s);
    trial_queue_clear(s->queue);
    study_count_trials(s);
    commit_close(s->commit);
    if (s->config)
        study_free_old_configs(s);
    study_config_free(s->config);
    s->config = NULL;
    remembered_forget(s);
    pending_results_clear(s->results);
    s->expiry_write = 0;
    study_drop_curves(s);
    known_front_clear(&s->front);
    free(s->failures);
    s->failures = NULL;
    s->failures_capacity = 0;
    plan_state_reset(s->plans);
    if (s->loaded)
        metrics_add(s->app->metrics, METRICS_LOADED_STUDIES, -1);
    s->loaded = false;
}
