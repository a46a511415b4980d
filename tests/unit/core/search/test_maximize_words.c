/* A word with properties beside numbers: the maximum over the whole list, by brute force over words and a fine grid
 * of numbers. */
#include "core/arms/arms_storage.h"
#include "core/search/maximize.h"
#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 3000, PROPERTIES = 4, PARAMETERS = 3, FEATURES = PROPERTIES + 2 };

static double properties[WORDS * PROPERTIES];

static const double gate_on[] = {1.0};

/* A number, a word of long list, and a gate; `conditional`: the word depends on the gate. */
static bandit_space *space_of(bool conditional)
{
    const bandit_parameter parameters[PARAMETERS] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .max = 10.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_CATEGORICAL,
         .n_values = WORDS,
         .features = properties,
         .n_features = PROPERTIES,
         .parent = conditional ? 2 : BANDIT_NO_PARENT,
         .parent_values = gate_on,
         .n_parent_values = 1},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT}};
    bandit_space *s;
    bandit_error err = {0};
    assert_int_equal(bandit_space_new(&s, parameters, PARAMETERS, &err), BANDIT_OK);
    return s;
}

typedef struct bump {
    size_t n;
    double at[FEATURES + 1];
    size_t calls;
} bump;

/* A narrow bump, whose place in the number moves with the first property. */
static double bump_slopes(void *context, const double *x, double *gradient)
{
    bump *b = context;
    double shift = 0.4 * x[1], sum = 0.0;
    b->calls++;
    for (size_t j = 0; j < b->n; j++) {
        double weight = j > 0 && j <= PROPERTIES ? 4.0 : 9.0, e = x[j] - b->at[j] - (j == 0 ? shift : 0.0);
        sum += weight * e * e;
        if (gradient)
            gradient[j] = -2.0 * weight * e;
    }
    return -sum;
}

static void bump_values(void *context, const double *features, size_t n, double *out)
{
    const bump *b = context;
    for (size_t i = 0; i < n; i++)
        out[i] = bump_slopes(context, features + i * b->n, NULL);
}

static double brute_force(const bandit_space *s, bump *b)
{
    double best = -INFINITY, features[FEATURES + 1];
    for (size_t k = 0; k < WORDS; k++) {
        for (size_t u = 0; u <= 200; u++) {
            const double coded[PARAMETERS] = {0.05 * (double)u, (double)k, 1.0};
            bandit_space_encode(s, coded, features);
            best = fmax(best, bump_slopes(b, features, NULL));
        }
    }
    return best;
}

static double run(bandit_maximizer *max, bump *b, uint64_t pick, double *coded)
{
    const bandit_objective objective = {b, bump_values, bump_slopes, NULL};
    double *grid = dense_alloc(max->n_grid, sizeof *grid), features[FEATURES + 1];
    bandit_error err = {0};
    bool found = false;
    bump_values(b, max->features, max->n_grid, grid);
    assert_int_equal(bandit_maximizer_run(max, &objective, grid, pick, coded, &found, &err), BANDIT_OK);
    assert_true(found);
    free(grid);
    bandit_space_encode(max->genome.space, coded, features);
    return bump_slopes(b, features, NULL);
}

static void the_best_word_of_the_list(void **state)
{
    size_t exact = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        bandit_space *s = space_of(seed % 2 == 0);
        bandit_maximizer max = {0};
        bandit_error err = {0};
        bump b = {.n = s->dimension};
        uint64_t random = seed;
        double coded[PARAMETERS], again[PARAMETERS], best;
        for (size_t j = 0; j < b.n; j++)
            b.at[j] = j > 0 && j <= PROPERTIES ? 0.35 * dense_normal(&random) : 0.5;
        b.at[PROPERTIES + 1] = 1.0;
        best = brute_force(s, &b);
        assert_int_equal(bandit_maximizer_start(&max, s, NULL, 9, seed, &err), BANDIT_OK);
        b.calls = 0;
        double value = run(&max, &b, 0, coded);
        assert_true(b.calls < 20000); /* the list once, and not once for every start */
        exact += value >= best - 1e-9;
        assert_true(value >= best - 0.05);
        assert_true(run(&max, &b, 0, again) == value && memcmp(coded, again, sizeof coded) == 0);
        bandit_maximizer_clear(&max);
        bandit_space_free(s);
    }
    assert_true(exact >= 17);
}

/* A fixed word stays, and so does a fixed number, at which the best word is found exactly. */
static void fixed_values(void **state)
{
    (void)state;
    bandit_space *s = space_of(false);
    bandit_maximizer max = {0};
    bandit_error err = {0};
    bump b = {.n = s->dimension, .at = {0.5, 0.3, -0.2, 0.4, 0.1, 1.0}};
    double coded[PARAMETERS], best = -INFINITY, features[FEATURES];
    const double word[] = {(double)NAN, 1234.0, (double)NAN}, number[] = {7.0, (double)NAN, (double)NAN};
    assert_int_equal(bandit_maximizer_start(&max, s, word, 9, 1, &err), BANDIT_OK);
    run(&max, &b, 0, coded);
    assert_true(coded[1] == 1234.0);
    assert_int_equal(bandit_maximizer_start(&max, s, number, 9, 1, &err), BANDIT_OK);
    double value = run(&max, &b, 0, coded);
    for (size_t k = 0; k < WORDS; k++) {
        bandit_space_encode(s, (const double[]){7.0, (double)k, 1.0}, features);
        best = fmax(best, bump_slopes(&b, features, NULL));
    }
    assert_true(coded[0] == 7.0 && value == best);
    bandit_maximizer_clear(&max);
    bandit_space_free(s);
}

static int fill_properties(void **state)
{
    uint64_t random = 77;
    (void)state;
    for (size_t k = 0; k < WORDS * PROPERTIES; k++)
        properties[k] = dense_normal(&random);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_word_of_the_list),
        cmocka_unit_test(fixed_values),
    };
    return cmocka_run_group_tests(tests, fill_properties, NULL);
}
