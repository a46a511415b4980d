/* The pool of connections for reading, and their short transactions. */
#include "server/store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { idle_readers = 8 };                /* kept open between reads */
static const double pause_seconds = 0.05; /* between attempts */

/* Never waits for a connection, since a row's callback may read from the store again. */
static pg_connection *take_idle(pg_store *s)
{
    pthread_mutex_lock(&s->pool_mutex);
    pg_connection *c = s->idle_readers;
    if (c) {
        s->idle_readers = c->next;
        s->n_idle_readers--;
    }
    pthread_mutex_unlock(&s->pool_mutex);
    return c;
}

static void drop(pg_connection *c)
{
    pg_connection_clear(c);
    free(c);
}

static void give_back(pg_store *s, pg_connection *c)
{
    pthread_mutex_lock(&s->pool_mutex);
    bool kept = s->n_idle_readers < idle_readers;
    if (kept) {
        c->next = s->idle_readers;
        s->idle_readers = c;
        s->n_idle_readers++;
    }
    pthread_mutex_unlock(&s->pool_mutex);
    if (!kept)
        drop(c);
}

void pg_close_readers(pg_store *s)
{
    for (pg_connection *c; (c = take_idle(s));)
        drop(c);
}

/* A new connection, or NULL. */
static pg_connection *open_reader(pg_store *s, store_status *status, store_error *err)
{
    pg_connection *c = calloc(1, sizeof *c);
    if (!c) {
        *status = store_fail(err, STORE_NO_MEMORY, "out of memory");
        return NULL;
    }
    c->base.driver = &pg_driver;
    c->pool = s;
    if (!s->snapshot) { /* reads of a snapshot have no time limit */
        c->waits = pg_wait_seconds(s);
        c->deadline = store_clock() + c->waits;
    }
    *status = pg_connect(c, s->uri, err);
    if (!*status)
        return c;
    drop(c);
    return NULL;
}

/* Idle connections may have been lost unnoticed. If one is lost, all of them are dropped, because finding out about
 * each of them could take as long. */
static pg_connection *begin_idle(pg_store *s)
{
    pg_connection *c = take_idle(s);
    if (!c || sql_run(&c->base, NULL, SQL_BEGIN, "") == STORE_OK)
        return c;
    drop(c);
    pg_close_readers(s);
    return NULL;
}

/* A connection in a transaction, at the first attempt; NULL: *status and *err say why. */
static pg_connection *begin_once(pg_store *s, store_status *status, store_error *err)
{
    *status = STORE_OK;
    pg_connection *c = begin_idle(s);
    if (c || !(c = open_reader(s, status, err)))
        return c;
    *status = sql_run(&c->base, err, SQL_BEGIN, "");
    if (!*status)
        return c;
    drop(c);
    return NULL;
}

/* A connection that sees the snapshot. */
static sql_connection *begin_in_snapshot(pg_store *s, store_status *status, store_error *err)
{
    char sql[sizeof s->moment + 40];
    if (!s->is_read) {
        s->is_read = true;
        return &s->writer.base; /* its transaction is already open */
    }
    pg_connection *c = begin_once(s, status, err);
    if (!c)
        return NULL;
    c->pool = NULL; /* a new connection would see another moment */
    snprintf(sql, sizeof sql, "SET TRANSACTION SNAPSHOT '%s'", s->moment);
    *status = pg_execute_text(c, sql, err);
    if (!*status)
        return &c->base;
    drop(c);
    return NULL;
}

/* If the database is unreachable, all reads together wait for the patience, and later reads do not wait. */
sql_connection *pg_begin_read(store *base, store_status *status, store_error *err)
{
    pg_store *s = pg_of(base);
    if (s->snapshot)
        return begin_in_snapshot(s, status, err);
    double begun = store_clock();
    for (;;) {
        store_error own = {0};
        pg_connection *c = begin_once(s, status, &own);
        if (c) {
            atomic_store(&s->unread_since, 0);
            return &c->base;
        }
        double since = 0;
        if (atomic_compare_exchange_strong(&s->unread_since, &since, begun))
            since = begun;
        if (*status != STORE_UNREACHABLE || store_clock() - since >= s->patience) {
            sql_note_read(base, *status);
            if (err)
                *err = own;
            return NULL;
        }
        nanosleep(&(struct timespec){.tv_nsec = (long)(pause_seconds * 1e9)}, NULL);
    }
}

store_status pg_end_read(store *base, sql_connection *connection, store_status status)
{
    pg_store *s = pg_of(base);
    pg_connection *c = (pg_connection *)connection;
    if (c == &s->writer) {
        s->is_read = false;
        return status;
    }
    sql_note_read(base, status);
    bool good = c->error.status == STORE_OK || c->error.status == STORE_NOT_FOUND;
    if (good && sql_run(&c->base, NULL, SQL_COMMIT, "") == STORE_OK) /* only releases the snapshot */
        give_back(s, c);
    else
        drop(c);
    return status;
}
