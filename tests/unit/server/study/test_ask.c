/* Asks: the trials that they get, those that wait, and those that are refused. */
#include "server/base/clock.h"
#include "tests/support/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define DEFINITION(fields)                                                                                   \
    "{'id':'s','metric':{'name':'y','goal':'maximize'},'algorithm':{'name':'uniform'},'seed':3,"             \
    "'domain':{'type':'candidates','points':[[0],[1],[2],[3]]}" fields "}"

static void a_worker_gets_its_trial_again(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'async','min_in_flight':4"));
    study_answer a = study_fixture_ask(f, "s", "{'count':2,'worker':'ada'}");
    assert_int_equal(a.kind, REPLY_OK);
    assert_int_equal(study_answer_integer(&a, "trials/0/id"), 1);
    assert_int_equal(study_answer_integer(&a, "trials/1/id"), 2);
    assert_string_equal(study_answer_text(&a, "trials/0/worker"), "ada");
    assert_string_equal(study_answer_text(&a, "trials/0/state"), "pending");
    study_answer again = study_fixture_ask(f, "s", "{'count':2,'worker':'ada'}");
    study_answer other = study_fixture_ask(f, "s", "{'worker':'bob'}");
    study_answer fresh = study_fixture_ask(f, "s", "{'worker':'ada','fresh':true}");
    for (int i = 0; i < 2; i++) {
        char id[32], candidate[32];
        snprintf(id, sizeof id, "trials/%d/id", i);
        snprintf(candidate, sizeof candidate, "trials/%d/candidate", i);
        assert_int_equal(study_answer_integer(&again, id), study_answer_integer(&a, id));
        assert_int_equal(study_answer_integer(&again, candidate), study_answer_integer(&a, candidate));
    }
    assert_int_equal(study_answer_integer(&other, "trials/0/id"), 3);
    assert_int_equal(study_answer_integer(&fresh, "trials/0/id"), 4);
    study_answer_clear(&a);
    study_answer_clear(&again);
    study_answer_clear(&other);
    study_answer_clear(&fresh);
}

/* uniform's batch is one pick: with batch feedback the second asker must wait for the first result. */
static void an_ask_waits_for_the_result_that_it_needs(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'batch'"));
    study_answer first = study_fixture_ask(f, "s", "{'worker':'ada'}");
    study_answer none = study_fixture_ask(f, "s", "{'worker':'bob'}");
    assert_int_equal(none.kind, REPLY_OK);
    assert_null(study_answer_text(&none, "trials/0/state"));
    assert_string_equal(study_answer_text(&none, "reason"), "awaiting_feedback");
    assert_int_equal(none.retry_after, 1);
    study_call *waiting = study_fixture_send_ask(f, "s", "{'worker':'bob','wait_seconds':60}");
    study_answer told = study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2.5}]}");
    assert_int_equal(told.kind, REPLY_OK);
    study_answer second = study_call_wait(waiting);
    assert_int_equal(study_answer_integer(&second, "trials/0/id"), 2);
    assert_string_equal(study_answer_text(&second, "trials/0/worker"), "bob");
    study_answer_clear(&first);
    study_answer_clear(&none);
    study_answer_clear(&told);
    study_answer_clear(&second);
}

static void a_client_that_has_gone_gets_no_trial(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'batch'"));
    study_answer first = study_fixture_ask(f, "s", "{'worker':'ada'}");
    study_call *gone = study_fixture_send_ask(f, "s", "{'worker':'bob','wait_seconds':60}");
    study_answer busy =
        study_fixture_ask(f, "s", "{'worker':'eve'}"); /* the wait has begun when it is answered */
    study_call_hang_up(gone);
    study_answer told = study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2.5}]}");
    study_answer lost = study_call_wait(gone);
    assert_null(study_answer_text(&lost, "trials/0/state"));
    study_answer next = study_fixture_ask(f, "s", "{'worker':'eve','wait_seconds':60}");
    assert_int_equal(study_answer_integer(&next, "trials/0/id"), 2);
    assert_int_equal(study_answer_integer(&next, "trials/0/attempt"), 1);
    study_answer_clear(&first);
    study_answer_clear(&busy);
    study_answer_clear(&told);
    study_answer_clear(&lost);
    study_answer_clear(&next);
}

static void more_asks_than_may_wait_are_refused(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'batch'"));
    study_answer first = study_fixture_ask(f, "s", "{'worker':'ada'}");
    f->config.max_waiting = 4; /* one caller may have half of what the others leave */
    study_call *waiting[2];
    for (int i = 0; i < 2; i++)
        waiting[i] = study_fixture_send_ask(f, "s", "{'wait_seconds':60}");
    study_answer refused = study_fixture_ask(f, "s", "{'wait_seconds':60}");
    assert_int_equal(refused.kind, REPLY_BUSY);
    assert_int_equal(refused.retry_after, 1);
    study_answer none = study_fixture_ask(f, "s", "{'worker':'bob'}"); /* takes no place */
    assert_int_equal(none.kind, REPLY_OK);
    study_answer_clear(&none);
    f->holder = "another";
    study_call *others = study_fixture_send_ask(f, "s", "{'wait_seconds':60}");
    refused = study_fixture_ask(f, "s", "{'wait_seconds':60}");
    assert_int_equal(refused.kind, REPLY_BUSY);
    /* Deleting the study ends the waits. */
    study_answer deleted = study_fixture_delete(f, "s");
    assert_int_equal(deleted.kind, REPLY_EMPTY);
    for (int i = 0; i < 2; i++) {
        study_answer ended = study_call_wait(waiting[i]);
        assert_int_equal(ended.kind, REPLY_NOT_FOUND);
        study_answer_clear(&ended);
    }
    study_answer ended = study_call_wait(others);
    assert_int_equal(ended.kind, REPLY_NOT_FOUND);
    study_answer_clear(&ended);
    study_answer missing = study_fixture_ask(f, "s", "");
    assert_int_equal(missing.kind, REPLY_NOT_FOUND);
    study_answer_clear(&first);
}

