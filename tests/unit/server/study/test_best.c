/* The best value of a study, and the point that is recommended. */
#include "server/base/computing.h"
#include "tests/support/study_fixture.h"

#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DEFINITION(goal, algorithm)                                                                          \
    "{'id':'s','metric':{'name':'y','goal':'" goal "'},'seed':5,'algorithm':" algorithm ","                  \
    "'domain':{'type':'candidates','scaling':'none','points':[[0],[0.3],[0.6],[5]]}}"

static void observe(study_fixture *f, const store_observation *list, size_t n)
{
    study_answer a = study_fixture_observe(f, "s", list, n);
    assert_int_equal(study_answer_integer(&a, "accepted"), n);
    study_answer_clear(&a);
}

static int64_t ask(study_fixture *f)
{
    study_answer a = study_fixture_ask(f, "s", "{'wait_seconds':60}");
    int64_t trial = study_answer_integer(&a, "trials/0/id");
    study_answer_clear(&a);
    return trial;
}

static bool is_true(const study_answer *a, const char *member)
{
    return json_is_true(json_object_get(json_object_get(a->body, "observed"), member));
}

/* Before there is a model, and while a trial is measured, the means of the values speak: candidate 1 has the best of all
 * values and candidate 2 the better mean. */
static void imports_count_before_the_first_batch(void **state)
{
    static const store_observation imported[] = {
        {.candidate = 1, .repeats = 1, .value = 0.25},
        {.candidate = 1, .repeats = 1, .value = 9},
        {.candidate = 2, .repeats = 3, .value = 1},
        {.candidate = 2, .repeats = 1, .value = 3},
    };
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION("minimize", "{'name':'bbkb'}"));
    study_answer none = study_fixture_best(f, "s");
    assert_true(json_is_null(json_object_get(none.body, "observed")));
    assert_true(json_is_null(json_object_get(none.body, "recommended")));
    study_answer_clear(&none);
    ask(f);
    observe(f, imported, 4);
    study_answer a = study_fixture_best(f, "s");
    assert_int_equal(study_answer_integer(&a, "observed/observation"), 1);
    assert_int_equal(study_answer_integer(&a, "observed/candidate"), 1);
    assert_true(study_answer_number(&a, "observed/value") == 0.25);
    assert_true(json_is_null(json_object_get(json_object_get(a.body, "observed"), "expected")));
    assert_false(is_true(&a, "lucky"));
    assert_int_equal(study_answer_integer(&a, "recommended/candidate"), 2);
    assert_true(study_answer_number(&a, "recommended/mean") == 1.5);
    assert_int_equal(study_answer_integer(&a, "recommended/pulls"), 4);
    study_answer_clear(&a);
}

/* A trial's value and an imported one: the better of both, and of equal ones the trial's. */
static void trials_and_imports_are_compared(void **state)
{
    static const store_observation imported[] = {{.candidate = 3, .repeats = 1, .value = 2},
                                                 {.candidate = 0, .repeats = 1, .value = 4}};
    study_fixture *f = *state;
    study_fixture_create(f, DEFINITION("maximize", "{'name':'uniform'}"));
    int64_t trial = ask(f);
    study_answer told = study_fixture_tell(f, "s", "{'results':[{'trial':1,'value':2}]}");
    assert_int_equal(told.kind, REPLY_OK);
    study_answer_clear(&told);
    observe(f, imported, 1);
    study_answer a = study_fixture_best(f, "s");
    assert_int_equal(study_answer_integer(&a, "observed/trial"), trial);
    study_answer_clear(&a);
    observe(f, imported + 1, 1);
    a = study_fixture_best(f, "s");
    assert_int_equal(study_answer_integer(&a, "observed/observation"), 2);
    assert_int_equal(study_answer_integer(&a, "observed/candidate"), 0);
    study_answer_clear(&a);
}

#define NOISY                                                                                                \
    "{'name':'gp_ucb','kernel':{'type':'gaussian','lengthscale':0.5},'noise_std':1,'norm_bound':1,'lambda':1}"
