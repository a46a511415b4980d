/* What every backend of the store remembers of trials and results, and gives back. */
#include "tests/support/store_suite.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void take_number(void *arg, const store_trial *trial)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld ", (long long)trial->trial);
}

static void take_attempt(void *arg, const store_attempt *attempt)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld:%d:%s:%lld ", (long long)attempt->trial, attempt->attempt,
            attempt->outcome, (long long)attempt->ended_at);
}

static void take_batch(void *arg, const store_batch *batch)
{
    *(store_batch *)arg = *batch;
}

static void expect_trials(store *s, int64_t study, store_trial_filter filter, size_t limit, const char *want)
{
    suite_ids list = {0};
    assert_int_equal(store_read_trials(s, study, &filter, limit, take_number, &list, NULL), STORE_OK);
    assert_string_equal(list.text, want);
}

static void expect_attempts(store *s, int64_t study, int64_t first, int64_t last, const char *want)
{
    suite_ids list = {0};
    assert_int_equal(store_read_attempts(s, study, first, last, take_attempt, &list, NULL), STORE_OK);
    assert_string_equal(list.text, want);
}

static void events_become_rows(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    const store_pick picks[] = {{7, 0.25}, {9, NAN}, {7, 1.0}};
    store_event events[] = {suite_planned(0, 1, picks, 3), suite_issued(1, 1, "w1", 2100),
                            suite_issued(2, 1, "w2", 2200)};
    assert_int_equal(store_lane_next_seq(lane), 2);
    assert_int_equal(store_fixture_write(lane, events, 3, NULL), STORE_OK);
    assert_int_equal(store_lane_next_seq(lane), 5);
    store_study row = suite_study_of(s, "x");
    assert_int_equal(row.trials, 3);
    assert_int_equal(row.by_state[TRIAL_QUEUED], 1);
    assert_int_equal(row.by_state[TRIAL_PENDING], 2);
    assert_int_equal(row.issued, 2);
    assert_int_equal(row.batches, 1);
    assert_int_equal(row.last_seq, 4);
    assert_int_equal(row.updated_at, 2200);
    store_trial trial;
    assert_int_equal(store_read_trial(s, study, 2, suite_take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.candidate, 9);
    assert_true(isnan(trial.variance));
    assert_int_equal(trial.state, TRIAL_PENDING);
    assert_int_equal(trial.lease_expires_at, 2300);
    assert_false(trial.has_value);

    /* Released: the attempt is given back; expired: it counts. */
    store_event more[] = {suite_requeued(1, "released", false), suite_issued(1, 1, "w3", 3100),
                          suite_requeued(1, "expired", true), suite_issued(1, 2, "w4", 3300),
                          suite_told(1, 1, -0.0, true)};
    assert_int_equal(store_fixture_write(lane, more, 5, NULL), STORE_OK);
    expect_attempts(s, study, 1, 3, "1:1:released:3000 1:1:completed:5000 1:2:superseded:5000 2:1::0 ");
    expect_attempts(s, study, 2, 2, "2:1::0 ");
    expect_attempts(s, study, 3, INT64_MAX, "");
    assert_int_equal(store_read_trial(s, study, 1, suite_take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.attempt, 1);
    assert_int_equal(trial.told_seq, 9);
    assert_int_equal(trial.told_at, 5000);
    assert_true(trial.has_value && trial.value == 0.0 && !signbit(trial.value));
    row = suite_study_of(s, "x");
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
    assert_int_equal(suite_study_of(s, "x").trials, 5);
    store_lane_close(lane);
}

static void trials_are_filtered(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    const store_pick picks[6] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}};
    store_event events[] = {suite_planned(0, 1, picks, 6), suite_issued(2, 1, "w1", 10),
                            suite_issued(4, 1, "w2", 10),  suite_issued(5, 1, "w1", 10),
                            suite_told(4, 1, 1.0, true),   suite_told(2, 1, 2.0, true)};
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
    assert_int_equal(store_read_trial(s, study, 7, suite_take_trial, &trial, NULL), STORE_NOT_FOUND);
    /* Of candidate 4 (trials 5 and 7) one fails; of all others none. */
    const store_pick again = {4, 0};
    store_event failing[] = {suite_told(5, 1, 0.0, false), suite_planned(1, 7, &again, 1),
                             suite_issued(7, 1, "w1", 10), suite_told(7, 1, 3.0, false)};
    failing[0].u.told.state = TRIAL_FAILED;
    failing[0].u.told.has_value = false;
    assert_int_equal(store_fixture_write(lane, failing, 4, NULL), STORE_OK); /* 8 … 11 */
    store_trial_filter failed = {.told = true, .told_through = INT64_MAX, .failed_arms = true};
    expect_trials(s, study, failed, 9, "5 7 ");
    failed.told_through = 10;
    expect_trials(s, study, failed, 9, "5 ");
    store_lane_close(lane);
}

