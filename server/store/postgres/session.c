#include "server/store/postgres/postgres.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

store_status pg_check_uri(const char *uri, store_error *err)
{
    store_status status = pq_load(err);
    if (status)
        return status;
    char *problem = NULL;
    PQconninfoOption *parsed = pq.PQconninfoParse(uri, &problem);
    if (!parsed) /* libpq's own message may show the password */
        status = store_fail(err, STORE_FOREIGN,
                            "--database is not a URI of PostgreSQL, such as postgresql://user@host/name");
    pq.PQconninfoFree(parsed);
    pq.PQfreemem(problem);
    return status;
}

/* Takes the notice "canceling wait for synchronous replication": a standby may not have the commit. */
static void take_notice(void *arg, const PGresult *result)
{
    pg_connection *c = arg;
    const char *state = pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *text = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (state && strcmp(state, "01000") == 0 && text && strstr(text, "synchronous replication"))
        c->unconfirmed = true;
}

static store_status prepare_session(pg_connection *c, store_error *err)
{
    return pg_read_text(
        c,
        "SET search_path = banditd; SET client_encoding = 'UTF8'; SET statement_timeout = 0; SET lock_timeout = 0; "
        "SET idle_in_transaction_session_timeout = 0; SET plan_cache_mode = force_generic_plan; "
        "SET default_transaction_isolation = 'read committed'; SET tcp_keepalives_idle = 5; "
        "SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; "
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') IN ('off', 'local'); "
        "SELECT pid || ' ' || backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()",
        c->session, sizeof c->session, err);
}

store_status pg_enter_pipeline(pg_connection *c, store_error *err)
{
    /* The writer finds all rows by their keys. Plans for arrays are made once, and before a table's size is known. */
    store_status status = pg_execute_text(
        c, "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off",
        err);
    if (status)
        return status;
    if (pq.PQsetnonblocking(c->conn, 1) != 0 || pq.PQenterPipelineMode(c->conn) != 1)
        return pg_fail_lost(c, err, "connecting");
    return STORE_OK;
}

store_status pg_connect(pg_connection *c, const char *uri, store_error *err)
{
    /* The settings of the URI come later, and take precedence. */
    static const char *const keywords[] = {
        "connect_timeout",           "keepalives_idle",  "keepalives_interval",
        "keepalives_count",          "tcp_user_timeout", "target_session_attrs",
        "fallback_application_name", "dbname",           NULL};
    const char *values[] = {"5", "5", "2", "3", "10000", "any", "banditd", uri, NULL};
    pg_disconnect(c);
    c->conn = pq.PQconnectdbParams(keywords, values, 1);
    if (!c->conn)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    if (pq.PQstatus(c->conn) != CONNECTION_OK)
        return pg_fail_lost(c, err, "connecting");
    pq.PQsetNoticeReceiver(c->conn, take_notice, c);
    return prepare_session(c, err);
}

void pg_disconnect(pg_connection *c)
{
    if (!c->conn)
        return;
    pq.PQclear(c->result);
    pq.PQfinish(c->conn);
    c->result = NULL;
    c->conn = NULL;
    c->unconfirmed = false;
    memset(c->prepared, 0, sizeof c->prepared);
}

void pg_connection_clear(pg_connection *c)
{
    pg_disconnect(c);
    free(c->bytes.bytes);
    free(c->asked);
}

