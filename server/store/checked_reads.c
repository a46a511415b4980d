/* Reads, for every backend. A damaged database may hold any value, so each row is checked for values that
 * cannot have been written; code above the store relies on that. */
#include "server/store/backend.h"
#include "server/store/event.h"

#include <math.h>
#include <stdlib.h>

/* ---- rows ---------------------------------------------------------------------------------------------- */

typedef struct passing {
    union {
        store_study_row *study;
        store_trial_row *trial;
        store_late_result_row *late;
        store_amendment_row *amendment;
        store_measurement_row *measurement;
        store_batch_row *batch;
        store_value_row *value;
        store_observation_row *observation;
    } row;
    void *arg;
    int64_t study;
    store_status status; /* STORE_CORRUPT after the first invalid row: no further rows are passed on */
    store_error *err;
} passing;

/* True: the row may be passed on. */
static bool is_sound(passing *p, bool sound, const char *what, int64_t number)
{
    if (p->status == STORE_OK && !sound)
        p->status = store_fail(p->err, STORE_CORRUPT, "study %lld: %s %lld is damaged", (long long)p->study,
                               what, (long long)number);
    return p->status == STORE_OK;
}

static store_status ended(const passing *p, store_status status)
{
    return status ? status : p->status;
}

static bool is_candidate(int64_t candidate)
{
    return candidate >= 0 && candidate <= UINT32_MAX;
}

static bool is_cost(double cost)
{
    return isfinite(cost) && cost >= 0.0;
}

static bool counts_are_sound(const store_study *s)
{
    bool sound = s->trials >= 0 && s->batches >= 0 && s->last_seq >= 0;
    for (int i = 0; i < TRIAL_STATES; i++)
        sound = sound && s->by_state[i] >= 0;
    return sound;
}

static bool candidates_are_sound(const store_study *s)
{
    return is_candidate(s->candidates) && s->reference_candidates >= 0 &&
           s->reference_candidates <= s->candidates && s->dimension >= (s->candidates > 0) &&
           s->dimension <= INT32_MAX;
}

static bool study_is_sound(const store_study *s)
{
    bool best = s->best_trial == 0 ||
                (s->best_trial > 0 && s->best_trial <= s->trials && is_candidate(s->best_candidate));
    return (int)s->state >= 0 && (int)s->state < STUDY_STATES && best && isfinite(s->best_value) &&
           is_cost(s->cost) && counts_are_sound(s) && candidates_are_sound(s);
}

static void pass_study(void *arg, const store_study *row)
{
    passing *p = arg;
    p->study = row->study;
    if (is_sound(p, study_is_sound(row), "its row, log position", row->last_seq))
        p->row.study(p->arg, row);
}

/* In a list, a damaged study is marked, and the other studies are shown as usual. */
static void pass_listed(void *arg, const store_study *row)
{
    passing *p = arg;
    const store_study damaged = {.study = row->study,
                                 .id = row->id,
                                 .definition = "",
                                 .state_reason = "",
                                 .digest = "",
                                 .advice = "",
                                 .damaged = true};
    p->row.study(p->arg, study_is_sound(row) ? row : &damaged);
}

static void pass_trial(void *arg, const store_trial *row)
{
    passing *p = arg;
    if (is_sound(p,
                 (int)row->state >= 0 && row->state < TRIAL_STATES && row->attempt >= 0 &&
                     is_candidate(row->candidate) && !isinf(row->variance) &&
                     (!row->has_value || isfinite(row->value)) && is_cost(row->cost),
                 "trial", row->trial))
        p->row.trial(p->arg, row);
}

static void pass_late(void *arg, const store_late_result *row)
{
    passing *p = arg;
    if (is_sound(p, is_candidate(row->candidate) && isfinite(row->value) && is_cost(row->cost),
                 "a late result of trial", row->trial))
        p->row.late(p->arg, row);
}

static void pass_amendment(void *arg, const store_amendment *row)
{
    passing *p = arg;
    if (is_sound(p,
                 (int)row->was >= 0 && row->was < TRIAL_STATES && (!row->had_value || isfinite(row->value)),
                 row->trial ? "an amendment of trial" : "an amendment of imported result",
                 row->trial ? row->trial : row->observation))
        p->row.amendment(p->arg, row);
}

