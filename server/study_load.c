/* A study's memory, from the store. */
#include "server/log.h"
#include "server/study_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct loading {
    study *s;
    int64_t epoch, last_seq;
    char *definition;
    bool failures; /* some trial failed or was infeasible */
    bool failed;   /* out of memory */
} loading;

static void take_study(void *arg, const store_study *row)
{
    loading *l = arg;
    study *s = l->s;
    s->number = row->study;
    s->state = row->state;
    strncpy(s->state_reason, row->state_reason, sizeof s->state_reason - 1);
    s->trials = row->trials;
    s->batches = row->batches;
    s->through_seq = row->through_seq;
    s->candidates = row->candidates;
    s->dimension = row->dimension;
    s->reference_candidates = row->reference_candidates;
    strncpy(s->digest, row->digest, sizeof s->digest - 1);
    s->best_trial = row->best_trial;
    s->best_value = row->best_value;
    l->epoch = row->epoch;
    l->last_seq = row->last_seq;
    l->failures = row->by_state[TRIAL_FAILED] + row->by_state[TRIAL_INFEASIBLE] > 0;
    l->definition = strdup(row->definition);
}

static void take_trial(void *arg, const store_trial *row)
{
    loading *l = arg;
    trial *t = study_trial_of_row(row);
    if (!t || !study_add_trial(l->s, t))
        l->failed = true;
}

static void take_observation(void *arg, int64_t seq, const store_observation *row)
{
    loading *l = arg;
    (void)seq;
    if (!study_keep_observations(l->s, row, 1))
        l->failed = true;
}

static void count_outcome(void *arg, const store_trial *row)
{
    loading *l = arg;
    if (!study_count_outcome(l->s, (uint32_t)row->candidate, row->state))
        l->failed = true;
}

static void count_imported(void *arg, int64_t seq, const store_observation *row)
{
    loading *l = arg;
    (void)seq;
    if (!study_count_outcome(l->s, row->candidate, TRIAL_COMPLETED))
        l->failed = true;
}

static void take_retired(void *arg, uint32_t candidate)
{
    loading *l = arg;
    if (!study_mark_retired(l->s, candidate))
        l->failed = true;
}

/* Trials in force: those that are open, and those told since the last batch was planned. Trials waiting for
 * re-issue (attempt > 0) come first in the queue: reading by number in two passes keeps their order. */
static store_status load_trials(study *s, loading *l, store_error *err)
{
    store_trial_filter open = {.states = 1u << TRIAL_QUEUED | 1u << TRIAL_PENDING};
    store_trial_filter told = {.told = true, .told_after = s->through_seq, .told_through = INT64_MAX};
    store_status status = store_read_trials(s->app->store, s->number, &open, SIZE_MAX, take_trial, l, err);
    if (status == STORE_OK)
        status = store_read_trials(s->app->store, s->number, &told, SIZE_MAX, take_trial, l, err);
    trial *t, *next;
    trial *last_reissued = NULL;
    for (t = TAILQ_FIRST(&s->queued); t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (t->attempt == 0)
            continue;
        TAILQ_REMOVE(&s->queued, t, link);
        if (last_reissued)
            TAILQ_INSERT_AFTER(&s->queued, last_reissued, t, link);
        else
            TAILQ_INSERT_HEAD(&s->queued, t, link);
        last_reissued = t;
    }
    return status;
}

/* Which arms have failed of late, from all trials that an earlier batch has taken in, in their order. */
static store_status load_failures(study *s, loading *l, store_error *err)
{
    store_trial_filter closed = {.told = true, .told_after = 0, .told_through = s->through_seq};
    store_status status =
        store_read_trials(s->app->store, s->number, &closed, SIZE_MAX, count_outcome, l, err);
    if (status == STORE_OK && study_pulls_once(s))
        status = store_read_observations(s->app->store, s->number, 0, s->through_seq, count_imported, l, err);
    return status;
}

store_status study_load(study *s, store_error *err)
{
    loading l = {.s = s};
    wire_errors errors = {0};
    wire_study *definition = NULL;
    assert(!s->loaded);
    store_status status = store_read_study(s->app->store, s->id, take_study, &l, err);
    if (status != STORE_OK)
        return status;
    study_drop_trials(s);
    if (!l.definition ||
        wire_decode_study(&definition, l.definition, strlen(l.definition), &errors) != WIRE_OK ||
        study_config_new(&s->config, definition, &errors) != WIRE_OK)
        status = l.definition ? STORE_CORRUPT : STORE_NO_MEMORY;
    if (status == STORE_OK && s->config->parameters)
        s->dimension = (int64_t)s->config->wire->n_parameters;
    if (status == STORE_OK)
        status = store_lane_open(&s->lane, s->app->store, s->number, l.epoch, l.last_seq);
    if (status == STORE_OK)
        status = load_trials(s, &l, err);
    if (status == STORE_OK)
        status = store_read_observations(s->app->store, s->number, s->through_seq, INT64_MAX,
                                         take_observation, &l, err);
    if (status == STORE_OK && (l.failures || study_pulls_once(s)))
        status = load_failures(s, &l, err);
    if (status == STORE_OK)
        status = store_read_retired(s->app->store, s->number, take_retired, &l, err);
    if (status == STORE_OK && l.failed)
        status = STORE_NO_MEMORY;
    s->loaded = status == STORE_OK;
    if (s->loaded) {
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
    study_drop_trials(s);
    store_lane_close(s->lane);
    s->lane = NULL;
    if (s->config)
        study_free_old_configs(s);
    study_config_free(s->config);
    s->config = NULL;
    study_drop_observations(s, s->n_observations);
    free(s->failures);
    s->failures = NULL;
    s->failures_capacity = 0;
    s->planning = false;
    s->exhausted = false;
    s->renewing = false;
    s->loaded = false;
}
