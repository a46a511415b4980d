/* Imported results: whatever the chunks, the same observations or the same refusal. */
#include "bandit/algorithm.h"
#include "proto/read_observations.h"
#include "tests/support/refusals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* What came, as text: one line an observation. */
typedef struct notes {
    const wire_study *study;
    char text[1024];
    size_t n, count;
    int64_t refuse; /* this candidate */
} notes;

static bool take(void *arg, size_t index, const char *place, const wire_observation *o, wire_errors *errors)
{
    notes *s = arg;
    assert_int_equal(index, s->count);
    s->count++;
    if (o->candidate == s->refuse) {
        wire_errors_add(errors, "", "%s: no such candidate", place);
        return false;
    }
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%lld", (long long)o->candidate);
    for (size_t i = 0; i < s->study->n_parameters; i++)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " %g", o->parameters[i]);
    if (o->features)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " [%g %g]", o->features[0],
                                 o->features[1]);
    if (o->key)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " %s", o->key);
    if (o->has_value)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " = %.17g", o->value);
    for (size_t i = 0; i < o->n_values; i++)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " %s=%g", o->values[i].name,
                                 o->values[i].value);
    if (o->std_error.given)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " +-%g", o->std_error.value);
    for (size_t i = 0; i < o->n_std_errors; i++)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " %s+-%g", o->std_errors[i].name,
                                 o->std_errors[i].value);
    if (o->cost > 0.0)
        s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " $%g", o->cost);
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, " x%lld\n", (long long)o->repeats);
    return true;
}

typedef struct expectation {
    const char *text; /* ' stands for " */
    wire_status status;
    const char *notes;            /* of what is taken */
    const char *pointer, *detail; /* of a refusal */
    const char *ignored;          /* columns; NULL: none */
} expectation;

static void check(const expectation *e, const wire_study *study, wire_observations_format format,
                  const char *text, size_t cut)
{
    notes s = {.study = study, .refuse = 99};
    size_t size = strlen(text);
    wire_errors errors = {0};
    wire_observations_reader *r;
    assert_int_equal(wire_observations_reader_new(&r, format, study, take, &s), WIRE_OK);
    if (e->ignored)
        assert_int_equal(wire_observations_reader_ignore(r, e->ignored), WIRE_OK);
    wire_status status = WIRE_OK;
    /* cut beyond the end: byte by byte */
    size_t step = cut > size ? 1 : cut > 0 ? cut : size;
    for (size_t at = 0; at < size && status == WIRE_OK; at += step, step = cut > size ? 1 : size - cut)
        status = wire_observations_reader_feed(r, text + at, step, &errors);
    if (status == WIRE_OK)
        status = wire_observations_reader_finish(r, &errors);
    if (status != e->status)
        print_error("%s: %s\n", e->text, errors.n ? errors.items[0].detail : "");
    assert_int_equal(status, e->status);
    if (status == WIRE_OK) {
        assert_int_equal(errors.n, 0);
        assert_string_equal(s.text, e->notes);
        assert_int_equal(wire_observations_reader_count(r), s.count);
    } else {
        assert_int_equal(errors.n, 1);
        assert_string_equal(errors.items[0].pointer, e->pointer);
        assert_string_equal(errors.items[0].detail, e->detail);
    }
    wire_errors_clear(&errors);
    wire_observations_reader_free(r);
}

static void check_all(const expectation *cases, size_t n, const char *definition,
                      wire_observations_format format)
{
    char *body = with_quotes(definition);
    wire_errors errors = {0};
    wire_study *study;
    assert_int_equal(wire_decode_study(&study, body, strlen(body), bandit_algorithm_names(), &errors),
                     WIRE_OK);
    free(body);
    for (size_t i = 0; i < n; i++) {
        char *text = with_quotes(cases[i].text);
        for (size_t cut = 0; cut <= strlen(text) + 1; cut++)
            check(&cases[i], study, format, text, cut);
        free(text);
    }
    wire_study_free(study);
}

