/* The writer thread's work between writes: checkpoints, removal of deleted data, vacuum. */
#include "server/store/sqlite/sqlite.h"

enum {
    frames_of_patience = 16 * frames_per_checkpoint, /* about 64 MiB */
    patience_ms = 100,
};

void sqlite_log_restarted(sqlite_store *s)
{
    s->next_checkpoint = frames_per_checkpoint;
    s->next_patience = frames_of_patience;
}

static int checkpoint(sqlite_store *s, int mode, int busy_ms)
{
    int in_log = -1, moved = -1;
    sqlite3_busy_timeout(s->writer.db, busy_ms);
    int rc = sqlite3_wal_checkpoint_v2(s->writer.db, NULL, mode, &in_log, &moved);
    sqlite3_busy_timeout(s->writer.db, sqlite_busy_ms);
    if ((rc == SQLITE_OK || rc == SQLITE_BUSY) && in_log >= 0 && in_log == moved)
        s->log_is_unmarked = true;
    s->writer.ran_full |= (rc & 0xff) == SQLITE_FULL;
    sqlite_remember_file(s);
    return rc;
}

/* A passive checkpoint does not wait for readers, and the write-ahead log restarts only when no reader uses it. With
 * overlapping readers the log would grow without end. So if the log is long, the checkpoint waits a little for current
 * readers, and all writes wait with it. Our reads are short; those of other programs may not be. After a failure, the
 * next attempt is made when the log has grown by the same number of frames. */
void sqlite_after_commit(store *base)
{
    sqlite_store *s = sqlite_of(base);
    if (s->wal_frames < s->next_checkpoint || sqlite_look(s, PART_ALL, NULL))
        return;
    /* on_commit resets both when the log restarts */
    s->next_checkpoint = s->wal_frames + frames_per_checkpoint;
    bool patient = s->wal_frames >= s->next_patience;
    if (patient)
        s->next_patience = s->wal_frames + frames_of_patience;
    checkpoint(s, patient ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE, patience_ms);
}

void sqlite_idle(store *base)
{
    sqlite_store *s = sqlite_of(base);
    if (!s->writer.db || sqlite_look(s, PART_ALL, NULL))
        return;
    if (checkpoint(s, SQLITE_CHECKPOINT_TRUNCATE, 0) == SQLITE_OK) { /* the next write must not wait */
        s->wal_frames = 0;
        sqlite_log_restarted(s);
    }
}

/* The query's first result; 0: none. */
static store_status find(connection *c, sql_id id, int64_t *out)
{
    sqlite3_stmt *statement = connection_bind(c, id, "");
    *out = connection_step(c, statement) ? sqlite3_column_int64(statement, 0) : 0;
    return connection_finish(c, statement, NULL);
}

/* Deletes rows of `owner` until the deadline. *gone: none is left. Call it inside a transaction. */
static store_status delete_slice(connection *c, sql_id id, int64_t owner, int64_t rows, double deadline,
                                 bool *gone)
{
    store_status status = STORE_OK;
    *gone = false;
    while (!status && !*gone && store_clock() < deadline) {
        status = connection_run(c, NULL, id, "ii", owner, rows);
        *gone = !status && sqlite3_changes(c->db) == 0;
    }
    return status;
}

/* Commits the slice, or rolls it back. */
static store_status end_slice(sqlite_store *s, store_status status)
{
    if (!status)
        return sqlite_commit(&s->sql.base, NULL);
    sqlite_rollback(&s->sql.base);
    return status;
}

static store_status vacuum_slice(sqlite_store *s)
{
    store_status status = sqlite_begin(&s->sql.base, NULL);
    if (!status)
        status = connection_run(&s->writer, NULL, SQL_VACUUM, "");
    return end_slice(s, status);
}

/* Removes expired answers, by the time of the last answer that was stored in this run. The latest stored time is not
 * used, because the clock may have been ahead then. Before the first answer of this run, nothing is removed. */
static store_status expire_answers(sqlite_store *s, int *expired)
{
    connection *c = &s->writer;
    *expired = 0;
    if (s->sql.answered_at == 0)
        return STORE_OK;
    store_status status = sqlite_begin(&s->sql.base, NULL);
    if (!status)
        status = connection_run(c, NULL, SQL_ANSWERS_AHEAD, "ii", s->sql.answered_at, STORE_ANSWER_KEPT);
    if (!status)
        status = connection_run(c, NULL, SQL_ANSWERS_EXPIRE, "ii", s->sql.answered_at, STORE_ANSWER_KEPT);
    *expired = status ? 0 : sqlite3_changes(c->db);
    return end_slice(s, status);
}

/* Removes part of a study (or content): first the rows of the tables, in order, then its own row. */
static store_status remove_slice(sqlite_store *s, int64_t owner, const sql_id *tables, size_t n, int64_t rows,
                                 sql_id last)
{
    connection *c = &s->writer;
    double deadline = store_clock() + 0.010;
    bool gone = true;
    store_status status = sqlite_begin(&s->sql.base, NULL);
    for (size_t i = 0; !status && gone && i < n; i++)
        status = delete_slice(c, tables[i], owner, rows, deadline, &gone);
    if (!status && gone)
        status = connection_run(c, NULL, last, "i", owner);
    return end_slice(s, status);
}

store_chore sqlite_chore(store *base)
{
    static const sql_id study_tables[] = {SQL_STUDY_SLICES};
    static const sql_id content_tables[] = {SQL_SLICE_BLOCKS};
    sqlite_store *s = sqlite_of(base);
    connection *c = &s->writer;
    int64_t content = 0, study = 0, free_pages = 0;
    int expired = 0;
    if (s->writer.ran_full && !atomic_load(&s->moved))
        sqlite_look_for_room(s);
    if (!sqlite_leave_full(s) && !s->sql.chores_left)
        return CHORE_FAILED; /* the next attempt is in a second */
    if (!s->sql.chores_left || sqlite_look(s, PART_FILE, NULL))
        return CHORE_NONE;
    store_status status = find(c, SQL_DROPPED_CONTENT, &content);
    if (!status && content == 0)
        status = find(c, SQL_DELETED_STUDY, &study);
    if (!status && content == 0 && study == 0) {
        status = expire_answers(s, &expired);
    }
    if (!status && content == 0 && study == 0 && expired == 0)
        status = find(c, SQL_FREE_PAGES, &free_pages);
    if (!status && content)
        status = remove_slice(s, content, content_tables, 1, 1, SQL_CONTENT_REMOVE);
    else if (!status && study)
        status = remove_slice(s, study, study_tables, sizeof study_tables / sizeof *study_tables, 500,
                              SQL_STUDY_REMOVE);
    else if (!status && free_pages)
        status = vacuum_slice(s);
    sqlite_after_commit(base);
    if (status)
        return CHORE_FAILED;
    s->sql.chores_left = content || study || expired || free_pages;
    return s->sql.chores_left ? CHORE_MORE : sqlite_is_full(base) ? CHORE_FAILED : CHORE_NONE;
}
