/* The warp: closed forms where there are any, its inverse, and derivatives against differences. */
#include "core/learning/warp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const double values[] = {-1e9, -4e3, -20.0, -3.0, -1.0, -0.5, -1e-3, -1e-9, 0.0,
                                1e-9, 1e-3, 0.5,   1.0,  3.0,  20.0, 4e3,   1e9};
static const double powers[] = {-1.0, -0.5,       0.0, 1e-9, 0.25, 0.5, 1.0,
                                1.5,  2.0 - 1e-9, 2.0, 2.5,  3.0,  4.0, 5.0};
enum { VALUES = sizeof values / sizeof *values, POWERS = sizeof powers / sizeof *powers };

static double off(double x, double y)
{
    return x == y ? 0.0 : fabs(x - y) / fmax(fabs(x), fabs(y));
}

static void some_powers_have_closed_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < VALUES; i++) {
        double v = values[i], size = fabs(v), sign = v < 0.0 ? -1.0 : 1.0;
        assert_true(off(bandit_warp(v, 1.0), v) < 1e-14);
        assert_true(off(bandit_warp(v, v < 0.0 ? 2.0 : 0.0), sign * log1p(size)) < 1e-14);
        assert_true(off(bandit_warp(v, v < 0.0 ? 0.0 : 2.0), sign * size * (1.0 + size / 2.0)) < 1e-13);
        assert_true(off(bandit_warp(v, v < 0.0 ? 3.0 : -1.0), sign * size / (1.0 + size)) < 1e-13);
    }
}

static void values_are_turned_round_with_the_power(void **state)
{
    (void)state;
    for (size_t i = 0; i < VALUES; i++)
        for (size_t k = 0; k < POWERS; k++)
            assert_true(bandit_warp(values[i], 2.0 - powers[k]) ==
                        -bandit_warp(-values[i], 2.0 - (2.0 - powers[k])));
}

static void the_inverse_leads_back(void **state)
{
    (void)state;
    for (size_t k = 0; k < POWERS; k++) {
        for (size_t i = 0; i < VALUES; i++) {
            double v = values[i], z = bandit_warp(v, powers[k]);
            assert_true(isfinite(z));
            assert_true(i == 0 || z > bandit_warp(values[i - 1], powers[k]) || fabs(v) > 1e3);
            /* what the bound of z leaves of v: the slope is the share of a rounding error that comes back */
            double lost = 1e-15 * fabs(z) / exp(bandit_warp_log_slope(v, powers[k])) / fmax(fabs(v), 1e-300);
            if (lost < 1e-3)
                assert_true(off(bandit_unwarp(z, powers[k]), v) < 1e-13 + 4.0 * lost);
        }
    }
    assert_true(bandit_unwarp(-0.5, 4.0) == -INFINITY && bandit_unwarp(-0.6, 4.0) == -INFINITY);
    assert_true(bandit_unwarp(-0.499, 4.0) < -20.0 && isfinite(bandit_unwarp(-0.499, 4.0)));
    assert_true(bandit_unwarp(1.0, -1.0) == INFINITY && bandit_unwarp(3.0, 4.0) < 3.0);
}

static void derivatives_are_those_of_differences(void **state)
{
    (void)state;
    for (size_t k = 0; k < POWERS; k++) {
        for (size_t i = 0; i < VALUES; i++) {
            double v = values[i], p = powers[k], h = 1e-5, step = h * (fabs(v) + 1e-3);
            if (fabs(v) > 1e4 || p < -0.9)
                continue; /* differences of what hardly differs */
            double slope = (bandit_warp(v + step, p) - bandit_warp(v - step, p)) / (2.0 * step);
            double by_power = (bandit_warp(v, p + h) - bandit_warp(v, p - h)) / (2.0 * h);
            assert_true(fabs(exp(bandit_warp_log_slope(v, p)) - slope) < 1e-5 * (1e-5 + slope));
            assert_true(fabs(bandit_warp_by_power(v, p) - by_power) <
                        1e-7 * fabs(by_power) + 1e-10 * fabs(bandit_warp(v, p)) + 1e-15);
            double of_slope = (bandit_warp_log_slope(v, p + h) - bandit_warp_log_slope(v, p - h)) / (2.0 * h);
            assert_true(fabs(bandit_warp_log_slope_by_power(v) - of_slope) < 1e-8 * (1.0 + fabs(of_slope)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_powers_have_closed_forms),
        cmocka_unit_test(values_are_turned_round_with_the_power),
        cmocka_unit_test(the_inverse_leads_back),
        cmocka_unit_test(derivatives_are_those_of_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
