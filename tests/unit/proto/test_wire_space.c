/* Spaces of parameters: their definition, points in them, and back. */
#include "bandit/algorithm.h"
#include "proto/trials.h"
#include "proto/wire.h"
#include "tests/support/refusals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static wire_status attempt(const char *body, size_t size, wire_errors *errors)
{
    wire_study *study;
    wire_status status = wire_decode_study(&study, body, size, bandit_algorithm_names(), errors);
    assert_true((study != NULL) == (status == WIRE_OK));
    wire_study_free(study);
    return status;
}

#define SPACE(parameters)                                                                                    \
    "{'metric':{'name':'value','goal':'maximize','role':'objective'},"                                       \
    "'domain':{'type':'space','parameters':[" parameters "]}}"

static wire_study *decode(const char *text)
{
    char *body = with_quotes(text);
    wire_errors errors = {0};
    wire_study *study;
    assert_int_equal(wire_decode_study(&study, body, strlen(body), bandit_algorithm_names(), &errors),
                     WIRE_OK);
    free(body);
    return study;
}

/* Children stand before their parents; two levels of conditions. */
#define MIXED                                                                                                \
    "{'name':'nesterov','type':'boolean','default':false,"                                                   \
    "'active_when':{'parameter':'momentum','in':[2,3]}},"                                                    \
    "{'name':'momentum','type':'integer','min':1,'max':3,'scale':'linear',"                                  \
    "'active_when':{'parameter':'opt','in':['sgd','nag']}},"                                                 \
    "{'name':'lr','type':'double','min':0.0001,'max':1.0,'scale':'log','default':0.01},"                     \
    "{'name':'opt','type':'categorical','values':['adam','sgd','nag'],'default':'adam'},"                    \
    "{'name':'batch','type':'discrete','values':[16,32,64]},"                                                \
    "{'name':'drop','type':'discrete','values':[0.0,0.25]}"

enum { NESTEROV, MOMENTUM, LR, OPT, BATCH, DROP, PARAMETERS };

static void test_definition(void **state)
{
    (void)state;
    wire_study *s = decode(SPACE(MIXED));
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
    wire_study *s = decode(SPACE(MIXED));
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
         "/domain/parameters/1/active_when/x", "unknown field"},
        {BOTH("'type':'double','min':0,'max':1",
              "'type':'boolean','active_when':{'parameter':'a','in':[0.5]}"),
         "/domain/parameters/1/active_when/parameter",
         "must not be a parameter of type \"double\", except with min or max"},
        {BOTH("'type':'boolean'", "'type':'boolean','active_when':{'parameter':'a','min':1}"),
         "/domain/parameters/1/active_when/parameter",
         "must be a parameter with numbers, because of min or max"},
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
    check_refusals(attempt, cases, LENGTH(cases));
}

/* Words with properties come back as they were given. */
static void test_properties(void **state)
{
    (void)state;
    static const char *const text =
        SPACE("{'name':'solvent','type':'categorical','values':['b','a'],'features':[[1.5,-2.0],[0.1,3e+20]],"
              "'feature_names':['polarity','size'],'scaling':'unit','default':'a'},"
              "{'name':'base','type':'categorical','values':['x'],'features':[[0.0]]}");
    wire_study *s = decode(text);
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
    wire_study *s = decode(text);
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
    assert_int_equal(attempt(body, strlen(body), &errors), WIRE_INVALID);
    assert_int_equal(errors.n, 3);
    for (size_t i = 0; i < 3; i++) {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/domain/parameters/%zu/active_when/parameter", i);
        assert_string_equal(errors.items[i].pointer, pointer);
    }
    wire_errors_clear(&errors);
    free(body);
}

/* ---- points -------------------------------------------------------------------------------------------- */

/* Through a request that has a point, as `fixed` of an ask. */
static wire_ask *decode_point(const char *text)
{
    char joined[1000];
    snprintf(joined, sizeof joined, "{'fixed':%s}", text);
    char *body = with_quotes(joined);
    wire_errors errors = {0};
    wire_ask *ask;
    assert_int_equal(wire_decode_ask(&ask, body, strlen(body), &errors), WIRE_OK);
    free(body);
    return ask;
}

