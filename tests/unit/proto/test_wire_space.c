/* Spaces of parameters: their definition, refused or taken, and back to JSON. */
#include "proto/wire.h"
#include "tests/support/definitions.h"
#include "tests/support/refusals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void test_definition(void **state)
{
    (void)state;
    wire_study *s = decode_definition(SPACE(MIXED));
    const wire_parameter *p = s->parameters;
    assert_int_equal(s->domain_type, WIRE_DOMAIN_SPACE);
    assert_int_equal(s->n_parameters, PARAMETERS);
    assert_string_equal(p[NESTEROV].name, "nesterov");
    assert_int_equal(p[NESTEROV].type, WIRE_PARAMETER_BOOLEAN);
    assert_true(p[NESTEROV].has_default && p[NESTEROV].default_value == 0);
    assert_int_equal(p[NESTEROV].parent, MOMENTUM);
    assert_true(p[NESTEROV].n_parent_values == 2 && p[NESTEROV].parent_values[1] == 3);
    assert_int_equal(p[MOMENTUM].type, WIRE_PARAMETER_INTEGER);
    assert_true(p[MOMENTUM].min == 1 && p[MOMENTUM].max == 3 && !p[MOMENTUM].log);
    assert_int_equal(p[MOMENTUM].parent, OPT);
    assert_true(p[MOMENTUM].n_parent_values == 2 && p[MOMENTUM].parent_values[0] == 1 &&
                p[MOMENTUM].parent_values[1] == 2);
    assert_int_equal(p[LR].type, WIRE_PARAMETER_DOUBLE);
    assert_true(p[LR].log && p[LR].min == 0.0001 && p[LR].has_default && p[LR].default_value == 0.01);
    assert_true(p[LR].parent == WIRE_NO_PARENT);
    assert_int_equal(p[OPT].n_values, 3);
    assert_string_equal(p[OPT].words[2], "nag");
    assert_true(p[OPT].has_default && p[OPT].default_value == 0);
    assert_true(p[BATCH].n_values == 3 && p[BATCH].numbers[2] == 64 && !p[BATCH].has_default);
    wire_study_free(s);
}

static void test_round_trip(void **state)
{
    (void)state;
    wire_study *s = decode_definition(SPACE(MIXED));
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_definition(&w, s);
    char *text, *expected = with_quotes(SPACE(MIXED));
    size_t size;
    assert_true(wire_writer_finish(&w, &text, &size));
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    wire_study_free(s);
}

