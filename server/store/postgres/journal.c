/* The writer's transaction. Statements without rows are entered into a journal, and sent together: with the next
 * statement that has rows, at the end of a mark, or with the commit. So a group of writes costs one round trip. The
 * journal is kept until the commit is known to have happened: if the connection is lost, the same statements are sent
 * again over a new one (recover.c). */
#include "server/store/postgres/postgres.h"

#include "proto/arrays.h"

#include <stdlib.h>
#include <string.h>

/* ---- the journal ---------------------------------------------------------------------------------------- */

/* Drops the entries from number n on, and their parameters. */
static void cut(pg_store *s, size_t n, size_t bytes)
{
    for (size_t i = n; i < s->n_entries; i++)
        free(s->entries[i].message);
    s->n_entries = n;
    s->bytes.n = bytes;
    if (s->n_sent > n)
        s->n_sent = n;
}

store_status pg_enter_list(pg_store *s, store_error *err, int id, const char *types, va_list args)
{
    size_t at = s->bytes.n;
    if (!wire_grow(&s->entries, &s->capacity, s->n_entries + 1, 64, sizeof *s->entries) ||
        !pg_encode(&s->bytes, types, args)) {
        s->bytes.n = at;
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    }
    s->entries[s->n_entries++] = (pg_entry){.id = id, .types = types, .at = at};
    return STORE_OK;
}

store_status pg_enter(pg_store *s, store_error *err, int id, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    store_status status = pg_enter_list(s, err, id, types, args);
    va_end(args);
    return status;
}

store_status pg_must_change(pg_store *s, store_error *err, store_status status, const char *message)
{
    pg_entry *last = &s->entries[s->n_entries - 1];
    last->unchanged = status;
    last->message = strdup(message);
    return last->message ? STORE_OK : store_fail(err, STORE_NO_MEMORY, "out of memory");
}

enum { statements_at_once = 256 };

/* ---- sending, and taking results ------------------------------------------------------------------------ */

/* The failure of an entry's statement; entry NULL: of a statement outside the journal. */
static store_status fail_entry(pg_store *s, const pg_entry *entry, const PGresult *result, store_error *err)
{
    char text[pg_longest_statement];
    const char *state = result ? pq.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    if (entry && entry->unchanged && state && strcmp(state, "22012") == 0)
        return store_fail(err, entry->unchanged, "%s", entry->message);
    pg_statement_text(entry ? entry->id : SQL_TOUCH, text, sizeof text);
    return pg_fail(&s->writer, result, err, entry ? text : "a query");
}

/* Takes the results of one command, up to the NULL that ends them. The first failure of an exchange is kept in *status.
 * keep: *out gets the result. */
static void take_command(pg_store *s, const pg_entry *entry, PGresult **keep, store_status *status,
                         store_error *err)
{
    PGresult *result;
    bool any = false;
    while (*status != STORE_UNREACHABLE && (result = pg_result(&s->writer))) {
        ExecStatusType got = pq.PQresultStatus(result);
        bool good = got == PGRES_COMMAND_OK || got == PGRES_TUPLES_OK;
        any = true;
        pg_set_deadline(s); /* the patience counts from the last answer */
        if (!good && got != PGRES_PIPELINE_ABORTED && !*status)
            *status = fail_entry(s, entry, result, err);
        /* The commit of a failed transaction succeeds, but as a rollback. */
        if (good && entry && entry->id == SQL_COMMIT && strcmp(pq.PQcmdStatus(result), "ROLLBACK") == 0 &&
            !*status)
            *status = store_fail(err, STORE_IO, "the commit was answered by a rollback");
        if (good && keep)
            *keep = result;
        else
            pq.PQclear(result);
    }
    if (!any && *status != STORE_UNREACHABLE)
        *status = pg_fail_lost(&s->writer, err, "waiting for an answer");
}

/* Ends the sequence of sent statements, and takes the mark that the server sends after its answers. */
static void take_mark(pg_store *s, store_status *status, store_error *err)
{
    PGresult *result = *status == STORE_UNREACHABLE ? NULL : pg_result(&s->writer);
    if (*status != STORE_UNREACHABLE && (!result || pq.PQresultStatus(result) != PGRES_PIPELINE_SYNC))
        *status = pg_fail_lost(&s->writer, err, "waiting for the answers' end");
    pq.PQclear(result);
}

