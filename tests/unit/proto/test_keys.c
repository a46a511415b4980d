/* Keys of candidates: what can be one, where they are read from, and what is said of wrong ones. */
#include "proto/keys.h"
#include "proto/points.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void what_can_be_a_key(void **state)
{
    char longest[WIRE_MAX_KEY + 2];
    (void)state;
    memset(longest, 'x', sizeof longest);
    assert_null(wire_key_problem(longest, WIRE_MAX_KEY));
    assert_null(wire_key_problem("C(=O)O #7 \xc3\xa9", 12));
    assert_string_equal(wire_key_problem(longest, WIRE_MAX_KEY + 1), "must have at most 200 bytes");
    assert_string_equal(wire_key_problem("", 0), "must not be empty");
    assert_string_equal(wire_key_problem(" a", 2), "must not begin or end with a blank");
    assert_string_equal(wire_key_problem("a ", 2), "must not begin or end with a blank");
    assert_string_equal(wire_key_problem("a\xff", 2), "is not UTF-8");
    assert_non_null(strstr(wire_key_problem("a\tb", 3), "control characters"));
    assert_non_null(strstr(wire_key_problem("a\0b", 3), "control characters"));
}

static void the_first_repeated_key_is_found(void **state)
{
    static const char *const list[] = {"c", "", "b", "", "a", "b", "c"};
    wire_keys keys = {0};
    size_t first, second;
    (void)state;
    assert_int_equal(wire_keys_find_repeated(&keys, &first, &second), WIRE_OK);
    for (size_t i = 0; i < 5; i++)
        assert_true(wire_keys_add(&keys, list[i], strlen(list[i])));
    assert_int_equal(wire_keys_find_repeated(&keys, &first, &second), WIRE_OK);
    for (size_t i = 5; i < 7; i++)
        assert_true(wire_keys_add(&keys, list[i], strlen(list[i])));
    assert_int_equal(wire_keys_find_repeated(&keys, &first, &second), WIRE_INVALID);
    assert_int_equal(first, 2);
    assert_int_equal(second, 5);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(wire_keys_at(&keys, i), list[i]);
    wire_keys_clear(&keys);
}

/* ---- uploads ------------------------------------------------------------------------------------------- */

static bool count_rows(void *arg, size_t first, size_t n, size_t dimension, const double *rows)
{
    (void)dimension;
    (void)rows;
    assert_int_equal(first, *(size_t *)arg);
    *(size_t *)arg += n;
    return true;
}

/* The keys joined by '|', or the first problem as "pointer: detail"; in pieces of `piece` bytes. */
static char *read_points(wire_points_format format, const char *text, size_t piece, const char *name)
{
    static char out[400];
    wire_points_reader *reader;
    wire_errors errors = {0};
    size_t rows = 0;
    char own[20];
    assert_int_equal(wire_points_reader_new(&reader, format, name ? 1 : 0, 2, count_rows, &rows), WIRE_OK);
    snprintf(own, sizeof own, "%s", name ? name : "");
    if (name)
        assert_int_equal(wire_points_reader_set_names(reader, (char *[]){own}, 1), WIRE_OK);
    wire_status status = WIRE_OK;
    for (size_t at = 0, n = strlen(text); at < n && status == WIRE_OK; at += piece)
        status = wire_points_reader_feed(reader, text + at, n - at < piece ? n - at : piece, &errors);
    if (status == WIRE_OK)
        status = wire_points_reader_finish(reader, &errors);
    *out = '\0';
    const wire_keys *keys = wire_points_reader_keys(reader);
    for (size_t i = 0; status == WIRE_OK && keys && i < keys->n; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? "|" : "", wire_keys_at(keys, i));
    if (status == WIRE_OK && keys)
        assert_int_equal(keys->n, rows);
    if (status != WIRE_OK)
        snprintf(out, sizeof out, "%s: %s", errors.items[0].pointer, errors.items[0].detail);
    wire_errors_clear(&errors);
    wire_points_reader_free(reader);
    return out;
}

