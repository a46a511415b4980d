/* Requests to a study: ask, tell, predict. */
#include "proto/tokens.h"
#include "proto/wire.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static wire_status attempt_ask(const char *body, size_t size, wire_errors *errors)
{
    wire_ask *ask;
    wire_status status = wire_decode_ask(&ask, body, size, errors);
    assert_true((ask != NULL) == (status == WIRE_OK));
    wire_ask_free(ask);
    return status;
}

static wire_status attempt_tell(const char *body, size_t size, wire_errors *errors)
{
    wire_tell *tell;
    wire_status status = wire_decode_tell(&tell, body, size, errors);
    assert_true((tell != NULL) == (status == WIRE_OK));
    wire_tell_free(tell);
    return status;
}

static wire_status attempt_predict(const char *body, size_t size, wire_errors *errors)
{
    wire_predict *predict;
    wire_status status = wire_decode_predict(&predict, body, size, errors);
    assert_true((predict != NULL) == (status == WIRE_OK));
    wire_predict_free(predict);
    return status;
}

/* {"<name>": [<element>, <element> … n times]} */
static char *list_of(const char *name, const char *element, size_t n)
{
    char *text = malloc(100 + n * (strlen(element) + 1));
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, "{'%s':[", name);
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(text + at, "%s%s", i ? "," : "", element);
    sprintf(text + at, "]}");
    return text;
}

/* ---- ask ----------------------------------------------------------------------------------------------- */

static void test_ask(void **state)
{
    (void)state;
    wire_ask *ask;
    wire_errors errors = {0};
    char *body = with_quotes("{'count':4,'worker':'w1','wait_seconds':2.5,'lease_seconds':60,'fresh':true}");
    assert_int_equal(wire_decode_ask(&ask, body, strlen(body), &errors), WIRE_OK);
    assert_int_equal(ask->count, 4);
    assert_string_equal(ask->worker, "w1");
    assert_true(ask->wait_seconds == 2.5 && ask->lease_seconds.given && ask->lease_seconds.value == 60);
    assert_true(ask->fresh);
    wire_ask_free(ask);
    free(body);
}

static void test_ask_defaults(void **state)
{
    (void)state;
    static const char *const bodies[] = {"", "{}", " {} \n"};
    for (size_t i = 0; i < LENGTH(bodies); i++) {
        wire_ask *ask;
        wire_errors errors = {0};
        assert_int_equal(wire_decode_ask(&ask, bodies[i], strlen(bodies[i]), &errors), WIRE_OK);
        assert_int_equal(ask->count, 1);
        assert_null(ask->worker);
        assert_true(ask->wait_seconds == 0 && !ask->lease_seconds.given && !ask->fresh);
        wire_ask_free(ask);
    }
}

static void test_ask_refused(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"{'n':1}", "/n", "unknown field"},
        {"{'count':0}", "/count", "must be at least 1"},
        {"{'count':1001}", "/count", "must be at most 1000"},
        {"{'count':1.5}", "/count", "must be an integer"},
        {"{'count':true}", "/count", "must be an integer"},
        {"{'count':'1'}", "/count", "must be an integer"},
        {"{'count':null}", "/count", "must be an integer"},
        {"{'count':1e300}", "/count", "must be at most 1000"},
        {"{'count':-1e300}", "/count", "must be at least 1"},
        {"{'worker':''}", "/worker", "must not be empty"},
        {"{'worker':7}", "/worker", "must be a string"},
        {"{'wait_seconds':-0.1}", "/wait_seconds", "must be at least 0"},
        {"{'wait_seconds':301}", "/wait_seconds", "must be at most 300"},
        {"{'wait_seconds':'5'}", "/wait_seconds", "must be a number"},
        {"{'lease_seconds':0}", "/lease_seconds", "must be at least 1"},
        {"{'lease_seconds':1e9}", "/lease_seconds", "must be at most 31536000"},
        {"{'fresh':1}", "/fresh", "must be true or false"},
        {"{'fresh':'true'}", "/fresh", "must be true or false"},
    };
    check_refusals(attempt_ask, cases, LENGTH(cases));
    check_common(attempt_ask);

    static const char *const accepted[] = {"{'count':1000,'wait_seconds':300,'lease_seconds':31536000}",
                                           "{'count':2.0,'wait_seconds':0,'lease_seconds':1}"};
    check_accepted(attempt_ask, accepted, LENGTH(accepted));
}

