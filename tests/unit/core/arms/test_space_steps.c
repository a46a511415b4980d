/* Numbers in steps, chosen digits, and conditions on a range: values against decimal text, counts of points
 * against a list, and what a fixed parameter leaves to the one that it depends on. */
#include "bandit/space.h"

#include "core/arms/arms_storage.h"
#include "core/arms/genome.h"
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

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Each value is the double that its decimal text means. */
static void steps_have_no_dust(void **state)
{
    (void)state;
    const struct {
        double min, step, max;
        int digits;
    } cases[] = {{0.0, 0.1, 1.0, 1},    {-0.3, 0.1, 4.7, 1},   {1e-5, 1e-6, 1e-3, 6},
                 {0.25, 0.125, 9.0, 3}, {-7.0, 3.0, 200.0, 0}, {1e6, 0.01, 1000001.0, 2},
                 {0.05, 0.05, 0.95, 2}, {2.2, 1.1, 34.1, 1},   {1e15, 1e12, 2e15, 0}};
    for (size_t c = 0; c < LENGTH(cases); c++) {
        const bandit_parameter p = {.type = BANDIT_PARAMETER_INTEGER,
                                    .min = cases[c].min,
                                    .max = cases[c].max,
                                    .step = cases[c].step,
                                    .parent = BANDIT_NO_PARENT};
        bandit_arms *arms = space_study_arms(&p, 1);
        uint64_t n = bandit_space_values(&p);
        assert_int_equal(n, (uint64_t)((cases[c].max - cases[c].min) / cases[c].step + 1.5));
        for (uint64_t k = 0; k < n; k++) {
            double value = bandit_space_value(arms->space, 0, k);
            char text[64];
            snprintf(text, sizeof text, "%.*f", cases[c].digits, cases[c].min + (double)k * cases[c].step);
            if (value != strtod(text, NULL))
                fail_msg("step %d of case %zu is %.17g, not %s", (int)k, c, value, text);
            assert_true(bandit_space_is_value(arms->space, 0, value));
            assert_int_equal(bandit_space_rank(arms->space, 0, value), k);
            double u = bandit_space_encode_number(arms->space, 0, value);
            assert_true(bandit_space_decode_number(arms->space, 0, u) == value);
            assert_false(bandit_space_is_value(arms->space, 0, value + 0.3 * cases[c].step));
        }
        bandit_arms_free(arms);
    }
}

static void chosen_numbers_have_their_digits(void **state)
{
    (void)state;
    bandit_parameter p = {.type = BANDIT_PARAMETER_DOUBLE,
                          .min = 0.04,
                          .max = 9.96,
                          .rounded = true,
                          .digits = 1,
                          .parent = BANDIT_NO_PARENT};
    bandit_arms *arms = space_study_arms(&p, 1);
    assert_true(bandit_space_round_number(arms->space, 0, 0.04) == 0.1);
    assert_true(bandit_space_round_number(arms->space, 0, 9.96) == 9.9);
    assert_true(bandit_space_round_number(arms->space, 0, 3.14159) == 3.1);
    bandit_arms_free(arms);
    p.min = 0.00012345;
    p.max = 123456.0;
    p.log = true;
    p.digits = 3;
    arms = space_study_arms(&p, 1);
    assert_true(bandit_space_round_number(arms->space, 0, 0.00012345) == 0.000124);
    assert_true(bandit_space_round_number(arms->space, 0, 0.98765) == 0.988);
    assert_true(bandit_space_round_number(arms->space, 0, 65432.1) == 65400.0);
    assert_true(bandit_space_round_number(arms->space, 0, 123456.0) == 123000.0);
    bandit_arms_free(arms);
}

/* ---- conditions on a range ----------------------------------------------------------------------------- */

enum { REAL, STEPPED, LISTED, OF_REAL, OF_STEPPED, OF_BOTH_ENDS, OF_LISTED, N };

static const double numbers[] = {4.0, 1.0, 2.0, 8.0};

static const bandit_parameter mixed[N] = {
    [REAL] = {.type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 3.0, .parent = BANDIT_NO_PARENT},
    [STEPPED] =
        {.type = BANDIT_PARAMETER_INTEGER, .min = 0.0, .max = 2.0, .step = 0.25, .parent = BANDIT_NO_PARENT},
    [LISTED] = {.type = BANDIT_PARAMETER_DISCRETE,
                .numbers = numbers,
                .n_values = 4,
                .parent = BANDIT_NO_PARENT},
    [OF_REAL] = {.type = BANDIT_PARAMETER_BOOLEAN,
                 .parent = REAL,
                 .parent_range = true,
                 .parent_min = 1.0 / 3.0,
                 .parent_max = INFINITY},
    [OF_STEPPED] = {.type = BANDIT_PARAMETER_CATEGORICAL,
                    .n_values = 3,
                    .parent = STEPPED,
                    .parent_range = true,
                    .parent_min = 0.6,
                    .parent_max = INFINITY},
    [OF_BOTH_ENDS] = {.type = BANDIT_PARAMETER_BOOLEAN,
                      .parent = STEPPED,
                      .parent_range = true,
                      .parent_min = 1.0,
                      .parent_max = 1.6},
    [OF_LISTED] = {.type = BANDIT_PARAMETER_BOOLEAN,
                   .parent = LISTED,
                   .parent_range = true,
                   .parent_min = -INFINITY,
                   .parent_max = 3.0},
};

