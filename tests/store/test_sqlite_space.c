/* Space and speed of the SQLite store: deleted rows leave, the write-ahead log stays small, and figures of
 * group commit and start-up (10 times as many rows with BANDITD_BENCH=1). */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/repeats.h"
#include "tests/support/store_directory.h"
#include "tests/support/store_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
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

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static store_lane *create(store *s, const char *id)
{
    store_lane *lane;
    store_event event = store_fixture_created(id, 1);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
    return lane;
}

/* One batch of n trials. */
static void plan(store_lane *lane, size_t n, size_t n_sums)
{
    store_pick *picks = calloc(n, sizeof *picks);
    store_arm_sum *sums = calloc(n_sums + 1, sizeof *sums);
    assert_true(picks && sums);
    for (size_t i = 0; i < n; i++)
        picks[i] = (store_pick){(uint32_t)i, 1.0 / (double)(i + 1)};
    for (size_t i = 0; i < n_sums; i++)
        sums[i] = (store_arm_sum){(uint32_t)i, i % 7 + 1, 0.1 * (double)i};
    store_event event = {.type = EVENT_BATCH_PLANNED, .time = 2};
    event.u.planned.batch = (store_batch){.size = (int64_t)n, .stop_rule = "initial", .code_path = "x"};
    event.u.planned.first_trial = 1;
    event.u.planned.picks = picks;
    event.u.planned.n_picks = n;
    event.u.planned.sums = sums;
    event.u.planned.n_sums = n_sums;
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
    free(picks);
    free(sums);
}

static void submit_trial_event(store_lane *lane, store_event_type type, int64_t trial, store_waiter *waiter)
{
    store_event event = {.type = type, .time = 1700000000000 + trial};
    if (type == EVENT_TRIAL_ISSUED) {
        event.u.issued.trial = trial;
        event.u.issued.attempt = 1;
        event.u.issued.worker = "worker-12";
        event.u.issued.lease_expires_at = event.time + 600000;
    } else {
        event.u.told.trial = trial;
        event.u.told.attempt = 1;
        event.u.told.state = TRIAL_COMPLETED;
        event.u.told.has_value = true;
        event.u.told.value = 0.123456789 * (double)trial;
    }
    store_fixture_submit(lane, &event, 1, waiter);
}

/* ---- deleting ------------------------------------------------------------------------------------------ */

static const char rows_left[] =
    "SELECT (SELECT count(*) FROM log) + (SELECT count(*) FROM trials) + (SELECT count(*) FROM attempts) + "
    "(SELECT count(*) FROM batches) + (SELECT count(*) FROM observations) + (SELECT count(*) FROM arm_sums) "
    "+ (SELECT count(*) FROM engine_states) + (SELECT count(*) FROM late_results) + "
    "(SELECT count(*) FROM amendments) + (SELECT count(*) FROM measurements) + "
    "(SELECT count(*) FROM contents) + (SELECT count(*) FROM candidate_blocks) + "
    "(SELECT count(*) FROM studies WHERE deleted = 1)";

static void wait_until_removed(const char *path, int64_t rows)
{
    double deadline = seconds() + 60.0;
    while (read_integer(path, rows_left) != rows || read_integer(path, "PRAGMA freelist_count") > 0) {
        assert_true(seconds() < deadline);
        pause_briefly();
    }
}

static void deleted_studies_leave_in_slices_also_after_a_restart(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_fixture_history(s, "kept", 1, 100);
    char *kept = store_fixture_dump(s, "kept", true);
    int64_t rows = read_integer(path, rows_left), pages = read_integer(path, "PRAGMA page_count");
    store_lane *lane = create(s, "large");
    plan(lane, 30000, 30000);
    store_event candidates = {.type = EVENT_CANDIDATES_SET, .time = 3};
    candidates.u.candidates.content = store_fixture_upload(s, 50000, 20, 6000);
    candidates.u.candidates.count = 50000;
    candidates.u.candidates.dimension = 20;
    assert_int_equal(store_fixture_write(lane, &candidates, 1, NULL), STORE_OK);
    store_waiter waiter = STORE_WAITER_INIT;
    for (int64_t trial = 1; trial <= 3000; trial++)
        submit_trial_event(lane, EVENT_TRIAL_ISSUED, trial, &waiter);
    store_submit_delete(lane, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 3001);
    assert_int_equal(waiter.first_failure, STORE_OK);
    store_lane_close(lane);
    store_lane_close(create(s, "large")); /* the id is free at once */
    store_close(s);
    assert_true(read_integer(path, rows_left) > rows + 30000); /* closed before it was done */
    s = store_fixture_open(path);
    wait_until_removed(path, rows + 1); /* one log entry of the new study */
    char *after = store_fixture_dump(s, "kept", true);
    assert_string_equal(kept, after);
    free(kept);
    free(after);
    store_close(s);
    assert_true(read_integer(path, "PRAGMA page_count") < pages + 20);
    assert_true(size_of(path) < (pages + 20) * 4096);
}

