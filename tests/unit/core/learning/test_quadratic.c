/* A fitted quadratic function: its best point against the known optimum, and its errors against known noise. */
#include "core/learning/quadratic.h"
#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { K = 4, MOST = 600, WITHOUT_PRODUCTS = 1 + 2 * K, COEFFICIENTS = WITHOUT_PRODUCTS + K * (K - 1) / 2 };

typedef struct data {
    size_t n;
    double x[MOST * K], values[MOST];
} data;

typedef double measured(const double *x, const double *optimum);

/* Points drawn uniformly. */
static void draw(data *d, size_t n, uint64_t seed, measured *measure, const double *optimum)
{
    d->n = n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < K; j++)
            d->x[i * K + j] = dense_uniform(&seed);
        d->values[i] = measure(d->x + i * K, optimum);
    }
}

/* An oblique bowl, a thousand times as narrow in one direction as in another. */
static double bowl(const double *x, const double *optimum)
{
    double sum = 0.0;
    for (size_t i = 0; i < K; i++) {
        double along = 0.0;
        for (size_t j = 0; j < K; j++)
            along += cos(3.14159265358979324 * ((double)j + 0.5) * (double)i / K) * (x[j] - optimum[j]);
        sum += pow(1e6, (double)i / (K - 1)) * along * along;
    }
    return 17.0 - sum;
}

/* A bowl without products of coordinates. */
static double upright(const double *x, const double *optimum)
{
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
        sum += pow(100.0, (double)j) * (x[j] - optimum[j]) * (x[j] - optimum[j]);
    return -sum;
}

static double ripples(const double *x, const double *optimum)
{
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
        sum += sin(40.0 * (x[j] - optimum[j]) + (double)j);
    return sum;
}

static double level(const double *x, const double *optimum)
{
    (void)x;
    return optimum[0];
}

static bool step(const data *d, double *out)
{
    bool found;
    bandit_error err;
    assert_int_equal(bandit_quadratic_step(d->x, d->values, d->n, K, NULL, out, &found, &err), BANDIT_OK);
    return found;
}

static double distance(const double *a, const double *b)
{
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sqrt(sum);
}

static const double INSIDE[K] = {0.3, 0.6, 0.45, 0.7};

static void the_optimum_of_an_oblique_bowl_is_found(void **state)
{
    data d;
    double out[K];
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw(&d, COEFFICIENTS + 2, seed, bowl, INSIDE);
        assert_true(step(&d, out));
        assert_true(distance(out, INSIDE) < 1e-5);
    }
}

/* Moves two of the points to two sides of the optimum, so that it is in the box of the better half. */
static void spread_best(data *d)
{
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < K; j++)
            d->x[i * K + j] = INSIDE[j] + (i == 0 ? 0.03 : -0.02) * (double)(j + 1);
        d->values[i] = upright(d->x + i * K, INSIDE);
    }
}

/* Without products, fewer values are enough. */
static void few_values_show_an_upright_bowl(void **state)
{
    data d;
    double out[K];
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw(&d, WITHOUT_PRODUCTS + 2, seed, upright, INSIDE);
        spread_best(&d);
        assert_true(step(&d, out));
        assert_true(distance(out, INSIDE) < 1e-5);
        draw(&d, WITHOUT_PRODUCTS + 1, seed, upright, INSIDE);
        assert_false(step(&d, out));
    }
}

/* Only the best 512 values are used: the others may be anything. */
static void bad_values_do_not_count(void **state)
{
    data d;
    double out[K];
    (void)state;
    draw(&d, MOST, 1, bowl, INSIDE);
    for (size_t i = 0; i < 80; i++)
        d.values[i] = -1e9 * (double)(i + 1);
    assert_true(step(&d, out));
    assert_true(distance(out, INSIDE) < 1e-5);
}

