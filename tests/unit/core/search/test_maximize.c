/* Maximizing over a space: against brute force, against known functions, with values held fixed. */
#include "core/search/maximize.h"

#include "tests/support/dense_gp.h"
#include "tests/support/functions.h"
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

/* Bumps in the space of features: smooth, with many local maxima, and depending on everything. */
enum { BUMPS = 12, MOST_FEATURES = 64 };

typedef struct bumps {
    size_t dimension;
    double centre[BUMPS][MOST_FEATURES], height[BUMPS];
    size_t asked;
    const double *refused; /* a coded point that is not accepted */
    size_t n;
} bumps;

static void bumps_init(bumps *b, uint64_t seed, size_t dimension)
{
    *b = (bumps){.dimension = dimension};
    assert_true(dimension <= MOST_FEATURES);
    for (size_t k = 0; k < BUMPS; k++) {
        b->height[k] = 0.5 + dense_uniform(&seed);
        for (size_t j = 0; j < dimension; j++)
            b->centre[k][j] = dense_uniform(&seed);
    }
}

static double bumps_slopes(void *context, const double *x, double *gradient)
{
    bumps *b = context;
    double sum = 0.0, width = 0.15 * (double)b->dimension;
    b->asked++;
    if (gradient)
        memset(gradient, 0, b->dimension * sizeof *gradient);
    for (size_t k = 0; k < BUMPS; k++) {
        double distance = 0.0;
        for (size_t j = 0; j < b->dimension; j++)
            distance += (x[j] - b->centre[k][j]) * (x[j] - b->centre[k][j]);
        double value = b->height[k] * exp(-distance / width);
        sum += value;
        for (size_t j = 0; gradient && j < b->dimension; j++)
            gradient[j] -= 2.0 * (x[j] - b->centre[k][j]) / width * value;
    }
    return sum;
}

static void bumps_values(void *context, const double *features, size_t n, double *out)
{
    const bumps *b = context;
    for (size_t i = 0; i < n; i++)
        out[i] = bumps_slopes(context, features + i * b->dimension, NULL);
}

static bool accepts_others(void *context, const double *coded, const double *features)
{
    const bumps *b = context;
    (void)features;
    return memcmp(coded, b->refused, b->n * sizeof *coded) != 0;
}

/* The grid's values, and the run. Returns the value at the answer. */
static double maximum(bandit_maximizer *max, bumps *b,
                      bool (*accepts)(void *, const double *, const double *), uint64_t pick, double *coded)
{
    const bandit_objective objective = {b, bumps_values, bumps_slopes, accepts};
    bandit_error err = {0};
    bool found = false;
    double *grid = dense_alloc(max->n_grid, sizeof *grid), features[MOST_FEATURES];
    bumps_values(b, max->features, max->n_grid, grid);
    assert_int_equal(bandit_maximizer_run(max, &objective, grid, pick, coded, &found, &err), BANDIT_OK);
    assert_true(found);
    free(grid);
    bandit_space_encode(max->genome.space, coded, features);
    return bumps_slopes(b, features, NULL);
}

/* Words, each with its own worth: linear in their features, 1/sqrt(2) where a word is. */
typedef struct words {
    size_t n;
    double worth[180];
} words;

static double words_slopes(void *context, const double *x, double *gradient)
{
    const words *w = context;
    double sum = 0.0;
    for (size_t j = 0; j < w->n; j++) {
        sum += w->worth[j] * x[j];
        if (gradient)
            gradient[j] = w->worth[j];
    }
    return sum;
}

static void words_values(void *context, const double *features, size_t n, double *out)
{
    const words *w = context;
    for (size_t i = 0; i < n; i++)
        out[i] = words_slopes(context, features + i * w->n, NULL);
}

/* The largest value among the points of an enumerated set that have the fixed values (NULL: any). */
static double brute_force(const bandit_arms *all, bumps *b, const double *fixed)
{
    size_t n = bandit_arms_point_width(all);
    double best = -INFINITY, coded[RANDOM_SPACE_MOST], features[MOST_FEATURES];
    for (size_t a = 0; a < bandit_arms_count(all); a++) {
        bool fits = true;
        bandit_arms_coded(all, a, coded);
        for (size_t i = 0; fixed && i < n; i++)
            fits &= isnan(fixed[i]) || fixed[i] == coded[i];
        bandit_arms_scale_point(all, coded, features);
        if (fits)
            best = fmax(best, bumps_slopes(b, features, NULL));
    }
    return best;
}

