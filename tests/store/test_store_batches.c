/* Batches in every backend of the store: their picks, the sums of their arms, the engine behind them. */
#include "tests/support/store_suite.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_last_engine_state_is_kept(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    store_engine_state engine;
    assert_int_equal(store_read_engine_state(s, study, &engine, NULL), STORE_NOT_FOUND);
    const store_pick pick = {3, 0.5};
    const uint32_t one[] = {8, 3, 4000000000u}, two[] = {1};
    const store_arm_sum first[] = {{5, 2, 0.1}, {2, 1, -0.0}},
                        second[] = {{5, 3, 0.30000000000000004}, {4, 1, 1e-310}};
    const unsigned char bytes[] = {0, 255, 16};
    store_event events[] = {suite_planned(0, 1, &pick, 1), suite_planned(1, 2, &pick, 1)};
    events[0].u.planned.dictionary = one;
    events[0].u.planned.batch.dictionary_size = 3;
    events[0].u.planned.sums = first;
    events[0].u.planned.n_sums = 2;
    events[1].u.planned.dictionary = two;
    events[1].u.planned.batch.dictionary_size = 1;
    events[1].u.planned.sums = second;
    events[1].u.planned.n_sums = 2;
    events[1].u.planned.engine_state = bytes;
    events[1].u.planned.n_engine_state = 3;
    events[1].u.planned.through_seq = 2;
    assert_int_equal(store_fixture_write(lane, &events[0], 1, NULL), STORE_OK);
    assert_int_equal(store_read_engine_state(s, study, &engine, NULL), STORE_OK);
    assert_int_equal(engine.n_dictionary, 3);
    assert_memory_equal(engine.dictionary, one, sizeof one);
    assert_int_equal(engine.n_state, 0);
    store_engine_state_clear(&engine);
    assert_int_equal(store_fixture_write(lane, &events[1], 1, NULL), STORE_OK);
    assert_int_equal(store_read_engine_state(s, study, &engine, NULL), STORE_OK);
    assert_int_equal(engine.batch, 1);
    assert_int_equal(engine.through_seq, 2);
    assert_int_equal(suite_study_of(s, "x").through_seq, 2);
    assert_string_equal(engine.code_path, "x");
    assert_int_equal(engine.n_dictionary, 1);
    assert_int_equal(engine.n_state, 3);
    assert_memory_equal(engine.state, bytes, 3);
    assert_int_equal(engine.n_sums, 3);
    const store_arm_sum want[] = {{2, 1, -0.0}, {4, 1, 1e-310}, {5, 3, 0.30000000000000004}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine.sums[i].arm, want[i].arm);
        assert_int_equal(engine.sums[i].count, want[i].count);
        assert_memory_equal(&engine.sums[i].sum, &want[i].sum, sizeof(double));
    }
    store_engine_state_clear(&engine);
    store_lane_close(lane);
}

static void append_trial(void *arg, const store_trial *trial)
{
    store_trial **end = arg;
    *(*end)++ = *trial;
}

/* Of every size, since rows are written several at once. */
static void batches_of_all_sizes_are_kept(void **state)
{
    enum { MOST = 19, ALL = MOST * (MOST + 1) / 2 };
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    store_pick picks[ALL];
    store_arm_sum sums[MOST];
    size_t n = 0;
    for (size_t size = 1; size <= MOST; size++) {
        for (size_t i = 0; i < size; i++) {
            picks[n + i] =
                (store_pick){(uint32_t)(1000 * size + i), i % 3 ? 1.0 / (double)(n + i) : (double)NAN};
            sums[i] =
                (store_arm_sum){(uint32_t)(MOST - size + i), size + i, i % 2 ? 0.1 * (double)size : -0.0};
        }
        store_event event = suite_planned((int64_t)size - 1, (int64_t)n + 1, picks + n, size);
        event.u.planned.sums = sums;
        event.u.planned.n_sums = size;
        assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
        n += size;
    }
    store_trial rows[ALL], *end = rows;
    assert_int_equal(store_read_trials(s, study, &(store_trial_filter){0}, ALL + 1, append_trial, &end, NULL),
                     STORE_OK);
    assert_int_equal(end - rows, ALL);
    for (size_t i = 0, batch = 1; i < ALL; i++) {
        batch += i == batch * (batch + 1) / 2;
        assert_int_equal(rows[i].trial, i + 1);
        assert_int_equal(rows[i].batch, batch - 1);
        assert_int_equal(rows[i].candidate, picks[i].candidate);
        assert_true(rows[i].variance == picks[i].variance ||
                    (isnan(rows[i].variance) && isnan(picks[i].variance)));
    }
    store_engine_state engine; /* the last batch had the sums of all arms that there are any of */
    assert_int_equal(store_read_engine_state(s, study, &engine, NULL), STORE_OK);
    assert_int_equal(engine.n_sums, MOST);
    for (size_t i = 0; i < MOST; i++) {
        assert_int_equal(engine.sums[i].arm, sums[i].arm);
        assert_int_equal(engine.sums[i].count, sums[i].count);
        assert_memory_equal(&engine.sums[i].sum, &sums[i].sum, sizeof(double));
    }
    store_engine_state_clear(&engine);
    store_lane_close(lane);
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(the_last_engine_state_is_kept),
        SUITE_TEST(batches_of_all_sizes_are_kept),
    };
    return suite_run("store_batches", tests, sizeof tests / sizeof *tests);
}
