/* The readers of JSON and NDJSON uploads: whatever the chunks, the same rows or the same refusal. And what all readers
 * of text do alike. */
#include "proto/points.h"
#include "tests/support/point_sheets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool take_wide(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    bool *seen = arg;
    assert_true(first == 0 && n == 1 && rows[0] == 7 && rows[dimension - 1] == 7);
    return *seen = true;
}

static void test_json(void **state)
{
    (void)state;
#define MALFORMED(document, expected)                                                                        \
    {                                                                                                        \
        .text = document, .status = WIRE_MALFORMED, .pointer = "", .detail = "not valid JSON: " expected     \
    }
#define INVALID(document, at, what)                                                                          \
    {                                                                                                        \
        .text = document, .status = WIRE_INVALID, .pointer = at, .detail = what                              \
    }
    static const expectation cases[] = {
        {.text = "{\"points\":[[1,2],[3,4]]}", .rows = 2, .columns = 2, .cells = {1, 2, 3, 4}},
        {.text = " {\t\"points\" : [ [ 1 , -2.5e-3 ] ,\n[ 0.5 , 1E2 ] ] }\r\n",
         .dimension = 2,
         .rows = 2,
         .columns = 2,
         .cells = {1, -2.5e-3, 0.5, 100}},
        {.text = "{\"po\\u0069nts\":[[-0],[1e-999],[100000000000000000000]]}",
         .rows = 3,
         .columns = 1,
         .cells = {-0.0, 0, 1e20}},
        INVALID("[[1]]", "", "must be an object"),
        INVALID("3", "", "must be an object"),
        INVALID("{}", "/points", "is required"),
        INVALID("{\"points\":{}}", "/points", "must be a list"),
        INVALID("{\"points\":[]}", "/points", "must not be empty"),
        INVALID("{\"points\":[1]}", "/points/0", "must be a list"),
        INVALID("{\"points\":[[1],null]}", "/points/1", "must be a list"),
        INVALID("{\"points\":[[]]}", "/points/0", "must not be empty"),
        INVALID("{\"points\":[[1,2],[3]]}", "/points/1", "has 1 number, 2 expected"),
        INVALID("{\"points\":[[1,2],[3,4,5]]}", "/points/1", "has more than 2 numbers"),
        INVALID("{\"points\":[[1,2],[3,\"4\"]]}", "/points/1/1", "must be a number"),
        INVALID("{\"points\":[[1,true]]}", "/points/0/1", "must be a number"),
        INVALID("{\"points\":[[false ]]}", "/points/0/0", "must be a number"),
        INVALID("{\"points\":[[null]]}", "/points/0/0", "must be a number"),
        INVALID("{\"points\":[[[1]]]}", "/points/0/0", "must be a number"),
        INVALID("{\"points\":[[1]],\"a/b~\":1}", "/a~1b~0", "unknown field; allowed here are points, keys"),
        INVALID("{\"rows\":[[1]]}", "/rows", "unknown field; allowed here are points, keys"),
        MALFORMED("", "the rest of the document expected at byte 1"),
        MALFORMED("x", "an object expected at byte 1"),
        MALFORMED("{1", "a string expected at byte 2"),
        MALFORMED("{\"points\"1", "a colon expected at byte 10"),
        MALFORMED("{\"points\":}", "a list expected at byte 11"),
        MALFORMED("{\"points\":[[NaN]]}", "a finite number expected at byte 13"),
        MALFORMED("{\"points\":[[1,2,1e999]]}", "a finite number expected at byte 17"),
        MALFORMED("{\"points\":[[01]]}", "a finite number expected at byte 13"),
        MALFORMED("{\"points\":[[+1]]}", "a finite number expected at byte 13"),
        MALFORMED("{\"points\":[[1,]]}", "a number expected at byte 15"),
        MALFORMED("{\"points\":[[1 2]]}", "a comma or ] expected at byte 15"),
        MALFORMED("{\"points\":[[1],]}", "a list expected at byte 16"),
        MALFORMED("{\"points\":[[1]", "the rest of the document expected at byte 15"),
        MALFORMED("{\"points\":[[1]}", "a comma or ] expected at byte 15"),
        MALFORMED("{\"points\":[[1]]]", "a comma or } expected at byte 16"),
        MALFORMED("{\"points\":[[1]],}", "a string expected at byte 17"),
        MALFORMED("{\"points\":[[1]]}}", "the end of the document expected at byte 17"),
        MALFORMED("{\"points\":[[1]],\"points\":[[1]]}", "\"points\" occurs twice"),
        MALFORMED("{\"\\q\":1}", "a string expected at byte 2"),
    };
#undef MALFORMED
#undef INVALID
    check_everywhere(cases, sizeof cases / sizeof *cases, WIRE_POINTS_JSON);
}

