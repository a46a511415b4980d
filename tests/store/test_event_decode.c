/* What is no entry of a log is refused by the name of the member that is wrong: each missing, each of another
 * type, and what a value may not be. */
#include "server/store/event.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One of each type with every member; ' stands for ". Those in `optional` may be missing. */
typedef struct entry {
    const char *type, *payload, *optional;
} entry;

static const entry entries[] = {
    {"study_created", "{'id':'a','definition':'{}','state':'active'}", ""},
    {"study_changed",
     "{'definition':'{}','state':'paused','reason':'','finds_best':true,'best_trial':1,'best_candidate':2,"
     "'best_value':0.5}",
     "definition finds_best best_trial best_candidate best_value"},
    {"candidates_set", "{'content':1,'count':3,'dimension':2,'digest':'00'}", ""},
    {"candidates_added", "{'first':3,'dimension':2,'rows':[[0,1],[2,3]]}", ""},
    {"candidates_retired", "{'candidates':[0,2]}", ""},
    {"batch_planned",
     "{'batch':0,'size':1,'ratio':1,'stop_rule':'initial','beta':1,'observations':0,'update_seconds':0,"
     "'select_seconds':0,'started_at':1000,'code_path':'c','through_seq':1,'dictionary':[0,1],"
     "'sums':[[0,1,0.5]],'engine_state':'00ff','first_trial':1,'picks':[[0,null]],'held':[1,null],"
     "'held_picks':1,'parameters':2,'points':[[0,1]]}",
     "held points"},
    {"batch_extended",
     "{'batch':0,'through_seq':1,'ratio':1,'stop_rule':'global','first_trial':2,'picks':[[0,0.5]],"
     "'held':[1,null],'held_picks':1,'parameters':2,'points':[[0,1]]}",
     "held points through_seq"},
    {"trial_issued", "{'trial':1,'attempt':1,'worker':'w','lease_expires_at':2000}", ""},
    {"trial_renewed", "{'trial':1,'attempt':1,'worker':'w','lease_expires_at':2000}", "worker"},
    {"trial_requeued", "{'trial':1,'outcome':'expired','attempt_counts':true}", ""},
    {"trial_told",
     "{'trial':1,'attempt':1,'state':'completed','value':0.5,'better':true,'outdone':true,'front':true,'reason':'',"
     "'repeats':2,'recorded':'{}','metadata':'{}'}",
     "outdone front repeats recorded metadata"},
    {"trial_proposed", "{'trial':2,'candidate':1,'variance':null}", ""},
    {"late_result_told",
     "{'trial':1,'attempt':2,'value':0.5,'better':false,'outdone':false,'front':true,'repeats':2,'recorded':'{}',"
     "'metadata':'{}'}",
     "outdone front repeats recorded metadata"},
    {"trial_amended",
     "{'trial':1,'state':'completed','value':0.5,'repeats':2,'recorded':'','reason':'','best_trial':1,"
     "'best_candidate':0,'best_value':0.5,'outdone':true,'front':true}",
     "value repeats outdone front"},
    {"trial_estimated", "{'trial':1,'value':0.5,'recorded':''}", ""},
    {"trial_measured", "{'trial':1,'attempt':1,'step':3,'value':0.5}", ""},
    {"observations_added", "{'observations':[[0,2,0.5]]}", ""},
    {"candidates_restored", "{'candidates':[0,2]}", ""},
    {"candidates_keyed", "{'first':3,'keys':['a','']}", ""},
    {"observation_amended", "{'observation':3,'state':'completed','value':0.5,'recorded':'{}','reason':''}",
     "value recorded"},
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

static json_t *parsed(const char *text)
{
    char *quoted = strdup(text);
    assert_non_null(quoted);
    for (char *c = quoted; *c; c++)
        if (*c == '\'')
            *c = '"';
    json_t *json = json_loads(quoted, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    free(quoted);
    return json;
}

static json_t *payload_of(const char *type)
{
    for (size_t i = 0; i < N_ENTRIES; i++)
        if (strcmp(entries[i].type, type) == 0)
            return parsed(entries[i].payload);
    fail_msg("no entry of type %s", type);
    return NULL;
}

static store_status decode(const char *type, const json_t *payload, store_error *err)
{
    store_event *event;
    char *text = json_dumps(payload, JSON_ENCODE_ANY);
    assert_non_null(text);
    store_status status = store_event_decode(&event, type, 7, text, err);
    assert_int_equal(status == STORE_OK, event != NULL);
    free(event);
    free(text);
    return status;
}

static void expect_refused(const char *type, json_t *payload, const char *member)
{
    store_error err = {0};
    char wanted[100];
    snprintf(wanted, sizeof wanted, "%s event in the log: %s", type, member);
    if (decode(type, payload, &err) != STORE_CORRUPT || strcmp(err.message, wanted) != 0)
        fail_msg("wanted: %s; got: %s", wanted, err.message);
    json_decref(payload);
}

static void entries_of_every_type_are_taken(void **state)
{
    (void)state;
    assert_int_equal(N_ENTRIES, STORE_EVENT_TYPES);
    for (size_t i = 0; i < N_ENTRIES; i++) {
        json_t *payload = parsed(entries[i].payload);
        store_error err = {0};
        if (decode(entries[i].type, payload, &err) != STORE_OK)
            fail_msg("%s", err.message);
        json_decref(payload);
    }
}

/* For each member of each entry: a copy of the payload, to be changed and freed. */
static void for_each_member(void (*visit)(size_t i, const char *member, json_t *payload))
{
    for (size_t i = 0; i < N_ENTRIES; i++) {
        json_t *all = parsed(entries[i].payload), *value;
        const char *member;
        json_object_foreach(all, member, value) visit(i, member, json_copy(all));
        json_decref(all);
    }
}

static void leave_out(size_t i, const char *member, json_t *payload)
{
    store_error err = {0};
    json_object_del(payload, member);
    if (!strstr(entries[i].optional, member)) {
        expect_refused(entries[i].type, payload, member);
        return;
    }
    if (decode(entries[i].type, payload, &err) != STORE_OK)
        fail_msg("without %s: %s", member, err.message);
    json_decref(payload);
}

static void a_missing_member_is_named(void **state)
{
    (void)state;
    for_each_member(leave_out);
}

/* An object is none of the types that members have. */
static void make_object(size_t i, const char *member, json_t *payload)
{
    json_object_set_new(payload, member, json_object());
    expect_refused(entries[i].type, payload, member);
}

static void a_member_of_another_type_is_named(void **state)
{
    (void)state;
    for_each_member(make_object);
}

static void values_out_of_range_are_named(void **state)
{
    static const struct {
        const char *type, *member, *value, *named;
    } cases[] = {
        {"study_created", "state", "'asleep'", "state"},
        {"study_changed", "state", "''", "state"},
        {"candidates_set", "count", "9007199254740994", "count"},
        {"candidates_set", "count", "1.5", "count"},
        {"candidates_added", "rows", "[]", "rows"},
        {"candidates_added", "rows", "[[0,1],[2]]", "rows"},
        {"candidates_added", "rows", "[[0,1],[2,'3']]", "rows"},
        {"candidates_added", "rows", "[[0,1],2]", "rows"},
        {"candidates_added", "dimension", "0", "rows"},
        {"candidates_added", "dimension", "4294967298", "rows"}, /* 2 + 2^32 */
        {"candidates_added", "dimension", "9007199254740992", "rows"},
        {"candidates_retired", "candidates", "[-1]", "candidates"},
        {"candidates_retired", "candidates", "[4294967296]", "candidates"},
        {"candidates_retired", "candidates", "[null]", "candidates"},
        {"candidates_keyed", "keys", "['a',3]", "keys"},
        {"candidates_keyed", "keys", "[null]", "keys"},
        {"candidates_keyed", "keys", "'a'", "keys"},
        {"batch_planned", "dictionary", "[0,-1]", "dictionary"},
        {"batch_planned", "dictionary", "[0.5]", "dictionary"},
        {"batch_planned", "sums", "[0]", "sums"},
        {"batch_planned", "sums", "[[-1,1,0.5]]", "sums"},
        {"batch_planned", "sums", "[[0,1.5,0.5]]", "sums"},
        {"batch_planned", "sums", "[[0,-1,0.5]]", "sums"},
        {"batch_planned", "sums", "[[0,1,'x']]", "sums"},
        {"batch_planned", "sums", "[[0,1]]", "sums"},
        {"batch_planned", "engine_state", "'0'", "engine_state"},
        {"batch_planned", "engine_state", "'00f'", "engine_state"},
        {"batch_planned", "engine_state", "'00FF'", "engine_state"},
        {"batch_planned", "engine_state", "'0g'", "engine_state"},
        {"batch_planned", "picks", "[[0]]", "picks"},
        {"batch_planned", "picks", "[[4294967296,0]]", "picks"},
        {"batch_planned", "picks", "[0]", "picks"},
        {"batch_planned", "held", "['x']", "held"},
        {"batch_planned", "held_picks", "-1", "held_picks"},
        {"batch_planned", "points", "[[0]]", "points"},
        {"batch_planned", "parameters", "4294967296", "points"},
        {"batch_extended", "picks", "[[0,true]]", "picks"},
        {"batch_extended", "held_picks", "0.5", "held_picks"},
        {"batch_extended", "parameters", "-2", "points"},
        {"trial_issued", "attempt", "0", "attempt"},
        {"trial_issued", "attempt", "-2147483648", "attempt"},
        {"trial_issued", "attempt", "2147483647", "attempt"},
        {"trial_issued", "attempt", "4294967297", "attempt"}, /* 1 + 2^32 */
        {"trial_renewed", "attempt", "0", "attempt"},
        {"trial_measured", "attempt", "0", "attempt"},
        {"trial_measured", "value", "null", "value"},
        {"late_result_told", "attempt", "0", "attempt"},
        {"late_result_told", "value", "null", "value"},
        {"late_result_told", "repeats", "0", "repeats"},
        {"trial_told", "attempt", "-1", "attempt"},
        {"trial_told", "state", "'done'", "state"},
        {"trial_told", "value", "null", "value"},
        {"trial_told", "repeats", "-2", "repeats"},
        {"trial_amended", "state", "'done'", "state"},
        {"trial_amended", "value", "null", "value"},
        {"trial_amended", "repeats", "0", "repeats"},
        {"trial_amended", "best_value", "null", "best_value"},
        {"trial_proposed", "candidate", "-1", "candidate"},
        {"trial_proposed", "candidate", "4294967296", "candidate"},
        {"observations_added", "observations", "[[-1,1,0.5]]", "observations"},
        {"observations_added", "observations", "[[0,0.5,0.5]]", "observations"},
        {"observations_added", "observations", "[[0,1,null]]", "observations"},
        {"observations_added", "observations", "[[0,1]]", "observations"},
        {"observations_added", "observations", "[0]", "observations"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *payload = payload_of(cases[i].type);
        json_object_set_new(payload, cases[i].member, parsed(cases[i].value));
        expect_refused(cases[i].type, payload, cases[i].named);
    }
}

static void what_is_no_entry_at_all(void **state)
{
    store_event *event;
    store_error err = {0};
    (void)state;
    assert_int_equal(store_event_decode(&event, "trial_lost", 7, "{}", &err), STORE_CORRUPT);
    assert_string_equal(err.message, "the log has an event of the unknown type 'trial_lost'");
    assert_null(event);
    expect_refused("trial_requeued", parsed("[]"), "(not an object)");
    static const char *const malformed[] = {"", "{", "{\"trial\":1,\"trial\":1}", "{\"trial\":1e999}",
                                            "{} {}"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        err = (store_error){0};
        assert_int_equal(store_event_decode(&event, "trial_told", 7, malformed[i], &err), STORE_CORRUPT);
        assert_null(event);
        assert_true(strncmp(err.message, "trial_told event in the log: ", 29) == 0 && err.message[29]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_every_type_are_taken),   cmocka_unit_test(a_missing_member_is_named),
        cmocka_unit_test(a_member_of_another_type_is_named), cmocka_unit_test(values_out_of_range_are_named),
        cmocka_unit_test(what_is_no_entry_at_all),
    };
    return cmocka_run_group_tests_name("entries of the log", tests, NULL, NULL);
}
