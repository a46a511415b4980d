/* The write-ahead log that a killed server leaves: recovered if it is whole or torn at its end, refused if it
 * is damaged or another file's. */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/repeats.h"
#include "tests/support/store_directory.h"
#include "tests/support/store_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { frame = wal_frame_bytes, header = 32 };

static void copy_file(const char *from, const char *to)
{
    static char bytes[8 << 20];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_true(in && out);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    assert_true(n < sizeof bytes);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

typedef struct file_name {
    char text[200];
} file_name;

static file_name beside(const char *path, const char *end)
{
    file_name name;
    assert_true(strlen(path) + strlen(end) < sizeof name.text);
    stpcpy(stpcpy(name.text, path), end);
    return name;
}

/* What a kill at this moment would leave. */
static void take_remains(const char *path, const char *remains)
{
    copy_file(path, remains);
    copy_file(beside(path, "-wal").text, beside(remains, "-wal").text);
    unlink(beside(remains, "-shm").text);
}

static void add_study(store *s, const char *id)
{
    store_lane *lane;
    store_event created = store_fixture_created(id, 1);
    assert_int_equal(store_lane_open(&lane, s, 0, 1, 0), STORE_OK);
    assert_int_equal(store_fixture_write(lane, &created, 1, NULL), STORE_OK);
    store_lane_close(lane);
}

static size_t count_studies(const char *path)
{
    size_t n;
    store *s = store_fixture_open(path);
    assert_int_equal(store_count_studies(s, &n, NULL), STORE_OK);
    store_close(s);
    return n;
}

static void expect_refused(const char *path, store_status want, const char *words)
{
    store *s;
    store_error err = {0};
    assert_int_equal(store_open_sqlite(&s, path, &err), want);
    if (!strstr(err.message, words))
        fail_msg("'%s' does not say '%s'", err.message, words);
}

static long size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

static void flip(const char *path, long at, int bit)
{
    int fd = open(path, O_RDWR);
    unsigned char byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= (unsigned char)(1 << bit);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* A store whose log holds a few dozen commits; then its remains. */
static void leave_remains(const char *path, const char *remains)
{
    char id[16];
    store *s = store_fixture_open(path);
    for (int i = 0; i < 40; i++) {
        snprintf(id, sizeof id, "s%d", i);
        add_study(s, id);
    }
    take_remains(path, remains);
    store_close(s);
}

static void a_flipped_bit_is_not_a_torn_end(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char remains[200];
    stpcpy(stpcpy(remains, path), ".killed");
    char kept[200];
    stpcpy(stpcpy(kept, path), ".kept");
    leave_remains(path, kept);
    long frames = (size_of(beside(kept, "-wal").text) - header) / frame;
    assert_true(frames > 80);
    const long places[] = {9,                                    /* the header: page size */
                           18,                                   /* its salt */
                           26,                                   /* its checksum */
                           header + 4,                           /* the first frame: size after commit */
                           header + 10,                          /* its salt */
                           header + 24 + 100,                    /* its page */
                           header + 5 * (long)frame + 24 + 4000, /* a frame somewhere */
                           header + (frames / 2) * frame + 16};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        take_remains(kept, remains);
        flip(beside(remains, "-wal").text, places[i], (int)(i % 8));
        long size = size_of(remains);
        expect_refused(remains, STORE_CORRUPT, "acknowledged commits follow");
        assert_int_equal(size_of(remains), size); /* untouched */
        take_remains(kept, remains);
        assert_int_equal(count_studies(remains), 40);
    }
}

/* A commit that was being written when the power went: the log ends anywhere, or with a frame that has only
 * some of its bytes. All that was acknowledged before is there. */
/* Commits whose sync failed are written again from the same place. When the server is killed then, the ends of the
 * longer ones are left behind the last, none of them acknowledged: a break before each, and one commit in each. */
static void what_failed_commits_left_is_no_damage(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char remains[200];
    stpcpy(stpcpy(remains, path), ".killed");
    leave_remains(path, remains);
    file_name wal = beside(remains, "-wal");
    long frames = (size_of(wal.text) - header) / frame;
    int commits = 0, fd = open(wal.text, O_RDONLY);
    for (long i = 0; i < frames; i++) {
        unsigned char size[4];
        long at = header + i * (long)frame;
        assert_int_equal(pread(fd, size, 4, at + 4), 4);
        bool ends = size[0] | size[1] | size[2] | size[3];
        commits += ends;
        if (ends && commits >= 20 && i + 1 < frames)
            flip(wal.text, at + (long)frame + 24 + 100, 3); /* the page of the frame behind a commit */
    }
    close(fd);
    assert_true(commits > 30);
    assert_in_range(count_studies(remains), 10, 30);
}

static void a_torn_end_is_recovered(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char remains[200];
    stpcpy(stpcpy(remains, path), ".killed");
    char kept[200];
    stpcpy(stpcpy(kept, path), ".kept");
    leave_remains(path, kept);
    long size = size_of(beside(kept, "-wal").text);
    size_t before = 40;
    for (long cut = 1; cut < 12 * (long)frame; cut += 3001) {
        take_remains(kept, remains);
        assert_int_equal(truncate(beside(remains, "-wal").text, size - cut), 0);
        size_t n = count_studies(remains);
        assert_true(n <= before && n > 20);
        before = n;
    }
    assert_true(before < 40);
    take_remains(kept, remains);
    flip(beside(remains, "-wal").text, size - 100, 3); /* the last commit's last page */
    assert_int_equal(count_studies(remains), 39);
}

/* The way out that the message names. */
static void a_damaged_log_can_be_cut(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char kept[200];
    stpcpy(stpcpy(kept, path), ".kept");
    leave_remains(path, kept);
    size_t commits;
    off_t at;
    long place = header + 40 * (long)frame;
    flip(beside(kept, "-wal").text, place + 300, 0);
    assert_int_equal(sqlite_find_log_break(kept, &commits, &at, NULL), STORE_OK);
    assert_int_equal(at, place);
    assert_true(commits > 5 && commits < 40);
    assert_int_equal(truncate(beside(kept, "-wal").text, at), 0);
    size_t n = count_studies(kept);
    assert_true(n > 5 && n < 40);
}

/* ---- a log beside another file ------------------------------------------------------------------------- */

/* What only reads the file refuses it as well. */
static void expect_no_reader(const char *path)
{
    char copy[220];
    store_error err;
    store *s;
    int64_t version;
    stpcpy(stpcpy(copy, path), ".read");
    assert_int_equal(store_back_up(path, copy, &err), STORE_MOVED);
    assert_non_null(strstr(err.message, "is not the write-ahead log of"));
    assert_int_equal(access(copy, F_OK), -1);
    assert_int_equal(store_open_snapshot(&s, path, &err), STORE_MOVED);
    assert_int_equal(store_read_version(path, &version, &err), STORE_MOVED);
    assert_int_equal(store_check(path, NULL, NULL, &err), STORE_MOVED);
}

/* A backup is put in the place of a database whose server was killed, and its log is forgotten. */
static void a_restored_backup_is_not_overwritten(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char backup[200], copied[200], remains[200];
    stpcpy(stpcpy(backup, path), ".backup");
    stpcpy(stpcpy(copied, path), ".copied");
    stpcpy(stpcpy(remains, path), ".killed");
    store_close(store_fixture_open(path));
    copy_file(path, copied); /* of a stopped server */
    store *s = store_fixture_open(path);
    add_study(s, "before");
    assert_int_equal(store_back_up(path, backup, NULL), STORE_OK);
    add_study(s, "after");
    take_remains(path, remains);
    const char *const others[] = {backup, copied};
    for (size_t i = 0; i < 2; i++) {
        copy_file(others[i], remains); /* over it, or by a new name: it is the content that counts */
        expect_refused(remains, STORE_MOVED, "is not the write-ahead log of");
        expect_refused(remains, STORE_MOVED, "remove");
        expect_no_reader(remains);
        assert_int_equal(unlink(beside(remains, "-wal").text), 0); /* as the manual says */
        unlink(beside(remains, "-shm").text);
        assert_int_equal(count_studies(remains), i == 0);
        take_remains(path, remains);
    }
    assert_int_equal(count_studies(remains), 2);
    store_close(s);
}

/* At any moment of checkpoints, restarts of the log, deletions and reopening, what a kill leaves is taken. */
static void the_own_log_is_always_taken(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char remains[200], id[40];
    stpcpy(stpcpy(remains, path), ".killed");
    store *s = NULL;
    size_t n = 0;
    for (int round = 0; round < (int)repeats(12, 2); round++) {
        s = store_fixture_open(path);
        for (int i = 0; i < 6; i++) {
            snprintf(id, sizeof id, "r%d-%d", round, i);
            store_fixture_history(s, id, (uint64_t)(round * 10 + i), 60);
            n++;
            if (i == 3)
                usleep(round % 3 == 0 ? 1200000 : 0); /* the checkpoint of an idle second */
            take_remains(path, remains);
            assert_int_equal(count_studies(remains), n);
        }
        store_close(s);
    }
}

typedef struct asker {
    pthread_t thread;
    const char *path;
    atomic_bool *ended;
    int refused;
    long asked;
} asker;

static void *ask_always(void *arg)
{
    asker *a = arg;
    for (; !atomic_load(a->ended); a->asked++)
        a->refused += sqlite_refuse_foreign_log(a->path, NULL) != STORE_OK;
    return NULL;
}

/* Readers ask beside a server, while checkpoints move the marks and the log starts over. */
static void the_log_of_a_running_server_is_always_taken(void **state)
{
    enum { ASKERS = 6 };
    const char *path = ((store_directory *)*state)->path;
    const size_t starts = repeats(200, 20);
    asker askers[ASKERS];
    atomic_bool ended = false;
    char id[40];
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (asker){.path = path, .ended = &ended};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_always, &askers[i]), 0);
    }
    for (size_t i = 0; i < starts; i++) {
        store *s = store_fixture_open(path);
        snprintf(id, sizeof id, "s%zu", i);
        add_study(s, id);
        store_close(s);
    }
    atomic_store(&ended, true);
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_int_equal(askers[i].refused, 0);
        assert_true(askers[i].asked > 100);
    }
    assert_int_equal(count_studies(path), starts);
}

static void a_log_without_its_database_is_kept(void **state)
{
    const char *path = ((store_directory *)*state)->path;
    char remains[200];
    stpcpy(stpcpy(remains, path), ".killed");
    leave_remains(path, remains);
    assert_int_equal(rename(remains, beside(path, ".away").text), 0);
    long size = size_of(beside(remains, "-wal").text);
    expect_refused(remains, STORE_MOVED, "put the database back");
    assert_int_equal(size_of(beside(remains, "-wal").text), size);
    assert_int_equal(rename(beside(path, ".away").text, remains), 0);
    assert_int_equal(count_studies(remains), 40);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(test) cmocka_unit_test_setup_teardown(test, store_directory_setup, store_directory_teardown)
        T(a_flipped_bit_is_not_a_torn_end),
        T(what_failed_commits_left_is_no_damage),
        T(a_torn_end_is_recovered),
        T(a_damaged_log_can_be_cut),
        T(a_restored_backup_is_not_overwritten),
        T(the_own_log_is_always_taken),
        T(the_log_of_a_running_server_is_always_taken),
        T(a_log_without_its_database_is_kept),
#undef T
    };
    return cmocka_run_group_tests_name("sqlite_log", tests, NULL, NULL);
}
