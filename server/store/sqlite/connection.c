#include "server/store/sqlite/sqlite.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[SQL_COUNT] = {
#define X(identifier, text) [identifier] = (text),
    SQL_LIST(X)
#undef X
};

/* Turns off SQLite's count of its memory. The count is not used, and for it all connections share one lock. */
static void leave_memory_uncounted(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

store_status connection_open(connection *c, const char *path, int flags, store_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *c = (connection){.base.driver = &sqlite_driver};
    pthread_once(&once, leave_memory_uncounted); /* before anything else initializes SQLite */
    sqlite_note_io_errors();
    c->error = sqlite3_open_v2(path, &c->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (c->error)
        return connection_fail(c, err, path);
    /* A damaged or hostile file must not make SQLite run code from its schema. */
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL); /* we have none */
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    sqlite3_busy_timeout(c->db, sqlite_busy_ms);
    return STORE_OK;
}

store_status connection_open_file(connection *c, const char *path, int flags, store_error *err)
{
    char *plain = NULL;
    *c = (connection){.base.driver = &sqlite_driver};
    if (*path != '/' && asprintf(&plain, "./%s", path) < 0)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    store_status status = connection_open(c, plain ? plain : path, flags, err);
    free(plain);
    return status;
}

store_status sqlite_open_reader(connection *c, const char *path, store_error *err)
{
    store_status status = connection_open_file(c, path, SQLITE_OPEN_READONLY, err);
    if (status)
        return status;
    return connection_execute_text(c, "PRAGMA query_only = ON; PRAGMA cell_size_check = ON", err);
}

store_status sqlite_open_other(connection *c, const char *path, store_error *err)
{
    *c = (connection){.base.driver = &sqlite_driver};
    store_status status = sqlite_refuse_more_names(path, err);
    if (!status)
        status = sqlite_refuse_foreign_log(path, err);
    return status ? status : sqlite_open_reader(c, path, err);
}

void connection_close(connection *c)
{
    for (int id = 0; id < SQL_COUNT; id++)
        sqlite3_finalize(c->statements[id]);
    sqlite3_close(c->db);
    *c = (connection){.base.driver = &sqlite_driver};
}

static store_status status_of(int code)
{
    if (code == SQLITE_CONSTRAINT_FOREIGNKEY)
        return STORE_NOT_FOUND;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return STORE_OK;
    case SQLITE_CONSTRAINT:
        return STORE_EXISTS;
    case SQLITE_FULL:
        return STORE_FULL;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return STORE_READ_ONLY;
    case SQLITE_CORRUPT:
        return STORE_CORRUPT;
    case SQLITE_NOTADB:
        return STORE_FOREIGN;
    case SQLITE_NOMEM:
        return STORE_NO_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return STORE_BUSY;
    default: /* SQLITE_IOERR, SQLITE_CANTOPEN, and codes that our statements cannot cause */
        return STORE_IO;
    }
}

/* Is the errno that of a full disk? SQLite reports a quota, or a limit on the size of files, as an error of the
 * disk. */
static bool is_full(int cause)
{
    return cause == EFBIG || cause == EDQUOT || cause == ENOSPC;
}

/* After a failed read, especially one in a rollback, SQLite may refuse further statements of the connection with the
 * same error, without reading again. */
static void note_read_error(connection *c)
{
    c->read_failed |= sqlite_read_error() != 0;
}

store_status connection_fail(connection *c, store_error *err, const char *what)
{
    int code = c->error ? c->error : sqlite3_extended_errcode(c->db);
    const char *words = c->db && (sqlite3_extended_errcode(c->db) & 0xff) == (code & 0xff)
                            ? sqlite3_errmsg(c->db)
                            : sqlite3_errstr(code);
    int cause = c->db ? sqlite3_system_errno(c->db) : 0;
    store_status status = status_of(code);
    note_read_error(c);
    if (c->read_failed && (status == STORE_CORRUPT || status == STORE_FOREIGN)) {
        status = STORE_IO;
        cause = sqlite_read_error() ? sqlite_read_error() : EIO;
        words = "the disk cannot be read";
    } else if (status == STORE_IO && is_full(sqlite_write_error())) {
        status = STORE_FULL;
        cause = sqlite_write_error();
    }
    sqlite_forget_io_errors();
    c->ran_full |= status == STORE_FULL;
    return store_fail(err, status, "%s: %s%s%s (SQLite code %d)", what, words, cause ? ": " : "",
                      cause ? strerror(cause) : "", code);
}

store_status connection_execute_text(connection *c, const char *sql, store_error *err)
{
    c->error = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return c->error ? connection_fail(c, err, sql) : STORE_OK;
}

store_status connection_read_integer(connection *c, const char *sql, int64_t *out, store_error *err)
{
    sqlite3_stmt *statement = NULL;
    *out = 0;
    c->error = sqlite3_prepare_v2(c->db, sql, -1, &statement, NULL);
    if (!c->error && connection_step(c, statement))
        *out = sqlite3_column_int64(statement, 0);
    store_status status = c->error ? connection_fail(c, err, sql) : STORE_OK;
    sqlite3_finalize(statement);
    return status;
}

