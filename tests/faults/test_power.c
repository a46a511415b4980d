/* The machine loses its power at the nth call to the disk: what was answered is there, whole, and the file is
 * sound, whatever became of what had not been synced. BANDITD_FAULTS=all cuts at every n, otherwise at some.
 */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/store_directory.h"
#include "tests/support/store_faults.h"
#include "tests/support/store_fixture.h"

#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

/* What the process that loses its power says, line by line. */
typedef struct said {
    int64_t answered; /* last log position of "x" that was answered */
    bool made, deleted, finished;
    int calls;
} said;

static void take_row(void *arg, const store_study *study)
{
    *(store_study *)arg = *study;
}

/* ---- the process that loses its power ------------------------------------------------------------------ */

/* A change whose text has n bytes; it is in the log and in the table. */
static void change(store_lane *lane, size_t n)
{
    char *text = malloc(n + 1);
    store_event event = {.type = EVENT_STUDY_CHANGED, .time = 9};
    if (!text)
        abort();
    memset(text, 'x', n);
    text[n] = '\0';
    event.u.changed.state = STUDY_PAUSED;
    event.u.changed.reason = text;
    if (store_fixture_write(lane, &event, 1, NULL))
        abort();
    free(text);
    printf("answered %lld\n", (long long)store_lane_next_seq(lane) - 1);
    fflush(stdout);
}

static void make_study(store *s)
{
    store_lane *lane;
    store_event events[2] = {store_fixture_created("made", 5), {.type = EVENT_CANDIDATES_SET, .time = 5}};
    events[1].u.candidates.content = store_fixture_upload(s, 600, 8, 200);
    events[1].u.candidates.count = 600;
    events[1].u.candidates.dimension = 8;
    events[1].u.candidates.digest = "d";
    if (store_lane_open(&lane, s, 0, 0, 0) || store_fixture_write(lane, events, 2, NULL))
        abort();
    store_lane_close(lane);
    puts("made");
    fflush(stdout);
}

static void delete_study(store *s, const char *id)
{
    store_lane *lane = store_fixture_lane(s, id, NULL);
    store_waiter waiter = STORE_WAITER_INIT;
    store_submit_delete(lane, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    if (waiter.first_failure)
        abort();
    store_lane_close(lane);
    puts("deleted");
    fflush(stdout);
}

/* Small writes, an upload, a deletion with what is removed after it, and enough for a checkpoint. */
static int write_until_dark(const char *path, int nth, unsigned seed)
{
    store *s;
    store_faults_install(true);
    store_faults_cut_power(nth, seed);
    if (store_open_sqlite(&s, path, NULL))
        return 2;
    store_lane *lane = store_fixture_lane(s, "x", NULL);
    for (int i = 0; i < 4; i++)
        change(lane, 300);
    make_study(s);
    change(lane, 2200000);
    for (int i = 0; i < 4; i++)
        change(lane, 300);
    delete_study(s, "y");
    change(lane, 10);
    store_lane_close(lane);
    store_close(s);
    printf("finished %d\n", store_faults_calls());
    return 0;
}

/* ---- those who look at what it left -------------------------------------------------------------------- */

static said run_until_dark(const char *path, int nth, int seed)
{
    int ends[2], status;
    pid_t child;
    char n[16], s[16], line[64];
    said heard = {0};
    char *const arguments[] = {"test_power", "write", (char *)path, n, s, NULL};
    posix_spawn_file_actions_t actions;
    snprintf(n, sizeof n, "%d", nth);
    snprintf(s, sizeof s, "%d", seed);
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        long long seq;
        if (sscanf(line, "answered %lld", &seq) == 1)
            heard.answered = seq;
        heard.made |= strcmp(line, "made\n") == 0;
        heard.deleted |= strcmp(line, "deleted\n") == 0;
        heard.finished |= sscanf(line, "finished %d", &heard.calls) == 1;
    }
    fclose(in);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), heard.finished ? 0 : STORE_POWER_LOST);
    return heard;
}

