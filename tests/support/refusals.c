#include "tests/support/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

char *with_quotes(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *p = strchr(copy, '\''); p; p = strchr(p, '\''))
        *p = '"';
    return copy;
}

/* The body is copied to memory of just its size, so that reading past its end is seen. */
static wire_status attempt_exactly(decode_attempt *attempt, const char *text, wire_errors *errors)
{
    char *quoted = with_quotes(text);
    size_t size = strlen(quoted);
    char *body = malloc(size > 0 ? size : 1);
    assert_non_null(body);
    memcpy(body, quoted, size);
    free(quoted);
    wire_status status = attempt(body, size, errors);
    free(body);
    return status;
}

static void print_problems(const char *body, const wire_errors *errors)
{
    print_error("%s\n", body);
    for (size_t i = 0; i < errors->n; i++)
        print_error("    %s: %s\n", errors->items[i].pointer, errors->items[i].detail);
}

/* "unknown field" stands for itself with any list of what is allowed. */
static bool is_expected(const char *detail, const char *expected)
{
    static const char listed[] = "unknown field; allowed here are ";
    bool any = strcmp(expected, "unknown field") == 0 && strncmp(detail, listed, sizeof listed - 1) == 0;
    return any || strcmp(detail, expected) == 0;
}

void check_refusals(decode_attempt *attempt, const refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wire_errors errors = {0};
        wire_status status = attempt_exactly(attempt, cases[i].body, &errors);
        if (status != WIRE_INVALID || errors.n != 1 ||
            strcmp(errors.items[0].pointer, cases[i].pointer) != 0 ||
            !is_expected(errors.items[0].detail, cases[i].detail)) {
            print_problems(cases[i].body, &errors);
            fail_msg("not refused with just \"%s\": %s", cases[i].pointer, cases[i].detail);
        }
        wire_errors_clear(&errors);
    }
}

void check_accepted(decode_attempt *attempt, const char *const *bodies, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wire_errors errors = {0};
        wire_status status = attempt_exactly(attempt, bodies[i], &errors);
        if (status != WIRE_OK || errors.n != 0) {
            print_problems(bodies[i], &errors);
            fail_msg("refused");
        }
        wire_errors_clear(&errors);
    }
}

static void check_malformed(decode_attempt *attempt, const char *body, size_t size)
{
    wire_errors errors = {0};
    wire_status status = attempt(body, size, &errors);
    if (status != WIRE_MALFORMED)
        print_problems(body, &errors);
    assert_int_equal(status, WIRE_MALFORMED);
    assert_int_equal(errors.n, 1);
    assert_string_equal(errors.items[0].pointer, "");
    wire_errors_clear(&errors);
}

void check_common(decode_attempt *attempt)
{
    static const char *const malformed[] = {
        " ",
        "{",
        "{}}",
        "{'a':NaN}",
        "{'a':1e999}",
        "{'a':-1e999}",
        "{'a':Infinity}",
        "{'a':1,'a':1}",
        "{'a':{'b':1,'b':1}}",
        "{'a':1,}",
        "{'a':01}",
        "{'a':'\\u0000'}",
        "{'\\u0000':1}",
        "{'a':'\xFF'}",
        "{'a':'\xED\xA0\x80'}",
        "{'a':'\\ud800'}",
        "{'a':'\n'}",
        "\xEF\xBB\xBF{}",
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        char *body = with_quotes(malformed[i]);
        check_malformed(attempt, body, strlen(body));
        free(body);
    }
    check_malformed(attempt, "{}\0", 3);
    check_malformed(attempt, "{\"a\":1\0}", 8);

    /* As deep as jansson goes, and far deeper. */
    static char deep[1 << 20];
    memset(deep, '[', sizeof deep);
    check_malformed(attempt, deep, sizeof deep);
    check_malformed(attempt, deep, 65);
    /* Brackets in strings are none. */
    strcpy(deep, "[\"\\\"");
    memset(deep + 4, '[', 100);
    strcpy(deep + 104, "\"]");
    wire_errors errors = {0};
    assert_int_equal(attempt(deep, strlen(deep), &errors), WIRE_INVALID);
    wire_errors_clear(&errors);

    static const refusal not_objects[] = {
        {"[]", "", "must be an object"},   {"'x'", "", "must be an object"},  {"7", "", "must be an object"},
        {"true", "", "must be an object"}, {"null", "", "must be an object"},
    };
    check_refusals(attempt, not_objects, sizeof not_objects / sizeof *not_objects);
}