static void test_worker_length(void **state)
{
    (void)state;
    char body[1000] = "{'worker':'";
    for (int i = 0; i < 200; i++)
        strcat(body, "\xC3\xA9");
    strcat(body, "'}");
    check_accepted(attempt_ask, (const char *const[]){body}, 1);
    strcpy(body + strlen(body) - 2, "x'}");
    check_refusals(attempt_ask, &(refusal){body, "/worker", "must have at most 200 characters"}, 1);
}

/* ---- tell ---------------------------------------------------------------------------------------------- */

static void test_tell(void **state)
{
    (void)state;
    wire_tell *tell;
    wire_errors errors = {0};
    char *body =
        with_quotes("{'results':["
                    "{'trial':17,'value':0.25,'attempt':2,'repeats':3,'metadata':{'gpu':[1,0.1]}},"
                    "{'trial':18,'state':'failed','reason':'OOM','retry':true},"
                    "{'trial':19,'values':{'a':1,'b':-2.5},'std_errors':{'b':0.5}},"
                    "{'trial':20,'state':'stopped','value':7,'reason':'','std_error':0.125,'cost':2.5},"
                    "{'trial':21,'state':'stopped'},"
                    "{'trial':22,'state':'infeasible'},"
                    "{'trial':23,'state':'released'},"
                    "{'trial':24,'state':'failed','retry':false}]}");
    assert_int_equal(wire_decode_tell(&tell, body, strlen(body), &errors), WIRE_OK);
    assert_int_equal(tell->n, 8);
    const wire_result *r = tell->results;
    assert_int_equal(r[0].trial, 17);
    assert_int_equal(r[0].outcome, WIRE_COMPLETED);
    assert_true(r[0].has_value && r[0].value == 0.25 && r[0].n_values == 0);
    assert_true(r[0].attempt.given && r[0].attempt.value == 2);
    assert_true(r[0].repeats.given && r[0].repeats.value == 3);
    assert_string_equal(r[0].metadata, "{\"gpu\":[1,0.1]}");
    assert_null(r[0].reason);
    assert_int_equal(r[1].outcome, WIRE_FAILED);
    assert_true(!r[1].has_value && r[1].retry && !r[1].attempt.given);
    assert_string_equal(r[1].reason, "OOM");
    assert_int_equal(r[2].outcome, WIRE_COMPLETED);
    assert_false(r[2].has_value);
    assert_true(r[2].n_std_errors == 1 && r[2].std_errors[0].value == 0.5 && !r[2].std_error.given);
    assert_string_equal(r[2].std_errors[0].name, "b");
    assert_true(r[3].cost == 2.5 && r[0].cost == 0.0);
    assert_true(r[3].std_error.given && r[3].std_error.value == 0.125 && !r[0].std_error.given);
    assert_int_equal(r[2].n_values, 2);
    assert_string_equal(r[2].values[1].name, "b");
    assert_true(r[2].values[0].value == 1 && r[2].values[1].value == -2.5);
    assert_int_equal(r[3].outcome, WIRE_STOPPED);
    assert_true(r[3].has_value && r[3].value == 7);
    assert_int_equal(r[4].outcome, WIRE_STOPPED);
    assert_false(r[4].has_value);
    assert_int_equal(r[5].outcome, WIRE_INFEASIBLE);
    assert_int_equal(r[6].outcome, WIRE_RELEASED);
    assert_int_equal(r[7].outcome, WIRE_FAILED);
    assert_false(r[7].retry);
    wire_tell_free(tell);
    free(body);
}

#define RESULT(members) "{'results':[{'trial':1,'value':1},{'trial':2," members "}]}"

