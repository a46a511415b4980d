#include "proto/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Powers of ten that a double represents exactly. */
#define EXACT_POWERS 22
static const double powers[EXACT_POWERS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Digits that have been read: their integer value and their number. */
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

/* value / 10^places, rounded once, half to even: by an integer division with a quotient of 64 bits, whose
 * remainder decides the rounding. value > 0, 0 < places <= 19. This handles doubles with 16 or 17 digits, as
 * programs write them, in less than half of strtod's time. */
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

/* Exponents beyond this are far outside the range of a double. */
enum { EXPONENT_MAX = 100000 };

/* A number in its parts: (negative ? -1 : 1) * digits * 10^exponent. */
typedef struct decimal {
    bool negative;
    digits d;
    int64_t exponent;
} decimal;

/* "e-5" and the like at p, or nothing; *out is 0 then. NULL: there is an e without digits. */
static const char *read_exponent(const char *p, const char *end, int64_t *out)
{
    digits e = {0};
    *out = 0;
    if (p == end || (*p != 'e' && *p != 'E'))
        return p;
    p++;
    bool minus = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    p = read_digits(p, end, &e);
    if (e.count == 0)
        return NULL;
    *out = e.value > EXPONENT_MAX || e.significant > 6 ? EXPONENT_MAX : (int64_t)e.value;
    if (minus)
        *out = -*out;
    return p;
}

static bool read_decimal(const char *text, size_t n, bool strict, decimal *out)
{
    const char *p = text, *const end = text + n;
    *out = (decimal){.negative = *p == '-'};
    if (out->negative || (*p == '+' && !strict))
        p++;
    const char *whole = p;
    p = read_digits(p, end, &out->d);
    size_t n_whole = out->d.count, n_fraction = 0;
    if (strict && (n_whole == 0 || (n_whole > 1 && *whole == '0')))
        return false;
    if (p < end && *p == '.') {
        p = read_digits(p + 1, end, &out->d);
        n_fraction = out->d.count;
        if (strict && n_fraction == 0)
            return false;
    }
    if (n_whole + n_fraction == 0)
        return false;
    p = read_exponent(p, end, &out->exponent);
    out->exponent -= (int64_t)n_fraction;
    return p == end;
}

/* An integer below 2^53 times or over an exact power of ten is rounded once, hence correctly (Clinger, "How
 * to read floating point numbers accurately", PLDI 1990). The library converts everything else. */
static bool round_decimal(const decimal *x, double *out)
{
    const uint64_t exact = UINT64_C(1) << 53;
    if (x->d.significant > 19)
        return false;
    if (x->d.value > exact) {
        if (x->exponent >= 0 || x->exponent < -19)
            return false;
        *out = by_division(x->d.value, (int)-x->exponent);
        return true;
    }
    if (x->exponent > EXACT_POWERS || x->exponent < -EXACT_POWERS)
        return false;
    *out = (double)x->d.value;
    *out = x->exponent < 0 ? *out / powers[-x->exponent] : *out * powers[x->exponent];
    return true;
}

wire_number_result wire_read_number(const char *text, size_t n, wire_number_syntax syntax, double *out)
{
    decimal x;
    double value;
    if (n == 0 || n > WIRE_NUMBER_MAX || !read_decimal(text, n, syntax == WIRE_NUMBER_JSON, &x))
        return WIRE_NUMBER_NONE;
    if (!round_decimal(&x, &value))
        return by_library(text, n, out);
    *out = x.negative ? -value : value;
    return WIRE_NUMBER_FINITE;
}
