/* Checksums of log entries, on every backend; and what is found by them in a damaged SQLite database. */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void keep_problem(void *arg, const char *problem)
{
    snprintf(arg, 640, "%s", problem);
}

/* Nothing is wrong, and so many entries have a checksum. */
static void expect_chained(store *s, const char *id, int64_t n)
{
    store_study study = suite_study_of(s, id);
    char problem[640] = "";
    int64_t checked = 0;
    assert_int_equal(store_check_log(s, study.study, study.last_seq, &checked, keep_problem, problem, NULL),
                     STORE_OK);
    assert_string_equal(problem, "");
    assert_int_equal(checked, n < 0 ? study.last_seq : n);
}

static void every_entry_has_a_checksum(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_fixture_history(s, "x", 71, 300);
    store_fixture_history(s, "y", 72, 40);
    expect_chained(s, "x", -1);
    expect_chained(s, "y", -1);
}

/* What was taken back is not in the checksums of what follows. */
static void writes_that_fail_leave_no_trace(void **state)
{
    suite_state *f = *state;
    store_lane *x = suite_create(f->s, "x", NULL), *y = suite_create(f->s, "y", NULL);
    store_event good = {.type = EVENT_STUDY_CHANGED, .time = 3};
    const store_event bad[] = {good, suite_told(9, 1, 0.5, false)};
    store_waiter waiter = STORE_WAITER_INIT;
    for (size_t i = 0; i < 30; i++) {
        store_fixture_submit(x, &good, 1, &waiter);
        store_lane *again = i % 3 ? NULL : store_fixture_lane(f->s, "y", NULL);
        if (again)
            store_fixture_submit(again, bad, 2, &waiter);
        store_waiter_wait(&waiter, i + 1 + i / 3 + 1);
        store_lane_close(again);
    }
    assert_int_equal(waiter.first_failure, STORE_NOT_FOUND);
    assert_int_equal(store_fixture_write(y, &good, 1, NULL), STORE_OK);
    store_lane_close(x);
    store_lane_close(y);
    expect_chained(f->s, "x", 31);
    expect_chained(f->s, "y", 2);
}

/* The option may change from start to start. */
static void entries_without_checksums_are_passed_over(void **state)
{
    suite_state *f = *state;
    store_event event = {.type = EVENT_STUDY_CHANGED, .time = 3};
    store_lane_close(suite_create(f->s, "x", NULL));
    for (int start = 0; start < 4; start++) {
        store_set_checksums(f->s, start % 2);
        store_lane *lane = store_fixture_lane(f->s, "x", NULL);
        for (int i = 0; i < 5; i++)
            assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
        store_lane_close(lane);
        if (f->backend != SUITE_MEMORY) {
            store_close(f->s);
            assert_int_equal(suite_open(f, NULL), STORE_OK);
        }
    }
    expect_chained(f->s, "x", 11);
    if (f->backend == SUITE_SQLITE)
        store_fixture_expect_sound(f->directory.path);
}

/* A study that is written anew from its log, as an import does it, has checksums of its own. */
static void an_import_makes_new_checksums(void **state)
{
    suite_state *f = *state;
    store *other;
    store_fixture_history(f->s, "x", 73, 100);
    assert_int_equal(store_open_memory(&other, NULL), STORE_OK);
    store_fixture_replay(f->s, other, "x");
    expect_chained(other, "x", -1);
    store_close(other);
}

/* ---- damage -------------------------------------------------------------------------------------------- */

static const struct damage {
    const char *name, *change, *words;
} damages[] = {
    {"a character of a payload",
     "UPDATE log SET payload = replace(substr(payload, 1, 6), substr(payload, 6, 1), '~') || substr(payload, 7) "
     "WHERE seq = 20",
     "log entry 20 is not as it was written"},
    {"the end of a payload",
     "UPDATE log SET payload = substr(payload, 1, length(payload) - 1) WHERE seq = 20",
     "log entry 20 is not as it was written"},
    {"a bit of a time", "UPDATE log SET time = time + 1024 WHERE seq = 20",
     "log entry 20 is not as it was written"},
    {"a type", "UPDATE log SET type = 'trial_tolD' WHERE seq = 20", "log entry 20 is not as it was written"},
    {"a checksum", "UPDATE log SET chain = x'00112233445566778899aabbccddeeff' WHERE seq = 20",
     "log entry 20 is not as it was written"},
    {"a checksum's length", "UPDATE log SET chain = x'0011' WHERE seq = 20",
     "log entry 20 is not as it was written"},
    {"a checksum that is gone", "UPDATE log SET chain = NULL WHERE seq = 20",
     "log entry 21 is not as it was written"},
    {"an entry that is gone", "DELETE FROM log WHERE seq = 20", "log entry 20 is missing"},
    {"an entry that is gone without a gap",
     "DELETE FROM log WHERE seq = 20; UPDATE log SET seq = seq - 1000000 WHERE seq > 20; "
     "UPDATE log SET seq = seq + 999999 WHERE seq < 0; UPDATE studies SET last_seq = last_seq - 1",
     "log entry 20 is not as it was written"},
    {"the last entry that is gone", "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log)", "is missing"},
    {"two entries that are swapped",
     "UPDATE log SET seq = -20 WHERE seq = 20; UPDATE log SET seq = 20 WHERE seq = 21; "
     "UPDATE log SET seq = 21 WHERE seq = -20",
     "log entry 20 is not as it was written"},
};

