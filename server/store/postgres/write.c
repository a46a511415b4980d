/* The writes that differ from those of sql/write.c: arrays in place of many rows, numbers that the writer assigns
 * itself, and studies and trials that it keeps in memory. */
#include "server/store/postgres/postgres.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- studies -------------------------------------------------------------------------------------------- */

store_status pg_study_insert(store *base, const store_event *event, int64_t epoch, study_record *record,
                             store_error *err)
{
    pg_store *s = pg_of(base);
    int64_t study = ++s->studies; /* the commit writes this number */
    *record = (study_record){.study = study, .epoch = epoch, .state = event->u.created.state};
    return pg_enter(s, err, SQL_STUDY_INSERT, "titiii", event->u.created.id, epoch,
                    event->u.created.definition, (int64_t)event->u.created.state, event->time, study);
}

store_status pg_study_load(store *s, int64_t study, study_record *record, store_error *err)
{
    if (pg_known_study(pg_of(s)->known, study, record))
        return STORE_OK;
    store_status status = sql_study_load(s, study, record, err);
    if (!status)
        pg_know_study(pg_of(s)->known, record);
    return status;
}

store_status pg_study_save(store *s, const study_record *record, store_error *err)
{
    pg_know_study(pg_of(s)->known, record);
    return sql_study_save(s, record, err);
}

store_status pg_study_delete(store *s, int64_t study, store_error *err)
{
    pg_known_forget(pg_of(s)->known);
    return sql_study_delete(s, study, err);
}

/* ---- many rows ------------------------------------------------------------------------------------------ */

store_status pg_sums_put(store *s, int64_t study, const store_arm_sum *sums, size_t n, store_error *err)
{
    if (n == 0)
        return STORE_OK;
    int64_t *columns = malloc(3 * n * sizeof *columns);
    if (!columns)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n; i++) {
        columns[i] = sums[i].arm;
        columns[n + i] = (int64_t)sums[i].count;
        memcpy(&columns[2 * n + i], &sums[i].sum, sizeof *columns);
    }
    store_status status =
        pg_enter(pg_of(s), err, SQL_SUMS_PUT, "iIII", study, columns, n, columns + n, n, columns + 2 * n, n);
    free(columns);
    return status;
}

store_status pg_trials_insert(store *s, int64_t study, int64_t first, int64_t batch, const store_pick *picks,
                              size_t n, store_error *err)
{
    if (n == 0)
        return STORE_OK;
    int64_t *candidates = malloc(n * sizeof *candidates);
    double *variances = malloc(n * sizeof *variances);
    store_status status = STORE_OK;
    for (size_t i = 0; candidates && variances && i < n; i++) {
        const trial_record record = {.candidate = picks[i].candidate};
        candidates[i] = picks[i].candidate;
        variances[i] = picks[i].variance;
        pg_know_trial(pg_of(s)->known, study, first + (int64_t)i, &record);
    }
    if (candidates && variances)
        status = pg_enter(pg_of(s), err, SQL_TRIALS_INSERT, "iiiID", study, batch, first, candidates, n,
                          variances, n);
    else
        status = store_fail(err, STORE_NO_MEMORY, "out of memory");
    free(candidates);
    free(variances);
    return status;
}

/* ---- trials --------------------------------------------------------------------------------------------- */

store_status pg_trial_load(store *s, int64_t study, int64_t trial, trial_record *record, store_error *err)
{
    sql_connection *c = sql_writer(s);
    struct pg_known *known = pg_of(s)->known;
    if (pg_known_trial(known, study, trial, record))
        return STORE_OK;
    int64_t first = trial - trial % pg_trials_at_once;
    sql_start(c, (sql_id)PG_TRIALS_LOAD, "iii", study, first, first + pg_trials_at_once);
    while (sql_step(c)) {
        const trial_record row = {.state = (trial_state)sql_integer(c, 1),
                                  .attempt = (int32_t)sql_integer(c, 2),
                                  .candidate = sql_integer(c, 3),
                                  .was_issued = sql_integer(c, 4) != 0,
                                  .has_value = sql_integer(c, 5) != 0};
        if (row.state < TRIAL_STATES)
            pg_know_trial(known, study, sql_integer(c, 0), &row);
    }
    store_status status = sql_finish(c, err);
    if (status || pg_known_trial(known, study, trial, record))
        return status;
    return sql_trial_load(s, study, trial, record, err); /* it reports the problem */
}

store_status pg_trial_issue(store *s, int64_t study, int64_t seq, const store_event *event, store_error *err)
{
    trial_record record;
    int64_t trial = event->u.issued.trial;
    if (pg_known_trial(pg_of(s)->known, study, trial, &record)) {
        record.state = TRIAL_PENDING;
        record.attempt = event->u.issued.attempt;
        record.was_issued = event->time != 0;
        pg_know_trial(pg_of(s)->known, study, trial, &record);
    }
    return sql_trial_issue(s, study, seq, event, err);
}

store_status pg_trial_requeue(store *s, int64_t study, int32_t attempt, const store_event *event,
                              store_error *err)
{
    trial_record record;
    int64_t trial = event->u.requeued.trial;
    if (pg_known_trial(pg_of(s)->known, study, trial, &record)) {
        record.state = TRIAL_QUEUED;
        record.attempt = attempt;
        pg_know_trial(pg_of(s)->known, study, trial, &record);
    }
    return sql_trial_requeue(s, study, attempt, event, err);
}

store_status pg_trial_tell(store *s, int64_t study, int64_t seq, int32_t attempt, const store_event *event,
                           store_error *err)
{
    trial_record record;
    int64_t trial = event->u.told.trial;
    if (pg_known_trial(pg_of(s)->known, study, trial, &record)) {
        record.state = event->u.told.state;
        record.attempt = attempt;
        record.has_value = !isnan(event->u.told.value); /* as in the table */
        pg_know_trial(pg_of(s)->known, study, trial, &record);
    }
    if (event->u.told.attempt == 0)
        return sql_trial_tell(s, study, seq, attempt, event, err);
    store_status status = sql_trial_put_result(s, study, seq, attempt, event, err);
    return status ? status
                  : pg_enter(pg_of(s), err, PG_ATTEMPT_TOLD, "iiiit", study, trial, (int64_t)attempt,
                             event->time, trial_state_name(event->u.told.state));
}

store_status pg_trial_amend(store *s, int64_t study, int64_t seq, const store_event *event, store_error *err)
{
    trial_record record;
    int64_t trial = event->u.amended.trial;
    if (pg_known_trial(pg_of(s)->known, study, trial, &record)) {
        record.state = event->u.amended.state;
        record.has_value = !isnan(event->u.amended.value);
        pg_know_trial(pg_of(s)->known, study, trial, &record);
    }
    return sql_trial_amend(s, study, seq, event, err);
}

store_status pg_touch(store *s, store_error *err)
{
    return pg_enter(pg_of(s), err, SQL_TOUCH, "");
}