static void pass_measurement(void *arg, const store_measurement *row)
{
    passing *p = arg;
    if (is_sound(p, row->trial > 0 && row->attempt >= 0 && isfinite(row->value), "a measurement of trial",
                 row->trial))
        p->row.measurement(p->arg, row);
}

static void pass_batch(void *arg, const store_batch *row)
{
    passing *p = arg;
    if (is_sound(p,
                 isfinite(row->ratio) && isfinite(row->beta) && isfinite(row->update_seconds) &&
                     isfinite(row->select_seconds),
                 "batch", row->batch))
        p->row.batch(p->arg, row);
}

static void pass_value(void *arg, int64_t trial, double value, int64_t told_at)
{
    passing *p = arg;
    if (is_sound(p, isfinite(value), "trial", trial))
        p->row.value(p->arg, trial, value, told_at);
}

static void pass_observation(void *arg, const store_imported *row)
{
    passing *p = arg;
    bool is_state = row->has_value ? row->state == TRIAL_COMPLETED
                                   : row->state == TRIAL_FAILED || row->state == TRIAL_INFEASIBLE;
    if (is_sound(p, is_state && row->observation > 0 && isfinite(row->value) && is_cost(row->cost),
                 "imported result", row->observation))
        p->row.observation(p->arg, row);
}

/* ---- reads --------------------------------------------------------------------------------------------- */

store_status store_read_studies(store *s, const store_study_filter *filter, size_t limit,
                                store_study_row *row, void *arg, store_error *err)
{
    passing p = {.row.study = row, .arg = arg};
    return s->backend->read_studies(s, filter, limit, pass_listed, &p, err);
}

store_status store_count_studies(store *s, size_t *n, store_error *err)
{
    *n = 0;
    return s->backend->count_studies(s, n, err);
}

store_status store_read_totals(store *s, store_totals *out, store_error *err)
{
    *out = (store_totals){0};
    return s->backend->read_totals(s, out, err);
}

store_status store_read_study(store *s, const char *id, store_study_row *row, void *arg, store_error *err)
{
    passing p = {.row.study = row, .arg = arg, .err = err};
    return ended(&p, s->backend->read_study(s, id, pass_study, &p, err));
}

store_status store_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err)
{
    passing p = {.row.study = row, .arg = arg, .err = err};
    return ended(&p, s->backend->read_staged(s, study, pass_study, &p, err));
}

store_status store_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                               store_trial_row *row, void *arg, store_error *err)
{
    passing p = {.row.trial = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_trials(s, study, filter, limit, pass_trial, &p, err));
}

store_status store_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                              store_error *err)
{
    passing p = {.row.trial = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_trial(s, study, trial, pass_trial, &p, err));
}

store_status store_read_attempts(store *s, int64_t study, int64_t first, int64_t last, store_attempt_row *row,
                                 void *arg, store_error *err)
{
    return s->backend->read_attempts(s, study, first, last, row, arg, err);
}

store_status store_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                     int64_t through_seq, store_late_result_row *row, void *arg,
                                     store_error *err)
{
    passing p = {.row.late = row, .arg = arg, .study = study, .err = err};
    return ended(&p,
                 s->backend->read_late_results(s, study, trial, after_seq, through_seq, pass_late, &p, err));
}

store_status store_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                   store_amendment_row *row, void *arg, store_error *err)
{
    passing p = {.row.amendment = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_amendments(s, study, trial, after_seq, pass_amendment, &p, err));
}

store_status store_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                     void *arg, store_error *err)
{
    passing p = {.row.measurement = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_measurements(s, study, trial, pass_measurement, &p, err));
}

store_status store_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                                void *arg, store_error *err)
{
    passing p = {.row.batch = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_batches(s, study, after, limit, pass_batch, &p, err));
}

store_status store_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err)
{
    passing p = {.row.value = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_values(s, study, pass_value, &p, err));
}

