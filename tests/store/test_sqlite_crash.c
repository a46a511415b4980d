/* What has been answered stays: across closing, SIGKILL, full and failing disks. */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/repeats.h"
#include "tests/support/store_directory.h"
#include "tests/support/store_faults.h"
#include "tests/support/store_fixture.h"

#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

static int tear_down(void **state)
{
    store_faults_set(STORE_FAULT_NONE, 0, 0);
    store_directory_remove(*state);
    return 0;
}

static void take_row(void *arg, const store_study *study)
{
    *(store_study *)arg = *study;
}

static store_study study_of(store *s, const char *id)
{
    store_study study = {0};
    assert_int_equal(store_read_study(s, id, take_row, &study, NULL), STORE_OK);
    return study;
}

/* ---- closing and rebuilding ---------------------------------------------------------------------------- */

static void closed_and_opened_nothing_has_changed(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 21, 3000);
    store_fixture_upload(s, 100, 4, 10); /* staged, and never made visible */
    char *before = store_fixture_dump(s, "x", true);
    store_close(s);
    s = store_fixture_open(path);
    char *after = store_fixture_dump(s, "x", true);
    assert_string_equal(before, after);
    free(before);
    free(after);
    int64_t fresh;
    assert_int_equal(store_upload_begin(s, &fresh, NULL), STORE_OK);
    assert_int_equal(fresh, 3);            /* numbers of contents are not used again */
    store_fixture_history(s, "y", 22, 50); /* and the store goes on */
    store_fixture_expect_rebuilt(s, "x");
    store_fixture_expect_rebuilt(s, "y");
    store_close(s);
    store_fixture_expect_sound(path);
}

/* Every derived table of a database that is built from the logs of another, row by row. */
static void tables_follow_from_the_log(void **state)
{
    const store_directory *d = *state;
    static const char *const tables[] = {"studies",      "log",        "trials",      "attempts",
                                         "observations", "batches",    "arm_sums",    "engine_states",
                                         "late_results", "amendments", "measurements"};
    char other_path[128], sql[512];
    snprintf(other_path, sizeof other_path, "%s.rebuilt", d->path);
    store *s = store_fixture_open(d->path), *other = store_fixture_open(other_path);
    for (uint64_t seed = 31; seed < 34; seed++) {
        char id[16];
        snprintf(id, sizeof id, "h%llu", (unsigned long long)seed);
        store_fixture_history(s, id, seed, 2000);
        store_fixture_replay(s, other, id);
    }
    store_close(s);
    store_close(other);
    connection c;
    assert_int_equal(connection_open(&c, d->path, SQLITE_OPEN_READWRITE, NULL), STORE_OK);
    snprintf(sql, sizeof sql, "ATTACH '%s' AS rebuilt", other_path);
    assert_int_equal(connection_execute_text(&c, sql, NULL), STORE_OK);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const char *t = tables[i];
        int64_t differing = -1, rows = 0;
        snprintf(sql, sizeof sql,
                 "SELECT (SELECT count(*) FROM (SELECT * FROM main.%s EXCEPT SELECT * FROM rebuilt.%s)) + "
                 "(SELECT count(*) FROM (SELECT * FROM rebuilt.%s EXCEPT SELECT * FROM main.%s))",
                 t, t, t, t);
        assert_int_equal(connection_read_integer(&c, sql, &differing, NULL), STORE_OK);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM main.%s", t);
        assert_int_equal(connection_read_integer(&c, sql, &rows, NULL), STORE_OK);
        assert_true(rows > 0);
        if (differing)
            fail_msg("%s: %lld rows differ", t, (long long)differing);
    }
    connection_close(&c);
}

/* ---- SIGKILL ------------------------------------------------------------------------------------------- */

enum { STUDIES = 3, IN_FLIGHT = 20 };

typedef struct acknowledged {
    int study;
    int64_t last_seq;
} acknowledged;

typedef struct stream {
    store_lane *lane;
    int64_t trials, batches;
    int index;
} stream;

static pthread_mutex_t flight_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flight_changed = PTHREAD_COND_INITIALIZER;
static int in_flight;

static void tell_parent(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    const stream *line = arg;
    acknowledged a = {.study = line->index, .last_seq = last_seq};
    (void)study;
    if (status || write(STDOUT_FILENO, &a, sizeof a) != sizeof a)
        _exit(3);
    pthread_mutex_lock(&flight_mutex);
    in_flight--;
    pthread_cond_signal(&flight_changed);
    pthread_mutex_unlock(&flight_mutex);
}