#define CANDIDATES "{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'candidates','dimension':2}}"
#define SPACE                                                                                                \
    "{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'space','parameters':["                       \
    "{'name':'opt','type':'categorical','values':['adam','sgd']},"                                           \
    "{'name':'m','type':'integer','min':1,'max':9,'active_when':{'parameter':'opt','in':['sgd']}},"          \
    "{'name':'lr','type':'double','min':0,'max':1,'default':0.5}]}}"

#define SEVERAL                                                                                              \
    "{'metrics':[{'name':'v','goal':'maximize'},{'name':'w','goal':'minimize'},"                             \
    "{'name':'note','role':'recorded'}],'domain':{'type':'candidates','dimension':2}}"

#define INVALID(body, where, what)                                                                           \
    {                                                                                                        \
        .text = body, .status = WIRE_INVALID, .pointer = where, .detail = what                               \
    }
#define MALFORMED(body, what)                                                                                \
    {                                                                                                        \
        .text = body, .status = WIRE_MALFORMED, .pointer = "", .detail = what                                \
    }
#define LIST(elements) "{'observations':[" elements "]}"

static void test_json(void **state)
{
    (void)state;
    static const expectation cases[] = {
        {.text = LIST("{'candidate':5,'value':0.25},{'candidate':0,'value':-1,'repeats':3}"),
         .notes = "5 = 0.25 x1\n0 = -1 x3\n"},
        {.text = " {\n'observations' : [ {'values' : {'v]':1 , 'c':2}, 'candidate':7} ] } ",
         .notes = "7 v]=1 c=2 x1\n"},
        {.text = "{'observa\\u0074ions':[{'candidate':1,'value':1e-3}]}", .notes = "1 = 0.001 x1\n"},
        {.text = LIST("{'point':[1,-2.5],'value':1},{'candidate':3,'value':2}"),
         .notes = "-1 [1 -2.5] = 1 x1\n3 = 2 x1\n"},
        {.text = LIST(
             "{'candidate':1,'value':1,'std_error':0.5},{'candidate':2,'values':{'v':1},'std_errors':{'v':2}}"),
         .notes = "1 = 1 +-0.5 x1\n2 v=1 v+-2 x1\n"},
        {.text = LIST("{'candidate':1,'value':1,'cost':0.5}"), .notes = "1 = 1 $0.5 x1\n"},
        INVALID(LIST("{'candidate':1,'value':1,'cost':-1}"), "/observations/0/cost", "must be at least 0"),
        INVALID(LIST("{'candidate':1,'value':1,'std_error':-1}"), "/observations/0/std_error",
                "must be at least 1e-100"),
        INVALID(LIST("{'point':[1],'value':1}"), "/observations/0/point", "must be a list of 2 numbers"),
        INVALID(LIST("{'point':[1,'a'],'value':1}"), "/observations/0/point/1", "must be a number"),
        {.text = LIST("{'key':'CCO','value':2}"), .notes = "-1 CCO = 2 x1\n"},
        INVALID(LIST("{'candidate':'CCO','value':1}"), "/observations/0/candidate",
                "must be an integer; a key is given as \"key\""),
        INVALID(LIST("{'key':'a','candidate':3,'value':1}"), "/observations/0/candidate",
                "cannot be given together with key"),
        INVALID(LIST("{'key':'a','point':[1,2],'value':1}"), "/observations/0/key",
                "cannot be given together with point"),
        INVALID(LIST("{'key':' a','value':1}"), "/observations/0/key", "must not begin or end with a blank"),
        INVALID(LIST("{'point':[1,2],'candidate':3,'value':1}"), "/observations/0/candidate",
                "cannot be given together with point"),
        INVALID(LIST("{'candidate':5,'value':1},{'candidate':99,'value':1}"), "",
                "/observations/1: no such candidate"),
        INVALID(LIST("{'candidate':5,'value':1},{'value':1}"), "/observations/1/candidate", "is required"),
        INVALID(LIST("{'candidate':5}"), "/observations/0/value", "is required"),
        INVALID(LIST("{'candidate':5,'value':true}"), "/observations/0/value", "must be a number"),
        INVALID(LIST("{'candidate':-5,'value':1}"), "/observations/0/candidate", "must be at least 0"),
        INVALID(LIST("{'candidate':5,'value':1,'repeats':0}"), "/observations/0/repeats",
                "must be at least 1"),
        INVALID(LIST("{'candidate':5,'value':1,'values':{'v':1}}"), "/observations/0/value",
                "cannot be given together with values"),
        INVALID(LIST("{'candidate':5,'value':1,'parameters':{}}"), "/observations/0/parameters",
                "applies only to a domain of type \"space\""),
        INVALID(
            LIST("{'candidate':5,'value':1,'x':1}"), "/observations/0/x",
            "unknown field; allowed here are point, key, candidate, values, value, repeats, std_errors, std_error, cost"),
        INVALID(LIST("7"), "/observations/0", "must be an object"),
        INVALID(LIST(""), "/observations", "must not be empty"),
        INVALID(LIST(" "), "/observations", "must not be empty"),
        INVALID("{}", "/observations", "is required"),
        INVALID("{'observations':3}", "/observations", "must be a list"),
        INVALID("[]", "", "must be an object"),
        INVALID("{'observations':'['}", "/observations", "must be a list"),
        INVALID("7", "", "must be an object"),
        INVALID("{'observations':[{'candidate':5,'value':1}],'x':[1]}", "/x",
                "unknown field; allowed here are observations"),
        MALFORMED("", "outside the list: not valid JSON: the text is empty"),
        MALFORMED(LIST("{'candidate':5,'value':NaN}"),
                  "/observations/0: not valid JSON: line 1, column 26: invalid token near 'NaN'"),
        MALFORMED(LIST("{'candidate':5,'value':1},"), "/observations/1: not valid JSON: the text is empty"),
        MALFORMED("{'observations':[{'candidate':5", "not valid JSON: ends inside the list"),
        MALFORMED("{'observations':[{'candidate':5,'value':1}]",
                  "outside the list: not valid JSON: line 1, column 18: '}' expected near end of file"),
        MALFORMED("{'observations':[{'candidate':5,'value':1}],'observations':[]}",
                  "outside the list: not valid JSON: line 1, column 33: duplicate object key near "
                  "'\"observations\"'"),
    };
    check_all(cases, LENGTH(cases), CANDIDATES, WIRE_OBSERVATIONS_JSON);
}