/* What takes longest for another study's write while a large one is being removed. */
static void writes_go_on_while_a_study_is_removed(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_lane *large = create(s, "large"), *small = create(s, "small");
    plan(large, 50000, 50000);
    plan(small, 400, 0);
    int64_t rows = read_integer(path, "SELECT count(*) FROM trials");
    store_waiter waiter = STORE_WAITER_INIT;
    store_submit_delete(large, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    double longest = 0.0, sum = 0.0;
    for (int64_t trial = 1; trial <= 400; trial++) {
        double start = seconds();
        store_waiter one = STORE_WAITER_INIT;
        submit_trial_event(small, EVENT_TRIAL_ISSUED, trial, &one);
        store_waiter_wait(&one, 1);
        assert_int_equal(one.first_failure, STORE_OK);
        sum += seconds() - start;
        if (seconds() - start > longest)
            longest = seconds() - start;
        if (trial == 5)
            assert_true(read_integer(path, "SELECT count(*) FROM trials") > 400); /* it is under way */
    }
    assert_int_equal(rows, 50400);
    print_message("a write while a study is removed: %.1f ms on average, %.1f ms at most\n",
                  1e3 * sum / 400.0, 1e3 * longest);
    store_lane_close(large);
    store_lane_close(small);
    store_close(s);
}

static void expired_answers_leave(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_lane *lane = create(s, "x");
    store_waiter waiter = STORE_WAITER_INIT;
    for (int64_t i = 0; i < 1024; i++) { /* an hour apart */
        char key[32];
        store_write *write;
        snprintf(key, sizeof key, "k%lld", (long long)i);
        store_answer answer = {.token = "", .path = "/", .key = key, .time = i * 3600000};
        assert_int_equal(store_write_new(&write, lane), STORE_OK);
        assert_int_equal(store_write_set_answer(write, &answer), STORE_OK);
        store_submit(write, store_waiter_done, &waiter);
    }
    store_waiter_wait(&waiter, 1024);
    assert_int_equal(waiter.first_failure, STORE_OK);
    double deadline = seconds() + 20.0;
    while (read_integer(path, "SELECT count(*) FROM answers") != 24) {
        assert_true(seconds() < deadline);
        pause_briefly();
    }
    assert_int_equal(read_integer(path, "SELECT min(time) FROM answers"), 1000 * (int64_t)3600000);
    store_lane_close(lane);
    store_close(s);
}

static void put_answer(store_lane *lane, const char *key, int64_t time)
{
    store_waiter waiter = STORE_WAITER_INIT;
    store_write *write;
    store_answer answer = {.token = "", .path = "/", .key = key, .time = time};
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    assert_int_equal(store_write_set_answer(write, &answer), STORE_OK);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.first_failure, STORE_OK);
}

/* One answer is stored while the clock is a year ahead. The others stay for their day, and so does it. */
static void a_clock_that_was_ahead_expires_no_answers(void **state)
{
    const int64_t hour = 3600000, year = 365 * 24 * hour, now = 3 * year;
    const char *path = ((store_directory *)*state)->path;
    char key[32];
    store *s = store_fixture_open(path);
    store_lane *lane = create(s, "x");
    put_answer(lane, "old", now - 25 * hour);
    put_answer(lane, "before", now - hour);
    put_answer(lane, "ahead", now + year);
    for (int i = 0; i < 600; i++) { /* enough for the chore to run */
        snprintf(key, sizeof key, "k%d", i);
        put_answer(lane, key, now + i);
    }
    double deadline = seconds() + 20.0;
    while (read_integer(path, "SELECT count(*) FROM answers WHERE key IN ('old')") != 0) {
        assert_true(seconds() < deadline);
        pause_briefly();
    }
    assert_int_equal(read_integer(path, "SELECT count(*) FROM answers"), 602);
    assert_true(read_integer(path, "SELECT max(time) FROM answers") < now + hour);
    store_lane_close(lane);
    store_close(s);
}

