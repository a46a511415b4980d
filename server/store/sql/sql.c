#include "server/store/sql/sql.h"

#include <stdio.h>

void sql_start(sql_connection *c, sql_id id, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    c->driver->start(c, id, types, args);
    va_end(args);
}

bool sql_step(sql_connection *c)
{
    return c->driver->step(c);
}

store_status sql_finish(sql_connection *c, store_error *err)
{
    return c->driver->finish(c, err);
}

store_status sql_run(sql_connection *c, store_error *err, sql_id id, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    store_status status = c->driver->run(c, err, id, types, args);
    va_end(args);
    return status;
}

store_status sql_must_change(sql_connection *c, store_error *err, store_status status, const char *format,
                             ...)
{
    char message[sizeof err->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return c->driver->must_change(c, err, status, message);
}

int64_t sql_integer(sql_connection *c, int column)
{
    return c->driver->integer(c, column);
}

double sql_number(sql_connection *c, int column)
{
    return c->driver->number(c, column);
}

double sql_real(sql_connection *c, int column)
{
    return c->driver->is_null(c, column) ? __builtin_nan("") : c->driver->number(c, column);
}

bool sql_is_null(sql_connection *c, int column)
{
    return c->driver->is_null(c, column);
}

const char *sql_text(sql_connection *c, int column)
{
    return c->driver->text(c, column);
}

const void *sql_blob(sql_connection *c, int column, size_t *size)
{
    return c->driver->blob(c, column, size);
}

sql_connection *sql_begin_read(store *s, store_status *status, store_error *err)
{
    *status = STORE_OK;
    return sql_of(s)->driver->begin_read(s, status, err);
}

store_status sql_end_read(store *s, sql_connection *c, store_status status)
{
    return sql_of(s)->driver->end_read(s, c, status);
}

sql_connection *sql_begin_study(store *s, int64_t study, reader_study *alive, store_status *status,
                                store_error *err)
{
    sql_connection *c = sql_begin_read(s, status, err);
    if (!c)
        return NULL;
    sql_start(c, SQL_STUDY_ALIVE, "i", study);
    bool found = sql_step(c);
    if (found && alive)
        *alive = (reader_study){
            .content = sql_integer(c, 0), .candidates = sql_integer(c, 1), .dimension = sql_integer(c, 2)};
    *status = sql_finish(c, err);
    if (!*status && !found)
        *status = store_fail(err, STORE_NOT_FOUND, "there is no study %lld", (long long)study);
    if (*status) {
        sql_end_read(s, c, *status);
        return NULL;
    }
    return c;
}

void sql_note_read(store *s, store_status status)
{
    atomic_store(&s->read_failed, status != STORE_OK && status != STORE_NOT_FOUND);
}

int64_t sql_limit(size_t limit)
{
    return limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
}