/* An element of 262144 bytes is read as any other; one more is refused before it is all there. */
static void test_json_long(void **state)
{
    (void)state;
    static const char head[] = "{\"observations\":[", element[] = "{\"candidate\":1,\"value\":2}";
    static char body[300000];
    for (size_t more = 0; more < 2; more++) {
        wire_study study = {.domain_type = WIRE_DOMAIN_CANDIDATES};
        notes s = {.study = &study};
        wire_errors errors = {0};
        wire_observations_reader *r;
        char *end = stpcpy(body, head);
        size_t blanks = 262144 + more - strlen(element);
        memset(end, ' ', blanks);
        strcpy(stpcpy(end + blanks, element), "]}");
        assert_int_equal(wire_observations_reader_new(&r, WIRE_OBSERVATIONS_JSON, &study, take, &s), WIRE_OK);
        wire_status status = wire_observations_reader_feed(r, body, strlen(body), &errors);
        assert_int_equal(status, more ? WIRE_INVALID : WIRE_OK);
        assert_int_equal(errors.n, more);
        assert_string_equal(s.text, more ? "" : "1 = 2 x1\n");
        if (more)
            assert_string_equal(errors.items[0].detail,
                                "an element of observations has more than 262144 bytes");
        wire_errors_clear(&errors);
        wire_observations_reader_free(r);
    }
}

static void test_json_nested_head(void **state)
{
    (void)state;
    static const char body[] = "{\"a\":{\"b\":[1]}}";
    wire_study study = {.domain_type = WIRE_DOMAIN_CANDIDATES};
    notes s = {.study = &study};
    wire_errors errors = {0};
    wire_observations_reader *r;
    assert_int_equal(wire_observations_reader_new(&r, WIRE_OBSERVATIONS_JSON, &study, take, &s), WIRE_OK);
    assert_int_equal(wire_observations_reader_feed(r, body, sizeof body - 1, &errors), WIRE_INVALID);
    assert_int_equal(errors.n, 2);
    assert_string_equal(errors.items[0].pointer, "/observations");
    assert_string_equal(errors.items[1].pointer, "/a");
    wire_errors_clear(&errors);
    wire_observations_reader_free(r);
}

