#include "server/store/sqlite/sqlite.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int on_commit(void *arg, sqlite3 *db, const char *schema, int frames)
{
    (void)db;
    (void)schema;
    sqlite_store *s = arg;
    if (frames < s->wal_frames) /* the log was restarted */
        sqlite_log_restarted(s);
    s->wal_frames = frames;
    return SQLITE_OK;
}

static store_status open_writer(sqlite_store *s, const embedded_file *files, store_error *err)
{
    connection *c = &s->writer;
    store_status status = connection_open(c, s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (!status)
        status = sqlite_migrate(c, s->path, files, err);
    if (!status)
        status = connection_execute_text(c,
                                         "PRAGMA synchronous = FULL;"
                                         "PRAGMA foreign_keys = ON;"
                                         "PRAGMA journal_size_limit = 16777216;"
                                         "PRAGMA secure_delete = FAST;"
                                         "PRAGMA cell_size_check = ON;"
                                         "PRAGMA temp_store = MEMORY;"
                                         "PRAGMA cache_size = -16384;"
                                         "PRAGMA wal_autocheckpoint = 0",
                                         err);
    if (status)
        return status;
    sqlite_log_restarted(s);
    sqlite3_wal_hook(c->db, on_commit, s);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, (int *)NULL); /* it is banditd's */
    return STORE_OK;
}

/* Sets a new mark, so that no earlier copy of the file has one of the log's marks. On a full disk this is left out. */
static void renew_mark(sqlite_store *s)
{
    sqlite_remember_file(s);
    sqlite_idle(&s->sql.base);
    if (s->log_is_unmarked && !sqlite_begin(&s->sql.base, NULL) && !sqlite_commit(&s->sql.base, NULL))
        sqlite_idle(&s->sql.base);
}

static store_status find_next_content(sqlite_store *s, int64_t *out, store_error *err)
{
    connection *c = &s->writer;
    sqlite3_stmt *statement = connection_bind(c, SQL_CONTENT_LAST, "");
    *out = connection_step(c, statement) ? sqlite3_column_int64(statement, 0) + 1 : 1;
    return connection_finish(c, statement, err);
}

store_status sqlite_start_clean(sqlite_store *s, store_error *err)
{
    store_status status = sqlite_begin(&s->sql.base, err);
    if (status)
        return status;
    status = sql_drop_staged(&s->sql.base, err);
    if (!status)
        status = connection_run(&s->writer, err, SQL_TOUCH, "");
    if (!status)
        status = sqlite_commit(&s->sql.base, err);
    else
        sqlite_rollback(&s->sql.base);
    s->unclean = status != STORE_OK;
    return status;
}

/* A full disk does not prevent the start, because the stored studies can be read and deleted. */
static store_status prepare(sqlite_store *s, int64_t *next_content, store_error *err)
{
    store_status status = sqlite_start_clean(s, err);
    if (status == STORE_FULL) {
        if (!atomic_load(&s->full))
            sqlite_enter_full(s);
        status = STORE_OK;
        if (err)
            *err = (store_error){0};
    }
    if (!status)
        status = find_next_content(s, next_content, err);
    if (!status)
        renew_mark(s);
    return status;
}

void sqlite_free(sqlite_store *s)
{
    sqlite_close_readers(s);
    connection_close(&s->writer);
    sqlite_unlock(s);
    pthread_mutex_destroy(&s->pool_mutex);
    free(s->path);
    free(s);
}

static void sqlite_close(store *base)
{
    sqlite_store *s = sqlite_of(base);
    sqlite_close_readers(s); /* open readers would prevent the last checkpoint */
    if (!s->snapshot)
        sqlite_idle(base);
    if (sqlite_look(s, PART_ALL, NULL)) /* SQLite would checkpoint, and remove the file with the log's name */
        sqlite3_db_config(s->writer.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    sqlite_free(s);
}

static void add_statistics(store *s, store_statistics *out)
{
    char name[PATH_MAX + 8];
    struct stat st;
    snprintf(name, sizeof name, "%s-wal", sqlite_of(s)->path);
    out->wal_bytes = stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

sqlite_store *sqlite_new(const char *path)
{
    sqlite_store *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->file = s->lock = s->folder = s->log_file = -1;
    s->sql.base.backend = &sqlite_backend;
    s->sql.driver = &sqlite_driver;
    s->sql.writes = &s->writer.base;
    s->writer.base.driver = &sqlite_driver;
    pthread_mutex_init(&s->pool_mutex, NULL);
    s->path = strdup(path);
    if (s->path)
        return s;
    sqlite_free(s);
    return NULL;
}

static store_status open_store(store **out, const char *path, const embedded_file *files, bool synced,
                               store_error *err)
{
    *out = NULL;
    sqlite_store *s = sqlite_new(path);
    if (!s)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    s->sql.chores_left = true;
    int64_t next_content = 1;
    store_status status = sqlite_lock(s, err);
    if (!status)
        status = sqlite_check_log(s->path, err);
    if (!status && synced)
        sqlite_open_reserve(s);
    if (!status)
        status = open_writer(s, files, err);
    if (!status && !synced)
        status = connection_execute_text(&s->writer, "PRAGMA synchronous = OFF", err);
    if (!status)
        status = prepare(s, &next_content, err);
    if (!status)
        status = store_start(&s->sql.base, &sqlite_backend, next_content, err);
    if (status)
        sqlite_free(s);
    else
        *out = &s->sql.base;
    return status;
}

store_status sqlite_open_with(store **out, const char *path, const embedded_file *files, store_error *err)
{
    return open_store(out, path, files, true, err);
}

store_status store_open_sqlite(store **out, const char *path, store_error *err)
{
    return open_store(out, path, embedded_files, true, err);
}

const char *store_sqlite_version(void)
{
    return sqlite3_libversion();
}

store_status store_open_scratch(store **out, const char *path, store_error *err)
{
    return open_store(out, path, embedded_files, false, err);
}

const store_backend sqlite_backend = {
    .rolls_back = true,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .in_transaction = sqlite_in_transaction,
    .mark = sqlite_mark,
    .release = sqlite_release,
    .undo = sqlite_undo,
    .study_insert = sqlite_study_insert,
    .study_load = sql_study_load,
    .study_save = sql_study_save,
    .study_delete = sql_study_delete,
    .sums_put = sqlite_sums_put,
    .trials_insert = sqlite_trials_insert,
    .trial_load = sql_trial_load,
    .trial_issue = sql_trial_issue,
    .trial_requeue = sql_trial_requeue,
    .trial_tell = sql_trial_tell,
    .trial_amend = sql_trial_amend,
    .touch = sqlite_touch,
    .is_full = sqlite_is_full,
    .after_commit = sqlite_after_commit,
    .chore = sqlite_chore,
    .idle = sqlite_idle,
    .close = sqlite_close,
    .add_statistics = add_statistics,
    .read_candidates = sqlite_read_candidates,
    .read_candidates_at = sqlite_read_candidates_at,
    SQL_BACKEND,
};
