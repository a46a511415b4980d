/* What every backend of the store says of studies: lists, ids, numbers, deletions. */
#include "tests/support/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void make_described(store *s, const char *id, const char *definition, study_state state)
{
    store_lane *lane = suite_create(s, id, NULL);
    store_event changed = {.type = EVENT_STUDY_CHANGED, .time = 2000};
    changed.u.changed.definition = definition;
    changed.u.changed.state = state;
    changed.u.changed.reason = "";
    assert_int_equal(store_fixture_write(lane, &changed, 1, NULL), STORE_OK);
    store_lane_close(lane);
}

static void expect_listed(store *s, const store_study_filter *filter, size_t limit, const char *want)
{
    suite_ids list = {0};
    assert_int_equal(store_read_studies(s, filter, limit, suite_take_id, &list, NULL), STORE_OK);
    assert_string_equal(list.text, want);
}

static void studies_are_listed_by_state_and_label(void **state)
{
    store *s = ((suite_state *)*state)->s;
    static const char ours[] = "{\"id\":\"x\",\"labels\":{\"team\":\"a\",\"the \\\"k.e$y\\u00e9\":\"\"}}";
    static const char theirs[] = "{\"labels\":{\"team\":\"b\"},\"metadata\":{\"labels\":{\"team\":\"a\"}}}";
    make_described(s, "e", ours, STUDY_PAUSED);
    make_described(s, "a", theirs, STUDY_PAUSED);
    make_described(s, "d", ours, STUDY_ACTIVE);
    make_described(s, "b", ours, STUDY_PAUSED);
    make_described(s, "c", "{\"labels\":{\"team\":1}}", STUDY_PAUSED);
    make_described(s, "f", "no JSON", STUDY_PAUSED);
    store_study_filter paused = {.by_state = true, .state = STUDY_PAUSED};
    store_study_filter of_a = {.label = "team", .label_value = "a"}, both = paused;
    both.label = of_a.label;
    both.label_value = of_a.label_value;
    expect_listed(s, &paused, 9, "a b c e f ");
    expect_listed(s, &of_a, 9, "b d e ");
    expect_listed(s, &of_a, 2, "b d ");
    expect_listed(s, &both, 9, "b e ");
    both.after = "b";
    expect_listed(s, &both, 9, "e ");
    paused.after = "b";
    expect_listed(s, &paused, 2, "c e ");
    expect_listed(s, &(store_study_filter){.label = "team", .label_value = "1"}, 9, "");
    expect_listed(s, &(store_study_filter){.label = "the \"k.e$y\u00e9", .label_value = ""}, 9, "b d e ");
    expect_listed(s, &(store_study_filter){.by_state = true, .state = STUDY_ERROR}, 9, "");
    both.after = NULL;
    both.id = "b";
    expect_listed(s, &both, 9, "b ");
    both.id = "d"; /* is active */
    expect_listed(s, &both, 9, "");
    expect_listed(s, &(store_study_filter){.id = "c"}, 9, "c ");
    expect_listed(s, &(store_study_filter){.id = "c", .after = "c"}, 9, "");
    expect_listed(s, &(store_study_filter){.id = "c", .label = "team", .label_value = "a"}, 9, "");
}

static void studies_are_listed_by_id_and_paged(void **state)
{
    store *s = ((suite_state *)*state)->s;
    static const char *const names[] = {"b", "a", "d", "c", "a.b", "a-b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        store_lane_close(suite_create(s, names[i], NULL));
    suite_ids all = {0}, page = {0}, end = {0};
    assert_int_equal(store_read_studies(s, &(store_study_filter){0}, 100, suite_take_id, &all, NULL),
                     STORE_OK);
    assert_string_equal(all.text, "a a-b a.b b c d ");
    assert_int_equal(
        store_read_studies(s, &(store_study_filter){.after = "a.b"}, 2, suite_take_id, &page, NULL),
        STORE_OK);
    assert_string_equal(page.text, "b c ");
    assert_int_equal(store_read_studies(s, &(store_study_filter){.after = "d"}, 2, suite_take_id, &end, NULL),
                     STORE_OK);
    assert_string_equal(end.text, "");
}

static void an_id_belongs_to_one_study(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_lane_close(suite_create(s, "x", NULL));
    store_lane *lane;
    store_event again = store_fixture_created("x", 2000);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(store_fixture_write(lane, &again, 1, NULL), STORE_EXISTS);
    assert_int_equal(suite_study_of(s, "x").created_at, 1000);
    store_error err = {0};
    store_study none;
    assert_int_equal(store_read_study(s, "y", suite_take_study, &none, &err), STORE_NOT_FOUND);
    assert_int_equal(err.status, STORE_NOT_FOUND);
    assert_non_null(strstr(err.message, "'y'"));
    store_lane_close(lane);
}

static void add_study(void *arg, const store_study *study)
{
    store_totals *sum = arg;
    sum->studies[study->state]++;
    for (int state = 0; state < TRIAL_STATES; state++)
        sum->trials[state] += study->by_state[state];
}

static void expect_studies(store *s, size_t want)
{
    size_t n = 99;
    store_totals totals, sum = {0};
    assert_int_equal(store_count_studies(s, &n, NULL), STORE_OK);
    assert_int_equal(n, want);
    assert_int_equal(store_read_studies(s, &(store_study_filter){0}, SIZE_MAX, add_study, &sum, NULL),
                     STORE_OK);
    assert_int_equal(store_read_totals(s, &totals, NULL), STORE_OK);
    assert_memory_equal(&totals, &sum, sizeof totals);
}

static void a_deleted_study_is_gone_and_its_id_free(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_fixture_history(s, "x", 1, 300);
    int64_t old, new;
    store_lane *lane = store_fixture_lane(s, "x", &old);
    store_waiter waiter = STORE_WAITER_INIT;
    expect_studies(s, 1);
    store_submit_delete(lane, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_OK);
    expect_studies(s, 0);
    store_study study;
    store_trial trial;
    store_trial_filter all = {0};
    store_engine_state engine;
    double row[3];
    assert_int_equal(store_read_study(s, "x", suite_take_study, &study, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_trials(s, old, &all, 10, suite_take_trial, &trial, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_trial(s, old, 1, suite_take_trial, &trial, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_candidates(s, old, 0, 1, 3, row, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_engine_state(s, old, &engine, NULL), STORE_NOT_FOUND);
    store_event event = suite_issued(1, 1, "", 1);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);
    lane = suite_create(s, "x", &new);
    assert_int_not_equal(old, new);
    expect_studies(s, 1);
    assert_int_equal(suite_study_of(s, "x").trials, 0);
    store_lane_close(lane);
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(studies_are_listed_by_id_and_paged),
        SUITE_TEST(studies_are_listed_by_state_and_label),
        SUITE_TEST(an_id_belongs_to_one_study),
        SUITE_TEST(a_deleted_study_is_gone_and_its_id_free),
    };
    return suite_run("store_studies", tests, sizeof tests / sizeof *tests);
}
