#include "core/selection/normal.h"

#include <math.h>
#include <stddef.h>

static const double LOG_SQRT_TWO_PI = 0.918938533204672741780;

double bandit_log_density(double z)
{
    return -0.5 * z * z - LOG_SQRT_TWO_PI;
}

/* Far below 0: the asymptotic series of Mills' ratio. */
double bandit_log_cdf(double z)
{
    if (z > -30.0)
        return log(0.5 * erfc(-z * sqrt(0.5)));
    double q = 1.0 / (z * z);
    return bandit_log_density(z) - log(-z) + log1p(-q * (1.0 - q * (3.0 - q * 15.0)));
}

/* log(e^a − e^b), a > b */
static double log_difference(double a, double b)
{
    return b == -INFINITY ? a : a + log1p(-exp(b - a));
}

double bandit_log_between(double low, double high, double mean, double deviation, double *by_mean,
                          double *by_deviation)
{
    double a = (low - mean) / deviation, b = (high - mean) / deviation, value;
    if (a > 0.0) /* both in the upper tail, whose probabilities are near 1 */
        value = log_difference(bandit_log_cdf(-a), b == INFINITY ? -INFINITY : bandit_log_cdf(-b));
    else
        value = b == INFINITY
                    ? bandit_log_cdf(-a)
                    : log_difference(bandit_log_cdf(b), a == -INFINITY ? -INFINITY : bandit_log_cdf(a));
    if (by_mean) {
        double at_low = isinf(a) ? 0.0 : exp(bandit_log_density(a) - value);
        double at_high = isinf(b) ? 0.0 : exp(bandit_log_density(b) - value);
        *by_mean = (at_low - at_high) / deviation;
        *by_deviation = ((isinf(a) ? 0.0 : a * at_low) - (isinf(b) ? 0.0 : b * at_high)) / deviation;
    }
    return value;
}