/* Prepares the statements that this connection has not used yet. */
static store_status prepare_missing(pg_store *s, const pg_sending *list, size_t n, store_error *err)
{
    pg_parameters p;
    bool sent[PG_COUNT] = {false}, any = false, alive = true;
    store_status status = STORE_OK;
    for (size_t i = 0; i < n && alive; i++) {
        int id = list[i].entry.id;
        if (s->writer.prepared[id] || sent[id])
            continue;
        pg_decode(&p, list[i].bytes, list[i].entry.at, list[i].entry.types);
        alive = pg_send_preparation(&s->writer, id, &p);
        sent[id] = any = true;
    }
    if (!any)
        return STORE_OK;
    if (!alive || pq.PQpipelineSync(s->writer.conn) != 1)
        return pg_fail_lost(&s->writer, err, "preparing");
    for (size_t i = 0; i < n; i++) {
        int id = list[i].entry.id;
        if (!sent[id])
            continue;
        sent[id] = false;
        take_command(s, &list[i].entry, NULL, &status, err);
        s->writer.prepared[id] = status == STORE_OK;
    }
    take_mark(s, &status, err);
    return status;
}

/* Sends the entries and takes their answers. keep: gets the result of the last one. */
static store_status exchange(pg_store *s, const pg_entry *entries, size_t n, const pg_bytes *bytes,
                             PGresult **keep, store_error *err)
{
    pg_parameters p;
    bool alive = s->writer.conn != NULL;
    pg_set_deadline(s);
    if (!pg_merge_entries(&s->merge, entries, n, bytes))
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    const pg_sending *list = s->merge.list;
    n = s->merge.n;
    store_status status = alive ? prepare_missing(s, list, n, err) : STORE_OK;
    if (status)
        return status;
    for (size_t i = 0; i < n && alive; i++) {
        pg_decode(&p, list[i].bytes, list[i].entry.at, list[i].entry.types);
        alive = pg_send(&s->writer, list[i].entry.id, &p);
        if (alive && i % statements_at_once == statements_at_once - 1) {
            alive = pg_send_out(&s->writer);
            pg_set_deadline(s);
        }
    }
    if (!alive || pq.PQpipelineSync(s->writer.conn) != 1)
        return pg_fail_lost(&s->writer, err, "sending");
    for (size_t i = 0; i < n; i++)
        take_command(s, &list[i].entry, keep && i + 1 == n ? keep : NULL, &status, err);
    take_mark(s, &status, err);
    if (!status && s->writer.unconfirmed)
        status = store_fail(err, STORE_UNREACHABLE, "the standbys do not have the commit");
    return status;
}

/* Sends a statement without parameters, outside the journal. */
static store_status exchange_one(pg_store *s, int id, store_error *err)
{
    pg_bytes none = {.bytes = (unsigned char *)""};
    pg_entry entry = {.id = id, .types = ""};
    return exchange(s, &entry, 1, &none, NULL, err);
}

/* ---- the transaction ------------------------------------------------------------------------------------ */

static void close_transaction(pg_store *s)
{
    cut(s, 0, 0);
    s->open = false;
    s->n_sent = s->mark = 0;
}

static void lose_transaction(pg_store *s)
{
    pg_known_forget(s->known);
    close_transaction(s);
}

/* Begins the transaction again over a new connection, with the statements of the journal. *happened: its commit has
 * already happened. */
static store_status resume(pg_store *s, bool *happened, store_error *err)
{
    *happened = false;
    store_status status = pg_recover(s, happened, err);
    s->n_sent = 0;
    if (status)
        lose_transaction(s);
    return status;
}

/* Sends the entries that are not sent yet. If the connection is lost, all of the journal is sent again over a new
 * one. */
