/* Checks and copies of a database that may be in use. */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/store_directory.h"
#include "tests/support/store_faults.h"
#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void take_last_seq(void *arg, const store_study *study)
{
    *(int64_t *)arg = study->last_seq;
}

static void count_problem(void *arg, const char *problem)
{
    (void)problem;
    ++*(int *)arg;
}

static void keep_problem(void *arg, const char *problem)
{
    snprintf(arg, 640, "%s", problem);
}

/* Every check finds what it is there for. */
static void checks_find_what_is_wrong(void **state)
{
    static const char *const damages[] = {
        "UPDATE studies SET last_seq = last_seq + 1",
        "UPDATE studies SET queued = queued + 1, failed = failed - 1",
        "UPDATE studies SET observations = observations + 1",
        "UPDATE studies SET issued = issued - 1",
        "UPDATE studies SET best_value = -best_value - 1",
        "UPDATE studies SET batches = batches + 1",
        ("UPDATE attempts SET ended_at = 0 WHERE issued_seq = (SELECT min(issued_seq) FROM attempts "
         "WHERE ended_at > 0)"),
        "DELETE FROM attempts WHERE issued_seq = (SELECT max(issued_seq) FROM attempts WHERE ended_at = 0)",
        "DELETE FROM candidate_blocks WHERE first = 7",
        "UPDATE candidate_blocks SET rows = x'00' WHERE first = 7",
        "DELETE FROM log WHERE seq = 9",
        "UPDATE trials SET study = study + 1 WHERE trial = 3",
    };
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 51, 800);
    store_close(s);
    store_fixture_expect_sound(path);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        char copy[128];
        connection c;
        int problems = 0;
        snprintf(copy, sizeof copy, "%s.copy%zu", path, i);
        assert_int_equal(store_back_up(path, copy, NULL), STORE_OK);
        assert_int_equal(connection_open(&c, copy, SQLITE_OPEN_READWRITE, NULL), STORE_OK);
        assert_int_equal(connection_execute_text(&c, damages[i], NULL), STORE_OK);
        assert_true(sqlite3_changes(c.db) > 0);
        connection_close(&c);
        assert_int_equal(store_check(copy, count_problem, &problems, NULL), STORE_OK);
        if (problems == 0)
            fail_msg("not noticed: %s", damages[i]);
    }
    assert_int_equal(store_check("/nonexistent/test.db", count_problem, NULL, NULL), STORE_IO);
}

/* Objects of somebody else in a database of ours: found, and they do nothing. */
static void other_schemas_are_found(void **state)
{
    static const char *const changes[] = {
        "CREATE TABLE theirs (x)",
        "CREATE TRIGGER theirs AFTER UPDATE ON touched BEGIN DELETE FROM studies; END",
        "CREATE VIEW theirs AS SELECT 1",
        "DROP INDEX studies_by_state",
        "ALTER TABLE touched ADD COLUMN theirs INTEGER",
    };
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 51, 30);
    store_close(s);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char copy[128];
        sqlite3 *db;
        int problems = 0;
        size_t studies;
        snprintf(copy, sizeof copy, "%s.copy%zu", path, i);
        assert_int_equal(store_back_up(path, copy, NULL), STORE_OK);
        assert_int_equal(sqlite3_open(copy, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, changes[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(store_check(copy, count_problem, &problems, NULL), STORE_OK);
        if (problems == 0)
            fail_msg("not noticed: %s", changes[i]);
        s = store_fixture_open(copy);
        assert_int_equal(store_fixture_probe(s, NULL), STORE_OK); /* updates `touched` */
        assert_int_equal(store_count_studies(s, &studies, NULL), STORE_OK);
        assert_int_equal(studies, 1);
        store_close(s);
    }
}

static void take_token(void *arg, const store_token *token)
{
    (void)arg;
    (void)token;
}

static void take_answer(void *arg, const store_answer *answer)
{
    (void)arg;
    (void)answer;
}

/* A sound database with one of everything that is read from blobs. */
static void store_blobs(const char *path)
{
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 51, 300);
    store_waiter waiter = STORE_WAITER_INIT;
    store_write *write;
    store_lane *lane = store_fixture_lane(s, "x", NULL);
    store_token token = {.id = "t", .role = "admin", .study = "", .description = ""};
    store_answer answer = {.token = "t",
                           .path = "/",
                           .key = "k",
                           .time = 1000,
                           .response = (const unsigned char *)"{}",
                           .n_response = 2};
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    assert_int_equal(store_write_put_token(write, &token), STORE_OK);
    assert_int_equal(store_write_set_answer(write, &answer), STORE_OK);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_OK);
    store_lane_close(lane);
    store_close(s);
}