/* ---- the write-ahead log ------------------------------------------------------------------------------- */

/* Writes trials' events. -> the largest size of the log. */
static uint64_t largest_log_of(store *s, size_t trials)
{
    store_lane *lane = create(s, "x");
    plan(lane, trials, 0);
    store_statistics statistics;
    uint64_t largest = 0;
    store_waiter waiter = STORE_WAITER_INIT;
    for (size_t trial = 1; trial <= trials; trial++) {
        submit_trial_event(lane, EVENT_TRIAL_ISSUED, (int64_t)trial, &waiter);
        if (trial % 50 == 0) {
            store_waiter_wait(&waiter, trial);
            store_read_statistics(s, &statistics);
            largest = statistics.wal_bytes > largest ? statistics.wal_bytes : largest;
        }
    }
    print_message("largest write-ahead log: %.1f MiB\n", (double)largest / 1048576.0);
    store_lane_close(lane);
    return largest;
}

static void the_write_ahead_log_stays_small(void **state)
{
    store *s = store_fixture_open(((store_directory *)*state)->path);
    uint64_t largest = largest_log_of(s, 20000);
    assert_true(largest > 0 && largest <= 24u << 20);
    store_statistics statistics;
    double deadline = seconds() + 20.0;
    do { /* truncated when idle */
        assert_true(seconds() < deadline);
        pause_briefly();
        store_read_statistics(s, &statistics);
    } while (statistics.wal_bytes > 0);
    store_close(s);
}

typedef struct relay {
    connection readers[2];
    atomic_bool ended;
    uint64_t rounds;
} relay;

/* Each of two readers starts before the other ends, so that there is always one. Ends early when it cannot
 * read. */