/* With errors of up to a tenth of the loss, most steps are better than the best of 60 values. */
static void errors_of_bad_values_are_forgiven(void **state)
{
    data d;
    double out[K];
    size_t better = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw(&d, 4 * COEFFICIENTS, seed, bowl, INSIDE);
        double best = -INFINITY;
        for (size_t i = 0; i < d.n; i++) {
            d.values[i] = 17.0 - (17.0 - d.values[i]) * (1.0 + 0.1 * sin(31.0 * d.x[i * K] * (double)i));
            best = fmax(best, d.values[i]);
        }
        assert_true(step(&d, out));
        better += bowl(out, INSIDE) > best;
    }
    assert_true(better >= 7);
}

static void an_optimum_outside_leads_to_the_border(void **state)
{
    const double outside[K] = {-0.5, 0.6, 0.45, 1.4};
    data d;
    double out[K];
    (void)state;
    draw(&d, 2 * COEFFICIENTS, 1, upright, outside);
    assert_true(step(&d, out));
    assert_true(out[0] == 0.0 && out[3] == 1.0);
    assert_true(fabs(out[1] - outside[1]) < 1e-6 && fabs(out[2] - outside[2]) < 1e-6);
}

/* The box is that of the better half, a fifth larger on each side. */
static void the_step_stays_near_the_better_half(void **state)
{
    const double outside[K] = {-0.5, 0.6, 0.45, 1.4};
    data d;
    double out[K];
    (void)state;
    draw(&d, 2 * COEFFICIENTS, 1, upright, outside);
    for (size_t i = 0; i < d.n * K; i++)
        d.x[i] = 0.5 + 0.1 * (d.x[i] - 0.5);
    for (size_t i = 0; i < d.n; i++)
        d.values[i] = upright(d.x + i * K, outside);
    assert_true(step(&d, out));
    for (size_t j = 0; j < K; j++)
        assert_true(fabs(out[j] - 0.5) <= 0.05 + 0.2 * 0.1);
    assert_true(fabs(out[3] - 0.5) > 0.05);
}

static void other_functions_have_no_step(void **state)
{
    data d;
    double out[K];
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw(&d, 3 * COEFFICIENTS, seed, ripples, INSIDE);
        assert_false(step(&d, out));
        draw(&d, 3 * COEFFICIENTS, seed, level, INSIDE);
        assert_false(step(&d, out));
        draw(&d, 3 * COEFFICIENTS, seed, bowl, INSIDE);
        for (size_t i = 0; i < d.n; i++)
            d.x[i * K + 1] = 0.25; /* one coordinate does not vary */
        assert_false(step(&d, out));
    }
    draw(&d, 0, 1, bowl, INSIDE);
    assert_false(step(&d, out));
}

/* The best value is the optimum already. */
static void a_reached_optimum_has_no_step(void **state)
{
    data d;
    double out[K];
    (void)state;
    draw(&d, 2 * COEFFICIENTS, 1, upright, INSIDE);
    memcpy(d.x, INSIDE, sizeof INSIDE);
    d.values[0] = upright(d.x, INSIDE);
    assert_false(step(&d, out));
}

/* ---- grids ------------------------------------------------------------------------------------------------ */

/* The first two coordinates have the values 0, 1/LEVELS, …, 1. */
enum { LEVELS = 8 };

static void round_first_two(const void *context, size_t j, double value, double *nearest, double *other)
{
    (void)context;
    *nearest = *other = value;
    if (j > 1)
        return;
    *nearest = round(LEVELS * value) / LEVELS;
    *other = fmin(fmax(*nearest + (*nearest < value ? 1.0 : -1.0) / LEVELS, 0.0), 1.0);
}

static const bandit_quadratic_grid grid = {round_first_two, NULL};

static bool is_level(double value)
{
    return value == round(LEVELS * value) / LEVELS;
}

static double sphere(const double *x, const double *optimum)
{
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
        sum += (x[j] - optimum[j]) * (x[j] - optimum[j]);
    return -sum;
}

static void draw_levels(data *d, size_t n, uint64_t seed, measured *measure)
{
    draw(d, n, seed, measure, INSIDE);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < 2; j++)
            d->x[i * K + j] = round(LEVELS * d->x[i * K + j]) / LEVELS;
        d->values[i] = measure(d->x + i * K, INSIDE);
    }
}

