/* Writes of every backend: order, failures, owners, answers. */
#include "tests/support/store_suite.h"

#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void a_failed_write_leaves_nothing_and_ends_its_lane(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *bad = suite_create(s, "bad", &study);
    store_lane *good = suite_create(s, "good", NULL);
    const store_pick picks[] = {{1, 0.5}, {2, 0.5}};
    store_event first = suite_planned(0, 1, picks, 2);
    assert_int_equal(store_fixture_write(bad, &first, 1, NULL), STORE_OK);
    char *before = store_fixture_dump(s, "bad", true);
    /* Many at once, so that good and bad ones share groups. */
    store_event fails[] = {suite_issued(1, 1, "w", 1), suite_issued(2, 1, "w", 2),
                           suite_told(1, 1, 3.0, true), suite_issued(9, 1, "w", 2)};
    store_waiter bad_ones = STORE_WAITER_INIT, after = STORE_WAITER_INIT, good_ones = STORE_WAITER_INIT;
    store_event change = {.type = EVENT_STUDY_CHANGED, .time = 4000};
    change.u.changed.state = STUDY_PAUSED;
    for (int i = 0; i < 20; i++)
        store_fixture_submit(good, &change, 1, &good_ones);
    store_fixture_submit(bad, fails, 4, &bad_ones);
    store_fixture_submit(bad, fails, 1, &after);
    store_fixture_submit(bad, NULL, 0, &after);
    for (int i = 0; i < 20; i++)
        store_fixture_submit(good, &change, 1, &good_ones);
    store_waiter_wait(&good_ones, 40);
    assert_int_equal(bad_ones.last_status, STORE_NOT_FOUND);
    assert_int_equal(after.n, 2);
    assert_int_equal(after.first_failure, STORE_ABORTED);
    assert_int_equal(after.last_status, STORE_ABORTED);
    assert_int_equal(good_ones.first_failure, STORE_OK);
    assert_int_equal(suite_study_of(s, "good").last_seq, 41);
    char *unchanged = store_fixture_dump(s, "bad", true);
    assert_string_equal(before, unchanged);
    free(before);
    free(unchanged);
    /* A new lane goes on where the study stands. */
    store_lane_close(bad);
    bad = store_fixture_lane(s, "bad", NULL);
    assert_int_equal(store_fixture_write(bad, fails, 3, NULL), STORE_OK);
    store_lane_close(bad);
    store_lane_close(good);
}

static void wait_for_post(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    (void)status;
    (void)study;
    (void)last_seq;
    sem_wait(arg);
}

/* PostgreSQL finds only at the commit that an id is taken. */
static void a_taken_id_fails_its_own_write_alone(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_statistics before, after;
    sem_t go;
    sem_init(&go, 0, 0);
    store_lane *good = suite_create(s, "good", NULL), *first, *second;
    store_waiter changed = STORE_WAITER_INIT, one = STORE_WAITER_INIT, two = STORE_WAITER_INIT;
    store_event change = {.type = EVENT_STUDY_CHANGED, .time = 4000};
    store_event made = store_fixture_created("new", 4000);
    store_write *nothing;
    assert_int_equal(store_lane_open(&first, s, 0, 0, 0), STORE_OK);
    assert_int_equal(store_lane_open(&second, s, 0, 0, 0), STORE_OK);
    /* The writer thread stands still until all are waiting: so they are one group. */
    assert_int_equal(store_write_new(&nothing, good), STORE_OK);
    store_read_statistics(s, &before);
    store_submit(nothing, wait_for_post, &go);
    store_fixture_submit(good, &change, 1, &changed);
    store_fixture_submit(first, &made, 1, &one);
    store_fixture_submit(second, &made, 1, &two);
    store_fixture_submit(good, &change, 1, &changed);
    sem_post(&go);
    store_waiter_wait(&changed, 2);
    assert_int_equal(changed.first_failure, STORE_OK);
    assert_int_equal(one.first_failure, STORE_OK);
    assert_int_equal(two.first_failure, STORE_EXISTS);
    assert_int_equal(suite_study_of(s, "good").last_seq, 3);
    assert_int_equal(suite_study_of(s, "new").last_seq, 1);
    store_read_statistics(s, &after);
    assert_int_equal(after.writes, before.writes + 4);
    /* The study that was made goes on. */
    assert_int_equal(store_fixture_write(first, &change, 1, NULL), STORE_OK);
    store_lane_close(good);
    store_lane_close(first);
    store_lane_close(second);
    sem_destroy(&go);
}

