/* The shortest digits of doubles: the text of the C library, whose digits are tried one by one, and none shorter. */
#include "proto/shortest.h"

#include "proto/powers_of_ten.h"
#include "tests/support/repeats.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void check(double value)
{
    char expected[40], text[SHORTEST_MAX + 1];
    int digits = fabs(value) < DBL_MIN ? 1 : 15;
    if (!isfinite(value))
        return;
    do
        snprintf(expected, sizeof expected, "%.*g", digits, value);
    while (digits++ < 17 && strtod(expected, NULL) != value);
    size_t n = shortest_text(text, value);
    assert_true(n < SHORTEST_MAX);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

static void powers_and_their_neighbours(void **state)
{
    (void)state;
    for (uint64_t exponent = 0; exponent < 2047; exponent++)
        for (int64_t step = -3; step <= 3; step++) {
            check(of_bits((exponent << 52) + (uint64_t)step));
            check(-of_bits((exponent << 52) + (uint64_t)step));
        }
    for (int power = -323; power <= 308; power++)
        for (int digit = 1; digit < 10; digit++) {
            char text[32];
            snprintf(text, sizeof text, "%de%d", digit, power);
            double value = strtod(text, NULL);
            check(value);
            check(nextafter(value, INFINITY));
            check(nextafter(value, 0.0));
        }
    check(0.0);
    check(-0.0);
}

/* The smallest and the largest fractions of every exponent, and all subnormals of few bits. */
static void borders(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < 20000; bits++)
        check(of_bits(bits));
    for (unsigned shift = 0; shift < 52; shift++)
        for (uint64_t exponent = 0; exponent < 2047; exponent += 13)
            check(of_bits(exponent << 52 | ((UINT64_C(1) << 52) - 1) >> shift));
}

static void numbers_as_users_have_them(void **state)
{
    uint64_t random = 88172645463325252u;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = random_bits(&random);
        check((double)(bits >> 11) * 0x1p-53);
        check((double)(bits % 1000000) / 1000.0);
        check((double)(int64_t)(bits >> 40) / 64.0);
        check((double)(bits >> bits % 64));
    }
}

static void any_bits(void **state)
{
    uint64_t random = 1442695040888963407u;
    (void)state;
    for (size_t i = repeats(300000, 60000); i > 0; i--) {
        uint64_t bits = random_bits(&random);
        check(of_bits(bits));
        check(of_bits((bits & 0x800FFFFFFFFFFFFFu) >> bits % 52)); /* subnormal */
    }
}

__extension__ typedef unsigned __int128 wide;

static wide of_words(const uint64_t words[2])
{
    return (wide)words[0] << 64 | words[1];
}

static wide differ_by(wide a, wide b)
{
    return a > b ? a - b : b - a;
}

/* Each power has its leading bit, and is ten times the one before it, divided by 8 or 16, to the last bits. */
static void the_table_is_one_of_powers(void **state)
{
    const size_t n = sizeof powers_of_ten / sizeof *powers_of_ten;
    (void)state;
    assert_int_equal(n, POWERS_OF_TEN_MOST - POWERS_OF_TEN_LEAST + 1);
    for (size_t i = 0; i < n; i++)
        assert_true(powers_of_ten[i][0] >> 63);
    for (size_t i = 1; i < n; i++) {
        wide ten_times = (of_words(powers_of_ten[i - 1]) >> 4) * 10, now = of_words(powers_of_ten[i]);
        assert_true(differ_by(ten_times, now) < 16 || differ_by(ten_times, now >> 1) < 16);
    }
}

static void integers(void **state)
{
    static const uint64_t cases[] = {0, 9, 10, 99, 100, 9007199254740992u, INT64_MAX, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[21], expected[21];
        text[shortest_integer(text, cases[i])] = '\0';
        snprintf(expected, sizeof expected, "%llu", (unsigned long long)cases[i]);
        assert_string_equal(text, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_and_their_neighbours), cmocka_unit_test(borders),
        cmocka_unit_test(numbers_as_users_have_them),  cmocka_unit_test(any_bits),
        cmocka_unit_test(the_table_is_one_of_powers),  cmocka_unit_test(integers),
    };
    return cmocka_run_group_tests_name("shortest", tests, NULL, NULL);
}
