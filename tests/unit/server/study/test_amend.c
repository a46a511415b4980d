/* Corrections of results: what they change at once, and at the next boundary of a batch. */
#include "tests/support/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#define DEFINITION                                                                                           \
    "{'id':'s','metric':{'name':'y','goal':'minimize'},'seed':5,'feedback':'async','min_in_flight':1,"       \
    "'algorithm':{'name':'epsilon_greedy'},'domain':{'type':'candidates','points':[[0],[1],[2]]}}"

typedef struct known {
    double sum[3];
    uint64_t count[3];
} known;

/* What the model has of each candidate; the engine maximizes, so sums have the other sign. */
static known stored_sums(study_fixture *f)
{
    known k = {{0}, {0}};
    store_engine_state stored;
    int64_t number = study_fixture_number(f, "s");
    assert_int_equal(store_read_engine_state(f->app.store, number, &stored, NULL), STORE_OK);
    for (size_t i = 0; i < stored.n_sums; i++) {
        assert_in_range(stored.sums[i].arm, 0, 2);
        k.sum[stored.sums[i].arm] = stored.sums[i].sum;
        k.count[stored.sums[i].arm] = stored.sums[i].count;
    }
    store_engine_state_clear(&stored);
    return k;
}

/* Asks for the next trial and reports a value; its candidate. */
static int64_t evaluate(study_fixture *f, double value)
{
    char body[96];
    study_answer a = study_fixture_ask(f, "s", "{'worker':'ada','wait_seconds':60}");
    int64_t id = study_answer_integer(&a, "trials/0/id"),
            candidate = study_answer_integer(&a, "trials/0/candidate");
    study_answer_clear(&a);
    snprintf(body, sizeof body, "{'results':[{'trial':%lld,'value':%.17g}]}", (long long)id, value);
    a = study_fixture_tell(f, "s", body);
    assert_int_equal(study_answer_integer(&a, "accepted"), 1);
    study_answer_clear(&a);
    return candidate;
}

static void take_best(void *arg, const store_study *row)
{
    *(store_study *)arg = *row;
}

static void an_amendment_joins_the_model_with_the_next_batch(void **state)
{
    study_fixture *f = *state;
    double values[6] = {4, 1, 3, 6, 2, 5}, expected[3] = {0};
    int64_t candidates[6];
    study_fixture_create(f, DEFINITION);
    for (int i = 0; i < 5; i++)
        candidates[i] = evaluate(f, values[i]);
    known before = stored_sums(f); /* of the first four results: the fifth has come since */
    study_answer a = study_fixture_amend(f, "s", 2, "{'value':10,'reason':'units'}");
    assert_int_equal(a.kind, REPLY_OK);
    assert_int_equal(study_answer_integer(&a, "id"), 2);
    study_answer_clear(&a);
    known same = stored_sums(f);
    assert_memory_equal(&before, &same, sizeof before); /* not yet */
    candidates[5] = evaluate(f, values[5]);
    values[1] = 10;
    uint64_t counts[3] = {0};
    for (int i = 0; i < 5; i++) {
        expected[candidates[i]] -= values[i];
        counts[candidates[i]]++;
    }
    known after = stored_sums(f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(after.count[i], counts[i]);
        assert_true(fabs(after.sum[i] - expected[i]) < 1e-12);
    }
}

static void amending_the_best_result_finds_the_next_best(void **state)
{
    study_fixture *f = *state;
    store_study row;
    study_fixture_create(f, DEFINITION);
    evaluate(f, 4);
    evaluate(f, 1);
    evaluate(f, 3);
    assert_int_equal(store_read_study(f->app.store, "s", take_best, &row, NULL), STORE_OK);
    assert_int_equal(row.best_trial, 2);
    study_answer a = study_fixture_amend(f, "s", 2, "{'state':'failed','reason':'spilt'}");
    assert_int_equal(a.kind, REPLY_OK);
    assert_string_equal(study_answer_text(&a, "state"), "failed");
    study_answer_clear(&a);
    assert_int_equal(store_read_study(f->app.store, "s", take_best, &row, NULL), STORE_OK);
    assert_int_equal(row.best_trial, 3);
    assert_true(row.best_value == 3);
}

static void the_value_before_an_amendment_is_a_duplicate(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION);
    evaluate(f, 4);
    study_answer a = study_fixture_amend(f, "s", 1, "{'value':5}");
    assert_int_equal(a.kind, REPLY_OK);
    study_answer_clear(&a);
    a = study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':4},{'trial':1,'value':4}]}");
    assert_int_equal(study_answer_integer(&a, "duplicates"), 2);
    study_answer_clear(&a);
    a = study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':6}]}");
    assert_int_equal(a.kind, REPLY_CONFLICT);
}

