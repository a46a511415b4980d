/* Schubfach: Raffaello Giulietti, The Schubfach way to render doubles, 2021.
 *
 * The decimals that read back to v = c 2^q lie between the midpoints to its two neighbours. 10^k is just below the
 * width of this interval. If it contains a decimal with the exponent k + 1, that one is chosen, and otherwise the
 * nearest decimal with the exponent k. Three products with a power of ten of 128 bits, rounded to odd, decide
 * exactly.
 *
 * Only for powers of two, whose interval is not symmetric, can this find one digit less than %g. The C library prints
 * those, so that the text is always that of %g. */
#include "proto/shortest.h"

#include "proto/powers_of_ten.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRACTION_BITS = 52, EXPONENT_BIAS = 1075 };

/* digits * 10^exponent; no digit is a trailing 0. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

/* The upper 64 bits of power * factor / 2^64, with the last bit set if any lower bit is set. */
static uint64_t round_to_odd(const uint64_t power[2], uint64_t factor)
{
    unsigned __int128 low = (unsigned __int128)power[1] * factor;
    unsigned __int128 sum = (unsigned __int128)power[0] * factor + (uint64_t)(low >> 64);
    return (uint64_t)(sum >> 64) | ((uint64_t)sum > 1);
}

/* floor(number / 2^bits), of signed numbers. */
static int floor_shift(int64_t number, int bits)
{
    int64_t divisor = INT64_C(1) << bits;
    return (int)(number >= 0 ? number / divisor : -((-number + divisor - 1) / divisor));
}

/* The decimal for c * 2^q. `even`: the ends of its interval belong to it. `narrow`: the next smaller double is at half
 * the distance of the next larger one. */
static decimal nearest_short(uint64_t c, int q, bool even, bool narrow)
{
    /* floor(log10(2^q)), or of 3/4 2^q; and floor(log2(10^-k)) below. Giulietti, section 9. */
    int k = floor_shift((int64_t)q * 1262611 - (narrow ? 524031 : 0), 22);
    int h = q + floor_shift((int64_t)-k * 1741647, 19) + 1;
    const uint64_t *power = powers_of_ten[-k - POWERS_OF_TEN_LEAST];
    uint64_t v = round_to_odd(power, (4 * c) << h);
    uint64_t lower = round_to_odd(power, (4 * c - 2 + narrow) << h) + !even;
    uint64_t upper = round_to_odd(power, (4 * c + 2) << h) - !even;
    uint64_t s = v / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above)
            return (decimal){tens + above, k + 1};
    }
    bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above)
        return (decimal){s + above, k};
    uint64_t middle = 4 * s + 2;
    return (decimal){s + (v > middle || (v == middle && (s & 1))), k};
}

static decimal without_zeros(decimal d)
{
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    return d;
}

size_t shortest_integer(char *text, uint64_t number)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < n; i++)
        text[i] = digits[n - 1 - i];
    return n;
}

/* As %g with this precision: an exponent if the first digit stands below 10^-4, or at 10^precision or above. */
static size_t write_decimal(char *text, decimal d, int precision)
{
    char digits[20], *p = text;
    size_t n = shortest_integer(digits, d.digits);
    int first = (int)n - 1 + d.exponent; /* the power of ten of the first digit */
    if (first < -4 || first >= precision) {
        *p++ = digits[0];
        if (n > 1)
            *p++ = '.';
        memcpy(p, digits + 1, n - 1);
        p += n - 1;
        *p++ = 'e';
        *p++ = first < 0 ? '-' : '+';
        unsigned power = (unsigned)abs(first);
        if (power < 10)
            *p++ = '0';
        p += shortest_integer(p, power);
    } else if (first < 0) {
        size_t zeros = (size_t)(-first - 1);
        p[0] = '0';
        p[1] = '.';
        memset(p + 2, '0', zeros);
        memcpy(p + 2 + zeros, digits, n);
        p += 2 + zeros + n;
    } else {
        size_t whole = (size_t)first + 1, given = n < whole ? n : whole;
        memcpy(p, digits, given);
        memset(p + given, '0', whole - given);
        p += whole;
        if (n > whole) {
            *p++ = '.';
            memcpy(p, digits + whole, n - whole);
            p += n - whole;
        }
    }
    return (size_t)(p - text);
}

static size_t by_library(char text[SHORTEST_MAX], double number)
{
    int n, digits = 15;
    do {
        n = snprintf(text, SHORTEST_MAX, "%.*g", digits, number);
    } while (digits++ < 17 && strtod(text, NULL) != number);
    return (size_t)n;
}

size_t shortest_text(char text[SHORTEST_MAX], double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << FRACTION_BITS) - 1);
    int exponent = (int)(bits >> FRACTION_BITS & 0x7FF);
    char *p = text;
    if (signbit(number))
        *p++ = '-';
    if (number == 0.0) {
        *p++ = '0';
        return (size_t)(p - text);
    }
    bool normal = exponent > 0, narrow = fraction == 0 && exponent > 1;
    uint64_t c = normal ? fraction | UINT64_C(1) << FRACTION_BITS : fraction;
    decimal d = nearest_short(c, (normal ? exponent : 1) - EXPONENT_BIAS, c % 2 == 0, narrow);
    d = without_zeros(d);
    int n = d.digits >= UINT64_C(10000000000000000) ? 17 : d.digits >= UINT64_C(1000000000000000) ? 16 : 15;
    if (n > 15 && narrow)
        return by_library(text, number);
    if (!normal) {
        char digits[20];
        n = (int)shortest_integer(digits, d.digits);
    }
    return (size_t)(p - text) + write_decimal(p, d, n);
}
