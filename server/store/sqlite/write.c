#include "server/store/sqlite/sqlite.h"

#include <string.h>

/* ---- transactions -------------------------------------------------------------------------------------- */

store_status sqlite_begin(store *s, store_error *err)
{
    store_status status = sqlite_look(sqlite_of(s), PART_LOG, err);
    if (!status && sqlite_of(s)->writer.ran_full)
        sqlite_look_for_room(sqlite_of(s));
    if (!status)
        sqlite_leave_full(sqlite_of(s)); /* writes are accepted again if there is room */
    return status ? status : connection_run(&sqlite_of(s)->writer, err, SQL_BEGIN_IMMEDIATE, "");
}

bool sqlite_in_transaction(store *s)
{
    return !sqlite3_get_autocommit(sqlite_of(s)->writer.db);
}

void sqlite_rollback(store *s)
{
    if (sqlite_in_transaction(s))
        connection_run(&sqlite_of(s)->writer, NULL, SQL_ROLLBACK, "");
}

store_status sqlite_commit(store *s, store_error *err)
{
    sqlite_store *mine = sqlite_of(s);
    store_status status = STORE_OK;
    if (mine->log_is_unmarked)
        status = connection_run(&mine->writer, err, SQL_MARK_LOG, "");
    if (!status)
        status = connection_run(&mine->writer, err, SQL_COMMIT, "");
    if (status)
        sqlite_rollback(s);
    else
        mine->log_is_unmarked = false;
    return status ? status : sqlite_look(mine, PART_FILE, err); /* did it go into the file with the name? */
}

store_status sqlite_mark(store *s, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_SAVEPOINT, "");
}

store_status sqlite_release(store *s, store_error *err)
{
    return connection_run(&sqlite_of(s)->writer, err, SQL_RELEASE, "");
}

store_status sqlite_undo(store *s, store_error *err)
{
    store_status status = connection_run(&sqlite_of(s)->writer, err, SQL_ROLLBACK_TO, "");
    return status ? status : sqlite_release(s, err);
}

/* Stores a new value each time, since SQLite does not write an unchanged page. */
store_status sqlite_touch(store *s, store_error *err)
{
    if (sqlite_is_full(s))
        return store_fail(err, STORE_FULL, "the disk is full");
    return connection_run(&sqlite_of(s)->writer, err, SQL_TOUCH, "");
}

/* ---- studies ------------------------------------------------------------------------------------------- */

store_status sqlite_study_insert(store *s, const store_event *event, int64_t epoch, study_record *record,
                                 store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status =
        connection_run(c, err, SQL_STUDY_INSERT, "titii", event->u.created.id, epoch,
                       event->u.created.definition, (int64_t)event->u.created.state, event->time);
    *record = (study_record){
        .study = sqlite3_last_insert_rowid(c->db),
        .epoch = epoch,
        .state = event->u.created.state,
    };
    return status;
}

/* ---- many rows ------------------------------------------------------------------------------------------ */

/* Binds a row's parameters, from number `at` on. Binding numbers to existing parameters cannot fail. */
static void bind_sum(sqlite3_stmt *statement, int at, const store_arm_sum *sum)
{
    int64_t bits;
    memcpy(&bits, &sum->sum, sizeof bits);
    sqlite3_bind_int64(statement, at, sum->arm);
    sqlite3_bind_int64(statement, at + 1, (int64_t)sum->count);
    sqlite3_bind_int64(statement, at + 2, bits);
}

store_status sqlite_sums_put(store *s, int64_t study, const store_arm_sum *sums, size_t n, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = STORE_OK;
    for (size_t i = 0, rows; !status && i < n; i += rows) {
        rows = n - i < SQL_ROWS ? 1 : SQL_ROWS;
        sqlite3_stmt *put = connection_bind(c, rows > 1 ? SQL_SUMS_PUT : SQL_SUM_PUT, "i", study);
        for (size_t k = 0; put && k < rows; k++)
            bind_sum(put, 2 + 3 * (int)k, &sums[i + k]);
        connection_step(c, put);
        status = connection_finish(c, put, err);
    }
    return status;
}

store_status sqlite_trials_insert(store *s, int64_t study, int64_t first, int64_t batch,
                                  const store_pick *picks, size_t n, store_error *err)
{
    connection *c = &sqlite_of(s)->writer;
    store_status status = STORE_OK;
    for (size_t i = 0, rows; !status && i < n; i += rows) {
        rows = n - i < SQL_ROWS ? 1 : SQL_ROWS;
        sqlite3_stmt *insert = connection_bind(c, rows > 1 ? SQL_TRIALS_INSERT : SQL_TRIAL_INSERT, "iii",
                                               study, batch, first + (int64_t)i);
        for (int k = 0; insert && k < (int)rows; k++) {
            sqlite3_bind_int64(insert, 4 + 2 * k, picks[i + (size_t)k].candidate);
            sqlite3_bind_double(insert, 5 + 2 * k, picks[i + (size_t)k].variance);
        }
        connection_step(c, insert);
        status = connection_finish(c, insert, err);
    }
    return status;
}