/* What is read from a damaged row is said to be damaged, not shown. */
static void damaged_values_are_not_read(void **state)
{
    static const struct {
        const char *damage, *words;
        enum { TOKEN, ANSWER, ROWS } read;
    } cases[] = {
        {"UPDATE tokens SET hash = x'00'", "a token's hash is damaged", TOKEN},
        {"UPDATE answers SET body_hash = x'00'", "the answer stored for key 'k' is damaged", ANSWER},
        {"UPDATE candidate_blocks SET rows = x'00' WHERE first = 0", "are damaged", ROWS},
        {"UPDATE candidate_blocks SET n = n - 1 WHERE first = 0", "are damaged", ROWS},
        {"DELETE FROM candidate_blocks WHERE first = 0", "are damaged", ROWS},
    };
    const char *path = ((store_directory *)*state)->path;
    store_blobs(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char copy[128];
        connection c;
        int64_t study;
        double row[16];
        store_error err = {0};
        store_status status;
        snprintf(copy, sizeof copy, "%s.copy%zu", path, i);
        assert_int_equal(store_back_up(path, copy, NULL), STORE_OK);
        assert_int_equal(connection_open(&c, copy, SQLITE_OPEN_READWRITE, NULL), STORE_OK);
        assert_int_equal(connection_execute_text(&c, cases[i].damage, NULL), STORE_OK);
        assert_true(sqlite3_changes(c.db) > 0);
        connection_close(&c);
        store *s = store_fixture_open(copy);
        store_lane_close(store_fixture_lane(s, "x", &study));
        if (cases[i].read == TOKEN)
            status = store_read_tokens(s, 0, 10, take_token, NULL, &err);
        else if (cases[i].read == ANSWER)
            status = store_read_answer(s, "t", "/", "k", 1001, take_answer, NULL, &err);
        else
            status = store_read_candidates(s, study, 0, 1, 3, row, &err);
        if (status != STORE_CORRUPT || !strstr(err.message, cases[i].words))
            fail_msg("%s: %s", cases[i].damage, err.message);
        store_close(s);
    }
}

/* Differences between two databases are shown with both values, whatever they are. */
static void differences_are_shown(void **state)
{
    static const struct {
        const char *change, *words;
    } cases[] = {
        {"UPDATE trials SET value = NULL WHERE trial = (SELECT min(trial) FROM trials WHERE value IS NOT "
         "NULL)",
         "value is nothing; by the log it is "},
        {"UPDATE engine_states SET state = x'0001'", "state is 2 bytes; by the log it is "},
        {"UPDATE studies SET state_reason = 'why'", "state_reason is why; by the log it is "},
        {"DELETE FROM attempts WHERE trial = 1", "attempts, trial 1"},
    };
    const char *path = ((store_directory *)*state)->path;
    store_blobs(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char copy[128], found[640] = "";
        connection c;
        int64_t study;
        snprintf(copy, sizeof copy, "%s.other%zu", path, i);
        assert_int_equal(store_back_up(path, copy, NULL), STORE_OK);
        store *s = store_fixture_open(copy);
        store_lane_close(store_fixture_lane(s, "x", &study));
        store_close(s);
        assert_int_equal(connection_open(&c, copy, SQLITE_OPEN_READWRITE, NULL), STORE_OK);
        assert_int_equal(connection_execute_text(&c, cases[i].change, NULL), STORE_OK);
        assert_true(sqlite3_changes(c.db) > 0);
        connection_close(&c);
        assert_int_equal(store_open_snapshot(&s, copy, NULL), STORE_OK);
        assert_int_equal(store_compare(s, "x", study, path, study, keep_problem, found, NULL), STORE_OK);
        store_close(s);
        if (!strstr(found, cases[i].words))
            fail_msg("%s: '%s'", cases[i].change, found);
    }
}

/* A copy made while the store writes is a database of one moment. */
static void copies_are_made_while_writing(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store_error err = {0};
    store *s = store_fixture_open(path);
    store_lane *lane;
    store_waiter waiter = STORE_WAITER_INIT;
    store_event event = store_fixture_created("x", 1);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    store_fixture_submit(lane, &event, 1, &waiter);
    event = (store_event){.type = EVENT_STUDY_CHANGED, .time = 2};
    size_t submitted = 1;
    for (int i = 0; i < 5; i++) {
        char copy[128];
        for (int k = 0; k < 300; k++, submitted++)
            store_fixture_submit(lane, &event, 1, &waiter);
        snprintf(copy, sizeof copy, "%s.copy%d", path, i);
        store_waiter_wait(&waiter, submitted - 200);
        assert_int_equal(store_back_up(path, copy, &err), STORE_OK);
        assert_int_equal(store_back_up(path, copy, &err), STORE_EXISTS);
        store_fixture_expect_sound(copy);
        store *other = store_fixture_open(copy);
        int64_t last_seq = 0;
        assert_int_equal(store_read_study(other, "x", take_last_seq, &last_seq, NULL), STORE_OK);
        assert_true(last_seq >= (int64_t)submitted - 200);
        store_close(other);
    }
    store_waiter_wait(&waiter, submitted);
    assert_int_equal(waiter.first_failure, STORE_OK);
    store_fixture_expect_sound(path); /* also checked beside a running store */
    store_lane_close(lane);
    store_close(s);
}

