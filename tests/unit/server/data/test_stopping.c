/* Estimates of stopped trials, against the textbook's formulas. The rules themselves are tested over HTTP. */
#include "server/data/stopping.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 12 };

typedef struct trials {
    stopping_curve curves[MOST];
    stopping_complete list[MOST];
} trials;

/* n complete trials with the values x[i] at step 2 and y[i] at the end. */
static void make_trials(trials *t, const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        t->curves[i] = (stopping_curve){0};
        assert_true(stopping_curve_set(&t->curves[i], 1, -100.0));
        assert_true(stopping_curve_set(&t->curves[i], 2, x[i]));
        assert_true(stopping_curve_set(&t->curves[i], 4, y[i]));
        t->list[i] = (stopping_complete){.curve = &t->curves[i], .value = y[i]};
    }
}

static void clear_trials(trials *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        stopping_curve_clear(&t->curves[i]);
}

/* The estimate for a trial that was stopped after step 3 with the value `last`. */
static bool estimate(trials *t, size_t n, double last, double *value, double *error)
{
    stopping_curve stopped = {0};
    assert_true(stopping_curve_set(&stopped, 3, last));
    bool made = stopping_estimate(value, error, &stopped, t->list, n);
    stopping_curve_clear(&stopped);
    return made;
}

static const double at_two[] = {0.1, 0.2, 0.15, 0.4, 0.35, 0.5, 0.45, 0.3, 0.25, 0.6};
static const double at_end[] = {0.3, 0.5, 0.35, 0.9, 0.8, 1.0, 1.05, 0.7, 0.55, 1.3};

static void few_trials_shift(void **state)
{
    (void)state;
    trials t;
    double value, error, mean = (0.2 + 0.3 + 0.2) / 3.0;
    make_trials(&t, at_two, at_end, 3);
    assert_false(estimate(&t, 2, 0.05, &value, &error));
    assert_true(estimate(&t, 3, 0.05, &value, &error));
    double squares = (0.2 - mean) * (0.2 - mean) + (0.3 - mean) * (0.3 - mean) + (0.2 - mean) * (0.2 - mean);
    assert_true(fabs(value - (0.05 + mean)) < 1e-12);
    assert_true(fabs(error - sqrt(squares / 2.0 * (1.0 + 1.0 / 3.0))) < 1e-12);
    clear_trials(&t, 3);
}

static void many_trials_regress(void **state)
{
    (void)state;
    enum { N = 10 };
    trials t;
    double value, error, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, squares = 0.0, last = 0.05;
    make_trials(&t, at_two, at_end, N);
    for (size_t i = 0; i < N; i++) {
        x += at_two[i] / N;
        y += at_end[i] / N;
    }
    for (size_t i = 0; i < N; i++) {
        xx += (at_two[i] - x) * (at_two[i] - x);
        xy += (at_two[i] - x) * (at_end[i] - y);
    }
    double slope = (N * xy / xx + 1.0) / (N + 1.0);
    for (size_t i = 0; i < N; i++) {
        double residual = at_end[i] - y - slope * (at_two[i] - x);
        squares += residual * residual;
    }
    assert_true(estimate(&t, N, last, &value, &error));
    assert_true(fabs(value - (y + slope * (last - x))) < 1e-12);
    double spread = 1.0 + 1.0 / N + (last - x) * (last - x) / xx;
    assert_true(fabs(error - sqrt(squares / (N - 2) * spread)) < 1e-12);
    clear_trials(&t, N);
}

/* Values at the step that say little of the results: the differences count, however many trials there are. */
static void without_a_correlation_they_shift(void **state)
{
    (void)state;
    enum { N = 10 };
    static const double unrelated[] = {0.5, 0.9, 0.55, 0.5, 0.8, 0.6, 0.9, 0.7, 0.55, 0.5};
    trials t;
    double value, error, mean = 0.0;
    make_trials(&t, at_two, unrelated, N);
    for (size_t i = 0; i < N; i++)
        mean += (unrelated[i] - at_two[i]) / N;
    assert_true(estimate(&t, N, 0.05, &value, &error));
    assert_true(fabs(value - (0.05 + mean)) < 1e-12);
    clear_trials(&t, N);
}

static void the_error_has_a_floor(void **state)
{
    (void)state;
    static const double twice[] = {0.2, 0.4, 0.3}, equal[] = {0.2, 0.2, 0.2};
    trials t;
    double value, error, x[] = {0.1, 0.3, 0.2}; /* each result is 0.1 higher */
    make_trials(&t, x, twice, 3);
    assert_true(estimate(&t, 3, 0.0, &value, &error));
    assert_true(fabs(value - 0.1) < 1e-12 && fabs(error - 0.01 * 0.1) < 1e-12);
    clear_trials(&t, 3);
    make_trials(&t, equal, equal, 3); /* nothing says how exact an estimate is */
    assert_false(estimate(&t, 3, 0.2, &value, &error));
    clear_trials(&t, 3);
}

/* A complete trial whose first measurement came later says nothing. */
static void later_curves_do_not_count(void **state)
{
    (void)state;
    trials t;
    double value, error;
    stopping_curve early = {0};
    make_trials(&t, at_two, at_end, 3);
    assert_true(stopping_curve_set(&early, 0, 0.05));
    assert_false(stopping_estimate(&value, &error, &early, t.list, 3));
    stopping_curve_clear(&early);
    assert_false(stopping_estimate(&value, &error, &early, t.list, 3)); /* without a measurement */
    clear_trials(&t, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_trials_shift),
        cmocka_unit_test(many_trials_regress),
        cmocka_unit_test(without_a_correlation_they_shift),
        cmocka_unit_test(the_error_has_a_floor),
        cmocka_unit_test(later_curves_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