static void test_tell_refused(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"{}", "/results", "is required"},
        {"{'results':{}}", "/results", "must be a list"},
        {"{'results':[]}", "/results", "must not be empty"},
        {"{'results':[7]}", "/results/0", "must be an object"},
        {"{'results':[{'trial':1,'value':1}],'study':'a'}", "/study", "unknown field"},
        {"{'results':[{'value':1}]}", "/results/0/trial", "is required"},
        {"{'results':[{'trial':0,'value':1}]}", "/results/0/trial", "must be at least 1"},
        {"{'results':[{'trial':'1','value':1}]}", "/results/0/trial", "must be an integer"},
        {"{'results':[{'trial':9007199254740992,'value':1}]}", "/results/0/trial",
         "must be at most 9007199254740991"},
        {"{'results':[{'trial':1}]}", "/results/0/value", "is required"},
        {RESULT("'value':'1'"), "/results/1/value", "must be a number"},
        {RESULT("'value':null"), "/results/1/value", "must be a number"},
        {RESULT("'value':1.1e100"), "/results/1/value", "must be at most 1e+100"},
        {RESULT("'values':{'a':-1e160}"), "/results/1/values/a", "must be at least -1e+100"},
        {RESULT("'value':false"), "/results/1/value", "must be a number"},
        {RESULT("'value':1,'valu':1"), "/results/1/valu", "unknown field"},
        {RESULT("'value':1,'values':{'a':1}"), "/results/1/values", "cannot be given together with value"},
        {RESULT("'values':[]"), "/results/1/values", "must be an object"},
        {RESULT("'values':{}"), "/results/1/values", "must not be empty"},
        {RESULT("'values':{'a/b':'1'}"), "/results/1/values/a~1b", "must be a number"},
        {RESULT("'state':'done','value':1,'retry':true,'reason':'x','repeats':2"), "/results/1/state",
         "must be \"failed\", \"infeasible\", \"stopped\" or \"released\""},
        {RESULT("'state':'completed','value':1"), "/results/1/state",
         "must be \"failed\", \"infeasible\", \"stopped\" or \"released\""},
        {RESULT("'state':null"), "/results/1/state",
         "must be \"failed\", \"infeasible\", \"stopped\" or \"released\""},
        {RESULT("'state':'failed','value':1"), "/results/1/value",
         "only allowed without a state or with the state \"stopped\""},
        {RESULT("'state':'released','values':{'a':1}"), "/results/1/values",
         "only allowed without a state or with the state \"stopped\""},
        {RESULT("'state':'infeasible','retry':true"), "/results/1/retry",
         "applies only to the state \"failed\""},
        {RESULT("'state':'failed','retry':1"), "/results/1/retry", "must be true or false"},
        {RESULT("'value':1,'retry':true"), "/results/1/retry", "applies only to the state \"failed\""},
        {RESULT("'value':1,'reason':'x'"), "/results/1/reason", "only allowed together with a state"},
        {RESULT("'state':'failed','reason':[]"), "/results/1/reason", "must be a string"},
        {RESULT("'state':'failed','repeats':2"), "/results/1/repeats", "only allowed together with a value"},
        {RESULT("'value':1,'repeats':0"), "/results/1/repeats", "must be at least 1"},
        {RESULT("'value':1,'repeats':1000001"), "/results/1/repeats", "must be at most 1000000"},
        {RESULT("'state':'failed','std_error':2"), "/results/1/std_error",
         "only allowed together with a value"},
        {RESULT("'state':'released','std_errors':{'a':1}"), "/results/1/std_errors",
         "only allowed together with a value"},
        {RESULT("'value':1,'std_error':0"), "/results/1/std_error", "must be at least 1e-100"},
        {RESULT("'value':1,'std_error':2e100"), "/results/1/std_error", "must be at most 1e+100"},
        {RESULT("'state':'failed','cost':-1"), "/results/1/cost", "must be at least 0"},
        {RESULT("'value':1,'cost':2e15"), "/results/1/cost", "must be at most 1000000000000000"},
        {RESULT("'value':1,'cost':'1'"), "/results/1/cost", "must be a number"},
        {RESULT("'value':1,'std_error':'1'"), "/results/1/std_error", "must be a number"},
        {RESULT("'value':1,'std_errors':{'a':-1}"), "/results/1/std_errors/a", "must be at least 1e-100"},
        {RESULT("'value':1,'std_errors':{}"), "/results/1/std_errors", "must not be empty"},
        {RESULT("'value':1,'std_errors':3"), "/results/1/std_errors", "must be an object"},
        {RESULT("'value':1,'std_error':1,'std_errors':{'a':1}"), "/results/1/std_error",
         "cannot be given together with std_errors"},
        {RESULT("'value':1,'attempt':0"), "/results/1/attempt", "must be at least 1"},
        {RESULT("'value':1,'attempt':2147483648"), "/results/1/attempt", "must be at most 2147483647"},
        {RESULT("'value':1,'metadata':[]"), "/results/1/metadata", "must be an object"},
    };
    check_refusals(attempt_tell, cases, LENGTH(cases));
    check_common(attempt_tell);
}

