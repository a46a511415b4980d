/* Writes and reads the keys of candidates. */
#include "server/store/sql/sql.h"

store_status sql_keys_clear(store *s, int64_t study, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_KEYS_CLEAR, "i", study);
}

store_status sql_key_put(store *s, int64_t study, int64_t candidate, const char *key, store_error *err)
{
    return sql_run(sql_writer(s), err, SQL_KEY_PUT, "iit", study, candidate, key);
}

static void show(sql_connection *c, store_key_row *row, void *arg)
{
    const store_key key = {.candidate = sql_integer(c, 0), .key = sql_text(c, 1)};
    row(arg, &key);
}

store_status sql_read_keys(store *s, int64_t study, int64_t first, size_t limit, store_key_row *row,
                           void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_KEYS, "iii", study, first, sql_limit(limit));
    while (sql_step(c))
        show(c, row, arg);
    return sql_end_read(s, c, sql_finish(c, err));
}

store_status sql_read_keys_at(store *s, int64_t study, const int64_t *indices, size_t n, store_key_row *row,
                              void *arg, store_error *err)
{
    store_status status;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    for (size_t i = 0; !status && i < n; i++) {
        sql_start(c, SQL_KEY, "ii", study, indices[i]);
        if (sql_step(c))
            show(c, row, arg);
        status = sql_finish(c, err);
    }
    return sql_end_read(s, c, status);
}

store_status sql_find_key(store *s, int64_t study, const char *key, int64_t *candidate, store_error *err)
{
    store_status status;
    *candidate = -1;
    sql_connection *c = sql_begin_study(s, study, NULL, &status, err);
    if (!c)
        return status;
    sql_start(c, SQL_KEY_FIND, "it", study, key);
    if (sql_step(c))
        *candidate = sql_integer(c, 0);
    return sql_end_read(s, c, sql_finish(c, err));
}
