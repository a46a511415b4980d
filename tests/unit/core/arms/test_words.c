/* The features of words: one-hot rows as ever, codes whose distances are nearly 1, and properties, whose scale is
 * checked against sums over all pairs. */
#include "core/arms/arms_storage.h"
#include "core/arms/words.h"
#include "tests/support/dense_gp.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 40, PROPERTIES = 3 };

static double properties[WORDS * PROPERTIES];

static bandit_parameter words_with(const double *features, size_t n, size_t width, bandit_scaling scaling)
{
    return (bandit_parameter){.type = BANDIT_PARAMETER_CATEGORICAL,
                              .n_values = n,
                              .features = features,
                              .n_features = width,
                              .scaling = scaling,
                              .parent = BANDIT_NO_PARENT};
}

static bandit_words words_of(const bandit_parameter *p)
{
    bandit_words w = {0};
    bandit_error err = {0};
    assert_int_equal(bandit_words_check(p, &err), BANDIT_OK);
    assert_int_equal(bandit_words_init(&w, p, &err), BANDIT_OK);
    return w;
}

static double distance2(const double *a, const double *b, size_t n)
{
    double sum = 0.0;
    for (size_t j = 0; j < n; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

static int fill_properties(void **state)
{
    uint64_t random = 5;
    (void)state;
    for (size_t k = 0; k < WORDS; k++) {
        properties[k * PROPERTIES] = 1000.0 + 300.0 * dense_normal(&random);
        properties[k * PROPERTIES + 1] = 0.01 * dense_uniform(&random);
        properties[k * PROPERTIES + 2] = 7.0; /* of no use */
    }
    return 0;
}

static void few_words_are_one_hot(void **state)
{
    (void)state;
    const bandit_parameter p = words_with(NULL, 1000, 0, BANDIT_SCALING_STANDARDIZE);
    bandit_words w = words_of(&p);
    double features[1000];
    assert_true(bandit_words_are_one_hot(&w));
    assert_int_equal(w.width, 1000);
    bandit_words_encode(&w, 123.0, features);
    for (size_t k = 0; k < 1000; k++)
        assert_true(features[k] == (k == 123 ? sqrt(0.5) : 0.0));
    bandit_words_encode(&w, (double)NAN, features);
    assert_true(features[7] == sqrt(0.5) / 1000.0);
    bandit_words_clear(&w);
}

/* The largest deviation from 1 of the squared distances of a word to all others. */
static double furthest_from_1(const bandit_words *w, size_t n, size_t word)
{
    double *from = calloc(2 * w->width, sizeof *from), *to = from + w->width, furthest = 0.0;
    assert_non_null(from);
    bandit_words_encode(w, (double)word, from);
    assert_true(fabs(distance2(from, to, w->width) - 0.5) < 1e-12);
    for (size_t k = 0; k < n; k++) {
        bandit_words_encode(w, (double)k, to);
        double d2 = distance2(from, to, w->width);
        if (k == word)
            assert_true(d2 == 0.0);
        else
            furthest = fmax(furthest, fabs(d2 - 1.0));
    }
    free(from);
    return furthest;
}

static void many_words_have_codes(void **state)
{
    (void)state;
    const struct {
        size_t n, width;
        double bound;
    } cases[] = {{10000, 127, 17.0 / 127.0}, {16383, 127, 17.0 / 127.0}, {100000, 511, 33.0 / 511.0}};
    for (size_t c = 0; c < 3; c++) {
        bandit_parameter p = words_with(NULL, cases[c].n, 0, BANDIT_SCALING_STANDARDIZE);
        p.codes = true;
        bandit_words w = words_of(&p);
        assert_int_equal(w.width, cases[c].width);
        const size_t chosen[] = {0, 1, w.width - 1, w.width, 2 * w.width, 3 * w.width + 5, cases[c].n - 1};
        for (size_t k = 0; k < (c == 2 ? 2 : 7); k++)
            assert_true(furthest_from_1(&w, cases[c].n, chosen[k]) <= cases[c].bound + 1e-12);
        bandit_words_clear(&w);
    }
}

static void properties_have_mean_distance_1(void **state)
{
    (void)state;
    for (int scaling = BANDIT_SCALING_STANDARDIZE; scaling <= BANDIT_SCALING_NONE; scaling++) {
        const bandit_parameter p = words_with(properties, WORDS, PROPERTIES, (bandit_scaling)scaling);
        bandit_words w = words_of(&p);
        double sum = 0.0, column[PROPERTIES] = {0}, norm2 = 0.0, middle[PROPERTIES];
        for (size_t a = 0; a < WORDS; a++) {
            for (size_t b = 0; b < WORDS; b++) {
                double x[2][PROPERTIES];
                bandit_words_encode(&w, (double)a, x[0]);
                bandit_words_encode(&w, (double)b, x[1]);
                sum += distance2(x[0], x[1], PROPERTIES);
                for (size_t j = 0; j < PROPERTIES; j++)
                    column[j] += (x[0][j] - x[1][j]) * (x[0][j] - x[1][j]);
                norm2 = fmax(norm2, distance2(x[0], (const double[PROPERTIES]){0}, PROPERTIES));
            }
        }
        assert_true(fabs(sum / (WORDS * (WORDS - 1)) - 1.0) < 1e-12);
        assert_true(norm2 <= w.norm2 * (1.0 + 1e-12));
        if (scaling == BANDIT_SCALING_STANDARDIZE)
            assert_true(fabs(column[0] / column[1] - 1.0) < 1e-9);
        if (scaling == BANDIT_SCALING_NONE)
            assert_true(column[0] > 1e8 * column[1]);
        assert_true(column[2] == 0.0);
        bandit_words_encode(&w, (double)NAN, middle);
        for (size_t j = 0; j < PROPERTIES; j++) {
            double mean = 0.0, x[PROPERTIES];
            for (size_t a = 0; a < WORDS; a++) {
                bandit_words_encode(&w, (double)a, x);
                mean += x[j] / WORDS;
            }
            assert_true(fabs(mean - middle[j]) < 1e-9);
        }
        bandit_words_clear(&w);
    }
}

/* One word, and words that are all alike, have rows of zeros. */
static void words_that_are_alike(void **state)
{
    (void)state;
    const double alike[] = {3.0, -1.0, 3.0, -1.0};
    for (size_t n = 1; n <= 2; n++) {
        const bandit_parameter p = words_with(alike, n, 2, BANDIT_SCALING_STANDARDIZE);
        bandit_words w = words_of(&p);
        double features[2];
        bandit_words_encode(&w, (double)(n - 1), features);
        assert_true(features[0] == 0.0 && features[1] == 0.0);
        bandit_words_clear(&w);
    }
}

static void nearest_words_are_found(void **state)
{
    (void)state;
    const bandit_parameter p = words_with(properties, WORDS, PROPERTIES, BANDIT_SCALING_STANDARDIZE);
    bandit_words w = words_of(&p);
    double distances[WORDS];
    uint32_t nearest[WORDS];
    for (size_t word = 0; word < WORDS; word++) {
        assert_int_equal(bandit_words_nearest(&w, WORDS, word, 7, distances, nearest), 7);
        for (size_t k = 0; k < 7; k++) {
            size_t closer = 0;
            for (size_t other = 0; other < WORDS; other++)
                closer += other != word && distances[other] < distances[nearest[k]] ? 1U : 0U;
            assert_true(nearest[k] != word);
            assert_int_equal(closer, k);
        }
        assert_int_equal(bandit_words_nearest(&w, WORDS, word, WORDS, distances, nearest), WORDS - 1);
    }
    bandit_words_clear(&w);
}

static void bad_properties_are_refused(void **state)
{
    (void)state;
    double bad[] = {1.0, 2.0, 3.0, (double)NAN};
    bandit_parameter p = words_with(bad, 2, 2, BANDIT_SCALING_STANDARDIZE);
    bandit_arms *arms = NULL;
    bandit_error err = {0};
    assert_int_equal(bandit_arms_new_space(&arms, &p, 1, &err), BANDIT_INVALID_ARMS);
    assert_string_equal(err.message, "parameter 0: row 1, column 1 is not a finite number");
    bad[3] = 1.7e308;
    bad[1] = -1.7e308;
    assert_int_equal(bandit_arms_new_space(&arms, &p, 1, &err), BANDIT_INVALID_ARMS);
    assert_string_equal(err.message, "parameter 0: column 1 cannot be scaled: its range is too large");
    p.n_features = 0;
    assert_int_equal(bandit_arms_new_space(&arms, &p, 1, &err), BANDIT_INVALID_ARMS);
    p = words_with(NULL, 300000, 0, BANDIT_SCALING_STANDARDIZE);
    assert_int_equal(bandit_arms_new_space(&arms, &p, 1, &err), BANDIT_INVALID_ARMS);
    assert_null(arms);
}

/* Features of a point are those of its word beside those of its numbers, and the features say so. */
static void points_have_the_rows_of_their_words(void **state)
{
    (void)state;
    const double first[] = {1.0};
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL,
         .n_values = WORDS,
         .features = properties,
         .n_features = PROPERTIES,
         .parent = 0,
         .parent_values = first,
         .n_parent_values = 1},
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 2.0, .parent = BANDIT_NO_PARENT}};
    bandit_arms *arms = space_study_arms(parameters, 3);
    bandit_words w = words_of(&parameters[1]);
    double row[PROPERTIES], features[PROPERTIES + 3];
    assert_int_equal(bandit_arms_dimension(arms), PROPERTIES + 3);
    bandit_arms_scale_point(arms, (const double[]){1.0, 11.0, 0.5}, features);
    bandit_words_encode(&w, 11.0, row);
    assert_memory_equal(features + 1, row, sizeof row);
    assert_true(features[0] == 1.0 && features[PROPERTIES + 1] == 0.25);
    bandit_arms_scale_point(arms, (const double[]){0.0, (double)NAN, 0.5}, features);
    bandit_words_encode(&w, (double)NAN, row);
    assert_memory_equal(features + 1, row, sizeof row);
    for (size_t j = 0; j < PROPERTIES; j++)
        assert_int_equal(bandit_arms_feature_parameter(arms, 1 + j), 1);
    bandit_words_clear(&w);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_words_are_one_hot),
        cmocka_unit_test(many_words_have_codes),
        cmocka_unit_test(properties_have_mean_distance_1),
        cmocka_unit_test(words_that_are_alike),
        cmocka_unit_test(nearest_words_are_found),
        cmocka_unit_test(bad_properties_are_refused),
        cmocka_unit_test(points_have_the_rows_of_their_words),
    };
    return cmocka_run_group_tests(tests, fill_properties, NULL);
}