/* A batch of one trial, handed out and told. */
static void write_trial(stream *line)
{
    store_write *write;
    const store_pick pick = {(uint32_t)line->trials % 100, 0.1 * (double)line->trials};
    const store_arm_sum sum = {pick.candidate, (uint64_t)line->trials, 0.3 * (double)line->trials};
    store_event planned = {.type = EVENT_BATCH_PLANNED, .time = 1},
                issued = {.type = EVENT_TRIAL_ISSUED, .time = 2},
                told = {.type = EVENT_TRIAL_TOLD, .time = 3};
    planned.u.planned.batch = (store_batch){
        .batch = line->batches++, .size = 1, .stop_rule = "global", .code_path = "x", .dictionary_size = 0};
    planned.u.planned.first_trial = ++line->trials;
    planned.u.planned.picks = &pick;
    planned.u.planned.n_picks = 1;
    planned.u.planned.sums = &sum;
    planned.u.planned.n_sums = 1;
    issued.u.issued.trial = told.u.told.trial = line->trials;
    issued.u.issued.attempt = told.u.told.attempt = 1;
    issued.u.issued.worker = "w";
    told.u.told.state = TRIAL_COMPLETED;
    told.u.told.has_value = true;
    told.u.told.value = 0.7 * (double)line->trials;
    if (store_write_new(&write, line->lane) || store_write_add(write, &planned) ||
        store_write_add(write, &issued) || store_write_add(write, &told))
        _exit(4);
    pthread_mutex_lock(&flight_mutex);
    while (in_flight == IN_FLIGHT)
        pthread_cond_wait(&flight_changed, &flight_mutex);
    in_flight++;
    pthread_mutex_unlock(&flight_mutex);
    store_submit(write, tell_parent, line);
}

static void ignore_done(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    (void)arg;
    (void)status;
    (void)study;
    (void)last_seq;
}

