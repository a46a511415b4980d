/* Acquisitions by their textbook formulas, and their slopes by differences, on both sides of the smallest
 * variance. */
#include "core/selection/acquisition.h"

#include "tests/support/near.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const bandit_acquisition_kind kinds[] = {BANDIT_ACQUIRE_UCB, BANDIT_ACQUIRE_IMPROVEMENT,
                                                BANDIT_ACQUIRE_PROBABILITY, BANDIT_ACQUIRE_MEAN,
                                                BANDIT_ACQUIRE_VARIANCE};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const double smallest = 0.01, means[] = {-2.0, 0.3, 0.31, 1.7},
                    variances[] = {0.0, 0.004, 0.02, 0.3, 4.0};
enum { MEANS = sizeof means / sizeof *means, VARIANCES = sizeof variances / sizeof *variances };

static double textbook(bandit_acquisition_kind kind, double parameter, double noise, double widening,
                       double mean, double variance)
{
    double c = variance < smallest ? smallest : variance;
    double sigma = kind == BANDIT_ACQUIRE_IMPROVEMENT ? (1.0 + widening) * c / sqrt(c + noise) : sqrt(c);
    double z = (mean - parameter) / sigma;
    double density = exp(-0.5 * z * z) / sqrt(2.0 * acos(-1.0)), cdf = 0.5 * (1.0 + erf(z / sqrt(2.0)));
    switch (kind) {
    case BANDIT_ACQUIRE_UCB:
        return mean + parameter * sigma;
    case BANDIT_ACQUIRE_IMPROVEMENT:
        return log(sigma * (density + z * cdf));
    case BANDIT_ACQUIRE_PROBABILITY:
        return z;
    case BANDIT_ACQUIRE_MEAN:
        return mean;
    case BANDIT_ACQUIRE_VARIANCE:
        break;
    }
    return variance;
}

static void values_are_the_textbooks(void **state)
{
    (void)state;
    for (size_t round = 0; round < 4 * KINDS; round++) {
        size_t k = round / 4; /* the others matter to an improvement alone */
        double noise = round % 2 ? 0.2 : 0.0, widening = round / 2 % 2 ? 1.5 : 0.0;
        const bandit_acquisition a = {
            .kind = kinds[k], .parameter = 0.3, .smallest = smallest, .noise = noise, .widening = widening};
        for (size_t i = 0; i < MEANS * VARIANCES; i++) {
            double mean = means[i % MEANS], variance = variances[i / MEANS], by_mean, by_variance;
            double value = bandit_acquisition_value(&a, mean, variance);
            double c = fmax(variance, smallest), z = (mean - 0.3) * sqrt(c + noise) / c;
            if (kinds[k] != BANDIT_ACQUIRE_IMPROVEMENT || z > -5.0) /* beyond, the textbook's form cancels */
                assert_true(fabs(value - textbook(kinds[k], 0.3, noise, widening, mean, variance)) <=
                            1e-8 * fmax(1.0, fabs(value)));
            assert_true(fabs(bandit_acquisition_slopes(&a, mean, variance, &by_mean, &by_variance) - value) <=
                        1e-14 * fmax(1.0, fabs(value)));
        }
    }
}

static void slopes_are_those_of_the_values(void **state)
{
    (void)state;
    for (size_t round = 0; round < 4 * KINDS; round++) {
        size_t k = round / 4; /* the others matter to an improvement alone */
        double noise = round % 2 ? 0.2 : 0.0, widening = round / 2 % 2 ? 1.5 : 0.0;
        const bandit_acquisition a = {
            .kind = kinds[k], .parameter = 0.3, .smallest = smallest, .noise = noise, .widening = widening};
        for (size_t i = 0; i < MEANS * VARIANCES; i++) {
            double mean = means[i % MEANS], variance = variances[i / MEANS], by_mean, by_variance;
            const double h = 1e-6, dv = fmax(1e-4, variance) * 1e-5;
            bandit_acquisition_slopes(&a, mean, variance, &by_mean, &by_variance);
            double along_mean = (bandit_acquisition_value(&a, mean + h, variance) -
                                 bandit_acquisition_value(&a, mean - h, variance)) /
                                (2.0 * h);
            double along_variance = (bandit_acquisition_value(&a, mean, variance + dv) -
                                     bandit_acquisition_value(&a, mean, variance - dv)) /
                                    (2.0 * dv);
            assert_true(fabs(by_mean - along_mean) <= 1e-5 * fmax(1.0, fabs(along_mean)));
            assert_true(fabs(by_variance - along_variance) <= 1e-5 * fmax(1.0, fabs(along_variance)));
        }
    }
}

