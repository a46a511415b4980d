/* The versions of the schema (migrations/postgres/). They have the same numbers as SQLite's. */
#include "server/base/embedded.h"
#include "server/base/log.h"
#include "server/store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char folder[] = "migrations/postgres/";

/* The version in the name migrations/postgres/<version>_<name>.sql; 0: not a migration. */
static int64_t version_of(const embedded_file *file)
{
    return strncmp(file->name, folder, sizeof folder - 1) == 0
               ? strtol(file->name + sizeof folder - 1, NULL, 10)
               : 0;
}

int64_t pg_newest_version(void)
{
    int64_t newest = 0;
    for (const embedded_file *file = embedded_files; file->name; file++)
        if (version_of(file) > newest)
            newest = version_of(file);
    return newest;
}

/* The migration with the smallest version above this one. */
static const embedded_file *next_after(int64_t version)
{
    const embedded_file *next = NULL;
    for (const embedded_file *file = embedded_files; file->name; file++)
        if (version_of(file) > version && (!next || version_of(file) < version_of(next)))
            next = file;
    return next;
}

store_status pg_identify(pg_connection *c, const char *name, int64_t *version, store_error *err)
{
    char table[32];
    *version = 0;
    store_status status = pg_read_text(c, "SELECT coalesce(to_regclass('banditd.migrations')::text, '')",
                                       table, sizeof table, err);
    if (!status && *table)
        status = pg_read_integer(c, "SELECT coalesce(max(version), 0) FROM banditd.migrations", version, err);
    if (!status && *version > pg_newest_version())
        status = store_fail(err, STORE_NEWER,
                            "%s has schema version %lld; this banditd (" BANDITD_VERSION
                            ") supports versions up to %lld: use a newer banditd",
                            name, (long long)*version, (long long)pg_newest_version());
    return status;
}

static store_status record_migration(pg_connection *c, const embedded_file *file, store_error *err)
{
    char sql[256];
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(sql, sizeof sql, "INSERT INTO banditd.migrations VALUES (%lld, '%s', '%s', %lld)",
             (long long)version_of(file), file->name + sizeof folder - 1, BANDITD_VERSION,
             (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000);
    return pg_execute_text(c, sql, err);
}

/* Runs all missing migrations in one transaction. */
static store_status migrate(pg_connection *c, int64_t from, store_error *err)
{
    store_status status = pg_execute_text(c, "BEGIN; CREATE SCHEMA IF NOT EXISTS banditd", err);
    for (const embedded_file *file = next_after(from); !status && file; file = next_after(version_of(file))) {
        status = pg_execute_text(c, file->data, err);
        if (!status)
            status = record_migration(c, file, err);
    }
    if (!status)
        return pg_execute_text(c, "COMMIT", err);
    pg_execute_text(c, "ROLLBACK", NULL);
    return status;
}

store_status store_migrate_postgres(const char *uri, store_migration *out, store_error *err)
{
    *out = (store_migration){0};
    pg_store *s = pg_new(uri);
    if (!s)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    store_status status = pg_connect_fit(s, true, err);
    if (!status)
        status = pg_lock(s, err);
    if (!status)
        status = pg_identify(&s->writer, s->name, &out->before, err);
    if (!status && out->before < pg_newest_version())
        status = migrate(&s->writer, out->before, err);
    out->now = pg_newest_version();
    snprintf(out->name, sizeof out->name, "%s", s->name);
    pg_free(s);
    return status;
}