static void what_cannot_be_amended_is_refused(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION);
    evaluate(f, 4);
    study_answer a = study_fixture_ask(f, "s", "{'worker':'ada','wait_seconds':60}");
    study_answer_clear(&a);
    a = study_fixture_amend(f, "s", 2, "{'value':1}"); /* it is pending */
    assert_int_equal(a.kind, REPLY_CONFLICT);
    a = study_fixture_amend(f, "s", 7, "{'value':1}");
    assert_int_equal(a.kind, REPLY_NOT_FOUND);
    a = study_fixture_amend(f, "s", 1, "{'values':{'y':1,'z':2}}");
    assert_int_equal(a.kind, REPLY_INVALID);
    assert_string_equal(a.pointers[0], "/values/z");
}

static const store_observation imported[] = {{.candidate = 0, .repeats = 1, .value = 9},
                                             {.candidate = 1, .repeats = 2, .value = 3}};

static void import_two(study_fixture *f)
{
    study_fixture_create(f, DEFINITION);
    study_answer a = study_fixture_observe(f, "s", imported, 2);
    assert_int_equal(study_answer_integer(&a, "accepted"), 2);
    assert_int_equal(study_answer_integer(&a, "first"), 1);
    assert_int_equal(study_answer_integer(&a, "last"), 2);
    study_answer_clear(&a);
}

static void an_imported_result_is_amended_before_it_joins(void **state)
{
    study_fixture *f = *state;
    import_two(f);
    study_answer a = study_fixture_amend_observation(f, "s", 1, "{'value':8,'reason':'slip'}");
    assert_int_equal(a.kind, REPLY_OK);
    assert_int_equal(study_answer_integer(&a, "observation"), 1);
    study_answer_clear(&a);
    a = study_fixture_amend_observation(f, "s", 1, "{'value':7.5}");
    assert_int_equal(a.kind, REPLY_OK);
    study_answer_clear(&a);
    evaluate(f, 4);
    known k = stored_sums(f);
    assert_int_equal(k.count[0], 1);
    assert_true(k.sum[0] == -7.5 && k.sum[1] == -6);
}

static void an_imported_result_is_taken_back_after_it_joined(void **state)
{
    study_fixture *f = *state;
    import_two(f);
    evaluate(f, 4);
    study_answer a = study_fixture_amend_observation(f, "s", 2, "{'state':'failed','reason':'a wrong row'}");
    assert_int_equal(a.kind, REPLY_OK);
    assert_string_equal(study_answer_text(&a, "state"), "failed");
    assert_string_equal(study_answer_text(&a, "reason"), "a wrong row");
    study_answer_clear(&a);
    a = study_fixture_amend_observation(f, "s", 1, "{'value':2}");
    study_answer_clear(&a);
    a = study_fixture_amend_observation(f, "s", 1, "{'value':1}"); /* the one before may not be on disk */
    study_answer_clear(&a);
    evaluate(f, 5);
    evaluate(f, 6);
    a = study_fixture_ask(f, "s",
                          "{'worker':'ada','wait_seconds':60}"); /* so that all of it is in the model */
    study_answer_clear(&a);
    known k = stored_sums(f);
    a = study_fixture_best(f, "s");
    assert_int_equal(study_answer_integer(&a, "observed/observation"), 1);
    study_answer_clear(&a);
    assert_true(k.sum[0] + k.sum[1] + k.sum[2] == -1 - 4 - 5 - 6);
    assert_int_equal(k.count[0] + k.count[1] + k.count[2], 4);
}

static void what_cannot_be_amended_of_imports_is_refused(void **state)
{
    study_fixture *f = *state;
    import_two(f);
    for (int64_t number = 0; number <= 3; number += 3) {
        study_answer a = study_fixture_amend_observation(f, "s", number, "{'value':1}");
        assert_int_equal(a.kind, REPLY_NOT_FOUND);
    }
    study_answer a = study_fixture_amend_observation(f, "s", 1, "{'state':'infeasible'}");
    assert_int_equal(a.kind, REPLY_INVALID);
    assert_string_equal(a.pointers[0], "/state");
    a = study_fixture_amend_observation(f, "s", 1, "{'values':{'y':1,'z':2}}");
    assert_int_equal(a.kind, REPLY_INVALID);
    assert_string_equal(a.pointers[0], "/values/z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_amendment_joins_the_model_with_the_next_batch, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(amending_the_best_result_finds_the_next_best, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(the_value_before_an_amendment_is_a_duplicate, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_amended_is_refused, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(an_imported_result_is_amended_before_it_joins, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(an_imported_result_is_taken_back_after_it_joined, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_amended_of_imports_is_refused, study_fixture_setup,
                                        study_fixture_teardown),
    };
    return cmocka_run_group_tests_name("amend", tests, NULL, NULL);
}
