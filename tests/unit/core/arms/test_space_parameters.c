/* Parameters of a space: which are refused, the ends of their ranges and values, and the digits of their
 * numbers. */
#include "bandit/space.h"

#include "core/arms/arms_storage.h"
#include "core/arms/genome.h"
#include "tests/support/dense_gp.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refusals(void **state)
{
    const double twice[] = {1, 2, 1}, values[] = {1}, none[] = {7};
    const struct {
        bandit_parameter parameters[2];
        const char *message;
    } cases[] = {
        {{{.type = BANDIT_PARAMETER_DOUBLE, .min = 1, .max = 1, .parent = BANDIT_NO_PARENT}},
         "greater than min"},
        {{{.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = NAN, .parent = BANDIT_NO_PARENT}}, "finite"},
        {{{.type = BANDIT_PARAMETER_DOUBLE, .max = 1, .log = true, .parent = BANDIT_NO_PARENT}}, "log scale"},
        {{{.type = BANDIT_PARAMETER_INTEGER, .max = 1.5, .parent = BANDIT_NO_PARENT}}, "integers"},
        {{{.type = BANDIT_PARAMETER_DISCRETE, .numbers = twice, .n_values = 3, .parent = BANDIT_NO_PARENT}},
         "different"},
        {{{.type = BANDIT_PARAMETER_CATEGORICAL, .parent = BANDIT_NO_PARENT}}, "at least one value"},
        {{{.type = BANDIT_PARAMETER_DISCRETE, .parent = BANDIT_NO_PARENT}}, "at least one value"},
        {{{.type = (bandit_parameter_type)7, .parent = BANDIT_NO_PARENT}}, "unknown type"},
        {{{.type = BANDIT_PARAMETER_BOOLEAN,
           .has_default = true,
           .default_value = 2,
           .parent = BANDIT_NO_PARENT}},
         "default"},
        {{{.type = BANDIT_PARAMETER_BOOLEAN, .parent = 5, .parent_values = values, .n_parent_values = 1}},
         "condition"},
        {{{.type = BANDIT_PARAMETER_BOOLEAN, .parent = 1, .parent_values = none, .n_parent_values = 1},
          {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT}},
         "a value that the other parameter does not have"},
        {{{.type = BANDIT_PARAMETER_BOOLEAN, .parent = 1, .parent_values = values, .n_parent_values = 1},
          {.type = BANDIT_PARAMETER_BOOLEAN, .parent = 0, .parent_values = values, .n_parent_values = 1}},
         "cycle"},
        {{{.type = BANDIT_PARAMETER_BOOLEAN, .parent = 1},
          {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT}},
         "condition must have at least one value"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bandit_arms *arms;
        bandit_error err = {0};
        size_t n = cases[i].parameters[0].parent == 1 ? 2 : 1;
        assert_int_equal(bandit_arms_new_space(&arms, cases[i].parameters, n, &err), BANDIT_INVALID_ARMS);
        assert_null(arms);
        if (!strstr(err.message, cases[i].message))
            fail_msg("case %zu: %s", i, err.message);
    }
    bandit_arms *arms;
    bandit_error err = {0};
    assert_int_equal(bandit_arms_new_space(&arms, NULL, 0, &err), BANDIT_INVALID_ARMS);
    assert_null(arms);
}

/* Numbers that are scrambled: each is known, and so is its place among them; what lies between them is not.
 * One that is there twice is found wherever it stands. */
static void many_numbers_in_any_order(void **state)
{
    enum { N = 1000 };
    double numbers[N];
    (void)state;
    for (size_t k = 0; k < N; k++)
        numbers[k] = 0.37 * (double)(389 * k % N) - 100.0; /* 389 and N have no common factor */
    bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DISCRETE, .numbers = numbers, .n_values = N, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = 0, .parent_values = numbers, .n_parent_values = N / 2}};
    bandit_arms *arms = space_study_arms(parameters, 2);
    assert_int_equal(bandit_arms_space_size(arms), 2 * (N / 2) + N / 2);
    for (size_t k = 0; k < N; k++) {
        double point[] = {numbers[k], k < N / 2 ? 1.0 : (double)NAN};
        assert_int_equal(bandit_space_rank(arms->space, 0, numbers[k]), 389 * k % N);
        assert_true(bandit_space_is_value(arms->space, 0, numbers[k]));
        assert_false(bandit_space_is_value(arms->space, 0, numbers[k] + 0.1));
        assert_int_equal(bandit_arms_check_point(arms, point, NULL), BANDIT_OK);
    }
    bandit_arms_free(arms);
    for (size_t k = 0; k < N; k += 111) {
        bandit_error err = {0};
        double kept = numbers[N - 1];
        numbers[N - 1] = numbers[k];
        assert_int_equal(bandit_space_check(parameters, 1, &err),
                         k == N - 1 ? BANDIT_OK : BANDIT_INVALID_ARMS);
        numbers[N - 1] = kept;
    }
}

