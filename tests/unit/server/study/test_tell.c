/* Reports: accepted, repeated, late, contradicted; all of a request or none; and what a failed write does. */
#include "tests/support/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/store_fixture.h"

#define DEFINITION                                                                                              \
    "{'id':'s','metrics':[{'name':'y','goal':'maximize'},{'name':'cost','goal':'minimize','role':'recorded'}]," \
    "'algorithm':{'name':'uniform'},'seed':3,'feedback':'async','min_in_flight':4,"                             \
    "'domain':{'type':'candidates','points':[[0],[1],[2],[3]]}}"

/* A study with trials 1 … 4 in flight. */
static void start(study_fixture *f)
{
    study_fixture_create(f, DEFINITION);
    study_answer a = study_fixture_ask(f, "s", "{'count':4,'worker':'ada'}");
    assert_int_equal(study_answer_integer(&a, "trials/3/id"), 4);
    study_answer_clear(&a);
}

static void expect_counts(study_answer a, int accepted, int duplicates, int late)
{
    assert_int_equal(a.kind, REPLY_OK);
    assert_int_equal(study_answer_integer(&a, "accepted"), accepted);
    assert_int_equal(study_answer_integer(&a, "duplicates"), duplicates);
    assert_int_equal(study_answer_integer(&a, "late"), late);
    study_answer_clear(&a);
}

static void take_state(void *arg, const store_trial *row)
{
    *(trial_state *)arg = row->state;
}

static trial_state stored_state(study_fixture *f, int64_t trial)
{
    trial_state state = TRIAL_QUEUED;
    int64_t number = study_fixture_number(f, "s");
    assert_int_equal(store_read_trial(f->app.store, number, trial, take_state, &state, NULL), STORE_OK);
    return state;
}

static void a_result_is_stored_before_it_is_answered(void **state)
{
    study_fixture *f = *state;
    start(f);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':2,'values':{'y':1.5,'cost':3}}]}"), 1, 0,
                  0);
    assert_int_equal(stored_state(f, 2), TRIAL_COMPLETED);
    assert_int_equal(stored_state(f, 1), TRIAL_PENDING);
}

static void the_same_result_is_a_duplicate(void **state)
{
    study_fixture *f = *state;
    start(f);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2},{'trial':1,'value':2}]}"), 1,
                  1, 0);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2}]}"), 0, 1, 0);
}

static void another_result_is_a_conflict(void **state)
{
    study_fixture *f = *state;
    start(f);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2}]}"), 1, 0, 0);
    study_answer a = study_fixture_tell(f, "s", "{'results':[{'trial':3,'value':1},{'trial':1,'value':5}]}");
    assert_int_equal(a.kind, REPLY_CONFLICT);
    assert_int_equal(a.n_errors, 1);
    assert_string_equal(a.pointers[0], "/results/1/trial");
    assert_int_equal(stored_state(f, 3), TRIAL_PENDING); /* none is accepted */
}

static void all_problems_are_listed_and_nothing_is_accepted(void **state)
{
    study_fixture *f = *state;
    start(f);
    study_answer a = study_fixture_tell(
        f, "s",
        "{'results':[{'trial':1,'value':1},{'trial':99,'value':1},{'trial':2,'values':{'cost':1,'z/':2}},"
        "{'trial':3,'attempt':2,'value':1}]}");
    assert_int_equal(a.kind, REPLY_INVALID);
    assert_int_equal(a.n_errors, 4);
    assert_string_equal(a.pointers[0], "/results/1/trial");
    assert_string_equal(a.pointers[1], "/results/2/values/z~1");
    assert_string_equal(a.pointers[2], "/results/2/values/y");
    assert_string_equal(a.pointers[3], "/results/3/attempt");
    assert_int_equal(stored_state(f, 1), TRIAL_PENDING);
}

static void a_result_of_an_earlier_attempt_is_late(void **state)
{
    study_fixture *f = *state;
    start(f);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':2,'state':'failed','retry':true}]}"), 1, 0,
                  0);
    study_answer again = study_fixture_ask(f, "s", "{'worker':'bob'}");
    assert_int_equal(study_answer_integer(&again, "trials/0/id"), 2);
    assert_int_equal(study_answer_integer(&again, "trials/0/attempt"), 2);
    study_answer_clear(&again);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':2,'attempt':2,'value':4}]}"), 1, 0, 0);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':2,'attempt':1,'value':3}]}"), 0, 0, 1);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':2,'attempt':1,'value':3}]}"), 0, 1, 0);
    study_answer other = study_fixture_tell(f, "s", "{'results':[{'trial':2,'attempt':1,'value':8}]}");
    assert_int_equal(other.kind, REPLY_CONFLICT);
    study_answer never = study_fixture_tell(f, "s", "{'results':[{'trial':2,'attempt':7,'value':8}]}");
    assert_int_equal(never.kind, REPLY_INVALID);
    assert_string_equal(never.pointers[0], "/results/0/attempt");
}

static void a_released_trial_is_handed_out_first(void **state)
{
    study_fixture *f = *state;
    start(f);
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':3,'state':'released'}]}"), 1, 0, 0);
    study_answer again = study_fixture_ask(f, "s", "{'worker':'bob'}");
    assert_int_equal(study_answer_integer(&again, "trials/0/id"), 3);
    assert_int_equal(study_answer_integer(&again, "trials/0/attempt"), 1); /* it did not count */
    study_answer_clear(&again);
}

/* Another writer adds to the study's log, so that the store refuses the study's next write. */
static void write_behind_its_back(study_fixture *f)
{
    store_lane *lane = store_fixture_lane(f->app.store, "s", NULL);
    store_event told = {.type = EVENT_TRIAL_TOLD, .time = 1};
    told.u.told.trial = 4;
    told.u.told.attempt = 1;
    told.u.told.state = TRIAL_FAILED;
    told.u.told.reason = "elsewhere";
    told.u.told.repeats = 1;
    told.u.told.recorded = told.u.told.metadata = "";
    assert_int_equal(store_fixture_write(lane, &told, 1, NULL), STORE_OK);
    store_lane_close(lane);
}

static void after_a_failed_write_the_study_is_loaded_again(void **state)
{
    study_fixture *f = *state;
    start(f);
    write_behind_its_back(f);
    study_answer failed = study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2}]}");
    assert_int_equal(failed.kind, REPLY_UNAVAILABLE);
    assert_true(failed.unstored);
    assert_int_equal(failed.failure, STORE_SUPERSEDED);
    assert_null(failed.body);
    assert_int_equal(stored_state(f, 1), TRIAL_PENDING);
    /* Its memory had trial 1 reported and trial 4 pending; the store has it the other way round. */
    expect_counts(study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2}]}"), 1, 0, 0);
    study_answer known = study_fixture_tell(f, "s", "{'results':[{'trial':4,'value':2}]}");
    assert_int_equal(known.kind, REPLY_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_result_is_stored_before_it_is_answered, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(the_same_result_is_a_duplicate, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(another_result_is_a_conflict, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(all_problems_are_listed_and_nothing_is_accepted, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_result_of_an_earlier_attempt_is_late, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_released_trial_is_handed_out_first, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(after_a_failed_write_the_study_is_loaded_again, study_fixture_setup,
                                        study_fixture_teardown),
    };
    return cmocka_run_group_tests_name("tell", tests, NULL, NULL);
}
