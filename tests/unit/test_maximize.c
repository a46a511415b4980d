/* Maximizing over a space: against brute force, against known functions, with values held fixed. */
#include "maximize.h"

#include "tests/support/dense_gp.h"
#include "tests/support/random_space.h"

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

static bandit_arms *arms_in(const random_space *s)
{
    bandit_arms *arms;
    bandit_error err = {0};
    assert_int_equal(bandit_arms_new_space(&arms, s->parameters, s->n, &err), BANDIT_OK);
    return arms;
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
        bandit_arms *all = arms_in(&space);
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

/* Functions whose maxima are in the literature. */
static double hartmann6(const double *x, double *gradient)
{
    static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}};
    static const double P[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                   {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                   {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                   {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    static const double c[4] = {1.0, 1.2, 3.0, 3.2};
    double sum = 0.0;
    memset(gradient, 0, 6 * sizeof *gradient);
    for (size_t i = 0; i < 4; i++) {
        double t = 0.0;
        for (size_t j = 0; j < 6; j++)
            t += A[i][j] * (x[j] - P[i][j]) * (x[j] - P[i][j]);
        t = c[i] * exp(-t);
        sum += t;
        for (size_t j = 0; j < 6; j++)
            gradient[j] -= 2.0 * A[i][j] * (x[j] - P[i][j]) * t;
    }
    return sum;
}

static double hartmann6_slopes(void *context, const double *x, double *gradient)
{
    (void)context;
    return hartmann6(x, gradient);
}

static void hartmann6_values(void *context, const double *x, size_t n, double *out)
{
    double gradient[6];
    (void)context;
    for (size_t i = 0; i < n; i++)
        out[i] = hartmann6(x + 6 * i, gradient);
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
        double coded[6], gradient[6];
        bool found;
        assert_int_equal(bandit_maximizer_start(&max, s, NULL, seed, 0, &err), BANDIT_OK);
        double *grid = dense_alloc(max.n_grid, sizeof *grid);
        hartmann6_values(NULL, max.features, max.n_grid, grid);
        assert_int_equal(bandit_maximizer_run(&max, &objective, grid, 0, coded, &found, &err), BANDIT_OK);
        assert_true(found && fabs(hartmann6(coded, gradient) - 3.32237) < 1e-4);
        free(grid);
        bandit_maximizer_clear(&max);
    }
    bandit_space_free(s);
}

/* Every stretch of the sequence is spread over every parameter: of any 64 points, each sixteenth of a linear
 * parameter has at least one, and of 1024 about 64. */
static void sweeps_are_even(void **state)
{
    bandit_parameter parameters[20];
    bandit_space *s;
    bandit_error err = {0};
    bandit_genome genome;
    (void)state;
    for (size_t i = 0; i < 20; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&s, parameters, 20, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_init(&genome, s, NULL, 77, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_sequence(&genome, 5, &err), BANDIT_OK);
    size_t counts[20][16] = {{0}};
    for (uint64_t index = 0; index < 1024; index++) {
        double genes[20];
        bandit_genome_sweep(&genome, index, genes);
        for (size_t i = 0; i < 20; i++) {
            assert_true(genes[i] >= 0.0 && genes[i] < 1.0);
            counts[i][(size_t)(16.0 * genes[i])]++;
        }
    }
    for (size_t i = 0; i < 20; i++) {
        for (size_t k = 0; k < 16; k++)
            assert_in_range(counts[i][k], 48, 80); /* independent points: ±8 is one standard deviation */
    }
    bandit_genome_clear(&genome);
    bandit_space_free(s);
}

/* Parameter i counts in the i-th prime, the 169th begins again at 2: of b^k points in a row from a multiple
 * of it on, each interval of b^-k has one, down to where 2^24 points are told apart; below that, and between
 * two parameters of one base, it is chance. */
static void sweeps_count_in_primes(void **state)
{
    enum { PRIMES = 168, MANY = 2 * PRIMES + 2, LARGEST = 997 };
    static bandit_parameter parameters[MANY];
    static double first[LARGEST][MANY];
    size_t primes[PRIMES], found = 0;
    bandit_space *s;
    bandit_error err = {0};
    bandit_genome genome;
    (void)state;
    for (size_t x = 2; x <= LARGEST; x++) {
        size_t divisors = 0;
        for (size_t k = 1; k <= x; k++)
            divisors += x % k == 0;
        if (divisors == 2)
            primes[found++] = x;
    }
    assert_int_equal(found, PRIMES);
    for (size_t i = 0; i < MANY; i++)
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&s, parameters, MANY, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_init(&genome, s, NULL, 77, &err), BANDIT_OK);
    assert_int_equal(bandit_genome_sequence(&genome, 5, &err), BANDIT_OK);
    for (uint64_t index = 0; index < LARGEST; index++)
        bandit_genome_sweep(&genome, index, first[index]);
    for (size_t i = 0; i < MANY; i++) {
        size_t b = primes[i % PRIMES], whole = b;
        while (whole * b <= LARGEST)
            whole *= b;
        bool taken[LARGEST] = {false};
        for (size_t index = 0; index < whole; index++) {
            size_t interval = (size_t)((double)whole * first[index][i]);
            assert_true(interval < whole && !taken[interval]);
            taken[interval] = true;
        }
        while (whole < (size_t)1 << 24)
            whole *= b;
        /* the last digit alone changes, then none */
        double genes[MANY], last[2][2];
        for (uint64_t k = 0; k < 2; k++) {
            for (uint64_t times = 0; times < 2; times++) {
                bandit_genome_sweep(&genome, k * whole / b + times * whole, genes);
                last[k][times] = genes[i] * (double)whole;
            }
            assert_true(floor(last[k][0]) == floor(last[k][1]) && last[k][0] != last[k][1]);
        }
        assert_true(floor(last[0][0]) != floor(last[1][0]));
        assert_true(floor(last[0][0] / (double)b) == floor(last[1][0] / (double)b));
        size_t equal = 0;
        for (size_t index = 0; i >= PRIMES && index < LARGEST; index++)
            equal += fabs(first[index][i] - first[index][i - PRIMES]) < 0.01;
        assert_true(equal < LARGEST / 2);
    }
    bandit_genome_clear(&genome);
    bandit_space_free(s);
}

/* ---- what a search asks for ---------------------------------------------------------------------------- */

/* Four doubles, two integers, two sides of five words; features 0 … 3, 4, 5, 6 … 10, 11 … 15. */
enum { NUMBERS = 6, MIXED = 8, SIDE = 5, MIXED_FEATURES = NUMBERS + 2 * SIDE };

static const bandit_parameter mixed[MIXED] = {
    {.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_INTEGER, .max = 1000.0, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_INTEGER, .max = 1000.0, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = SIDE, .parent = BANDIT_NO_PARENT},
    {.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = SIDE, .parent = BANDIT_NO_PARENT}};

/* A plane whose calls are looked at: the first is for the points around the centre, those after it for moves.
 */
typedef struct asked_for {
    size_t calls, first_n, moves;
    const double *centre; /* its features */
    double first[BANDIT_MAXIMIZE_TRIALS * MIXED_FEATURES];
} asked_for;

static double plane(void *context, const double *x, double *gradient)
{
    double sum = 0.0;
    (void)context;
    for (size_t j = 0; j < MIXED_FEATURES; j++) {
        double slope = (double)(j % 3) - 1.0;
        sum += slope * x[j];
        if (gradient)
            gradient[j] = slope;
    }
    return sum;
}

static bool is_in_the_space(const double *x)
{
    bool inside = true;
    for (size_t j = 0; j < NUMBERS; j++)
        inside &= x[j] >= 0.0 && x[j] <= 1.0 && (j < 4 || fabs(1000.0 * x[j] - rint(1000.0 * x[j])) < 1e-9);
    for (size_t side = 0; side < 2; side++) {
        size_t set = 0;
        for (size_t k = 0; k < SIDE; k++)
            set += x[NUMBERS + side * SIDE + k] != 0.0 ? 1U : 0U;
        inside &= set == 1;
    }
    return inside;
}

static void plane_values(void *context, const double *x, size_t n, double *out)
{
    asked_for *a = context;
    const size_t row = MIXED_FEATURES;
    assert_in_range(n, 1, BANDIT_MAXIMIZE_TRIALS);
    for (size_t i = 0; i < n; i++) {
        assert_true(is_in_the_space(x + i * row));
        out[i] = plane(NULL, x + i * row, NULL);
    }
    if (a->calls++ == 0) {
        a->first_n = n;
        memcpy(a->first, x, n * row * sizeof *x);
        return;
    }
    /* One change of each of the integers and of every word at least: moves, not combinations of these. */
    for (size_t i = 0; i < n && n > 2 * (SIDE - 1); i++) {
        a->moves++;
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(x + i * row, x + k * row, row * sizeof *x);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One point of the grid has a value, so it is what is looked around: points whose numbers are moved by
 * logistic steps, of a scale that falls from a sixth of the range to below a hundredth of that, half of the
 * points in all numbers and half in about two parameters; and a word jumps once in so many times as there are
 * parameters. Everything asked is in the space, and no move is tried twice. */
static void what_is_tried(void **state)
{
    enum { PICKS = 60, SCALES = 8, MOST = PICKS * BANDIT_MAXIMIZE_TRIALS };
    bandit_space *s;
    bandit_error err = {0};
    bandit_maximizer max = {0};
    (void)state;
    assert_int_equal(bandit_space_new(&s, mixed, MIXED, &err), BANDIT_OK);
    assert_int_equal(s->dimension, MIXED_FEATURES);
    assert_int_equal(bandit_maximizer_start(&max, s, NULL, 8, 1, &err), BANDIT_OK);
    double *grid = dense_alloc(max.n_grid, sizeof *grid), nearest = INFINITY;
    size_t at = 0;
    for (size_t k = 0; k < max.n_grid; k++) {
        double distance = 0.0;
        const double *x = max.features + k * MIXED_FEATURES;
        for (size_t j = 0; j < NUMBERS; j++)
            distance = fmax(distance, fabs(x[j] - 0.5));
        at = distance < nearest ? k : at;
        nearest = fmin(nearest, distance);
        grid[k] = (double)NAN;
    }
    grid[at] = 1.0;
    const double *centre = max.features + at * MIXED_FEATURES;
    double *steps[SCALES];
    size_t n_steps[SCALES] = {0}, few_moved = 0, few = 0, jumps = 0, chances = 0, moves = 0;
    for (size_t k = 0; k < SCALES; k++)
        steps[k] = dense_alloc(MOST, sizeof *steps[k]);
    for (uint64_t pick = 0; pick < PICKS; pick++) {
        asked_for a = {.centre = centre};
        const bandit_objective objective = {&a, plane_values, plane, NULL};
        double coded[MIXED];
        bool found = false;
        assert_int_equal(bandit_maximizer_run(&max, &objective, grid, pick, coded, &found, &err), BANDIT_OK);
        assert_true(found);
        assert_int_equal(a.first_n, 64);
        moves += a.moves;
        for (size_t t = 0; t < a.first_n; t++) {
            const double *x = a.first + t * MIXED_FEATURES;
            for (size_t j = 0; j < 4; j++) {
                if (t % 2 == 1)
                    steps[t % SCALES][n_steps[t % SCALES]++] = fabs(x[j] - centre[j]);
                few_moved += t % 2 == 0 && x[j] != centre[j] ? 1U : 0U;
                few += t % 2 == 0 ? 1U : 0U;
            }
            for (size_t side = 0; side < 2; side++) {
                size_t first = NUMBERS + side * SIDE;
                jumps += memcmp(x + first, centre + first, SIDE * sizeof *x) != 0 ? 1U : 0U;
                chances++;
            }
        }
    }
    /* The median of |logistic| is log 3; 1920 steps of each of the odd scales. */
    for (size_t k = 1; k < SCALES; k += 2) {
        double scale = 0.3 * 0.55 * pow(0.1, (double)k / 3.0);
        assert_int_equal(n_steps[k], PICKS * 8 * 4);
        qsort(steps[k], n_steps[k], sizeof *steps[k], by_size);
        double median = steps[k][n_steps[k] / 2];
        assert_true(fabs(median / (scale * log(3.0)) - 1.0) < 0.12);
    }
    double moved = (double)few_moved / (double)few, jumped = (double)jumps / (double)chances;
    assert_true(fabs(moved - 2.0 / MIXED) < 0.025); /* 7680 chances: 0.005 is one standard deviation */
    assert_true(fabs(jumped - (1.0 - 1.0 / SIDE) / MIXED) < 0.02);
    assert_true(moves > 100);
    for (size_t k = 0; k < SCALES; k++)
        free(steps[k]);
    free(grid);
    bandit_maximizer_clear(&max);
    bandit_space_free(s);
}

/* Six choices of one of seven words. A point is worth the sum of its words' worths, the first choice's being
 * far more than all others. */
enum { CHOICES = 6, WORDS = 7 };

typedef struct choices {
    size_t calls, combined;
} choices;

static double worth_of_word(size_t i, size_t k)
{
    return i == 0 ? (k == 2 ? 1000.0 : 0.0) : (double)((3 * k + 5 * i) % WORDS);
}

static double worth_of_words(void *context, const double *x, double *gradient)
{
    double sum = 0.0;
    (void)context;
    for (size_t j = 0; j < CHOICES * WORDS; j++) {
        sum += x[j] > 0.0 ? worth_of_word(j / WORDS, j % WORDS) : 0.0;
        if (gradient)
            gradient[j] = 0.0;
    }
    return sum;
}

static void worths_of_words(void *context, const double *x, size_t n, double *out)
{
    choices *c = context;
    for (size_t i = 0; i < n; i++)
        out[i] = worth_of_words(NULL, x + i * CHOICES * WORDS, NULL);
    if (c->calls++ == 0 || n > 5) /* perturbations, or changes one by one */
        return;
    for (size_t i = 0; i < n; i++) /* combined: the best change, and four times several */
        assert_true(x[i * CHOICES * WORDS + 2] > 0.0);
    c->combined++;
}

/* Where changes of several words help they are made together: only those that help, so that the first word,
 * once it is the right one, stays; and the best point is found in a few calls. */
static void changes_that_help_are_combined(void **state)
{
    bandit_parameter parameters[CHOICES];
    bandit_space *s;
    bandit_error err = {0};
    bandit_maximizer max = {0};
    double best = 1000.0 + 6.0 * (CHOICES - 1);
    (void)state;
    for (size_t i = 0; i < CHOICES; i++)
        parameters[i] = (bandit_parameter){
            .type = BANDIT_PARAMETER_CATEGORICAL, .n_values = WORDS, .parent = BANDIT_NO_PARENT};
    assert_int_equal(bandit_space_new(&s, parameters, CHOICES, &err), BANDIT_OK);
    assert_int_equal(bandit_maximizer_start(&max, s, NULL, 8, 1, &err), BANDIT_OK);
    double *grid = dense_alloc(max.n_grid, sizeof *grid);
    for (uint64_t pick = 0; pick < 20; pick++) {
        choices c = {0};
        const bandit_objective objective = {&c, worths_of_words, worth_of_words, NULL};
        double coded[CHOICES], features[CHOICES * WORDS];
        bool found = false;
        for (size_t k = 0; k < max.n_grid; k++) /* another part of it has values each time */
            grid[k] =
                k % 20 == pick ? worth_of_words(NULL, max.features + k * CHOICES * WORDS, NULL) : (double)NAN;
        assert_int_equal(bandit_maximizer_run(&max, &objective, grid, pick, coded, &found, &err), BANDIT_OK);
        assert_true(found && c.combined > 0);
        bandit_space_encode(s, coded, features);
        assert_true(worth_of_words(NULL, features, NULL) == best);
    }
    free(grid);
    bandit_maximizer_clear(&max);
    bandit_space_free(s);
}

/* A value at every point that is asked for; how many were. */
static void a_value_each(void *context, const double *x, size_t n, double *out)
{
    size_t *asked = context;
    (void)x;
    *asked += n;
    for (size_t i = 0; i < n; i++)
        out[i] = 1.0;
}

/* Where no point of the grid has a value there is nothing to look around: nothing is asked, nothing found. */
static void a_grid_without_values(void **state)
{
    bandit_space *s;
    bandit_error err = {0};
    bandit_maximizer max = {0};
    double coded[MIXED];
    size_t asked = 0;
    bool found = true;
    const bandit_objective objective = {&asked, a_value_each, plane, NULL};
    (void)state;
    assert_int_equal(bandit_space_new(&s, mixed, MIXED, &err), BANDIT_OK);
    assert_int_equal(bandit_maximizer_start(&max, s, NULL, 8, 1, &err), BANDIT_OK);
    double *grid = dense_alloc(max.n_grid, sizeof *grid);
    for (size_t k = 0; k < max.n_grid; k++)
        grid[k] = (double)NAN;
    assert_int_equal(bandit_maximizer_run(&max, &objective, grid, 0, coded, &found, &err), BANDIT_OK);
    assert_false(found);
    assert_int_equal(asked, 0);
    free(grid);
    bandit_maximizer_clear(&max);
    bandit_space_free(s);
}

/* The nearer the first feature to 0, the better; where the furthest slope was asked for. */
static void downwards_values(void *context, const double *x, size_t n, double *out)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        out[i] = -x[2 * i];
}

static double downwards(void *context, const double *x, double *gradient)
{
    double *furthest = context;
    *furthest = fmax(*furthest, x[0]);
    gradient[0] = -1.0;
    gradient[1] = 0.0;
    return -x[0];
}

/* Of six points the grid has some seventy each, so that the best few would be all that is looked at if they
 * were kept as often as they are there. Starts are apart: 0, 2 and 4 of the 5 steps. */
static void a_point_is_kept_once(void **state)
{
    static const bandit_parameter parameters[] = {
        {.type = BANDIT_PARAMETER_INTEGER, .min = 1, .max = 6, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 0, .max = 1, .parent = BANDIT_NO_PARENT}};
    const double fixed[] = {NAN, 0.5};
    bandit_space *s;
    bandit_error err = {0};
    bandit_maximizer max = {0};
    double coded[2], furthest = -1.0;
    bool found = false;
    const bandit_objective objective = {&furthest, downwards_values, downwards, NULL};
    (void)state;
    assert_int_equal(bandit_space_new(&s, parameters, 2, &err), BANDIT_OK);
    assert_int_equal(bandit_maximizer_start(&max, s, fixed, 8, 1, &err), BANDIT_OK);
    assert_true(max.n_grid > 70 * 6 && !max.exhaustive);
    double *grid = dense_alloc(max.n_grid, sizeof *grid);
    downwards_values(NULL, max.features, max.n_grid, grid);
    assert_int_equal(bandit_maximizer_run(&max, &objective, grid, 0, coded, &found, &err), BANDIT_OK);
    assert_true(found && coded[0] == 1.0 && coded[1] == 0.5);
    assert_true(furthest == 4.0 / 5.0);
    free(grid);
    bandit_maximizer_clear(&max);
    bandit_space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_brute_force),
        cmocka_unit_test(many_words),
        cmocka_unit_test(a_maximum_nearby),
        cmocka_unit_test(refused_points),
        cmocka_unit_test(known_maximum),
        cmocka_unit_test(sweeps_are_even),
        cmocka_unit_test(sweeps_count_in_primes),
        cmocka_unit_test(what_is_tried),
        cmocka_unit_test(changes_that_help_are_combined),
        cmocka_unit_test(a_grid_without_values),
        cmocka_unit_test(a_point_is_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