static void test_refused(void **state)
{
    (void)state;
#define BOTH(first, second) SPACE("{'name':'a'," first "},{'name':'b'," second "}")
#define ONE(members)        SPACE("{'name':'a'," members "}")
#define AT                  "/domain/parameters/0"
#define WORDS(members)      ONE("'type':'categorical','values':['x','y']," members)
#define NUMBER              "'type':'double','min':0,'max':4"
#define RULES(list)                                                                                          \
    "{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'space','parameters':[{'name':'a'," NUMBER    \
    "}],'constraints':" list "}}"
    static const refusal cases[] = {
        {"{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'space'}}", "/domain/parameters",
         "is required"},
        {SPACE(""), "/domain/parameters", "must not be empty"},
        {SPACE("7"), AT, "must be an object"},
        {SPACE("{'type':'boolean'}"), AT "/name", "is required"},
        {SPACE("{'name':'','type':'boolean'}"), AT "/name", "must not be empty"},
        {SPACE("{'name':'a'}"), AT "/type", "is required"},
        {ONE("'type':'real','min':1"), AT "/type",
         "must be \"double\", \"integer\", \"discrete\", \"categorical\" or \"boolean\""},
        {BOTH("'type':'boolean'", "'type':'boolean','name2':1"), "/domain/parameters/1/name2",
         "unknown field"},
        {SPACE("{'name':'a','type':'boolean'},{'name':'a','type':'boolean'}"), "/domain/parameters/1/name",
         "is already the name of another parameter"},
        {ONE("'type':'boolean','min':0"), AT "/min", "unknown field"},
        {ONE("'type':'double','max':1"), AT "/min", "is required"},
        {ONE("'type':'double','min':0"), AT "/max", "is required"},
        {ONE("'type':'double','min':1,'max':1"), AT "/max", "must be greater than min"},
        {ONE("'type':'double','min':'0','max':1"), AT "/min", "must be a number"},
        {ONE("'type':'double','min':0,'max':1,'scale':'log'"), AT "/min",
         "must be greater than 0 on a log scale"},
        {ONE("'type':'double','min':0,'max':1,'scale':'exp'"), AT "/scale", "must be \"linear\" or \"log\""},
        {ONE("'type':'double','min':0,'max':1,'values':[1]"), AT "/values", "unknown field"},
        {ONE("'type':'integer','min':0.5,'max':2"), AT "/min", "must be an integer"},
        {ONE("'type':'integer','min':3,'max':2"), AT "/max", "must be greater than min"},
        {ONE("'type':'integer','min':0,'max':9007199254740992"), AT "/max",
         "must be at most 9007199254740991"},
        {ONE("'type':'discrete'"), AT "/values", "is required"},
        {ONE("'type':'discrete','values':[]"), AT "/values", "must not be empty"},
        {ONE("'type':'discrete','values':[1,'2']"), AT "/values/1", "must be a number"},
        {ONE("'type':'discrete','values':[1,2,1.0]"), AT "/values/2", "is already in the list"},
        {ONE("'type':'categorical','values':['x',1]"), AT "/values/1", "must be a string"},
        {ONE("'type':'categorical','values':['x','y','x']"), AT "/values/2", "is already in the list"},
        {ONE("'type':'categorical','values':['']"), AT "/values/0", "must not be empty"},
        {ONE("'type':'double','min':0,'max':1,'default':2"), AT "/default",
         "must be a number from 0.0 to 1.0"},
        {ONE("'type':'double','min':0,'max':1,'default':true"), AT "/default",
         "must be a number from 0.0 to 1.0"},
        {ONE("'type':'integer','min':0,'max':9,'default':2.5"), AT "/default",
         "must be an integer from 0 to 9"},
        {ONE("'type':'boolean','default':1"), AT "/default", "must be true or false"},
        {ONE("'type':'boolean','default':null"), AT "/default", "must be a number, a string, true or false"},
        {ONE("'type':'categorical','values':['x'],'default':'y'"), AT "/default", "must be \"x\""},
        {ONE("'type':'discrete','values':[1],'default':2"), AT "/default", "must be 1"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':true"), "/domain/parameters/1/active_when",
         "must be an object"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'in':[true]}"),
         "/domain/parameters/1/active_when/parameter", "is required"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'parameter':'a'}"),
         "/domain/parameters/1/active_when/in", "is required"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'parameter':'c','in':[true]}"),
         "/domain/parameters/1/active_when/parameter", "is not a parameter of this space"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'parameter':'a','in':[]}"),
         "/domain/parameters/1/active_when/in", "must not be empty"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'parameter':'a','in':[true,'x']}"),
         "/domain/parameters/1/active_when/in/1", "must be true or false"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'parameter':'a','in':[true],'x':1}"),
         "/domain/parameters/1/active_when/x", "unknown field; allowed here are parameter, min, max, in"},
        {BOTH("'type':'double','min':0,'max':1",
              "'type':'boolean','active_when':{'parameter':'a','in':[0.5]}"),
         "/domain/parameters/1/active_when/parameter",
         "must not be a parameter of type \"double\", except with min or max"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'parameter':'a','min':1}"),
         "/domain/parameters/1/active_when/parameter",
         "must be a parameter with numbers if min or max is given"},
        {BOTH(NUMBER, "'type':'boolean','active_when':{'parameter':'a','min':2,'max':1}"),
         "/domain/parameters/1/active_when/max", "must be at least min"},
        {BOTH(NUMBER, "'type':'boolean','active_when':{'parameter':'a','min':'x'}"),
         "/domain/parameters/1/active_when/min", "must be a number"},
        {BOTH("'type':'integer','min':0,'max':4",
              "'type':'boolean','active_when':{'parameter':'a','min':2,'in':[1]}"),
         "/domain/parameters/1/active_when/in", "cannot be given together with min or max"},
        {ONE("'type':'double','min':0,'max':1,'step':0"), AT "/step", "must be greater than 0"},
        {ONE("'type':'double','min':0,'max':1,'step':1.1"), AT "/step", "must be at most max - min"},
        {ONE("'type':'double','min':1,'max':2,'step':1e-17"), AT "/step", "is too small for this range"},
        {ONE("'type':'integer','min':0,'max':9,'step':0.5"), AT "/step", "must be an integer"},
        {ONE("'type':'integer','min':0,'max':9,'step':0"), AT "/step", "must be at least 1"},
        {ONE("'type':'boolean','step':1"), AT "/step", "unknown field"},
        {ONE("'type':'double','min':0,'max':1,'step':0.1,'default':0.25"), AT "/default",
         "must be a number from 0.0 to 1.0 in steps of 0.1"},
        {ONE("'type':'double','min':0,'max':1,'precision':16"), AT "/precision", "must be at most 15"},
        {ONE("'type':'double','min':1,'max':2,'scale':'log','precision':0"), AT "/precision",
         "must be at least 1"},
        {ONE("'type':'double','min':0.2,'max':0.7,'precision':0"), AT "/precision",
         "must be so large that a number with so many decimal places is in the range"},
        {ONE("'type':'double','min':0,'max':1,'step':0.1,'precision':1"), AT "/precision",
         "does not apply to a parameter with a step"},
        {ONE("'type':'integer','min':0,'max':9,'precision':1"), AT "/precision",
         "applies only to a parameter of type \"double\""},
        {ONE("'type':'categorical','values':['x'],'ordered':1"), AT "/ordered", "must be true or false"},
        {ONE("'type':'discrete','values':[1],'ordered':true"), AT "/ordered", "unknown field"},
        {WORDS("'features':[[1],[2],[3]]"), AT "/features", "has 3 rows for 2 values"},
        {WORDS("'features':[[1,2],[3]]"), AT "/features/1", "has 1 number, but the rows before it have 2"},
        {WORDS("'features':[[1],['2']]"), AT "/features/1/0", "must be a number"},
        {WORDS("'features':[[],[1]]"), AT "/features/0", "must not be empty"},
        {WORDS("'features':[[1],[2]],'ordered':true"), AT "/features", "does not apply to words in an order"},
        {WORDS("'features':[[1],[2]],'scaling':'log'"), AT "/scaling",
         "must be \"standardize\", \"unit\" or \"none\""},
        {WORDS("'features':[[1],[2]],'feature_names':['a','b']"), AT "/feature_names",
         "has 2 names for rows of 1 features"},
        {WORDS("'features':[[1,2],[2,2]],'feature_names':['a','a']"), AT "/feature_names/1",
         "is already in the list"},
        {WORDS("'feature_names':['a']"), AT "/feature_names", "applies only together with features"},
        {WORDS("'scaling':'unit'"), AT "/scaling", "applies only together with features"},
        {ONE("'type':'discrete','values':[1],'features':[[1]]"), AT "/features", "unknown field"},
        {ONE("'type':'boolean','unit':''"), AT "/unit", "must not be empty"},
        {ONE("'type':'boolean','role':'context'"), "/domain/parameters",
         "must have a parameter that is not a context"},
        {BOTH(NUMBER, "'type':'boolean','role':'context','active_when':{'parameter':'a','min':2}"),
         "/domain/parameters/1/active_when", "does not apply to a context"},
        {ONE("'type':'boolean','role':'free'"), AT "/role", "must be \"context\""},
        {RULES("'a'"), "/domain/constraints", "must be a list"},
        {RULES("[]"), "/domain/constraints", "must not be empty"},
        {RULES("['a <= 1',2]"), "/domain/constraints/1", "must be a string"},
        {RULES("['a <= 1','1 <= c']"), "/domain/constraints/1",
         "column 6: 'c' is not a parameter of this space"},
        {"{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'candidates','dimension':1,"
         "'constraints':['a <= 1']}}",
         "/domain/constraints", "does not apply to a domain of type \"candidates\""},
        {ONE("'type':'boolean','active_when':{'parameter':'a','in':[true]}"), AT "/active_when/parameter",
         "the conditions of the parameters form a cycle"},
        {"{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'space','scaling':'unit','parameters':["
         "{'name':'a','type':'boolean'}]}}",
         "/domain/scaling", "does not apply to a domain of type \"space\""},
        {"{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'candidates','dimension':1,"
         "'parameters':[]}}",
         "/domain/parameters", "does not apply to a domain of type \"candidates\""},
    };
    check_refusals(attempt_definition, cases, LENGTH(cases));
}