static void test_json_space(void **state)
{
    (void)state;
    static const expectation cases[] = {
        {.text = LIST("{'parameters':{'opt':'sgd','m':3,'lr':0.25},'value':1},"
                      "{'parameters':{'opt':'adam'},'value':2}"),
         .notes = "-1 1 3 0.25 = 1 x1\n-1 0 nan 0.5 = 2 x1\n"},
        INVALID(LIST("{'candidate':1,'parameters':{'opt':'adam'},'value':1}"), "/observations/0/candidate",
                "does not apply to a domain of type \"space\""),
        INVALID(LIST("{'value':1}"), "/observations/0/parameters", "is required"),
        INVALID(LIST("{'parameters':3,'value':1}"), "/observations/0/parameters", "must be an object"),
        INVALID(LIST("{'parameters':{'opt':'sgd'},'value':1}"), "/observations/0/parameters/m",
                "is required"),
        INVALID(LIST("{'parameters':{'opt':'adam','m':1},'value':1}"), "/observations/0/parameters/m",
                "must be left out: the other values make this parameter inactive"),
        INVALID(LIST("{'parameters':{'opt':'adam','lr':2},'value':1}"), "/observations/0/parameters/lr",
                "must be a number from 0.0 to 1.0"),
    };
    check_all(cases, LENGTH(cases), SPACE, WIRE_OBSERVATIONS_JSON);
}

#define UNKNOWN(name, columns)                                                                               \
    "the header has an unknown column \"" name "\": known are " columns                                      \
    "; ?ignore= with the names of other columns skips these"
#define CANDIDATE_COLUMNS "candidate, key, v (or \"value\"), repeats, std_error, cost, x0, x1"
#define SPACE_COLUMNS     "v (or \"value\"), repeats, std_error, cost, opt, m, lr"

