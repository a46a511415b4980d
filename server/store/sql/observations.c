/* Writes and reads imported results. */
#include "server/store/sql/sql.h"

store_status sql_observation_insert(store *s, int64_t study, const store_imported *o, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_OBSERVATION_INSERT, "iiiiiiditd", study, o->observation,
                   o->told_seq, o->imported_at, (int64_t)o->candidate, (int64_t)o->state, o->value,
                   o->repeats, o->recorded, o->cost);
}

static store_status load_has_value(sql_connection *c, int64_t study, int64_t number, bool *out,
                                   store_error *err)
{
    sql_start(c, SQL_OBSERVATION_HAS_VALUE, "ii", study, number);
    bool found = sql_step(c);
    *out = found && (int)sql_integer(c, 0);
    store_status status = sql_finish(c, err);
    if (!status && !found)
        status = store_fail(err, STORE_CORRUPT, "imported result %lld of study %lld is missing",
                            (long long)number, (long long)study);
    return status;
}

store_status sql_observation_amend(store *s, int64_t study, int64_t seq, const store_event *event,
                                   bool *had_value, store_error *err)
{
    sql_connection *c = sql_writer(s);
    int64_t number = event->u.reobserved.observation;
    store_status status = load_has_value(c, study, number, had_value, err);
    if (!status)
        status = sql_run(c, err, SQL_OBSERVATION_KEEP_AMENDED, "iiiit", study, number, seq, event->time,
                         event->u.reobserved.reason);
    if (status)
        return status;
    return sql_run(c, err, SQL_OBSERVATION_AMEND, "iiidtt", study, number, (int64_t)event->u.reobserved.state,
                   event->u.reobserved.value, event->u.reobserved.recorded,
                   event->u.reobserved.has_value ? "" : event->u.reobserved.reason);
}

/* Columns as in OBSERVATION_COLUMNS. */
static void read_rows(sql_connection *c, store_observation_row *row, void *arg)
{
    while (sql_step(c)) {
        store_imported observation = {
            .observation = sql_integer(c, 0),
            .told_seq = sql_integer(c, 1),
            .imported_at = sql_integer(c, 2),
            .candidate = (uint32_t)sql_integer(c, 3),
            .state = (trial_state)sql_integer(c, 4),
            .has_value = !sql_is_null(c, 5),
            .value = sql_number(c, 5),
            .repeats = sql_integer(c, 6),
            .recorded = sql_text(c, 7),
            .reason = sql_text(c, 8),
            .cost = sql_number(c, 9),
        };
        row(arg, &observation);
    }
}

store_status sql_read_observations(store *s, int64_t study, int64_t after_seq, int64_t through_seq,
                                   store_observation_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_OBSERVATIONS, "iii", study, after_seq, through_seq);
    read_rows(c, row, arg);
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_observation_page(store *s, int64_t study, int64_t after, size_t limit,
                                       store_observation_row *row, void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_OBSERVATION_PAGE, "iii", study, after, sql_limit(limit));
    read_rows(c, row, arg);
    return sql_end_read(s, c, sql_finish(c, err));
}
