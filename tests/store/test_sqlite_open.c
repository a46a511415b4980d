/* The SQLite store and the file it is given: whose it is, of which version, in which shape. */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/store_directory.h"
#include "tests/support/store_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

/* Opens in another process (this program with arguments, see main), as `user` when it is not 0. */
static store_status open_elsewhere(const char *path, unsigned user)
{
    char id[16];
    snprintf(id, sizeof id, "%u", user);
    char *const arguments[] = {"test_sqlite_open", "open", (char *)path, id, NULL};
    pid_t child;
    int status;
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (store_status)WEXITSTATUS(status);
}

static int open_and_close(const char *path, uid_t user)
{
    store *s;
    store_error err = {0};
    if (user && setuid(user))
        return 99;
    store_status status = store_open_sqlite(&s, path, &err);
    if (!status)
        store_close(s);
    return (int)status;
}

static void expect_open(const char *path, store_status want, const char *words)
{
    store *s = (store *)1;
    store_error err = {0};
    assert_int_equal(store_open_sqlite(&s, path, &err), want);
    assert_null(s);
    assert_int_equal(err.status, want);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc)
        print_error("%s\n", sqlite3_errmsg(db));
    assert_int_equal(rc, SQLITE_OK);
    sqlite3_close(db);
}

static int64_t read_integer(const char *path, const char *sql)
{
    connection c;
    int64_t value;
    assert_int_equal(connection_open(&c, path, SQLITE_OPEN_READONLY, NULL), STORE_OK);
    assert_int_equal(connection_read_integer(&c, sql, &value, NULL), STORE_OK);
    connection_close(&c);
    return value;
}