static void a_copy_that_fails_leaves_nothing(void **state)
{
    static const struct {
        store_fault fault;
        store_status status;
    } cases[] = {{STORE_FAULT_FULL, STORE_FULL}, {STORE_FAULT_SHORT, STORE_FULL}, {STORE_FAULT_IO, STORE_IO}};
    const char *path = ((store_directory *)*state)->path;
    char copy[128], unfinished[140];
    store_error err;
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 51, 100);
    store_close(s);
    snprintf(copy, sizeof copy, "%s.copy", path);
    snprintf(unfinished, sizeof unfinished, "%s.tmp", copy);
    store_faults_install(false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        store_faults_set(cases[i].fault, 2, 0);
        assert_int_equal(store_back_up(path, copy, &err), cases[i].status);
        store_faults_set(STORE_FAULT_NONE, 0, 0);
        assert_int_equal(access(copy, F_OK), -1);
        assert_int_equal(access(unfinished, F_OK), -1);
    }
    assert_int_equal(mkdir(unfinished, 0700), 0); /* somebody else's */
    assert_int_equal(store_back_up(path, copy, &err), STORE_IO);
    assert_non_null(strstr(err.message, unfinished));
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(rmdir(unfinished), 0);
    assert_int_equal(store_back_up(path, copy, &err), STORE_OK);
    store_fixture_expect_sound(copy);
}

/* A check tells what it cannot judge: the tables of an older program. */
static void an_older_schema_is_to_be_migrated_first(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char change[128];
    connection c;
    store_error err;
    int problems = 0;
    store_close(store_fixture_open(path));
    snprintf(change, sizeof change, "DELETE FROM migrations WHERE version = %lld; PRAGMA user_version = %lld",
             (long long)sqlite_newest_version(embedded_files),
             (long long)sqlite_newest_version(embedded_files) - 1);
    assert_int_equal(connection_open(&c, path, SQLITE_OPEN_READWRITE, NULL), STORE_OK);
    assert_int_equal(connection_execute_text(&c, change, NULL), STORE_OK);
    connection_close(&c);
    assert_int_equal(store_check(path, count_problem, &problems, &err), STORE_READ_ONLY);
    assert_non_null(strstr(err.message, "migrate it first"));
    assert_int_equal(problems, 0);
}

typedef struct nested {
    store *s;
    int64_t study;
    int depth;
    store_status deepest;
} nested;

static void at_the_bottom(void *arg, int64_t trial, double value, int64_t told_at)
{
    nested *n = arg;
    (void)trial;
    (void)value;
    (void)told_at;
    n->depth = 5;
}

static void at_a_trial(void *arg, const store_trial *trial)
{
    nested *n = arg;
    (void)trial;
    n->depth = 4;
    n->deepest = store_read_values(n->s, n->study, at_the_bottom, n, NULL);
}

static void at_a_batch(void *arg, const store_batch *batch)
{
    nested *n = arg;
    (void)batch;
    n->depth = 3;
    assert_int_equal(store_read_trials(n->s, n->study, &(store_trial_filter){0}, 1, at_a_trial, n, NULL),
                     STORE_OK);
}

static void at_a_study(void *arg, const store_study *study)
{
    nested *n = arg;
    n->study = study->study;
    assert_int_equal(store_read_batches(n->s, n->study, -1, 1, at_a_batch, n, NULL), STORE_OK);
}

static void at_an_entry(void *arg, const store_study *study)
{
    nested *n = arg;
    assert_int_equal(store_read_study(n->s, study->id, at_a_study, n, NULL), STORE_OK);
}

/* Reads of a snapshot may read in their callbacks, to a depth; one more is refused, and harms nothing. */
static void reads_inside_each_other_are_limited(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    int64_t last_seq = 0;
    store_fixture_history(s, "x", 51, 300);
    store_close(s);
    assert_int_equal(store_open_snapshot(&s, path, NULL), STORE_OK);
    nested n = {.s = s};
    store_study_filter all = {0};
    assert_int_equal(store_read_studies(s, &all, 1, at_an_entry, &n, NULL), STORE_OK);
    assert_int_equal(n.depth, 4);
    assert_int_equal(n.deepest, STORE_BUSY);
    assert_int_equal(store_read_study(s, "x", take_last_seq, &last_seq, NULL), STORE_OK);
    assert_true(last_seq > 0);
    store_close(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, store_directory_setup, store_directory_teardown)
        T(checks_find_what_is_wrong),
        T(other_schemas_are_found),
        T(damaged_values_are_not_read),
        T(differences_are_shown),
        T(copies_are_made_while_writing),
        T(a_copy_that_fails_leaves_nothing),
        T(an_older_schema_is_to_be_migrated_first),
        T(reads_inside_each_other_are_limited),
#undef T
    };
    return cmocka_run_group_tests_name("sqlite_check", tests, NULL, NULL);
}
