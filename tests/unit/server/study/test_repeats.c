/* Repeats: which candidates are handed out again, and what is said when none is left. An ask for N is an ask for N. */
#include "tests/support/study_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { CANDIDATES = 9 };

#define FIELDS(algorithm, fields)                                                                            \
    "{'id':'s','metric':{'name':'y','goal':'maximize'},'seed':5,'algorithm':" algorithm ","                  \
    "'domain':{'type':'candidates','points':[[0],[1],[2],[3],[4],[5],[6],[7],[8]]}" fields "}"

static int64_t at(const study_answer *a, size_t i, const char *member)
{
    char path[48];
    snprintf(path, sizeof path, "trials/%d/%s", (int)i, member);
    return study_answer_integer(a, path);
}

static size_t count(const study_answer *a)
{
    return json_array_size(json_object_get(a->body, "trials"));
}

/* Asks, expects n trials for that reason (NULL: all), and counts how often each candidate came. Returns the first
 * trial. */
static int64_t ask(study_fixture *f, const char *body, size_t n, const char *reason, int seen[CANDIDATES])
{
    study_answer a = study_fixture_ask(f, "s", body);
    assert_int_equal(a.kind, REPLY_OK);
    assert_int_equal(count(&a), n);
    if (reason)
        assert_string_equal(study_answer_text(&a, "reason"), reason);
    else
        assert_null(study_answer_text(&a, "reason"));
    for (size_t i = 0; seen && i < n; i++)
        seen[at(&a, i, "candidate")]++;
    int64_t first = n > 0 ? at(&a, 0, "id") : 0;
    study_answer_clear(&a);
    return first;
}

static void tell(study_fixture *f, int64_t first, int64_t n, const char *result)
{
    for (int64_t t = first; t < first + n; t++) {
        char body[128];
        snprintf(body, sizeof body, "{'results':[{'trial':%lld,%s}]}", (long long)t, result);
        study_answer a = study_fixture_tell(f, "s", body);
        assert_int_equal(a.kind, REPLY_OK);
        study_answer_clear(&a);
    }
}

static void expect_each_once(const int seen[CANDIDATES])
{
    for (int i = 0; i < CANDIDATES; i++)
        assert_int_equal(seen[i], 1);
}

/* Results, trials in flight and trials of another batch: none of their candidates comes again, whatever the algorithm,
 * and then the study has none left but goes on. */
static void never_is_never(void **state)
{
#define NEVER(name) FIELDS("{'name':'" name "'}", ",'repeats':'never'")
    static const char *const studies[] = {
        NEVER("bbkb"),      NEVER("gp_ucb"),         NEVER("gp_ei"),   NEVER("s_gp_ts"),
        NEVER("pi_gp_ucb"), NEVER("epsilon_greedy"), NEVER("uniform"), NEVER("regularized_evolution")};
    (void)state;
    for (size_t i = 0; i < sizeof studies / sizeof *studies; i++) {
        int seen[CANDIDATES] = {0};
        study_fixture *f = study_fixture_new();
        study_fixture_create(f, studies[i]);
        int64_t first = ask(f, "{'count':3,'worker':'ada','wait_seconds':60}", 3, NULL, seen);
        ask(f, "{'count':2,'worker':'bob','wait_seconds':60}", 2, NULL, seen);
        tell(f, first, 2, "'value':1.5");
        ask(f, "{'count':3,'wait_seconds':60}", 3, NULL, seen);
        ask(f, "{'count':5}", 1, "exhausted", seen);
        expect_each_once(seen);
        ask(f, "", 0, "exhausted", NULL);
        tell(f, 3, 7, "'value':1.5");
        ask(f, "", 0, "exhausted", NULL);
        study_fixture_free(f);
    }
}

/* An import is a result; a failed trial is none, and its candidate is tried again. */
static void imports_count_and_failures_do_not(void **state)
{
    static const store_observation imported[] = {{.candidate = 4, .repeats = 1, .value = 2}};
    study_fixture *f = *state;
    int seen[CANDIDATES] = {0};
    study_fixture_create(f, FIELDS("{'name':'uniform','max_arm_failures':2}", ",'repeats':'never'"));
    study_answer a = study_fixture_observe(f, "s", imported, 1);
    assert_int_equal(study_answer_integer(&a, "accepted"), 1);
    study_answer_clear(&a);
    ask(f, "{'count':9}", 8, "exhausted", seen);
    assert_int_equal(seen[4], 0);
    tell(f, 2, 7, "'value':1");
    tell(f, 1, 1, "'state':'failed'");
    memset(seen, 0, sizeof seen);
    ask(f, "{'count':9}", 1, "exhausted", seen);
    tell(f, 9, 1, "'state':'failed'");
    ask(f, "", 0, "exhausted", NULL); /* it has failed twice */
}

