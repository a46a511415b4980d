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
    if (atomic_load(&s->moved)) { /* what has the name now is another file */
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

/* For the probe: does the file answer? */
static void note_read(store *base, store_status status)
{
    atomic_store(&base->read_failed, status != STORE_OK && status != STORE_NOT_FOUND);
}

connection *reader_begin(store *base, store_status *status, store_error *err)
{
    sqlite_store *s = sqlite_of(base);
    *status = STORE_OK;
    if (s->snapshot)
        return &s->writer; /* its transaction is open already */
    connection *c = pool_take(s, status, err);
    if (!c) {
        note_read(base, *status);
        return NULL;
    }
    *status = connection_run(c, err, SQL_BEGIN, "");
    if (*status) {
        note_read(base, *status);
        pool_return(s, c);
        return NULL;
    }
    return c;
}

store_status reader_end(store *base, connection *c, store_status status)
{
    if (sqlite_of(base)->snapshot)
        return status;
    note_read(base, status);
    connection_run(c, NULL, SQL_COMMIT, ""); /* only releases the snapshot */
    pool_return(sqlite_of(base), c);
    return status;
}

connection *reader_begin_study(store *base, int64_t study, reader_study *alive, store_status *status,
                               store_error *err)
{
    connection *c = reader_begin(base, status, err);
    if (!c)
        return NULL;
    sqlite3_stmt *row = connection_bind(c, SQL_STUDY_ALIVE, "i", study);
    bool found = connection_step(c, row);
    if (found && alive)
        *alive = (reader_study){.content = sqlite3_column_int64(row, 0),
                                .candidates = sqlite3_column_int64(row, 1),
                                .dimension = sqlite3_column_int64(row, 2)};
    *status = connection_finish(c, row, err);
    if (!*status && !found)
        *status = store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)study);
    if (*status) {
        reader_end(base, c, *status);
        return NULL;
    }
    return c;
}

int64_t reader_limit(size_t limit)
{
    return limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
}
