/* Copies of a database that is in use: before a migration, and whenever asked for. */
#include "server/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static store_status sync_file(const char *path, int flags, store_error *err)
{
    int fd = open(path, flags | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    int cause = errno;
    if (fd >= 0)
        close(fd);
    return good ? STORE_OK : store_fail(err, STORE_IO, "%s: %s", path, strerror(cause));
}

/* Gives the finished copy its name, for good. */
static store_status rename_synced(const char *from, const char *to, store_error *err)
{
    store_status status = sync_file(from, O_RDONLY, err);
    if (status)
        return status;
    if (rename(from, to))
        return store_fail(err, STORE_IO, "%s: %s", to, strerror(errno));
    char *parent = strdup(to);
    if (!parent)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    char *slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = '\0';
    status = sync_file(slash ? parent : ".", O_RDONLY | O_DIRECTORY, err);
    free(parent);
    return status;
}

/* One step: the whole copy is of one moment. Writers go on meanwhile. */
static store_status copy_pages(connection *from, const char *path, store_error *err)
{
    connection copy;
    store_status status = connection_open(&copy, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
    if (!status) {
        sqlite3_backup *backup = sqlite3_backup_init(copy.db, "main", from->db, "main");
        if (backup) {
            sqlite3_backup_step(backup, -1);
            sqlite3_backup_finish(backup);
        }
        copy.error = sqlite3_extended_errcode(copy.db);
        if (copy.error)
            status = connection_fail(&copy, err, path);
    }
    connection_close(&copy);
    return status;
}

store_status sqlite_copy(connection *c, const char *path, store_error *err)
{
    char *unfinished;
    if (asprintf(&unfinished, "%s.tmp", path) < 0)
        return store_fail(err, STORE_NO_MEMORY, "out of memory");
    store_status status = STORE_OK;
    if (unlink(unfinished) && errno != ENOENT)
        status = store_fail(err, STORE_IO, "%s: %s", unfinished, strerror(errno));
    if (!status)
        status = copy_pages(c, unfinished, err);
    if (!status)
        status = rename_synced(unfinished, path, err);
    if (status)
        unlink(unfinished);
    free(unfinished);
    return status;
}

/* A reader of a database of this program's version. Closed by the caller, also after a failure. */
static store_status open_current(connection *c, const char *path, store_error *err)
{
    int64_t version;
    store_status status = sqlite_open_reader(c, path, err);
    if (!status)
        status = sqlite_identify(c, path, embedded_files, &version, err);
    if (!status && version != sqlite_newest_version(embedded_files))
        status = store_fail(err, STORE_READ_ONLY, "%s has schema version %lld: migrate it first", path,
                            (long long)version);
    return status;
}

store_status store_back_up(const char *path, const char *copy, store_error *err)
{
    connection c;
    int64_t version;
    if (access(copy, F_OK) == 0)
        return store_fail(err, STORE_EXISTS, "%s exists already", copy);
    store_status status = sqlite_open_reader(&c, path, err);
    if (!status)
        status = sqlite_identify(&c, path, embedded_files, &version, err);
    if (!status)
        status = sqlite_copy(&c, copy, err);
    connection_close(&c);
    return status;
}

/* ---- checking ------------------------------------------------------------------------------------------ */

/* Each gives a line for every problem. */
static const char *const checks[] = {
    "SELECT 'damaged: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",

    "SELECT 'a row of ' || \"table\" || ' refers to one of ' || parent || ' that is not there' "
    "FROM pragma_foreign_key_check",

    "SELECT 'study ' || id || ': the log has ' || count(l.seq) || ' entries, not ' || last_seq "
    "FROM studies s LEFT JOIN log l USING (study) WHERE deleted = 0 GROUP BY s.study "
    "HAVING count(l.seq) <> last_seq OR max(l.seq) <> last_seq",

    "SELECT 'study ' || id || ': the counters of its trials are wrong' "
    "FROM studies s LEFT JOIN trials t USING (study) WHERE deleted = 0 GROUP BY s.study "
    "HAVING count(t.trial) <> trials OR coalesce(max(t.trial), 0) <> trials "
    "OR count(*) FILTER (WHERE t.state = 0) <> queued OR count(*) FILTER (WHERE t.state = 1) <> pending "
    "OR count(*) FILTER (WHERE t.state = 2) <> completed OR count(*) FILTER (WHERE t.state = 3) <> s.failed "
    "OR count(*) FILTER (WHERE t.state = 4) <> infeasible OR count(*) FILTER (WHERE t.state = 5) <> stopped "
    "OR count(*) FILTER (WHERE t.issued_at <> 0) <> issued OR count(t.value) + (SELECT count(*) FROM "
    "observations o WHERE o.study = s.study) + (SELECT count(*) FROM late_results l WHERE l.study = s.study) "
    "<> s.observations",

    "SELECT 'study ' || id || ': its best trial ' || best_trial || ' has another value' FROM studies s "
    "WHERE deleted = 0 AND best_trial > 0 AND NOT EXISTS (SELECT 1 FROM trials t WHERE t.study = s.study "
    "AND t.trial = best_trial AND t.candidate = best_candidate AND (t.value = best_value OR EXISTS "
    "(SELECT 1 FROM late_results l WHERE l.study = t.study AND l.trial = t.trial AND l.value = best_value)))",

    "SELECT 'study ' || id || ', trial ' || trial || ': ' || state_of || ' with ' || open || ' open "
    "attempts' "
    "FROM (SELECT s.id, t.trial, t.state AS state_of, count(a.trial) FILTER (WHERE a.ended_at = 0) AS open "
    "FROM trials t JOIN studies s USING (study) LEFT JOIN attempts a USING (study, trial) "
    "WHERE s.deleted = 0 GROUP BY t.study, t.trial) WHERE open <> (state_of = 1)",

    "SELECT 'study ' || id || ': ' || count(b.batch) || ' batches, not ' || batches "
    "FROM studies s LEFT JOIN batches b USING (study) WHERE deleted = 0 GROUP BY s.study "
    "HAVING count(b.batch) <> batches OR coalesce(max(b.batch) + 1, 0) <> batches",

    "SELECT 'study ' || id || ': its candidates are not complete' FROM studies s WHERE deleted = 0 "
    "AND candidates > 0 AND candidates IS NOT (SELECT sum(n) FROM candidate_blocks b "
    "WHERE b.content = s.content AND length(rows) = n * s.dimension * 8)",
};

static store_status run_check(connection *c, const char *sql, store_check_row *problem, void *arg,
                              store_error *err)
{
    sqlite3_stmt *statement = NULL;
    c->error = sqlite3_prepare_v2(c->db, sql, -1, &statement, NULL);
    while (!c->error && connection_step(c, statement))
        problem(arg, column_text(statement, 0));
    store_status status = c->error ? connection_fail(c, err, "checking") : STORE_OK;
    sqlite3_finalize(statement);
    return status;
}

store_status store_check(const char *path, store_check_row *problem, void *arg, store_error *err)
{
    connection c;
    store_status status = open_current(&c, path, err);
    if (!status)
        status = connection_execute_text(&c, "BEGIN", err); /* all of one moment */
    for (size_t i = 0; !status && i < sizeof checks / sizeof *checks; i++)
        status = run_check(&c, checks[i], problem, arg, err);
    connection_close(&c);
    return status;
}
