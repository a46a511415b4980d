/* The JSON writer, against jansson's reader and against texts written down by hand. */
#include "proto/json_writer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <jansson.h>

static void assert_text(wire_writer *w, const char *expected)
{
    char *text;
    size_t size;
    assert_true(wire_writer_finish(w, &text, &size));
    assert_string_equal(text, expected);
    assert_int_equal(size, strlen(expected));
    assert_null(w->data);
    free(text);
}

static void test_structure(void **state)
{
    (void)state;
    wire_writer w = WIRE_WRITER_INIT;
    wire_object_begin(&w);
    wire_key(&w, "empty");
    wire_array_begin(&w);
    wire_array_end(&w);
    wire_key(&w, "list");
    wire_array_begin(&w);
    wire_integer_value(&w, -9007199254740991);
    wire_object_begin(&w);
    wire_object_end(&w);
    wire_object_begin(&w);
    wire_key(&w, "t");
    wire_boolean(&w, true);
    wire_key(&w, "f");
    wire_boolean(&w, false);
    wire_object_end(&w);
    wire_null(&w);
    wire_array_end(&w);
    wire_key(&w, "raw");
    wire_raw(&w, "{\"a\":[1]}");
    wire_key(&w, "s");
    wire_string(&w, "");
    wire_object_end(&w);
    assert_text(&w, "{\"empty\":[],\"list\":[-9007199254740991,{},{\"t\":true,\"f\":false},null],"
                    "\"raw\":{\"a\":[1]},\"s\":\"\"}");
}

static void test_empty(void **state)
{
    (void)state;
    wire_writer w = WIRE_WRITER_INIT;
    assert_text(&w, "");
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"plain", "\"plain\""},
        {"\"\\/", "\"\\\"\\\\/\""},
        {"\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\""},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        /* one replacement for every byte that begins no character */
        {"a\xFFz", "\"a\xEF\xBF\xBDz\""},
        {"\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xE0\x9F\xBF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xF0\x8F\xBF\xBF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_string(&w, cases[i].text);
        assert_text(&w, cases[i].json);
    }
}

static void test_reals_by_hand(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *json;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-12.0, "-12.0"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"},
        {1.0 / 3.0, "0.3333333333333333"},
        {1e22, "1e+22"},
        {1e-7, "1e-07"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {9007199254740991.0, "9007199254740991.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_real(&w, cases[i].value);
        assert_text(&w, cases[i].json);
    }
}

/* Doubles of random bits keep them through jansson's reader, and are reals there. */
static void test_reals_read_back(void **state)
{
    (void)state;
    uint64_t bits = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (i % 4 == 0)
            value = (double)(int64_t)(bits >> 40) / 64.0;
        if (!isfinite(value))
            continue;
        wire_writer w = WIRE_WRITER_INIT;
        wire_real(&w, value);
        char *text;
        size_t size;
        assert_true(wire_writer_finish(&w, &text, &size));
        json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
        assert_true(json_is_real(json));
        double back = json_real_value(json);
        assert_memory_equal(&back, &value, sizeof value);
        json_decref(json);
        free(text);
    }
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        int64_t milliseconds;
        const char *json;
    } cases[] = {
        {0, "\"1970-01-01T00:00:00.000Z\""},
        {1767225600007, "\"2026-01-01T00:00:00.007Z\""},
        {951782399999, "\"2000-02-28T23:59:59.999Z\""},
        {951782400000, "\"2000-02-29T00:00:00.000Z\""},
        {-1, "\"1969-12-31T23:59:59.999Z\""},
        {-1000, "\"1969-12-31T23:59:59.000Z\""},
        {INT64_MAX, "\"9999-12-31T23:59:59.999Z\""},
        {INT64_MIN, "\"0000-01-01T00:00:00.000Z\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_writer w = WIRE_WRITER_INIT;
        wire_time(&w, cases[i].milliseconds);
        assert_text(&w, cases[i].json);
    }
}

/* By the C library's calendar: days around years that are leap years and that are not, and one of 997 of all days. */
static void test_days(void **state)
{
    (void)state;
    const int64_t day_ms = 86400000, first = -719528, last = 2932896;   /* 0000-01-01, 9999-12-31 */
    static const int64_t centuries[] = {-719528, -25567, 10957, 47482}; /* 0000, 1900, 2000, 2100 */
    for (int64_t day = first; day <= last; day++) {
        bool near = last - day < 1461;
        for (size_t i = 0; i < sizeof centuries / sizeof *centuries; i++)
            near = near || (day >= centuries[i] - 366 && day < centuries[i] + 1461);
        if (!near && day % 997 != 0)
            continue;
        wire_writer w = WIRE_WRITER_INIT;
        struct tm utc;
        char expected[80];
        int64_t of_day = (day - first) * 7919 % day_ms;
        time_t seconds = (time_t)(day * 86400 + of_day / 1000);
        assert_non_null(gmtime_r(&seconds, &utc));
        snprintf(expected, sizeof expected, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", utc.tm_year + 1900,
                 utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(of_day % 1000));
        wire_time(&w, day * day_ms + of_day);
        assert_text(&w, expected);
    }
}

static void test_lines(void **state)
{
    (void)state;
    wire_writer w = WIRE_WRITER_INIT;
    wire_cell(&w, "");
    wire_cell(&w, "plain");
    wire_cell(&w, "a,b");
    wire_cell(&w, "say \"x\"");
    wire_cell(&w, "two\nlines");
    wire_cell(&w, " blank");
    wire_real(&w, 0.5);
    wire_boolean(&w, true);
    wire_line_end(&w);
    wire_integer_value(&w, 7);
    wire_cell(&w, "");
    wire_line_end(&w);
    wire_object_begin(&w);
    wire_object_end(&w);
    wire_line_end(&w);
    assert_text(&w, ",plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\" blank\",0.5,true\n7,\n{}\n");
}

static void test_grows(void **state)
{
    (void)state;
    wire_writer w = WIRE_WRITER_INIT;
    wire_array_begin(&w);
    for (int i = 0; i < 50000; i++)
        wire_integer_value(&w, i);
    wire_array_end(&w);
    char *text;
    size_t size;
    assert_true(wire_writer_finish(&w, &text, &size));
    json_t *json = json_loadb(text, size, 0, NULL);
    assert_int_equal(json_array_size(json), 50000);
    for (size_t i = 0; i < 50000; i++)
        assert_int_equal(json_integer_value(json_array_get(json, i)), i);
    json_decref(json);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_reals_by_hand),
        cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_days),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