#define EXACT                                                                                                \
    "{'name':'gp_ucb','kernel':{'type':'gaussian','lengthscale':0.5},'noise_std':0,'norm_bound':1,'lambda':1e-6}"

/* Candidate 3 is far from the others and has one lucky value; candidate 0 has many of nearly that. */
static void recommend_among(study_fixture *f, const char *definition, int64_t recommended, bool lucky)
{
    static const store_observation imported[] = {{.candidate = 3, .repeats = 1, .value = 1.9},
                                                 {.candidate = 0, .repeats = 50, .value = 0.9}};
    study_fixture_create(f, definition);
    observe(f, imported, 2);
    ask(f);
    study_answer a = study_fixture_best(f, "s");
    assert_int_equal(study_answer_integer(&a, "observed/candidate"), 3);
    assert_int_equal(study_answer_integer(&a, "recommended/candidate"), recommended);
    assert_int_equal(study_answer_integer(&a, "recommended/pulls"), recommended == 3 ? 1 : 50);
    assert_true(study_answer_number(&a, "recommended/std") >= 0);
    assert_int_equal(is_true(&a, "lucky"), lucky);
    double expected = study_answer_number(&a, "observed/expected");
    assert_true(lucky ? fabs(expected - 0.95) < 1e-6 : fabs(expected - 1.9) < 1e-3);
    study_answer_clear(&a);
}

/* One pull with unit noise on a unit prior: mean 1.9/2 = 0.95, variance 1/2. Fifty pulls: 0.882 and 1/51. */
static void a_lucky_value_is_not_recommended(void **state)
{
    recommend_among(*state, DEFINITION("maximize", NOISY), 0, true);
}

static void without_noise_the_mean_decides(void **state)
{
    recommend_among(*state, DEFINITION("maximize", EXACT), 3, false);
}

/* Every other candidate is worse, which no smooth function follows, and results that are repeated agree. So the best
 * candidate is recommended with its own value, and that value is not lucky. */
static void candidates_have_deviations_of_their_own(void **state)
{
    static const double values[] = {3, 0.5, 3.5, 0.2, 3.2, 0.4, 4, 0.1, 3.3, 0.6, 3.1, 0.3};
    enum { N = sizeof values / sizeof *values };
    store_observation imported[N];
    study_fixture *f = *state;
    study_fixture_create(
        f, "{'id':'s','metric':{'name':'y','goal':'maximize'},'seed':5,'algorithm':{'name':'log_ei',"
           "'kernel':{'type':'gaussian','lengthscale':0.5}},'domain':{'type':'candidates','scaling':"
           "'none','points':[[0],[0.1],[0.2],[0.3],[0.4],[0.5],[0.6],[0.7],[0.8],[0.9],[1],[1.1]]}}");
    for (size_t i = 0; i < N; i++)
        imported[i] = (store_observation){.candidate = (uint32_t)i, .repeats = 1, .value = values[i]};
    observe(f, imported, N);
    ask(f);
    study_answer before = study_fixture_best(f, "s");
    assert_true(study_answer_number(&before, "observed/expected") < 3.8);
    study_answer_clear(&before);
    observe(f, imported, N / 2);
    study_answer told = study_fixture_tell(f, "s", "{'results':[{'trial':1,'state':'failed'}]}");
    assert_int_equal(told.kind, REPLY_OK);
    study_answer_clear(&told);
    ask(f);
    study_answer a = study_fixture_best(f, "s");
    assert_int_equal(study_answer_integer(&a, "recommended/candidate"), 6);
    assert_true(fabs(study_answer_number(&a, "recommended/mean") - 4) < 1e-6);
    assert_true(fabs(study_answer_number(&a, "observed/expected") - 4) < 1e-6);
    assert_false(is_true(&a, "lucky"));
    study_answer_clear(&a);
}

/* ---- while a batch is planned ----------------------------------------------------------------------------- */

