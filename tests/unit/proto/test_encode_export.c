/* Tables, series and lines; a table is taken back by the reader of observations. */
#include "proto/encode_export.h"
#include "proto/read_observations.h"
#include "proto/tokens.h"
#include "proto/trials.h"
#include "tests/support/definitions.h"
#include "tests/support/refusals.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *finish(wire_writer *w)
{
    char *text;
    size_t size;
    assert_true(wire_writer_finish(w, &text, &size));
    return text;
}

static void test_candidates(void **state)
{
    (void)state;
    wire_study *study = decode_definition(
        "{'metrics':[{'name':'v','goal':'maximize'},{'name':'s','goal':'minimize','role':'recorded'},"
        "{'name':'a, b','goal':'minimize','role':'recorded'}],"
        "'domain':{'type':'candidates','dimension':2}}");
    static const double point[] = {0.5, -2};
    const wire_trial trials[] = {
        {.id = 1,
         .state = "completed",
         .attempt = 1,
         .candidate = 5,
         .point = point,
         .batch = 4,
         .issued_at = 1000,
         .metadata = "{\"well\":\"A1\"}",
         .worker = "a,b",
         .has_value = true,
         .value = 0.1,
         .repeats = 3,
         .cost = 2.5,
         .recorded = "{\"s\":1.5,\"\":{\"v\":0.25}}",
         .told_at = 1},
        {.id = 2,
         .state = "failed",
         .attempt = 3,
         .candidate = 6,
         .point = point,
         .reason = "out of \"memory\"",
         .told_at = 2},
        {.id = 3,
         .state = "pending",
         .batch = -1,
         .attempt = 1,
         .candidate = 7,
         .point = point,
         .worker = "w"},
        {.state = "completed", .candidate = 8, .point = point, .has_value = true, .value = 2, .told_at = 3},
    };
    wire_writer w = WIRE_WRITER_INIT;
    wire_write_table_header(&w, study, false);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        wire_write_table_row(&w, study, trials[i].id == 0 ? WIRE_ROW_IMPORT : WIRE_ROW_TRIAL, &trials[i],
                             trials[i].id == 0 ? 12 : 0);
    char *text = finish(&w);
    assert_string_equal(text,
                        "trial,candidate,x0,x1,value,state,attempt,worker,reason,told_at,repeats,values.s,"
                        "\"values.a, b\",origin,observation,batch,issued_at,metadata,std_error,cost\n"
                        "1,5,0.5,-2.0,0.1,completed,1,\"a,b\",,\"1970-01-01T00:00:00.001Z\",3,1.5,,trial,,4,"
                        "\"1970-01-01T00:00:01.000Z\",\"{\"\"well\"\":\"\"A1\"\"}\",0.25,2.5\n"
                        "2,6,0.5,-2.0,,failed,3,,\"out of \"\"memory\"\"\",\"1970-01-01T00:00:00.002Z\",1,,,"
                        "trial,,0,,,,\n"
                        "3,7,0.5,-2.0,,pending,1,w,,,1,,,trial,,,,,,\n"
                        ",8,0.5,-2.0,2.0,completed,,,,\"1970-01-01T00:00:00.003Z\",1,,,import,12,,,,,\n");
    free(text);
    wire_study_free(study);
}

static void recorded_values_by_name(void **state)
{
    static const char recorded[] = "{\"s\":1.5,\"a, b\":3}";
    (void)state;
    assert_true(wire_recorded_value(recorded, "s") == 1.5);
    assert_true(wire_recorded_value(recorded, "a, b") == 3);
    assert_true(isnan(wire_recorded_value(recorded, "c")));
    assert_true(isnan(wire_recorded_value("", "s")));
    assert_true(isnan(wire_recorded_value(NULL, "s")));
}

static void callers_with_and_without_a_token(void **state)
{
    wire_writer w = WIRE_WRITER_INIT;
    (void)state;
    wire_encode_caller(&w, &(wire_caller){.role = "admin", .study = ""});
    char *text = finish(&w);
    assert_string_equal(text, "{\"role\":\"admin\",\"study\":null,\"expires_at\":null,\"name\":null}");
    free(text);
    wire_caller bound = {.role = "worker", .study = "mine", .name = "a \"b\"", .expires_at = 1};
    w = (wire_writer)WIRE_WRITER_INIT;
    wire_encode_caller(&w, &bound);
    text = finish(&w);
    assert_string_equal(text, "{\"role\":\"worker\",\"study\":\"mine\","
                              "\"expires_at\":\"1970-01-01T00:00:00.001Z\",\"name\":\"a \\\"b\\\"\"}");
    free(text);
}

typedef struct expected {
    const double (*points)[4];
    const double *values;
    size_t n;
} expected;

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool compare(void *arg, size_t index, const char *place, const wire_observation *o,
                    wire_errors *errors)
{
    const expected *e = arg;
    (void)place;
    (void)errors;
    assert_true(index < e->n);
    assert_true(o->has_value && o->value == e->values[index]);
    for (size_t i = 0; i < 4; i++)
        assert_true(same(o->parameters[i], e->points[index][i]));
    return true;
}

