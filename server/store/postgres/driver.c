/* Statements on PostgreSQL's connections. A reader waits for each and takes its rows one by one. The writer's go into
 * its journal, and those with rows are answered whole. */
#include "server/store/postgres/postgres.h"

#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const texts[PG_COUNT] = {
#define X(identifier, text) [identifier] = (text),
    SQL_LIST(X) PG_LIST(X)
#undef X
};

static const char *const changed_texts[PG_COUNT] = {
#define X(identifier, text) [identifier] = (text),
    PG_CHANGED_LIST(X)
#undef X
};

void pg_statement_text(int id, char *out, size_t size)
{
    snprintf(out, size, "%s", changed_texts[id] ? changed_texts[id] : texts[id]);
    for (char *at = out; (at = strchr(at, '?'));)
        *at = '$';
}

static pg_connection *of(sql_connection *c)
{
    return (pg_connection *)c;
}

/* ---- sending and receiving ----------------------------------------------------------------------------- */

bool pg_send_preparation(pg_connection *c, int id, const pg_parameters *p)
{
    char name[16], text[pg_longest_statement];
    snprintf(name, sizeof name, "s%d", id);
    pg_statement_text(id, text, sizeof text);
    return pq.PQsendPrepare(c->conn, name, text, p->n, p->types) == 1;
}

bool pg_send(pg_connection *c, int id, const pg_parameters *p)
{
    char name[16];
    snprintf(name, sizeof name, "s%d", id);
    return pq.PQsendQueryPrepared(c->conn, name, p->n, p->values, p->lengths, p->formats, 1) == 1;
}

/* Waits for the socket; false: for too long. */
static bool wait_for(pg_connection *c, short events, double deadline)
{
    struct pollfd watched = {.fd = pq.PQsocket(c->conn), .events = events};
    double left = deadline - store_clock();
    return watched.fd >= 0 && left > 0 && poll(&watched, 1, (int)(left * 1000) + 1) >= 0;
}

PGresult *pg_result(pg_connection *c)
{
    if (!c->store)
        return pq.PQgetResult(c->conn);
    /* The server may stop reading until its answers are read: so both are done at once. */
    double deadline = store_clock() + (c->store->patience > 1 ? c->store->patience : 1);
    int unsent = 1;
    while (unsent || pq.PQisBusy(c->conn)) {
        unsent = unsent ? pq.PQflush(c->conn) : 0;
        if (unsent < 0)
            return NULL;
        if (!unsent && !pq.PQisBusy(c->conn))
            break;
        if (!wait_for(c, unsent ? POLLIN | POLLOUT : POLLIN, deadline) || pq.PQconsumeInput(c->conn) != 1)
            return NULL;
    }
    return pq.PQgetResult(c->conn);
}

/* ---- a statement with rows ------------------------------------------------------------------------------ */

/* A reader's statement before its first use. */
static bool prepare(pg_connection *c, int id, const pg_parameters *parameters)
{
    if (c->prepared[id])
        return true;
    PGresult *result = pg_send_preparation(c, id, parameters) ? pq.PQgetResult(c->conn) : NULL;
    c->prepared[id] = result && pq.PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!c->prepared[id])
        pg_fail(c, result, &c->error, "preparing a query");
    for (; result; result = pq.PQgetResult(c->conn))
        pq.PQclear(result);
    return c->prepared[id];
}

/* A reader's statement with its parameters. */
static void send_started(pg_connection *c)
{
    pg_parameters parameters;
    pg_decode(&parameters, &c->bytes, 0, c->types);
    if (prepare(c, (int)c->id, &parameters) &&
        (!pg_send(c, (int)c->id, &parameters) || pq.PQsetSingleRowMode(c->conn) != 1))
        pg_fail_lost(c, &c->error, "a query");
}

static void start(sql_connection *base, sql_id id, const char *types, va_list args)
{
    pg_connection *c = of(base);
    pq.PQclear(c->result);
    c->result = NULL;
    c->id = id;
    c->types = types;
    c->row = -1;
    c->taken = 0;
    c->error = (store_error){0};
    c->bytes.n = 0;
    if (!pg_encode(&c->bytes, types, args)) {
        store_error_set(&c->error, STORE_NO_MEMORY, "out of memory");
    } else if (c->store) {
        store_error error = {0};
        pg_ask(c->store, (int)id, types, &c->bytes, &error);
        c->error = error;
    } else {
        send_started(c);
    }
}