static void uploads_bring_keys(void **state)
{
    static const struct {
        wire_points_format format;
        const char *text, *name, *out;
    } cases[] = {
        {WIRE_POINTS_CSV, "key,x\nCCO,1\nCC,2\n", NULL, "CCO|CC"},
        {WIRE_POINTS_CSV, "x,key\n1,\"a,\"\"b\"\n2,\n3,c\n", NULL, "a,\"b||c"},
        {WIRE_POINTS_CSV, "key,x\na,1\n", "x", "a"},
        {WIRE_POINTS_CSV, "key\n1\n", "key", ""},
        {WIRE_POINTS_CSV, "x,y\n1,2\n", NULL, ""},
        {WIRE_POINTS_CSV, "x,key\n1,\n2,\n", NULL, ""},
        {WIRE_POINTS_CSV, "x,key\n1,a\n2,b\n3,a\n", NULL, ": row 3: \"a\" is already the key of row 1"},
        {WIRE_POINTS_CSV, "x,key\n1\n", NULL, ": line 2, row 1: 1 cell, 2 expected"},
        {WIRE_POINTS_CSV, "x,key\n1,a,2\n", NULL, ": line 2, row 1: more than 2 cells, 2 expected"},
        {WIRE_POINTS_CSV, "key,x\na,b\n", NULL,
         ": line 2, row 1, column 2 (\"x\"): not a finite number: \"b\""},
        {WIRE_POINTS_CSV, "key,key\na,1\n", NULL, ": line 1: the header has two columns \"key\""},
        {WIRE_POINTS_CSV, "key\na\n", NULL, ": line 1: the header has 1 column, 2 expected"},
        {WIRE_POINTS_CSV, "key,x,key\na,1,b\n", "x", ": line 1: the header has two columns \"key\""},
        {WIRE_POINTS_JSON, "{\"points\": [[1], [2]], \"keys\": [\"a\", \"\\u0062\\\"\"]}", NULL, "a|b\""},
        {WIRE_POINTS_JSON, "{\"keys\" : [ null , \"a\" ] , \"points\": [[1], [2]]}", NULL, "|a"},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": [null]}", NULL, ""},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": []}", NULL, ""},
        {WIRE_POINTS_JSON, "{\"keys\": [\"a\"]}", NULL, "/points: is required"},
        {WIRE_POINTS_JSON, "{\"points\": [[1], [2]], \"keys\": [\"a\"]}", NULL,
         "/keys: must have one key or null for each of the 2 points, not 1"},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": [\"a\", \"b\"]}", NULL,
         "/keys: must have one key or null for each of the 1 points, not 2"},
        {WIRE_POINTS_JSON, "{\"points\": [[1], [2]], \"keys\": [\"a\", \"a\"]}", NULL,
         "/keys/1: is already the key of point 0"},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": [3]}", NULL, "/keys/0: must be a string"},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": [\" a\"]}", NULL,
         "/keys/0: must not begin or end with a blank"},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": \"a\"}", NULL,
         ": not valid JSON: a list of keys expected at byte 27"},
        {WIRE_POINTS_JSON, "{\"keys\": [\"a\"], \"keys\": [\"b\"], \"points\": [[1]]}", NULL,
         ": not valid JSON: \"keys\" occurs twice"},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": [nil]}", NULL,
         ": not valid JSON: a string or null expected at byte 29"},
        {WIRE_POINTS_JSON, "{\"points\": [[1]], \"keys\": [\"a\"", NULL,
         ": not valid JSON: the rest of the document expected at byte 31"},
        {WIRE_POINTS_NDJSON, "{\"point\": [1], \"key\": \"a\"}\n{\"point\": [2]}\n", NULL, "a|"},
        {WIRE_POINTS_NDJSON, "{\"point\": [1]}\n{\"key\": \"a\", \"point\": [2]}\n", NULL, "|a"},
        {WIRE_POINTS_NDJSON, "{\"point\": [1], \"key\": \"a\"}\n{\"point\": [2], \"key\": \"a\"}\n", NULL,
         ": row 2: \"a\" is already the key of row 1"},
        {WIRE_POINTS_NDJSON, "{\"point\": [1], \"key\": 2}\n", NULL,
         ": line 1, row 1: \"key\" must be a string"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 90; piece += 29)
            assert_string_equal(read_points(cases[i].format, cases[i].text, piece, cases[i].name),
                                cases[i].out);
}

static void a_key_in_json_may_be_written_as_escapes(void **state)
{
    char text[6 * WIRE_MAX_KEY + 60] = "{\"points\":[[1]],\"keys\":[\"", key[WIRE_MAX_KEY + 1] = "";
    (void)state;
    for (size_t i = 0; i < WIRE_MAX_KEY; i++) {
        strcat(text, "\\u0041");
        strcat(key, "A");
    }
    char *end = text + strlen(text);
    strcpy(end, "\"]}");
    assert_string_equal(read_points(WIRE_POINTS_JSON, text, 7, NULL), key);
    strcpy(end, "A\"]}");
    assert_string_equal(read_points(WIRE_POINTS_JSON, text, 7, NULL), "/keys/0: must have at most 200 bytes");
}

/* ---- PUT …/candidates/keys ----------------------------------------------------------------------------- */

/* The keys joined by '|', or all problems. */
static char *read_keys(bool json, const char *text)
{
    static char out[400];
    wire_keys keys = {0};
    wire_errors errors = {0};
    wire_status status = json ? wire_decode_keys(&keys, text, strlen(text), &errors)
                              : wire_read_key_lines(&keys, text, strlen(text), &errors);
    *out = '\0';
    for (size_t i = 0; status == WIRE_OK && i < keys.n; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? "|" : "", wire_keys_at(&keys, i));
    for (size_t i = 0; i < errors.n; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s: %s;", errors.items[i].pointer,
                 errors.items[i].detail);
    wire_errors_clear(&errors);
    wire_keys_clear(&keys);
    return out;
}

static void keys_come_in_lines_or_in_a_list(void **state)
{
    (void)state;
    assert_string_equal(read_keys(false, "\xef\xbb\xbfone\r\n\r\n  two words \nthree"),
                        "one||two words|three");
    assert_string_equal(read_keys(false, "a\n\t\nb\na\n"),
                        ": line 2: a key must not have tabs, line breaks or other control characters;"
                        ": line 4: \"a\" is already the key of line 1;");
    assert_string_equal(read_keys(true, "{\"keys\": [\"a\", null, \"\", \"b\"]}"), "a|||b");
    assert_string_equal(read_keys(true, "{\"keys\": [\"a\", 3, \"a\\n\"], \"more\": 1}"),
                        "/keys/1: must be a string;"
                        "/keys/2: must not have tabs, line breaks or other control characters;"
                        "/more: unknown field; allowed here are keys;");
    assert_string_equal(read_keys(true, "{\"keys\": [\"a\", \"b\", \"a\"]}"),
                        "/keys/2: is already the key of element 0;");
    assert_string_equal(read_keys(true, "{\"keys\": []}"), "/keys: must not be empty;");
    assert_string_equal(read_keys(true, "{}"), "/keys: is required;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_a_key),
        cmocka_unit_test(the_first_repeated_key_is_found),
        cmocka_unit_test(uploads_bring_keys),
        cmocka_unit_test(a_key_in_json_may_be_written_as_escapes),
        cmocka_unit_test(keys_come_in_lines_or_in_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
