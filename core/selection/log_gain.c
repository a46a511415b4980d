#include "core/selection/log_gain.h"

#include "core/selection/acquisition.h"

#include <float.h>

enum { HALVINGS = 60 };

double bandit_gain_deviation(double variance, double lambda, double smallest)
{
    return fmax(smallest, BANDIT_GAIN_WIDENING * sqrt(lambda) * variance / sqrt(variance + 1.0));
}

double bandit_log_gain(double gap, double variance, double lambda, double smallest)
{
    double s = bandit_gain_deviation(variance, lambda, smallest);
    return log(s) + bandit_log_improvement(gap / s);
}

double bandit_log_gain_bound(double gap, double variance, double lambda, double smallest)
{
    static const double log_sqrt_two_pi = 0.918938533204672741780;
    double s = bandit_gain_deviation(variance, lambda, smallest), z = gap / s, tail = s / (1.0 + z * z);
    if (gap <= 0.0)
        return log(tail) - 0.5 * z * z - log_sqrt_two_pi;
    return log(gap + tail * exp(-0.5 * z * z - log_sqrt_two_pi));
}

/* A variance in [low, high] whose log gain is just below `wanted`; `low` if that suffices. */
static double variance_for(double gap, double wanted, double lambda, double low, double high)
{
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double middle = low > 0.0 ? sqrt(low * high) : 0.5 * high;
        if (bandit_log_gain_bound(-gap, middle, lambda, DBL_MIN) < wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void bandit_gain_threshold_set(bandit_gain_threshold *t, double incumbent, double log_gain, double lambda,
                               double most)
{
    double low = 0.0, high = sqrt(lambda * most) + DBL_MIN, least = 0.0;
    while (bandit_log_gain_bound(-high, most, lambda, DBL_MIN) >= log_gain && high < DBL_MAX / 4.0)
        high *= 2.0;
    for (int i = 0; i < HALVINGS; i++) { /* the gap beyond which no variance suffices */
        double middle = 0.5 * (low + high);
        if (bandit_log_gain_bound(-middle, most, lambda, DBL_MIN) >= log_gain)
            low = middle;
        else
            high = middle;
    }
    t->incumbent = incumbent;
    t->per_gap = (double)BANDIT_GAIN_STEPS / high;
    for (size_t i = 0; i < BANDIT_GAIN_STEPS; i++) {
        least = variance_for((double)i / t->per_gap, log_gain, lambda, least, most);
        t->variance[i] = least;
    }
}
