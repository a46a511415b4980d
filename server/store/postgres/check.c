/* Checks the state at one moment of a database that may be in use, and opens snapshots of it. */
#include "server/store/postgres/postgres.h"
#include "server/store/sql/checks.h"

#include <stdio.h>
#include <string.h>

store_status store_open_snapshot_postgres(store **out, const char *uri, store_error *err)
{
    *out = NULL;
    pg_store *s = pg_new(uri);
    if (!s)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    s->snapshot = s->sql.base.stopped = true;
    pthread_mutex_init(&s->sql.base.mutex, NULL);
    store_status status = pg_open_current(s, false, err);
    if (!status)
        status = pg_execute_text(
            &s->writer, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT count(*) FROM studies", err);
    if (!status)
        status = pg_read_text(&s->writer, "SELECT pg_export_snapshot()", s->moment, sizeof s->moment, err);
    if (status)
        pg_free(s);
    else
        *out = &s->sql.base;
    return status;
}

/* ---- checking ------------------------------------------------------------------------------------------- */

/* A check in place of a foreign key; the schema has none. */
#define REFERS(table, columns, parent, same)                                                                 \
    "SELECT 'a row of " table " refers to a missing row of " parent "' WHERE EXISTS (SELECT FROM " table     \
    " r WHERE " columns " AND NOT EXISTS (SELECT FROM " parent " p WHERE " same "))"
#define OF_STUDY(table) REFERS(table, "true", "studies", "p.study = r.study")
#define OF_TRIAL(table)                                                                                      \
    REFERS(table, "r.trial IS NOT NULL", "trials", "p.study = r.study AND p.trial = r.trial")

static const char *const checks[] = {
    OF_STUDY("log"),
    OF_STUDY("trials"),
    OF_STUDY("observations"),
    OF_STUDY("batches"),
    OF_STUDY("arm_sums"),
    OF_STUDY("engine_states"),
    OF_STUDY("retired_candidates"),
    OF_STUDY("candidate_keys"),
    REFERS("contents", "r.study IS NOT NULL", "studies", "p.study = r.study"),
    REFERS("tokens", "r.study IS NOT NULL", "studies", "p.study = r.study"),
    REFERS("candidate_blocks", "true", "contents", "p.content = r.content"),
    OF_TRIAL("attempts"),
    OF_TRIAL("late_results"),
    OF_TRIAL("amendments"),
    OF_TRIAL("measurements"),
    REFERS("amendments", "r.observation IS NOT NULL", "observations",
           "p.study = r.study AND p.observation = r.observation"),
    SQL_CHECKS("float8 'Infinity'"),
};

static store_status run_check(pg_connection *c, const char *sql, store_check_row *problem, void *arg,
                              store_error *err)
{
    PGresult *result = pq.PQexec(c->conn, sql);
    bool good = result && pq.PQresultStatus(result) == PGRES_TUPLES_OK;
    store_status status = good ? STORE_OK : pg_fail(c, result, err, "checking");
    for (int i = 0; good && i < pq.PQntuples(result); i++)
        problem(arg, pq.PQgetvalue(result, i, 0));
    pq.PQclear(result);
    return status;
}

store_status store_check_postgres(const char *uri, store_check_row *problem, void *arg, store_error *err)
{
    store *s;
    store_status status = store_open_snapshot_postgres(&s, uri, err);
    if (status)
        return status;
    for (size_t i = 0; !status && i < sizeof checks / sizeof *checks; i++)
        status = run_check(&pg_of(s)->writer, checks[i], problem, arg, err);
    store_close(s);
    return status;
}