/* At 30 deviations one form gives way to the other; both are good there, and go on far beyond. */
static void far_improvements_have_slopes(void **state)
{
    const bandit_acquisition a = {.kind = BANDIT_ACQUIRE_IMPROVEMENT, .smallest = 1e-12};
    static const double far[] = {-25.0, -29.999, -30.0, -30.001, -40.0, -300.0, -1e4};
    (void)state;
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        double z = far[i], by_mean, by_variance, h = 1e-4;
        bandit_acquisition_slopes(&a, z, 1.0, &by_mean, &by_variance);
        double along_mean = (bandit_log_improvement(z + h) - bandit_log_improvement(z - h)) / (2.0 * h);
        if (fabs(z + 30.0) > h)
            assert_true(fabs(by_mean / along_mean - 1.0) < 1e-4);
        /* Phi / (phi + z Phi) ~ -z - 2 / z, and the density's share half of 1 / (m q): ~ z^2 + 3 - 6 / z^2 */
        assert_true(fabs(by_mean / (-z - 2.0 / z) - 1.0) < 20.0 / pow(z, 4.0));
        assert_true(fabs(2.0 * by_variance / (z * z + 3.0 - 6.0 / (z * z)) - 1.0) <
                    100.0 / pow(z, 6.0) + 2e-9);
    }
}

/* phi(z) + z Phi(z) and its shares from the continued fraction of Mills' ratio, which cancels nothing:
 * Phi(-x) / phi(x) = 1 / (x + t), t = 1 / (x + 2 / (x + 3 / (x + ...))). */
static void improvements_are_those_of_mills_ratio(void **state)
{
    static const double far[] = {5.0, 8.0, 15.0, 29.0, 30.0, 30.25, 33.0, 37.5, 45.0, 100.0, 1e4, 1e8};
    const bandit_acquisition a = {.kind = BANDIT_ACQUIRE_IMPROVEMENT, .smallest = 1e-12};
    (void)state;
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        long double x = far[i], t = x;
        for (int k = 500; k >= 2; k--)
            t = x + k / t;
        t = 1.0L / t;
        double expected = (double)(-0.5L * x * x - 0.5L * logl(2.0L * acosl(-1.0L)) + logl(t / (x + t)));
        double by_mean, by_variance,
            value = bandit_acquisition_slopes(&a, -far[i], 1.0, &by_mean, &by_variance);
        /* nearer, what is left of two numbers that cancel to 1 / x^2 of themselves */
        double tolerance = far[i] < 30.0 ? 1e-15 * pow(far[i], 4.0) : 1e-10;
        assert_true(fabs(value - expected) <= tolerance * fmax(1.0, 1e-5 * fabs(expected)));
        assert_true(fabs(by_mean * (double)t - 1.0) <= tolerance);
        assert_true(fabs(2.0 * by_variance * (double)(t / (x + t)) - 1.0) <= tolerance);
    }
}

/* The smallest variance is one that moves still; below it nothing does. */
static void slopes_at_the_smallest_variance(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const bandit_acquisition a = {.kind = kinds[k], .parameter = 0.3, .smallest = smallest};
        double by_mean, at, above, below;
        bandit_acquisition_slopes(&a, 1.0, smallest, &by_mean, &at);
        bandit_acquisition_slopes(&a, 1.0, nextafter(smallest, 1.0), &by_mean, &above);
        bandit_acquisition_slopes(&a, 1.0, nextafter(smallest, 0.0), &by_mean, &below);
        assert_true(above != 0.0 && fabs(at / above - 1.0) < 1e-12);
        assert_true(below == 0.0);
    }
}

/* h(z) = phi(z) + z Phi(z) = phi(z) * integral over u > 0 of u exp(u z − u^2/2): Simpson's rule. */
static void the_logarithm_of_the_improvement_is_accurate(void **state)
{
    (void)state;
    for (double z = -60.0; z <= 6.0; z += 0.37) {
        enum { STEPS = 20000 };
        double top = z > -1.0 ? 14.0 + fmax(z, 0.0) : 45.0 / -z, sum = 0.0, h = top / STEPS;
        top = fmin(top, 20.0);
        h = top / STEPS;
        for (int i = 0; i <= STEPS; i++) {
            double u = i * h, weight = i == 0 || i == STEPS ? 1.0 : i % 2 ? 4.0 : 2.0;
            sum += weight * u * exp(u * z - 0.5 * u * u);
        }
        double expected = log(sum * h / 3.0) - 0.5 * z * z - 0.5 * log(2.0 * acos(-1.0));
        assert_near(bandit_log_improvement(z), expected, 1e-8);
    }
    assert_true(isfinite(bandit_log_improvement(-1e6)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_the_textbooks),
        cmocka_unit_test(slopes_are_those_of_the_values),
        cmocka_unit_test(far_improvements_have_slopes),
        cmocka_unit_test(improvements_are_those_of_mills_ratio),
        cmocka_unit_test(slopes_at_the_smallest_variance),
        cmocka_unit_test(the_logarithm_of_the_improvement_is_accurate),
    };
    return cmocka_run_group_tests_name("acquisition", tests, NULL, NULL);
}
