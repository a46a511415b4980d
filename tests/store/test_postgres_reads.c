/* Reads whose connection is lost in the middle begin again, and never mix two moments; late ones are ended; how reads are
 * planned, and how many a comparison needs. */
#include "server/store/postgres/postgres.h"
#include "tests/support/skip.h"
#include "tests/support/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { ENTRIES = 4000, LETTERS = 10000 }; /* 40 MB, more than what may be on its way when a connection ends */

typedef struct cutting {
    pg_connection *other;
    const char *also; /* executed when the connection is ended; NULL: nothing */
    int64_t at;       /* after this many rows; 0: before the first */
    int64_t rows;
    int64_t changed; /* of them, not as they were written */
} cutting;

static const char end_readers[] =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
    "datname = current_database() AND query LIKE 'SELECT seq,%FROM log%'";

static void cut(cutting *c)
{
    int64_t ended = 0;
    assert_int_equal(pg_read_integer(c->other, end_readers, &ended, NULL), STORE_OK);
    assert_true(ended > 0);
    if (c->also)
        assert_int_equal(pg_execute_text(c->other, c->also, NULL), STORE_OK);
}

static void take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload)
{
    cutting *c = arg;
    (void)type;
    assert_int_equal(seq, c->rows + 1); /* none twice, none left out */
    c->rows++;
    if (seq > 1)
        c->changed += time != seq || strlen(payload) != LETTERS;
    if (c->rows == c->at)
        cut(c);
}

/* A study with a long log. */
static store *open_filled(pg_connection *other, int64_t *study)
{
    const char *uri = getenv("BANDITD_TEST_DATABASE");
    store *s;
    store_error err = {0};
    store_migration migration;
    char sql[256];
    if (!uri)
        skip_because(
            "BANDITD_TEST_DATABASE names no PostgreSQL database (tests/store/with_postgres sets it)");
    assert_int_equal(suite_empty_postgres(&err), STORE_OK);
    assert_int_equal(store_migrate_postgres(uri, &migration, &err), STORE_OK);
    assert_int_equal(store_open_postgres(&s, uri, 20, &err), STORE_OK);
    store_lane_close(suite_create(s, "study", study));
    assert_int_equal(pg_connect(other, uri, &err), STORE_OK);
    snprintf(sql, sizeof sql,
             "INSERT INTO log SELECT %lld, n, n, 'x', repeat('x', %d) FROM generate_series(2, %d) n",
             (long long)*study, LETTERS, ENTRIES);
    assert_int_equal(pg_execute_text(other, sql, &err), STORE_OK);
    return s;
}

static store_status read_log(store *s, int64_t study, cutting *c, store_error *err)
{
    return store_read_log(s, study, 0, SIZE_MAX, take_entry, c, err);
}

static void a_read_goes_on_where_nothing_has_changed(void **state)
{
    pg_connection other = {0};
    int64_t study;
    (void)state;
    store *s = open_filled(&other, &study);
    cutting c = {.other = &other, .at = 100};
    assert_int_equal(read_log(s, study, &c, NULL), STORE_OK);
    assert_int_equal(c.rows, ENTRIES);
    assert_int_equal(c.changed, 0);
    /* What comes later than the rows that were taken may have changed: the read sees one moment, the new one. */
    cutting later = {.other = &other, .at = 100, .also = "UPDATE log SET time = 0 WHERE seq = 4000"};
    assert_int_equal(read_log(s, study, &later, NULL), STORE_OK);
    assert_int_equal(later.rows, ENTRIES);
    assert_int_equal(later.changed, 1);
    pg_disconnect(&other);
    store_close(s);
}

static void a_read_fails_where_its_rows_have_changed(void **state)
{
    static const char *const changes[] = {"UPDATE log SET time = 0 WHERE seq = 50",
                                          "UPDATE log SET payload = payload || ' ' WHERE seq = 51",
                                          "UPDATE studies SET deleted = 1"};
    pg_connection other = {0};
    int64_t study;
    (void)state;
    store *s = open_filled(&other, &study);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        store_error err = {0};
        cutting c = {.other = &other, .at = 100, .also = changes[i]};
        assert_int_equal(read_log(s, study, &c, &err), STORE_UNREACHABLE);
        assert_non_null(strstr(err.message, "its rows have changed"));
        assert_true(c.rows < ENTRIES);
    }
    pg_disconnect(&other);
    store_close(s);
}

