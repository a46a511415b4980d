#include "core/selection/acquisition.h"

#include <math.h>
#include <stddef.h>

static const double LOG_SQRT_TWO_PI = 0.918938533204672741780;

/* Far below 0, phi and z Phi cancel. What remains is phi / z^2 times the asymptotic series of Mills'
 * ratio. */
double bandit_log_improvement(double z)
{
    if (z > -30.0)
        return log(exp(-0.5 * z * z - LOG_SQRT_TWO_PI) + 0.5 * z * erfc(-z * sqrt(0.5)));
    double q = 1.0 / (z * z);
    double series = 1.0 - q * (3.0 - q * (15.0 - q * (105.0 - q * 945.0)));
    return -0.5 * z * z - LOG_SQRT_TWO_PI + log(q * series);
}

/* Phi(z) and phi(z), each divided by phi(z) + z Phi(z). */
static void improvement_shares(double z, double *share_of_cdf, double *share_of_density)
{
    if (z > -30.0) {
        double density = exp(-0.5 * z * z - LOG_SQRT_TWO_PI), cdf = 0.5 * erfc(-z * sqrt(0.5));
        double whole = exp(bandit_log_improvement(z));
        *share_of_cdf = cdf / whole;
        *share_of_density = density / whole;
        return;
    }
    /* both divided by phi: 1 + z m = q (1 − 3 q + …), where m = −(1 − q (1 − 3 q + …)) / z is Mills' ratio */
    double q = 1.0 / (z * z);
    double series = 1.0 - q * (3.0 - q * (15.0 - q * (105.0 - q * 945.0)));
    *share_of_density = 1.0 / (q * series);
    *share_of_cdf = -(1.0 - q * series) / z * *share_of_density;
}

/* The standard deviation that one more measurement can remove, widened, and its derivative with respect to the
 * variance c. */
static double removable(const bandit_acquisition *a, double c, double *by_variance)
{
    double all = c + a->noise, root = sqrt(all), factor = 1.0 + a->widening;
    if (by_variance)
        *by_variance = factor * (0.5 * c + a->noise) / (all * root);
    return factor * (a->noise > 0.0 ? c / root : root);
}

double bandit_acquisition_slopes(const bandit_acquisition *a, double mean, double variance, double *by_mean,
                                 double *by_variance)
{
    double c = fmax(variance, a->smallest), sigma = sqrt(c), moves = variance >= a->smallest ? 1.0 : 0.0;
    double z, cdf, density, slope;
    *by_mean = *by_variance = 0.0;
    switch (a->kind) {
    case BANDIT_ACQUIRE_UCB:
        *by_mean = 1.0;
        *by_variance = moves * 0.5 * a->parameter / sigma;
        return mean + a->parameter * sigma;
    case BANDIT_ACQUIRE_IMPROVEMENT: /* EI = sigma (phi + z Phi); dEI = Phi dmean + phi dsigma */
        sigma = removable(a, c, &slope);
        z = (mean - a->parameter) / sigma;
        improvement_shares(z, &cdf, &density);
        *by_mean = cdf / sigma;
        *by_variance = a->noise > 0.0 ? moves * density * slope / sigma : moves * 0.5 * density / c;
        return log(sigma) + bandit_log_improvement(z);
    case BANDIT_ACQUIRE_PROBABILITY:
        z = (mean - a->parameter) / sigma;
        *by_mean = 1.0 / sigma;
        *by_variance = -moves * 0.5 * z / c;
        return z;
    case BANDIT_ACQUIRE_MEAN:
        *by_mean = 1.0;
        return mean;
    case BANDIT_ACQUIRE_VARIANCE:
        *by_variance = 1.0;
        return variance;
    }
    return mean;
}

double bandit_acquisition_deviation(const bandit_acquisition *a, double variance)
{
    return removable(a, fmax(variance, a->smallest), NULL);
}

double bandit_acquisition_value(const bandit_acquisition *a, double mean, double variance)
{
    double sigma = sqrt(fmax(variance, a->smallest));
    switch (a->kind) {
    case BANDIT_ACQUIRE_UCB:
        return mean + a->parameter * sigma;
    case BANDIT_ACQUIRE_IMPROVEMENT:
        sigma = removable(a, fmax(variance, a->smallest), NULL);
        return log(sigma) + bandit_log_improvement((mean - a->parameter) / sigma);
    case BANDIT_ACQUIRE_PROBABILITY:
        return (mean - a->parameter) / sigma;
    case BANDIT_ACQUIRE_MEAN:
        return mean;
    case BANDIT_ACQUIRE_VARIANCE:
        return variance;
    }
    return mean;
}
