/* The settings of the connection that writes, and what a new database says of itself. */
#include "server/store/sqlite/sqlite.h"
#include "tests/support/store_directory.h"
#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct setting {
    const char *sql;
    int64_t want;
} setting;

typedef struct reading_settings {
    connection *writer;
    setting *settings; /* up to one without text */
    bool right;
    store_waiter waiter;
} reading_settings;

/* In the thread of the writer, whose connection it is. */
static void read_settings(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    reading_settings *r = arg;
    int64_t value;
    r->right = status == STORE_OK;
    for (const setting *each = r->settings; each->sql && r->right; each++) {
        r->right =
            connection_read_integer(r->writer, each->sql, &value, NULL) == STORE_OK && value == each->want;
        if (!r->right)
            print_error("%s is not %lld\n", each->sql, (long long)each->want);
    }
    store_waiter_done(&r->waiter, status, study, last_seq);
}

static void settings_are_in_force(void **state)
{
    store *s = store_fixture_open(((store_directory *)*state)->path);
    setting settings[] = {
        {"PRAGMA synchronous", 2},
        {"PRAGMA foreign_keys", 1},
        {"PRAGMA auto_vacuum", 2},
        {"PRAGMA user_version", sqlite_newest_version(embedded_files)},
        {"PRAGMA wal_autocheckpoint", 0},
        {"PRAGMA application_id", 0x62616e64},
        {"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
         "AND sql NOT LIKE '%STRICT%'",
         0},
        {"SELECT journal_mode = 'wal' FROM pragma_journal_mode", 1},
        {"SELECT count(*) FROM migrations WHERE version = 1 AND program <> '' AND applied_at > 1700000000000",
         1},
        {0}};
    reading_settings r = {
        .writer = &((sqlite_store *)s)->writer, .settings = settings, .waiter = STORE_WAITER_INIT};
    store_event created = store_fixture_created("new", 1);
    store_lane *lane;
    store_write *write;
    assert_int_equal(store_lane_open(&lane, s, 0, 1, 0), STORE_OK);
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    assert_int_equal(store_write_add(write, &created), STORE_OK);
    store_submit(write, read_settings, &r);
    store_waiter_wait(&r.waiter, 1);
    assert_true(r.right);
    store_lane_close(lane);
    assert_int_equal(sqlite3_memory_used(), 0); /* it is not counted */
    store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        settings_are_in_force, store_directory_setup, store_directory_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
