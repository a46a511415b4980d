#include "proto/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Powers of ten that are doubles exactly. */
#define EXACT_POWERS 22
static const double powers[EXACT_POWERS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Digits as they are read: an integer and how many there are of them. */
typedef struct digits {
    uint64_t value; /* of at most 19 significant digits */
    int significant;
    size_t count;
} digits;

static const char *read_digits(const char *p, const char *end, digits *d)
{
    const char *start = p;
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        if (d->significant < 20) {
            if (d->value > 0 || *p != '0')
                d->significant++;
            if (d->significant < 20)
                d->value = d->value * 10 + (uint64_t)(*p - '0');
        }
    }
    d->count = (size_t)(p - start);
    return p;
}

/* value / 10^places, rounded once, half to even: an integer division whose quotient has 64 bits and whose
 * remainder tells what lies below them. value > 0, 0 < places <= 19. Doubles as programs write them, with 16
 * or 17 digits, come this way, in less than half of strtod's time. */
static double by_division(uint64_t value, int places)
{
    uint64_t divisor = 1;
    for (int i = 0; i < places; i++)
        divisor *= 10;
    int value_shift = __builtin_clzll(value), divisor_shift = __builtin_clzll(divisor);
    value <<= value_shift;
    divisor <<= divisor_shift;
    int scale = value >= divisor ? 63 : 64;
    unsigned __int128 dividend = (unsigned __int128)value << scale;
    uint64_t quotient = (uint64_t)(dividend / divisor); /* 2^63 <= quotient < 2^64 */
    bool more = (unsigned __int128)quotient * divisor != dividend;

    uint64_t mantissa = quotient >> 11, below = quotient & 0x7FF;
    if (below > 0x400 || (below == 0x400 && (more || (mantissa & 1))))
        mantissa++;
    return ldexp((double)mantissa, 11 + divisor_shift - value_shift - scale);
}

static wire_number_result by_library(const char *text, size_t n, double *out)
{
    char copy[WIRE_NUMBER_MAX + 1];
    memcpy(copy, text, n);
    copy[n] = '\0';
    double value = strtod(copy, NULL);
    if (!isfinite(value))
        return WIRE_NUMBER_INFINITE;
    *out = value;
    return WIRE_NUMBER_FINITE;
}

wire_number_result wire_read_number(const char *text, size_t n, wire_number_syntax syntax, double *out)
{
    const char *p = text, *const end = text + n;
    bool strict = syntax == WIRE_NUMBER_JSON;
    if (n == 0 || n > WIRE_NUMBER_MAX)
        return WIRE_NUMBER_NONE;
    bool negative = *p == '-';
    if (negative || (*p == '+' && !strict))
        p++;

    digits d = {0};
    const char *whole = p;
    p = read_digits(p, end, &d);
    size_t n_whole = d.count, n_fraction = 0;
    if (strict && (n_whole == 0 || (n_whole > 1 && *whole == '0')))
        return WIRE_NUMBER_NONE;
    if (p < end && *p == '.') {
        p = read_digits(p + 1, end, &d);
        n_fraction = d.count;
        if (strict && n_fraction == 0)
            return WIRE_NUMBER_NONE;
    }
    if (n_whole + n_fraction == 0)
        return WIRE_NUMBER_NONE;

    int64_t exponent = 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool minus = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        digits e = {0};
        p = read_digits(p, end, &e);
        if (e.count == 0)
            return WIRE_NUMBER_NONE;
        exponent = e.value > 100000 || e.significant > 6 ? 100000 : (int64_t)e.value;
        if (minus)
            exponent = -exponent;
    }
    if (p != end)
        return WIRE_NUMBER_NONE;

    /* An integer below 2^53 times or over an exact power of ten is rounded once, hence correctly (Clinger,
     * "How to read floating point numbers accurately", PLDI 1990). All else is the library's. */
    exponent -= (int64_t)n_fraction;
    if (d.significant <= 19 && d.value > UINT64_C(1) << 53 && exponent < 0 && exponent >= -19) {
        double value = by_division(d.value, (int)-exponent);
        *out = negative ? -value : value;
        return WIRE_NUMBER_FINITE;
    }
    if (d.significant > 19 || d.value > UINT64_C(1) << 53 || exponent > EXACT_POWERS ||
        exponent < -EXACT_POWERS)
        return by_library(text, n, out);
    double value = (double)d.value;
    value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
    *out = negative ? -value : value;
    return WIRE_NUMBER_FINITE;
}