static store_status send_journal(pg_store *s, bool *happened, store_error *err)
{
    *happened = false;
    for (;;) {
        size_t from = s->n_sent;
        store_status status = exchange(s, s->entries + from, s->n_entries - from, &s->bytes, NULL, err);
        if (status != STORE_UNREACHABLE) {
            s->n_sent = s->n_entries;
            return status;
        }
        status = resume(s, happened, err);
        if (status || *happened)
            return status;
    }
}

store_status pg_ask(pg_store *s, int id, const char *types, const pg_bytes *bytes, store_error *err)
{
    const pg_entry question = {.id = id, .types = types};
    for (;;) {
        bool happened;
        store_status status = s->n_sent < s->n_entries ? send_journal(s, &happened, err) : STORE_OK;
        if (!status)
            status = exchange(s, &question, 1, bytes, &s->writer.result, err);
        if (status == STORE_UNREACHABLE && !s->open)
            pg_disconnect(&s->writer);
        if (status != STORE_UNREACHABLE || !s->open)
            return status;
        status = resume(s, &happened, err);
        if (status)
            return status;
    }
}

store_status pg_begin(store *base, store_error *err)
{
    pg_store *s = pg_of(base);
    bool happened = false;
    if (atomic_load(&s->taken))
        return store_fail(err, STORE_ELSEWHERE,
                          "another server has taken this database over: restart this one");
    store_status status = s->writer.conn ? STORE_OK : pg_recover(s, &happened, err);
    if (status) {
        pg_known_forget(s->known); /* the database may have lost history */
        return status;
    }
    s->number += s->maybe_next && happened;
    s->maybe_next = false;
    s->open = true;
    s->n_sent = s->mark = 0;
    return pg_enter(s, err, SQL_BEGIN_IMMEDIATE, "");
}

bool pg_in_transaction(store *base)
{
    return pg_of(base)->open;
}

void pg_rollback(store *base)
{
    pg_store *s = pg_of(base);
    if (s->open && s->n_sent > 0 && exchange_one(s, SQL_ROLLBACK, NULL))
        pg_disconnect(&s->writer);
    lose_transaction(s);
}

store_status pg_commit(store *base, store_error *err)
{
    pg_store *s = pg_of(base);
    bool happened = false;
    pthread_mutex_lock(&base->mutex);
    int64_t contents = base->next_content - 1;
    pthread_mutex_unlock(&base->mutex);
    store_status status =
        pg_enter(s, err, PG_NUMBER, "iiii", s->generation, s->number + 1, s->studies, contents);
    if (!status)
        status = pg_must_change(s, err, STORE_ELSEWHERE, "another server writes to this database");
    if (!status)
        status = pg_enter(s, err, SQL_COMMIT, "");
    s->maybe_next = true;
    if (!status)
        status = send_journal(s, &happened, err);
    if (s->open) /* the server has answered */
        s->maybe_next = false;
    if (status == STORE_ELSEWHERE)
        atomic_store(&s->taken, true);
    if (status) {
        if (s->open) /* a statement has failed, and the server waits for the rollback */
            pg_rollback(base);
        return status;
    }
    s->number++;
    close_transaction(s);
    return STORE_OK;
}

store_status pg_mark(store *base, store_error *err)
{
    pg_store *s = pg_of(base);
    s->mark = s->n_entries;
    s->mark_bytes = s->bytes.n;
    return pg_enter(s, err, SQL_SAVEPOINT, "");
}

store_status pg_release(store *base, store_error *err)
{
    pg_store *s = pg_of(base);
    bool happened;
    store_status status = pg_enter(s, err, SQL_RELEASE, "");
    return status ? status : send_journal(s, &happened, err);
}

/* The statements that were sent since the mark have failed, or are undone here. */
store_status pg_undo(store *base, store_error *err)
{
    pg_store *s = pg_of(base);
    bool sent = s->n_sent > s->mark;
    store_status status = STORE_OK;
    pg_known_forget(s->known);
    cut(s, s->mark, s->mark_bytes);
    if (sent)
        status = exchange_one(s, SQL_ROLLBACK_TO, err);
    if (sent && !status)
        status = exchange_one(s, SQL_RELEASE, err);
    if (status == STORE_UNREACHABLE) {
        bool happened;
        status = resume(s, &happened, err); /* the journal is sent again, without the undone statements */
    }
    return status;
}
