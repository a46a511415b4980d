/* What every backend of the store does: each test runs on each. */
#include "tests/support/store_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    bool sqlite;
    store_directory directory;
    store *s;
    char name[96];
} fixture;

static int set_up(void **state)
{
    fixture *f = *state;
    store_error err = {0};
    if (f->sqlite)
        store_fixture_directory(&f->directory);
    store_status status =
        f->sqlite ? store_open_sqlite(&f->s, f->directory.path, &err) : store_open_memory(&f->s, &err);
    if (status)
        print_error("%s\n", err.message);
    return status != STORE_OK;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    store_close(f->s);
    if (f->sqlite)
        store_fixture_remove(&f->directory);
    return 0;
}

static store_lane *create(store *s, const char *id, int64_t *study)
{
    store_lane *lane;
    store_event event = store_fixture_created(id, 1000);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(store_fixture_write(lane, &event, 1, study), STORE_OK);
    return lane;
}

static store_event planned(int64_t batch, int64_t first_trial, const store_pick *picks, size_t n)
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

static store_event issued(int64_t trial, int32_t attempt, const char *worker, int64_t time)
{
    store_event event = {.type = EVENT_TRIAL_ISSUED, .time = time};
    event.u.issued.trial = trial;
    event.u.issued.attempt = attempt;
    event.u.issued.worker = worker;
    event.u.issued.lease_expires_at = time + 100;
    return event;
}

static store_event told(int64_t trial, int32_t attempt, double value, bool better)
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

static store_event requeued(int64_t trial, const char *outcome, bool counts)
{
    store_event event = {.type = EVENT_TRIAL_REQUEUED, .time = 3000};
    event.u.requeued.trial = trial;
    event.u.requeued.outcome = outcome;
    event.u.requeued.attempt_counts = counts;
    return event;
}

/* ---- collecting rows ----------------------------------------------------------------------------------- */

typedef struct ids {
    char text[512];
} ids;

static void take_id(void *arg, const store_study *study)
{
    ids *list = arg;
    strcat(list->text, study->id);
    strcat(list->text, " ");
}

static void take_study(void *arg, const store_study *study)
{
    *(store_study *)arg = *study;
}

static void take_trial(void *arg, const store_trial *trial)
{
    *(store_trial *)arg = *trial;
}

static void take_number(void *arg, const store_trial *trial)
{
    ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld ", (long long)trial->trial);
}

static void take_attempt(void *arg, const store_attempt *attempt)
{
    ids *list = arg;
    sprintf(list->text + strlen(list->text), "%d:%s:%lld ", attempt->attempt, attempt->outcome,
            (long long)attempt->ended_at);
}

static void take_batch(void *arg, const store_batch *batch)
{
    *(store_batch *)arg = *batch;
}

static store_study study_of(store *s, const char *id)
{
    store_study study = {0};
    assert_int_equal(store_read_study(s, id, take_study, &study, NULL), STORE_OK);
    return study;
}

static void expect_trials(store *s, int64_t study, store_trial_filter filter, size_t limit, const char *want)
{
    ids list = {0};
    assert_int_equal(store_read_trials(s, study, &filter, limit, take_number, &list, NULL), STORE_OK);
    assert_string_equal(list.text, want);
}