/* Spaces of few points exactly, with and without something fixed; of up to 200 000 nearly always exactly, and
 * always nearly. */
static void as_brute_force(void **state)
{
    size_t small = 0, large = 0, exact = 0, with_fixed = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        random_space space;
        bumps b;
        bandit_maximizer max = {0};
        bandit_error err = {0};
        double coded[RANDOM_SPACE_MOST], fixed[RANDOM_SPACE_MOST];
        random_space_init(&space, seed, 3 + seed % 10, true);
        bandit_space *s;
        assert_int_equal(bandit_space_new(&s, space.parameters, space.n, &err), BANDIT_OK);
        if (s->size > 200000 || s->size < 2) {
            bandit_space_free(s);
            continue;
        }
        bandit_arms *all = space_study_arms(space.parameters, space.n);
        assert_int_equal(bandit_arms_enumerate(all, &err), BANDIT_OK);
        bumps_init(&b, seed, s->dimension);
        assert_int_equal(bandit_maximizer_start(&max, s, NULL, 9, seed, &err), BANDIT_OK);
        double best = brute_force(all, &b, NULL), found = maximum(&max, &b, NULL, 0, coded);
        assert_true(bandit_arms_find(all, coded) != SIZE_MAX);
        if (max.exhaustive) {
            small++;
            assert_true(found == best);
        } else {
            large++;
            exact += found == best;
            assert_true(found > 0.9 * best);
        }

        random_space_point(&space, fixed); /* fix some of what a point has */
        for (size_t i = 0; i < space.n; i++) {
            if (random_space_below(&space, 3) > 0)
                fixed[i] = NAN;
            else
                with_fixed += isnan(fixed[i]) ? 0U : 1U;
        }
        assert_int_equal(bandit_maximizer_start(&max, s, fixed, 9, seed, &err), BANDIT_OK);
        best = brute_force(all, &b, fixed);
        found = maximum(&max, &b, NULL, 0, coded);
        for (size_t i = 0; i < space.n; i++)
            assert_true(isnan(fixed[i]) || coded[i] == fixed[i]);
        assert_true(max.exhaustive ? found == best : found > 0.9 * best);
        bandit_maximizer_clear(&max);
        bandit_arms_free(all);
        bandit_space_free(s);
    }
    assert_true(small > 30 && large > 10 && with_fixed > 30);
    assert_true(10 * exact >= 8 * large);
}

/* Words beyond those that a move tries all of, beside others: at the best of all pairs nearly always. */
static void many_words(void **state)
{
    enum { WORDS = 60, SIDES = 3 };
    const bandit_parameter parameters[SIDES] = {
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = WORDS, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = WORDS, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = WORDS, .parent = BANDIT_NO_PARENT}};
    size_t good = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        words w = {0};
        uint64_t random = seed;
        bandit_maximizer max = {0};
        bandit_error err = {0};
        bandit_space *s;
        double coded[SIDES], sum_of_best = 0.0;
        bool found = false;
        assert_int_equal(bandit_space_new(&s, parameters, SIDES, &err), BANDIT_OK);
        assert_true(s->dimension == SIDES * WORDS);
        for (size_t i = 0; i < SIDES; i++) {
            double best = 0.0;
            for (size_t k = 0; k < WORDS; k++) {
                w.worth[i * WORDS + k] = dense_uniform(&random);
                best = fmax(best, w.worth[i * WORDS + k]);
            }
            sum_of_best += best;
        }
        w.n = SIDES * WORDS;
        assert_int_equal(bandit_maximizer_start(&max, s, NULL, 9, seed, &err), BANDIT_OK);
        assert_false(max.exhaustive);
        double *grid = dense_alloc(max.n_grid, sizeof *grid), best_of_grid = 0.0;
        words_values(&w, max.features, max.n_grid, grid);
        for (size_t i = 0; i < max.n_grid; i++)
            best_of_grid = fmax(best_of_grid, grid[i]);
        const bandit_objective objective = {&w, words_values, words_slopes, NULL};
        assert_int_equal(bandit_maximizer_run(&max, &objective, grid, 0, coded, &found, &err), BANDIT_OK);
        assert_true(found);
        double value = 0.0;
        for (size_t i = 0; i < SIDES; i++) {
            assert_true(coded[i] >= 0.0 && coded[i] < WORDS && coded[i] == trunc(coded[i]));
            value += w.worth[i * WORDS + (size_t)coded[i]];
        }
        assert_true(value >= sqrt(2.0) * best_of_grid - 1e-9);
        good += value > 0.95 * sum_of_best;
        free(grid);
        bandit_maximizer_clear(&max);
        bandit_space_free(s);
    }
    assert_true(good >= 8);
}