static void copy_and_change(const char *path, const char *copy, const char *change)
{
    connection c;
    assert_int_equal(store_back_up(path, copy, NULL), STORE_OK);
    assert_int_equal(connection_open(&c, copy, SQLITE_OPEN_READWRITE, NULL), STORE_OK);
    assert_int_equal(connection_execute_text(&c, change, NULL), STORE_OK);
    assert_true(sqlite3_total_changes(c.db) > 0);
    connection_close(&c);
}

static void damage_is_named(void **state)
{
    suite_state *f = *state;
    if (f->backend != SUITE_SQLITE)
        return;
    store_fixture_history(f->s, "x", 74, 100);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char copy[128], problem[640] = "";
        int64_t checked = 0;
        store *s;
        snprintf(copy, sizeof copy, "%s.copy%zu", f->directory.path, i);
        copy_and_change(f->directory.path, copy, damages[i].change);
        assert_int_equal(store_open_snapshot(&s, copy, NULL), STORE_OK);
        store_study study = suite_study_of(s, "x");
        assert_int_equal(
            store_check_log(s, study.study, study.last_seq, &checked, keep_problem, problem, NULL), STORE_OK);
        store_close(s);
        if (!strstr(problem, damages[i].words))
            fail_msg("%s: '%s'", damages[i].name, problem);
    }
}

/* The study's row has the checksum of its last entry: an end that is missing, or older, is noticed. */
static void an_older_end_is_named(void **state)
{
    static const char *const changes[] = {
        "DELETE FROM log WHERE seq = (SELECT max(seq) FROM log); UPDATE studies SET last_seq = last_seq - 1",
        "UPDATE log SET chain = NULL WHERE seq = (SELECT max(seq) FROM log)",
        "UPDATE studies SET chain = NULL",
    };
    suite_state *f = *state;
    if (f->backend != SUITE_SQLITE)
        return;
    store_fixture_history(f->s, "x", 74, 100);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char copy[128], problem[640] = "";
        snprintf(copy, sizeof copy, "%s.end%zu", f->directory.path, i);
        copy_and_change(f->directory.path, copy, changes[i]);
        assert_int_equal(store_check(copy, keep_problem, problem, NULL), STORE_OK);
        if (!strstr(problem, "is not the one that was written last"))
            fail_msg("%s: '%s'", changes[i], problem);
    }
}

/* As an older program left it: the entries have no checksums, those that follow have. */
static void older_entries_stay_valid(void **state)
{
    suite_state *f = *state;
    if (f->backend != SUITE_SQLITE)
        return;
    char copy[128];
    store_event event = {.type = EVENT_STUDY_CHANGED, .time = 3};
    store_fixture_history(f->s, "x", 75, 100);
    snprintf(copy, sizeof copy, "%s.old", f->directory.path);
    copy_and_change(f->directory.path, copy, "UPDATE log SET chain = NULL; UPDATE studies SET chain = NULL");
    store *s = store_fixture_open(copy);
    expect_chained(s, "x", 0);
    store_lane *lane = store_fixture_lane(s, "x", NULL);
    for (int i = 0; i < 7; i++)
        assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
    store_lane_close(lane);
    expect_chained(s, "x", 7);
    store_close(s);
    store_fixture_expect_sound(copy);
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(every_entry_has_a_checksum),
        SUITE_TEST(writes_that_fail_leave_no_trace),
        SUITE_TEST(entries_without_checksums_are_passed_over),
        SUITE_TEST(an_import_makes_new_checksums),
        SUITE_TEST(damage_is_named),
        SUITE_TEST(an_older_end_is_named),
        SUITE_TEST(older_entries_stay_valid),
    };
    return suite_run("store_chain", tests, sizeof tests / sizeof *tests);
}