/* Words with properties come back as they were given. */
static void test_properties(void **state)
{
    (void)state;
    static const char *const text =
        SPACE("{'name':'solvent','type':'categorical','values':['b','a'],'features':[[1.5,-2.0],[0.1,3e+20]],"
              "'feature_names':['polarity','size'],'scaling':'unit','default':'a'},"
              "{'name':'base','type':'categorical','values':['x'],'features':[[0.0]]}");
    wire_study *s = decode_definition(text);
    const wire_parameter *p = s->parameters;
    assert_true(p[0].n_features == 2 && p[0].features[1] == -2.0 && p[0].features[2] == 0.1);
    assert_string_equal(p[0].feature_names[1], "size");
    assert_true(p[1].n_features == 1 && !p[1].scaling && !p[1].feature_names);
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_definition(&w, s);
    char *written, *expected = with_quotes(text);
    size_t size;
    assert_true(wire_writer_finish(&w, &written, &size));
    assert_string_equal(written, expected);
    free(written);
    free(expected);
    wire_study_free(s);
}

/* Members that say more of a parameter come back as they were given. */
static void test_more_members(void **state)
{
    (void)state;
    static const char *const text = SPACE(
        "{'name':'rate','type':'double','min':0.001,'max':1.0,'scale':'log','precision':3},"
        "{'name':'width','type':'integer','min':8,'max':250,'scale':'linear','step':8,'unit':'mm','role':'context'},"
        "{'name':'dose','type':'double','min':0.0,'max':1.0,'scale':'linear','step':0.1,'default':0.3},"
        "{'name':'level','type':'categorical','values':['low','mid','high'],'ordered':true},"
        "{'name':'more','type':'boolean','active_when':{'parameter':'rate','min':0.25}},"
        "{'name':'less','type':'boolean','active_when':{'parameter':'width','min':16,'max':64}}");
    wire_study *s = decode_definition(text);
    const wire_parameter *p = s->parameters;
    assert_true(p[0].has_precision && p[0].precision == 3 && p[1].step == 8 && p[2].step == 0.1);
    assert_true(p[3].ordered && p[4].parent == 0 && p[4].parent_min == 0.25 && isinf(p[4].parent_max));
    assert_string_equal(p[1].unit, "mm");
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_definition(&w, s);
    char *written, *expected = with_quotes(text);
    size_t size;
    assert_true(wire_writer_finish(&w, &written, &size));
    assert_string_equal(written, expected);
    free(written);
    free(expected);
    /* sums of other programs are taken for the step that they mean */
    wire_assignment given = {.name = p[2].name, .type = WIRE_ASSIGN_NUMBER, .number = 0.1 + 0.2};
    assert_true(wire_code_assignment(&p[2], &given) == 0.3 && wire_code_text(&p[2], "0.3", 3) == 0.3);
    given.number = 0.31;
    assert_true(isnan(wire_code_assignment(&p[2], &given)));
    given.number = 1.1;
    assert_true(isnan(wire_code_assignment(&p[2], &given)));
    given.number = 12;
    assert_true(isnan(wire_code_assignment(&p[1], &given)));
    given.number = 248;
    assert_true(wire_code_assignment(&p[1], &given) == 248);
    given.number = 250; /* above the last step */
    assert_true(isnan(wire_code_assignment(&p[1], &given)));
    const double values[] = {0.2, 64, 0.3, 1, NAN, 1}, others[] = {0.25, 72, 0.3, 1, 1, NAN};
    for (size_t i = 4; i < 6; i++) {
        assert_true(wire_parameter_is_active(p, values, i) == !isnan(values[i]));
        assert_true(wire_parameter_is_active(p, others, i) == !isnan(others[i]));
    }
    wire_study_free(s);
}