static void copy_file(const char *from, const char *to)
{
    char block[65536];
    size_t n;
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_true(in && out);
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        assert_int_equal(fwrite(block, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void remove_files(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lost", "-wal.lost"};
    char name[256];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

static bool lives(store *s, const char *id)
{
    store_study study;
    return store_read_study(s, id, take_row, &study, NULL) == STORE_OK;
}

static void look(const char *path, const said *heard, int64_t before)
{
    store *s = store_fixture_open(path);
    store_study x;
    assert_int_equal(store_read_study(s, "x", take_row, &x, NULL), STORE_OK);
    assert_true(x.last_seq >= (heard->answered > before ? heard->answered : before));
    assert_true(x.last_seq <= before + 10);
    assert_true(!heard->made || lives(s, "made"));
    assert_true(!heard->deleted || !lives(s, "y"));
    store_fixture_expect_rebuilt(s, "x");
    if (lives(s, "made"))
        store_fixture_expect_rebuilt(s, "made");
    if (lives(s, "y"))
        store_fixture_expect_rebuilt(s, "y");
    store_lane *lane = store_fixture_lane(s, "x", NULL);
    store_event event = {.type = EVENT_STUDY_CHANGED, .time = 11};
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
    store_lane_close(lane);
    store_close(s);
    store_fixture_expect_sound(path);
}

static bool at_every_call(void)
{
    const char *wanted = getenv("BANDITD_FAULTS");
    return wanted && strcmp(wanted, "all") == 0;
}

static void when_the_power_goes_what_was_answered_stays(void **state)
{
    enum { SOME = 40 };
    store_directory directory;
    char pristine[128];
    store_study x;
    (void)state;
    store_directory_make(&directory);
    snprintf(pristine, sizeof pristine, "%s.pristine", directory.path);
    store *s = store_fixture_open(directory.path);
    store_fixture_history(s, "x", 3, 200);
    store_fixture_history(s, "y", 4, 200);
    assert_int_equal(store_read_study(s, "x", take_row, &x, NULL), STORE_OK);
    store_close(s);
    copy_file(directory.path, pristine);

    said whole = run_until_dark(directory.path, INT_MAX, 0);
    assert_true(whole.finished && whole.made && whole.deleted && whole.calls > 2000);
    int cuts = 0, ended_before = 0, step = at_every_call() ? 1 : whole.calls / SOME;
    for (int nth = 1; nth <= whole.calls; nth += step, cuts++) {
        remove_files(directory.path);
        copy_file(pristine, directory.path);
        said heard = run_until_dark(directory.path, nth, 7 * nth);
        if (heard.finished) { /* how writes are grouped differs from run to run, and with it the number of
                                 calls */
            assert_true(heard.calls > 2000 && heard.calls < nth);
            ended_before++;
        } else {
            store_faults_restore_power(directory.path);
        }
        look(directory.path, &heard, x.last_seq);
    }
    print_message("%d cuts among %d calls, %d runs ended before\n", cuts, whole.calls, ended_before);
    store_directory_remove(&directory);
}

/* A database that is being made is one, or an empty file, which becomes one. */
static void when_the_power_goes_at_the_first_start_the_next_one_succeeds(void **state)
{
    store_directory directory;
    (void)state;
    store_directory_make(&directory);
    int cuts = 0;
    for (int nth = 1;; nth += at_every_call() ? 1 : 5) {
        int status;
        pid_t child;
        char n[16];
        char *const arguments[] = {"test_power", "create", directory.path, n, NULL};
        snprintf(n, sizeof n, "%d", nth);
        remove_files(directory.path);
        assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 0)
            break;
        assert_int_equal(WEXITSTATUS(status), STORE_POWER_LOST);
        store_faults_restore_power(directory.path);
        store_close(store_fixture_open(directory.path));
        store_fixture_expect_sound(directory.path);
        cuts++;
    }
    assert_true(cuts > 5);
    print_message("%d cuts\n", cuts);
    store_directory_remove(&directory);
}

static int create(const char *path, int nth)
{
    store *s;
    store_faults_install(true);
    store_faults_cut_power(nth, (unsigned)nth);
    if (store_open_sqlite(&s, path, NULL))
        return 2;
    store_close(s);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "write") == 0)
        return write_until_dark(argv[2], atoi(argv[3]), (unsigned)atoi(argv[4]));
    if (argc == 4 && strcmp(argv[1], "create") == 0)
        return create(argv[2], atoi(argv[3]));
    store_faults_install(true); /* for its speed: those who look need no syncs of their own */
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_the_power_goes_what_was_answered_stays),
        cmocka_unit_test(when_the_power_goes_at_the_first_start_the_next_one_succeeds),
    };
    return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}
