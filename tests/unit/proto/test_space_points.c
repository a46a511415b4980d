/* Points of spaces: read by name or as text, checked, and written where trials and answers have them. */
#include "bandit/algorithm.h"
#include "proto/trials.h"
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
    wire_study *s = decode_definition(SPACE(MIXED));
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
    wire_study *s = decode_definition(SPACE(MIXED));
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
    wire_study *s = decode_definition(SPACE(MIXED));
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
    wire_study *s = decode_definition(SPACE("{'name':'x','type':'integer','min':0,'max':9}"));
    static const double values[] = {7};
    const wire_trial trial = {.id = 1,
                              .definition = s,
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
        cmocka_unit_test(test_points),  cmocka_unit_test(test_points_refused),
        cmocka_unit_test(test_text),    cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
