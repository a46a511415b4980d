/* Reads of trials, their attempts, results and measurements, and of amendments. */
#include "server/store/sqlite/sqlite.h"

/* Columns as in TRIAL_COLUMNS. */
static void read_trial_row(sqlite3_stmt *row, store_trial_row *callback, void *arg)
{
    store_trial trial = {
        .trial = sqlite3_column_int64(row, 0),
        .state = (trial_state)sqlite3_column_int(row, 1),
        .attempt = sqlite3_column_int(row, 2),
        .batch = sqlite3_column_int64(row, 3),
        .candidate = sqlite3_column_int64(row, 4),
        .variance = column_real(row, 5),
        .worker = column_text(row, 6),
        .issued_at = sqlite3_column_int64(row, 7),
        .lease_expires_at = sqlite3_column_int64(row, 8),
        .has_value = sqlite3_column_type(row, 9) != SQLITE_NULL,
        .value = sqlite3_column_double(row, 9),
        .reason = column_text(row, 10),
        .told_at = sqlite3_column_int64(row, 11),
        .told_seq = sqlite3_column_int64(row, 12),
        .repeats = sqlite3_column_int64(row, 13),
        .recorded = column_text(row, 14),
        .metadata = column_text(row, 15),
    };
    callback(arg, &trial);
}

store_status sqlite_read_trials(store *s, int64_t study, const store_trial_filter *filter, size_t limit,
                                store_trial_row *row, void *arg, store_error *err)
{
    const uint32_t open_states = 1u << TRIAL_QUEUED | 1u << TRIAL_PENDING;
    uint32_t states = filter->states ? filter->states : UINT32_MAX;
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement;
    if (filter->told && filter->failed_arms)
        statement = connection_bind(c, SQL_TRIALS_FAILED_ARMS, "iiii", study, filter->after,
                                    reader_limit(limit), filter->told_through);
    else if (filter->told)
        statement =
            connection_bind(c, SQL_TRIALS_TOLD, "iiitiii", study, filter->after, (int64_t)states,
                            filter->worker, reader_limit(limit), filter->told_after, filter->told_through);
    else
        statement = connection_bind(c, (states & ~open_states) ? SQL_TRIALS : SQL_TRIALS_OPEN, "iiiti", study,
                                    filter->after, (int64_t)states, filter->worker, reader_limit(limit));
    while (connection_step(c, statement))
        read_trial_row(statement, row, arg);
    return reader_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_trial(store *s, int64_t study, int64_t trial, store_trial_row *row, void *arg,
                               store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_TRIAL, "ii", study, trial);
    bool found = connection_step(c, statement);
    if (found)
        read_trial_row(statement, row, arg);
    status = connection_finish(c, statement, err);
    if (!status && !found)
        status = store_fail(err, STORE_NOT_FOUND, "study %lld has no trial %lld", (long long)study,
                            (long long)trial);
    return reader_end(s, c, status);
}

store_status sqlite_read_attempts(store *s, int64_t study, int64_t trial, store_attempt_row *row, void *arg,
                                  store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_ATTEMPTS, "ii", study, trial);
    while (connection_step(c, statement)) {
        store_attempt attempt = {
            .attempt = sqlite3_column_int(statement, 0),
            .worker = column_text(statement, 1),
            .issued_at = sqlite3_column_int64(statement, 2),
            .lease_expires_at = sqlite3_column_int64(statement, 3),
            .ended_at = sqlite3_column_int64(statement, 4),
            .outcome = column_text(statement, 5),
        };
        row(arg, &attempt);
    }
    return reader_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_values(store *s, int64_t study, store_value_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_VALUES, "i", study);
    while (connection_step(c, statement))
        row(arg, sqlite3_column_int64(statement, 0), sqlite3_column_double(statement, 1),
            sqlite3_column_int64(statement, 2));
    return reader_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_late_results(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                      int64_t through_seq, store_late_result_row *row, void *arg,
                                      store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement =
        trial ? connection_bind(c, SQL_LATE_OF_TRIAL, "iiii", study, trial, after_seq, through_seq)
              : connection_bind(c, SQL_LATE, "iii", study, after_seq, through_seq);
    while (connection_step(c, statement)) {
        store_late_result result = {
            .trial = sqlite3_column_int64(statement, 0),
            .candidate = sqlite3_column_int64(statement, 1),
            .attempt = sqlite3_column_int(statement, 2),
            .value = sqlite3_column_double(statement, 3),
            .repeats = sqlite3_column_int64(statement, 4),
            .recorded = column_text(statement, 5),
            .metadata = column_text(statement, 6),
            .told_at = sqlite3_column_int64(statement, 7),
            .told_seq = sqlite3_column_int64(statement, 8),
        };
        row(arg, &result);
    }
    return reader_end(s, c, connection_finish(c, statement, err));
}

/* Columns as in AMENDMENT_COLUMNS. */
static void read_amendment_rows(connection *c, sqlite3_stmt *statement, store_amendment_row *row, void *arg)
{
    while (connection_step(c, statement)) {
        store_amendment amendment = {
            .trial = sqlite3_column_int64(statement, 0),
            .observation = sqlite3_column_int64(statement, 1),
            .seq = sqlite3_column_int64(statement, 2),
            .amended_at = sqlite3_column_int64(statement, 3),
            .reason = column_text(statement, 4),
            .was = (trial_state)sqlite3_column_int(statement, 5),
            .had_value = sqlite3_column_type(statement, 6) != SQLITE_NULL,
            .value = sqlite3_column_double(statement, 6),
            .repeats = sqlite3_column_int64(statement, 7),
            .recorded = column_text(statement, 8),
            .was_reason = column_text(statement, 9),
        };
        row(arg, &amendment);
    }
}

store_status sqlite_read_amendments(store *s, int64_t study, int64_t trial, int64_t after_seq,
                                    store_amendment_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement =
        trial ? connection_bind(c, SQL_AMENDMENTS_OF_TRIAL, "iii", study, trial, after_seq)
              : connection_bind(c, SQL_AMENDMENTS, "ii", study, after_seq);
    read_amendment_rows(c, statement, row, arg);
    return reader_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_observation_amendments(store *s, int64_t study, int64_t observation,
                                                store_amendment_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_AMENDMENTS_OF_OBSERVATION, "ii", study, observation);
    read_amendment_rows(c, statement, row, arg);
    return reader_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_measurements(store *s, int64_t study, int64_t trial, store_measurement_row *row,
                                      void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = trial ? connection_bind(c, SQL_MEASUREMENTS_OF_TRIAL, "ii", study, trial)
                                    : connection_bind(c, SQL_MEASUREMENTS, "i", study);
    while (connection_step(c, statement)) {
        store_measurement measurement = {
            .trial = sqlite3_column_int64(statement, 0),
            .attempt = sqlite3_column_int(statement, 1),
            .step = sqlite3_column_int64(statement, 2),
            .value = sqlite3_column_double(statement, 3),
            .time = sqlite3_column_int64(statement, 4),
        };
        row(arg, &measurement);
    }
    return reader_end(s, c, connection_finish(c, statement, err));
}