/* Points are counted as they are listed. */
static void points_are_counted(void **state)
{
    (void)state;
    bandit_parameter parameters[N - 2];
    bandit_arms *arms;
    bandit_error err;
    parameters[0] = mixed[STEPPED];
    parameters[1] = mixed[LISTED];
    parameters[2] = mixed[OF_STEPPED];
    parameters[3] = mixed[OF_BOTH_ENDS];
    parameters[4] = mixed[OF_LISTED];
    parameters[2].parent = parameters[3].parent = 0;
    parameters[4].parent = 1;
    arms = space_study_arms(parameters, N - 2);
    /* three steps have no word, three have a word, and three a word and a switch */
    assert_int_equal(bandit_arms_space_size(arms), (3 + 3 * 3 + 3 * 3 * 2) * (2 + 2 * 2));
    assert_int_equal(bandit_arms_enumerate(arms, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_count(arms), bandit_arms_space_size(arms));
    bandit_arms_free(arms);
}

/* What a fixed parameter leaves to its parents, and that every way to make genes keeps to it. */
static void fixed_values_restrict_ranges(void **state)
{
    (void)state;
    bandit_arms *arms = space_study_arms(mixed, N);
    double fixed[N], genes[N], coded[N], low = INFINITY, high = -INFINITY;
    bandit_genome g = {0};
    bandit_error err;
    for (size_t i = 0; i < N; i++)
        fixed[i] = NAN;
    fixed[OF_REAL] = fixed[OF_BOTH_ENDS] = fixed[OF_LISTED] = 1.0;
    fixed[OF_STEPPED] = 2.0;
    assert_int_equal(bandit_genome_init(&g, arms->space, fixed, 3, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_values(&g, STEPPED), 3);
    assert_int_equal(bandit_genome_values(&g, LISTED), 2);
    for (uint64_t k = 0; k < 400; k++) {
        bandit_genome_random(&g, 1, BANDIT_PURPOSE_UNIFORM, k, genes);
        bandit_genome_point(&g, genes, coded);
        for (uint64_t step = 0; step < 5; step++) {
            assert_int_equal(bandit_arms_check_point(arms, coded, &err), BANDIT_OK);
            for (size_t i = OF_REAL; i < N; i++)
                assert_true(coded[i] == fixed[i]);
            assert_true(coded[STEPPED] >= 1.0 && coded[STEPPED] <= 1.5 && coded[LISTED] <= 2.0);
            low = fmin(low, coded[REAL]);
            high = fmax(high, coded[REAL]);
            assert_true(
                bandit_genome_mutate(&g, 1, BANDIT_PURPOSE_EVOLUTION, 16 * (5 * k + step), coded, genes));
            bandit_genome_point(&g, genes, coded);
        }
    }
    assert_true(low >= 1.0 / 3.0 && low < 0.34 && high > 2.99);
    bandit_genome_clear(&g);
    fixed[REAL] = 0.3;
    assert_int_equal(bandit_genome_init(&g, arms->space, fixed, 3, &err), BANDIT_INVALID_OPTION);
    bandit_genome_clear(&g);
    bandit_arms_free(arms);
}

static void refusals(void **state)
{
    (void)state;
    bandit_arms *arms;
    bandit_error err;
    bandit_parameter p[2] = {mixed[STEPPED], mixed[OF_STEPPED]};
    p[1].parent = 0;
    p[0].max = 2.1;
    assert_int_equal(bandit_arms_new_space(&arms, p, 2, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "whole number of steps"));
    p[0].max = 2.0;
    p[1].parent_max = 0.5;
    assert_int_equal(bandit_arms_new_space(&arms, p, 2, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "range of numbers"));
    p[0] = (bandit_parameter){.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_arms_new_space(&arms, p, 2, &err), BANDIT_INVALID_ARMS);
    p[0] = (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE,
                              .min = 1.0,
                              .max = 2.0,
                              .log = true,
                              .rounded = true,
                              .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_arms_new_space(&arms, p, 1, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "digits"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_no_dust), cmocka_unit_test(chosen_numbers_have_their_digits),
        cmocka_unit_test(points_are_counted), cmocka_unit_test(fixed_values_restrict_ranges),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
