/* Numbers that are as good as equal: the test fails where they are not, or where one is NaN. */
#ifndef TESTS_SUPPORT_NEAR_H
#define TESTS_SUPPORT_NEAR_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* |a - b| <= tolerance. */
#define assert_near(a, b, tolerance)                                                                         \
    do {                                                                                                     \
        double first_ = (a), second_ = (b);                                                                  \
        if (!(fabs(first_ - second_) <= (tolerance)))                                                        \
            fail_msg("%.17g is not %.17g", first_, second_);                                                 \
    } while (0)

/* Equal but for rounding: |a - b| <= 1e-12, of b where that is above 1. */
#define assert_equal_reals(a, b)                                                                             \
    do {                                                                                                     \
        double expected_ = (b);                                                                              \
        assert_near(a, expected_, 1e-12 * fmax(1.0, fabs(expected_)));                                       \
    } while (0)

#endif