static void write_file(const char *path, const void *bytes, size_t n, long offset)
{
    FILE *f = fopen(path, offset < 0 ? "w" : "r+");
    assert_non_null(f);
    if (offset > 0)
        assert_int_equal(fseek(f, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void one_process_at_a_time(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    expect_open(path, STORE_BUSY, "in use");
    assert_int_equal(open_elsewhere(path, 0), STORE_BUSY);
    char link[128], lock[128];
    snprintf(link, sizeof link, "%s.link", path);
    snprintf(lock, sizeof lock, "%s.lock", path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(open_elsewhere(link, 0), STORE_BUSY);
    store_close(s);
    assert_int_equal(access(lock, F_OK), 0); /* never unlinked */
    assert_int_equal(open_elsewhere(link, 0), STORE_OK);
}

/* A lock on the name alone would let a second process in. */
static void one_process_whatever_the_name(void **state)
{
    const store_directory *d = *state;
    char link_name[128], lock[128];
    snprintf(link_name, sizeof link_name, "%s.link", d->path);
    snprintf(lock, sizeof lock, "%s.lock", d->path);
    assert_int_equal(symlink(d->path, link_name), 0); /* to a file that is not there yet */
    store *s = store_fixture_open(link_name);
    assert_int_equal(open_elsewhere(d->path, 0), STORE_BUSY);
    assert_int_equal(open_elsewhere(link_name, 0), STORE_BUSY);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(open_elsewhere(d->path, 0), STORE_BUSY);
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK);
    store_close(s);
    assert_int_equal(open_elsewhere(d->path, 0), STORE_OK);
}

static void hard_links_are_refused(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char second[128];
    store_error err = {0};
    int64_t version;
    snprintf(second, sizeof second, "%s.second", path);
    store *s = store_fixture_open(path);
    assert_int_equal(link(path, second), 0);
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK); /* only made: nothing is wrong yet */
    assert_int_equal(open_elsewhere(second, 0), STORE_IO);
    assert_int_equal(store_read_version(second, &version, &err), STORE_IO);
    assert_non_null(strstr(err.message, "2 names"));
    store_close(s);
    expect_open(path, STORE_IO, "2 names");
    expect_open(second, STORE_IO, "2 names");
    assert_int_equal(unlink(second), 0);
    store_close(store_fixture_open(path));
}

/* ---- the file is taken away under a store -------------------------------------------------------------- */

static size_t read_whole(const char *path, char *bytes, size_t size)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t n = fread(bytes, 1, size, in);
    assert_true(n < size);
    fclose(in);
    return n;
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    size_t n = read_whole(from, bytes, sizeof bytes);
    write_file(to, bytes, n, -1); /* over the old bytes: the file stays the same one */
}

static void take_away(const char *path, const char *copy, const char *how)
{
    char wal[128], shm[128], aside[128];
    snprintf(wal, sizeof wal, "%s-wal", path);
    snprintf(shm, sizeof shm, "%s-shm", path);
    snprintf(aside, sizeof aside, "%s.aside", path);
    if (strcmp(how, "removed") == 0)
        assert_int_equal(unlink(path), 0);
    else if (strcmp(how, "moved") == 0)
        assert_int_equal(rename(path, aside), 0);
    else if (strcmp(how, "replaced") == 0)
        assert_int_equal(rename(copy, path), 0);
    else if (strcmp(how, "overwritten") == 0)
        copy_file(copy, path);
    else if (strcmp(how, "emptied") == 0)
        write_file(path, "", 0, -1);
    else if (strcmp(how, "log removed") == 0)
        assert_int_equal(unlink(wal), 0);
    else if (strcmp(how, "log emptied") == 0)
        write_file(wal, "", 0, -1);
    else if (strcmp(how, "log replaced") == 0)
        assert_int_equal(rename(shm, wal), 0);
    else
        assert_int_equal(unlink(shm), 0);
}

static void a_file_that_is_taken_away_is_not_written_to(void **state)
{
    static const char *const ways[] = {"removed",     "moved",        "replaced",
                                       "overwritten", "emptied",      "log removed",
                                       "log emptied", "log replaced", "index removed"};
    const char *path = ((store_directory *)*state)->path;
    char copy[128], kept[128], id[16];
    snprintf(copy, sizeof copy, "%s.copy", path);
    snprintf(kept, sizeof kept, "%s.kept", path);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        store_error err = {0};
        store *s = store_fixture_open(path);
        snprintf(id, sizeof id, "s%zu", i);
        store_fixture_history(s, id, 5, 20);
        unlink(copy);
        unlink(kept);
        assert_int_equal(store_back_up(path, copy, &err), STORE_OK);
        copy_file(copy, kept);
        store_fixture_history(s, "later", 5, 20);
        take_away(path, copy, ways[i]);
        if (strncmp(ways[i], "index", 5) == 0)
            usleep(60000); /* its name is looked at every 50 ms */
        if (store_fixture_probe(s, &err) != STORE_MOVED)
            fail_msg("%s: %s", ways[i], err.message);
        store_lane *lane;
        store_event created = store_fixture_created("new", 1);
        assert_int_equal(store_lane_open(&lane, s, 0, 1, 0), STORE_OK);
        assert_int_equal(store_fixture_write(lane, &created, 1, NULL), STORE_MOVED);
        store_lane_close(lane);
        store_close(s);
        /* What is there now was not touched: neither by a checkpoint nor by removing its log. */
        if (strcmp(ways[i], "replaced") == 0 || strcmp(ways[i], "overwritten") == 0) {
            static char now[1 << 20], then[1 << 20];
            size_t n = read_whole(path, now, sizeof now);
            assert_int_equal(n, read_whole(kept, then, sizeof then));
            assert_memory_equal(now, then, n);
        }
        /* For the next way: the copy that was kept, as the manual says. */
        char name[160];
        snprintf(name, sizeof name, "%s-wal", path);
        unlink(name);
        snprintf(name, sizeof name, "%s-shm", path);
        unlink(name);
        assert_int_equal(rename(kept, path), 0);
    }
}

/* A folder that is renamed takes everything along; so does a file whose time alone changes. */
static void what_changes_nothing_stops_nothing(void **state)
{
    const store_directory *d = *state;
    char other[128];
    snprintf(other, sizeof other, "%s.renamed", d->directory);
    store *s = store_fixture_open(d->path);
    assert_int_equal(rename(d->directory, other), 0);
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK);
    assert_int_equal(rename(other, d->directory), 0);
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK);
    assert_int_equal(utimensat(AT_FDCWD, d->path, NULL, 0), 0);
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK);
    store_close(s);
}

