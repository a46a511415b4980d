/* Spaces: features of points and back, counting and enumerating, sets of arms that grow. */
#include "bandit/space.h"

#include "core/arms/arms_storage.h"
#include "core/arms/genome.h"
#include "tests/support/dense_gp.h"
#include "tests/support/random_space.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool equal_points(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return false;
    }
    return true;
}

/* Distances that the header promises, by hand. */
static void features_are_as_documented(void **state)
{
    const double numbers[] = {64, 16, 32}, on[] = {1}, words[] = {0, 2};
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 1e-4, .max = 1, .log = true, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER,
         .min = 10,
         .max = 20,
         .parent = 4,
         .parent_values = on,
         .n_parent_values = 1},
        {.type = BANDIT_PARAMETER_DISCRETE, .numbers = numbers, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 3, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = 3, .parent_values = words, .n_parent_values = 2},
        {.type = BANDIT_PARAMETER_CATEGORICAL,
         .n_values = 2,
         .parent = 4,
         .parent_values = on,
         .n_parent_values = 1},
    };
    const double root = sqrt(0.5), point[] = {1e-2, 13, 32, 2, 1, 0}, other[] = {1, NAN, 16, 1, NAN, NAN};
    /* lr, integer, discrete, three words, boolean, two words, then the two activities: of the integer and the
     * last words (the same condition), and of the boolean */
    const double expected[] = {0.5, 0.3, 0.5, 0, 0, root, 1, root, 0, root, root};
    const double inactive[] = {1, 0.5, 0, 0, root, 0, 0.5, root / 2, root / 2, 0, 0};
    const size_t owners[] = {0, 1, 2, 3, 3, 3, 4, 5, 5, 4, 3};
    double features[11];
    (void)state;

    bandit_arms *arms = space_study_arms(parameters, 6);
    assert_int_equal(bandit_arms_dimension(arms), 11);
    assert_int_equal(bandit_arms_point_width(arms), 6);
    bandit_arms_scale_point(arms, point, features);
    for (size_t j = 0; j < 11; j++)
        assert_true(fabs(features[j] - expected[j]) < 1e-15);
    bandit_arms_scale_point(arms, other, features);
    for (size_t j = 0; j < 11; j++) {
        assert_true(fabs(features[j] - inactive[j]) < 1e-15);
        assert_int_equal(bandit_arms_feature_parameter(arms, j), owners[j]);
    }
    bandit_arms_free(arms);
}

/* Points come back as they were put in; numbers come back from their features; looking up finds exactly what
 * is there, also through growth of the table and of the storage. */
static void points_come_back(void **state)
{
    enum { POINTS = 150 };
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        random_space space;
        random_space_init(&space, seed, 1 + seed % RANDOM_SPACE_MOST, false);
        bandit_arms *arms = space_study_arms(space.parameters, space.n);
        double *points = dense_alloc(POINTS * space.n, sizeof *points), back[RANDOM_SPACE_MOST];
        double *features = dense_alloc(bandit_arms_dimension(arms), sizeof *features);
        size_t known = 0;
        for (size_t p = 0; p < POINTS; p++) {
            double *point = points + known * space.n;
            random_space_point(&space, point);
            for (size_t i = 0; i < space.n; i++)
                assert_int_equal(!isnan(point[i]), random_space_is_active(&space, point, i));
            size_t earlier = 0;
            while (earlier < known && !equal_points(points + earlier * space.n, point, space.n))
                earlier++;
            bandit_error err = {0};
            if (earlier < known) {
                assert_int_equal(bandit_arms_find(arms, point), earlier);
                assert_int_equal(bandit_arms_append(arms, point, 1, &err), BANDIT_INVALID_ARMS);
                continue;
            }
            assert_int_equal(bandit_arms_find(arms, point), SIZE_MAX);
            assert_int_equal(bandit_arms_append(arms, point, 1, &err), BANDIT_OK);
            known++;
        }
        assert_int_equal(bandit_arms_count(arms), known);
        for (size_t a = 0; a < known; a++) {
            const double *point = points + a * space.n;
            bandit_arms_coded(arms, a, back);
            assert_true(equal_points(point, back, space.n));
            assert_int_equal(bandit_arms_find(arms, point), a);
            bandit_arms_scale_point(arms, point, features);
            for (size_t j = 0; j < bandit_arms_dimension(arms); j++) {
                assert_true(features[j] == bandit_arms_feature(arms, a, j));
                assert_true(features[j] >= 0.0 && features[j] <= 1.0);
            }
            for (size_t i = 0; i < space.n; i++) {
                const bandit_parameter *p = &space.parameters[i];
                if (isnan(point[i]) ||
                    (p->type != BANDIT_PARAMETER_DOUBLE && p->type != BANDIT_PARAMETER_INTEGER))
                    continue;
                double again =
                    bandit_space_decode_number(arms->space, i, features[arms->space->places[i].first]);
                if (p->type == BANDIT_PARAMETER_INTEGER)
                    assert_true(again == point[i]);
                else
                    assert_true(fabs(again - point[i]) <= 1e-12 * fmax(fabs(p->min), fabs(p->max)));
            }
        }
        free(points);
        free(features);
        bandit_arms_free(arms);
    }
}

