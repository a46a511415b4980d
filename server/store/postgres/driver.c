/* Statements on PostgreSQL's connections. A reader waits for each statement and takes its rows one by one. The writer's
 * statements go into its journal; the results of those with rows are received as a whole. */
#include "server/store/postgres/postgres.h"

#include "proto/arrays.h"

#include <endian.h>
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

/* ---- a statement with rows ------------------------------------------------------------------------------ */

/* A reader's next result. NULL: the statement has no more, or the connection is lost, which c->error says. */
static PGresult *reader_result(pg_connection *c)
{
    if (c->waits > 0)
        c->deadline = store_clock() + c->waits;
    if (c->deadline == 0 || pg_await(c))
        return pq.PQgetResult(c->conn);
    pg_fail_lost(c, &c->error, "a query");
    return NULL;
}

/* Prepares a reader's statement before its first use. */
static bool prepare(pg_connection *c, int id, const pg_parameters *parameters)
{
    if (c->prepared[id])
        return true;
    PGresult *result = pg_send_preparation(c, id, parameters) ? reader_result(c) : NULL;
    c->prepared[id] = result && pq.PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!c->prepared[id] && !c->error.status)
        pg_fail(c, result, &c->error, "preparing a query");
    for (; result; result = reader_result(c))
        pq.PQclear(result);
    return c->prepared[id];
}

/* Sends a reader's statement with its parameters. */
static void send_entry(pg_connection *c, const pg_entry *entry)
{
    pg_parameters parameters;
    pg_decode(&parameters, &c->bytes, entry->at, entry->types);
    if (prepare(c, entry->id, &parameters) &&
        (!pg_send(c, entry->id, &parameters) || pq.PQsetSingleRowMode(c->conn) != 1))
        pg_fail_lost(c, &c->error, "a query");
}

/* Adds the statement to the read, which begins with SQL_BEGIN. False: out of memory. */
static bool note_asked(pg_connection *c, int id, const char *types, va_list args)
{
    if (id == SQL_BEGIN) {
        c->n_asked = c->bytes.n = 0;
        c->seen = 0;
    }
    c->taken = c->late_at = 0;
    size_t at = c->bytes.n;
    if (!wire_grow(&c->asked, &c->asked_capacity, c->n_asked + 1, 4, sizeof *c->asked) ||
        !pg_encode(&c->bytes, types, args))
        return false;
    c->asked[c->n_asked++] = (pg_entry){.id = id, .types = types, .at = at};
    return true;
}

static void start(sql_connection *base, sql_id id, const char *types, va_list args)
{
    pg_connection *c = of(base);
    pq.PQclear(c->result);
    c->result = NULL;
    c->row = -1;
    c->error = (store_error){0};
    if (c->store) {
        c->bytes.n = 0;
        if (pg_encode(&c->bytes, types, args)) {
            store_error error = {0};
            pg_ask(c->store, (int)id, types, &c->bytes, &error);
            c->error = error;
            return;
        }
    } else if (note_asked(c, (int)id, types, args)) {
        send_entry(c, &c->asked[c->n_asked - 1]);
        return;
    }
    store_error_set(&c->error, STORE_NO_MEMORY, "out of memory");
}

/* FNV-1a over eight bytes at a time, including the columns' lengths. */
static uint64_t hash_row(uint64_t hash, const PGresult *row)
{
    for (int column = 0; column < pq.PQnfields(row); column++) {
        const char *value = pq.PQgetvalue(row, 0, column);
        size_t n = (size_t)pq.PQgetlength(row, 0, column);
        hash = (hash ^ (n * 2 + (pq.PQgetisnull(row, 0, column) == 1))) * 0x100000001b3u;
        for (size_t at = 0; at < n; at += 8) {
            uint64_t eight = 0;
            memcpy(&eight, value + at, n - at < 8 ? n - at : 8);
            hash = (hash ^ eight) * 0x100000001b3u;
            hash ^= hash >> 32;
        }
    }
    return hash;
}