static void files_of_others_are_left_alone(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    run_sql(path, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)");
    expect_open(path, STORE_FOREIGN, "of another program");
    assert_int_equal(read_integer(path, "SELECT count(*) FROM theirs"), 1);
    assert_int_equal(read_integer(path, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
    run_sql(path, "DROP TABLE theirs; PRAGMA user_version = 7");
    expect_open(path, STORE_FOREIGN, "of another program");
    char text[8192];
    memset(text, 'x', sizeof text);
    write_file(path, text, sizeof text, -1);
    expect_open(path, STORE_FOREIGN, "not a database");
    write_file(path, "hello", 5, -1);
    expect_open(path, STORE_FOREIGN, "not a database");
}

static long size_of(const char *path, const char *suffix)
{
    char name[128];
    struct stat st;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &st) == 0 ? (long)st.st_size : -1;
}

/* Another program's database that was not closed well: its log stays as it is. */
static void logs_of_others_are_left_alone(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    connection c;
    assert_int_equal(connection_open(&c, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), STORE_OK);
    assert_int_equal(connection_execute_text(&c, "PRAGMA journal_mode = WAL; CREATE TABLE theirs (x)", NULL),
                     STORE_OK);
    connection_close(&c);
    long database = size_of(path, ""), wal = size_of(path, "-wal");
    assert_true(wal > 0);
    expect_open(path, STORE_FOREIGN, "of another program");
    assert_int_equal(size_of(path, ""), database);
    assert_int_equal(size_of(path, "-wal"), wal);
}

static void an_empty_file_becomes_a_database(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    write_file(path, "", 0, -1);
    store_close(store_fixture_open(path));
    /* Killed between the first settings and the first migration. */
    unlink(path);
    run_sql(path, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
    store_close(store_fixture_open(path));
    assert_int_equal(read_integer(path, "PRAGMA auto_vacuum"), 2);
}

static void a_newer_schema_is_refused(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store_close(store_fixture_open(path));
    run_sql(path, "PRAGMA user_version = 1000");
    expect_open(path, STORE_NEWER, "schema version 1000");
}

static void places_that_cannot_be_written_to(void **state)
{
    const store_directory *d = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/no/such/test.db", d->directory);
    expect_open(path, STORE_IO, "No such file");
    expect_open(d->directory, STORE_IO, d->directory);
    store_close(store_fixture_open(d->path));
    if (geteuid() != 0) {
        print_message("skipped: only root can become another user to whom the file is read-only\n");
        skip();
    }
    snprintf(path, sizeof path, "%s.lock", d->path);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(d->path, 0444), 0);
    assert_int_equal(chmod(d->directory, 0777), 0);
    assert_int_equal(open_elsewhere(d->path, 65534), STORE_READ_ONLY);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(open_elsewhere(d->path, 65534), STORE_READ_ONLY);
}

typedef struct count_rows {
    size_t n;
} count_rows;

static void count_log(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    (void)seq;
    (void)time;
    (void)type;
    (void)payload;
    ((count_rows *)arg)->n++;
}

static void count_trial(void *arg, const store_trial *trial)
{
    (void)trial;
    ((count_rows *)arg)->n++;
}

static void count_attempt(void *arg, const store_attempt *attempt)
{
    (void)attempt;
    ((count_rows *)arg)->n++;
}

static void take_number(void *arg, const store_study *study)
{
    *(int64_t *)arg = study->study;
}

/* Reads and writes all over the file; the first failure. */
static store_status use(const char *path)
{
    store *s;
    store_error err = {0};
    int64_t study;
    count_rows log = {0}, trials = {0}, attempts = {0};
    store_trial_filter all = {0};
    store_engine_state engine = {0};
    double rows[50 * 3];
    store_status status = store_open_sqlite(&s, path, &err);
    if (status)
        return status;
    status = store_read_study(s, "x", take_number, &study, &err);
    if (!status)
        status = store_read_log(s, study, 0, SIZE_MAX, count_log, &log, &err);
    if (!status)
        status = store_read_trials(s, study, &all, SIZE_MAX, count_trial, &trials, &err);
    if (!status)
        status = store_read_engine_state(s, study, &engine, &err);
    store_engine_state_clear(&engine);
    for (int64_t trial = 1; !status && trial <= (int64_t)trials.n; trial++)
        status = store_read_attempts(s, study, trial, trial, count_attempt, &attempts, &err);
    if (!status)
        status = store_read_candidates(s, study, 0, 50, 3, rows, &err);
    if (!status)
        status = store_fixture_probe(s, &err);
    store_close(s);
    return status;
}

/* Damage to a page's structure is STORE_CORRUPT, and never a crash. Not all is noticed: some pages are not
 * needed for what is read (indices, free ones), and SQLite has no checksums, so that overwritten values and
 * overflow pages are read as they are. */
static void damaged_pages_are_noticed(void **state)
{
    static char pages[8 << 20];
    enum { page_size = 4096 };
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 5, 1500);
    store_close(s);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t size = fread(pages, 1, sizeof pages, f), corrupt = 0, damaged = 0;
    fclose(f);
    assert_true(size > 20 * page_size && size < sizeof pages);
    assert_int_equal(use(path), STORE_OK);
    char garbage[64];
    memset(garbage, 0xa5, sizeof garbage); /* over the page's header and cell pointers */
    for (size_t page = 1; page < size / page_size; page += 3, damaged++) {
        write_file(path, pages, size, -1);
        write_file(path, garbage, sizeof garbage, (long)(page * page_size));
        store_status status = use(path);
        if (status != STORE_OK && status != STORE_CORRUPT)
            fail_msg("page %zu: %s", page, store_status_text(status));
        corrupt += status == STORE_CORRUPT;
    }
    print_message("%zu of %zu damaged pages noticed\n", corrupt, damaged);
    assert_true(corrupt > damaged / 4);
}

