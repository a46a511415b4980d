/* Tests that run on every backend of the store, and what they share. */
#ifndef TESTS_SUPPORT_STORE_SUITE_H
#define TESTS_SUPPORT_STORE_SUITE_H

#include "tests/support/store_directory.h"
#include "tests/support/store_fixture.h"

/* What a test is given as its state. */
typedef enum suite_backend { SUITE_SQLITE, SUITE_MEMORY, SUITE_POSTGRES, SUITE_BACKENDS } suite_backend;

typedef struct suite_state {
    suite_backend backend;
    store_directory directory;
    store *s;
} suite_state;

typedef struct suite_test {
    const char *name;
    void (*test)(void **state);
} suite_test;

#define SUITE_TEST(test)                                                                                     \
    {                                                                                                        \
#test, test                                                                                          \
    }

/* Runs each test (at most 32) on each backend, with a new store; for main to return. PostgreSQL is one of
 * them where BANDITD_TEST_DATABASE names a database that may be emptied. */
int suite_run(const char *name, const suite_test *tests, size_t n);

/* Drops what BANDITD_TEST_DATABASE has of banditd. */
store_status suite_empty_postgres(store_error *err);

/* Opens the test's store again. */
store_status suite_open(suite_state *f, store_error *err);

/* Makes a study, open since time 1000; its lane. study may be NULL. */
store_lane *suite_create(store *s, const char *id, int64_t *study);

/* Events with what the tests look at. */
store_event suite_planned(int64_t batch, int64_t first_trial, const store_pick *picks, size_t n);
store_event suite_issued(int64_t trial, int32_t attempt, const char *worker, int64_t time);
store_event suite_told(int64_t trial, int32_t attempt, double value, bool better);
store_event suite_requeued(int64_t trial, const char *outcome, bool counts);

/* A list of what was seen. */
typedef struct suite_ids {
    char text[512];
} suite_ids;

/* Rows: the id appended to a suite_ids, and copies of the row (its strings are gone). */
void suite_take_id(void *arg, const store_study *study);
void suite_take_study(void *arg, const store_study *study);
void suite_take_trial(void *arg, const store_trial *trial);

/* The living study of that id. */
store_study suite_study_of(store *s, const char *id);

#endif
