/* Numbers in even steps: min, min + step, min + 2 step, … Each number has one representation as a double,
 * without rounding errors of binary fractions: 0.1 + 2 * 0.1 is 0.3. */
#ifndef BANDIT_LATTICE_H
#define BANDIT_LATTICE_H

#include <math.h>

/* Below this, integers are exact in a double. */
#define LATTICE_LARGEST 9007199254740992.0

/* Rounds to a multiple of 10^exponent. Returns the value itself if that is not exact enough. */
static inline double lattice_round_to(double value, double exponent)
{
    if (!(fabs(exponent) <= 22.0)) /* larger powers of ten are not exact */
        return value;
    double power = pow(10.0, fabs(exponent));
    double units = exponent < 0.0 ? value * power : value / power;
    if (!(fabs(units) < LATTICE_LARGEST))
        return value;
    return exponent < 0.0 ? round(units) / power : round(units) * power;
}

/* The number of the step that is nearest to the value; step > 0. */
static inline double lattice_place(double min, double step, double value)
{
    return round((value - min) / step);
}

/* The number in step k. It is rounded to about a billionth of a step. */
static inline double lattice_value(double min, double step, double k)
{
    return k == 0.0 ? min + 0.0 : lattice_round_to(min + k * step, floor(log10(step)) - 9.0) + 0.0;
}

/* The number of the last step that is not above max. */
static inline double lattice_last(double min, double max, double step)
{
    return floor((max - min) / step + 1e-9);
}

/* Rounds to this many decimal places or, if `significant`, to this many digits. The result is within min to
 * max; it has that many digits if the range contains such a number. */
static inline double lattice_round_digits(double value, int digits, int significant, double min, double max)
{
    double exponent = -digits;
    if (significant)
        exponent = value == 0.0 ? -digits : floor(log10(fabs(value))) + 1.0 - digits;
    double rounded = lattice_round_to(value, exponent), unit = pow(10.0, exponent);
    if (rounded < min)
        rounded = lattice_round_to(rounded + unit, exponent);
    else if (rounded > max)
        rounded = lattice_round_to(rounded - unit, exponent);
    return fmin(max, fmax(min, rounded)) + 0.0;
}

#endif