static void expect_attempts(store *s, int64_t study, int64_t trial, const char *want)
{
    ids list = {0};
    assert_int_equal(store_read_attempts(s, study, trial, take_attempt, &list, NULL), STORE_OK);
    assert_string_equal(list.text, want);
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void studies_are_listed_by_id_and_paged(void **state)
{
    store *s = ((fixture *)*state)->s;
    static const char *const names[] = {"b", "a", "d", "c", "a.b", "a-b"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        store_lane_close(create(s, names[i], NULL));
    ids all = {0}, page = {0}, end = {0};
    assert_int_equal(store_read_studies(s, "", 100, take_id, &all, NULL), STORE_OK);
    assert_string_equal(all.text, "a a-b a.b b c d ");
    assert_int_equal(store_read_studies(s, "a.b", 2, take_id, &page, NULL), STORE_OK);
    assert_string_equal(page.text, "b c ");
    assert_int_equal(store_read_studies(s, "d", 2, take_id, &end, NULL), STORE_OK);
    assert_string_equal(end.text, "");
}

static void an_id_belongs_to_one_study(void **state)
{
    store *s = ((fixture *)*state)->s;
    store_lane_close(create(s, "x", NULL));
    store_lane *lane;
    store_event again = store_fixture_created("x", 2000);
    assert_int_equal(store_lane_open(&lane, s, 0, 0, 0), STORE_OK);
    assert_int_equal(store_fixture_write(lane, &again, 1, NULL), STORE_EXISTS);
    assert_int_equal(study_of(s, "x").created_at, 1000);
    store_error err = {0};
    store_study none;
    assert_int_equal(store_read_study(s, "y", take_study, &none, &err), STORE_NOT_FOUND);
    assert_int_equal(err.status, STORE_NOT_FOUND);
    assert_non_null(strstr(err.message, "'y'"));
    store_lane_close(lane);
}

static void a_deleted_study_is_gone_and_its_id_free(void **state)
{
    store *s = ((fixture *)*state)->s;
    store_fixture_history(s, "x", 1, 300);
    int64_t old, new;
    store_lane *lane = store_fixture_lane(s, "x", &old);
    store_waiter waiter = STORE_WAITER_INIT;
    store_submit_delete(lane, store_waiter_done, &waiter);
    store_waiter_wait(&waiter, 1);
    assert_int_equal(waiter.last_status, STORE_OK);
    store_study study;
    store_trial trial;
    store_trial_filter all = {0};
    store_engine_state engine;
    double row[3];
    assert_int_equal(store_read_study(s, "x", take_study, &study, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_trials(s, old, &all, 10, take_trial, &trial, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_trial(s, old, 1, take_trial, &trial, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_candidates(s, old, 0, 1, row, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_engine_state(s, old, &engine, NULL), STORE_NOT_FOUND);
    store_event event = issued(1, 1, "", 1);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);
    lane = create(s, "x", &new);
    assert_int_not_equal(old, new);
    assert_int_equal(study_of(s, "x").trials, 0);
    store_lane_close(lane);
}

static void events_become_rows(void **state)
{
    store *s = ((fixture *)*state)->s;
    int64_t study;
    store_lane *lane = create(s, "x", &study);
    const store_pick picks[] = {{7, 0.25}, {9, NAN}, {7, 1.0}};
    store_event events[] = {planned(0, 1, picks, 3), issued(1, 1, "w1", 2100), issued(2, 1, "w2", 2200)};
    assert_int_equal(store_lane_next_seq(lane), 2);
    assert_int_equal(store_fixture_write(lane, events, 3, NULL), STORE_OK);
    assert_int_equal(store_lane_next_seq(lane), 5);
    store_study row = study_of(s, "x");
    assert_int_equal(row.trials, 3);
    assert_int_equal(row.by_state[TRIAL_QUEUED], 1);
    assert_int_equal(row.by_state[TRIAL_PENDING], 2);
    assert_int_equal(row.issued, 2);
    assert_int_equal(row.batches, 1);
    assert_int_equal(row.last_seq, 4);
    assert_int_equal(row.updated_at, 2200);
    store_trial trial;
    assert_int_equal(store_read_trial(s, study, 2, take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.candidate, 9);
    assert_true(isnan(trial.variance));
    assert_int_equal(trial.state, TRIAL_PENDING);
    assert_int_equal(trial.lease_expires_at, 2300);
    assert_false(trial.has_value);

    /* Released: the attempt is given back; expired: it counts. */
    store_event more[] = {requeued(1, "released", false), issued(1, 1, "w3", 3100),
                          requeued(1, "expired", true), issued(1, 2, "w4", 3300), told(1, 1, -0.0, true)};
    assert_int_equal(store_fixture_write(lane, more, 5, NULL), STORE_OK);
    expect_attempts(s, study, 1, "1:released:3000 1:completed:5000 2:superseded:5000 ");
    assert_int_equal(store_read_trial(s, study, 1, take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.attempt, 1);
    assert_int_equal(trial.told_seq, 9);
    assert_int_equal(trial.told_at, 5000);
    assert_true(trial.has_value && trial.value == 0.0 && !signbit(trial.value));
    row = study_of(s, "x");
    assert_int_equal(row.issued, 2);
    assert_int_equal(row.observations, 1);
    assert_int_equal(row.best_trial, 1);
    assert_int_equal(row.best_candidate, 7);

    store_event extended = {.type = EVENT_BATCH_EXTENDED, .time = 6000};
    extended.u.extended.batch = 0;
    extended.u.extended.ratio = 0.5;
    extended.u.extended.stop_rule = "horizon";
    extended.u.extended.first_trial = 4;
    extended.u.extended.picks = picks;
    extended.u.extended.n_picks = 2;
    assert_int_equal(store_fixture_write(lane, &extended, 1, NULL), STORE_OK);
    store_batch batch;
    assert_int_equal(store_read_batches(s, study, -1, 10, take_batch, &batch, NULL), STORE_OK);
    assert_int_equal(batch.size, 5);
    assert_true(batch.ratio == 0.5);
    assert_int_equal(study_of(s, "x").trials, 5);
    store_lane_close(lane);
}

static void trials_are_filtered(void **state)
{
    store *s = ((fixture *)*state)->s;
    int64_t study;
    store_lane *lane = create(s, "x", &study);
    const store_pick picks[6] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}};
    store_event events[] = {planned(0, 1, picks, 6), issued(2, 1, "w1", 10), issued(4, 1, "w2", 10),
                            issued(5, 1, "w1", 10),  told(4, 1, 1.0, true),  told(2, 1, 2.0, true)};
    assert_int_equal(store_fixture_write(lane, events, 6, NULL), STORE_OK); /* log positions 2 … 7 */
    expect_trials(s, study, (store_trial_filter){0}, 100, "1 2 3 4 5 6 ");
    expect_trials(s, study, (store_trial_filter){.after = 2}, 3, "3 4 5 ");
    expect_trials(s, study, (store_trial_filter){.states = 1u << TRIAL_QUEUED}, 100, "1 3 6 ");
    expect_trials(s, study, (store_trial_filter){.states = 1u << TRIAL_PENDING | 1u << TRIAL_COMPLETED}, 100,
                  "2 4 5 ");
    expect_trials(s, study, (store_trial_filter){.worker = "w1"}, 100, "2 5 ");
    expect_trials(s, study, (store_trial_filter){.worker = "w1", .states = 1u << TRIAL_PENDING}, 9, "5 ");
    expect_trials(s, study, (store_trial_filter){.told = true, .told_through = INT64_MAX}, 9, "2 4 ");
    expect_trials(s, study, (store_trial_filter){.told = true, .told_after = 6, .told_through = 9}, 9, "2 ");
    expect_trials(s, study, (store_trial_filter){.told = true, .told_through = 6}, 9, "4 ");
    store_trial trial;
    assert_int_equal(store_read_trial(s, study, 7, take_trial, &trial, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);
}

static void a_failed_write_leaves_nothing_and_ends_its_lane(void **state)
{
    store *s = ((fixture *)*state)->s;
    int64_t study;
    store_lane *bad = create(s, "bad", &study);
    store_lane *good = create(s, "good", NULL);
    const store_pick picks[] = {{1, 0.5}, {2, 0.5}};
    store_event first = planned(0, 1, picks, 2);
    assert_int_equal(store_fixture_write(bad, &first, 1, NULL), STORE_OK);
    char *before = store_fixture_dump(s, "bad", true);
    /* Many at once, so that good and bad ones share groups. */
    store_event fails[] = {issued(1, 1, "w", 1), issued(2, 1, "w", 2), told(1, 1, 3.0, true),
                           issued(9, 1, "w", 2)};
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
    assert_int_equal(study_of(s, "good").last_seq, 41);
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

static void events_that_do_not_fit_are_refused(void **state)
{
    store *s = ((fixture *)*state)->s;
    const store_pick picks[] = {{1, 0.5}, {2, 0.5}};
    store_event first[] = {planned(0, 1, picks, 2), issued(1, 1, "w", 1)};
    store_lane *lane = create(s, "x", NULL);
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
        issued(1, 2, "w", 5),         /* pending already */
        issued(3, 1, "w", 5),         /* no such trial */
        requeued(2, "expired", true), /* not pending */
        renewed,                      /* not pending */
        told(3, 1, 1.0, true),        /* no such trial */
        planned(0, 3, picks, 1),      /* batch 1 is next */
        planned(1, 2, picks, 1),      /* trial 3 is next */
        extended,                     /* no such batch */
        candidates,                   /* no such upload */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        lane = store_fixture_lane(s, "x", NULL);
        assert_int_equal(store_fixture_write(lane, &wrong[i], 1, NULL), STORE_NOT_FOUND);
        store_lane_close(lane);
    }
    assert_int_equal(study_of(s, "x").last_seq, 3);
}

static void an_owner_that_was_overtaken_is_refused(void **state)
{
    store *s = ((fixture *)*state)->s;
    store_lane_close(create(s, "x", NULL));
    store_event change = {.type = EVENT_STUDY_CHANGED, .time = 4000};
    store_lane *one = store_fixture_lane(s, "x", NULL), *two = store_fixture_lane(s, "x", NULL), *other;
    assert_int_equal(store_fixture_write(one, &change, 1, NULL), STORE_OK);
    assert_int_equal(store_fixture_write(two, &change, 1, NULL), STORE_SUPERSEDED);
    assert_int_equal(store_fixture_write(one, &change, 1, NULL), STORE_OK);
    store_study row = study_of(s, "x");
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
    fixture *f = *state;
    store_lane *lanes[LANES];
    order line = {0};
    static place places[N];
    store_event change = {.type = EVENT_STUDY_CHANGED, .time = 4000};
    for (int i = 0; i < LANES; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        lanes[i] = create(f->s, id, NULL);
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
    if (f->sqlite)
        assert_int_equal(store_open_sqlite(&f->s, f->directory.path, NULL), STORE_OK);
    else
        assert_int_equal(store_open_memory(&f->s, NULL), STORE_OK);
}

static void candidates_are_read_back(void **state)
{
    enum { COUNT = 1000, D = 5 };
    store *s = ((fixture *)*state)->s;
    int64_t study;
    store_lane *lane = create(s, "x", &study);
    double *rows = calloc(COUNT * D, sizeof *rows), one[D];
    store_event event = {.type = EVENT_CANDIDATES_SET, .time = 1};
    event.u.candidates.count = COUNT;
    event.u.candidates.dimension = D;
    assert_int_equal(store_read_candidates(s, study, 0, 1, one, NULL), STORE_NOT_FOUND);
    for (int64_t block = 1; block <= COUNT; block = block * 3 + 1) {
        event.u.candidates.content = store_fixture_upload(s, COUNT, D, block);
        assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
        assert_int_equal(store_read_candidates(s, study, 0, COUNT, rows, NULL), STORE_OK);
        for (int i = 0; i < COUNT * D; i++)
            assert_true(rows[i] == (double)(i / D) + (double)(i % D) / 1024.0);
        assert_int_equal(store_read_candidates(s, study, 333, 1, one, NULL), STORE_OK);
        assert_true(one[0] == 333.0 && one[D - 1] == 333.0 + (D - 1) / 1024.0);
        assert_int_equal(store_read_candidates(s, study, 500, 100, rows, NULL), STORE_OK);
        assert_true(rows[99 * D] == 599.0);
    }
    assert_int_equal(store_read_candidates(s, study, COUNT - 1, 1, one, NULL), STORE_OK);
    assert_int_equal(store_read_candidates(s, study, COUNT, 1, one, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_candidates(s, study, COUNT - 1, 2, rows, NULL), STORE_NOT_FOUND);
    assert_int_equal(store_read_candidates(s, study, COUNT, 0, rows, NULL), STORE_OK);
    free(rows);
    store_lane_close(lane);
}

static void an_upload_without_all_its_blocks_is_refused(void **state)
{
    store *s = ((fixture *)*state)->s;
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
    store_lane *lane = create(s, "x", NULL);
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
    assert_int_equal(store_probe(s, NULL), STORE_OK);
}

static void the_last_engine_state_is_kept(void **state)
{
    store *s = ((fixture *)*state)->s;
    int64_t study;
    store_lane *lane = create(s, "x", &study);
    store_engine_state engine;
    assert_int_equal(store_read_engine_state(s, study, &engine, NULL), STORE_NOT_FOUND);
    const store_pick pick = {3, 0.5};
    const uint32_t one[] = {8, 3, 4000000000u}, two[] = {1};
    const store_arm_sum first[] = {{5, 2, 0.1}, {2, 1, -0.0}},
                        second[] = {{5, 3, 0.30000000000000004}, {4, 1, 1e-310}};
    const unsigned char bytes[] = {0, 255, 16};
    store_event events[] = {planned(0, 1, &pick, 1), planned(1, 2, &pick, 1)};
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
    assert_int_equal(study_of(s, "x").through_seq, 2);
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

static void statistics_and_probe(void **state)
{
    store *s = ((fixture *)*state)->s;
    store_statistics before, after;
    store_read_statistics(s, &before);
    store_lane *lane = create(s, "x", NULL);
    store_read_statistics(s, &after);
    assert_int_equal(after.writes, before.writes + 1);
    assert_true(after.commits > before.commits);
    assert_int_equal(after.queued_writes, 0);
    assert_int_equal(after.last_failure.status, STORE_OK);
    store_event event = issued(1, 1, "", 1);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_NOT_FOUND);
    store_read_statistics(s, &after);
    assert_int_equal(after.last_failure.status, STORE_NOT_FOUND);
    assert_int_equal(store_probe(s, NULL), STORE_OK);
    store_lane_close(lane);
}

static void take_observation(void *arg, int64_t seq, const store_observation *o)
{
    ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld:%u:%lld:%g ", (long long)seq, o->candidate,
            (long long)o->repeats, o->value);
}

static void imported_rewards_are_read_by_log_position(void **state)
{
    store *s = ((fixture *)*state)->s;
    int64_t study;
    store_lane *lane = create(s, "x", &study);
    const store_observation list[] = {{4, 1, 0.5}, {4, 3, -1.0}, {9, 1, 2.0}};
    store_event events[] = {{.type = EVENT_OBSERVATIONS_ADDED, .time = 1},
                            {.type = EVENT_OBSERVATIONS_ADDED, .time = 2}};
    events[0].u.observed.list = list;
    events[0].u.observed.n = 2;
    events[1].u.observed.list = list + 2;
    events[1].u.observed.n = 1;
    assert_int_equal(store_fixture_write(lane, events, 2, NULL), STORE_OK);
    static const struct {
        int64_t after, through;
        const char *want;
    } ranges[] = {{0, INT64_MAX, "2:4:1:0.5 2:4:3:-1 3:9:1:2 "},
                  {0, 2, "2:4:1:0.5 2:4:3:-1 "},
                  {2, 3, "3:9:1:2 "},
                  {3, 9, ""}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        ids seen = {0};
        assert_int_equal(store_read_observations(s, study, ranges[i].after, ranges[i].through,
                                                 take_observation, &seen, NULL),
                         STORE_OK);
        assert_string_equal(seen.text, ranges[i].want);
    }
    assert_int_equal(study_of(s, "x").observations, 3);
    store_lane_close(lane);
}

/* ---- answers to repeated requests ---------------------------------------------------------------------- */

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
    store *s = ((fixture *)*state)->s;
    store_lane *lane = create(s, "x", NULL);
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
    int64_t last_seq = study_of(s, "x").last_seq;
    assert_int_equal(write_answer(lane, &change, "k1", 2000, "two"), STORE_EXISTS);
    assert_int_equal(study_of(s, "x").last_seq, last_seq);
    expect_answer(s, "k1", 3000, "one/7");
    store_lane_close(lane);
    lane = store_fixture_lane(s, "x", NULL);
    assert_int_equal(write_answer(lane, &change, "k1", 1000 + DAY, "two"), STORE_OK);
    expect_answer(s, "k1", 1000 + DAY, "two/7");
    store_lane_close(lane);
}

static void rows_may_read_in_turn(void *arg, const store_trial *trial)
{
    fixture *f = arg;
    ids list = {0};
    (void)trial;
    assert_int_equal(store_read_studies(f->s, "", 10, take_id, &list, NULL), STORE_OK);
    assert_string_equal(list.text, "x ");
}

static void a_callback_may_read(void **state)
{
    fixture *f = *state;
    int64_t study;
    store_lane *lane = create(f->s, "x", &study);
    const store_pick picks[20] = {0};
    store_event event = planned(0, 1, picks, 20);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
    store_trial_filter all = {0};
    assert_int_equal(store_read_trials(f->s, study, &all, 20, rows_may_read_in_turn, f, NULL), STORE_OK);
    store_lane_close(lane);
}

/* A history of every kind of event, and what it must come to, from the other backend. */
static void backends_agree(void **state)
{
    fixture *f = *state;
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

/* ---- the list, for each backend ------------------------------------------------------------------------ */

int main(void)
{
    static fixture backends[] = {{.sqlite = true}, {.sqlite = false}};
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } tests[] = {
#define T(test) {#test, test}
        T(studies_are_listed_by_id_and_paged),
        T(an_id_belongs_to_one_study),
        T(a_deleted_study_is_gone_and_its_id_free),
        T(events_become_rows),
        T(trials_are_filtered),
        T(a_failed_write_leaves_nothing_and_ends_its_lane),
        T(events_that_do_not_fit_are_refused),
        T(an_owner_that_was_overtaken_is_refused),
        T(done_comes_in_the_order_of_submission),
        T(candidates_are_read_back),
        T(an_upload_without_all_its_blocks_is_refused),
        T(the_last_engine_state_is_kept),
        T(statistics_and_probe),
        T(a_callback_may_read),
        T(backends_agree),
        T(an_answer_is_kept_for_a_day),
        T(imported_rewards_are_read_by_log_position),
#undef T
    };
    enum { N = sizeof tests / sizeof *tests, BACKENDS = sizeof backends / sizeof *backends };
    static struct CMUnitTest list[N * BACKENDS];
    static char names[N * BACKENDS][96];
    for (size_t b = 0; b < BACKENDS; b++) {
        for (size_t i = 0; i < N; i++) {
            size_t k = b * N + i;
            snprintf(names[k], sizeof names[k], "%s (%s)", tests[i].name,
                     backends[b].sqlite ? "SQLite" : "memory");
            list[k] = (struct CMUnitTest){.name = names[k],
                                          .test_func = tests[i].test,
                                          .setup_func = set_up,
                                          .teardown_func = tear_down,
                                          .initial_state = &backends[b]};
        }
    }
    return cmocka_run_group_tests_name("store", list, NULL, NULL);
}