/* ---- migrations ---------------------------------------------------------------------------------------- */

static const char next[] = "ALTER TABLE studies ADD COLUMN note TEXT NOT NULL DEFAULT 'none';";
static const char broken[] = "ALTER TABLE studies ADD COLUMN note TEXT; INSERT INTO nowhere VALUES (1);";

static void migrations_are_applied_in_order_after_a_backup(void **state)
{
    enum { MOST_FILES = 300 };
    const char *path = ((store_directory *)*state)->path;
    const int64_t last = sqlite_newest_version(embedded_files);
    char next_name[64], broken_name[64];
    embedded_file more[MOST_FILES], wrong[MOST_FILES];
    size_t n = 0;
    snprintf(next_name, sizeof next_name, "migrations/%04lld_note.sql", (long long)last + 1);
    snprintf(broken_name, sizeof broken_name, "migrations/%04lld_x.sql", (long long)last + 1);
    more[n] = (embedded_file){next_name, next, sizeof next - 1}; /* in any order */
    wrong[n++] = (embedded_file){broken_name, broken, sizeof broken - 1};
    for (const embedded_file *file = embedded_files; file->name && n < MOST_FILES - 1; file++, n++)
        more[n] = wrong[n] = *file;
    more[n] = wrong[n] = (embedded_file){0};
    assert_true(last >= 1 && n < MOST_FILES - 1);
    store_error err = {0};
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 11, 200);
    char *before = store_fixture_dump(s, "x", true);
    store_close(s);

    /* One that fails leaves the database as it was, for the old program. */
    assert_int_equal(sqlite_open_with(&s, path, wrong, &err), STORE_IO);
    assert_non_null(strstr(err.message, broken_name + strlen("migrations/")));
    assert_int_equal(read_integer(path, "PRAGMA user_version"), last);
    assert_int_equal(
        read_integer(path, "SELECT count(*) FROM pragma_table_info('studies') WHERE name = 'note'"), 0);

    assert_int_equal(sqlite_open_with(&s, path, more, &err), STORE_OK);
    char *after = store_fixture_dump(s, "x", true);
    assert_string_equal(before, after);
    store_close(s);
    assert_int_equal(read_integer(path, "PRAGMA user_version"), last + 1);
    assert_int_equal(read_integer(path, "SELECT count(*) FROM migrations"), last + 1);
    assert_int_equal(read_integer(path, "SELECT count(*) FROM studies WHERE note = 'none'"), 1);
    free(after);

    /* Rollback: the old program refuses the new file, and takes the backup. */
    char backup[128];
    snprintf(backup, sizeof backup, "%s.v%lld", path, (long long)last);
    expect_open(path, STORE_NEWER, "backup");
    s = store_fixture_open(backup);
    after = store_fixture_dump(s, "x", true);
    assert_string_equal(before, after);
    store_close(s);
    free(before);
    free(after);
    snprintf(backup, sizeof backup, "%s.v%lld.tmp", path, (long long)last);
    assert_int_equal(access(backup, F_OK), -1);
    /* Migrated already: no second backup. */
    snprintf(backup, sizeof backup, "%s.v%lld", path, (long long)last + 1);
    assert_int_equal(sqlite_open_with(&s, path, more, &err), STORE_OK);
    store_close(s);
    assert_int_equal(access(backup, F_OK), -1);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "open") == 0)
        return open_and_close(argv[2], (uid_t)atoi(argv[3]));
    static const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, store_directory_setup, store_directory_teardown)
        T(one_process_at_a_time),
        T(one_process_whatever_the_name),
        T(hard_links_are_refused),
        T(a_file_that_is_taken_away_is_not_written_to),
        T(what_changes_nothing_stops_nothing),
        T(files_of_others_are_left_alone),
        T(logs_of_others_are_left_alone),
        T(an_empty_file_becomes_a_database),
        T(a_newer_schema_is_refused),
        T(places_that_cannot_be_written_to),
        T(damaged_pages_are_noticed),
        T(migrations_are_applied_in_order_after_a_backup),
#undef T
    };
    return cmocka_run_group_tests_name("sqlite_open", tests, NULL, NULL);
}
