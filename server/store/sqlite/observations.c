/* Writes and reads imported results. */
#include "server/store/sqlite/sqlite.h"

store_status sqlite_observation_insert(store *s, int64_t study, const store_imported *o, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_OBSERVATION_INSERT, "iiiiiidi", study,
                          o->observation, o->told_seq, o->imported_at, (int64_t)o->candidate,
                          (int64_t)o->state, o->value, o->repeats);
}

static store_status load_has_value(connection *c, int64_t study, int64_t number, bool *out, store_error *err)
{
    sqlite3_stmt *row = connection_bind(c, SQL_OBSERVATION_HAS_VALUE, "ii", study, number);
    bool found = connection_step(c, row);
    *out = found && sqlite3_column_int(row, 0);
    store_status status = connection_finish(c, row, err);
    if (!status && !found)
        status = store_fail(err, STORE_CORRUPT, "imported result %lld of study %lld is missing",
                            (long long)number, (long long)study);
    return status;
}

store_status sqlite_observation_amend(store *s, int64_t study, int64_t seq, const store_event *event,
                                      bool *had_value, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    int64_t number = event->u.reobserved.observation;
    store_status status = load_has_value(c, study, number, had_value, err);
    if (!status)
        status = connection_run(c, err, SQL_OBSERVATION_KEEP_AMENDED, "iiiit", study, number, seq,
                                event->time, event->u.reobserved.reason);
    if (status)
        return status;
    return connection_run(c, err, SQL_OBSERVATION_AMEND, "iiidt", study, number,
                          (int64_t)event->u.reobserved.state, event->u.reobserved.value,
                          event->u.reobserved.has_value ? "" : event->u.reobserved.reason);
}

/* Columns as in OBSERVATION_COLUMNS. */
static void read_rows(connection *c, sqlite3_stmt *statement, store_observation_row *row, void *arg)
{
    while (connection_step(c, statement)) {
        store_imported observation = {
            .observation = sqlite3_column_int64(statement, 0),
            .told_seq = sqlite3_column_int64(statement, 1),
            .imported_at = sqlite3_column_int64(statement, 2),
            .candidate = (uint32_t)sqlite3_column_int64(statement, 3),
            .state = (trial_state)sqlite3_column_int(statement, 4),
            .has_value = sqlite3_column_type(statement, 5) != SQLITE_NULL,
            .value = sqlite3_column_double(statement, 5),
            .repeats = sqlite3_column_int64(statement, 6),
            .reason = column_text(statement, 7),
        };
        row(arg, &observation);
    }
}

store_status sqlite_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                      store_observation_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement = connection_bind(c, SQL_OBSERVATIONS, "iii", study, after_seq, through_seq);
    read_rows(c, statement, row, arg);
    return reader_end(s, c, connection_finish(c, statement, err));
}

store_status sqlite_read_observation_page(store *s, int64_t study, int64_t after, size_t limit,
                                          store_observation_row *row, void *arg, store_error *err)
{
    store_status status;
    connection *c = reader_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sqlite3_stmt *statement =
        connection_bind(c, SQL_OBSERVATION_PAGE, "iii", study, after, reader_limit(limit));
    read_rows(c, statement, row, arg);
    return reader_end(s, c, connection_finish(c, statement, err));
}