/* A turn costs no more than a look at each ask that waits. */
static void thousands_of_asks_may_wait(void **state)
{
    enum { ASKS = 3000, TURNS = 30, SECONDS = 10 };
    static study_call *waiting[ASKS];
    study_fixture *f = *state;
    f->config.max_waiting = 4 * ASKS;
    study_fixture_create(f, DEFINITION(",'feedback':'async'"));
    for (int i = 0; i < ASKS; i++) {
        char body[96];
        snprintf(body, sizeof body, "{'worker':'w%d','fresh':true,'lease_seconds':600}", i);
        study_answer held = study_fixture_ask(f, "s", body);
        assert_int_equal(held.kind, REPLY_OK);
        study_answer_clear(&held);
    }
    int64_t start = clock_steady_ms();
    for (int i = 0; i < ASKS; i++) {
        char body[96];
        snprintf(body, sizeof body, "{'worker':'w%d','fresh':true,'wait_seconds':300}", i);
        waiting[i] = study_fixture_send_ask(f, "s", body);
    }
    for (int i = 0; i < TURNS; i++) {
        study_answer a = study_fixture_ask(f, "s", "{'worker':'w1'}");
        assert_int_equal(a.kind, REPLY_OK);
        study_answer_clear(&a);
    }
    assert_in_range(clock_steady_ms() - start, 0, 1000 * SECONDS);
    study_answer deleted = study_fixture_delete(f, "s");
    assert_int_equal(deleted.kind, REPLY_EMPTY);
    for (int i = 0; i < ASKS; i++) {
        study_answer ended = study_call_wait(waiting[i]);
        study_answer_clear(&ended);
    }
}

/* More than one turn takes back: each of them is handed out once more. */
static void leases_that_expire_together_are_all_ended(void **state)
{
    enum { TRIALS = 900 };
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'async','min_in_flight':2000"));
    study_answer a = study_fixture_ask(f, "s", "{'count':900,'worker':'ada','lease_seconds':1}");
    for (size_t n = json_array_size(json_object_get(a.body, "trials")); n < TRIALS;) {
        study_answer more =
            study_fixture_ask(f, "s", "{'count':300,'fresh':true,'worker':'ada','lease_seconds':1}");
        n += json_array_size(json_object_get(more.body, "trials"));
        study_answer_clear(&more);
    }
    study_answer_clear(&a);
    struct timespec second = {.tv_sec = 1, .tv_nsec = 200000000};
    nanosleep(&second, NULL);
    size_t back = 0;
    for (int asks = 0; back < TRIALS && asks < 100; asks++) {
        study_answer some =
            study_fixture_ask(f, "s", "{'count':100,'fresh':true,'worker':'bob','wait_seconds':20}");
        json_t *trial;
        size_t i;
        json_array_foreach(json_object_get(some.body, "trials"), i, trial) back +=
            json_integer_value(json_object_get(trial, "attempt")) == 2;
        study_answer_clear(&some);
    }
    assert_int_equal(back, TRIALS);
}

static void asks_that_cannot_be_served_are_refused(void **state)
{
    study_fixture *f = *state;
    study_answer missing = study_fixture_ask(f, "none", "");
    assert_int_equal(missing.kind, REPLY_NOT_FOUND);
    study_fixture_create(
        f, "{'id':'bare','metric':{'name':'y','goal':'maximize'},'algorithm':{'name':'uniform'},"
           "'domain':{'type':'candidates','dimension':2}}");
    study_answer bare = study_fixture_ask(f, "bare", "");
    assert_int_equal(bare.kind, REPLY_CONFLICT);
    study_fixture_create(f, DEFINITION(""));
    study_answer fixed = study_fixture_ask(f, "s", "{'fixed':{'x':1}}");
    assert_int_equal(fixed.kind, REPLY_INVALID);
    assert_int_equal(fixed.n_errors, 1);
    assert_string_equal(fixed.pointers[0], "/fixed");
}

static void an_ask_can_fix_parameters(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(
        f, "{'id':'s','metric':{'name':'y','goal':'minimize'},'algorithm':{'name':'uniform'},'seed':3,"
           "'domain':{'type':'space','parameters':[{'name':'a','type':'integer','min':1,'max':3},"
           "{'name':'b','type':'categorical','values':['u','v']}]}}");
    study_answer a = study_fixture_ask(f, "s", "{'count':3,'fixed':{'b':'v'}}");
    assert_int_equal(a.kind, REPLY_OK);
    for (int i = 0; i < 3; i++) {
        char path[48];
        snprintf(path, sizeof path, "trials/%d/parameters/b", i);
        assert_string_equal(study_answer_text(&a, path), "v");
    }
    study_answer wrong = study_fixture_ask(f, "s", "{'fixed':{'b':'w'}}");
    assert_int_equal(wrong.kind, REPLY_INVALID);
    assert_string_equal(wrong.pointers[0], "/fixed/b");
    study_answer_clear(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_gets_its_trial_again, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(an_ask_waits_for_the_result_that_it_needs, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_client_that_has_gone_gets_no_trial, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(more_asks_than_may_wait_are_refused, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(thousands_of_asks_may_wait, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(leases_that_expire_together_are_all_ended, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(asks_that_cannot_be_served_are_refused, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(an_ask_can_fix_parameters, study_fixture_setup,
                                        study_fixture_teardown),
    };
    return cmocka_run_group_tests_name("ask", tests, NULL, NULL);
}
