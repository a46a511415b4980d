/* The schema of PostgreSQL is that of SQLite: the same tables, columns, keys and NULLs, in the other dialect's types. And
 * what must name every table does. */
#include "server/store/postgres/postgres.h"
#include "server/store/sqlite/sqlite.h"
#include "tests/support/skip.h"
#include "tests/support/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A text of the whole catalogue, one line for each column. */
typedef struct catalogue {
    char text[1 << 16];
    size_t n;
} catalogue;

static void add_line(catalogue *c, const char *line)
{
    c->n += (size_t)snprintf(c->text + c->n, sizeof c->text - c->n, "%s\n", line);
    assert_true(c->n < sizeof c->text);
}

/* log_mark is about SQLite's write-ahead log, writer about PostgreSQL's sessions. */
static const char of_sqlite[] =
    "SELECT m.name || '.' || c.name || ' ' || CASE c.type WHEN 'INTEGER' THEN 'bigint' WHEN 'REAL' THEN "
    "'double precision' WHEN 'TEXT' THEN 'text' WHEN 'BLOB' THEN 'bytea' END || CASE WHEN c.\"notnull\" OR c.pk > 0 "
    "THEN ' NOT NULL' ELSE '' END || ' key ' || c.pk FROM sqlite_schema m, pragma_table_info(m.name) c "
    "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.name <> 'log_mark' ORDER BY 1";
static const char of_postgres[] =
    "SELECT c.table_name || '.' || c.column_name || ' ' || c.data_type || CASE c.is_nullable WHEN 'NO' THEN ' NOT NULL' "
    "ELSE '' END || ' key ' || coalesce(k.ordinal_position, 0) FROM information_schema.columns c LEFT JOIN "
    "(information_schema.key_column_usage k JOIN information_schema.table_constraints t ON t.constraint_name = "
    "k.constraint_name AND t.table_schema = k.table_schema AND t.constraint_type = 'PRIMARY KEY') ON k.table_schema = "
    "c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name WHERE c.table_schema = 'banditd' "
    "AND c.table_name <> 'writer' ORDER BY (c.table_name || '.' || c.column_name || ' ' || c.data_type) COLLATE \"C\"";
static const char with_rows_of_studies[] =
    "SELECT table_name FROM information_schema.columns WHERE table_schema = 'banditd' AND column_name = 'study' AND "
    "table_name NOT IN ('studies', 'contents', 'tokens')";

static void read_sqlite(catalogue *out)
{
    connection c;
    sqlite3_stmt *row = NULL;
    int64_t newest = sqlite_newest_version(embedded_files);
    assert_int_equal(connection_open(&c, ":memory:", SQLITE_OPEN_READWRITE, NULL), STORE_OK);
    for (int64_t version = 1; version <= newest; version++)
        assert_int_equal(sqlite_run_migration(&c, embedded_files, version, NULL), STORE_OK);
    assert_int_equal(sqlite3_prepare_v2(c.db, of_sqlite, -1, &row, NULL), SQLITE_OK);
    while (connection_step(&c, row))
        add_line(out, column_text(row, 0));
    sqlite3_finalize(row);
    connection_close(&c);
}

static void read_postgres(pg_connection *c, const char *query, catalogue *out)
{
    PGresult *result = pq.PQexec(c->conn, query);
    assert_int_equal(pq.PQresultStatus(result), PGRES_TUPLES_OK);
    for (int i = 0; i < pq.PQntuples(result); i++)
        add_line(out, pq.PQgetvalue(result, i, 0));
    pq.PQclear(result);
}

static pg_connection open_migrated(void)
{
    const char *uri = getenv("BANDITD_TEST_DATABASE");
    pg_connection c = {0};
    store_error err = {0};
    store_migration migration;
    if (!uri)
        skip_because(
            "BANDITD_TEST_DATABASE names no PostgreSQL database (tests/store/with_postgres sets it)");
    store_status status = suite_empty_postgres(&err);
    if (!status)
        status = store_migrate_postgres(uri, &migration, &err);
    if (!status)
        status = pg_connect(&c, uri, &err);
    if (status)
        print_error("%s\n", err.message);
    assert_int_equal(status, STORE_OK);
    return c;
}

static void the_schemas_are_one(void **state)
{
    static catalogue lite, server;
    (void)state;
    pg_connection c = open_migrated();
    lite.n = server.n = 0;
    read_sqlite(&lite);
    read_postgres(&c, of_postgres, &server);
    assert_true(lite.n > 1000);
    assert_string_equal(lite.text, server.text);
    assert_int_equal(pg_newest_version(), sqlite_newest_version(embedded_files));
    pg_disconnect(&c);
}

static void a_removed_study_leaves_no_rows(void **state)
{
    static catalogue tables;
    char text[pg_longest_statement], wanted[128];
    (void)state;
    pg_connection c = open_migrated();
    tables.n = 0;
    read_postgres(&c, with_rows_of_studies, &tables);
    pg_disconnect(&c);
    pg_statement_text(PG_ROWS_LEFT, text, sizeof text);
    for (char *table = strtok(tables.text, "\n"); table; table = strtok(NULL, "\n")) {
        snprintf(wanted, sizeof wanted, "FROM %s WHERE study", table);
        if (!strstr(text, wanted))
            print_error("PG_ROWS_LEFT does not name %s\n", table);
        assert_non_null(strstr(text, wanted));
    }
}

/* A statement that is cut would be another one. */
static void statements_fit(void **state)
{
    char text[2 * pg_longest_statement];
    (void)state;
    for (int id = 0; id < PG_COUNT; id++) {
        pg_statement_text(id, text, sizeof text);
        assert_true(strlen(text) + 1 < pg_longest_statement);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schemas_are_one),
        cmocka_unit_test(a_removed_study_leaves_no_rows),
        cmocka_unit_test(statements_fit),
    };
    return cmocka_run_group_tests_name("the schema of PostgreSQL", tests, NULL, NULL);
}