/* To round the best point leads out of the valley; the other coordinates must move along. */
static void steps_stay_on_the_grid(void **state)
{
    data d;
    double out[K], rounded[K];
    bandit_error err;
    bool found;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw_levels(&d, 2 * COEFFICIENTS, seed, bowl);
        assert_true(step(&d, rounded));
        for (size_t j = 0; j < 2; j++)
            rounded[j] = round(LEVELS * rounded[j]) / LEVELS;
        assert_int_equal(bandit_quadratic_step(d.x, d.values, d.n, K, &grid, out, &found, &err), BANDIT_OK);
        assert_true(found);
        assert_true(is_level(out[0]) && is_level(out[1]));
        assert_true(17.0 - bowl(out, INSIDE) < 0.1 * (17.0 - bowl(rounded, INSIDE)));
    }
}

/* The best point of the grid is known already, although there are better ones between its values. */
static void the_best_of_the_grid_has_no_step(void **state)
{
    data d;
    double out[K];
    bandit_error err;
    bool found;
    (void)state;
    draw_levels(&d, 2 * COEFFICIENTS, 1, sphere);
    assert_int_equal(bandit_quadratic_step(d.x, d.values, d.n, K, &grid, out, &found, &err), BANDIT_OK);
    assert_true(found);
    memcpy(d.x, out, sizeof out);
    d.values[0] = sphere(out, INSIDE);
    assert_true(step(&d, out));
    assert_int_equal(bandit_quadratic_step(d.x, d.values, d.n, K, &grid, out, &found, &err), BANDIT_OK);
    assert_false(found);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static double error_of(const data *d)
{
    double error;
    bandit_error err;
    assert_int_equal(bandit_quadratic_error(d->x, d->values, d->n, K, &error, &err), BANDIT_OK);
    return error;
}

static void the_error_is_the_noise_of_good_values(void **state)
{
    static const double noises[] = {0.0, 1e-3, 0.1, 10.0};
    data d;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        uint64_t random = 3;
        draw(&d, 4 * COEFFICIENTS, 1, upright, INSIDE);
        for (size_t j = 0; j < d.n; j++)
            d.values[j] += noises[i] * dense_normal(&random);
        double error = error_of(&d);
        assert_true(error >= 0.6 * noises[i] && error <= 2.0 * noises[i] + 1e-6);
    }
}

/* Where the best values are equal, or too few to tell, those further back decide. */
static void equal_values_have_an_error(void **state)
{
    data d;
    double out[K];
    (void)state;
    draw(&d, 8 * COEFFICIENTS, 1, upright, INSIDE);
    double high = -INFINITY;
    for (size_t i = 0; i < d.n; i++)
        high = fmax(high, d.values[i]);
    for (size_t i = 0; i < d.n; i++)
        d.values[i] = fmin(d.values[i], high - 1e4);
    assert_false(step(&d, out));
    double error = error_of(&d);
    assert_true(error > 0.0 && error < 1e5);
}

static void other_functions_have_no_error(void **state)
{
    data d;
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        draw(&d, 3 * COEFFICIENTS, seed, ripples, INSIDE);
        assert_true(error_of(&d) == INFINITY);
        draw(&d, 3 * COEFFICIENTS, seed, level, INSIDE);
        assert_true(error_of(&d) == INFINITY);
    }
    draw(&d, 0, 1, bowl, INSIDE);
    assert_true(error_of(&d) == INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_optimum_of_an_oblique_bowl_is_found),
        cmocka_unit_test(few_values_show_an_upright_bowl),
        cmocka_unit_test(bad_values_do_not_count),
        cmocka_unit_test(errors_of_bad_values_are_forgiven),
        cmocka_unit_test(an_optimum_outside_leads_to_the_border),
        cmocka_unit_test(the_step_stays_near_the_better_half),
        cmocka_unit_test(other_functions_have_no_step),
        cmocka_unit_test(a_reached_optimum_has_no_step),
        cmocka_unit_test(steps_stay_on_the_grid),
        cmocka_unit_test(the_best_of_the_grid_has_no_step),
        cmocka_unit_test(the_error_is_the_noise_of_good_values),
        cmocka_unit_test(equal_values_have_an_error),
        cmocka_unit_test(other_functions_have_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