/* A space with parameters of these names: its table is read back as it was. header: the names in it. */
static void check_space_and_back(const char *const names[4], const char *header)
{
    char definition[512];
    snprintf(definition, sizeof definition,
             "{'metric':{'name':'v','goal':'maximize'},'domain':{'type':'space','parameters':["
             "{'name':'%s','type':'categorical','values':['x',' \\\"y\\\",','true']},"
             "{'name':'%s','type':'integer','min':-5,'max':5,'active_when':{'parameter':'%s','in':['x']}},"
             "{'name':'%s','type':'double','min':0,'max':1},{'name':'%s','type':'boolean'}]}}",
             names[0], names[1], names[0], names[2], names[3]);
    wire_study *study = decode_definition(definition);
    static const double points[][4] = {{0, -5, 0.1, 1}, {1, NAN, 1.0 / 3, 0}, {2, NAN, 5e-324, 1}};
    static const double values[] = {0.1, -1e99, 7};
    wire_writer w = WIRE_WRITER_INIT;
    wire_write_table_header(&w, study, false);
    for (size_t i = 0; i < 3; i++) {
        const wire_trial trial = {.id = (int64_t)i + 1,
                                  .state = "completed",
                                  .attempt = 1,
                                  .candidate = -1,
                                  .space = study,
                                  .parameters = points[i],
                                  .has_value = true,
                                  .value = values[i],
                                  .told_at = 1};
        wire_write_table_row(&w, study, WIRE_ROW_TRIAL, &trial, 0);
    }
    char *text = finish(&w);
    assert_int_equal(strncmp(text, header, strlen(header)), 0);
    expected e = {points, values, 3};
    wire_errors errors = {0};
    wire_observations_reader *reader;
    assert_int_equal(wire_observations_reader_new(&reader, WIRE_OBSERVATIONS_CSV, study, compare, &e),
                     WIRE_OK);
    assert_int_equal(wire_observations_reader_feed(reader, text, strlen(text), &errors), WIRE_OK);
    assert_int_equal(wire_observations_reader_finish(reader, &errors), WIRE_OK);
    assert_int_equal(wire_observations_reader_count(reader), 3);
    wire_observations_reader_free(reader);
    free(text);
    wire_study_free(study);
}

static void test_space_and_back(void **state)
{
    (void)state;
    static const char *const usual[] = {"a, b", "n", "d", "f"};
    check_space_and_back(usual, "trial,\"a, b\",n,d,f,value,state,");
    static const char *const unusual[] = {"value", "trial", "parameters.value", "values.v"};
    check_space_and_back(unusual, "trial,parameters.value,parameters.trial,parameters.parameters.value,"
                                  "parameters.values.v,value,state,");
}

static void test_series(void **state)
{
    (void)state;
    const wire_series_point points[] = {{.observation = 4, .value = 1, .best = 1, .told_at = 6, .cost = NAN},
                                        {.trial = 3, .value = 0.5, .best = 1, .told_at = 7, .cost = 2.5}};
    wire_writer w = WIRE_WRITER_INIT;
    wire_encode_series(&w, WIRE_SERIES_VALUES, points, 2, 5);
    char *text = finish(&w);
    assert_string_equal(text, "{\"items\":[{\"observation\":4,\"value\":1.0,\"best\":1.0,"
                              "\"told_at\":\"1970-01-01T00:00:00.006Z\"},"
                              "{\"trial\":3,\"value\":0.5,\"best\":1.0,"
                              "\"told_at\":\"1970-01-01T00:00:00.007Z\",\"cost\":2.5}],\"count\":5}");
    free(text);
}

/* ---- lines --------------------------------------------------------------------------------------------- */

typedef struct notes {
    char text[200];
    size_t n;
} notes;

static wire_status take_line(void *arg, size_t number, const char *text, size_t n, wire_errors *errors)
{
    notes *s = arg;
    (void)errors;
    assert_int_equal(strlen(text), n);
    s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%zu<%s>", number, text);
    return strcmp(text, "stop") == 0 ? WIRE_INVALID : WIRE_OK;
}

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *text, *notes;
        wire_status status;
    } cases[] = {
        {"{}\n{\"a\":1}\n", "1<{}>2<{\"a\":1}>", WIRE_OK},
        {"a\r\n\n \t\r\nb", "1<a>4<b>", WIRE_OK},
        {"", "", WIRE_OK},
        {"\n\n", "", WIRE_OK},
        {"a\nstop\nb\n", "1<a>2<stop>", WIRE_INVALID},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t size = strlen(cases[c].text);
        for (size_t cut = 0; cut <= size; cut++) {
            notes s = {0};
            wire_errors errors = {0};
            wire_lines lines = {.line = take_line, .arg = &s};
            wire_status status = wire_lines_feed(&lines, cases[c].text, cut, &errors);
            if (status == WIRE_OK)
                status = wire_lines_feed(&lines, cases[c].text + cut, size - cut, &errors);
            if (status == WIRE_OK)
                status = wire_lines_finish(&lines, &errors);
            assert_int_equal(status, cases[c].status);
            assert_string_equal(s.text, cases[c].notes);
            wire_lines_clear(&lines);
        }
    }
}

static void test_line_too_long(void **state)
{
    (void)state;
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    notes s = {0};
    wire_errors errors = {0};
    wire_lines lines = {.line = take_line, .arg = &s};
    for (size_t fed = 0; fed < WIRE_LINE_MAX; fed += sizeof block)
        assert_int_equal(wire_lines_feed(&lines, block, sizeof block, &errors), WIRE_OK);
    assert_int_equal(wire_lines_feed(&lines, "x", 1, &errors), WIRE_INVALID);
    assert_int_equal(errors.n, 1);
    assert_string_equal(errors.items[0].detail, "line 1 has more than 16777216 bytes");
    wire_errors_clear(&errors);
    wire_lines_clear(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_values_by_name),
        cmocka_unit_test(callers_with_and_without_a_token),
        cmocka_unit_test(test_candidates),
        cmocka_unit_test(test_space_and_back),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_line_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
