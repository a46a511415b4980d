#include "server/base/log.h"
#include "server/store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int oldest_server = 130000; /* PostgreSQL 13 */

/* ---- refusals ------------------------------------------------------------------------------------------- */

store_status pg_refuse_unfit(pg_connection *c, bool writes, store_error *err)
{
    char found[64];
    int version = pq.PQserverVersion(c->conn);
    int64_t process;
    if (version < oldest_server)
        return store_fail(err, STORE_FOREIGN, "the server is PostgreSQL %d; banditd needs 13 or newer",
                          version / 10000);
    store_status status = pg_read_integer(c, "SELECT pg_backend_pid()", &process, err);
    if (!status && process != pq.PQbackendPID(c->conn))
        status = store_fail(
            err, STORE_FOREIGN,
            "this is the address of a connection pooler, and banditd needs sessions of its own: give it PostgreSQL's own address");
    if (!status)
        status = pg_read_text(c, "SHOW server_encoding", found, sizeof found, err);
    if (!status && strcmp(found, "UTF8") != 0)
        status = store_fail(
            err, STORE_FOREIGN,
            "the database has the encoding %s; banditd needs UTF8: create it with createdb --encoding UTF8 "
            "--template template0",
            found);
    if (!status && writes)
        status = pg_read_text(c, "SELECT pg_is_in_recovery()", found, sizeof found, err);
    if (!status && writes && *found == 't')
        status = store_fail(err, STORE_FOREIGN,
                            "the server is a standby: give banditd the primary, or several hosts with "
                            "target_session_attrs=read-write");
    if (!status && writes)
        status = pg_read_text(c, "SHOW fsync", found, sizeof found, err);
    if (!status && writes && strcmp(found, "on") != 0)
        status = store_fail(err, STORE_FOREIGN,
                            "fsync is off in the server: a crash of its machine would damage the database");
    return status;
}

/* ---- opening -------------------------------------------------------------------------------------------- */

pg_store *pg_new(const char *uri)
{
    pg_store *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->sql = (sql_store){
        .base.backend = &pg_backend, .driver = &pg_driver, .writes = &s->writer.base, .chores_left = true};
    s->writer.base.driver = &pg_driver;
    pthread_mutex_init(&s->pool_mutex, NULL);
    s->uri = strdup(uri);
    s->known = pg_known_new();
    if (s->uri && s->known)
        return s;
    pg_free(s);
    return NULL;
}

void pg_free(pg_store *s)
{
    pg_close_readers(s);
    pg_connection_clear(&s->writer);
    pthread_mutex_destroy(&s->pool_mutex);
    for (size_t i = 0; i < s->n_entries; i++)
        free(s->entries[i].message);
    free(s->entries);
    free(s->bytes.bytes);
    pg_merge_free(&s->merge);
    pg_known_free(s->known);
    free(s->uri);
    free(s);
}

store_status pg_connect_fit(pg_store *s, bool writes, store_error *err)
{
    store_status status = pg_check_uri(s->uri, err);
    if (!status)
        status = pg_connect(&s->writer, s->uri, err);
    if (status)
        return status;
    pg_describe(&s->writer, s->name, sizeof s->name);
    return pg_refuse_unfit(&s->writer, writes, err);
}

store_status pg_open_current(pg_store *s, bool writes, store_error *err)
{
    int64_t version;
    store_status status = pg_connect_fit(s, writes, err);
    if (!status)
        status = pg_identify(&s->writer, s->name, &version, err);
    if (!status && version != pg_newest_version())
        status = store_fail(
            err, STORE_READ_ONLY,
            version ? "%s has schema version %lld: run `banditd migrate` first, after a backup by pg_dump"
                    : "%s has no schema of banditd yet: run `banditd migrate` first",
            s->name, (long long)version);
    return status;
}

/* Opens the database, and tries again for a time, because the database may be starting together with the server. */
static store_status open_patiently(pg_store *s, store_error *err)
{
    double deadline = store_clock() + s->patience;
    bool told = false;
    for (;;) {
        pg_set_deadline(s);
        store_status status = pg_open_current(s, true, err);
        if (status != STORE_UNREACHABLE || store_clock() >= deadline)
            return status;
        if (!told)
            log_event(LOG_WARN, "database_awaited", "reason", err->message, "seconds",
                      log_format("%.0f", s->patience), NULL);
        told = true;
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    }
}

/* Marks uploads and imports that an earlier server left unfinished for removal. */
static store_status start_clean(pg_store *s, store_error *err)
{
    store *base = &s->sql.base;
    store_status status = pg_begin(base, err);
    if (!status)
        status = sql_drop_staged(base, err);
    if (!status)
        status = pg_commit(base, err);
    else if (s->open)
        pg_rollback(base);
    return status;
}

store_status store_open_postgres(store **out, const char *uri, double patience, store_error *err)
{
    store_error own = {0};
    err = err ? err : &own;
    *out = NULL;
    pg_store *s = pg_new(uri);
    if (!s)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    s->patience = patience;
    s->writer.store = s;
    pthread_mutex_init(&s->sql.base.mutex, NULL); /* for opening; store_start initializes it again */
    store_status status = open_patiently(s, err);
    pg_set_deadline(s);
    if (!status)
        status = pg_take_over(s, err);
    if (!status)
        status = start_clean(s, err);
    pthread_mutex_destroy(&s->sql.base.mutex);
    if (!status)
        status = store_start(&s->sql.base, &pg_backend, s->sql.base.next_content, err);
    if (status)
        pg_free(s);
    else
        *out = &s->sql.base;
    return status;
}

const char *store_name_postgres(const store *s)
{
    return ((const pg_store *)s)->name;
}

static void pg_close(store *base)
{
    pg_free(pg_of(base));
}

static void add_statistics(store *base, store_statistics *out)
{
    pg_store *s = pg_of(base);
    double since = atomic_load(&s->away_since), now = store_clock();
    out->reconnects = atomic_load(&s->reconnects);
    out->ambiguous_happened = atomic_load(&s->ambiguous_happened);
    out->ambiguous_lost = atomic_load(&s->ambiguous_lost);
    out->history_lost = atomic_load(&s->history_lost);
    out->unreachable_seconds = since > 0 && now > since ? now - since : 0;
}

const store_backend pg_backend = {
    .rolls_back = true,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .in_transaction = pg_in_transaction,
    .mark = pg_mark,
    .release = pg_release,
    .undo = pg_undo,
    .study_insert = pg_study_insert,
    .study_load = pg_study_load,
    .study_save = pg_study_save,
    .study_delete = pg_study_delete,
    .sums_put = pg_sums_put,
    .trials_insert = pg_trials_insert,
    .trial_load = pg_trial_load,
    .trial_issue = pg_trial_issue,
    .trial_requeue = pg_trial_requeue,
    .trial_tell = pg_trial_tell,
    .trial_amend = pg_trial_amend,
    .touch = pg_touch,
    .after_commit = pg_after_commit,
    .chore = pg_chore,
    .idle = pg_idle,
    .close = pg_close,
    .add_statistics = add_statistics,
    .read_candidates = pg_read_candidates,
    .read_candidates_at = pg_read_candidates_at,
    SQL_BACKEND,
};