/* A point that was made of genes is what its genes make again: picked again it is the same arm. */
static void points_are_fixed_points(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        random_space space;
        bandit_genome genome;
        bandit_error err = {0};
        double genes[RANDOM_SPACE_MOST], point[RANDOM_SPACE_MOST], again[RANDOM_SPACE_MOST];
        random_space_init(&space, seed, 1 + seed % RANDOM_SPACE_MOST, false);
        bandit_arms *arms = space_study_arms(space.parameters, space.n);
        assert_int_equal(bandit_genome_init(&genome, arms->space, NULL, seed, &err), BANDIT_OK);
        for (uint64_t k = 0; k < 100; k++) {
            bandit_genome_random(&genome, 0, BANDIT_PURPOSE_UNIFORM, k, genes);
            bandit_genome_point(&genome, genes, point);
            assert_int_equal(bandit_arms_check_point(arms, point, &err), BANDIT_OK);
            for (size_t i = 0; i < space.n; i++) {
                if (space.parameters[i].type == BANDIT_PARAMETER_DOUBLE && !isnan(point[i]))
                    assert_true(fabs(bandit_space_encode_number(arms->space, i, point[i]) - genes[i]) <
                                1e-11);
            }
            bandit_genome_take(&genome, point, genes);
            bandit_genome_point(&genome, genes, again);
            assert_true(equal_points(point, again, space.n));
        }
        bandit_genome_clear(&genome);
        bandit_arms_free(arms);
    }
}

/* One active parameter gets another value, each of the others as often; integers step by one at least; what
 * is fixed stays, and where nothing else is there nothing changes. */
static void a_mutation_changes_one_parameter(void **state)
{
    enum { MUTATIONS = 3000, VALUES = 4 };
    static const double numbers[VALUES] = {3.0, 1.0, 7.5, 2.0};
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = VALUES, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DISCRETE,
         .numbers = numbers,
         .n_values = VALUES,
         .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = -2.0, .max = 2.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT},
    };
    enum { N_PARAMETERS = sizeof parameters / sizeof *parameters };
    bandit_genome genome;
    bandit_error err = {0};
    size_t changed[N_PARAMETERS] = {0}, categories[VALUES] = {0}, listed[VALUES] = {0};
    double genes[N_PARAMETERS], again[N_PARAMETERS], point[N_PARAMETERS], other[N_PARAMETERS];
    (void)state;
    bandit_arms *arms = space_study_arms(parameters, N_PARAMETERS);
    assert_int_equal(bandit_genome_init(&genome, arms->space, NULL, 11, &err), BANDIT_OK);
    bandit_genome_random(&genome, 0, BANDIT_PURPOSE_UNIFORM, 1, genes);
    bandit_genome_point(&genome, genes, point);
    for (uint64_t k = 0; k < MUTATIONS; k++) {
        size_t different = 0;
        bandit_genome_take(&genome, point, again);
        assert_true(bandit_genome_mutate(&genome, 0, BANDIT_PURPOSE_UNIFORM, 1000 + 16 * k, point, again));
        bandit_genome_point(&genome, again, other);
        for (size_t i = 0; i < N_PARAMETERS; i++) {
            if (other[i] == point[i])
                continue;
            different++;
            changed[i]++;
            categories[(size_t)other[0]] += i == 0;
            for (size_t v = 0; i == 1 && v < VALUES; v++)
                listed[v] += other[1] == numbers[v];
        }
        assert_int_equal(different, 1);
    }
    for (size_t i = 0; i < N_PARAMETERS; i++)
        assert_true(fabs((double)changed[i] - MUTATIONS / 5.0) < 5.0 * sqrt(MUTATIONS * 0.2 * 0.8));
    for (size_t v = 0; v < VALUES; v++) {
        double third[] = {(double)changed[0] / 3.0, (double)changed[1] / 3.0};
        if ((double)v == point[0])
            assert_int_equal(categories[v], 0);
        else
            assert_true(fabs((double)categories[v] - third[0]) < 5.0 * sqrt(third[0]));
        if (numbers[v] == point[1])
            assert_int_equal(listed[v], 0);
        else
            assert_true(fabs((double)listed[v] - third[1]) < 5.0 * sqrt(third[1]));
    }
    bandit_genome_clear(&genome);
    assert_int_equal(bandit_genome_init(&genome, arms->space, point, 11, &err), BANDIT_OK);
    bandit_genome_take(&genome, point, again);
    assert_false(bandit_genome_mutate(&genome, 0, BANDIT_PURPOSE_UNIFORM, 0, point, again));
    bandit_genome_clear(&genome);
    bandit_arms_free(arms);
}

