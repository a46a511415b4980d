/* Creating studies: what is stored, and what is refused. */
#include "tests/support/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEFINITION(id, domain)                                                                               \
    "{'id':'" id "','metric':{'name':'y','goal':'maximize'},'algorithm':{'name':'uniform'},'seed':3,"        \
    "'feedback':'async','domain':" domain "}"
#define POINTS "{'type':'candidates','points':[[0,1],[1,1],[2,0]]}"

static void take_study(void *arg, const store_study *row)
{
    *(store_study *)arg = *row;
}

static store_study stored(study_fixture *f, const char *id)
{
    store_study row;
    assert_int_equal(store_read_study(f->app.store, id, take_study, &row, NULL), STORE_OK);
    return row;
}

static void a_study_has_its_points_when_it_is_answered(void **state)
{
    study_fixture *f = *state;
    double rows[6];
    study_answer a = study_fixture_try_create(f, DEFINITION("s", POINTS));
    assert_int_equal(a.kind, REPLY_CREATED);
    assert_string_equal(study_answer_text(&a, "id"), "s");
    assert_string_equal(study_answer_text(&a, "state"), "active");
    store_study row = stored(f, "s");
    assert_int_equal(row.candidates, 3);
    assert_int_equal(row.dimension, 2);
    assert_int_equal(store_read_candidates(f->app.store, row.study, 0, 3, 2, rows, NULL), STORE_OK);
    const double expected[6] = {0, 1, 1, 1, 2, 0};
    assert_memory_equal(rows, expected, sizeof rows);
    study_answer_clear(&a);
}

static void a_study_without_points_awaits_them(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION("s", "{'type':'candidates','dimension':2}"));
    assert_int_equal(stored(f, "s").state, STUDY_AWAITING_CANDIDATES);
}

static void a_small_space_is_enumerated(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION("s", "{'type':'space','parameters':[{'name':'a','type':'integer',"
                                            "'min':1,'max':3},{'name':'b','type':'boolean'}]}"));
    store_study row = stored(f, "s");
    assert_int_equal(row.state, STUDY_ACTIVE);
    assert_int_equal(row.candidates, 6);
}

static void an_id_is_taken_once(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION("s", POINTS));
    int64_t number = stored(f, "s").study;
    study_answer a = study_fixture_try_create(f, DEFINITION("s", POINTS));
    assert_int_equal(a.kind, REPLY_CONFLICT);
    assert_null(a.body);
    assert_int_equal(stored(f, "s").study, number);
    study_answer deleted = study_fixture_delete(f, "s");
    assert_int_equal(deleted.kind, REPLY_EMPTY);
    study_fixture_create(f, DEFINITION("s", POINTS));
    assert_int_not_equal(stored(f, "s").study, number);
}

static void limits_are_kept(void **state)
{
    study_fixture *f = *state;
    size_t n;
    f->config.max_values = 5;
    study_answer a = study_fixture_try_create(f, DEFINITION("s", POINTS)); /* 3 x 2 values */
    assert_int_equal(a.kind, REPLY_TOO_MANY_VALUES);
    f->config.max_values = 6;
    f->config.max_studies = 1;
    study_fixture_create(f, DEFINITION("s", POINTS));
    a = study_fixture_try_create(f, DEFINITION("t", POINTS));
    assert_int_equal(a.kind, REPLY_TOO_MANY_STUDIES);
    assert_int_equal(store_count_studies(f->app.store, &n, NULL), STORE_OK);
    assert_int_equal(n, 1);
}

static void what_the_engine_refuses_is_invalid(void **state)
{
    study_fixture *f = *state;
    size_t n;
    study_answer a = study_fixture_try_create(
        f, "{'id':'s','metric':{'name':'y','goal':'maximize'},'algorithm':{'name':'uniform','epsilon':0.1},"
           "'domain':" POINTS "}");
    assert_int_equal(a.kind, REPLY_INVALID);
    assert_string_equal(a.pointers[0], "/algorithm/epsilon");
    a = study_fixture_try_create(f,
                                 "{'id':'s','metric':{'name':'y','goal':'maximize'},"
                                 "'algorithm':{'name':'uniform'},'history_from':'none','domain':" POINTS "}");
    assert_int_equal(a.kind, REPLY_INVALID);
    assert_string_equal(a.pointers[0], "/history_from");
    assert_int_equal(store_count_studies(f->app.store, &n, NULL), STORE_OK);
    assert_int_equal(n, 0);
}

typedef struct imported {
    store_imported list[4];
    size_t n;
} imported;

static void take_observation(void *arg, const store_imported *row)
{
    imported *in = arg;
    assert_true(in->n < 4);
    in->list[in->n++] = *row;
}

static void a_study_takes_the_results_of_another(void **state)
{
    study_fixture *f = *state;
    imported in = {.n = 0};
    study_fixture_create(f, DEFINITION("old", POINTS));
    study_answer a = study_fixture_ask(f, "old", "{'count':2}");
    int64_t candidate = study_answer_integer(&a, "trials/1/candidate");
    study_answer_clear(&a);
    a = study_fixture_tell(f, "old", "{'results':[{'trial':2,'value':7.25}]}");
    assert_int_equal(study_answer_integer(&a, "accepted"), 1);
    study_answer_clear(&a);
    a = study_fixture_try_create(f,
                                 "{'id':'new','metric':{'name':'y','goal':'maximize'},"
                                 "'algorithm':{'name':'uniform'},'history_from':'old','domain':" POINTS "}");
    assert_int_equal(a.kind, REPLY_CREATED);
    assert_int_equal(study_answer_integer(&a, "history/imported"), 1);
    study_answer_clear(&a);
    assert_int_equal(store_read_observations(f->app.store, stored(f, "new").study, 0, INT64_MAX,
                                             take_observation, &in, NULL),
                     STORE_OK);
    assert_int_equal(in.n, 1);
    assert_int_equal(in.list[0].candidate, candidate);
    assert_true(in.list[0].value == 7.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_study_has_its_points_when_it_is_answered, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_study_without_points_awaits_them, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_small_space_is_enumerated, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(an_id_is_taken_once, study_fixture_setup, study_fixture_teardown),
        cmocka_unit_test_setup_teardown(limits_are_kept, study_fixture_setup, study_fixture_teardown),
        cmocka_unit_test_setup_teardown(what_the_engine_refuses_is_invalid, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_study_takes_the_results_of_another, study_fixture_setup,
                                        study_fixture_teardown),
    };
    return cmocka_run_group_tests_name("create", tests, NULL, NULL);
}