static void test_tell_sizes(void **state)
{
    (void)state;
    char *text = list_of("results", "{'trial':1,'value':1}", 1000);
    check_accepted(attempt_tell, (const char *const[]){text}, 1);
    free(text);
    text = list_of("results", "{'trial':1,'value':1}", 1001);
    check_refusals(attempt_tell, &(refusal){text, "/results", "must have at most 1000 elements"}, 1);
    free(text);

    static const struct {
        const char *before, *after;
        size_t most;
        const char *pointer, *detail;
    } cases[] = {
        {"{'results':[{'trial':1,'state':'failed','reason':'", "'}]}", 1000, "/results/0/reason",
         "must have at most 1000 characters"},
        {"{'results':[{'trial':1,'value':1,'metadata':{'a':'", "'}}]}", 4096 - 8, "/results/0/metadata",
         "must have at most 4096 bytes as JSON, not 4097"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        for (size_t more = 0; more < 2; more++) {
            char body[5000];
            char *p = stpcpy(body, cases[i].before);
            memset(p, 'x', cases[i].most + more);
            strcpy(p + cases[i].most + more, cases[i].after);
            if (more)
                check_refusals(attempt_tell, &(refusal){body, cases[i].pointer, cases[i].detail}, 1);
            else
                check_accepted(attempt_tell, (const char *const[]){body}, 1);
        }
    }
}

/* {"<before>{"k0": 0, "k1": 0, … n times}<after> */
static char *object_of(const char *before, size_t n, const char *after)
{
    char *text = malloc(strlen(before) + strlen(after) + 20 * n + 3);
    assert_non_null(text);
    char *end = stpcpy(text, before);
    *end++ = '{';
    for (size_t i = 0; i < n; i++)
        end += sprintf(end, "%s'k%zu':0", i ? "," : "", i);
    *end++ = '}';
    strcpy(end, after);
    return text;
}

/* As many metrics and parameters as a study can have, and one more. */
static void test_members(void **state)
{
    (void)state;
    static const struct {
        decode_attempt *attempt;
        const char *before, *after;
        size_t most;
        const char *pointer, *detail;
    } cases[] = {
        {attempt_tell, "{'results':[{'trial':1,'values':", "}]}", 32, "/results/0/values",
         "must have at most 32 values"},
        {attempt_ask, "{'fixed':", "}", 1000, "/fixed", "must have at most 1000 parameters"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *body = object_of(cases[i].before, cases[i].most, cases[i].after);
        check_accepted(cases[i].attempt, (const char *const[]){body}, 1);
        free(body);
        body = object_of(cases[i].before, cases[i].most + 1, cases[i].after);
        check_refusals(cases[i].attempt, &(refusal){body, cases[i].pointer, cases[i].detail}, 1);
        free(body);
    }
}

/* A refusal names each bad result. */
static void test_tell_each(void **state)
{
    (void)state;
    char *body = with_quotes("{'results':[{'trial':1},{'trial':2,'value':1},{'value':'x'}]}");
    static const char *const pointers[] = {"/results/0/value", "/results/2/trial", "/results/2/value"};
    wire_errors errors = {0};
    assert_int_equal(attempt_tell(body, strlen(body), &errors), WIRE_INVALID);
    assert_int_equal(errors.n, LENGTH(pointers));
    for (size_t i = 0; i < errors.n; i++)
        assert_string_equal(errors.items[i].pointer, pointers[i]);
    wire_errors_clear(&errors);
    free(body);
}

/* ---- predict ------------------------------------------------------------------------------------------- */

static void test_predict(void **state)
{
    (void)state;
    static const int64_t candidates[] = {3, 0, 9007199254740991};
    static const double points[] = {1, 2, 3, -4.5};
    wire_predict *predict;
    wire_errors errors = {0};
    char *body = with_quotes("{'candidates':[3,0,9007199254740991]}");
    assert_int_equal(wire_decode_predict(&predict, body, strlen(body), &errors), WIRE_OK);
    assert_int_equal(predict->n, 3);
    assert_null(predict->points);
    assert_memory_equal(predict->candidates, candidates, sizeof candidates);
    wire_predict_free(predict);
    free(body);

    body = with_quotes("{'points':[[1,2],[3,-4.5]]}");
    assert_int_equal(wire_decode_predict(&predict, body, strlen(body), &errors), WIRE_OK);
    assert_true(predict->n == 2 && predict->dimension == 2);
    assert_null(predict->candidates);
    assert_memory_equal(predict->points, points, sizeof points);
    wire_predict_free(predict);
    free(body);
}

static void test_predict_refused(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"{}", "/candidates", "one of candidates, keys, points and parameters is required"},
        {"{'candidates':[1],'points':[[1]]}", "/points", "cannot be given together with candidates"},
        {"{'candidates':[1],'x':1}", "/x", "unknown field"},
        {"{'candidates':3}", "/candidates", "must be a list"},
        {"{'candidates':[]}", "/candidates", "must not be empty"},
        {"{'candidates':[0,-1]}", "/candidates/1", "must be at least 0"},
        {"{'candidates':[0,'1']}", "/candidates/1", "must be an integer; keys are given as \"keys\""},
        {"{'candidates':[0,1.5]}", "/candidates/1", "must be an integer"},
        {"{'points':[]}", "/points", "must not be empty"},
        {"{'points':[1]}", "/points/0", "must be a list"},
        {"{'points':[[1],[]]}", "/points/1", "must not be empty"},
        {"{'points':[[1],[1,2]]}", "/points/1", "has 2 numbers, but the rows before it have 1"},
        {"{'points':[[1],['a']]}", "/points/1/0", "must be a number"},
    };
    check_refusals(attempt_predict, cases, LENGTH(cases));
    check_common(attempt_predict);

    char *text = list_of("candidates", "7", 10000);
    check_accepted(attempt_predict, (const char *const[]){text}, 1);
    free(text);
    text = list_of("candidates", "7", 10001);
    check_refusals(attempt_predict, &(refusal){text, "/candidates", "must have at most 10000 elements"}, 1);
    free(text);
    text = list_of("points", "[7]", 10001);
    check_refusals(attempt_predict, &(refusal){text, "/points", "must have at most 10000 elements"}, 1);
    free(text);
}

