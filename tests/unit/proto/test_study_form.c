/* Definitions as forms, with the words of parameters in parts of their own. */
#include "bandit/algorithm.h"
#include "proto/study_form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TYPE "multipart/form-data; charset=utf-8; boundary=\"a b;c\""
#define NEXT "\r\n--a b;c\r\n"
#define LAST "\r\n--a b;c--"

#define PART(name, content) "Content-Disposition: form-data; name=\"" name "\"\r\n\r\n" content
#define FILE_PART(name, file, content)                                                                       \
    "content-disposition: form-data; filename=\"x;name=y" file "\"; name=" name                              \
    "\r\nX-Other: 1\r\n\r\n" content
#define STUDY                                                                                                \
    PART(                                                                                                    \
        "study",                                                                                             \
        "{\"metric\":{\"name\":\"v\",\"goal\":\"maximize\"},\"domain\":{\"type\":\"space\",\"parameters\":[" \
        "{\"name\":\"mol\",\"type\":\"categorical\",\"scaling\":\"unit\",\"default\":\"CC\"}]}}")
#define TABLE FILE_PART("mol", ".csv", "mol,a,b\r\nC,1,2\r\n--a b;x,3,4\r\nCC,0,-9")

static wire_status read_form(const char *type, const char *body, size_t chunk, size_t max_values,
                             wire_study **out, wire_errors *errors, bool *too_large)
{
    wire_study_form *form;
    size_t n = strlen(body);
    *out = NULL;
    *too_large = false;
    wire_status status = wire_study_form_new(&form, type, 1000, max_values, errors);
    if (status != WIRE_OK)
        return status;
    for (size_t at = 0; at < n && status == WIRE_OK; at += chunk)
        status = wire_study_form_feed(form, body + at, n - at < chunk ? n - at : chunk, errors);
    if (status == WIRE_OK)
        status = wire_study_form_finish(form, out, bandit_algorithm_names(), errors);
    *too_large = wire_study_form_is_too_large(form);
    wire_study_form_free(form);
    return status;
}

static void words_come_from_their_part(void **state)
{
    static const char *const bodies[] = {
        "--a b;c\r\n" STUDY NEXT TABLE LAST "\r\nafter",
        "before\r\n--a b;" NEXT TABLE "\r\n" NEXT STUDY LAST,
    };
    (void)state;
    for (size_t i = 0; i < 2 * 40; i++) {
        wire_errors errors = {0};
        wire_study *study;
        bool too_large;
        assert_int_equal(read_form(TYPE, bodies[i % 2], i / 2 + 1, 6, &study, &errors, &too_large), WIRE_OK);
        const wire_parameter *p = study->parameters;
        static const double features[] = {1, 2, 3, 4, 0, -9};
        assert_int_equal(p->n_values, 3);
        assert_int_equal(p->n_features, 2);
        assert_string_equal(p->words[0], "C");
        assert_string_equal(p->words[1], "--a b;x");
        assert_string_equal(p->words[2], "CC");
        assert_memory_equal(p->features, features, sizeof features);
        assert_string_equal(p->feature_names[1], "b");
        assert_string_equal(p->scaling, "unit");
        assert_true(p->has_default && p->default_value == 2);
        wire_study_free(study);
    }
}

static void expect_refusal(const char *type, const char *body, const char *pointer, const char *detail)
{
    wire_errors errors = {0};
    wire_study *study;
    bool too_large;
    assert_int_equal(read_form(type, body, 7, 1000, &study, &errors, &too_large), WIRE_INVALID);
    assert_true(errors.n > 0 && !too_large);
    assert_string_equal(errors.items[0].pointer, pointer);
    if (!strstr(errors.items[0].detail, detail))
        fail_msg("\"%s\" lacks \"%s\"", errors.items[0].detail, detail);
    wire_errors_clear(&errors);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    expect_refusal("multipart/form-data", "x", "", "has no boundary");
    expect_refusal("multipart/form-data; boundary=\"\"", "x", "", "has no boundary");
    expect_refusal(TYPE, "x", "", "does not have the boundary");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY, "", "ends before its last delimiter");
    expect_refusal(TYPE, "--a b;cx\r\n" STUDY LAST, "", "text follows a delimiter");
    expect_refusal(TYPE, "--a b;c\r\nX: y\r\n\r\n" LAST, "", "no Content-Disposition with a name");
    expect_refusal(TYPE, "--a b;c\r\n" TABLE LAST, "", "no part \"study\"");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT STUDY LAST, "", "part \"study\" comes twice");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT TABLE NEXT TABLE LAST, "", "part \"mol\": comes twice");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY LAST, "/domain/parameters/0/values", "is required");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT TABLE NEXT FILE_PART("x", ".csv", "key,a\nb,1") LAST, "",
                   "has a part \"x\"");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".csv", "smiles,a\nC,1") LAST, "",
                   "part \"mol\": line 1: the header has no column \"key\", and none called \"mol\"");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".csv", "1,2") LAST, "",
                   "no row has a key");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".csv", "key,a\nC,1\n,2") LAST, "",
                   "part \"mol\": row 2 has no key");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".csv", "key,a\nC,1\nC,2") LAST, "",
                   "row 2: \"C\" is already the key of row 1");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".csv", "key,a\nC,x") LAST, "",
                   "part \"mol\": line 2, row 1, column 2 (\"a\"): not a finite number: \"x\"");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".csv", "key,a,a\nCC,1,2") LAST,
                   "/domain/parameters/0/feature_names/1", "already in the list");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".csv", "key,\xff\nCC,1") LAST, "",
                   "the name of column 1 is not UTF-8");
    expect_refusal(TYPE, "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".ndjson", "{\"point\":[1]}") LAST, "",
                   "no row has a key");
    expect_refusal(TYPE,
                   "--a b;c\r\n" STUDY NEXT FILE_PART("mol", ".JSON", "{\"points\":[[1],[\"x\"]]}") LAST, "",
                   "part \"mol\": /points/1/0: ");
    expect_refusal(
        TYPE,
        "--a b;c\r\n" PART("study", "{\"metric\":{\"name\":\"v\",\"goal\":\"maximize\"},\"domain\":{\"type\":"
                                    "\"space\",\"parameters\":[{\"name\":\"mol\",\"type\":\"categorical\","
                                    "\"values\":[\"a\"]}]}}") NEXT TABLE LAST,
        "/domain/parameters/0/values", "words in a part of the form");
}

static void limits_hold(void **state)
{
    wire_errors errors = {0};
    wire_study *study;
    bool too_large;
    char body[3000];
    (void)state;
    assert_int_equal(read_form(TYPE, "--a b;c\r\n" STUDY NEXT TABLE LAST, 9, 5, &study, &errors, &too_large),
                     WIRE_INVALID);
    assert_true(too_large && errors.n == 0);
    snprintf(body, sizeof body, "--a b;c\r\n" PART("study", "%1001s") LAST, "");
    assert_int_equal(read_form(TYPE, body, 9, 5, &study, &errors, &too_large), WIRE_INVALID);
    assert_non_null(strstr(errors.items[0].detail, "larger than --max-body allows"));
    wire_errors_clear(&errors);
    snprintf(body, sizeof body, "--a b;c\r\nX: %2100s", "");
    assert_int_equal(read_form(TYPE, body, 9, 5, &study, &errors, &too_large), WIRE_INVALID);
    assert_non_null(strstr(errors.items[0].detail, "a header is too long"));
    wire_errors_clear(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_from_their_part),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
