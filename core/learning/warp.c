#include "core/learning/warp.h"

#include <math.h>

/* Both branches are +-expm1(q a) / q with a = log(1 + |v|); this is q for the branch of v. */
static double exponent(double v, double power)
{
    return v < 0.0 ? 2.0 - power : power;
}

double bandit_warp(double v, double power)
{
    double a = log1p(fabs(v)), q = exponent(v, power), x = q * a;
    return copysign(x == 0.0 ? a : expm1(x) / q, v);
}

double bandit_unwarp(double z, double power)
{
    double q = exponent(z, power), x = q * fabs(z);
    if (x <= -1.0)
        return copysign((double)INFINITY, z);
    return copysign(expm1(x == 0.0 ? fabs(z) : log1p(x) / q), z);
}

double bandit_warp_log_slope(double v, double power)
{
    return (power - 1.0) * bandit_warp_log_slope_by_power(v);
}

/* With x = q a: dz/dp = a^2 (x e^x − (e^x − 1)) / x^2 for either sign of v, which is a^2
 * (1/2 + x/3 + x^2/8 + …). */
double bandit_warp_by_power(double v, double power)
{
    double a = log1p(fabs(v)), x = exponent(v, power) * a;
    if (fabs(x) < 1e-3)
        return a * a * (0.5 + x * (1.0 / 3.0 + x * (0.125 + x / 30.0)));
    return a * a * (x * exp(x) - expm1(x)) / (x * x);
}

double bandit_warp_log_slope_by_power(double v)
{
    return copysign(log1p(fabs(v)), v);
}
