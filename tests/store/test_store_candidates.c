/* Candidates in every backend of the store: uploaded, added, retired. */
#include "tests/support/store_suite.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void candidates_are_read_back(void **state)
{
    enum { COUNT = 1000, D = 5 };
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    double *rows = calloc(COUNT * D, sizeof *rows), one[D];
    store_event event = {.type = EVENT_CANDIDATES_SET, .time = 1};
    event.u.candidates.count = COUNT;
    event.u.candidates.dimension = D;
    assert_int_equal(store_read_candidates(s, study, 0, 1, D, one, NULL), STORE_NOT_FOUND);
    for (int64_t block = 1; block <= COUNT; block = block * 3 + 1) {
        event.u.candidates.content = store_fixture_upload(s, COUNT, D, block);
        assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
        assert_int_equal(store_read_candidates(s, study, 0, COUNT, D, rows, NULL), STORE_OK);
        for (int i = 0; i < COUNT * D; i++)
            assert_true(rows[i] == (double)(i / D) + (double)(i % D) / 1024.0);
        assert_int_equal(store_read_candidates(s, study, 333, 1, D, one, NULL), STORE_OK);
        assert_true(one[0] == 333.0 && one[D - 1] == 333.0 + (D - 1) / 1024.0);
        assert_int_equal(store_read_candidates(s, study, 500, 100, D, rows, NULL), STORE_OK);
        assert_true(rows[99 * D] == 599.0);
    }
    assert_int_equal(store_read_candidates(s, study, COUNT - 1, 1, D, one, NULL), STORE_OK);
    assert_int_equal(store_read_candidates(s, study, COUNT, 1, D, one, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_candidates(s, study, COUNT - 1, 2, D, rows, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_candidates(s, study, COUNT, 0, D, rows, NULL), STORE_OK);
    assert_int_equal(store_read_candidates(s, study, 0, 1, D - 1, one, NULL), STORE_CORRUPT);
    assert_int_equal(store_read_candidates(s, study, 0, 1, D + 1, one, NULL), STORE_CORRUPT);
    free(rows);
    store_lane_close(lane);
}

static void take_retired(void *arg, uint32_t candidate)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%u ", candidate);
}

static void candidates_are_added_and_retired(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    const double rows[] = {1.0, NAN, -0.0, 4.0, 5.0, 6.0};
    const uint32_t retired[] = {2, 0};
    store_event events[] = {{.type = EVENT_CANDIDATES_ADDED, .time = 2000},
                            {.type = EVENT_CANDIDATES_ADDED, .time = 2000},
                            {.type = EVENT_CANDIDATES_RETIRED, .time = 2000}};
    events[0].u.added.points.dimension = events[1].u.added.points.dimension = 2;
    events[0].u.added.points.n = 1;
    events[0].u.added.points.rows = rows;
    events[1].u.added.first = 1;
    events[1].u.added.points.n = 2;
    events[1].u.added.points.rows = rows + 2;
    events[2].u.retired.list = retired;
    events[2].u.retired.n = 2;
    assert_int_equal(store_fixture_write(lane, events, 3, NULL), STORE_OK);
    /* What has no place among them is refused, and leaves nothing behind. */
    events[1].u.added.first = 2;
    assert_int_equal(store_fixture_write(lane, events, 2, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);

    double read[6];
    suite_ids list = {0};
    store_study row = suite_study_of(s, "x");
    assert_int_equal(row.candidates, 3);
    assert_int_equal(row.dimension, 2);
    assert_int_equal(row.reference_candidates, 0);
    assert_int_equal(store_read_candidates(s, study, 0, 3, 2, read, NULL), STORE_OK);
    for (size_t i = 0; i < 6; i++)
        assert_true(isnan(rows[i]) ? isnan(read[i]) : read[i] == rows[i]);
    assert_int_equal(store_read_retired(s, study, take_retired, &list, NULL), STORE_OK);
    assert_string_equal(list.text, "0 2 ");
}

static void take_key(void *arg, const store_key *key)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld=%s ", (long long)key->candidate, key->key);
}

static store_event keyed(int64_t first, const char *const *keys, size_t n)
{
    store_event event = {.type = EVENT_CANDIDATES_KEYED, .time = 2000};
    event.u.keyed.first = first;
    event.u.keyed.keys = keys;
    event.u.keyed.n = n;
    return event;
}

static void candidates_have_keys(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study, found;
    store_lane *lane = suite_create(s, "x", &study);
    const double rows[] = {1, 2, 3, 4};
    const char *const first[] = {"CCO", "", "CC"}, *const more[] = {"N"}, *const others[] = {"", "O"};
    const int64_t some[] = {2, 1, 0, 2};
    store_event added = {.type = EVENT_CANDIDATES_ADDED, .time = 2000};
    added.u.added.points = (store_points){.n = 4, .dimension = 1, .rows = rows};
    assert_int_equal(store_fixture_write(lane, &added, 1, NULL), STORE_OK);
    assert_false(suite_study_of(s, "x").has_keys);
    store_event events[] = {keyed(0, first, 3), keyed(3, more, 1)};
    assert_int_equal(store_fixture_write(lane, events, 2, NULL), STORE_OK);
    suite_ids list = {0}, at = {0}, from = {0}, after = {0};
    assert_int_equal(store_read_keys(s, study, 0, 10, take_key, &list, NULL), STORE_OK);
    assert_string_equal(list.text, "0=CCO 2=CC 3=N ");
    assert_int_equal(store_read_keys(s, study, 1, 1, take_key, &from, NULL), STORE_OK);
    assert_string_equal(from.text, "2=CC ");
    assert_int_equal(store_read_keys_at(s, study, some, 4, take_key, &at, NULL), STORE_OK);
    assert_string_equal(at.text, "2=CC 0=CCO 2=CC ");
    assert_int_equal(store_find_key(s, study, "N", &found, NULL), STORE_OK);
    assert_int_equal(found, 3);
    assert_int_equal(store_find_key(s, study, "", &found, NULL), STORE_OK);
    assert_int_equal(found, -1);
    assert_true(suite_study_of(s, "x").has_keys);
    /* Keys from the first candidate on replace all earlier ones; more keys than candidates are refused. */
    events[0] = keyed(0, others, 2);
    assert_int_equal(store_fixture_write(lane, events, 1, NULL), STORE_OK);
    assert_int_equal(store_read_keys(s, study, 0, 10, take_key, &after, NULL), STORE_OK);
    assert_string_equal(after.text, "1=O ");
    events[0] = keyed(3, others, 2);
    assert_int_equal(store_fixture_write(lane, events, 1, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);
}

static void candidates_are_read_in_any_order(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_fixture_history(s, "x", 5, 20);
    int64_t study;
    store_lane_close(store_fixture_lane(s, "x", &study));
    const int64_t indices[] = {49, 0, 7, 7, 3};
    double rows[5][3], one[3];
    assert_int_equal(store_read_candidates_at(s, study, indices, 5, 3, &rows[0][0], NULL), STORE_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(store_read_candidates(s, study, indices[i], 1, 3, one, NULL), STORE_OK);
        assert_memory_equal(one, rows[i], sizeof one);
    }
    const int64_t wrong[] = {0, 1 << 20};
    for (size_t other = 0; other <= 6; other += 2)
        assert_int_equal(store_read_candidates_at(s, study, indices, 1, other, one, NULL), STORE_CORRUPT);
    assert_int_equal(store_read_candidates_at(s, study, wrong, 2, 3, &rows[0][0], NULL), STORE_CORRUPT);
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(candidates_are_read_back),
        SUITE_TEST(candidates_are_added_and_retired),
        SUITE_TEST(candidates_have_keys),
        SUITE_TEST(candidates_are_read_in_any_order),
    };
    return suite_run("store_candidates", tests, sizeof tests / sizeof *tests);
}
