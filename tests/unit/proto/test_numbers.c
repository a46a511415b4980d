/* Numbers as uploads and bodies have them: read to the bit, and what is none. */
#include "proto/integer.h"
#include "proto/number.h"
#include "proto/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_number(const char *text)
{
    double value, expected = strtod(text, NULL);
    assert_int_equal(wire_read_number(text, strlen(text), WIRE_NUMBER_LOOSE, &value), WIRE_NUMBER_FINITE);
    if (memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("%s is read as %.17g", text, value);
}

/* Numbers are read as the C library reads them, to the bit. */
static void numbers_are_read_to_the_bit(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "0.1",
        "0.3",
        "123456789012345678",
        "1234567890123456789",
        "12345678901234567890",
        "4.9e-324",
        "2.4e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "1e-400",
        "0e999999999999",
        "00000000000000000001",
        "0.000000000000000000000000000000000000001",
        "179769313486231570000e288",
        "6.02e23",
        "-1.5e+3",
        "9007199254740993e-22",
        "100000000000000000000000000000000000000",
        "-0.9999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_number(texts[i]);

    uint64_t bits = 1;
    char text[64];
    for (int i = 0; i < 400000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        unsigned long long digits = (bits >> 1) >> (i % 40);
        int exponent = (int)(bits % 64) - 40;
        snprintf(text, sizeof text, "%llue%d", digits, exponent);
        check_number(text);
        /* halfway between two doubles, at the least distance to either side, and with zeros after it */
        unsigned long long odd = (1ull << 53) + (digits >> 11) * 2 + 1;
        snprintf(text, sizeof text, "%llu.%0*d", odd, 1 + i % 3, i % 2);
        check_number(text);
    }
}

static void what_is_no_number_is_told(void **state)
{
    (void)state;
    static const char *const neither[] = {"",    "-",   "+",  ".",  "e1",  "1e",  "1e+", "1.5.2", "0x1p3",
                                          "nan", "inf", "1 ", " 1", "1,2", "--1", "1f",  "1_000", "١"};
    static const char *const loose_only[] = {"+1", "01", ".5", "5.", "-.5", "00", "5.e1"};
    static const char *const infinite[] = {"1e309", "-1e999999999999999999999", "1.7976931348623159e308"};
    double value = 7;
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++) {
        size_t n = strlen(neither[i]);
        assert_int_equal(wire_read_number(neither[i], n, WIRE_NUMBER_LOOSE, &value), WIRE_NUMBER_NONE);
        assert_int_equal(wire_read_number(neither[i], n, WIRE_NUMBER_JSON, &value), WIRE_NUMBER_NONE);
    }
    for (size_t i = 0; i < sizeof infinite / sizeof *infinite; i++) {
        assert_int_equal(wire_read_number(infinite[i], strlen(infinite[i]), WIRE_NUMBER_JSON, &value),
                         WIRE_NUMBER_INFINITE);
    }
    assert_true(value == 7);
    for (size_t i = 0; i < sizeof loose_only / sizeof *loose_only; i++) {
        size_t n = strlen(loose_only[i]);
        assert_int_equal(wire_read_number(loose_only[i], n, WIRE_NUMBER_JSON, &value), WIRE_NUMBER_NONE);
        assert_int_equal(wire_read_number(loose_only[i], n, WIRE_NUMBER_LOOSE, &value), WIRE_NUMBER_FINITE);
    }
}

/* "7" and "3-7". */
static void ranges_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t first, last;
    } good[] = {{"7", 7, 7}, {"3-7", 3, 7}, {"7-7", 7, 7}, {"1-9007199254740991", 1, WIRE_MAX_INTEGER}};
    static const char *const bad[] = {"",     "-",     "0",   "0-3",  "7-3",  "3-",  "-3",
                                      "3--4", "3-4-5", "a-b", " 3-4", "3-4 ", "1e3", "1-9007199254740992"};
    int64_t first, last;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *text = good[i].text;
        assert_true(wire_decode_range(text, strlen(text), 1, WIRE_MAX_INTEGER, &first, &last));
        assert_true(first == good[i].first && last == good[i].last);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        first = last = -7;
        assert_false(wire_decode_range(bad[i], strlen(bad[i]), 1, WIRE_MAX_INTEGER, &first, &last));
        assert_true(first == -7 && last == -7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_to_the_bit),
        cmocka_unit_test(what_is_no_number_is_told),
        cmocka_unit_test(ranges_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