/* The process that is killed: writes for ever, with uploads and deletions in between. */
static int write_until_killed(const char *path)
{
    static stream lines[STUDIES];
    static double rows[4096];
    store *s;
    if (store_open_sqlite(&s, path, NULL))
        return 2;
    for (int i = 0; i < STUDIES; i++) {
        char id[16];
        store_study study = {0};
        snprintf(id, sizeof id, "s%d", i);
        if (store_read_study(s, id, take_row, &study, NULL))
            return 5;
        lines[i] = (stream){.index = i, .trials = study.trials, .batches = study.batches};
        if (store_lane_open(&lines[i].lane, s, study.study, study.epoch, study.last_seq))
            return 6;
    }
    for (int turn = 0;; turn++) {
        write_trial(&lines[turn % STUDIES]);
        if (turn % 50 == 0) {
            int64_t content;
            if (store_upload_begin(s, &content, NULL))
                return 7;
            store_upload_append(s, content, 0, 512, 8, rows, ignore_done, NULL);
            if (turn % 100 == 0)
                store_upload_abandon(s, content);
        }
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs the writer for so long after its first answer, kills it; what it has been answered. */
static size_t run_and_kill(const char *path, double time, int64_t last_seq[STUDIES])
{
    int ends[2], status;
    pid_t child;
    char *const arguments[] = {"test_sqlite_crash", "write", (char *)path, NULL};
    posix_spawn_file_actions_t actions;
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t n = 0;
    double end = 0.0;
    acknowledged a;
    bool killed = false;
    for (;;) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        if (!killed && n > 0 && seconds() >= end) {
            kill(child, SIGKILL);
            killed = true;
        }
        if (poll(&ready, 1, 1) == 0)
            continue;
        if (read(ends[0], &a, sizeof a) != sizeof a)
            break;
        if (n++ == 0)
            end = seconds() + time;
        assert_true(a.last_seq > last_seq[a.study]);
        last_seq[a.study] = a.last_seq;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return n;
}

static void killed_at_any_instant_nothing_answered_is_lost(void **state)
{
    const int rounds = (int)repeats(12, 8);
    const char *path = ((store_directory *)*state)->path;
    int64_t last_seq[STUDIES] = {1, 1, 1};
    size_t answered = 0;
    char id[16];
    store *s = store_fixture_open(path);
    for (int i = 0; i < STUDIES; i++) {
        store_lane *lane;
        snprintf(id, sizeof id, "s%d", i);
        store_event event = store_fixture_created(id, 1);
        assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
        assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
        store_lane_close(lane);
    }
    store_close(s);
    for (int round = 0; round < rounds; round++) {
        answered += run_and_kill(path, 0.003 * round * round * (1 + round % 2), last_seq);
        s = store_fixture_open(path);
        for (int i = 0; i < STUDIES; i++) {
            snprintf(id, sizeof id, "s%d", i);
            store_study study = study_of(s, id);
            assert_true(study.last_seq >= last_seq[i]);
            assert_true(study.last_seq <= last_seq[i] + 3 * IN_FLIGHT);
            assert_int_equal(study.observations * 3, study.last_seq - 1); /* whole writes only */
            last_seq[i] = study.last_seq;
            if (round == rounds - 1)
                store_fixture_expect_rebuilt(s, id);
        }
        store_close(s);
        store_fixture_expect_sound(path);
    }
    print_message("%zu answered writes, %d kills\n", answered, rounds);
}

/* ---- faults -------------------------------------------------------------------------------------------- */

/* Ten writes; the number that were answered, and the status of the first that was not. */
static int64_t write_ten(store *s, const char *id, store_status *failure)
{
    int64_t study, answered = 0;
    store_lane *lane = store_fixture_lane(s, id, &study);
    *failure = STORE_OK;
    for (int i = 0; i < 10; i++) {
        store_event change = {.type = EVENT_STUDY_CHANGED, .time = i};
        char reason[600];
        snprintf(reason, sizeof reason, "%0500d", i);
        change.u.changed.state = STUDY_PAUSED;
        change.u.changed.reason = reason;
        store_status status = store_fixture_write(lane, &change, 1, NULL);
        if (*failure)
            assert_int_equal(status, STORE_ABORTED);
        else if (status)
            *failure = status;
        else
            answered++;
    }
    store_lane_close(lane);
    return answered;
}

/* One run with a fault from the nth call on. False when the fault has not struck. */
static bool run_with_fault(const char *path, store_fault fault, int nth, int once)
{
    store_status failure, persists;
    store_error err = {0};
    store *s = store_fixture_open(path);
    int64_t before = study_of(s, "x").last_seq;
    store_faults_set(fault, nth, once);
    int64_t answered = write_ten(s, "x", &failure);
    assert_int_equal(study_of(s, "x").last_seq, before + answered); /* also while it lasts */
    persists = store_fixture_probe(s, &err);
    bool struck = store_faults_failed() > 0;
    if (struck && !once)
        assert_int_not_equal(persists, STORE_OK);
    if (failure || persists)
        assert_true(struck);
    for (int i = 0; i < 2; i++) {
        store_status status = i ? persists : failure;
        if (status)
            assert_int_equal(status,
                             fault == STORE_FAULT_FULL || fault == STORE_FAULT_SHORT ? STORE_FULL : STORE_IO);
    }
    store_faults_set(STORE_FAULT_NONE, 0, 0);
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK);
    answered += write_ten(s, "x", &failure);
    assert_int_equal(failure, STORE_OK);
    store_close(s);
    s = store_fixture_open(path);
    assert_int_equal(study_of(s, "x").last_seq, before + answered);
    store_close(s);
    return struck;
}

static void a_fault_fails_writes_and_they_recover_with_it(void **state)
{
    static const store_fault faults[] = {STORE_FAULT_FULL, STORE_FAULT_SHORT, STORE_FAULT_IO,
                                         STORE_FAULT_SYNC};
    const char *path = ((store_directory *)*state)->path;
    const char *wanted = getenv("BANDITD_FAULTS");
    const int each_until = wanted && strcmp(wanted, "all") == 0 ? INT_MAX : (int)repeats(20, 8);
    int runs = 0;
    store_faults_install(false);
    store *s = store_fixture_open(path);
    store_fixture_history(s, "x", 41, 100);
    store_close(s);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        for (int once = 0; once < 2; once++) {
            int nth = 1;
            while (run_with_fault(path, faults[i], nth, once)) {
                nth += nth < each_until ? 1 : 9;
                runs++;
            }
            assert_true(nth > 5);
        }
    }
    s = store_fixture_open(path);
    store_fixture_expect_rebuilt(s, "x");
    store_close(s);
    store_fixture_expect_sound(path);
    print_message("%d faults\n", runs);
}

