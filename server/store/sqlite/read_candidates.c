/* Reads of candidates. */
#include "server/store/sqlite/sqlite.h"

/* Reads the part of rows first … end−1 that is in the block, without an intermediate copy. */
static store_status read_block(connection *c, sqlite3_blob **blob, sqlite3_stmt *row, size_t width,
                               int64_t first, int64_t end, double *rows, int64_t *next)
{
    int64_t block = sqlite3_column_int64(row, 0), start = sqlite3_column_int64(row, 1);
    int64_t stop = start + sqlite3_column_int64(row, 2);
    int64_t from = start > first ? start : first, to = stop < end ? stop : end;
    if (*blob)
        c->error = sqlite3_blob_reopen(*blob, block);
    else
        c->error = sqlite3_blob_open(c->db, "main", "candidate_blocks", "rows", block, 0, blob);
    if (c->error || start > *next || to <= from ||
        (int64_t)sqlite3_blob_bytes(*blob) != (stop - start) * (int64_t)width)
        return c->error ? STORE_IO : STORE_CORRUPT;
    c->error = sqlite3_blob_read(*blob, (char *)rows + (size_t)(from - first) * width,
                                 (int)((to - from) * (int64_t)width), (int)((from - start) * (int64_t)width));
    *next = to;
    return c->error ? STORE_IO : STORE_OK;
}

/* Reads rows first … first + n − 1 inside an open read transaction. The study must have these rows. */
static store_status read_rows(connection *c, sqlite3_blob **blob, const reader_study *alive, int64_t study,
                              int64_t first, size_t n, size_t dimension, double *rows, store_error *err)
{
    store_status status = STORE_OK;
    int64_t end = first + (int64_t)n, next = first;
    if (first < 0 || first > alive->candidates || n > (size_t)(alive->candidates - first))
        return store_fail(err, STORE_NOT_FOUND, "study %lld has %lld candidates", (long long)study,
                          (long long)alive->candidates);
    if (n > 0 && (int64_t)dimension != alive->dimension)
        return store_fail_dimension(err, study, dimension);
    sqlite3_stmt *row = connection_bind(c, SQL_BLOCKS, "iii", alive->content, first, end);
    while (!status && next < end && connection_step(c, row))
        status = read_block(c, blob, row, dimension * sizeof *rows, first, end, rows, &next);
    if (c->error)
        status = connection_finish(c, row, err);
    else if (status || next != end)
        status = store_fail(err, STORE_CORRUPT, "candidates from %lld on are damaged in study %lld",
                            (long long)next, (long long)study);
    sqlite3_reset(row);
    return status;
}

store_status sqlite_read_candidates(store *s, int64_t study, int64_t first, size_t n, size_t dimension,
                                    double *rows, store_error *err)
{
    store_status status;
    reader_study alive = {0};
    sqlite3_blob *blob = NULL;
    connection *c = (connection *)sql_begin_study(s, study, &alive, &status, err);
    if (!c)
        return status;
    status = read_rows(c, &blob, &alive, study, first, n, dimension, rows, err);
    sqlite3_blob_close(blob);
    return sql_end_read(s, &c->base, status);
}

store_status sqlite_read_candidates_at(store *s, int64_t study, const int64_t *indices, size_t n,
                                       size_t dimension, double *rows, store_error *err)
{
    store_status status;
    reader_study alive = {0};
    sqlite3_blob *blob = NULL;
    connection *c = (connection *)sql_begin_study(s, study, &alive, &status, err);
    if (!c)
        return status;
    for (size_t i = 0; !status && i < n; i++)
        status = read_rows(c, &blob, &alive, study, indices[i], 1, dimension, rows + i * dimension, err);
    if (status == STORE_NOT_FOUND) /* a stored row names this candidate */
        status = store_fail(err, STORE_CORRUPT, "study %lld: a row names a candidate that does not exist",
                            (long long)study);
    sqlite3_blob_close(blob);
    return sql_end_read(s, &c->base, status);
}
