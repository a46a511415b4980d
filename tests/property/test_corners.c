/* log_ei in an open space of six numbers: the prior of where the best point lies keeps picks from the corners, with noise also the
 * wide ones, and a best point in a corner is still found. */
#include "bandit/engine.h"
#include "bandit/front.h"
#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/several_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 6, FIRST = 10, TRIALS = 40 };

/* ---- what is measured ---------------------------------------------------------------------------------- */

/* The front is a quarter of a circle; it is met where the other coordinates are 0.4. */
static void circle(const double *x, double *y)
{
    double far = 1.0;
    for (size_t i = 1; i < D; i++)
        far += (x[i] - 0.4) * (x[i] - 0.4);
    y[0] = -far * cos(1.5707963267948966 * x[0]);
    y[1] = -far * sin(1.5707963267948966 * x[0]);
    y[2] = 0.0;
}

/* Rosenbrock's valley in [-4, 4]^6. The best value is 0. */
static void valley(const double *x, double *y)
{
    y[0] = y[1] = y[2] = 0.0;
    for (size_t i = 0; i + 1 < D; i++) {
        double a = 8.0 * x[i] - 4.0, b = 8.0 * x[i + 1] - 4.0;
        y[0] -= 100.0 * (b - a * a) * (b - a * a) + (1.0 - a) * (1.0 - a);
    }
}

/* The best value, 0, is in a corner. */
static void slope(const double *x, double *y)
{
    y[0] = y[1] = y[2] = 0.0;
    for (size_t i = 0; i < D; i++)
        y[0] -= (double)(i + 1) * (i % 2 == 0 ? x[i] : 1.0 - x[i]);
}

/* A bowl with noise, whose deviation is a fifth of the range of its means. */
static void noisy_bowl(const double *x, double *y)
{
    uint64_t random = 0;
    memcpy(&random, x, sizeof random);
    y[0] = y[1] = y[2] = 0.0;
    for (size_t i = 0; i < D; i++)
        y[0] -= (x[i] - 0.6) * (x[i] - 0.6);
    y[0] += 0.4 * dense_normal(&random);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static void run(several *s, size_t revision, size_t objectives, several_measured *measure, size_t batch,
                size_t trials)
{
    const bandit_metric metrics[] = {several_objective(-1.1), several_objective(-1.1)};
    several_open_cube(s, D, 5, metrics, 2, measure);
    several_revise(s, revision, objectives == 1);
    several_run(s, trials, batch);
}

/* The share of the coordinates that are at a border, of trial `first` and every `step` further. */
static double share_at_border(const several *s, size_t first, size_t step)
{
    size_t at_border = 0, coordinates = 0;
    for (size_t i = first; i < s->n; i += step) {
        double x[SEVERAL_SIDES];
        bandit_arms_coded(s->arms, s->picks[i].arm, x);
        for (size_t j = 0; j < D; j++, coordinates++)
            at_border += x[j] <= 0.0 || x[j] >= 1.0;
    }
    return (double)at_border / (double)coordinates;
}

static double volume_of(const several *s)
{
    double points[2 * SEVERAL_MOST], volume;
    const double reference[2] = {-1.1, -1.1};
    for (size_t i = 0; i < s->n; i++)
        memcpy(points + 2 * i, s->values[i], 2 * sizeof *points);
    must(bandit_hypervolume(&volume, points, s->n, 2, reference, NULL), NULL);
    return volume;
}

static double best_of(const several *s)
{
    double best = -INFINITY;
    for (size_t i = 0; i < s->n; i++)
        best = fmax(best, s->values[i][0]);
    return best;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* The largest volume is 1.21 − pi / 4. */
static void two_objectives_are_not_sought_in_corners(void **state)
{
    several before, now;
    (void)state;
    run(&before, 5, 2, circle, FIRST, TRIALS);
    run(&now, 6, 2, circle, FIRST, TRIALS);
    assert_true(share_at_border(&now, FIRST, 1) < 0.5 * share_at_border(&before, FIRST, 1));
    assert_true(volume_of(&now) > 1.25 * volume_of(&before));
    several_close(&before);
    several_close(&now);
}

static double log_prior_of(const double *x)
{
    double sum = 0.0;
    for (size_t j = 0; j < D; j++)
        sum -= (2.0 * x[j] - 1.0) * (2.0 * x[j] - 1.0);
    return sum;
}

/* With the same results, the pick after the design is the same with and without the prior, and the next one is not. */
static void every_second_pick_heeds_the_prior(void **state)
{
    several before, now;
    (void)state;
    run(&before, 5, 1, valley, FIRST, FIRST + 2);
    run(&now, 6, 1, valley, FIRST, FIRST + 2);
    for (size_t i = 0; i < FIRST + 2; i++) {
        double x[SEVERAL_SIDES], y[SEVERAL_SIDES];
        bandit_arms_coded(before.arms, before.picks[i].arm, x);
        bandit_arms_coded(now.arms, now.picks[i].arm, y);
        if (i <= FIRST)
            assert_memory_equal(x, y, D * sizeof *x);
        else
            assert_true(log_prior_of(y) > log_prior_of(x));
    }
    several_close(&before);
    several_close(&now);
}

static void a_best_corner_is_found(void **state)
{
    several s;
    (void)state;
    run(&s, 6, 1, slope, 1, TRIALS);
    assert_true(best_of(&s) > -1e-9);
    several_close(&s);
}

/* As long as nothing better is found, every eighth pick is a wide one of this kind. */
static void with_noise_wide_picks_are_not_at_borders(void **state)
{
    double shares[2];
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        several s;
        run(&s, 7 + k, 1, noisy_bowl, 1, 2 * TRIALS);
        shares[k] = share_at_border(&s, FIRST + 5, 8);
        several_close(&s);
    }
    print_message("coordinates at a border: %.2f by the bound, %.2f by an improvement\n", shares[0],
                  shares[1]);
    assert_true(shares[0] > 0.1);
    assert_true(shares[1] < 0.25 * shares[0]);
}

/* The reason of a wide pick is an improvement with a wider deviation. */
static void the_reason_has_the_width(void **state)
{
    several s;
    bandit_pick pick;
    (void)state;
    run(&s, 8, 1, noisy_bowl, 1, FIRST + 5 + TRIALS);
    bandit_reason reason = several_explain_next(&s, &pick);
    assert_int_equal(reason.rule, BANDIT_REASON_IMPROVEMENT);
    assert_true(reason.width > 1.0 && reason.width <= 3.0);
    double gain = reason.promise + reason.ignorance;
    assert_true(fabs(log(gain) - reason.score - reason.penalty) < 1e-9);
    several_close(&s);
}

/* Where the model sees no noise, wide picks are those of the bound. */
static void without_noise_picks_stay(void **state)
{
    several before, now;
    (void)state;
    run(&before, 7, 1, slope, 1, TRIALS);
    run(&now, 8, 1, slope, 1, TRIALS);
    for (size_t i = 0; i < TRIALS; i++)
        assert_memory_equal(before.values[i], now.values[i], sizeof before.values[i]);
    several_close(&before);
    several_close(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_objectives_are_not_sought_in_corners),
        cmocka_unit_test(every_second_pick_heeds_the_prior),
        cmocka_unit_test(a_best_corner_is_found),
        cmocka_unit_test(with_noise_wide_picks_are_not_at_borders),
        cmocka_unit_test(the_reason_has_the_width),
        cmocka_unit_test(without_noise_picks_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