store_status store_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                     store_observation_row *row, void *arg, store_error *err)
{
    passing p = {.row.observation = row, .arg = arg, .study = study, .err = err};
    return ended(&p,
                 s->backend->read_observations(s, study, after_seq, through_seq, pass_observation, &p, err));
}

store_status store_read_observation_page(store *s, int64_t study, int64_t after, size_t limit,
                                         store_observation_row *row, void *arg, store_error *err)
{
    passing p = {.row.observation = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_observation_page(s, study, after, limit, pass_observation, &p, err));
}

store_status store_read_observation_amendments(store *s, int64_t study, int64_t observation,
                                               store_amendment_row *row, void *arg, store_error *err)
{
    passing p = {.row.amendment = row, .arg = arg, .study = study, .err = err};
    return ended(&p, s->backend->read_observation_amendments(s, study, observation, pass_amendment, &p, err));
}

store_status store_fail_dimension(store_error *err, int64_t study, size_t dimension)
{
    return store_fail(err, STORE_CORRUPT, "the candidates of study %lld do not have %zu values each",
                      (long long)study, dimension);
}

store_status store_read_candidates(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                   double *rows, store_error *err)
{
    return s->backend->read_candidates(s, study, first, n, dimension, rows, err);
}

store_status store_read_retired(store *s, int64_t study, store_retired_row *row, void *arg, store_error *err)
{
    return s->backend->read_retired(s, study, row, arg, err);
}

store_status store_read_keys(store *s, int64_t study, int64_t first, size_t limit, store_key_row *row,
                             void *arg, store_error *err)
{
    return s->backend->read_keys(s, study, first, limit, row, arg, err);
}

store_status store_read_keys_at(store *s, int64_t study, const int64_t *indices, size_t n, store_key_row *row,
                                void *arg, store_error *err)
{
    return s->backend->read_keys_at(s, study, indices, n, row, arg, err);
}

store_status store_find_key(store *s, int64_t study, const char *key, int64_t *candidate, store_error *err)
{
    return s->backend->find_key(s, study, key, candidate, err);
}

store_status store_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                      size_t dimension, double *rows, store_error *err)
{
    return s->backend->read_candidates_at(s, study, indices, n, dimension, rows, err);
}

store_status store_read_engine_state(store *s, int64_t study, store_engine_state *out, store_error *err)
{
    *out = (store_engine_state){0};
    store_status status = s->backend->read_engine_state(s, study, out, err);
    if (status)
        store_engine_state_clear(out);
    return status;
}

void store_engine_state_clear(store_engine_state *state)
{
    free(state->dictionary);
    free(state->sums);
    free(state->state);
    *state = (store_engine_state){0};
}

store_status store_read_answer(store *s, const char *token, const char *path, const char *key, int64_t now,
                               store_answer_row *row, void *arg, store_error *err)
{
    return s->backend->read_answer(s, token, path, key, now, row, arg, err);
}

store_status store_read_setting(store *s, const char *name, store_setting_row *row, void *arg,
                                store_error *err)
{
    return s->backend->read_setting(s, name, row, arg, err);
}

store_status store_read_tokens(store *s, int64_t after, size_t limit, store_token_row *row, void *arg,
                               store_error *err)
{
    return s->backend->read_tokens(s, after, limit, row, arg, err);
}

store_status store_read_log(store *s, int64_t study, int64_t after_seq, size_t limit, store_log_row *row,
                            void *arg, store_error *err)
{
    return s->backend->read_log(s, study, after_seq, limit, row, arg, err);
}

typedef struct event_reading {
    store_event_row *row;
    void *arg;
    store_status status;
    store_error *err;
} event_reading;

static void take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    event_reading *r = arg;
    store_event *event = NULL;
    if (r->status == STORE_OK)
        r->status = store_event_decode(&event, type, time, payload, r->err);
    if (event)
        r->row(r->arg, seq, event);
    free(event);
}

store_status store_read_events(store *s, int64_t study, int64_t after_seq, size_t limit, store_event_row *row,
                               void *arg, store_error *err)
{
    event_reading r = {.row = row, .arg = arg, .err = err};
    store_status status = s->backend->read_log(s, study, after_seq, limit, take_entry, &r, err);
    return status == STORE_OK ? r.status : status;
}
