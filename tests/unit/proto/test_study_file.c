/* A study's file: what was written is read, to the bit; what is not such a file is refused in its line. */
#include "proto/study_file.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct seen {
    char text[2000];
    size_t n;
    double rows[16];
    size_t n_rows;
} seen;

static void say(seen *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(seen *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s->n += (size_t)vsnprintf(s->text + s->n, sizeof s->text - s->n, format, args);
    va_end(args);
    assert_true(s->n < sizeof s->text);
}

static wire_status take_head(void *arg, const wire_file_head *head, wire_errors *errors)
{
    (void)errors;
    say(arg, "%s by %s: %lld entries, %lld x %lld\n", head->study, head->program, (long long)head->entries,
        (long long)head->candidates, (long long)head->dimension);
    return WIRE_OK;
}

static wire_status take_rows(void *arg, size_t n, size_t dimension, const double *rows, wire_errors *errors)
{
    seen *s = arg;
    (void)errors;
    memcpy(s->rows + s->n_rows * dimension, rows, n * dimension * sizeof *rows);
    s->n_rows += n;
    return WIRE_OK;
}

static wire_status take_entry(void *arg, int64_t seq, int64_t time, const char *type, const char *payload,
                              wire_errors *errors)
{
    (void)errors;
    say(arg, "%lld at %lld: %s %s\n", (long long)seq, (long long)time, type, payload);
    return WIRE_OK;
}

static wire_status read_file(seen *s, const char *text, size_t size, wire_errors *errors)
{
    static const wire_file_sink sink = {.head = take_head, .rows = take_rows, .entry = take_entry};
    wire_file_reader *reader;
    *s = (seen){0};
    assert_int_equal(wire_file_reader_new(&reader, &sink, s), WIRE_OK);
    wire_status status = wire_file_reader_feed(reader, text, size, errors);
    if (status == WIRE_OK)
        status = wire_file_reader_finish(reader, errors);
    wire_file_reader_free(reader);
    return status;
}

static void test_written_and_read(void **state)
{
    const double rows[] = {0.1, -0.0, NAN, 5e-324, 1e300, 3};
    const wire_file_head head = {
        .program = "0.1", .study = "a", .entries = 2, .candidates = 3, .dimension = 2};
    wire_writer w = WIRE_WRITER_INIT;
    wire_errors errors = {0};
    char *text;
    size_t size;
    seen s;
    (void)state;
    wire_encode_file_head(&w, &head);
    wire_encode_file_rows(&w, 0, rows, 2, 2);
    wire_encode_file_rows(&w, 2, rows + 4, 1, 2);
    wire_encode_file_entry(&w, 1, 1767225599999, "b", "{\"x\":-0.0,\"y\":[1,0.1]}");
    wire_encode_file_entry(&w, 2, 1709164800000, "c", "{}"); /* the 29th of February 2024 */
    wire_encode_file_end(&w, 2);
    assert_true(wire_writer_finish(&w, &text, &size));
    assert_int_equal(read_file(&s, text, size, &errors), WIRE_OK);
    assert_string_equal(s.text, "a by 0.1: 2 entries, 3 x 2\n"
                                "1 at 1767225599999: b {\"x\":-0.0,\"y\":[1,0.1]}\n"
                                "2 at 1709164800000: c {}\n");
    assert_non_null(strstr(text, "\"2025-12-31T23:59:59.999Z\""));
    assert_non_null(strstr(text, "\"2024-02-29T00:00:00.000Z\""));
    assert_int_equal(s.n_rows, 3);
    for (size_t i = 0; i < 6; i++) {
        assert_true(isnan(rows[i]) ? isnan(s.rows[i]) : s.rows[i] == rows[i]);
        assert_int_equal(signbit(s.rows[i]), signbit(rows[i]));
    }
    /* Cut off anywhere it is no file. */
    for (size_t cut = 0; cut < size - 1; cut++) {
        assert_int_not_equal(read_file(&s, text, cut, &errors), WIRE_OK);
        assert_true(errors.n > 0);
        wire_errors_clear(&errors);
        errors = (wire_errors){0};
    }
    free(text);
}

#define HEAD                                                                                                 \
    "{\"banditd\":\"study\",\"version\":1,\"program\":\"p\",\"study\":\"a\",\"entries\":1,\"candidates\":1," \
    "\"dimension\":1}\n"
#define ROW   "{\"candidates\":0,\"rows\":[[1]]}\n"
#define ENTRY "{\"seq\":1,\"time\":\"2026-01-01T00:00:00.000Z\",\"type\":\"t\",\"payload\":{}}\n"

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "cut off"},
        {"{}\n", "line 1, /banditd: is required"},
        {HEAD HEAD, "line 2, /seq"},
        {"{\"banditd\":\"study\",\"version\":1,\"program\":\"p\",\"study\":\"a\",\"entries\":1,"
         "\"candidates\":1,"
         "\"dimension\":0}\n",
         "line 1: candidates and dimension must both be 0 or both be greater than 0"},
        {"{\"banditd\":\"study\",\"version\":1,\"program\":\"p\",\"study\":\"a\",\"entries\":1,"
         "\"candidates\":0,"
         "\"dimension\":1}\n",
         "line 1: candidates and dimension must both be 0 or both be greater than 0"},
        {HEAD ENTRY, "line 2: only 0 of 1 candidates"},
        {HEAD ROW ROW, "line 3: these rows are out of order or exceed the"},
        {HEAD "{\"candidates\":1,\"rows\":[[1]]}\n", "line 2: these rows are out of order or exceed the"},
        {HEAD "{\"candidates\":0,\"rows\":[[1,2]]}\n", "line 2: row 0 must have 1 number"},
        {HEAD "{\"candidates\":0,\"rows\":[[true]]}\n", "line 2: row 0 must have 1 number"},
        {HEAD "{\"candidates\":0,\"rows\":[[1],[2]]}\n", "line 2: these rows are out of order or exceed the"},
        {HEAD ROW "\n{\"seq\":2}\n", "line 4, /time: is required"},
        {HEAD ROW ENTRY ENTRY, "line 4: entry 1 follows entry 1; the 1 entries"},
        {HEAD ROW ENTRY "{\"end\":2}\n", "line 4: the file has 1 of 1 log entries"},
        {HEAD ROW "{\"end\":1}\n", "line 3: the file has 0 of 1 log entries"},
        {HEAD ROW ENTRY "{\"end\":1,\"more\":1}\n", "line 4, /more: unknown field"},
        {HEAD ROW ENTRY "{\"end\":1}\n{}\n", "line 5: there is more text after the line that ends the file"},
        {HEAD ROW ENTRY "{\"end\":1", "line 4"},
        {HEAD ROW "{\"seq\":1,\"time\":\"2026-13-01T00:00:00.000Z\",\"type\":\"t\",\"payload\":{}}\n",
         "the time"},
        {HEAD ROW "{\"seq\":1,\"time\":\"2026-02-29T00:00:00.000Z\",\"type\":\"t\",\"payload\":{}}\n",
         "the time"},
        {HEAD ROW "{\"seq\":1,\"time\":\"2026-01-01T00:00:00.000Z\",\"type\":\"t\",\"payload\":{},"
                  "\"a_member_that_has_a_long_name\":1}\n",
         "line 3, /a_member_that_has_a_long_name: unknown field"},
        {HEAD ROW "{\"seq\":1,\"time\":\"1 o'clock\",\"type\":\"t\",\"payload\":{}}\n",
         "the time must have the form 2026-01-01T00:00:00.000Z, not '1 o'clock'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_errors errors = {0};
        seen s;
        assert_int_not_equal(read_file(&s, cases[i].text, strlen(cases[i].text), &errors), WIRE_OK);
        assert_true(errors.n > 0);
        if (!strstr(errors.items[0].detail, cases[i].words))
            fail_msg("'%s' is not in '%s'", cases[i].words, errors.items[0].detail);
        wire_errors_clear(&errors);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_and_read),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
