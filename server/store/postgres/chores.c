/* The writer thread's work between writes: it removes deleted studies and contents, and old answers. PostgreSQL's own
 * vacuum frees the space. */
#include "server/store/postgres/postgres.h"

enum { rows_in_slice = 1000, blocks_in_slice = 8 };

void pg_after_commit(store *s)
{
    (void)s;
}

void pg_idle(store *s)
{
    (void)s;
}

/* The query's first result; 0: none. */
static store_status find(sql_connection *c, int id, int64_t first, int64_t second, int64_t *out)
{
    sql_start(c, (sql_id)id, "ii", first, second);
    *out = sql_step(c) ? sql_integer(c, 0) : 0;
    return sql_finish(c, NULL);
}

static store_status end_slice(store *s, store_status status)
{
    if (!status)
        return pg_commit(s, NULL);
    if (pg_in_transaction(s))
        pg_rollback(s);
    return status;
}

/* Removes a part of a study (or content) from each table, or, if no rows are left there, its own row. */
static store_status remove_slice(store *s, int64_t owner, const int *tables, size_t n, int64_t rows, int left,
                                 int last)
{
    int64_t more;
    store_status status = find(sql_writer(s), left, owner, 0, &more);
    if (!status)
        status = pg_begin(s, NULL);
    for (size_t i = 0; !status && more && i < n; i++)
        status = sql_run(sql_writer(s), NULL, (sql_id)tables[i], "ii", owner, rows);
    if (!status && !more)
        status = sql_run(sql_writer(s), NULL, (sql_id)last, "i", owner);
    return end_slice(s, status);
}

/* Removes expired answers, by the time of the last answer that was stored. Before the first answer of this run, no time
 * is known, and nothing is removed. */
static store_status expire_answers(store *s, int64_t *expired)
{
    int64_t now = sql_of(s)->answered_at;
    *expired = 0;
    if (now == 0)
        return STORE_OK;
    store_status status = find(sql_writer(s), PG_ANSWERS_EXPIRED, now, STORE_ANSWER_KEPT, expired);
    if (status || *expired == 0)
        return status;
    status = pg_begin(s, NULL);
    if (!status)
        status = sql_run(sql_writer(s), NULL, SQL_ANSWERS_AHEAD, "ii", now, STORE_ANSWER_KEPT);
    if (!status)
        status = sql_run(sql_writer(s), NULL, SQL_ANSWERS_EXPIRE, "ii", now, STORE_ANSWER_KEPT);
    return end_slice(s, status);
}

store_chore pg_chore(store *s)
{
    static const int study_tables[] = {SQL_STUDY_SLICES};
    static const int content_tables[] = {SQL_SLICE_BLOCKS};
    int64_t content = 0, study = 0, expired = 0;
    if (!sql_of(s)->chores_left || atomic_load(&pg_of(s)->taken))
        return CHORE_NONE;
    if (!pg_of(s)->writer.conn)
        return CHORE_FAILED; /* the next write connects */
    store_status status = find(sql_writer(s), PG_DROPPED_CONTENT, 2, 0, &content);
    if (!status && content == 0)
        status = find(sql_writer(s), PG_DELETED_STUDY, 1, 0, &study);
    if (!status && content)
        status =
            remove_slice(s, content, content_tables, 1, blocks_in_slice, PG_BLOCKS_LEFT, SQL_CONTENT_REMOVE);
    else if (!status && study)
        status = remove_slice(s, study, study_tables, sizeof study_tables / sizeof *study_tables,
                              rows_in_slice, PG_ROWS_LEFT, SQL_STUDY_REMOVE);
    else if (!status)
        status = expire_answers(s, &expired);
    if (status)
        return CHORE_FAILED;
    sql_of(s)->chores_left = content || study || expired;
    return sql_of(s)->chores_left ? CHORE_MORE : CHORE_NONE;
}