/* Keeps both threads that compute busy. */
typedef struct blocker {
    computing_job jobs[2];
    sem_t begun, end;
} blocker;

static blocker busy;

static void wait_for_end(computing_job *job)
{
    (void)job;
    sem_post(&busy.begun);
    sem_wait(&busy.end);
}

static void wait_for_jobs(study_fixture *f, size_t jobs)
{
    computing_statistics now;
    do {
        sched_yield();
        computing_read_statistics(f->app.computing, &now);
    } while (now.jobs != jobs);
}

static void block(study_fixture *f)
{
    wait_for_jobs(f, 0); /* what is made after a batch is ready */
    for (int i = 0; i < 2; i++) {
        busy.jobs[i] = (computing_job){.run = wait_for_end};
        computing_submit(f->app.computing, &busy.jobs[i], NULL);
    }
    for (int i = 0; i < 2; i++)
        sem_wait(&busy.begun);
}

static void unblock(void)
{
    sem_post(&busy.end);
    sem_post(&busy.end);
}

static void tell(study_fixture *f, int64_t trial, double value)
{
    char body[80];
    snprintf(body, sizeof body, "{'results':[{'trial':%lld,'value':%g}]}", (long long)trial, value);
    study_answer told = study_fixture_tell(f, "s", body);
    assert_int_equal(told.kind, REPLY_OK);
    study_answer_clear(&told);
}

#define IN_BATCHES                                                                                           \
    "{'id':'s','metric':{'name':'y','goal':'maximize'},'seed':5,'feedback':'batch','algorithm':" NOISY ","   \
    "'domain':{'type':'candidates','scaling':'none','points':[[0],[0.3],[0.6],[5]]}}"

/* Reports the same value for all trials of a batch, and returns the number of the last one. */
static int64_t tell_all(study_fixture *f, int64_t first, double value)
{
    study_answer a = study_fixture_ask(f, "s", "{'count':9,'wait_seconds':60}");
    int64_t last = first + (int64_t)json_array_size(json_object_get(a.body, "trials")) - 1;
    assert_true(last >= first);
    study_answer_clear(&a);
    for (int64_t trial = first; trial <= last; trial++)
        tell(f, trial, value);
    return last;
}

/* Once it has been asked for, `best` waits for no batch: neither for the next one nor for later ones. */
static void it_is_remembered_while_a_batch_is_planned(void **state)
{
    study_fixture *f = *state;
    sem_init(&busy.begun, 0, 0);
    sem_init(&busy.end, 0, 0);
    study_fixture_create(f, IN_BATCHES);
    int64_t last = tell_all(f, 1, 2);
    wait_for_jobs(f, 0);
    study_answer first = study_fixture_best(f, "s");
    for (int round = 0; round < 3; round++) {
        study_answer a = study_fixture_ask(f, "s", "{'wait_seconds':60}");
        assert_int_equal(study_answer_integer(&a, "trials/0/id"), ++last);
        study_answer_clear(&a);
        block(f);
        tell(f, last, 1); /* the last one of its batch */
        wait_for_jobs(f, 3);
        a = study_fixture_best(f, "s");
        unblock(); /* first: without it nothing ends, not even a test that has failed */
        assert_int_equal(a.kind, REPLY_OK);
        assert_int_equal(study_answer_integer(&a, "observed/trial"), 1);
        assert_true(round > 0 || json_equal(a.body, first.body));
        study_answer_clear(&a);
    }
    study_answer_clear(&first);
    sem_destroy(&busy.begun);
    sem_destroy(&busy.end);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, study_fixture_setup, study_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(imports_count_before_the_first_batch),    TEST(trials_and_imports_are_compared),
        TEST(a_lucky_value_is_not_recommended),        TEST(without_noise_the_mean_decides),
        TEST(candidates_have_deviations_of_their_own), TEST(it_is_remembered_while_a_batch_is_planned),
    };
    return cmocka_run_group_tests_name("best", tests, NULL, NULL);
}