static int bind_arguments(sqlite3_stmt *statement, const char *types, va_list args)
{
    int rc = SQLITE_OK;
    for (int i = 1; !rc && types[i - 1]; i++) {
        const char *text;
        const void *blob;
        switch (types[i - 1]) {
        case 'i':
            rc = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
            break;
        case 'd':
            rc = sqlite3_bind_double(statement, i, va_arg(args, double));
            break;
        case 't':
            text = va_arg(args, const char *);
            rc = sqlite3_bind_text(statement, i, text, -1, SQLITE_STATIC);
            break;
        case 'n':
            blob = va_arg(args, const void *);
            rc = sqlite3_bind_blob64(statement, i, blob, va_arg(args, size_t), SQLITE_STATIC);
            break;
        case 'b':
            blob = va_arg(args, const void *);
            /* A blob without bytes is an empty blob, not NULL. */
            rc = sqlite3_bind_blob64(statement, i, blob ? blob : "", va_arg(args, size_t), SQLITE_STATIC);
            break;
        default:
            rc = SQLITE_MISUSE;
        }
    }
    return rc;
}

static sqlite3_stmt *bind_list(connection *c, sql_id id, const char *types, va_list args)
{
    c->error = SQLITE_OK;
    note_read_error(c);
    sqlite_forget_io_errors(); /* of an earlier statement */
    sqlite3_stmt **statement = &c->statements[id];
    if (!*statement)
        c->error = sqlite3_prepare_v3(c->db, texts[id], -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
    if (!c->error)
        c->error = bind_arguments(*statement, types, args);
    return c->error ? NULL : *statement;
}

sqlite3_stmt *connection_bind(connection *c, sql_id id, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *statement = bind_list(c, id, types, args);
    va_end(args);
    return statement;
}

bool connection_step(connection *c, sqlite3_stmt *statement)
{
    if (!statement)
        return false;
    int rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        c->error = rc;
    return rc == SQLITE_ROW;
}

store_status connection_finish(connection *c, sqlite3_stmt *statement, store_error *err)
{
    store_status status = STORE_OK;
    if (c->error)
        status = connection_fail(c, err, statement ? sqlite3_sql(statement) : "preparing a statement");
    sqlite3_reset(statement);
    if (!status && sqlite3_get_autocommit(c->db))
        c->read_failed = false;
    return status;
}

store_status connection_run(connection *c, store_error *err, sql_id id, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    sqlite3_stmt *statement = bind_list(c, id, types, args);
    va_end(args);
    while (connection_step(c, statement))
        ;
    return connection_finish(c, statement, err);
}

const char *column_text(sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? text : "";
}

/* ---- the driver ---------------------------------------------------------------------------------------- */

static connection *connection_of(sql_connection *c)
{
    return (connection *)c;
}

static void driver_start(sql_connection *c, sql_id id, const char *types, va_list args)
{
    connection_of(c)->started = bind_list(connection_of(c), id, types, args);
}

static bool driver_step(sql_connection *c)
{
    return connection_step(connection_of(c), connection_of(c)->started);
}

static store_status driver_finish(sql_connection *c, store_error *err)
{
    return connection_finish(connection_of(c), connection_of(c)->started, err);
}

static store_status driver_run(sql_connection *c, store_error *err, sql_id id, const char *types,
                               va_list args)
{
    driver_start(c, id, types, args);
    while (driver_step(c))
        ;
    return driver_finish(c, err);
}

static store_status driver_must_change(sql_connection *c, store_error *err, store_status status,
                                       const char *message)
{
    return sqlite3_changes(connection_of(c)->db) > 0 ? STORE_OK : store_fail(err, status, "%s", message);
}

static int64_t driver_integer(sql_connection *c, int column)
{
    return sqlite3_column_int64(connection_of(c)->started, column);
}

static double driver_number(sql_connection *c, int column)
{
    return sqlite3_column_double(connection_of(c)->started, column);
}

static bool driver_is_null(sql_connection *c, int column)
{
    return sqlite3_column_type(connection_of(c)->started, column) == SQLITE_NULL;
}

static const char *driver_text(sql_connection *c, int column)
{
    return column_text(connection_of(c)->started, column);
}

static const void *driver_blob(sql_connection *c, int column, size_t *size)
{
    const void *blob = sqlite3_column_blob(connection_of(c)->started, column);
    *size = (size_t)sqlite3_column_bytes(connection_of(c)->started, column);
    return blob;
}

const sql_driver sqlite_driver = {
    .start = driver_start,
    .step = driver_step,
    .finish = driver_finish,
    .run = driver_run,
    .must_change = driver_must_change,
    .integer = driver_integer,
    .number = driver_number,
    .is_null = driver_is_null,
    .text = driver_text,
    .blob = driver_blob,
    .begin_read = sqlite_begin_read,
    .end_read = sqlite_end_read,
};