static void test_points(void **state)
{
    (void)state;
    static const double open = NAN;
    const struct {
        const char *given;
        wire_completeness completeness;
        double values[PARAMETERS];
        const char *written; /* NULL: as given */
    } cases[] = {
        {"{'nesterov':true,'momentum':3,'lr':0.5,'opt':'nag','batch':64,'drop':0.25}",
         WIRE_WHOLE,
         {1, 3, 0.5, 2, 64, 0.25},
         NULL},
        {"{'momentum':1,'lr':0.5,'opt':'sgd','batch':16,'drop':0.0}",
         WIRE_WHOLE,
         {open, 1, 0.5, 1, 16, 0},
         NULL},
        {"{'batch':16.0,'drop':0}",
         WIRE_WHOLE,
         {open, open, 0.01, 0, 16, 0},
         "{'lr':0.01,'opt':'adam','batch':16,'drop':0.0}"},
        {"{'opt':'sgd','momentum':2,'batch':16,'drop':0}",
         WIRE_WHOLE,
         {0, 2, 0.01, 1, 16, 0},
         "{'nesterov':false,'momentum':2,'lr':0.01,'opt':'sgd','batch':16,'drop':0.0}"},
        {"{}", WIRE_PARTIAL, {open, open, open, open, open, open}, NULL},
        {"{'momentum':2}", WIRE_PARTIAL, {open, 2, open, open, open, open}, NULL},
        {"{'nesterov':true}", WIRE_PARTIAL, {1, open, open, open, open, open}, NULL},
        {"{'momentum':2,'opt':'sgd'}", WIRE_PARTIAL, {open, 2, open, 1, open, open}, NULL},
    };
    wire_study *s = decode(SPACE(MIXED));
    for (size_t i = 0; i < LENGTH(cases); i++) {
        double values[PARAMETERS];
        wire_errors errors = {0};
        wire_ask *ask = decode_point(cases[i].given);
        assert_true(wire_code_parameters(values, s->parameters, s->n_parameters, &ask->fixed,
                                         cases[i].completeness, "", &errors));
        assert_int_equal(errors.n, 0);
        for (size_t j = 0; j < PARAMETERS; j++) {
            assert_true(isnan(values[j]) == isnan(cases[i].values[j]));
            assert_true(isnan(values[j]) || values[j] == cases[i].values[j]);
        }
        wire_writer w = WIRE_WRITER_INIT;
        wire_encode_parameters(&w, s->parameters, s->n_parameters, values);
        char *text, *expected = with_quotes(cases[i].written ? cases[i].written : cases[i].given);
        size_t size;
        assert_true(wire_writer_finish(&w, &text, &size));
        assert_string_equal(text, expected);
        free(text);
        free(expected);
        wire_ask_free(ask);
    }
    wire_study_free(s);
}

static void test_points_refused(void **state)
{
    (void)state;
    static const struct {
        const char *given;
        wire_completeness completeness;
        const char *pointer, *detail;
    } cases[] = {
#define RANGE  "must be a number from 0.0001 to 1.0"
#define CHOICE "must be one of \"adam\", \"sgd\", \"nag\""
#define ACTIVE "must be left out: the other values make this parameter inactive"
#define REST   "'batch':16,'drop':0"
        {"{'rate':1," REST "}", WIRE_WHOLE, "/p/rate", "is not a parameter of this space"},
        {"{'a/b':1," REST "}", WIRE_WHOLE, "/p/a~1b", "is not a parameter of this space"},
        {"{'lr':2," REST "}", WIRE_WHOLE, "/p/lr", RANGE},
        {"{'lr':'0.5'," REST "}", WIRE_WHOLE, "/p/lr", RANGE},
        {"{'lr':true," REST "}", WIRE_WHOLE, "/p/lr", RANGE},
        {"{'lr':2}", WIRE_PARTIAL, "/p/lr", RANGE},
        {"{'opt':'sgd','momentum':1.5," REST "}", WIRE_WHOLE, "/p/momentum",
         "must be an integer from 1 to 3"},
        {"{'opt':'rmsprop'," REST "}", WIRE_WHOLE, "/p/opt", CHOICE},
        {"{'opt':1," REST "}", WIRE_WHOLE, "/p/opt", CHOICE},
        {"{'batch':17,'drop':0}", WIRE_WHOLE, "/p/batch", "must be one of 16, 32, 64"},
        {"{'opt':'sgd','momentum':2,'nesterov':1," REST "}", WIRE_WHOLE, "/p/nesterov",
         "must be true or false"},
        {"{'drop':0}", WIRE_WHOLE, "/p/batch", "is required"},
        {"{'opt':'sgd'," REST "}", WIRE_WHOLE, "/p/momentum", "is required"},
        {"{'momentum':2," REST "}", WIRE_WHOLE, "/p/momentum", ACTIVE},
        {"{'opt':'sgd','momentum':1,'nesterov':true," REST "}", WIRE_WHOLE, "/p/nesterov", ACTIVE},
        {"{'opt':'adam','momentum':2}", WIRE_PARTIAL, "/p/momentum", ACTIVE},
        {"{'opt':'adam','nesterov':true}", WIRE_PARTIAL, "/p/nesterov", ACTIVE},
    };
    wire_study *s = decode(SPACE(MIXED));
    for (size_t i = 0; i < LENGTH(cases); i++) {
        double values[PARAMETERS];
        wire_errors errors = {0};
        wire_ask *ask = decode_point(cases[i].given);
        bool ok = wire_code_parameters(values, s->parameters, s->n_parameters, &ask->fixed,
                                       cases[i].completeness, "/p", &errors);
        if (ok || errors.n != 1)
            print_error("%s\n", cases[i].given);
        assert_false(ok);
        assert_int_equal(errors.n, 1);
        assert_string_equal(errors.items[0].pointer, cases[i].pointer);
        assert_string_equal(errors.items[0].detail, cases[i].detail);
        wire_errors_clear(&errors);
        wire_ask_free(ask);
    }
    wire_study_free(s);
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
        assert_int_equal(attempt(body, strlen(body), &errors), WIRE_INVALID);
        assert_int_equal(errors.n, 5);
        for (size_t k = 0; k < 5; k++) {
            snprintf(at, sizeof at, "/domain/parameters/0/values%s", cases[i].pointers[k]);
            assert_string_equal(errors.items[k].pointer, at);
        }
        wire_errors_clear(&errors);
        free(body);
    }
}