static void events_that_do_not_fit_are_refused(void **state)
{
    store *s = ((suite_state *)*state)->s;
    const store_pick picks[] = {{1, 0.5}, {2, 0.5}};
    store_event first[] = {suite_planned(0, 1, picks, 2), suite_issued(1, 1, "w", 1)};
    store_lane *lane = suite_create(s, "x", NULL);
    assert_int_equal(store_fixture_write(lane, first, 2, NULL), STORE_OK);
    store_lane_close(lane);
    store_event candidates = {.type = EVENT_CANDIDATES_SET};
    candidates.u.candidates.content = 999;
    store_event extended = {.type = EVENT_BATCH_EXTENDED};
    extended.u.extended.batch = 1;
    extended.u.extended.first_trial = 3;
    store_event renewed = {.type = EVENT_TRIAL_RENEWED};
    renewed.u.renewed.trial = 2;
    const store_event wrong[] = {
        suite_issued(1, 2, "w", 5),         /* pending already */
        suite_issued(3, 1, "w", 5),         /* no such trial */
        suite_requeued(2, "expired", true), /* not pending */
        renewed,                            /* not pending */
        suite_told(3, 1, 1.0, true),        /* no such trial */
        suite_planned(0, 3, picks, 1),      /* batch 1 is next */
        suite_planned(1, 2, picks, 1),      /* trial 3 is next */
        extended,                           /* no such batch */
        candidates,                         /* no such upload */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lane = store_fixture_lane(s, "x", NULL);
        assert_int_equal(store_fixture_write(lane, &wrong[i], 1, NULL), STORE_NOT_FOUND);
        store_lane_close(lane);
    }
    assert_int_equal(suite_study_of(s, "x").last_seq, 3);
}

static void an_owner_that_was_overtaken_is_refused(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_lane_close(suite_create(s, "x", NULL));
    store_event change = {.type = EVENT_STUDY_CHANGED, .time = 4000};
    store_lane *one = store_fixture_lane(s, "x", NULL), *two = store_fixture_lane(s, "x", NULL), *other;
    assert_int_equal(store_fixture_write(one, &change, 1, NULL), STORE_OK);
    assert_int_equal(store_fixture_write(two, &change, 1, NULL), STORE_SUPERSEDED);
    assert_int_equal(store_fixture_write(one, &change, 1, NULL), STORE_OK);
    store_study row = suite_study_of(s, "x");
    assert_int_equal(store_lane_open(&other, s, row.study, row.epoch + 1, row.last_seq), STORE_OK);
    assert_int_equal(store_fixture_write(other, &change, 1, NULL), STORE_SUPERSEDED);
    store_lane_close(one);
    store_lane_close(two);
    store_lane_close(other);
}

typedef struct order {
    size_t next;
    bool broken;
} order;

typedef struct place {
    order *line;
    size_t number;
} place;

static void take_place(void *arg, store_status status, int64_t study, int64_t last_seq)
{
    place *p = arg;
    (void)study;
    (void)last_seq;
    p->line->broken |= status || p->line->next != p->number;
    p->line->next++;
}

static void done_comes_in_the_order_of_submission(void **state)
{
    enum { N = 500, LANES = 5 };
    suite_state *f = *state;
    store_lane *lanes[LANES];
    order line = {0};
    static place places[N];
    store_event change = {.type = EVENT_STUDY_CHANGED, .time = 4000};
    for (int i = 0; i < LANES; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        lanes[i] = suite_create(f->s, id, NULL);
    }
    for (size_t i = 0; i < N; i++) {
        store_write *write;
        places[i] = (place){&line, i};
        assert_int_equal(store_write_new(&write, lanes[i % LANES]), STORE_OK);
        if (i % 3)
            assert_int_equal(store_write_add(write, &change), STORE_OK);
        store_submit(write, take_place, &places[i]);
    }
    /* Closing finishes what is queued. */
    store_close(f->s);
    assert_false(line.broken);
    assert_int_equal(line.next, N);
    for (int i = 0; i < LANES; i++)
        store_lane_close(lanes[i]);
    assert_int_equal(suite_open(f, NULL), STORE_OK);
}

