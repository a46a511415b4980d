/* Reads are the backend's own. */
#include "server/store/backend.h"
#include "server/store/event.h"

#include <stdlib.h>

store_status store_read_studies(store *s, const char *after, size_t limit, store_study_row *row, void *arg,
                                store_error *err)
{
    return s->backend->read_studies(s, after, limit, row, arg, err);
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
    return s->backend->read_study(s, id, row, arg, err);
}

store_status store_read_staged(store *s, int64_t study, store_study_row *row, void *arg, store_error *err)
{
    return s->backend->read_staged(s, study, row, arg, err);
}

store_status store_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                               store_trial_row *row, void *arg, store_error *err)
{
    return s->backend->read_trials(s, study, filter, limit, row, arg, err);
}

store_status store_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                              store_error *err)
{
    return s->backend->read_trial(s, study, trial, row, arg, err);
}

store_status store_read_attempts(store *s, int64_t study, int64_t trial, store_attempt_row *row, void *arg,
                                 store_error *err)
{
    return s->backend->read_attempts(s, study, trial, row, arg, err);
}

store_status store_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                     int64_t through_seq, store_late_result_row *row, void *arg,
                                     store_error *err)
{
    return s->backend->read_late_results(s, study, trial, after_seq, through_seq, row, arg, err);
}

store_status store_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                   store_amendment_row *row, void *arg, store_error *err)
{
    return s->backend->read_amendments(s, study, trial, after_seq, row, arg, err);
}

store_status store_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                     void *arg, store_error *err)
{
    return s->backend->read_measurements(s, study, trial, row, arg, err);
}

store_status store_read_batches(store *s, int64_t study, int64_t after, size_t limit, store_batch_row *row,
                                void *arg, store_error *err)
{
    return s->backend->read_batches(s, study, after, limit, row, arg, err);
}

store_status store_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err)
{
    return s->backend->read_values(s, study, row, arg, err);
}

store_status store_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                     store_observation_row *row, void *arg, store_error *err)
{
    return s->backend->read_observations(s, study, after_seq, through_seq, row, arg, err);
}

store_status store_read_candidates(store *s, int64_t study, int64_t first, size_t n, double *rows,
                                   store_error *err)
{
    return s->backend->read_candidates(s, study, first, n, rows, err);
}

store_status store_read_retired(store *s, int64_t study, store_retired_row *row, void *arg, store_error *err)
{
    return s->backend->read_retired(s, study, row, arg, err);
}

store_status store_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n, double *rows,
                                      store_error *err)
{
    return s->backend->read_candidates_at(s, study, indices, n, rows, err);
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