/* Of each type the values at its ends, and those just beyond. */
static void values_have_ends(void **state)
{
    static const double numbers[] = {5.0, -1.0, 2.5};
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = -1.5, .max = 2.5, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = -2, .max = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DISCRETE, .numbers = numbers, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
    };
    static const struct {
        size_t parameter;
        double value;
        bool taken;
    } values[] = {
        {0, -1.5, true}, {0, 2.5, true},  {0, -1.5000001, false}, {0, 2.5000001, false}, {0, 0.1, true},
        {1, -2.0, true}, {1, 3.0, true},  {1, -3.0, false},       {1, 4.0, false},       {1, 0.5, false},
        {2, 5.0, true},  {2, -1.0, true}, {2, 2.5, true},         {2, 0.0, false},       {2, 6.0, false},
        {3, 0.0, true},  {3, 2.0, true},  {3, -1.0, false},       {3, 3.0, false},       {3, 0.5, false},
        {4, 0.0, true},  {4, 1.0, true},  {4, 2.0, false},        {4, 0.5, false},       {4, -1.0, false},
    };
    const double point[] = {0.5, 0.0, 2.5, 1.0, 1.0};
    (void)state;
    bandit_arms *arms = space_study_arms(parameters, 5);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        double other[5];
        bandit_error err = {0};
        memcpy(other, point, sizeof other);
        other[values[k].parameter] = values[k].value;
        assert_int_equal(bandit_arms_check_point(arms, other, &err),
                         values[k].taken ? BANDIT_OK : BANDIT_INVALID_ARMS);
        assert_int_equal(bandit_space_is_value(arms->space, values[k].parameter, values[k].value),
                         values[k].taken);
        for (size_t i = 0; i < 5; i++) {
            bandit_parameter with_default = parameters[i];
            with_default.has_default = true;
            with_default.default_value = values[k].value;
            if (i == values[k].parameter)
                assert_int_equal(bandit_space_check(&with_default, 1, &err),
                                 values[k].taken ? BANDIT_OK : BANDIT_INVALID_ARMS);
        }
    }
    bandit_arms_free(arms);
}

static void ranges_have_ends(void **state)
{
    static const double one[] = {7.0}, infinite[] = {7.0, INFINITY};
    static const struct {
        bandit_parameter_type type;
        double min, max;
        bool log, taken;
    } ranges[] = {
        {BANDIT_PARAMETER_DOUBLE, -1e308, 1e308, false, false}, /* their distance is not finite */
        {BANDIT_PARAMETER_DOUBLE, -8e307, 8e307, false, true},
        {BANDIT_PARAMETER_DOUBLE, 0.0, 1.0, true, false},
        {BANDIT_PARAMETER_DOUBLE, 5e-324, 1.0, true, true},
        {BANDIT_PARAMETER_DOUBLE, 1.0, 1.0 + 0x1p-52, false, true},
        {BANDIT_PARAMETER_DOUBLE, 1.0, 1.0, false, false},
        {BANDIT_PARAMETER_DOUBLE, -INFINITY, 1.0, false, false},
        {BANDIT_PARAMETER_INTEGER, -0x1p53, 0x1p53, false, true},
        {BANDIT_PARAMETER_INTEGER, -0x1p53 - 2.0, 0.0, false, false},
        {BANDIT_PARAMETER_INTEGER, 0.0, 0x1p53 + 2.0, false, false},
        {BANDIT_PARAMETER_INTEGER, 0.5, 2.0, false, false},
        {BANDIT_PARAMETER_INTEGER, 0.0, 2.5, false, false},
        {BANDIT_PARAMETER_INTEGER, 0.0, 1.0, false, true},
    };
    bandit_error err = {0};
    (void)state;
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const bandit_parameter p = {.type = ranges[k].type,
                                    .min = ranges[k].min,
                                    .max = ranges[k].max,
                                    .log = ranges[k].log,
                                    .parent = BANDIT_NO_PARENT};
        if ((bandit_space_check(&p, 1, &err) == BANDIT_OK) != ranges[k].taken)
            fail_msg("range %zu: %s", k, err.message);
    }
    bandit_parameter list = {
        .type = BANDIT_PARAMETER_DISCRETE, .numbers = one, .n_values = 1, .parent = BANDIT_NO_PARENT};
    double feature;
    bandit_arms *arms = space_study_arms(&list, 1);
    bandit_arms_scale_point(arms, one, &feature);
    assert_true(feature == 0.5);
    bandit_arms_free(arms);
    list.numbers = infinite;
    list.n_values = 2;
    assert_int_equal(bandit_space_check(&list, 1, &err), BANDIT_INVALID_ARMS);

    /* a condition may be on a parameter of any type but double */
    const double half[] = {0.5};
    const bandit_parameter pair[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 1, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = 0, .parent_values = half, .n_parent_values = 1}};
    assert_int_equal(bandit_space_check(pair, 2, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "double"));
}