static void an_upload_without_all_its_blocks_is_refused(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_waiter waiter = STORE_WAITER_INIT;
    double rows[4] = {1, 2, 3, 4};
    int64_t content;
    store_upload_begin(s, &content, NULL);
    store_upload_append(s, content, 0, 2, 2, rows, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_OK);
    store_upload_append(s, content, 3, 1, 2, rows, store_waiter_done, &waiter); /* row 2 is missing */
    store_waiter_wait(&waiter, 2);
    assert_int_equal(waiter.last_status, STORE_ABORTED);
    store_lane *lane = suite_create(s, "x", NULL);
    store_event event = {.type = EVENT_CANDIDATES_SET, .time = 1};
    event.u.candidates.content = content;
    event.u.candidates.count = 4;
    event.u.candidates.dimension = 2;
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);
    store_upload_abandon(s, content);
    store_upload_append(s, content, 2, 1, 2, rows, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 3);
    assert_int_equal(waiter.last_status, STORE_ABORTED);
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK);
}

static store_waiter probes_done = STORE_WAITER_INIT;

static void count_probe(store_probe *probe, const store_error *outcome)
{
    (void)probe;
    store_waiter_done(&probes_done, outcome->status, 0, 0);
}

/* Keeps the writer thread from its next work, as a slow disk does. */
typedef struct hold {
    sem_t reached, released;
} hold;

static void hold_writer(void *arg, const store_commit *commit)
{
    hold *h = arg;
    (void)commit;
    sem_post(&h->reached);
    sem_wait(&h->released);
}

/* However many ask, the disk writes once. */
static void probes_share_a_write(void **state)
{
    enum { PROBES = 1000 };
    static store_probe probes[PROBES];
    store *s = ((suite_state *)*state)->s;
    store_statistics before, after;
    store_waiter written = STORE_WAITER_INIT;
    hold slow;
    size_t n = probes_done.n;
    store_lane *lane = suite_create(s, "x", NULL);
    store_event event = suite_issued(1, 1, "", 1);
    sem_init(&slow.reached, 0, 0);
    sem_init(&slow.released, 0, 0);
    store_observe(s, hold_writer, &slow);
    store_fixture_submit(lane, &event, 1, &written); /* fails, and holds the writer */
    sem_wait(&slow.reached);
    store_read_statistics(s, &before);
    for (size_t i = 0; i < PROBES; i++) {
        probes[i] = (store_probe){.done = count_probe};
        store_probe_start(s, &probes[i]);
    }
    sem_post(&slow.released);
    sem_post(&slow.released); /* for the write of the probes */
    store_waiter_wait(&probes_done, n + PROBES);
    assert_int_equal(probes_done.first_failure, STORE_OK);
    store_waiter_wait(&written, 1);
    store_read_statistics(s, &after);
    assert_int_equal(after.commits, before.commits + 1); /* one for all probes */
    assert_true(store_is_proved(s)); /* for a second, the next ones need no write at all */
    store_observe(s, NULL, NULL);
    store_lane_close(lane);
}

static void statistics_and_probe(void **state)
{
    store *s = ((suite_state *)*state)->s;
    store_statistics before, after;
    store_read_statistics(s, &before);
    store_lane *lane = suite_create(s, "x", NULL);
    store_read_statistics(s, &after);
    assert_int_equal(after.writes, before.writes + 1);
    assert_true(after.commits > before.commits);
    assert_int_equal(after.queued_writes, 0);
    assert_int_equal(after.last_failure.status, STORE_OK);
    store_event event = suite_issued(1, 1, "", 1);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_NOT_FOUND);
    store_read_statistics(s, &after);
    assert_int_equal(after.last_failure.status, STORE_NOT_FOUND);
    assert_false(store_is_proved(s)); /* what failed may concern the disk: the next probe finds out */
    assert_int_equal(store_fixture_probe(s, NULL), STORE_OK);
    assert_true(store_is_proved(s));
    store_lane_close(lane);
}

static void take_answer(void *arg, const store_answer *answer)
{
    snprintf(arg, 64, "%.*s/%d", (int)answer->n_response, (const char *)answer->response,
             answer->body_hash[31]);
}