/* Of nine candidates the first nine picks are all; only then some come again. */
static void first_picks_differ(void **state)
{
    study_fixture *f = *state;
    int seen[CANDIDATES] = {0};
    study_fixture_create(f, FIELDS("{'name':'bbkb'}", ""));
    ask(f, "{'count':4,'wait_seconds':60}", 4, NULL, seen);
    ask(f, "{'count':5,'wait_seconds':60}", 5, NULL, seen);
    expect_each_once(seen);
    ask(f, "{'count':2,'wait_seconds':60}", 2, NULL, seen);
}

static void an_ask_for_many_gets_them(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, FIELDS("{'name':'bbkb'}", ""));
    assert_int_equal(ask(f, "{'count':6,'worker':'plate1'}", 6, NULL, NULL), 1);
    assert_int_equal(ask(f, "{'count':6,'worker':'plate1'}", 6, NULL, NULL), 1); /* it holds them */
    assert_int_equal(ask(f, "{'count':8,'worker':'plate1'}", 8, NULL, NULL), 1); /* and two more */
    assert_int_equal(ask(f, "{'count':7,'worker':'plate2'}", 7, NULL, NULL), 9);
    tell(f, 1, 5, "'value':1.5");
    assert_int_equal(ask(f, "{'count':7,'worker':'plate1','fresh':true}", 7, NULL, NULL), 16);
    assert_int_equal(ask(f, "{'count':12,'worker':'plate1'}", 12, NULL, NULL), 6);
}

/* What is held counts when parameters are fixed, too. */
static void an_ask_with_fixed_values_gets_all(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(
        f, "{'id':'s','metric':{'name':'y','goal':'maximize'},'seed':3,"
           "'domain':{'type':'space','parameters':[{'name':'a','type':'integer','min':1,'max':3},"
           "{'name':'b','type':'categorical','values':['u','v']}]}}");
    assert_int_equal(ask(f, "{'count':2,'worker':'w','fixed':{'b':'v'}}", 2, NULL, NULL), 1);
    assert_int_equal(ask(f, "{'count':1,'worker':'w','fixed':{'b':'u'}}", 1, NULL, NULL), 3);
    study_answer a = study_fixture_ask(f, "s", "{'count':4,'worker':'w','fixed':{'b':'v'}}");
    assert_int_equal(count(&a), 4);
    for (size_t i = 0; i < 4; i++) {
        static const int64_t ids[] = {1, 2, 4, 5};
        char path[48];
        snprintf(path, sizeof path, "trials/%d/parameters/b", (int)i);
        assert_string_equal(study_answer_text(&a, path), "v");
        assert_int_equal(at(&a, i, "id"), ids[i]);
    }
    study_answer_clear(&a);
}

/* Fewer come where the horizon ends the study; what is held comes at once, and so it does while paused. */
static void the_reason_says_why_there_are_fewer(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, FIELDS("{'name':'bbkb'}", ",'horizon':7"));
    ask(f, "{'count':4,'worker':'w'}", 4, NULL, NULL);
    ask(f, "{'count':9,'worker':'w','wait_seconds':300}", 7, "horizon_reached", NULL);
    ask(f, "{'count':9,'worker':'w','wait_seconds':300}", 7, "horizon_reached", NULL);
    ask(f, "{'worker':'v'}", 0, "horizon_reached", NULL);
}

/* Who says how many are to be in flight gets no more than that and the rule allow. */
static void min_in_flight_keeps_to_the_rule(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, FIELDS("{'name':'gp_ei','noise_std':0.5}", ",'min_in_flight':3"));
    int64_t first = ask(f, "{'count':3}", 3, NULL, NULL);
    tell(f, first, 3, "'value':1");
    ask(f, "{'count':6,'worker':'w'}", 3, "awaiting_feedback", NULL);
}

/* An ask that must wait for the rest of its trials is served before one that came later. */
static void asks_are_served_in_their_order(void **state)
{
    study_fixture *f = *state;
    study_fixture_create(f, FIELDS("{'name':'bbkb'}", ""));
    study_call *first = study_fixture_send_ask(f, "s", "{'count':40,'worker':'a','wait_seconds':60}");
    study_call *second = study_fixture_send_ask(f, "s", "{'count':30,'wait_seconds':60}");
    study_answer a = study_call_wait(first), b = study_call_wait(second);
    assert_int_equal(count(&a), 40);
    assert_int_equal(count(&b), 30);
    assert_int_equal(at(&a, 0, "id"), 1);
    assert_int_equal(at(&b, 0, "id"), 41);
    study_answer_clear(&a);
    study_answer_clear(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, study_fixture_setup, study_fixture_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_is_never),
        TEST(imports_count_and_failures_do_not),
        TEST(first_picks_differ),
        TEST(an_ask_for_many_gets_them),
        TEST(an_ask_with_fixed_values_gets_all),
        TEST(the_reason_says_why_there_are_fewer),
        TEST(min_in_flight_keeps_to_the_rule),
        TEST(asks_are_served_in_their_order),
    };
    return cmocka_run_group_tests_name("repeats", tests, NULL, NULL);
}