static void test_csv(void **state)
{
    (void)state;
    static const expectation cases[] = {
        {.text = "candidate,value\n5,0.25\n0,-1\n", .notes = "5 = 0.25 x1\n0 = -1 x1\n"},
        {.text = "'repeats', value ,candidate\r\n3,1e-3,7\r\n,1,8", .notes = "7 = 0.001 x3\n8 = 1 x1\n"},
        /* an exported table */
        {.text = "trial,candidate,value,state,attempt,worker,reason,told_at\n"
                 "1,5,0.25,completed,1,w,,2026-01-01T00:00:00.000Z\n2,6,,failed,1,w,'a,b',\n"
                 "3,7,0.5,stopped,1,w,,\n4,8,2,completed,1,,,\n",
         .notes = "5 = 0.25 x1\n8 = 2 x1\n"},
        INVALID("candidate,value\n5,1\n99,2\n", "", "line 3, row 2: no such candidate"),
        INVALID("", "", "there are no observations"),
        INVALID("candidate,value\n", "", "there are no observations"),
        INVALID("candidate\n5\n", "", "the header has no column \"v\" or \"value\""),
        INVALID("value\n5\n", "", "the header has no column \"candidate\""),
        INVALID("candidate,value,valu\n", "", UNKNOWN("valu", CANDIDATE_COLUMNS)),
        INVALID("candidate,value,value\n", "", "the header has the column \"value\" twice"),
        INVALID("5,0.25\n", "", UNKNOWN("5", CANDIDATE_COLUMNS)),
        INVALID("candidate,value\n5\n", "", "line 2, row 1: 1 cell, 2 expected"),
        INVALID(
            "candidate,value\n5,1,2\n", "",
            "line 2, row 1: 3 cells, 2 expected; numbers have a decimal point, and a cell with a comma needs "
            "quotes"),
        {.text = "candidate,v\n5,0.25\n", .notes = "5 = 0.25 x1\n"},
        INVALID("candidate,v,value\n5,0.25,1\n", "", "the header has the column \"value\" twice"),
        {.text = "x1,value,x0\n3,0.25,-1e2\n4,2,5\n", .notes = "-1 [-100 3] = 0.25 x1\n-1 [5 4] = 2 x1\n"},
        {.text = "x1,value,x0,candidate\n3,0.25,what,7\n", .notes = "7 = 0.25 x1\n"},
        {.text = "key,x1,value\nCCO,what,2\n'a,b',,3\n", .notes = "-1 CCO = 2 x1\n-1 a,b = 3 x1\n"},
        {.text = "key,candidate,value\n\t,7,2\n", .notes = "7 = 2 x1\n"},
        INVALID("key,value\nCCO,2\n,3\n", "", "line 3, row 2, \"key\": is required"),
        INVALID("key,value\n'a\tb',2\n", "",
                "line 2, row 1, \"key\": must not have tabs, line breaks or other control characters"),
        INVALID("x1,value\n3,0.25\n", "",
                "the header has no column \"x0\": candidates are given by all their features"),
        INVALID("x1,value,x0\n3,0.25,\n", "", "line 2, row 1, \"x0\": is required"),
        INVALID("x1,value,x0\n3,0.25,'1,5'\n", "",
                "line 2, row 1, \"x0\": must be a finite number, not \"1,5\"; numbers have a decimal point"),
        INVALID(
            "candidate\tvalue\n3\t0.25\n", "",
            "the header has an unknown column \"candidate\tvalue\"; cells are separated by commas, not by "
            "tabs: known are " CANDIDATE_COLUMNS "; ?ignore= with the names of other columns skips these"),
        INVALID(
            "candidate;value\n3;0,25\n", "",
            "the header has an unknown column \"candidate;value\"; cells are separated by commas, and numbers have "
            "a decimal point: known are " CANDIDATE_COLUMNS
            "; ?ignore= with the names of other columns skips these"),
        {.text = "date,candidate,value,operator\n2026-01-01,5,0.25,'ada, bob'\n",
         .notes = "5 = 0.25 x1\n",
         .ignored = ",date,operator"},
        INVALID("candidate,value\n5,nan\n", "",
                "line 2, row 1, \"value\": must be a finite number from -1e+100 to 1e+100, not \"nan\""),
        INVALID("candidate,value\n5,-2e100\n", "",
                "line 2, row 1, \"value\": must be a finite number from -1e+100 to 1e+100, not \"-2e100\""),
        INVALID("candidate,value\n5,\n", "", "line 2, row 1, \"value\": is required"),
        INVALID("candidate,value\n,1\n", "", "line 2, row 1, \"candidate\": is required"),
        INVALID("candidate,value\n1.5,1\n", "",
                "line 2, row 1, \"candidate\": must be the number of a candidate, an integer from 0"),
        INVALID("candidate,value\n-1,1\n", "",
                "line 2, row 1, \"candidate\": must be the number of a candidate, an integer from 0"),
        INVALID("candidate,value,repeats\n1,1,0\n", "",
                "line 2, row 1, \"repeats\": must be an integer from 1 to 1000000"),
        INVALID("candidate,value\n1,'1\n", "", "line 3, column 2: the closing quote is missing"),
    };
    check_all(cases, LENGTH(cases), CANDIDATES, WIRE_OBSERVATIONS_CSV);
}

static void test_csv_space(void **state)
{
    (void)state;
    static const expectation cases[] = {
        {.text = "opt,m,lr,value\nsgd,3,0.25,1\nadam,,,2\n",
         .notes = "-1 1 3 0.25 = 1 x1\n-1 0 nan 0.5 = 2 x1\n"},
        {.text = "value,opt\n1,adam\n", .notes = "-1 0 nan 0.5 = 1 x1\n"},
        {.text = "value,parameters.opt\n1,adam\n", .notes = "-1 0 nan 0.5 = 1 x1\n"},
        INVALID("opt,parameters.opt,value\n", "", "the header has the column \"opt\" twice"),
        INVALID("parameters.value,value\n", "", UNKNOWN("parameters.value", SPACE_COLUMNS)),
        INVALID("candidate,value\n", "", UNKNOWN("candidate", SPACE_COLUMNS)),
        INVALID("opt,value\nsgd,1\n", "", "line 2, row 1, \"m\": is required"),
        INVALID("opt,m,value\nadam,1,1\n", "",
                "line 2, row 1, \"m\": must be left out: the other values make this parameter inactive"),
        INVALID("opt,value\nrms,1\n", "",
                "line 2, row 1, \"opt\": must be one of \"adam\", \"sgd\", not \"rms\""),
        INVALID("opt,lr,value\nadam,2,1\n", "",
                "line 2, row 1, \"lr\": must be a number from 0.0 to 1.0, not \"2\""),
    };
    check_all(cases, LENGTH(cases), SPACE, WIRE_OBSERVATIONS_CSV);
}

