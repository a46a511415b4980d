/* Small requests that change a study or one of its trials. */
#include "proto/changes.h"
#include "proto/keys.h"
#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define ATTEMPT(name)                                                                                        \
    static wire_status attempt_##name(const char *body, size_t size, wire_errors *errors)                    \
    {                                                                                                        \
        wire_##name *out;                                                                                    \
        wire_status status = wire_decode_##name(&out, body, size, errors);                                   \
        assert_true((out != NULL) == (status == WIRE_OK));                                                   \
        wire_##name##_free(out);                                                                             \
        return status;                                                                                       \
    }
ATTEMPT(study_patch)
ATTEMPT(retire)
ATTEMPT(fork)
ATTEMPT(proposal)
ATTEMPT(amendment)
#undef ATTEMPT

static wire_status attempt_heartbeat(const char *body, size_t size, wire_errors *errors)
{
    wire_heartbeat out;
    return wire_decode_heartbeat(&out, body, size, errors);
}

static wire_status attempt_measurement(const char *body, size_t size, wire_errors *errors)
{
    wire_measurement out;
    return wire_decode_measurement(&out, body, size, errors);
}

/* Decodes `text` (' for ") with the decoder of `type` into *out. */
#define DECODE(type, out, text)                                                                              \
    do {                                                                                                     \
        char *body = with_quotes(text);                                                                      \
        wire_errors errors = {0};                                                                            \
        assert_int_equal(wire_decode_##type(out, body, strlen(body), &errors), WIRE_OK);                     \
        free(body);                                                                                          \
    } while (0)

static void test_study_patch(void **state)
{
    (void)state;
    wire_study_patch *p;
    DECODE(study_patch, &p,
           "{'display_name':'x','labels':{'a':'b'},'metadata':{},'state':'paused','horizon':7,"
           "'lease_seconds':2.5,'max_attempts':4,'min_in_flight':5}");
    assert_string_equal(p->display_name, "x");
    assert_string_equal(p->labels, "{\"a\":\"b\"}");
    assert_string_equal(p->metadata, "{}");
    assert_string_equal(p->state, "paused");
    assert_true(p->horizon.value == 7 && p->lease_seconds.value == 2.5 && p->max_attempts.value == 4);
    assert_true(p->min_in_flight.given && p->min_in_flight.value == 5);
    wire_study_patch_free(p);
    DECODE(study_patch, &p, "{}");
    assert_true(!p->display_name && !p->labels && !p->metadata && !p->state);
    assert_false(p->horizon.given || p->lease_seconds.given || p->max_attempts.given ||
                 p->min_in_flight.given);
    assert_false(p->no_display_name || p->no_labels || p->no_metadata || p->no_horizon);
    wire_study_patch_free(p);
    DECODE(study_patch, &p,
           "{'metrics':[{'name':'a','threshold':1,'at_least':-2},{'name':'b','at_most':3}]}");
    assert_int_equal(p->n_metrics, 2);
    assert_string_equal(p->metrics[0].name, "a");
    assert_true(p->metrics[0].threshold.value == 1 && p->metrics[0].at_least.value == -2);
    assert_true(!p->metrics[0].at_most.given && p->metrics[1].at_most.value == 3);
    wire_study_patch_free(p);
    DECODE(study_patch, &p, "{'display_name':null,'labels':null,'metadata':null,'horizon':null}");
    assert_true(p->no_display_name && p->no_labels && p->no_metadata && p->no_horizon);
    assert_true(!p->display_name && !p->labels && !p->metadata && !p->horizon.given);
    wire_study_patch_free(p);

#define FIXED "cannot be changed after the study was created"
    static const refusal cases[] = {
        {"{'id':'a'}", "/id", FIXED},
        {"{'seed':1}", "/seed", FIXED},
        {"{'algorithm':{}}", "/algorithm", FIXED},
        {"{'metric':{}}", "/metric", FIXED},
        {"{'metrics':[]}", "/metrics", "must not be empty"},
        {"{'metrics':[{'threshold':1}]}", "/metrics/0/name", "is required"},
        {"{'metrics':[{'name':'a','goal':'maximize'}]}", "/metrics/0/goal", FIXED},
        {"{'metrics':[{'name':'a','role':'recorded'}]}", "/metrics/0/role", FIXED},
        {"{'metrics':[{'name':'a','at_most':'1'}]}", "/metrics/0/at_most", "must be a number"},
        {"{'metrics':[{'name':'a','optimum':1}]}", "/metrics/0/optimum", "unknown field"},
        {"{'name':'a'}", "/name",
         "unknown field; allowed here are display_name, labels, metadata, state, horizon, lease_seconds, max_attempts, min_in_flight, stop_when, metrics"},
        {"{'display_name':1}", "/display_name", "must be a string"},
        {"{'state':null}", "/state", "must be \"active\", \"paused\" or \"finished\""},
        {"{'labels':{'a':1}}", "/labels/a", "must be a string"},
        {"{'metadata':[]}", "/metadata", "must be an object"},
        {"{'state':'error'}", "/state", "must be \"active\", \"paused\" or \"finished\""},
        {"{'horizon':0}", "/horizon", "must be at least 1"},
        {"{'lease_seconds':0}", "/lease_seconds", "must be at least 1"},
        {"{'max_attempts':0}", "/max_attempts", "must be at least 1"},
        {"{'min_in_flight':0}", "/min_in_flight", "must be at least 1"},
    };
    check_refusals(attempt_study_patch, cases, LENGTH(cases));
    check_common(attempt_study_patch);
}

static void test_candidates(void **state)
{
    (void)state;
    static const int64_t numbers[] = {4, 3, 4};
    wire_retire *retire;
    DECODE(retire, &retire, "{'candidates':[4,3,4]}");
    assert_int_equal(retire->n, 3);
    assert_memory_equal(retire->candidates, numbers, sizeof numbers);
    wire_retire_free(retire);

    DECODE(retire, &retire, "{'keys':['b','a']}");
    assert_true(retire->n == 2 && retire->keys->n == 2 && retire->candidates);
    assert_string_equal(wire_keys_at(retire->keys, 1), "a");
    wire_retire_free(retire);

    static const refusal retire_cases[] = {
        {"{'keys':['a'],'candidates':[1]}", "/candidates", "cannot be given together with keys"},
        {"{'keys':['a','']}", "/keys/1", "must not be empty"},
        {"{}", "/candidates", "is required"},
        {"{'candidates':[]}", "/candidates", "must not be empty"},
        {"{'candidates':3}", "/candidates", "must be a list"},
        {"{'candidates':[0,-1]}", "/candidates/1", "must be at least 0"},
        {"{'candidates':[1],'x':1}", "/x", "unknown field"},
    };
    check_refusals(attempt_retire, retire_cases, LENGTH(retire_cases));
    check_common(attempt_retire);
}

static void test_proposal(void **state)
{
    (void)state;
    wire_proposal *p;
    DECODE(proposal, &p, "{'candidate':3}");
    assert_int_equal(p->candidate, 3);
    assert_int_equal(p->parameters.n, 0);
    wire_proposal_free(p);
    DECODE(proposal, &p, "{'key':'CCO'}");
    assert_int_equal(p->candidate, -1);
    assert_string_equal(p->key, "CCO");
    wire_proposal_free(p);
    DECODE(proposal, &p, "{'parameters':{'lr':0.5,'opt':'sgd','flag':true}}");
    assert_int_equal(p->candidate, -1);
    assert_int_equal(p->parameters.n, 3);
    assert_string_equal(p->parameters.items[0].name, "lr");
    assert_true(p->parameters.items[0].type == WIRE_ASSIGN_NUMBER && p->parameters.items[0].number == 0.5);
    assert_int_equal(p->parameters.items[1].type, WIRE_ASSIGN_TEXT);
    assert_string_equal(p->parameters.items[1].text, "sgd");
    assert_true(p->parameters.items[2].type == WIRE_ASSIGN_TRUTH && p->parameters.items[2].number == 1);
    wire_proposal_free(p);

    static const refusal cases[] = {
        {"{}", "/candidate", "one of candidate, key and parameters is required"},
        {"{'candidate':-1}", "/candidate", "must be at least 0"},
        {"{'candidate':1,'key':'a'}", "/candidate", "cannot be given together with key"},
        {"{'key':'a','parameters':{}}", "/key", "cannot be given together with parameters"},
        {"{'key':7}", "/key", "must be a string"},
        {"{'candidate':1,'parameters':{}}", "/candidate", "cannot be given together with parameters"},
        {"{'parameters':[]}", "/parameters", "must be an object"},
        {"{'parameters':{'a/b':null}}", "/parameters/a~1b", "must be a number, a string, true or false"},
        {"{'candidate':1,'x':1}", "/x", "unknown field"},
    };
    check_refusals(attempt_proposal, cases, LENGTH(cases));
    check_common(attempt_proposal);
}

static void test_heartbeat(void **state)
{
    (void)state;
    wire_heartbeat h;
    DECODE(heartbeat, &h, "{'lease_seconds':600,'attempt':2}");
    assert_true(h.lease_seconds.given && h.lease_seconds.value == 600);
    assert_true(h.attempt.given && h.attempt.value == 2);
    DECODE(heartbeat, &h, "");
    assert_false(h.lease_seconds.given || h.attempt.given);
    static const refusal cases[] = {
        {"{'lease':1}", "/lease", "unknown field; allowed here are lease_seconds, attempt"},
        {"{'lease_seconds':0.5}", "/lease_seconds", "must be at least 1"},
        {"{'attempt':0}", "/attempt", "must be at least 1"},
    };
    check_refusals(attempt_heartbeat, cases, LENGTH(cases));
    check_common(attempt_heartbeat);
}

static void test_measurement(void **state)
{
    (void)state;
    wire_measurement m;
    DECODE(measurement, &m, "{'step':3,'value':0.7,'attempt':1}");
    assert_true(m.step == 3 && m.value == 0.7 && m.attempt.value == 1);
    static const refusal cases[] = {
        {"{'value':1}", "/step", "is required"},
        {"{'step':0}", "/value", "is required"},
        {"{'step':-1,'value':1}", "/step", "must be at least 0"},
        {"{'step':1.5,'value':1}", "/step", "must be an integer"},
        {"{'step':1,'value':null}", "/value", "must be a number"},
        {"{'step':1,'value':1,'x':1}", "/x", "unknown field"},
    };
    check_refusals(attempt_measurement, cases, LENGTH(cases));
    check_common(attempt_measurement);
}

static void test_amendment(void **state)
{
    (void)state;
    wire_amendment *a;
    DECODE(amendment, &a, "{'value':0.5,'reason':'unit'}");
    assert_int_equal(a->result.outcome, WIRE_COMPLETED);
    assert_true(a->result.has_value && a->result.value == 0.5);
    assert_string_equal(a->result.reason, "unit");
    wire_amendment_free(a);
    DECODE(amendment, &a, "{'values':{'a':1,'b':2},'repeats':7}");
    assert_int_equal(a->result.outcome, WIRE_COMPLETED);
    assert_int_equal(a->result.n_values, 2);
    assert_true(a->result.repeats.given && a->result.repeats.value == 7);
    wire_amendment_free(a);
    DECODE(amendment, &a, "{'state':'failed'}");
    assert_int_equal(a->result.outcome, WIRE_FAILED);
    wire_amendment_free(a);
    DECODE(amendment, &a, "{'state':'infeasible'}");
    assert_int_equal(a->result.outcome, WIRE_INFEASIBLE);
    wire_amendment_free(a);

    static const refusal cases[] = {
        {"{}", "/value", "is required"},
        {"{'value':'1'}", "/value", "must be a number"},
        {"{'value':1,'state':'failed'}", "/value", "cannot be given together with state"},
        {"{'values':{'a':1},'state':'failed'}", "/values", "cannot be given together with state"},
        {"{'repeats':2,'state':'failed'}", "/repeats", "cannot be given together with state"},
        {"{'value':1,'repeats':0}", "/repeats", "must be at least 1"},
        {"{'value':1,'values':{'a':1}}", "/value", "cannot be given together with values"},
        {"{'state':'stopped'}", "/state", "must be \"failed\" or \"infeasible\""},
        {"{'value':1,'trial':3}", "/trial", "unknown field"},
        {"{'value':1,'reason':7}", "/reason", "must be a string"},
    };
    check_refusals(attempt_amendment, cases, LENGTH(cases));
    check_common(attempt_amendment);
}

static void test_answers(void **state)
{
    (void)state;
    char *text;
    size_t size;
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_added(&w, 7, 3);
    assert_true(wire_writer_finish(&w, &text, &size));
    assert_string_equal(text, "{\"candidates\":[7,8,9]}");
    free(text);
    wire_encode_measurement_answer(&w, true);
    assert_true(wire_writer_finish(&w, &text, &size));
    assert_string_equal(text, "{\"should_stop\":true}");
    free(text);
}

static void test_fork(void **state)
{
    (void)state;
    wire_fork *fork;
    DECODE(fork, &fork, "{'id':'other','at_trial':12}");
    assert_string_equal(fork->id, "other");
    assert_true(fork->at_trial.given && fork->at_trial.value == 12);
    wire_fork_free(fork);
    DECODE(fork, &fork, "{'id':'a'}");
    assert_false(fork->at_trial.given || fork->changes);
    wire_fork_free(fork);
    DECODE(fork, &fork, "{'id':'a','aim':'best','seed':null,'at_trial':3}");
    assert_string_equal(fork->changes, "{\"seed\":null,\"aim\":\"best\"}");
    char *text;
    size_t size;
    assert_int_equal(
        wire_change_definition(&text, &size, "{\"id\":\"b\",\"seed\":4,\"algorithm\":{}}", fork, "b"),
        WIRE_OK);
    assert_string_equal(text, "{\"id\":\"a\",\"aim\":\"best\",\"history_from\":\"b\"}");
    free(text);
    wire_fork_free(fork);
    DECODE(fork, &fork, "{'id':'a','seed':5}");
    assert_int_equal(wire_change_definition(&text, &size, "{\"id\":\"b\",\"seed\":4}", fork, "b"), WIRE_OK);
    assert_string_equal(text, "{\"id\":\"a\",\"seed\":5,\"aim\":\"regret\",\"history_from\":\"b\"}");
    free(text);
    wire_fork_free(fork);
    static const refusal cases[] = {
        {"{}", "/id", "is required"},
        {"{'id':'A'}", "/id",
         "must have 1 to 63 characters a-z, 0-9, '.', '_' and '-', and start with a-z or 0-9"},
        {"{'id':'a','at_trial':0}", "/at_trial", "must be at least 1"},
        {"{'id':'a','domain':{}}", "/domain",
         "cannot be changed by a fork; create a study with history_from"},
        {"{'id':'a','sead':1}", "/sead", "unknown field"},
    };
    check_refusals(attempt_fork, cases, LENGTH(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_study_patch), cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_proposal),    cmocka_unit_test(test_heartbeat),
        cmocka_unit_test(test_measurement), cmocka_unit_test(test_amendment),
        cmocka_unit_test(test_answers),     cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