/* Each parameter of the cycle is named, the one that hangs on it is not. */
static void test_cycle(void **state)
{
    (void)state;
    char *body =
        with_quotes(SPACE("{'name':'a','type':'boolean','active_when':{'parameter':'c','in':[true]}},"
                          "{'name':'b','type':'boolean','active_when':{'parameter':'a','in':[true]}},"
                          "{'name':'c','type':'boolean','active_when':{'parameter':'b','in':[true]}},"
                          "{'name':'d','type':'boolean','active_when':{'parameter':'a','in':[true]}}"));
    wire_errors errors = {0};
    assert_int_equal(attempt_definition(body, strlen(body), &errors), WIRE_INVALID);
    assert_int_equal(errors.n, 3);
    for (size_t i = 0; i < 3; i++) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/domain/parameters/%zu/active_when/parameter", i);
        assert_string_equal(errors.items[i].pointer, pointer);
    }
    wire_errors_clear(&errors);
    free(body);
}

/* Of equal values all but the first are refused, in their order; what is none is equal to nothing. */
static void test_repeated_values(void **state)
{
    static const struct {
        const char *values;
        const char *pointers[5];
    } cases[] = {
        {"'categorical','values':['z',1,'y','z',2,'y','z']", {"/1", "/4", "/3", "/5", "/6"}},
        {"'discrete','values':[0,'1',7,7.0,'2',-0.0,7]", {"/1", "/4", "/3", "/5", "/6"}},
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char text[256], at[64];
        wire_errors errors = {0};
        snprintf(text, sizeof text, SPACE("{'name':'a','type':%s}"), cases[i].values);
        char *body = with_quotes(text);
        assert_int_equal(attempt_definition(body, strlen(body), &errors), WIRE_INVALID);
        assert_int_equal(errors.n, 5);
        for (size_t k = 0; k < 5; k++) {
            snprintf(at, sizeof at, "/domain/parameters/0/values%s", cases[i].pointers[k]);
            assert_string_equal(errors.items[k].pointer, at);
        }
        wire_errors_clear(&errors);
        free(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),      cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_properties),
        cmocka_unit_test(test_more_members),    cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_repeated_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