static void take_observation(void *arg, const store_imported *o)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld:%u:%lld:%g ", (long long)o->told_seq, o->candidate,
            (long long)o->repeats, o->value);
}

static void take_current(void *arg, const store_imported *o)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld at %lld %s %g '%s'%s, ", (long long)o->observation,
            (long long)o->imported_at, trial_state_name(o->state), o->value, o->reason, o->recorded);
}

static void take_replaced(void *arg, const store_amendment *a)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld: %s %g '%s' was '%s'%s, ", (long long)a->observation,
            trial_state_name(a->was), a->value, a->reason, a->was_reason, a->recorded);
}

static store_event amended_observation(int64_t number, bool has_value, double value, const char *reason)
{
    store_event event = {.type = EVENT_OBSERVATION_AMENDED, .time = 3};
    event.u.reobserved.observation = number;
    event.u.reobserved.state = has_value ? TRIAL_COMPLETED : TRIAL_FAILED;
    event.u.reobserved.has_value = has_value;
    event.u.reobserved.value = value;
    event.u.reobserved.recorded = has_value ? "{\"size\":9}" : "";
    event.u.reobserved.reason = reason;
    return event;
}

static void imported_results_have_numbers_and_are_amended(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    const store_observation list[] = {
        {4, 1, 0.5, NULL, 0}, {4, 3, -1.0, "{\"size\":1}", 0.5}, {9, 1, 2.0, "{\"size\":2}", 0}};
    store_event events[] = {{.type = EVENT_OBSERVATIONS_ADDED, .time = 1},
                            {.type = EVENT_OBSERVATIONS_ADDED, .time = 2},
                            amended_observation(2, false, 7, "spilt"),
                            amended_observation(2, true, 1.5, "dry again")};
    events[0].u.observed.list = list;
    events[0].u.observed.n = 1;
    events[1].u.observed.list = list + 1;
    events[1].u.observed.n = 2;
    assert_int_equal(store_fixture_write(lane, events, 3, NULL), STORE_OK);
    assert_int_equal(suite_study_of(s, "x").observations, 2);
    suite_ids seen = {0};
    assert_int_equal(store_read_observation_page(s, study, 1, 1, take_current, &seen, NULL), STORE_OK);
    assert_string_equal(seen.text, "2 at 2 failed 0 'spilt', ");
    assert_int_equal(store_fixture_write(lane, events + 3, 1, NULL), STORE_OK);
    assert_int_equal(suite_study_of(s, "x").observations, 3);
    assert_int_equal(suite_study_of(s, "x").imported, 3);
    suite_ids all = {0}, replaced = {0}, none = {0};
    assert_int_equal(store_read_observation_page(s, study, 0, 9, take_current, &all, NULL), STORE_OK);
    assert_string_equal(
        all.text,
        "1 at 1 completed 0.5 '', 2 at 2 completed 1.5 ''{\"size\":9}, 3 at 2 completed 2 ''{\"size\":2}, ");
    assert_int_equal(store_read_observation_amendments(s, study, 2, take_replaced, &replaced, NULL),
                     STORE_OK);
    assert_string_equal(replaced.text,
                        "2: completed -1 'spilt' was ''{\"size\":1}, 2: failed 0 'dry again' was 'spilt', ");
    assert_int_equal(store_read_observation_amendments(s, study, 3, take_replaced, &none, NULL), STORE_OK);
    assert_string_equal(none.text, "");
    store_event unknown = amended_observation(4, true, 1, "");
    assert_int_equal(store_fixture_write(lane, &unknown, 1, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);
}

static void imported_rewards_are_read_by_log_position(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    const store_observation list[] = {{4, 1, 0.5, NULL, 0}, {4, 3, -1.0, NULL, 0}, {9, 1, 2.0, NULL, 0}};
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
        suite_ids seen = {0};
        assert_int_equal(store_read_observations(s, study, ranges[i].after, ranges[i].through,
                                                 take_observation, &seen, NULL),
                         STORE_OK);
        assert_string_equal(seen.text, ranges[i].want);
    }
    assert_int_equal(suite_study_of(s, "x").observations, 3);
    store_lane_close(lane);
}

static void rows_may_read_in_turn(void *arg, const store_trial *trial)
{
    suite_state *f = arg;
    suite_ids list = {0};
    (void)trial;
    assert_int_equal(store_read_studies(f->s, &(store_study_filter){0}, 10, suite_take_id, &list, NULL),
                     STORE_OK);
    assert_string_equal(list.text, "x ");
}

static void take_late(void *arg, const store_late_result *late)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld.%d:%lld:%g*%lld%s ", (long long)late->trial, late->attempt,
            (long long)late->candidate, late->value, (long long)late->repeats, late->recorded);
}

