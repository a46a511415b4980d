/* Reads of candidates. */
#include "server/store/postgres/postgres.h"

#include <string.h>

static store_status damaged(store_error *err, int64_t study, int64_t candidate)
{
    return store_fail(err, STORE_CORRUPT, "candidates from %lld on are damaged in study %lld",
                      (long long)candidate, (long long)study);
}

/* Copies the part of rows first … end−1 that the current block of the connection has. False: the part is incomplete. */
static bool copy_part(sql_connection *c, size_t width, int64_t first, int64_t end, double *rows,
                      int64_t *next)
{
    int64_t start = sql_integer(c, 0), stop = start + sql_integer(c, 1);
    int64_t from = start > first ? start : first, to = stop < end ? stop : end;
    size_t n;
    const void *part = sql_blob(c, 3, &n);
    if (start > *next || to <= from || sql_integer(c, 2) != (stop - start) * (int64_t)width ||
        n != (size_t)(to - from) * width)
        return false;
    memcpy((char *)rows + (size_t)(from - first) * width, part, n);
    *next = to;
    return true;
}

static store_status read_rows(sql_connection *c, const reader_study *alive, int64_t study, int64_t first,
                              size_t n, size_t dimension, double *rows, store_error *err)
{
    int64_t end = first + (int64_t)n, next = first;
    size_t width = dimension * sizeof *rows;
    bool whole = true;
    if (first < 0 || first > alive->candidates || n > (size_t)(alive->candidates - first))
        return store_fail(err, STORE_NOT_FOUND, "study %lld has %lld candidates", (long long)study,
                          (long long)alive->candidates);
    if (n > 0 && (int64_t)dimension != alive->dimension)
        return store_fail_dimension(err, study, dimension);
    if (n == 0)
        return STORE_OK;
    sql_start(c, (sql_id)PG_ROWS, "iiii", alive->content, first, end, (int64_t)width);
    while (whole && next < end && sql_step(c))
        whole = copy_part(c, width, first, end, rows, &next);
    store_status status = sql_finish(c, err);
    return status || (whole && next == end) ? status : damaged(err, study, next);
}

store_status pg_read_candidates(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                double *rows, store_error *err)
{
    store_status status;
    reader_study alive = {0};
    sql_connection *c = sql_begin_study(s, study, &alive, &status, err);
    return c ? sql_end_read(s, c, read_rows(c, &alive, study, first, n, dimension, rows, err)) : status;
}

static store_status read_rows_at(sql_connection *c, const reader_study *alive, int64_t study,
                                 const int64_t *indices, size_t n, size_t dimension, double *rows,
                                 store_error *err)
{
    size_t width = dimension * sizeof *rows, read = 0;
    for (size_t i = 0; i < n; i++)
        if (indices[i] < 0 || indices[i] >= alive->candidates)
            return store_fail(err, STORE_CORRUPT, "study %lld: a row names a candidate that does not exist",
                              (long long)study);
    if (n > 0 && (int64_t)dimension != alive->dimension)
        return store_fail_dimension(err, study, dimension);
    sql_start(c, (sql_id)PG_ROWS_AT, "iIi", alive->content, indices, n, (int64_t)width);
    while (sql_step(c)) {
        size_t size;
        int64_t place = sql_integer(c, 0);
        const void *row = sql_blob(c, 1, &size);
        if (size == width && place > 0 && place <= (int64_t)n) {
            memcpy((char *)rows + (size_t)(place - 1) * width, row, width);
            read++;
        }
    }
    store_status status = sql_finish(c, err);
    return status || read == n ? status : damaged(err, study, n > 0 ? indices[0] : 0);
}

store_status pg_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                   size_t dimension, double *rows, store_error *err)
{
    store_status status;
    reader_study alive = {0};
    sql_connection *c = sql_begin_study(s, study, &alive, &status, err);
    return c ? sql_end_read(s, c, read_rows_at(c, &alive, study, indices, n, dimension, rows, err)) : status;
}
