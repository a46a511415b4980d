/* The pool of connections for reading, and their short transactions. */
#include "server/store/postgres/postgres.h"

#include <stdlib.h>
#include <time.h>

enum { idle_readers = 8 };                /* kept open between reads */
static const double longest_wait = 5.0;   /* s, for a lost database: a thread waits with the read */
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
    pg_disconnect(c);
    free(c->bytes.bytes);
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
    *status = pg_connect(c, s->uri, err);
    if (!*status)
        return c;
    drop(c);
    return NULL;
}

/* For the probe: does the database answer? */
static void note_read(store *base, store_status status)
{
    atomic_store(&base->read_failed, status != STORE_OK && status != STORE_NOT_FOUND);
}

/* Idle connections may have been lost while nobody looked. */
static pg_connection *begin_idle(pg_store *s)
{
    for (pg_connection *c; (c = take_idle(s));) {
        if (sql_run(&c->base, NULL, SQL_BEGIN, "") == STORE_OK)
            return c;
        drop(c);
    }
    return NULL;
}

sql_connection *pg_begin_read(store *base, store_status *status, store_error *err)
{
    pg_store *s = pg_of(base);
    if (s->snapshot)
        return &s->writer.base; /* its transaction is open already */
    double wait = s->patience < longest_wait ? s->patience : longest_wait;
    double deadline = store_clock() + wait;
    for (;;) {
        store_error own = {0};
        *status = STORE_OK;
        pg_connection *c = begin_idle(s);
        if (!c && (c = open_reader(s, status, &own))) {
            *status = sql_run(&c->base, &own, SQL_BEGIN, "");
            if (*status) {
                drop(c);
                c = NULL;
            }
        }
        if (c)
            return &c->base;
        double since = atomic_load(&s->away_since), now = store_clock();
        bool known_to_be_away = since > 0 && now - since > wait;
        if (*status != STORE_UNREACHABLE || now >= deadline || known_to_be_away) {
            note_read(base, *status);
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
    if (s->snapshot)
        return status;
    note_read(base, status);
    bool good = c->error.status == STORE_OK || c->error.status == STORE_NOT_FOUND;
    if (good && sql_run(&c->base, NULL, SQL_COMMIT, "") == STORE_OK) /* only releases the snapshot */
        give_back(s, c);
    else
        drop(c);
    return status;
}