/* Every point once, as many as are counted, and every random point is among them. */
static void enumeration_is_complete(void **state)
{
    size_t conditional = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        random_space space;
        random_space_init(&space, seed, 1 + seed % 6, true);
        for (size_t i = 0; i < space.n; i++)
            conditional += space.parameters[i].parent != BANDIT_NO_PARENT;
        bandit_arms *arms = space_study_arms(space.parameters, space.n);
        size_t size = bandit_arms_space_size(arms);
        bandit_error err = {0};
        assert_int_equal(bandit_arms_enumerate(arms, &err), BANDIT_OK);
        assert_int_equal(bandit_arms_count(arms), size); /* append refuses repeats */
        assert_false(bandit_arms_is_open_space(arms));
        double point[RANDOM_SPACE_MOST];
        for (int k = 0; k < 200; k++) {
            random_space_point(&space, point);
            assert_true(bandit_arms_find(arms, point) < size);
        }
        assert_int_equal(bandit_arms_append(arms, point, 1, &err), BANDIT_UNSUPPORTED);
        bandit_arms_free(arms);
    }
    assert_true(conditional > 40);
}

static void counts_without_walking(void **state)
{
    const double two[] = {2}, three[] = {3, 4};
    const bandit_parameter large[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .min = 0, .max = 999999999, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER,
         .min = 1,
         .max = 10,
         .parent = 0,
         .parent_values = two,
         .n_parent_values = 1},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = 0, .parent_values = three, .n_parent_values = 2},
        {.type = BANDIT_PARAMETER_DOUBLE,
         .min = 0,
         .max = 1,
         .parent = 2,
         .parent_values = two,
         .n_parent_values = 1},
    };
    const double yes[] = {1};
    (void)state;
    bandit_arms *arms = space_study_arms(large, 3); /* 10⁹ values, one of them tenfold, two of them twice */
    assert_true(bandit_arms_space_size(arms) == 1000000000 + 9 + 2);
    bandit_arms_free(arms);
    bandit_parameter with_double[4];
    memcpy(with_double, large, sizeof with_double);
    with_double[3].parent_values = yes;
    arms = space_study_arms(with_double, 4);
    assert_true(bandit_arms_space_size(arms) == SIZE_MAX);
    bandit_arms_free(arms);

    const bandit_parameter before[] = {
        /* two on the same value of one that comes after them: 2 x 2, and 1 */
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = 2, .parent_values = yes, .n_parent_values = 1},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = 2, .parent_values = yes, .n_parent_values = 1},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT}};
    arms = space_study_arms(before, 3);
    assert_int_equal(bandit_arms_space_size(arms), 5);
    bandit_arms_free(arms);

    bandit_parameter chain[60]; /* each active with any of its parent's ten values: 10⁶⁰ */
    const double all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (size_t i = 0; i < 60; i++)
        chain[i] = (bandit_parameter){.type = BANDIT_PARAMETER_INTEGER,
                                      .max = 9,
                                      .parent = i ? i - 1 : BANDIT_NO_PARENT,
                                      .parent_values = all,
                                      .n_parent_values = i ? 10 : 0};
    arms = space_study_arms(chain, 60);
    assert_true(bandit_arms_space_size(arms) == SIZE_MAX);
    bandit_arms_free(arms);

    bandit_parameter wide[9]; /* 2^8 values each: the product of 8 is 2^64, which is 0 where it wraps */
    for (size_t n = 7; n <= 9; n++) {
        for (size_t i = 0; i < n; i++)
            wide[i] =
                (bandit_parameter){.type = BANDIT_PARAMETER_INTEGER, .max = 255, .parent = BANDIT_NO_PARENT};
        arms = space_study_arms(wide, n);
        assert_true(bandit_arms_space_size(arms) == (n == 7 ? (size_t)1 << 56 : SIZE_MAX));
        bandit_arms_free(arms);
    }
}