/* The ends of a feature are those of its parameter, to the bit, and so is what lies beyond. */
static void ends_come_back(void **state)
{
    (void)state;
    for (size_t k = 2; k < 200; k++) {
        const bandit_parameter parameters[] = {{.type = BANDIT_PARAMETER_DOUBLE,
                                                .min = 0.1 / (double)k,
                                                .max = 0.3 * (double)k,
                                                .log = k % 2 == 0,
                                                .parent = BANDIT_NO_PARENT},
                                               {.type = BANDIT_PARAMETER_INTEGER,
                                                .min = 1,
                                                .max = (double)k,
                                                .log = true,
                                                .parent = BANDIT_NO_PARENT}};
        bandit_arms *arms = space_study_arms(parameters, 2);
        for (size_t i = 0; i < 2; i++) {
            assert_true(bandit_space_decode_number(arms->space, i, 0.0) == parameters[i].min);
            assert_true(bandit_space_decode_number(arms->space, i, -0.1) == parameters[i].min);
            assert_true(bandit_space_decode_number(arms->space, i, 1.0) == parameters[i].max);
            assert_true(bandit_space_decode_number(arms->space, i, 1.1) == parameters[i].max);
            assert_true(bandit_space_encode_number(arms->space, i, parameters[i].min) == 0.0);
            assert_true(bandit_space_encode_number(arms->space, i, parameters[i].max) == 1.0);
        }
        bandit_arms_free(arms);
    }
}

/* The place of a number's first decimal digit. */
static int leading_place(double x)
{
    char text[40];
    snprintf(text, sizeof text, "%.14e", fabs(x));
    return atoi(strchr(text, 'e') + 1);
}

/* Twelve places after the first digit of a range, or of a number times its log-range, the rest is rounded
 * off, as printing and reading do; but not where powers of ten are no longer exact, nor where a number has
 * too many digits before them. It stays in the range. */
static void numbers_are_rounded_to_digits_of_their_range(void **state)
{
    static const double mantissas[] = {1.0, 1.25, 2.5, 9.5};
    uint64_t random = 4;
    size_t rounded = 0, kept = 0, limited = 0;
    (void)state;
    for (int k = 0; k < 13 * 4 * 4 * 2; k++) {
        static const int exponents[] = {-13, -11, -10, -9, -3, -1, 0, 6, 12, 13, 33, 34, 35};
        double width = mantissas[k % 4] * pow(10.0, exponents[k / 4 % 13]);
        int offset = k / 52 % 4;
        bool log_scale = k / 208 == 1;
        if (offset > 0 && k % 4 == 0)
            continue;
        const double shares[] = {0.0, -0.37, 3.1, 2e5};
        bandit_parameter parameter = {.type = BANDIT_PARAMETER_DOUBLE,
                                      .min = shares[offset] * width,
                                      .max = shares[offset] * width + width,
                                      .parent = BANDIT_NO_PARENT};
        if (log_scale)
            parameter = (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE,
                                           .log = true,
                                           .min = width,
                                           .max = width * exp(mantissas[offset]),
                                           .parent = BANDIT_NO_PARENT};
        bandit_arms *arms = space_study_arms(&parameter, 1);
        for (int i = 0; i < 12; i++) {
            double from = parameter.min, range = parameter.max - from;
            double value = i == 0 ? parameter.max : i == 1 ? from : from + range * dense_uniform(&random);
            double own = log_scale ? fabs(value) * log(parameter.max / from) : range;
            int last = leading_place(own) - 12;
            double expected = value;
            if (abs(last) <= 22 && fabs(value) < 0x1p53 * pow(10.0, last)) {
                char text[400];
                int digits = leading_place(value) - last;
                snprintf(text, sizeof text, "%.*e", digits > 0 ? digits : 0, value);
                expected = digits >= 0 ? atof(text) : 0.0;
                rounded += expected != value;
            } else {
                kept++;
            }
            limited += expected < parameter.min || expected > parameter.max;
            expected = fmin(parameter.max, fmax(parameter.min, expected));
            double is = bandit_space_round_number(arms->space, 0, value);
            if (is != expected)
                fail_msg("%.17g of a range of %.17g: %.17g instead of %.17g", value, own, is, expected);
            assert_false(signbit(is) && is == 0.0);
            assert_true(bandit_space_round_number(arms->space, 0, is) == is);
        }
        bandit_arms_free(arms);
    }
    assert_true(rounded > 1000 && kept > 100 && limited > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),         cmocka_unit_test(many_numbers_in_any_order),
        cmocka_unit_test(values_have_ends), cmocka_unit_test(ranges_have_ends),
        cmocka_unit_test(ends_come_back),   cmocka_unit_test(numbers_are_rounded_to_digits_of_their_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
