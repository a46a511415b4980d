/* The pool of connections for reading, and their short transactions. */
#include "server/store/sqlite/sqlite.h"

#include <stdlib.h>

/* Never waits for a connection, since a row's callback may read from the store again. NULL: none can be
 * opened; *status and *err say why. */
static connection *pool_take(sqlite_store *s, store_status *status, store_error *err)
{
    pthread_mutex_lock(&s->pool_mutex);
    connection *c = s->idle_readers;
    if (c) {
        s->idle_readers = c->next;
        s->n_idle_readers--;
    }
    pthread_mutex_unlock(&s->pool_mutex);
    *status = STORE_OK;
    if (c)
        return c;
    if (atomic_load(&s->moved)) { /* another file has the name now */
        *status = store_fail(err, STORE_MOVED, "%s is not the file that this server opened", s->path);
        return NULL;
    }
    c = malloc(sizeof *c);
    if (!c) {
        *status = store_fail(err, STORE_NO_MEMORY, "out of memory");
        return NULL;
    }
    *status = sqlite_open_reader(c, s->path, err);
    if (*status) {
        connection_close(c);
        free(c);
        return NULL;
    }
    return c;
}

static void pool_return(sqlite_store *s, connection *c)
{
    pthread_mutex_lock(&s->pool_mutex);
    bool kept = s->n_idle_readers < sqlite_idle_readers;
    if (kept) {
        c->next = s->idle_readers;
        s->idle_readers = c;
        s->n_idle_readers++;
    }
    pthread_mutex_unlock(&s->pool_mutex);
    if (!kept) {
        connection_close(c);
        free(c);
    }
}

void sqlite_close_readers(sqlite_store *s)
{
    while (s->idle_readers) {
        connection *c = s->idle_readers;
        s->idle_readers = c->next;
        connection_close(c);
        free(c);
    }
}

sql_connection *sqlite_begin_read(store *base, store_status *status, store_error *err)
{
    sqlite_store *s = sqlite_of(base);
    if (s->snapshot) { /* its transaction is already open */
        if (s->writer.n_suspended == sizeof s->writer.suspended / sizeof *s->writer.suspended) {
            *status = store_fail(err, STORE_BUSY, "reads of a snapshot are nested too deeply");
            return NULL;
        }
        s->writer.suspended[s->writer.n_suspended++] = s->writer.started;
        return &s->writer.base;
    }
    connection *c = pool_take(s, status, err);
    if (!c) {
        sql_note_read(base, *status);
        return NULL;
    }
    *status = connection_run(c, err, SQL_BEGIN, "");
    if (*status) {
        sql_note_read(base, *status);
        pool_return(s, c);
        return NULL;
    }
    return &c->base;
}

store_status sqlite_end_read(store *base, sql_connection *c, store_status status)
{
    if (sqlite_of(base)->snapshot) {
        connection *snapshot = &sqlite_of(base)->writer;
        snapshot->started = snapshot->suspended[--snapshot->n_suspended];
        return status;
    }
    sql_note_read(base, status);
    connection_run((connection *)c, NULL, SQL_COMMIT, ""); /* only releases the snapshot */
    pool_return(sqlite_of(base), (connection *)c);
    return status;
}
