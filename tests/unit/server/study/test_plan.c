/* Planning: batches from results, more picks for a batch, and when a study is finished. */
#include "tests/support/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEFINITION(fields)                                                                                   \
    "{'id':'s','metric':{'name':'y','goal':'maximize'},'seed':5,"                                            \
    "'algorithm':{'name':'bbkb','kernel':{'type':'gaussian','lengthscale':0.3},'lambda':1,"                  \
    "'noise_std':0.1,'max_batch':3},'domain':{'type':'candidates','scaling':'none',"                         \
    "'points':[[0],[0.2],[0.4],[0.6],[0.8],[1]]}" fields "}"

typedef struct batches {
    store_batch list[8]; /* without their texts */
    size_t n;
} batches;

static void take_batch(void *arg, const store_batch *row)
{
    batches *b = arg;
    assert_true(b->n < sizeof b->list / sizeof *b->list);
    b->list[b->n++] = *row;
}

static batches stored_batches(study_fixture *f)
{
    batches b = {.n = 0};
    int64_t number = study_fixture_number(f, "s");
    assert_int_equal(store_read_batches(f->app.store, number, -1, 8, take_batch, &b, NULL), STORE_OK);
    return b;
}

static void take_study(void *arg, const store_study *row)
{
    *(study_state *)arg = row->state;
}

static study_state stored_state(study_fixture *f)
{
    study_state state;
    assert_int_equal(store_read_study(f->app.store, "s", take_study, &state, NULL), STORE_OK);
    return state;
}

/* Reports that trial's value: y = trial. */
static void report(study_fixture *f, int64_t trial)
{
    char body[128];
    snprintf(body, sizeof body, "{'results':[{'trial':%lld,'value':%lld}]}", (long long)trial,
             (long long)trial);
    study_answer a = study_fixture_tell(f, "s", body);
    assert_int_equal(a.kind, REPLY_OK);
    assert_int_equal(study_answer_integer(&a, "accepted"), 1);
    study_answer_clear(&a);
}

/* Asks for `count` trials; how many came, all of that batch. */
static int64_t asked(study_fixture *f, const char *body, int64_t batch)
{
    study_answer a = study_fixture_ask(f, "s", body);
    assert_int_equal(a.kind, REPLY_OK);
    int64_t n = (int64_t)json_array_size(json_object_get(a.body, "trials"));
    for (int64_t i = 0; i < n; i++) {
        char path[48];
        snprintf(path, sizeof path, "trials/%lld/batch", (long long)i);
        assert_int_equal(study_answer_integer(&a, path), batch);
    }
    study_answer_clear(&a);
    return n;
}

static void a_batch_is_planned_from_the_results_of_the_one_before(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'batch'"));
    int64_t first = asked(f, "{'count':6,'wait_seconds':60}", 0);
    assert_in_range(first, 1, 3);
    for (int64_t t = 1; t < first; t++)
        report(f, t);
    assert_int_equal(asked(f, "{'count':6}", 0), 0); /* one result of the batch is missing */
    assert_int_equal(stored_batches(f).n, 1);
    report(f, first);
    int64_t second = asked(f, "{'count':6,'wait_seconds':60}", 1);
    assert_in_range(second, 1, 3);
    batches b = stored_batches(f);
    assert_int_equal(b.n, 2);
    assert_int_equal(b.list[0].observations, 0);
    assert_int_equal(b.list[1].observations, first);
    assert_int_equal(b.list[0].size, first);
    assert_int_equal(b.list[1].size, second);
}

static void with_asynchronous_feedback_every_worker_gets_a_trial(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'async','min_in_flight':5"));
    assert_int_equal(asked(f, "{'count':5,'wait_seconds':60}", 0), 5);
    report(f, 2);
    assert_int_equal(asked(f, "{'count':1,'wait_seconds':60}", 1), 1); /* a result has come: a new batch */
    batches b = stored_batches(f);
    assert_int_equal(b.n, 2);
    assert_int_equal(b.list[0].size, 5);
    assert_int_equal(b.list[1].observations, 1);
}

static void a_study_is_finished_at_its_horizon(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION(",'feedback':'async','min_in_flight':9,'horizon':4"));
    assert_int_equal(asked(f, "{'count':9,'wait_seconds':60}", 0), 4);
    for (int64_t t = 1; t <= 4; t++)
        report(f, t);
    study_answer a = study_fixture_ask(f, "s", "{'wait_seconds':60}");
    assert_string_equal(study_answer_text(&a, "reason"), "finished");
    assert_int_equal(a.retry_after, 60);
    assert_int_equal(stored_state(f), STUDY_FINISHED);
    study_answer_clear(&a);
}

typedef struct planned {
    double beta, sums[3];
} planned;

/* Reports three trials in this order; what the next batch is planned from. */
static planned planned_after(const int order[3])
{
    study_fixture *f = study_fixture_new();
    planned p = {0};
    char body[128];
    store_engine_state stored;
    study_fixture_create(f, DEFINITION(",'feedback':'async','min_in_flight':3"));
    assert_int_equal(asked(f, "{'count':3,'wait_seconds':60}", 0), 3);
    snprintf(body, sizeof body,
             "{'results':[{'trial':%d,'value':0.%d},{'trial':%d,'value':0.%d},{'trial':%d,'value':0.%d}]}",
             order[0], order[0], order[1], order[1], order[2], order[2]);
    study_answer a = study_fixture_tell(f, "s", body);
    assert_int_equal(study_answer_integer(&a, "accepted"), 3);
    study_answer_clear(&a);
    assert_true(asked(f, "{'count':3,'wait_seconds':60}", 1) > 0);
    p.beta = stored_batches(f).list[1].beta;
    int64_t number = study_fixture_number(f, "s");
    assert_int_equal(store_read_engine_state(f->app.store, number, &stored, NULL), STORE_OK);
    assert_in_range(stored.n_sums, 1, 3);
    for (size_t i = 0; i < stored.n_sums; i++)
        p.sums[i] = stored.sums[i].sum;
    store_engine_state_clear(&stored);
    study_fixture_free(f);
    return p;
}

static void the_order_of_reports_does_not_show(void **state)
{
    (void)state;
    planned ascending = planned_after((const int[]){1, 2, 3});
    planned other = planned_after((const int[]){3, 1, 2});
    assert_memory_equal(&ascending, &other, sizeof other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_batch_is_planned_from_the_results_of_the_one_before,
                                        study_fixture_setup, study_fixture_teardown),
        cmocka_unit_test_setup_teardown(with_asynchronous_feedback_every_worker_gets_a_trial,
                                        study_fixture_setup, study_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_study_is_finished_at_its_horizon, study_fixture_setup,
                                        study_fixture_teardown),
        cmocka_unit_test(the_order_of_reports_does_not_show),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