static wire_status attempt_new_token(const char *body, size_t size, wire_errors *errors)
{
    wire_new_token *token;
    wire_status status = wire_decode_new_token(&token, body, size, errors);
    assert_true((token != NULL) == (status == WIRE_OK));
    wire_new_token_free(token);
    return status;
}

static void test_new_token(void **state)
{
    (void)state;
    wire_new_token *token;
    wire_errors errors = {0};
    char *body = with_quotes("{'role':'worker','study':'a','description':'b','lifetime_seconds':60}");
    assert_int_equal(wire_decode_new_token(&token, body, strlen(body), &errors), WIRE_OK);
    assert_string_equal(token->role, "worker");
    assert_string_equal(token->study, "a");
    assert_string_equal(token->description, "b");
    assert_true(token->lifetime_seconds.given && token->lifetime_seconds.value == 60);
    wire_new_token_free(token);
    free(body);

    static const refusal cases[] = {
        {"{}", "/role", "is required"},
        {"{'role':'root'}", "/role", "must be \"viewer\", \"worker\", \"editor\" or \"admin\""},
        {"{'role':'admin','study':'a'}", "/study",
         "must be left out: the role \"admin\" applies to all studies"},
        {"{'role':'editor','study':''}", "/study", "must not be empty"},
        {"{'role':'editor','lifetime_seconds':0}", "/lifetime_seconds", "must be at least 1"},
        {"{'role':'editor','lifetime_seconds':315360001}", "/lifetime_seconds", "must be at most 315360000"},
        {"{'role':'editor','token':'x'}", "/token", "unknown field"},
    };
    check_refusals(attempt_new_token, cases, LENGTH(cases));
    check_common(attempt_new_token);
    static const char *const accepted[] = {"{'role':'admin'}",
                                           "{'role':'viewer','lifetime_seconds':315360000}"};
    check_accepted(attempt_new_token, accepted, LENGTH(accepted));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ask),
        cmocka_unit_test(test_ask_defaults),
        cmocka_unit_test(test_ask_refused),
        cmocka_unit_test(test_worker_length),
        cmocka_unit_test(test_tell),
        cmocka_unit_test(test_tell_refused),
        cmocka_unit_test(test_tell_sizes),
        cmocka_unit_test(test_tell_each),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_predict),
        cmocka_unit_test(test_predict_refused),
        cmocka_unit_test(test_new_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