/* Mixed spaces: no point near the answer is better; the same answer for the same seed; picks differ in what
 * they try but hardly in what they find. */
static void a_maximum_nearby(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        random_space space;
        bumps b;
        bandit_maximizer max = {0}, again = {0};
        bandit_error err = {0};
        double coded[RANDOM_SPACE_MOST], other[RANDOM_SPACE_MOST], features[MOST_FEATURES];
        random_space_init(&space, seed, 2 + seed % 9, false);
        bandit_space *s;
        assert_int_equal(bandit_space_new(&s, space.parameters, space.n, &err), BANDIT_OK);
        bumps_init(&b, seed, s->dimension);
        assert_int_equal(bandit_maximizer_start(&max, s, NULL, 3, seed, &err), BANDIT_OK);
        assert_int_equal(bandit_maximizer_start(&again, s, NULL, 3, seed, &err), BANDIT_OK);
        double found = maximum(&max, &b, NULL, 5, coded);
        assert_int_equal(bandit_space_check_point(s, coded, &err), BANDIT_OK);
        assert_true(maximum(&again, &b, NULL, 5, other) == found);
        assert_memory_equal(coded, other, space.n * sizeof *coded);
        assert_true(fabs(maximum(&again, &b, NULL, 6, other) - found) < 0.1 * fabs(found));
        for (int k = 0; k < 300; k++) { /* random points of the whole space, and steps in one number */
            random_space_point(&space, other);
            bandit_space_encode(s, other, features);
            assert_true(bumps_slopes(&b, features, NULL) <= found + 1e-9);
            size_t i = random_space_below(&space, space.n);
            if (isnan(coded[i]) || space.parameters[i].type != BANDIT_PARAMETER_DOUBLE)
                continue;
            memcpy(other, coded, space.n * sizeof *coded);
            double u = bandit_space_encode_number(s, i, coded[i]) + 0.1 * (dense_uniform(&space.state) - 0.5);
            other[i] = bandit_space_decode_number(s, i, u);
            bandit_space_encode(s, other, features);
            assert_true(bumps_slopes(&b, features, NULL) <= found + 1e-6);
        }
        bandit_maximizer_clear(&max);
        bandit_maximizer_clear(&again);
        bandit_space_free(s);
    }
}

/* What is not accepted is not answered, and the next best is. */
static void refused_points(void **state)
{
    const bandit_parameter p = {
        .type = BANDIT_PARAMETER_INTEGER, .min = 0, .max = 50, .parent = BANDIT_NO_PARENT};
    bandit_space *s;
    bandit_error err = {0};
    bandit_maximizer max = {0};
    bumps b;
    double best, second, values[51], x;
    (void)state;
    assert_int_equal(bandit_space_new(&s, &p, 1, &err), BANDIT_OK);
    bumps_init(&b, 4, 1);
    assert_int_equal(bandit_maximizer_start(&max, s, NULL, 1, 1, &err), BANDIT_OK);
    maximum(&max, &b, NULL, 0, &best);
    b.refused = &best;
    b.n = 1;
    double found = maximum(&max, &b, accepts_others, 0, &second), expected = -INFINITY;
    for (int k = 0; k <= 50; k++) {
        double coded = k;
        bandit_space_encode(s, &coded, &x);
        values[k] = bumps_slopes(&b, &x, NULL);
        if (coded != best)
            expected = fmax(expected, values[k]);
    }
    assert_true(found == expected && second != best);
    bandit_maximizer_clear(&max);
    bandit_space_free(s);
}