static void take_amendment(void *arg, const store_amendment *a)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld:%s:%g*%lld'%s' ", (long long)a->trial,
            trial_state_name(a->was), a->had_value ? a->value : -1.0, (long long)a->repeats, a->reason);
}

static void take_measurement(void *arg, const store_measurement *m)
{
    suite_ids *list = arg;
    sprintf(list->text + strlen(list->text), "%lld.%d.%lld:%g ", (long long)m->trial, m->attempt,
            (long long)m->step, m->value);
}

static store_event amended(int64_t trial, trial_state state, double value, const store_event *best)
{
    store_event event = {.type = EVENT_TRIAL_AMENDED, .time = 7000};
    event.u.amended.trial = trial;
    event.u.amended.state = state;
    event.u.amended.has_value = state == TRIAL_COMPLETED;
    event.u.amended.value = value;
    event.u.amended.reason = "mistaken";
    if (best) {
        event.u.amended.best_trial = best->u.told.trial;
        event.u.amended.best_value = best->u.told.value;
        event.u.amended.best_candidate = 9;
    }
    return event;
}

static void results_are_amended_and_repeated(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    const store_pick picks[] = {{7, 0.25}, {9, 0.5}};
    store_event told = suite_told(1, 1, 0.5, true), second = suite_told(2, 1, 0.25, false);
    told.u.told.repeats = 3;
    told.u.told.recorded = "{\"size\":2}";
    told.u.told.metadata = "{\"host\":\"a\"}";
    store_event late = {.type = EVENT_LATE_RESULT_TOLD, .time = 6000};
    late.u.late.trial = 1;
    late.u.late.attempt = 2;
    late.u.late.value = 0.75;
    late.u.late.better = true;
    late.u.late.repeats = 2;
    store_event measured = {.type = EVENT_TRIAL_MEASURED, .time = 2500};
    measured.u.measured.trial = 1;
    measured.u.measured.attempt = 1;
    measured.u.measured.step = 4;
    measured.u.measured.value = 1.5;
    store_event earlier = measured, again = measured;
    earlier.u.measured.step = 2;
    again.u.measured.value = 2.5;
    store_event events[] = {suite_planned(0, 1, picks, 2),
                            suite_issued(1, 1, "w1", 2100),
                            suite_issued(2, 1, "w2", 2200),
                            measured,
                            earlier,
                            again,
                            told,
                            second,
                            late};
    assert_int_equal(store_fixture_write(lane, events, sizeof events / sizeof *events, NULL), STORE_OK);
    store_study row = suite_study_of(s, "x");
    assert_int_equal(row.observations, 3);
    assert_int_equal(row.best_trial, 1);
    assert_true(row.best_value == 0.75);
    store_trial trial;
    assert_int_equal(store_read_trial(s, study, 1, suite_take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.repeats, 3);
    assert_true(trial.value == 0.5 && trial.told_seq == 8);
    suite_ids list = {0}, none = {0}, steps = {0}, was = {0};
    assert_int_equal(store_read_late_results(s, study, 1, 0, INT64_MAX, take_late, &list, NULL), STORE_OK);
    assert_string_equal(list.text, "1.2:7:0.75*2 ");
    assert_int_equal(store_read_late_results(s, study, 2, 0, INT64_MAX, take_late, &none, NULL), STORE_OK);
    assert_int_equal(store_read_late_results(s, study, 0, 10, INT64_MAX, take_late, &none, NULL), STORE_OK);
    assert_string_equal(none.text, "");
    assert_int_equal(store_read_measurements(s, study, 0, take_measurement, &steps, NULL), STORE_OK);
    assert_string_equal(steps.text, "1.1.2:1.5 1.1.4:2.5 ");

    store_event amendments[] = {amended(1, TRIAL_FAILED, 0, &second),
                                amended(1, TRIAL_COMPLETED, 0.125, &second)};
    assert_int_equal(store_fixture_write(lane, amendments, 1, NULL), STORE_OK);
    row = suite_study_of(s, "x");
    assert_int_equal(row.by_state[TRIAL_FAILED], 1);
    assert_int_equal(row.observations, 2);
    assert_int_equal(row.best_trial, 2);
    assert_int_equal(row.best_candidate, 9);
    assert_int_equal(store_fixture_write(lane, amendments + 1, 1, NULL), STORE_OK);
    row = suite_study_of(s, "x");
    assert_int_equal(row.by_state[TRIAL_COMPLETED], 2);
    assert_int_equal(row.observations, 3);
    assert_int_equal(store_read_amendments(s, study, 1, 0, take_amendment, &was, NULL), STORE_OK);
    assert_string_equal(was.text, "1:completed:0.5*3'mistaken' 1:failed:-1*1'mistaken' ");
    assert_int_equal(store_read_trial(s, study, 1, suite_take_trial, &trial, NULL), STORE_OK);
    assert_true(trial.value == 0.125 && trial.repeats == 1 && trial.told_seq == 8);
    /* An amendment sets the repeats. Without that they stay, unless there is no value. */
    amendments[0].u.amended.repeats = 5;
    assert_int_equal(store_fixture_write(lane, amendments, 2, NULL), STORE_OK);
    assert_int_equal(store_read_trial(s, study, 1, suite_take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.repeats, 5);
    amendments[1].u.amended.repeats = 4;
    assert_int_equal(store_fixture_write(lane, amendments + 1, 1, NULL), STORE_OK);
    assert_int_equal(store_read_trial(s, study, 1, suite_take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.repeats, 4);

    /* What is not told cannot be amended or told once more, what is not pending not be measured. */
    store_event proposed = {.type = EVENT_TRIAL_PROPOSED, .time = 8000};
    proposed.u.proposed.trial = 3;
    proposed.u.proposed.pick = (store_pick){4, NAN};
    assert_int_equal(store_fixture_write(lane, &proposed, 1, NULL), STORE_OK);
    assert_int_equal(store_read_trial(s, study, 3, suite_take_trial, &trial, NULL), STORE_OK);
    assert_int_equal(trial.batch, -1);
    assert_int_equal(trial.state, TRIAL_QUEUED);
    store_event wrong[] = {amended(3, TRIAL_FAILED, 0, NULL), late, measured, measured, proposed};
    wrong[1].u.late.trial = 3;
    wrong[2].u.measured.trial = 3;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        store_lane *other = store_fixture_lane(s, "x", &study);
        assert_int_equal(store_fixture_write(other, &wrong[i], 1, NULL), STORE_NOT_FOUND);
        store_lane_close(other);
    }
    store_lane_close(lane);
}

/* An estimate is a row beside the late results. It does not count as a result, and is never the best. */
static void stopped_trials_are_estimated(void **state)
{
    store *s = ((suite_state *)*state)->s;
    int64_t study;
    store_lane *lane = suite_create(s, "x", &study);
    const store_pick picks[] = {{7, 0.25}, {9, 0.5}};
    store_event stopped = {.type = EVENT_TRIAL_TOLD, .time = 3000};
    stopped.u.told.trial = 2;
    stopped.u.told.attempt = 1;
    stopped.u.told.state = TRIAL_STOPPED;
    stopped.u.told.reason = "";
    store_event estimated = {.type = EVENT_TRIAL_ESTIMATED, .time = 3000};
    estimated.u.estimated.trial = 2;
    estimated.u.estimated.value = 0.75;
    estimated.u.estimated.recorded = "{\"\":{\"value\":0.5}}";
    store_event events[] = {suite_planned(0, 1, picks, 2),
                            suite_issued(1, 1, "w1", 2100),
                            suite_issued(2, 1, "w2", 2200),
                            suite_told(1, 1, 0.5, true),
                            stopped,
                            estimated};
    assert_int_equal(store_fixture_write(lane, events, sizeof events / sizeof *events, NULL), STORE_OK);
    store_study row = suite_study_of(s, "x");
    assert_int_equal(row.observations, 1);
    assert_int_equal(row.best_trial, 1);
    suite_ids list = {0};
    assert_int_equal(store_read_late_results(s, study, 2, 0, INT64_MAX, take_late, &list, NULL), STORE_OK);
    assert_string_equal(list.text, "2.0:9:0.75*1{\"\":{\"value\":0.5}} ");
    estimated.u.estimated.trial = 1; /* it has a value */
    assert_int_equal(store_fixture_write(lane, &estimated, 1, NULL), STORE_NOT_FOUND);
    store_lane_close(lane);
}

static void a_callback_may_read(void **state)
{
    suite_state *f = *state;
    int64_t study;
    store_lane *lane = suite_create(f->s, "x", &study);
    const store_pick picks[20] = {0};
    store_event event = suite_planned(0, 1, picks, 20);
    assert_int_equal(store_fixture_write(lane, &event, 1, NULL), STORE_OK);
    store_trial_filter all = {0};
    assert_int_equal(store_read_trials(f->s, study, &all, 20, rows_may_read_in_turn, f, NULL), STORE_OK);
    store_lane_close(lane);
}

int main(void)
{
    static const suite_test tests[] = {
        SUITE_TEST(events_become_rows),
        SUITE_TEST(trials_are_filtered),
        SUITE_TEST(imported_rewards_are_read_by_log_position),
        SUITE_TEST(imported_results_have_numbers_and_are_amended),
        SUITE_TEST(results_are_amended_and_repeated),
        SUITE_TEST(stopped_trials_are_estimated),
        SUITE_TEST(a_callback_may_read),
    };
    return suite_run("store", tests, sizeof tests / sizeof *tests);
}
