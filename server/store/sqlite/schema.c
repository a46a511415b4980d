/* Compares a database's schema with the one that the migrations create. */
#include "server/store/sqlite/sqlite.h"

#include <stdio.h>

static const char list_query[] =
    "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
    "ORDER BY type, name";
static const char find_query[] =
    "SELECT count(*) FROM sqlite_schema WHERE type = ?1 AND name = ?2 AND coalesce(sql, '') = ?3";

static store_status open_fresh(connection *c, store_error *err)
{
    int64_t newest = sqlite_newest_version(embedded_files);
    store_status status = connection_open(c, ":memory:", SQLITE_OPEN_READWRITE, err);
    for (int64_t version = 1; !status && version <= newest; version++)
        status = sqlite_run_migration(c, embedded_files, version, err);
    return status;
}

static sqlite3_stmt *prepare(connection *c, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    c->error = sqlite3_prepare_v2(c->db, sql, -1, &statement, NULL);
    return statement;
}

/* Calls `problem` for each object of `a` that is not in `b`. */
static store_status list_others(connection *a, connection *b, const char *words, store_check_row *problem,
                                void *arg, store_error *err)
{
    char text[256];
    sqlite3_stmt *object = prepare(a, list_query), *other = prepare(b, find_query);
    while (!a->error && !b->error && connection_step(a, object)) {
        for (int i = 0; i < 3; i++)
            sqlite3_bind_value(other, i + 1, sqlite3_column_value(object, i));
        bool found = connection_step(b, other) && sqlite3_column_int64(other, 0) > 0;
        sqlite3_reset(other);
        if (b->error || found)
            continue;
        snprintf(text, sizeof text, "the schema: %s %.80s %s", column_text(object, 0), column_text(object, 1),
                 words);
        problem(arg, text);
    }
    store_status status = STORE_OK;
    if (a->error || b->error)
        status = connection_fail(a->error ? a : b, err, "comparing the schema");
    sqlite3_finalize(object);
    sqlite3_finalize(other);
    return status;
}

store_status sqlite_check_schema(connection *c, store_check_row *problem, void *arg, store_error *err)
{
    connection fresh;
    store_status status = open_fresh(&fresh, err);
    if (!status)
        status = list_others(c, &fresh, "does not belong here", problem, arg, err);
    if (!status)
        status = list_others(&fresh, c, "is missing or differs", problem, arg, err);
    connection_close(&fresh);
    return status;
}
