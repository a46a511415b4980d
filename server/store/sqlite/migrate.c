#include "server/base/log.h"
#include "server/store/sqlite/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* "band": marks banditd's databases, also for file(1). */
static const int64_t application_id = 0x62616e64;
static const char folder[] = "migrations/";

/* The version in the name migrations/<version>_<name>.sql; 0: not a migration. */
static int64_t version_of(const embedded_file *file)
{
    if (strncmp(file->name, folder, sizeof folder - 1) != 0)
        return 0;
    return strtol(file->name + sizeof folder - 1, NULL, 10);
}

int64_t sqlite_newest_version(const embedded_file *files)
{
    int64_t newest = 0;
    for (; files->name; files++)
        if (version_of(files) > newest)
            newest = version_of(files);
    return newest;
}

static const embedded_file *find_version(const embedded_file *files, int64_t version)
{
    for (; files->name; files++)
        if (version_of(files) == version)
            return files;
    return NULL;
}

/* Copies the database to <path>.v<version>, replacing an earlier copy. */
static store_status back_up(connection *c, const char *path, int64_t version, store_error *err)
{
    char *name;
    if (asprintf(&name, "%s.v%lld", path, (long long)version) < 0)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    store_status status = sqlite_copy(c, name, err);
    free(name);
    return status;
}

static store_status record_migration(connection *c, const embedded_file *file, store_error *err)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    sqlite3_stmt *statement = NULL;
    c->error =
        sqlite3_prepare_v2(c->db, "INSERT INTO migrations VALUES (?1, ?2, ?3, ?4)", -1, &statement, NULL);
    if (!c->error) {
        sqlite3_bind_int64(statement, 1, version_of(file));
        sqlite3_bind_text(statement, 2, file->name + sizeof folder - 1, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, BANDITD_VERSION, -1, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 4, (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000);
        connection_step(c, statement);
    }
    store_status status = c->error ? connection_fail(c, err, "recording a migration") : STORE_OK;
    sqlite3_finalize(statement);
    return status;
}

static store_status run_file(connection *c, const embedded_file *file, store_error *err)
{
    c->error = sqlite3_exec(c->db, file->data, NULL, NULL, NULL);
    return c->error ? connection_fail(c, err, file->name) : STORE_OK;
}

store_status sqlite_run_migration(connection *c, const embedded_file *files, int64_t version,
                                  store_error *err)
{
    const embedded_file *file = find_version(files, version);
    return file ? run_file(c, file, err)
                : store_fail(err, STORE_IO, "this banditd has no migration to schema version %lld",
                             (long long)version);
}

static store_status apply_migration(connection *c, const embedded_file *file, store_error *err)
{
    char version[64];
    snprintf(version, sizeof version, "PRAGMA application_id = %lld; PRAGMA user_version = %lld",
             (long long)application_id, (long long)version_of(file));
    store_status status = connection_execute_text(c, "BEGIN IMMEDIATE", err);
    if (status)
        return status;
    status = run_file(c, file, err);
    if (!status)
        status = record_migration(c, file, err);
    if (!status)
        status = connection_execute_text(c, version, err);
    if (!status)
        status = connection_execute_text(c, "COMMIT", err);
    if (status && !sqlite3_get_autocommit(c->db))
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

store_status sqlite_identify(connection *c, const char *path, const embedded_file *files, int64_t *version,
                             store_error *err)
{
    int64_t newest = sqlite_newest_version(files);
    int64_t application, tables;
    store_status status = connection_read_integer(c, "PRAGMA application_id", &application, err);
    if (!status)
        status = connection_read_integer(c, "PRAGMA user_version", version, err);
    if (!status)
        status = connection_read_integer(c, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (status)
        return status;
    bool empty = application == 0 && *version == 0 && tables == 0;
    if (!empty && (application != application_id || *version < 1))
        return store_fail(err, STORE_FOREIGN, "%s is an SQLite database of another program", path);
    if (*version > newest)
        return store_fail(
            err, STORE_NEWER,
            "%s has schema version %lld; this banditd (" BANDITD_VERSION
            ") supports versions up to %lld: use a newer banditd, or the backup that it made before "
            "it migrated",
            path, (long long)*version, (long long)newest);
    return STORE_OK;
}

store_status sqlite_migrate(connection *c, const char *path, const embedded_file *files, store_error *err)
{
    int64_t newest = sqlite_newest_version(files), version = 0;
    store_status status = sqlite_identify(c, path, files, &version, err);
    int64_t from = version;
    if (status)
        return status;
    if (sqlite3_db_readonly(c->db, "main") == 1)
        return store_fail(err, STORE_READ_ONLY, "%s is read-only", path);
    if (version == 0) /* has no effect once there are tables */
        status = connection_execute_text(c, "PRAGMA auto_vacuum = INCREMENTAL", err);
    if (!status)
        status = connection_execute_text(c, "PRAGMA journal_mode = WAL", err);
    if (!status && version > 0 && version < newest)
        status = back_up(c, path, version, err);
    while (!status && version < newest) {
        const embedded_file *file = find_version(files, ++version);
        status = file ? apply_migration(c, file, err)
                      : store_fail(err, STORE_IO, "this banditd has no migration to schema version %lld",
                                   (long long)version);
    }
    if (!status && from > 0 && from < newest)
        log_event(LOG_INFO, "migrated", "db", path, "from", log_format("%lld", (long long)from), "to",
                  log_format("%lld", (long long)newest), "copy",
                  log_format("%s.v%lld", path, (long long)from), NULL);
    return status;
}
