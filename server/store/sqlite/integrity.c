/* Checks the state at one moment of a database that may be in use, and compares it with another one. */
#include "server/store/sql/checks.h"
#include "server/store/sqlite/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reader of a database that has the newest schema. The caller closes it, also after a failure. */
static store_status open_current(connection *c, const char *path, store_error *err)
{
    int64_t version;
    store_status status = sqlite_open_other(c, path, err);
    if (!status)
        status = sqlite_identify(c, path, embedded_files, &version, err);
    if (!status && version != sqlite_newest_version(embedded_files))
        status = store_fail(err, STORE_READ_ONLY, "%s has schema version %lld: migrate it first", path,
                            (long long)version);
    return status;
}

store_status store_read_version(const char *path, int64_t *version, store_error *err)
{
    connection c;
    store_status status = sqlite_open_other(&c, path, err);
    if (!status)
        status = sqlite_identify(&c, path, embedded_files, version, err);
    connection_close(&c);
    return status;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

/* Each yields one line per problem. */
static const char *const checks[] = {
    "SELECT 'damaged: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",

    "SELECT 'a row of ' || \"table\" || ' refers to a missing row of ' || parent "
    "FROM pragma_foreign_key_check",

    SQL_CHECKS("9e999"),
};

static store_status run_check(connection *c, const char *sql, store_check_row *problem, void *arg,
                              store_error *err)
{
    sqlite3_stmt *statement = NULL;
    c->error = sqlite3_prepare_v2(c->db, sql, -1, &statement, NULL);
    while (!c->error && connection_step(c, statement))
        problem(arg, column_text(statement, 0));
    store_status status = c->error ? connection_fail(c, err, "checking") : STORE_OK;
    sqlite3_finalize(statement);
    return status;
}

static store_status check_log(const char *path, store_check_row *problem, void *arg, store_error *err)
{
    char text[128];
    size_t commits;
    off_t at;
    store_status status = sqlite_find_log_break(path, &commits, &at, err);
    if (!status && commits > 1) {
        snprintf(text, sizeof text,
                 "damaged: the write-ahead log is broken at byte %lld, and %zu commits follow", (long long)at,
                 commits);
        problem(arg, text);
    }
    return status;
}

store_status store_check(const char *path, store_check_row *problem, void *arg, store_error *err)
{
    connection c;
    store_status status = open_current(&c, path, err);
    if (!status)
        status = connection_execute_text(&c, "BEGIN", err); /* all checks see the same moment */
    if (!status)
        status = check_log(path, problem, arg, err);
    if (!status)
        status = sqlite_check_schema(&c, problem, arg, err);
    for (size_t i = 0; !status && i < sizeof checks / sizeof *checks; i++)
        status = run_check(&c, checks[i], problem, arg, err);
    connection_close(&c);
    return status;
}

/* ---- snapshots ----------------------------------------------------------------------------------------- */

store_status store_open_snapshot(store **out, const char *path, store_error *err)
{
    *out = NULL;
    sqlite_store *s = sqlite_new(path);
    if (!s)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    int64_t studies;
    s->snapshot = s->sql.base.stopped = true;
    pthread_mutex_init(&s->sql.base.mutex, NULL);
    store_status status = open_current(&s->writer, path, err);
    if (!status)
        status = connection_execute_text(&s->writer, "BEGIN", err);
    if (!status) /* the first read determines the moment */
        status = connection_read_integer(&s->writer, "SELECT count(*) FROM studies", &studies, err);
    if (status)
        sqlite_free(s);
    else
        *out = &s->sql.base;
    return status;
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* Reads one study's rows of a table: key columns first, without numbers that differ between databases. */
typedef struct table_rows {
    char *table;
    char *sql;
    int n_keys;
} table_rows;

/* The tables that the log determines. */
static const char tables_query[] =
    "SELECT name FROM sqlite_schema m WHERE type = 'table' AND name NOT IN ('log', 'contents', 'tokens') "
    "AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE name = 'study') ORDER BY rowid";

static const char columns_query[] =
    "SELECT 'SELECT ' || group_concat('\"' || name || '\"', ', ') || ' FROM \"' || ?1 || '\" WHERE study = "
    "?1' "
    "|| CASE WHEN sum(pk > 0) > 0 THEN ' ORDER BY ' || group_concat('\"' || name || '\"', ', ') "
    "FILTER (WHERE pk > 0) ELSE '' END, sum(pk > 0) "
    "FROM (SELECT name, pk FROM pragma_table_info(?1) WHERE name NOT IN ('study', 'content', 'epoch', "
    "'chain') "
    "ORDER BY pk = 0, pk, cid)";

static void table_rows_clear(table_rows *rows)
{
    free(rows->table);
    free(rows->sql);
    *rows = (table_rows){0};
}

static sqlite3_stmt *prepare(connection *c, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    c->error = sqlite3_prepare_v2(c->db, sql, -1, &statement, NULL);
    return statement;
}

static store_status describe_table(connection *c, const char *table, table_rows *out, store_error *err)
{
    sqlite3_stmt *row = prepare(c, columns_query);
    *out = (table_rows){.table = strdup(table)};
    if (!c->error)
        c->error = sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    if (!c->error && connection_step(c, row)) {
        out->sql = strdup(column_text(row, 0));
        out->n_keys = sqlite3_column_int(row, 1);
    }
    store_status status = c->error ? connection_fail(c, err, "comparing") : STORE_OK;
    if (!status && (!out->table || !out->sql))
        status = store_fail(err, STORE_NO_MEMORY, "out of memory");
    sqlite3_finalize(row);
    return status;
}

static bool same_value(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    int type = sqlite3_column_type(a, column);
    if (sqlite3_column_type(b, column) != type)
        return false;
    if (type == SQLITE_INTEGER)
        return sqlite3_column_int64(a, column) == sqlite3_column_int64(b, column);
    if (type == SQLITE_FLOAT) {
        /* No table holds a negative zero or NaN. */
        return sqlite3_column_double(a, column) == sqlite3_column_double(b, column);
    }
    int n = sqlite3_column_bytes(a, column);
    return type == SQLITE_NULL || (sqlite3_column_bytes(b, column) == n &&
                                   (n == 0 || memcmp(sqlite3_column_blob(a, column),
                                                     sqlite3_column_blob(b, column), (size_t)n) == 0));
}

/* Messages show at most this many bytes of a value. */
enum { SHOWN = 80 };

static void show_value(sqlite3_stmt *row, int column, char out[SHOWN + 1])
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_BLOB:
        snprintf(out, SHOWN, "%d bytes", sqlite3_column_bytes(row, column));
        break;
    case SQLITE_NULL:
        snprintf(out, SHOWN, "nothing");
        break;
    default:
        snprintf(out, SHOWN, "%s", column_text(row, column));
    }
}