static void test_ndjson(void **state)
{
    (void)state;
#define REFUSED(lines, problem, text_of)                                                                     \
    {                                                                                                        \
        .text = lines, .status = problem, .pointer = "", .detail = text_of                                   \
    }
    static const expectation cases[] = {
        {.text = "{\"point\":[1,-2.5]}\n\n {\"point\" : [ 3e2 , 0 ]} \r\n",
         .rows = 2,
         .columns = 2,
         .cells = {1, -2.5, 300, 0}},
        {.text = "{\"point\":[7]}", .rows = 1, .columns = 1, .cells = {7}},
        REFUSED("", WIRE_INVALID, "there are no rows"),
        REFUSED("{\"point\":[1,2]}\n{\"point\":[1]}\n", WIRE_INVALID, "line 2, row 2: 1 number, 2 expected"),
        REFUSED("{\"point\":[1,\"a\"]}\n", WIRE_INVALID, "line 1, row 1, column 2: must be a number"),
        REFUSED("{\"point\":[]}\n", WIRE_INVALID, "line 1: \"point\" must be a list of 1 to 10000 numbers"),
        REFUSED("{}\n", WIRE_INVALID, "line 1: \"point\" must be a list of 1 to 10000 numbers"),
        REFUSED("\n[1,2]\n", WIRE_INVALID, "line 2: must be an object such as {\"point\": [0.5, 1]}"),
        REFUSED("{\"point\":[1],\"x\":2}\n", WIRE_INVALID,
                "line 1: unknown field \"x\"; allowed here are point, key"),
    };
#undef REFUSED
    check_everywhere(cases, sizeof cases / sizeof *cases, WIRE_POINTS_NDJSON);
}

/* A byte NUL ends nothing. */
static void test_nul(void **state)
{
    (void)state;
    static const char csv[] = "1\n2\0003\n", json[] = "{\"points\":[[1]]\0}";
    sheet s = {0};
    wire_errors errors = {0};
    assert_int_equal(read_point_chunks(&s, &errors, WIRE_POINTS_CSV, 0, 8, csv, sizeof csv - 1, NULL, 0),
                     WIRE_INVALID);
    wire_errors_clear(&errors);
    assert_int_equal(read_point_chunks(&s, &errors, WIRE_POINTS_JSON, 0, 8, json, sizeof json - 1, NULL, 0),
                     WIRE_MALFORMED);
    wire_errors_clear(&errors);
}

static void test_sink_stops(void **state)
{
    (void)state;
    sheet s = {.stop_after = 2};
    wire_errors errors = {0};
    const char *text = "1\n2\n3\n4\n";
    assert_int_equal(read_point_chunks(&s, &errors, WIRE_POINTS_CSV, 0, 1, text, strlen(text), NULL, 0),
                     WIRE_INVALID);
    assert_int_equal(s.rows, 2);
    assert_int_equal(errors.n, 0);
}

/* What is longer than any number or name is refused, at whatever length the chunks cut it. */
static void test_too_long(void **state)
{
    (void)state;
    static char text[4000];
    for (int json = 0; json < 2; json++) {
        size_t n = (size_t)sprintf(text, "%s", json ? "{\"points\":[[" : "");
        memset(text + n, '1', 2000);
        strcpy(text + n + 2000, json ? "]]}" : "\n");
        for (size_t cut = 0; cut < strlen(text); cut += 97) {
            sheet s = {0};
            wire_errors errors = {0};
            wire_status status = read_point_chunks(&s, &errors, json ? WIRE_POINTS_JSON : WIRE_POINTS_CSV, 0,
                                                   8, text, strlen(text), &cut, 1);
            assert_true(status == WIRE_INVALID || (json && status == WIRE_MALFORMED));
            assert_int_equal(errors.n, 1);
            wire_errors_clear(&errors);
        }
    }
}

/* A row of 10000 numbers is read, one of 10001 is refused. */
static void test_too_wide(void **state)
{
    (void)state;
    enum { MOST = 10000 };
    static char text[2 * MOST + 100];
    static const char *const refused[] = {"line 1: at most 10000 columns are allowed",
                                          "may have at most 10000 numbers"};
    for (int json = 0; json < 2; json++) {
        for (size_t more = 0; more < 2; more++) {
            wire_points_reader *r;
            wire_errors errors = {0};
            bool seen = false;
            char *end = stpcpy(text, json ? "{\"points\":[[" : "");
            for (size_t i = 0; i < MOST + more; i++)
                end = stpcpy(end, i > 0 ? ",7" : "7");
            strcpy(end, json ? "]]}" : "\n");
            assert_int_equal(
                wire_points_reader_new(&r, json ? WIRE_POINTS_JSON : WIRE_POINTS_CSV, 0, 1, take_wide, &seen),
                WIRE_OK);
            wire_status status = wire_points_reader_feed(r, text, strlen(text), &errors);
            assert_int_equal(status, more ? WIRE_INVALID : WIRE_OK);
            assert_true(seen == !more);
            assert_int_equal(errors.n, more);
            if (more) {
                assert_string_equal(errors.items[0].pointer, json ? "/points/0" : "");
                assert_string_equal(errors.items[0].detail, refused[json]);
            } else {
                assert_int_equal(wire_points_reader_dimension(r), MOST);
            }
            wire_errors_clear(&errors);
            wire_points_reader_free(r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),       cmocka_unit_test(test_ndjson),   cmocka_unit_test(test_nul),
        cmocka_unit_test(test_sink_stops), cmocka_unit_test(test_too_long), cmocka_unit_test(test_too_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
