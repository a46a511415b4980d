/* A study that comes back to memory has its queue in the order that it had, and reads it at once. */
#include "server/store/backend.h"
#include "tests/support/study_fixture.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

enum { TRIALS = 40 };

static store_backend counting; /* the backend, whose reads of attempts are counted */
static const store_backend *counted;
static atomic_int reads;

static store_status count_read(store *s, int64_t number, int64_t first, int64_t last, store_attempt_row *row,
                               void *arg, store_error *err)
{
    atomic_fetch_add(&reads, 1);
    return counted->read_attempts(s, number, first, last, row, arg, err);
}

static void count_reads(store *s)
{
    pthread_mutex_lock(&s->mutex); /* the writer looks at the backend, too */
    counted = s->backend;
    counting = *counted;
    counting.read_attempts = count_read;
    s->backend = &counting;
    pthread_mutex_unlock(&s->mutex);
}

static void ask_for_all(study_fixture *f, bool released)
{
    study_answer asked = study_fixture_ask(f, "s", "{'count':40,'worker':'ada'}");
    for (int i = 0; i < TRIALS; i++) {
        char path[32];
        snprintf(path, sizeof path, "trials/%d/id", i);
        assert_int_equal(study_answer_integer(&asked, path), released ? TRIALS - i : i + 1);
    }
    study_answer_clear(&asked);
}

static void release_all(study_fixture *f)
{
    for (int trial = 1; trial <= TRIALS; trial++) {
        char body[96];
        snprintf(body, sizeof body, "{'results':[{'trial':%d,'state':'released'}]}", trial);
        study_answer told = study_fixture_tell(f, "s", body);
        assert_int_equal(told.kind, REPLY_OK);
        study_answer_clear(&told);
    }
}

/* With PostgreSQL each read is a round trip. */
static void released_trials_are_loaded_by_one_read(void **state)
{
    const struct timespec some_ticks = {.tv_nsec = 200000000};
    study_fixture *f = *state;
    count_reads(f->app.store);
    study_fixture_create(f,
                         "{'id':'s','metric':{'name':'y','goal':'maximize'},'algorithm':{'name':'uniform'},"
                         "'seed':3,'domain':{'type':'candidates','points':[[0],[1],[2],[3]]}}");
    ask_for_all(f, false);
    for (int i = 0; i < 100 && atomic_load(&reads) == 0; i++) {
        release_all(f);
        nanosleep(&some_ticks, NULL); /* it leaves memory, as no trial is pending */
        ask_for_all(f, true);
    }
    assert_int_equal(atomic_load(&reads), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        released_trials_are_loaded_by_one_read, study_fixture_setup_evicting, study_fixture_teardown)};
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