/* The row's table and key, such as "trials, trial 7". */
static void show_place(const table_rows *rows, sqlite3_stmt *row, char *out, size_t size)
{
    char value[SHOWN + 1];
    size_t n = (size_t)snprintf(out, size, "%s", rows->table);
    for (int i = 0; i < rows->n_keys && n < size; i++) {
        show_value(row, i, value);
        n += (size_t)snprintf(out + n, size - n, ", %s %s", sqlite3_column_name(row, i), value);
    }
}

/* Keys are integers. */
static int compare_keys(const table_rows *rows, sqlite3_stmt *mine, sqlite3_stmt *other)
{
    for (int i = 0; i < rows->n_keys; i++) {
        int64_t a = sqlite3_column_int64(mine, i), b = sqlite3_column_int64(other, i);
        if (a != b)
            return a < b ? -1 : 1;
    }
    return 0;
}

/* False: it has reported the first difference. */
static bool compare_rows(const table_rows *rows, sqlite3_stmt *mine, bool more, sqlite3_stmt *other,
                         bool other_more, store_check_row *difference, void *arg)
{
    char place[256], text[640], left[SHOWN + 1], right[SHOWN + 1];
    int order = !more ? 1 : !other_more ? -1 : compare_keys(rows, mine, other);
    if (order != 0) {
        show_place(rows, order < 0 ? mine : other, place, sizeof place);
        snprintf(text, sizeof text, "%s: %s", place,
                 order < 0 ? "the log does not produce this row" : "a row that the log produces is missing");
        difference(arg, text);
        return false;
    }
    for (int column = 0; column < sqlite3_column_count(mine); column++) {
        if (same_value(mine, other, column))
            continue;
        show_place(rows, mine, place, sizeof place);
        show_value(mine, column, left);
        show_value(other, column, right);
        snprintf(text, sizeof text, "%s: %s is %s; by the log it is %s", place,
                 sqlite3_column_name(mine, column), left, right);
        difference(arg, text);
        return false;
    }
    return true;
}

static store_status compare_table(connection *a, int64_t study, connection *b, int64_t other,
                                  const table_rows *rows, store_check_row *difference, void *arg,
                                  store_error *err)
{
    sqlite3_stmt *mine = prepare(a, rows->sql), *theirs = prepare(b, rows->sql);
    if (!a->error)
        a->error = sqlite3_bind_int64(mine, 1, study);
    if (!b->error)
        b->error = sqlite3_bind_int64(theirs, 1, other);
    bool same = true;
    while (same && !a->error && !b->error) {
        bool more = connection_step(a, mine), other_more = connection_step(b, theirs);
        if ((!more && !other_more) || a->error || b->error)
            break;
        same = compare_rows(rows, mine, more, theirs, other_more, difference, arg);
    }
    store_status status = STORE_OK;
    if (a->error || b->error)
        status = connection_fail(a->error ? a : b, err, rows->table);
    sqlite3_finalize(mine);
    sqlite3_finalize(theirs);
    return status;
}

/* Compares with a study of another backend. */
static store_status compare_by_reading(store *snapshot, const char *id, int64_t study, const char *path,
                                       int64_t other, store_check_row *difference, void *arg,
                                       store_error *err)
{
    store *theirs;
    store_status status = store_open_snapshot(&theirs, path, err);
    if (status)
        return status;
    status = store_compare_rows(snapshot, id, study, theirs, other, difference, arg, err);
    store_close(theirs);
    return status;
}

store_status store_compare(store *snapshot, const char *id, int64_t study, const char *path, int64_t other,
                           store_check_row *difference, void *arg, store_error *err)
{
    if (snapshot->backend != &sqlite_backend)
        return compare_by_reading(snapshot, id, study, path, other, difference, arg, err);
    connection *mine = &sqlite_of(snapshot)->writer, theirs;
    sqlite3_stmt *table = NULL;
    store_status status = open_current(&theirs, path, err);
    if (!status) {
        table = prepare(mine, tables_query);
        status = mine->error ? connection_fail(mine, err, "comparing") : STORE_OK;
    }
    while (!status && connection_step(mine, table)) {
        table_rows rows;
        status = describe_table(mine, column_text(table, 0), &rows, err);
        if (!status)
            status = compare_table(mine, study, &theirs, other, &rows, difference, arg, err);
        table_rows_clear(&rows);
    }
    if (!status && mine->error)
        status = connection_fail(mine, err, "comparing");
    sqlite3_finalize(table);
    connection_close(&theirs);
    return status;
}