/* ---- one bad write among good ones --------------------------------------------------------------------- */

typedef struct gate {
    store *s;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool reached, open;
    char sql[64];
} gate;

/* On the writer thread: waits, so that what is submitted meanwhile makes one group. */
static void wait_at_gate(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    gate *g = arg;
    (void)status;
    (void)study;
    (void)last_seq;
    connection_execute_text(&((sqlite_store *)g->s)->writer, g->sql, NULL);
    pthread_mutex_lock(&g->mutex);
    g->reached = true;
    pthread_cond_signal(&g->changed);
    while (!g->open)
        pthread_cond_wait(&g->changed, &g->mutex);
    pthread_mutex_unlock(&g->mutex);
}

/* SQLite ends the whole transaction when it finds no room in the middle of a statement: the others of the
 * group must be written nevertheless. */
static void a_write_too_large_for_the_disk_fails_alone(void **state)
{
    enum { PAGES = 50, SIZE = 2 * PAGES * 4096 }; /* little: a group has 20 ms */
    const char *path = ((store_directory *)*state)->path;
    store *s = store_fixture_open(path);
    store_fixture_history(s, "a", 1, 100);
    store_fixture_history(s, "b", 2, 100);
    store_lane *a = store_fixture_lane(s, "a", NULL), *b = store_fixture_lane(s, "b", NULL);
    int64_t last_a = study_of(s, "a").last_seq, last_b = study_of(s, "b").last_seq, pages;
    assert_int_equal(connection_read_integer(&((sqlite_store *)s)->writer, "PRAGMA page_count", &pages, NULL),
                     STORE_OK);
    gate g = {.s = s, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    snprintf(g.sql, sizeof g.sql, "PRAGMA max_page_count = %lld", (long long)pages + PAGES);
    store_event small = {.type = EVENT_STUDY_CHANGED, .time = 1}, large = small;
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, 'x', SIZE);
    text[SIZE - 1] = '\0';
    large.u.changed.reason = text;
    store_write *first;
    store_waiter of_a = STORE_WAITER_INIT, of_b = STORE_WAITER_INIT, after_b = STORE_WAITER_INIT;
    assert_int_equal(store_write_new(&first, a), STORE_OK);
    store_submit(first, wait_at_gate, &g);
    pthread_mutex_lock(&g.mutex);
    while (!g.reached)
        pthread_cond_wait(&g.changed, &g.mutex);
    pthread_mutex_unlock(&g.mutex);
    store_fixture_submit(a, &small, 1, &of_a);
    store_fixture_submit(b, &small, 1, &of_b);
    store_fixture_submit(b, &large, 1, &after_b);
    store_fixture_submit(b, &small, 1, &after_b);
    store_fixture_submit(a, &small, 1, &of_a);
    free(text);
    pthread_mutex_lock(&g.mutex);
    g.open = true;
    pthread_cond_signal(&g.changed);
    pthread_mutex_unlock(&g.mutex);
    store_waiter_wait(&of_a, 2);
    store_waiter_wait(&after_b, 2);
    assert_int_equal(of_a.first_failure, STORE_OK);
    assert_int_equal(of_b.first_failure, STORE_OK);
    assert_int_equal(after_b.first_failure, STORE_FULL);
    assert_int_equal(after_b.last_status, STORE_ABORTED);
    assert_int_equal(study_of(s, "a").last_seq, last_a + 2);
    assert_int_equal(study_of(s, "b").last_seq, last_b + 1);
    store_lane_close(a);
    store_lane_close(b);
    store_fixture_expect_rebuilt(s, "a");
    store_fixture_expect_rebuilt(s, "b");
    store_close(s);
    store_fixture_expect_sound(path);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_until_killed(argv[2]);
    static const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, store_directory_setup, tear_down)
        T(closed_and_opened_nothing_has_changed),          T(tables_follow_from_the_log),
        T(killed_at_any_instant_nothing_answered_is_lost), T(a_write_too_large_for_the_disk_fails_alone),
        T(a_fault_fails_writes_and_they_recover_with_it),
#undef T
    };
    return cmocka_run_group_tests_name("sqlite_crash", tests, NULL, NULL);
}
