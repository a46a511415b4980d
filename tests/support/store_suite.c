#include "tests/support/store_suite.h"

#include "server/store/postgres/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names_of_backends[SUITE_BACKENDS] = {"SQLite", "memory", "PostgreSQL"};

/* The connection stays open until the program ends, and its lock keeps other programs' tests off the database. */
store_status suite_empty_postgres(store_error *err)
{
    static pg_connection kept;
    const char *uri = getenv("BANDITD_TEST_DATABASE");
    store_status status = kept.conn ? STORE_OK : pq_load(err);
    if (!status && !kept.conn) {
        status = pg_connect(&kept, uri, err);
        if (!status)
            status = pg_execute_text(&kept, "SELECT pg_advisory_lock(1)", err);
    }
    if (!status)
        status = pg_execute_text(
            &kept, "SET client_min_messages = warning; DROP SCHEMA IF EXISTS banditd CASCADE", err);
    return status;
}

store_status suite_open(suite_state *f, store_error *err)
{
    switch (f->backend) {
    case SUITE_SQLITE:
        return store_open_sqlite(&f->s, f->directory.path, err);
    case SUITE_POSTGRES:
        return store_open_postgres(&f->s, getenv("BANDITD_TEST_DATABASE"), 20, err);
    case SUITE_MEMORY:
    case SUITE_BACKENDS:
        break;
    }
    return store_open_memory(&f->s, err);
}

static int set_up(void **state)
{
    suite_state *f = *state;
    store_error err = {0};
    store_migration migration;
    store_status status = STORE_OK;
    if (f->backend == SUITE_SQLITE)
        store_directory_make(&f->directory);
    if (f->backend == SUITE_POSTGRES)
        status = suite_empty_postgres(&err);
    if (f->backend == SUITE_POSTGRES && !status)
        status = store_migrate_postgres(getenv("BANDITD_TEST_DATABASE"), &migration, &err);
    if (!status)
        status = suite_open(f, &err);
    if (status)
        print_error("%s\n", err.message);
    return status != STORE_OK;
}

static int tear_down(void **state)
{
    suite_state *f = *state;
    store_close(f->s);
    if (f->backend == SUITE_SQLITE)
        store_directory_remove(&f->directory);
    return 0;
}

store_lane *suite_create(store *s, const char *id, int64_t *study)
{
    store_lane *lane;
    store_event event = store_fixture_created(id, 1000);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(store_fixture_write(lane, &event, 1, study), STORE_OK);
    return lane;
}

store_event suite_planned(int64_t batch, int64_t first_trial, const store_pick *picks, size_t n)
{
    store_event event = {.type = EVENT_BATCH_PLANNED, .time = 2000};
    event.u.planned.batch = (store_batch){.batch = batch,
                                          .size = (int64_t)n,
                                          .ratio = 1.5,
                                          .stop_rule = "global",
                                          .beta = 2.0,
                                          .code_path = "x"};
    event.u.planned.first_trial = first_trial;
    event.u.planned.picks = picks;
    event.u.planned.n_picks = n;
    return event;
}

store_event suite_issued(int64_t trial, int32_t attempt, const char *worker, int64_t time)
{
    store_event event = {.type = EVENT_TRIAL_ISSUED, .time = time};
    event.u.issued.trial = trial;
    event.u.issued.attempt = attempt;
    event.u.issued.worker = worker;
    event.u.issued.lease_expires_at = time + 100;
    return event;
}

store_event suite_told(int64_t trial, int32_t attempt, double value, bool better)
{
    store_event event = {.type = EVENT_TRIAL_TOLD, .time = 5000};
    event.u.told.trial = trial;
    event.u.told.attempt = attempt;
    event.u.told.state = TRIAL_COMPLETED;
    event.u.told.has_value = true;
    event.u.told.value = value;
    event.u.told.better = better;
    return event;
}

store_event suite_requeued(int64_t trial, const char *outcome, bool counts)
{
    store_event event = {.type = EVENT_TRIAL_REQUEUED, .time = 3000};
    event.u.requeued.trial = trial;
    event.u.requeued.outcome = outcome;
    event.u.requeued.attempt_counts = counts;
    return event;
}

void suite_take_id(void *arg, const store_study *study)
{
    suite_ids *list = arg;
    strcat(list->text, study->id);
    strcat(list->text, " ");
}

void suite_take_study(void *arg, const store_study *study)
{
    *(store_study *)arg = *study;
}

void suite_take_trial(void *arg, const store_trial *trial)
{
    *(store_trial *)arg = *trial;
}

store_study suite_study_of(store *s, const char *id)
{
    store_study study = {0};
    assert_int_equal(store_read_study(s, id, suite_take_study, &study, NULL), STORE_OK);
    return study;
}

int suite_run(const char *name, const suite_test *tests, size_t n)
{
    enum { MOST = 32 };
    static suite_state backends[SUITE_BACKENDS] = {
        {.backend = SUITE_SQLITE}, {.backend = SUITE_MEMORY}, {.backend = SUITE_POSTGRES}};
    static struct CMUnitTest list[MOST * SUITE_BACKENDS];
    static char names[MOST * SUITE_BACKENDS][96];
    size_t n_backends = getenv("BANDITD_TEST_DATABASE") ? SUITE_BACKENDS : SUITE_POSTGRES;
    assert_true(n <= MOST);
    for (size_t k = 0; k < n * n_backends; k++) {
        suite_state *backend = &backends[k / n];
        snprintf(names[k], sizeof names[k], "%s (%s)", tests[k % n].name,
                 names_of_backends[backend->backend]);
        list[k] = (struct CMUnitTest){.name = names[k],
                                      .test_func = tests[k % n].test,
                                      .setup_func = set_up,
                                      .teardown_func = tear_down,
                                      .initial_state = backend};
    }
    return _cmocka_run_group_tests(name, list, n * n_backends, NULL, NULL);
}
