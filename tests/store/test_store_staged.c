/* Studies from elsewhere, in every backend: made unseen, then published; and how many there may be. */
#include "tests/support/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void take_seen(void *arg, const store_study *study)
{
    *(int64_t *)arg = study->last_seq;
}

static bool is_seen(store *s, const char *id)
{
    int64_t last_seq = 0;
    return store_read_study(s, id, take_seen, &last_seq, NULL) == STORE_OK;
}

static store_status stage(store_lane *lane, const char *id, int64_t *study)
{
    store_write *write;
    store_waiter waiter = STORE_WAITER_INIT;
    const store_event event = store_fixture_created(id, 1);
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    store_write_stage(write);
    assert_int_equal(store_write_add(write, &event), STORE_OK);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    *study = waiter.study;
    return waiter.last_status;
}

static store_status publish(store_lane *lane, const store_answer *answer)
{
    store_write *write;
    store_waiter waiter = STORE_WAITER_INIT;
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    store_write_publish(write);
    if (answer)
        assert_int_equal(store_write_set_answer(write, answer), STORE_OK);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    return waiter.last_status;
}

static void a_staged_study_is_seen_when_it_is_published(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_lane *lane, *other;
    int64_t study, second, last_seq = 0;
    const store_event change = {.type = EVENT_STUDY_CHANGED, .time = 2};
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(stage(lane, "x", &study), STORE_OK);
    assert_int_equal(store_fixture_write(lane, &change, 1, NULL), STORE_OK);
    assert_false(is_seen(s, "x"));
    assert_int_equal(store_read_studies(s, &(store_study_filter){0}, 9, take_seen, &last_seq, NULL),
                     STORE_OK);
    assert_int_equal(last_seq, 0);
    assert_int_equal(store_read_staged(s, study, take_seen, &last_seq, NULL), STORE_OK);
    assert_int_equal(last_seq, 2);

    /* One of that name is staged as well: the first to be published has it. */
    assert_int_equal(store_lane_open(&other, s, 0, 0, 0), STORE_OK);
    assert_int_equal(stage(other, "x", &second), STORE_OK);
    store_answer answer = {.token = "", .path = "/p", .key = "k", .time = 1000, .n_response = 0};
    assert_int_equal(publish(lane, &answer), STORE_OK);
    assert_true(is_seen(s, "x"));
    assert_int_equal(store_read_staged(s, study, take_seen, &last_seq, NULL), STORE_NOT_FOUND);
    assert_int_equal(publish(other, NULL), STORE_EXISTS);
    assert_int_equal(store_fixture_write(lane, &change, 1, NULL), STORE_OK);
    char *dump = store_fixture_dump(s, "x", true);
    assert_non_null(dump);
    free(dump);
    store_lane_close(lane);
    store_lane_close(other);
}

static void a_staged_study_stays_so_when_its_answer_is_there_already(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_lane *lane, *first = suite_create(s, "first", NULL);
    int64_t study;
    store_write *write;
    store_waiter waiter = STORE_WAITER_INIT;
    const store_answer answer = {.token = "", .path = "/p", .key = "k", .time = 1000, .n_response = 0};
    assert_int_equal(store_write_new(&write, first), STORE_OK);
    assert_int_equal(store_write_set_answer(write, &answer), STORE_OK);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_OK);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(stage(lane, "x", &study), STORE_OK);
    assert_int_equal(publish(lane, &answer), STORE_EXISTS);
    assert_false(is_seen(s, "x"));
    store_submit_delete(lane, store_waiter_done, &waiter); /* its lane has failed */
    store_waiter_wait(&waiter, 2);
    assert_int_equal(waiter.last_status, STORE_ABORTED);
    store_lane_close(lane);
    store_lane_close(first);
}

static store_status create_within(store *s, const char *id, size_t most)
{
    store_lane *lane;
    store_write *write;
    store_waiter waiter = STORE_WAITER_INIT;
    const store_event event = store_fixture_created(id, 1);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    store_write_limit_studies(write, most);
    assert_int_equal(store_write_add(write, &event), STORE_OK);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    store_lane_close(lane);
    return waiter.last_status;
}

static void studies_are_no_more_than_a_write_allows(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_lane *staged, *deleted = suite_create(s, "a", NULL);
    int64_t study;
    store_write *write;
    store_waiter waiter = STORE_WAITER_INIT;
    size_t n = 0;
    assert_int_equal(store_lane_open(&staged, s, 0, 0, 0), STORE_OK);
    assert_int_equal(stage(staged, "staged", &study), STORE_OK); /* does not count yet */
    assert_int_equal(create_within(s, "b", 2), STORE_OK);
    assert_int_equal(create_within(s, "c", 2), STORE_TOO_MANY);
    assert_false(is_seen(s, "c"));
    assert_int_equal(store_write_new(&write, staged), STORE_OK);
    store_write_publish(write);
    store_write_limit_studies(write, 2);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_TOO_MANY);
    assert_false(is_seen(s, "staged"));
    store_submit_delete(deleted, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 2);
    assert_int_equal(create_within(s, "c", 2), STORE_OK);
    assert_int_equal(create_within(s, "d", 0), STORE_OK); /* any number */
    assert_int_equal(store_count_studies(s, &n, NULL), STORE_OK);
    assert_int_equal(n, 3);
    store_lane_close(staged);
    store_lane_close(deleted);
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(a_staged_study_is_seen_when_it_is_published),
        SUITE_TEST(studies_are_no_more_than_a_write_allows),
        SUITE_TEST(a_staged_study_stays_so_when_its_answer_is_there_already),
    };
    return suite_run("store_staged", tests, sizeof tests / sizeof *tests);
}