static double hartmann6_slopes(void *context, const double *x, double *gradient)
{
    (void)context;
    return function_hartmann6(x, gradient);
}

static void hartmann6_values(void *context, const double *x, size_t n, double *out)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        out[i] = function_hartmann6(x + 6 * i, NULL);
}

static void known_maximum(void **state)
{
    bandit_parameter parameters[6];
    bandit_space *s;
    bandit_error err = {0};
    (void)state;
    for (size_t i = 0; i < 6; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&s, parameters, 6, &err), BANDIT_OK);
    const bandit_objective objective = {NULL, hartmann6_values, hartmann6_slopes, NULL};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        bandit_maximizer max = {0};
        double coded[6];
        bool found;
        assert_int_equal(bandit_maximizer_start(&max, s, NULL, seed, 0, &err), BANDIT_OK);
        double *grid = dense_alloc(max.n_grid, sizeof *grid);
        hartmann6_values(NULL, max.features, max.n_grid, grid);
        assert_int_equal(bandit_maximizer_run(&max, &objective, grid, 0, coded, &found, &err), BANDIT_OK);
        assert_true(found && fabs(function_hartmann6(coded, NULL) - 3.32237) < 1e-4);
        free(grid);
        bandit_maximizer_clear(&max);
    }
    bandit_space_free(s);
}

/* A needle beside a named point, on a slope that leads elsewhere: no sweep of six dimensions meets it. */
typedef struct needle {
    size_t n;
    double tip[6];
} needle;

static double needle_slopes(void *context, const double *x, double *gradient)
{
    const needle *a = context;
    double distance = 0.0, width = 1e-5, sum = 0.0;
    for (size_t j = 0; j < a->n; j++) {
        distance += (x[j] - a->tip[j]) * (x[j] - a->tip[j]);
        sum += x[j];
    }
    double height = 10.0 * exp(-distance / width);
    for (size_t j = 0; gradient && j < a->n; j++)
        gradient[j] = 1.0 - 2.0 * (x[j] - a->tip[j]) / width * height;
    return sum + height;
}

static void needle_values(void *context, const double *features, size_t n, double *out)
{
    const needle *a = context;
    for (size_t i = 0; i < n; i++)
        out[i] = needle_slopes(context, features + i * a->n, NULL);
}

static void ascents_begin_beside_a_named_point(void **state)
{
    (void)state;
    needle a = {.n = 6, .tip = {0.2, 0.31, 0.27, 0.42, 0.18, 0.35}};
    const double steps[6] = {0.2, 0.2, 0.2, 0.2, 0.2, 0.2};
    bandit_parameter parameters[6];
    bandit_space *space;
    bandit_maximizer max = {0};
    const bandit_objective objective = {&a, needle_values, needle_slopes, NULL};
    bandit_error err = {0};
    double named[6], found_at[6];
    for (size_t j = 0; j < 6; j++)
        parameters[j] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&space, parameters, 6, &err), BANDIT_OK);
    for (size_t j = 0; j < 6; j++)
        named[j] = a.tip[j] + (j % 2 ? 2e-3 : -2e-3);
    assert_int_equal(bandit_maximizer_start(&max, space, NULL, 7, 0, &err), BANDIT_OK);
    double *grid = dense_alloc(max.n_grid, sizeof *grid);
    needle_values(&a, max.features, max.n_grid, grid);
    for (int beside = 0; beside < 2; beside++) {
        bool found = false;
        max.beside = beside ? named : NULL;
        max.steps = steps;
        assert_int_equal(bandit_maximizer_run(&max, &objective, grid, 0, found_at, &found, &err), BANDIT_OK);
        assert_true(found);
        assert_true(beside ? needle_slopes(&a, found_at, NULL) > 11.7
                           : needle_slopes(&a, found_at, NULL) < 6.1);
    }
    free(grid);
    bandit_maximizer_clear(&max);
    bandit_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_brute_force),   cmocka_unit_test(many_words),
        cmocka_unit_test(a_maximum_nearby), cmocka_unit_test(refused_points),
        cmocka_unit_test(known_maximum),    cmocka_unit_test(ascents_begin_beside_a_named_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
