/* Copies a database that may be in use: before a migration, and for store_back_up. */
#include "server/store/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static store_status sync_file(const char *path, int flags, store_error *err)
{
    int fd = open(path, flags | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int cause = errno;
    if (fd >= 0)
        close(fd);
    return good ? STORE_OK : store_fail(err, STORE_IO, "%s: %s", path, strerror(cause));
}

/* Gives the finished copy its name, and makes sure that the copy and the name reach the disk. */
static store_status rename_synced(const char *from, const char *to, store_error *err)
{
    store_status status = sync_file(from, O_RDONLY, err);
    if (status)
        return status;
    if (rename(from, to))
        return store_fail(err, STORE_IO, "%s: %s", to, strerror(errno));
    char *parent = strdup(to);
    if (!parent)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    char *slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = '\0';
    status = sync_file(slash ? parent : ".", O_RDONLY | O_DIRECTORY, err);
    free(parent);
    return status;
}

/* Marks the copy as a different database, so that the log of the original is not used for it. */
static store_status mark_copy(connection *copy, store_error *err)
{
    int64_t marked = 0, busy = 0;
    store_status status = connection_read_integer(
        copy, "SELECT count(*) FROM sqlite_schema WHERE name = 'log_mark'", &marked, err);
    if (!status && marked)
        status = connection_run(copy, err, SQL_MARK_LOG, "");
    if (!status && marked)
        status = connection_read_integer(copy, "PRAGMA wal_checkpoint(TRUNCATE)", &busy, err);
    if (!status && busy)
        status = store_fail(err, STORE_BUSY, "another process has opened the copy");
    sqlite3_db_config(copy->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, (int *)NULL); /* removes its empty log */
    return status;
}

/* Copies in one step, so that the copy has the state of one moment. Other connections can write during the copy. */
static store_status copy_pages(connection *from, const char *path, store_error *err)
{
    connection copy;
    store_status status = connection_open_file(&copy, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (!status) {
        sqlite3_backup *backup = sqlite3_backup_init(copy.db, "main", from->db, "main");
        if (backup) {
            sqlite3_backup_step(backup, -1);
            sqlite3_backup_finish(backup);
        }
        copy.error = sqlite3_extended_errcode(copy.db);
        if (copy.error)
            status = connection_fail(&copy, err, path);
        if (!status)
            status = mark_copy(&copy, err);
    }
    connection_close(&copy);
    return status;
}

/* Makes an empty file that only its owner may read. SQLite would make one that all users may read. */
static store_status make_private(const char *path, store_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return store_fail(err, STORE_IO, "%s: %s", path, strerror(errno));
    close(fd);
    return STORE_OK;
}

store_status sqlite_copy(connection *c, const char *path, store_error *err)
{
    char *unfinished;
    if (asprintf(&unfinished, "%s.tmp", path) < 0)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    store_status status = STORE_OK;
    if (unlink(unfinished) && errno != ENOENT)
        status = store_fail(err, STORE_IO, "%s: %s", unfinished, strerror(errno));
    if (!status)
        status = make_private(unfinished, err);
    if (!status)
        status = copy_pages(c, unfinished, err);
    if (!status)
        status = rename_synced(unfinished, path, err);
    if (status)
        unlink(unfinished);
    free(unfinished);
    return status;
}

store_status store_back_up(const char *path, const char *copy, store_error *err)
{
    connection c;
    int64_t version;
    if (access(copy, F_OK) == 0)
        return store_fail(err, STORE_EXISTS, "%s already exists", copy);
    store_status status = sqlite_open_other(&c, path, err);
    if (!status)
        status = sqlite_identify(&c, path, embedded_files, &version, err);
    if (!status && version == 0)
        status = store_fail(err, STORE_FOREIGN, "%s is empty, and has no schema", path);
    if (!status)
        status = sqlite_copy(&c, copy, err);
    connection_close(&c);
    return status;
}