/* The reader's next row. */
static bool receive(pg_connection *c)
{
    pq.PQclear(c->result);
    c->result = NULL;
    c->row = 0;
    while (!c->error.status && (c->result = pq.PQgetResult(c->conn))) {
        ExecStatusType status = pq.PQresultStatus(c->result);
        if (status == PGRES_SINGLE_TUPLE)
            return true;
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            pg_fail(c, c->result, &c->error, "a query");
        pq.PQclear(c->result);
        c->result = NULL;
    }
    return false;
}

/* Asks again over a new connection, up to the row behind those that were taken: they come in their order, and what is
 * added comes behind them. */
static bool ask_again(pg_connection *c)
{
    double deadline = store_clock() + c->pool->patience;
    while (c->error.status == STORE_UNREACHABLE && store_clock() < deadline) {
        size_t passed = 0;
        c->error = (store_error){0};
        if (pg_connect(c, c->pool->uri, &c->error) == STORE_OK &&
            pg_execute_text(c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &c->error) == STORE_OK)
            send_started(c);
        while (!c->error.status && passed < c->taken && receive(c))
            passed++;
        if (!c->error.status)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    c->pool = NULL; /* once is enough */
    return false;
}

static bool step(sql_connection *base)
{
    pg_connection *c = of(base);
    if (c->store)
        return c->result && ++c->row < pq.PQntuples(c->result);
    bool more = receive(c);
    while (!more && c->error.status == STORE_UNREACHABLE && c->pool && c->id != SQL_BEGIN &&
           c->id != SQL_COMMIT && ask_again(c))
        more = receive(c);
    c->taken += more;
    return more;
}

static store_status finish(sql_connection *base, store_error *err)
{
    pg_connection *c = of(base);
    while (!c->store && step(base))
        ;
    pq.PQclear(c->result);
    c->result = NULL;
    if (c->error.status && err)
        *err = c->error;
    return c->error.status;
}

static store_status run(sql_connection *base, store_error *err, sql_id id, const char *types, va_list args)
{
    pg_connection *c = of(base);
    if (c->store)
        return pg_enter_list(c->store, err, (int)id, types, args);
    start(base, id, types, args);
    return finish(base, err);
}

static store_status must_change(sql_connection *base, store_error *err, store_status status,
                                const char *message)
{
    return pg_must_change(of(base)->store, err, status, message);
}

/* ---- columns -------------------------------------------------------------------------------------------- */

static int64_t integer(sql_connection *base, int column)
{
    const pg_connection *c = of(base);
    const char *value = pq.PQgetvalue(c->result, c->row, column);
    uint64_t eight;
    uint32_t four;
    switch (pq.PQgetlength(c->result, c->row, column)) {
    case 8:
        memcpy(&eight, value, sizeof eight);
        return (int64_t)be64toh(eight);
    case 4:
        memcpy(&four, value, sizeof four);
        return (int32_t)be32toh(four);
    case 1: /* a boolean */
        return *value;
    default: /* NULL */
        return 0;
    }
}

static double number(sql_connection *base, int column)
{
    double value;
    int64_t bits = integer(base, column);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool is_null(sql_connection *base, int column)
{
    return pq.PQgetisnull(of(base)->result, of(base)->row, column) == 1;
}

static const char *text(sql_connection *base, int column)
{
    return pq.PQgetvalue(of(base)->result, of(base)->row, column); /* ends with a NUL; "" for NULL */
}

static const void *blob(sql_connection *base, int column, size_t *size)
{
    *size = (size_t)pq.PQgetlength(of(base)->result, of(base)->row, column);
    return pq.PQgetvalue(of(base)->result, of(base)->row, column);
}

const sql_driver pg_driver = {
    .start = start,
    .step = step,
    .finish = finish,
    .run = run,
    .must_change = must_change,
    .integer = integer,
    .number = number,
    .is_null = is_null,
    .text = text,
    .blob = blob,
    .begin_read = pg_begin_read,
    .end_read = pg_end_read,
};
