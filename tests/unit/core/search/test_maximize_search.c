/* What maximizing over a space asks for: which points are tried, how their changes are combined, where it
 * starts. */
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
        cmocka_unit_test(what_is_tried),
        cmocka_unit_test(changes_that_help_are_combined),
        cmocka_unit_test(a_grid_without_values),
        cmocka_unit_test(a_point_is_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