static void *relay_of_readers(void *arg)
{
    relay *r = arg;
    for (int now = 0; !atomic_load(&r->ended); now = !now, r->rounds++) {
        int64_t value;
        if (connection_execute_text(&r->readers[now], "BEGIN", NULL) ||
            connection_read_integer(&r->readers[now], "SELECT count(*) FROM studies", &value, NULL))
            break;
        if (r->rounds > 0 && connection_execute_text(&r->readers[!now], "COMMIT", NULL))
            break;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    atomic_store(&r->ended, true);
    return NULL;
}

static void readers_without_a_gap_do_not_let_the_log_grow(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    relay r = {0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(connection_open(&r.readers[i], path, SQLITE_OPEN_READONLY, NULL), STORE_OK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, relay_of_readers, &r), 0);
    uint64_t largest = largest_log_of(s, 48000);
    bool until_the_end = !atomic_exchange(&r.ended, true);
    pthread_join(thread, NULL);
    assert_true(until_the_end && r.rounds > 10);
    /* Writes wait for readers only when the log is long. */
    assert_true(largest > 24u << 20 && largest <= 72u << 20);
    for (int i = 0; i < 2; i++)
        connection_close(&r.readers[i]);
    store_close(s);
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static size_t scale(void)
{
    return getenv("BANDITD_BENCH") ? 10 : 1;
}

static void group_commit_throughput(void **state)
{
    enum { STUDIES = 16 };
    static const int flights[] = {1, 64, 1000};
    static const size_t trials[] = {10, 300, 1000};
    store *s = store_fixture_open(((store_directory *)*state)->path);
    for (size_t f = 0; f < sizeof flights / sizeof *flights; f++) {
        store_lane *lanes[STUDIES];
        int64_t each = (int64_t)(repeats(trials[f], trials[f] / 5) * scale());
        for (int i = 0; i < STUDIES; i++) {
            char id[32];
            snprintf(id, sizeof id, "f%zu-%d", f, i);
            lanes[i] = create(s, id);
            plan(lanes[i], (size_t)each, 0);
        }
        for (int told = 0; told < 2; told++) {
            store_statistics before, after;
            store_waiter waiter = STORE_WAITER_INIT;
            store_read_statistics(s, &before);
            double start = seconds();
            size_t n = 0;
            for (int64_t trial = 1; trial <= each; trial++) {
                for (int i = 0; i < STUDIES; i++, n++) {
                    store_waiter_wait(&waiter, n < (size_t)flights[f] ? 0 : n - (size_t)flights[f] + 1);
                    submit_trial_event(lanes[i], told ? EVENT_TRIAL_TOLD : EVENT_TRIAL_ISSUED, trial,
                                       &waiter);
                }
            }
            store_waiter_wait(&waiter, n);
            double elapsed = seconds() - start;
            store_read_statistics(s, &after);
            assert_int_equal(waiter.first_failure, STORE_OK);
            print_message("%s, %4d in flight: %8.0f writes/s, %5.1f a commit\n", told ? "tell" : "ask ",
                          flights[f], (double)n / elapsed,
                          (double)n / (double)(after.commits - before.commits));
        }
        for (int i = 0; i < STUDIES; i++)
            store_lane_close(lanes[i]);
    }
    store_close(s);
}

typedef struct last_row {
    size_t n;
    int64_t last;
} last_row;

static void count_trial(void *arg, const store_trial *trial)
{
    last_row *row = arg;
    row->n++;
    row->last = trial->trial;
}

static void start_up_with_many_rows(void **state)
{
    size_t n = 100000 * scale();
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_lane *lane = create(s, "x");
    int64_t study;
    double start = seconds();
    plan(lane, n, n);
    print_message("a batch of %zu picks and sums: written in %.2f s\n", n, seconds() - start);
    store_lane_close(lane);
    store_close(s);

    start = seconds();
    s = store_fixture_open(path);
    lane = store_fixture_lane(s, "x", &study);
    double opened = seconds();
    store_engine_state engine;
    assert_int_equal(store_read_engine_state(s, study, &engine, NULL), STORE_OK);
    double summed = seconds();
    assert_int_equal(engine.n_sums, n);
    assert_true(engine.sums[n - 1].arm == n - 1 && engine.sums[n - 1].sum == 0.1 * (double)(n - 1));
    store_engine_state_clear(&engine);
    last_row all = {0}, page = {0};
    store_trial_filter filter = {0};
    assert_int_equal(store_read_trials(s, study, &filter, SIZE_MAX, count_trial, &all, NULL), STORE_OK);
    assert_int_equal(all.n, n);
    double listed = seconds();
    while (filter.after < (int64_t)n) {
        assert_int_equal(store_read_trials(s, study, &filter, 1000, count_trial, &page, NULL), STORE_OK);
        filter.after = page.last;
    }
    assert_int_equal(page.n, n);
    print_message("%zu rows: opening %.3f s, sums %.3f s, trials %.3f s, trials by pages of 1000 %.3f s\n", n,
                  opened - start, summed - opened, listed - summed, seconds() - listed);
    store_lane_close(lane);
    store_close(s);
}

static void candidates_in_and_out(void **state)
{
    int64_t n = (int64_t)(100000 * scale()), d = 20;
    store *s = store_fixture_open(((store_directory *)*state)->path);
    int64_t study;
    double start = seconds(), *rows = malloc((size_t)(n * d) * sizeof *rows);
    assert_non_null(rows);
    store_event event = {.type = EVENT_CANDIDATES_SET, .time = 1};
    event.u.candidates.content = store_fixture_upload(s, n, d, 6553);
    event.u.candidates.count = n;
    event.u.candidates.dimension = d;
    double staged = seconds();
    store_lane_close(create(s, "x"));
    store_lane *lane = store_fixture_lane(s, "x", &study);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
    double visible = seconds();
    assert_int_equal(store_read_candidates(s, study, 0, (size_t)n, (size_t)d, rows, NULL), STORE_OK);
    double read = seconds();
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(store_read_candidates(s, study, i * 97 % n, 1, (size_t)d, rows, NULL), STORE_OK);
    double mib = (double)(n * d) * 8.0 / 1048576.0;
    print_message("candidates: %.0f MiB/s in (then visible after %.1f ms), %.0f MiB/s out, one row %.0f µs\n",
                  mib / (staged - start), 1e3 * (visible - staged), mib / (read - visible),
                  1e3 * (seconds() - read));
    free(rows);
    store_lane_close(lane);
    store_close(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, store_directory_setup, store_directory_teardown)
        T(deleted_studies_leave_in_slices_also_after_a_restart),
        T(writes_go_on_while_a_study_is_removed),
        T(expired_answers_leave),
        T(a_clock_that_was_ahead_expires_no_answers),
        T(the_write_ahead_log_stays_small),
        T(readers_without_a_gap_do_not_let_the_log_grow),
        T(group_commit_throughput),
        T(start_up_with_many_rows),
        T(candidates_in_and_out),
#undef T
    };
    return cmocka_run_group_tests_name("sqlite_space", tests, NULL, NULL);
}