/* A read that is only slow is asked once more, and the one before it is ended: none is left in the database. */
static void expect_late_read(const char *slow, const char *under_way, const char *fast)
{
    pg_connection other = {0};
    int64_t study, left = 1;
    store_error err = {0};
    store_close(open_filled(&other, &study));
    store *s;
    assert_int_equal(store_open_postgres(&s, getenv("BANDITD_TEST_DATABASE"), 1, &err), STORE_OK);
    assert_int_equal(pg_execute_text(&other, slow, &err), STORE_OK);
    cutting c = {0};
    assert_int_equal(read_log(s, study, &c, &err), STORE_UNREACHABLE);
    assert_string_equal(err.message, "a query: the database does not answer");
    /* By itself it would go on for a minute or more. */
    for (int tries = 0; left > 0 && tries < 200; tries++) {
        assert_int_equal(pg_read_integer(&other, under_way, &left, NULL), STORE_OK);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    assert_int_equal(left, 0);
    assert_int_equal(pg_execute_text(&other, fast, &err), STORE_OK);
    assert_int_equal(read_log(s, study, &c, &err), STORE_OK);
    assert_int_equal(c.rows, ENTRIES);
    pg_disconnect(&other);
    store_close(s);
}

static void a_read_that_waits_for_a_lock_is_ended(void **state)
{
    (void)state;
    expect_late_read("BEGIN; LOCK TABLE log IN ACCESS EXCLUSIVE MODE",
                     "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'", "COMMIT");
}

static void a_read_without_a_first_row_is_ended(void **state)
{
    (void)state;
    expect_late_read("ALTER TABLE log RENAME TO kept; "
                     "CREATE VIEW log AS SELECT kept.* FROM kept, (SELECT pg_sleep(60)) slow",
                     "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
                     "DROP VIEW log; ALTER TABLE kept RENAME TO log");
}

/* A table of which PostgreSQL has no statistics, as after many writes or a restored dump, must not get a plan that reads
 * the whole study for each of its trials. The plan is the reader's: made without knowing the parameters. */
static void failed_candidates_are_found_in_linear_time(void **state)
{
    pg_connection other = {0};
    int64_t study;
    store *s = open_filled(&other, &study);
    char text[pg_longest_statement], sql[pg_longest_statement + 64], plan[16384];
    (void)state;
    snprintf(
        sql, sizeof sql,
        "INSERT INTO trials (study, trial, batch, candidate, state, told_seq) SELECT %lld, n, 1, n %% 50, 2 + "
        "(n %% 50 = 0)::int, n FROM generate_series(1, 2000) n",
        (long long)study);
    assert_int_equal(pg_execute_text(&other, sql, NULL), STORE_OK);
    pg_statement_text(SQL_TRIALS_FAILED_ARMS, text, sizeof text);
    snprintf(sql, sizeof sql, "PREPARE failed(int8, int8, int8, int8) AS %s", text);
    assert_int_equal(pg_execute_text(&other, sql, NULL), STORE_OK);
    snprintf(sql, sizeof sql, "EXPLAIN (FORMAT JSON) EXECUTE failed(%lld, 0, 9999, 9999)", (long long)study);
    assert_int_equal(pg_read_text(&other, sql, plan, sizeof plan, NULL), STORE_OK);
    assert_non_null(strstr(plan, " Join\""));
    assert_null(strstr(plan, "Nested Loop"));
    assert_null(strstr(plan, "SubPlan"));
    pg_disconnect(&other);
    store_close(s);
}

/* ---- comparisons ---------------------------------------------------------------------------------------- */

enum { TRIALS = 2500 };

static store_backend counting; /* the backend, whose reads of attempts are counted */
static int attempts_read;

static store_status count_read(store *s, int64_t study, int64_t first, int64_t last, store_attempt_row *row,
                               void *arg, store_error *err)
{
    attempts_read++;
    return pg_backend.read_attempts(s, study, first, last, row, arg, err);
}

/* Many trials, most of which have no attempt. */
static int64_t write_trials(store *s)
{
    static store_pick picks[TRIALS];
    int64_t study;
    store_lane *lane = suite_create(s, "trials", &study);
    const store_event events[] = {suite_planned(0, 1, picks, TRIALS), suite_issued(1, 1, "w", 2000),
                                  suite_issued(2400, 1, "w", 2000)};
    assert_int_equal(store_fixture_write(lane, events, 3, NULL), STORE_OK);
    store_lane_close(lane);
    return study;
}

static void take_difference(void *arg, const char *text)
{
    snprintf(arg, 1000, "%s", text);
}

/* Compares the study as `copy` and `check` do. -> the difference */
static const char *compared(int64_t study, store *other, int64_t there)
{
    static char difference[1000];
    store *snapshot;
    *difference = '\0';
    attempts_read = 0;
    assert_int_equal(store_open_snapshot_postgres(&snapshot, getenv("BANDITD_TEST_DATABASE"), NULL),
                     STORE_OK);
    counting = pg_backend;
    counting.read_attempts = count_read;
    snapshot->backend = &counting;
    assert_int_equal(
        store_compare_rows(snapshot, "trials", study, other, there, take_difference, difference, NULL),
        STORE_OK);
    store_close(snapshot);
    return difference;
}

/* A read is a round trip to the database, or several. */
static void attempts_are_compared_with_few_reads(void **state)
{
    pg_connection other = {0};
    store *memory;
    int64_t study;
    (void)state;
    store *s = open_filled(&other, &study);
    study = write_trials(s);
    assert_int_equal(store_open_memory(&memory, NULL), STORE_OK);
    int64_t there = write_trials(memory);
    assert_string_equal(compared(study, memory, there), "");
    assert_int_equal(attempts_read, 3);
    assert_int_equal(pg_execute_text(&other, "DELETE FROM attempts WHERE trial = 2400", NULL), STORE_OK);
    assert_non_null(
        strstr(compared(study, memory, there), "attempts: a row that the log produces is missing"));
    pg_disconnect(&other);
    store_close(memory);
    store_close(s);
}

/* Its rows are found by the key, however little PostgreSQL knows of the table. */
static void attempts_are_read_by_their_key(void **state)
{
    pg_connection other = {0};
    int64_t study;
    char text[pg_longest_statement], sql[pg_longest_statement + 64], plan[16384];
    (void)state;
    store *s = open_filled(&other, &study);
    pg_statement_text(SQL_ATTEMPTS, text, sizeof text);
    snprintf(sql, sizeof sql, "PREPARE attempts(int8, int8, int8) AS %s", text);
    assert_int_equal(pg_execute_text(&other, sql, NULL), STORE_OK);
    assert_int_equal(
        pg_read_text(&other, "EXPLAIN (FORMAT JSON) EXECUTE attempts(1, 1, 1000)", plan, sizeof plan, NULL),
        STORE_OK);
    assert_non_null(strstr(plan, "attempts_pkey"));
    assert_null(strstr(plan, "Seq Scan"));
    pg_disconnect(&other);
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_goes_on_where_nothing_has_changed),
        cmocka_unit_test(a_read_fails_where_its_rows_have_changed),
        cmocka_unit_test(a_read_that_waits_for_a_lock_is_ended),
        cmocka_unit_test(a_read_without_a_first_row_is_ended),
        cmocka_unit_test(failed_candidates_are_found_in_linear_time),
        cmocka_unit_test(attempts_are_compared_with_few_reads),
        cmocka_unit_test(attempts_are_read_by_their_key),
    };
    return cmocka_run_group_tests_name("reads of PostgreSQL", tests, NULL, NULL);
}
