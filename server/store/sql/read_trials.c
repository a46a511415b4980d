/* Reads of trials, their attempts, results and measurements, and of amendments. */
#include "server/store/sql/sql.h"

/* Columns as in TRIAL_COLUMNS. */
static void read_trial_row(sql_connection *c, store_trial_row *callback, void *arg)
{
    store_trial trial = {
        .trial = sql_integer(c, 0),
        .state = (trial_state)sql_integer(c, 1),
        .attempt = (int32_t)sql_integer(c, 2),
        .batch = sql_integer(c, 3),
        .candidate = sql_integer(c, 4),
        .variance = sql_real(c, 5),
        .worker = sql_text(c, 6),
        .issued_at = sql_integer(c, 7),
        .lease_expires_at = sql_integer(c, 8),
        .has_value = !sql_is_null(c, 9),
        .value = sql_number(c, 9),
        .reason = sql_text(c, 10),
        .told_at = sql_integer(c, 11),
        .told_seq = sql_integer(c, 12),
        .repeats = sql_integer(c, 13),
        .recorded = sql_text(c, 14),
        .metadata = sql_text(c, 15),
        .cost = sql_number(c, 16),
    };
    callback(arg, &trial);
}

store_status sql_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                             store_trial_row *row, void *arg, store_error *err)
{
    const uint32_t open_states = 1u << TRIAL_QUEUED | 1u << TRIAL_PENDING;
    uint32_t states = filter->states ? filter->states : UINT32_MAX;
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    if (filter->told && filter->failed_arms)
        sql_start(c, SQL_TRIALS_FAILED_ARMS, "iiii", study, filter->after, sql_limit(limit),
                  filter->told_through);
    else if (filter->told)
        sql_start(c, SQL_TRIALS_TOLD, "iiitiii", study, filter->after, (int64_t)states, filter->worker,
                  sql_limit(limit), filter->told_after, filter->told_through);
    else
        sql_start(c, (states & ~open_states) ? SQL_TRIALS : SQL_TRIALS_OPEN, "iiiti", study, filter->after,
                  (int64_t)states, filter->worker, sql_limit(limit));
    while (sql_step(c))
        read_trial_row(c, row, arg);
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                            store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_TRIAL, "ii", study, trial);
    bool found = sql_step(c);
    if (found)
        read_trial_row(c, row, arg);
    status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld", (long long)study,
                            (long long)trial);
    return sql_end_read(s, c, status);
}

store_status sql_read_attempts(store *s, int64_t study, int64_t first, int64_t last, store_attempt_row *row,
                               void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_ATTEMPTS, "iii", study, first, last);
    while (sql_step(c)) {
        store_attempt attempt = {
            .trial = sql_integer(c, 0),
            .attempt = (int32_t)sql_integer(c, 1),
            .worker = sql_text(c, 2),
            .issued_at = sql_integer(c, 3),
            .lease_expires_at = sql_integer(c, 4),
            .ended_at = sql_integer(c, 5),
            .outcome = sql_text(c, 6),
        };
        row(arg, &attempt);
    }
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_VALUES, "i", study);
    while (sql_step(c))
        row(arg, sql_integer(c, 0), sql_number(c, 1), sql_integer(c, 2));
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                   int64_t through_seq, store_late_result_row *row, void *arg,
                                   store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    if (trial)
        sql_start(c, SQL_LATE_OF_TRIAL, "iiii", study, trial, after_seq, through_seq);
    else
        sql_start(c, SQL_LATE, "iii", study, after_seq, through_seq);
    while (sql_step(c)) {
        store_late_result result = {
            .trial = sql_integer(c, 0),
            .candidate = sql_integer(c, 1),
            .attempt = (int32_t)sql_integer(c, 2),
            .value = sql_number(c, 3),
            .repeats = sql_integer(c, 4),
            .recorded = sql_text(c, 5),
            .metadata = sql_text(c, 6),
            .told_at = sql_integer(c, 7),
            .told_seq = sql_integer(c, 8),
            .cost = sql_number(c, 9),
        };
        row(arg, &result);
    }
    return sql_end_read(s, c, sql_finish(c, err));
}

/* Columns as in AMENDMENT_COLUMNS. */
static void read_amendment_rows(sql_connection *c, store_amendment_row *row, void *arg)
{
    while (sql_step(c)) {
        store_amendment amendment = {
            .trial = sql_integer(c, 0),
            .observation = sql_integer(c, 1),
            .seq = sql_integer(c, 2),
            .amended_at = sql_integer(c, 3),
            .reason = sql_text(c, 4),
            .was = (trial_state)sql_integer(c, 5),
            .had_value = !sql_is_null(c, 6),
            .value = sql_number(c, 6),
            .repeats = sql_integer(c, 7),
            .recorded = sql_text(c, 8),
            .was_reason = sql_text(c, 9),
        };
        row(arg, &amendment);
    }
}

store_status sql_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                 store_amendment_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    if (trial)
        sql_start(c, SQL_AMENDMENTS_OF_TRIAL, "iii", study, trial, after_seq);
    else
        sql_start(c, SQL_AMENDMENTS, "ii", study, after_seq);
    read_amendment_rows(c, row, arg);
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_observation_amendments(store *s, int64_t study, int64_t observation,
                                             store_amendment_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_AMENDMENTS_OF_OBSERVATION, "ii", study, observation);
    read_amendment_rows(c, row, arg);
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                   void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    if (trial)
        sql_start(c, SQL_MEASUREMENTS_OF_TRIAL, "ii", study, trial);
    else
        sql_start(c, SQL_MEASUREMENTS, "i", study);
    while (sql_step(c)) {
        store_measurement measurement = {
            .trial = sql_integer(c, 0),
            .attempt = (int32_t)sql_integer(c, 1),
            .step = sql_integer(c, 2),
            .value = sql_number(c, 3),
            .time = sql_integer(c, 4),
        };
        row(arg, &measurement);
    }
    return sql_end_read(s, c, sql_finish(c, err));
}