void pg_describe(const pg_connection *c, char *out, size_t size)
{
    const char *host = "", *port = "", *name = "", *user = "";
    PQconninfoOption *options = pq.PQconninfo(c->conn);
    for (const PQconninfoOption *o = options; o && o->keyword; o++) {
        const char *value = o->val ? o->val : "";
        if (strcmp(o->keyword, "host") == 0)
            host = value;
        else if (strcmp(o->keyword, "port") == 0)
            port = value;
        else if (strcmp(o->keyword, "dbname") == 0)
            name = value;
        else if (strcmp(o->keyword, "user") == 0)
            user = value;
    }
    snprintf(out, size, "postgresql://%s@%s:%s/%s", user, host, port, name);
    pq.PQconninfoFree(options);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static bool is_class(const char *state, const char *class)
{
    return strncmp(state, class, strlen(class)) == 0;
}

/* The status for an SQLSTATE (appendix A of PostgreSQL's manual). */
static store_status status_of(const char *state)
{
    static const struct {
        const char *class;
        store_status status;
    } meanings[] = {
        {"08", STORE_UNREACHABLE},    /* the connection */
        {"57P0", STORE_UNREACHABLE},  /* the server is stopping, starting, or ended the session */
        {"25006", STORE_UNREACHABLE}, /* it has become a standby */
        {"25P03", STORE_UNREACHABLE}, /* time-outs of the session */
        {"53300", STORE_UNREACHABLE}, /* too many connections */
        {"53100", STORE_FULL},        {"53200", STORE_NO_MEMORY}, {"23", STORE_EXISTS}, /* constraints */
        {"XX00", STORE_CORRUPT},      {"42501", STORE_READ_ONLY},                       /* privileges */
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (is_class(state, meanings[i].class))
            return meanings[i].status;
    return STORE_IO;
}

/* The length of the first line. */
static int line_length(const char *text)
{
    size_t n = strcspn(text, "\n");
    return n > 300 ? 300 : (int)n;
}

store_status pg_fail_lost(pg_connection *c, store_error *err, const char *what)
{
    const char *text = c->conn ? pq.PQerrorMessage(c->conn) : "";
    if (!*text && c->deadline > 0 && store_clock() >= c->deadline)
        text = "the database does not answer";
    else if (!*text)
        text = "the connection is lost";
    return store_fail(err, STORE_UNREACHABLE, "%s: %.*s", what, line_length(text), text);
}

store_status pg_fail(pg_connection *c, const PGresult *result, store_error *err, const char *what)
{
    const char *state = result ? pq.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    if (!result || !state || pq.PQstatus(c->conn) != CONNECTION_OK)
        return pg_fail_lost(c, err, what);
    const char *text = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return store_fail(err, status_of(state), "%s: %.*s (SQLSTATE %s)", what, line_length(text ? text : ""),
                      text ? text : "", state);
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

/* Waits for the socket. False: the wait took too long. */
static bool wait_for(pg_connection *c, short events)
{
    struct pollfd watched = {.fd = pq.PQsocket(c->conn), .events = events};
    double left = c->deadline - store_clock();
    return watched.fd >= 0 && left > 0 && poll(&watched, 1, (int)(left * 1000) + 1) >= 0;
}

bool pg_await(pg_connection *c)
{
    /* The server may stop reading until its answers are read, so this sends and reads at the same time. */
    int unsent = 1;
    while (unsent || pq.PQisBusy(c->conn)) {
        unsent = unsent ? pq.PQflush(c->conn) : 0;
        if (unsent < 0)
            return false;
        if (!unsent && !pq.PQisBusy(c->conn))
            break;
        if (!wait_for(c, unsent ? POLLIN | POLLOUT : POLLIN) || pq.PQconsumeInput(c->conn) != 1)
            return false;
    }
    return true;
}

bool pg_send_out(pg_connection *c)
{
    int unsent;
    while ((unsent = pq.PQflush(c->conn)) > 0)
        if (!wait_for(c, POLLIN | POLLOUT) || pq.PQconsumeInput(c->conn) != 1)
            return false;
    return unsent == 0;
}

PGresult *pg_result(pg_connection *c)
{
    return c->deadline == 0 || pg_await(c) ? pq.PQgetResult(c->conn) : NULL;
}

/* ---- plain texts --------------------------------------------------------------------------------------- */

/* The last result; if one has failed, it is the last. NULL: the connection is lost or past its deadline. */
static PGresult *run_text(pg_connection *c, const char *sql)
{
    PGresult *last = NULL, *next;
    if (c->deadline == 0)
        return pq.PQexec(c->conn, sql);
    if (pq.PQsendQuery(c->conn, sql) != 1)
        return NULL;
    for (;;) {
        bool answered = pg_await(c);
        next = answered ? pq.PQgetResult(c->conn) : NULL;
        if (next || !answered)
            pq.PQclear(last);
        if (!answered)
            return NULL;
        if (!next)
            return last;
        last = next;
    }
}

static bool is_good(const PGresult *result)
{
    ExecStatusType status = result ? pq.PQresultStatus(result) : PGRES_FATAL_ERROR;
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

store_status pg_execute_text(pg_connection *c, const char *sql, store_error *err)
{
    PGresult *result = run_text(c, sql);
    store_status status = is_good(result) ? STORE_OK : pg_fail(c, result, err, "a statement");
    pq.PQclear(result);
    return status;
}

store_status pg_read_text(pg_connection *c, const char *sql, char *out, size_t size, store_error *err)
{
    PGresult *result = run_text(c, sql);
    bool good = is_good(result);
    store_status status = good ? STORE_OK : pg_fail(c, result, err, "a query");
    snprintf(out, size, "%s", good && pq.PQntuples(result) > 0 ? pq.PQgetvalue(result, 0, 0) : "");
    pq.PQclear(result);
    return status;
}

store_status pg_read_integer(pg_connection *c, const char *sql, int64_t *out, store_error *err)
{
    char text[32];
    store_status status = pg_read_text(c, sql, text, sizeof text, err);
    *out = strtoll(text, NULL, 10);
    return status;
}