/* Receives the reader's next row. */
static bool receive(pg_connection *c)
{
    pq.PQclear(c->result);
    c->result = NULL;
    c->row = 0;
    while (!c->error.status && (c->result = reader_result(c))) {
        ExecStatusType status = pq.PQresultStatus(c->result);
        if (status == PGRES_SINGLE_TUPLE) {
            c->seen = hash_row(c->seen, c->result);
            return true;
        }
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            pg_fail(c, c->result, &c->error, "a query");
        pq.PQclear(c->result);
        c->result = NULL;
    }
    return false;
}

/* Uses the new connection to end the statement whose answer was late, within the time that a read has. (PQcancel opens
 * another connection, and waits for it without a limit.) */
static void end_late_statement(pg_connection *c)
{
    char sql[128 + sizeof c->late];
    snprintf(sql, sizeof sql,
             "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid || ' ' || backend_start = '%s'",
             c->late);
    if (*c->late && !pg_execute_text(c, sql, &c->error))
        *c->late = '\0';
}

static void connect_again(pg_connection *c)
{
    c->error = (store_error){0};
    if (!pg_connect(c, c->pool->uri, &c->error))
        end_late_statement(c);
}

/* Sends all statements of the read over a new connection, and receives as many rows as have been taken. */
static void read_again(pg_connection *c)
{
    c->seen = 0;
    connect_again(c);
    for (size_t i = 0; i < c->n_asked && !c->error.status; i++) {
        bool last = i + 1 == c->n_asked;
        size_t passed = 0;
        send_entry(c, &c->asked[i]);
        while (!c->error.status && (!last || passed < c->taken) && receive(c))
            passed++;
    }
}

/* Is the answer late? If so, the connection may still be good, and the statement may still run. */
static bool note_late(pg_connection *c)
{
    bool late = store_clock() >= c->deadline && pq.PQstatus(c->conn) == CONNECTION_OK;
    if (late)
        memcpy(c->late, c->session, sizeof c->late);
    return late;
}

/* Is the answer late for the second time since the last row? Then another attempt would only take as long. */
static bool is_late_again(pg_connection *c)
{
    bool late = note_late(c), again = late && c->late_at == c->taken + 1;
    if (late)
        c->late_at = c->taken + 1;
    return again;
}

/* Gives up the read, and ends its statement if that may still run. */
static void give_up(pg_connection *c)
{
    store_error error = c->error;
    if (note_late(c)) {
        c->deadline = store_clock() + pg_shortest_attempt;
        connect_again(c);
    }
    c->error = error;
    c->pool = NULL;
}

/* Call it when the connection is lost, or its answer is late. The whole read begins again, and sees another moment. It
 * continues only if all rows that were taken are received again, unchanged. So a read never mixes two moments. */
static bool ask_again(pg_connection *c)
{
    double deadline = c->deadline; /* if it has passed, one attempt is made */
    uint64_t seen = c->seen;
    bool again = is_late_again(c);
    while (!again) {
        note_late(c);
        c->deadline = store_clock() + pg_shortest_attempt;
        if (c->deadline < deadline)
            c->deadline = deadline;
        read_again(c);
        if (!c->error.status && c->seen == seen)
            return true;
        if (!c->error.status) {
            store_error_set(&c->error, STORE_UNREACHABLE,
                            "the connection was lost in the middle of a read, and its rows have changed");
            break;
        }
        if (c->error.status != STORE_UNREACHABLE || store_clock() >= deadline)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    give_up(c);
    return false;
}

static bool step(sql_connection *base)
{
    pg_connection *c = of(base);
    if (c->store)
        return c->result && ++c->row < pq.PQntuples(c->result);
    bool more = receive(c);
    int id = c->n_asked ? c->asked[c->n_asked - 1].id : SQL_BEGIN;
    while (!more && c->error.status == STORE_UNREACHABLE && c->pool && id != SQL_BEGIN && id != SQL_COMMIT &&
           ask_again(c))
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