/* 2^31 points are too many for a list, and so many at once for any set. */
static void too_many_points(void **state)
{
    const bandit_parameter parameter = {
        .type = BANDIT_PARAMETER_INTEGER, .min = 1, .max = 0x1p31, .parent = BANDIT_NO_PARENT};
    bandit_arms *arms;
    bandit_error err = {0};
    double one = 1;
    size_t n = 7;
    (void)state;
    assert_int_equal(bandit_arms_new_space(&arms, &parameter, 1, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_space_size(arms), (size_t)1 << 31);
    assert_int_equal(bandit_arms_enumerate(arms, &err), BANDIT_INVALID_ARMS);
    assert_int_equal(bandit_arms_append(arms, &one, (size_t)1 << 31, &err), BANDIT_INVALID_ARMS);
    assert_int_equal(bandit_arms_count(arms), 0);
    const bandit_parameter *copy = bandit_arms_parameters(arms, &n);
    assert_true(n == 1 && copy != &parameter && copy->type == BANDIT_PARAMETER_INTEGER &&
                copy->max == 0x1p31);
    bandit_arms_free(arms);

    assert_int_equal(bandit_arms_new(&arms, 1, 1, &err), BANDIT_OK);
    assert_null(bandit_arms_parameters(arms, &n));
    assert_int_equal(n, 0);
    bandit_arms_free(arms);
}

/* A bad row leaves the set as it was. */
static void append_is_all_or_nothing(void **state)
{
    const double on[] = {1};
    const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER,
         .min = -3,
         .max = 3,
         .parent = 0,
         .parent_values = on,
         .n_parent_values = 1},
    };
    const double good[] = {0, NAN, 1, -3}, bad[][4] = {{1, 2, 1, 4},   /* out of range */
                                                       {1, 2, 1, 0.5}, /* not whole */
                                                       {1, 2, 1, NAN}, /* active without a value */
                                                       {1, 2, 0, 1},   /* inactive with one */
                                                       {1, 2, 2, NAN}, /* no truth */
                                                       {1, 2, 1, 2},   /* twice */
                                                       {1, 2, 1, -3},  /* an arm already */
                                                       {1, 2, INFINITY, NAN}};
    (void)state;
    bandit_arms *arms = space_study_arms(parameters, 2);
    bandit_error err = {0};
    assert_int_equal(bandit_arms_append(arms, good, 2, &err), BANDIT_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(bandit_arms_append(arms, bad[i], 2, &err), BANDIT_INVALID_ARMS);
        assert_non_null(strstr(err.message, "row 1"));
        assert_int_equal(bandit_arms_count(arms), 2);
        assert_int_equal(bandit_arms_find(arms, bad[i]), SIZE_MAX);
        assert_int_equal(bandit_arms_find(arms, good + 2), 1);
    }
    const double zero[] = {1, 0}, minus_zero[] = {1, -0.0};
    assert_int_equal(bandit_arms_append(arms, minus_zero, 1, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_find(arms, zero), 2);
    bandit_arms_free(arms);
}

/* Candidates added later are scaled as the first ones were, and equal a set made of all at once. */
static void candidates_can_be_added(void **state)
{
    enum { FIRST = 19, MORE = 30, D = 3 };
    double rows[(FIRST + MORE) * D];
    uint64_t random = 5;
    (void)state;
    for (size_t i = 0; i < (FIRST + MORE) * D; i++)
        rows[i] = 100.0 * dense_normal(&random);
    bandit_arms *grown, *whole;
    bandit_error err = {0};
    assert_int_equal(bandit_arms_new(&grown, FIRST, D, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(grown, 0, FIRST, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(grown, BANDIT_SCALING_STANDARDIZE, FIRST, &err), BANDIT_OK);
    for (size_t i = 0; i < MORE; i += 5)
        assert_int_equal(bandit_arms_append(grown, rows + (FIRST + i) * D, 5, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_new(&whole, FIRST + MORE, D, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(whole, 0, FIRST + MORE, rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(whole, BANDIT_SCALING_STANDARDIZE, FIRST, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_count(grown), FIRST + MORE);
    assert_memory_equal(grown->features, whole->features, whole->n_tiles * D * BANDIT_TILE * sizeof(double));

    double bad[2 * D] = {1, 2, 3, 4, NAN, 6};
    assert_int_equal(bandit_arms_append(grown, bad, 2, &err), BANDIT_INVALID_ARMS);
    assert_non_null(strstr(err.message, "row 1, column 1"));
    assert_int_equal(bandit_arms_count(grown), FIRST + MORE);
    assert_memory_equal(grown->features, whole->features, whole->n_tiles * D * BANDIT_TILE * sizeof(double));
    bandit_arms_free(grown);
    bandit_arms_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_as_documented),
        cmocka_unit_test(points_come_back),
        cmocka_unit_test(points_are_fixed_points),
        cmocka_unit_test(a_mutation_changes_one_parameter),
        cmocka_unit_test(enumeration_is_complete),
        cmocka_unit_test(counts_without_walking),
        cmocka_unit_test(too_many_points),
        cmocka_unit_test(append_is_all_or_nothing),
        cmocka_unit_test(candidates_can_be_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