/* Columns that are passed over may come again: "trial,trial,…,value". */
static void spreadsheets_write_truths_in_capitals(void **state)
{
    (void)state;
    static const expectation cases[] = {
        {.text = "on,v\nTRUE,1\nFalse,2\ntrue,3\n", .notes = "-1 1 = 1 x1\n-1 0 = 2 x1\n-1 1 = 3 x1\n"},
        INVALID("on,v\nyes,1\n", "", "line 2, row 1, \"on\": must be true or false, not \"yes\""),
    };
    check_all(cases, LENGTH(cases),
              "{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'space','parameters':["
              "{'name':'on','type':'boolean'}]}}",
              WIRE_OBSERVATIONS_CSV);
}

static void test_csv_most_columns(void **state)
{
    (void)state;
    enum { MOST = 12000 };
    static const char column[] = "trial,";
    static char text[(sizeof column - 1) * MOST + sizeof "value\n1\n"];
    const wire_study study = {.domain_type = WIRE_DOMAIN_CANDIDATES};
    const expectation most = INVALID(text, "", "the header has no column \"candidate\"");
    const expectation more = INVALID(text, "", "the header has more than 12000 columns");
    for (int columns = MOST; columns <= MOST + 1; columns++) {
        char *end = text;
        for (int i = 1; i < columns; i++)
            end = stpcpy(end, column);
        strcpy(end, "value\n1\n");
        check(columns > MOST ? &more : &most, &study, WIRE_OBSERVATIONS_CSV, text, 0);
    }
}

static void test_csv_metrics(void **state)
{
    (void)state;
    static const expectation cases[] = {
        {.text = "candidate,v,w,values.note,std_error,std_errors.w\n5,1,2,3,0.5,0.25\n6,4,5,,,\n",
         .notes = "5 = 1 v=1 w=2 note=3 v+-0.5 w+-0.25 x1\n6 = 4 v=4 w=5 x1\n"},
        {.text = "candidate,value\n5,1\n", .notes = "5 = 1 x1\n"},
        {.text = "candidate,value,cost\n5,1,2.5\n6,1,\n", .notes = "5 = 1 $2.5 x1\n6 = 1 x1\n"},
        {.text = "candidate,value,cost\n5,1,-1\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 1, \"cost\": must be a number from 0 to 1e+15, not \"-1\""},
        {.text = "candidate,value,values.other\n5,1,7\n", .notes = "5 = 1 x1\n"},
        {.text = "candidate,v,w,std_error\n1,1,1,1\n5,1,2,0\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail =
             "line 3, row 2, \"v\": the standard error must be a number from 1e-100 to 1e+100, not \"0\""},
        {.text = "candidate,v,w,values.w\n1,1,1,1\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "the header has the column \"w\" twice"},
        {.text = "candidate,v,w\n1,1,x\n",
         .status = WIRE_INVALID,
         .pointer = "",
         .detail = "line 2, row 1, \"w\": the value must be a number from -1e+100 to 1e+100, not \"x\""},
    };
    check_all(cases, LENGTH(cases), SEVERAL, WIRE_OBSERVATIONS_CSV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_long),
        cmocka_unit_test(test_json_nested_head),
        cmocka_unit_test(test_json_space),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_space),
        cmocka_unit_test(test_csv_metrics),
        cmocka_unit_test(spreadsheets_write_truths_in_capitals),
        cmocka_unit_test(test_csv_most_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