static void expect_answer(store *s, const char *key, int64_t now, const char *want)
{
    char seen[64] = "none";
    store_status status = store_read_answer(s, "token", "/v1/x", key, now, take_answer, seen, NULL);
    assert_int_equal(status, strcmp(want, "none") == 0 ? STORE_NOT_FOUND : STORE_OK);
    assert_string_equal(seen, want);
}

static store_status write_answer(store_lane *lane, const store_event *event, const char *key, int64_t time,
                                 const char *response)
{
    store_answer answer = {.token = "token", .path = "/v1/x", .key = key, .time = time};
    store_waiter waiter = STORE_WAITER_INIT;
    store_write *write;
    answer.body_hash[31] = 7;
    answer.response = (const unsigned char *)response;
    answer.n_response = strlen(response);
    assert_int_equal(store_write_new(&write, lane), STORE_OK);
    if (event)
        assert_int_equal(store_write_add(write, event), STORE_OK);
    assert_int_equal(store_write_set_answer(write, &answer), STORE_OK);
    store_submit(write, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    return waiter.last_status;
}

static void an_answer_is_kept_for_a_day(void **state)
{
    enum { DAY = 24 * 3600 * 1000 };
    store *s = ((suite_state *)*state)->s;
    store_lane *lane = suite_create(s, "x", NULL);
    store_event change = {.type = EVENT_STUDY_CHANGED, .time = 10};
    assert_int_equal(write_answer(lane, &change, "k1", 1000, "one"), STORE_OK);
    assert_int_equal(write_answer(lane, NULL, "k2", 2000, ""), STORE_OK); /* without events */
    expect_answer(s, "k1", 1000 + DAY - 1, "one/7");
    expect_answer(s, "k1", 1000 + DAY, "none");
    expect_answer(s, "k2", 3000, "/7");
    expect_answer(s, "k3", 3000, "none");
    char none[64];
    assert_int_equal(store_read_answer(s, "other", "/v1/x", "k1", 1, take_answer, none, NULL),
                     STORE_NOT_FOUND);
    assert_int_equal(store_read_answer(s, "token", "/v1", "k1", 1, take_answer, none, NULL), STORE_NOT_FOUND);
    /* The same request twice at once: the second does nothing. */
    int64_t last_seq = suite_study_of(s, "x").last_seq;
    assert_int_equal(write_answer(lane, &change, "k1", 2000, "two"), STORE_EXISTS);
    assert_int_equal(suite_study_of(s, "x").last_seq, last_seq);
    expect_answer(s, "k1", 3000, "one/7");
    store_lane_close(lane);
    lane = store_fixture_lane(s, "x", NULL);
    assert_int_equal(write_answer(lane, &change, "k1", 1000 + DAY, "two"), STORE_OK);
    expect_answer(s, "k1", 1000 + DAY, "two/7");
    store_lane_close(lane);
}

static void backends_agree(void **state)
{
    suite_state *f = *state;
    store *memory;
    assert_int_equal(store_open_memory(&memory, NULL), STORE_OK);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        char id[32];
        snprintf(id, sizeof id, "h%llu", (unsigned long long)seed);
        store_fixture_history(f->s, id, seed, 1500);
        store_fixture_history(memory, id, seed, 1500);
        char *here = store_fixture_dump(f->s, id, true), *there = store_fixture_dump(memory, id, true);
        /* Contents are numbered alike: both stores begin with one upload. */
        assert_string_equal(here, there);
        free(here);
        free(there);
    }
    store_close(memory);
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(a_failed_write_leaves_nothing_and_ends_its_lane),
        SUITE_TEST(a_taken_id_fails_its_own_write_alone),
        SUITE_TEST(events_that_do_not_fit_are_refused),
        SUITE_TEST(an_owner_that_was_overtaken_is_refused),
        SUITE_TEST(done_comes_in_the_order_of_submission),
        SUITE_TEST(an_upload_without_all_its_blocks_is_refused),
        SUITE_TEST(statistics_and_probe),
        SUITE_TEST(probes_share_a_write),
        SUITE_TEST(an_answer_is_kept_for_a_day),
        SUITE_TEST(backends_agree),
    };
    return suite_run("store_writes", tests, sizeof tests / sizeof *tests);
}