/* Each of many values is found by what it is, in whatever order they are given, and nothing else is. */
static void test_many_values(void **state)
{
    enum { MANY = 700 };
    (void)state;
    char *text = malloc(64 * MANY);
    assert_non_null(text);
    for (int numbers = 0; numbers < 2; numbers++) {
        size_t n = (size_t)sprintf(text,
                                   "{\"metric\":{\"name\":\"v\",\"goal\":\"minimize\"},\"domain\":{\"type\":"
                                   "\"space\",\"parameters\":[{\"name\":\"a\",\"type\":\"%s\",\"values\":[",
                                   numbers ? "discrete" : "categorical");
        for (int i = 0; i < MANY; i++) {
            int value = i * 277 % MANY; /* 277 and 700 have no divisor in common */
            n += (size_t)sprintf(text + n, numbers ? "%s%d.5" : "%s\"w%d\"", i ? "," : "", value);
        }
        n += (size_t)sprintf(text + n, "]}]}}");
        wire_study *study;
        wire_errors errors = {0};
        assert_int_equal(wire_decode_study(&study, text, n, bandit_algorithm_names(), &errors), WIRE_OK);
        const wire_parameter *p = study->parameters;
        for (int i = 0; i < MANY; i++) {
            char word[16];
            int value = i * 277 % MANY;
            size_t length = (size_t)sprintf(word, numbers ? "%d.5" : "w%d", value);
            assert_true(wire_code_text(p, word, length) == (numbers ? value + 0.5 : (double)i));
            sprintf(word + length, "%s", numbers ? "01" : " "); /* 12.501, "w12 " */
            assert_true(isnan(wire_code_text(p, word, strlen(word))));
        }
        assert_true(isnan(wire_code_text(p, "w", 1)) && isnan(wire_code_text(p, "w700", 4)) &&
                    isnan(wire_code_text(p, "", 0)) && isnan(wire_code_text(p, "-1.5", 4)) &&
                    isnan(wire_code_text(p, "w1\0", 3)));
        wire_study_free(study);
    }
    free(text);
}

static void test_text(void **state)
{
    (void)state;
    static const struct {
        int parameter;
        const char *text;
        double value;
    } cases[] = {
        {LR, "0.5", 0.5},      {LR, "2", NAN},         {LR, "", NAN},        {LR, "nan", NAN},
        {MOMENTUM, "2", 2},    {MOMENTUM, "2.5", NAN}, {OPT, "sgd", 1},      {OPT, "sg", NAN},
        {NESTEROV, "true", 1}, {NESTEROV, "false", 0}, {NESTEROV, "1", NAN}, {BATCH, "32", 32},
        {BATCH, "33", NAN},    {OPT, "1", NAN},
    };
    wire_study *s = decode(SPACE(MIXED));
    for (size_t i = 0; i < LENGTH(cases); i++) {
        double value =
            wire_code_text(&s->parameters[cases[i].parameter], cases[i].text, strlen(cases[i].text));
        assert_true(isnan(value) ? isnan(cases[i].value) : value == cases[i].value);
    }
    wire_study_free(s);
}

/* Where trials and answers have them. */
static void test_answers(void **state)
{
    (void)state;
    wire_study *s = decode(SPACE("{'name':'x','type':'integer','min':0,'max':9}"));
    static const double values[] = {7};
    const wire_trial trial = {.id = 1,
                              .state = "pending",
                              .batch = 0,
                              .attempt = 1,
                              .candidate = -1,
                              .space = s,
                              .parameters = values};
    const wire_best best = {
        .given = true, .trial = 1, .candidate = -1, .space = s, .parameters = values, .value = 2};
    const wire_recommended recommended = {
        .given = true, .candidate = -1, .space = s, .parameters = values, .mean = 1, .pulls = 3};
    wire_writer w = WIRE_WRITER_INIT;
    wire_array_begin(&w);
    wire_encode_trial(&w, &trial);
    wire_encode_best(&w, &best, &recommended);
    wire_array_end(&w);
    char *text,
        *expected = with_quotes("[{'id':1,'state':'pending','batch':0,'attempt':1,'parameters':{'x':7}},"
                                "{'observed':{'trial':1,'parameters':{'x':7},'value':2.0},"
                                "'recommended':{'parameters':{'x':7},'mean':1.0,'std':null,'pulls':3}}]");
    size_t size;
    assert_true(wire_writer_finish(&w, &text, &size));
    assert_string_equal(text, expected);
    free(text);
    free(expected);
    wire_study_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_more_members),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_points_refused),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_repeated_values),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
