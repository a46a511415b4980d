/* Points of an open space whose values a quadratic function predicts: what is expected there are the values. */
#include "bandit/insight.h"
#include "bandit/space.h"
#include "core/learning/quadratic.h"
#include "tests/support/dense_gp.h"
#include "tests/support/learner.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 3, POINTS = 40 };

/* A narrow valley, oblique to the parameters. Its best value is 0. */
static double valley(const double *x)
{
    double a = x[0] - 0.3, b = x[1] - 0.6, c = x[2] - 0.45;
    return -(a + b + c) * (a + b + c) - 1e3 * (a - b) * (a - b) - 1e6 * (a + b - 2.0 * c) * (a + b - 2.0 * c);
}

/* No quadratic function is like them. */
static double waves(const double *x)
{
    return sin(40.0 * x[0]) + sin(50.0 * x[1]) + sin(60.0 * x[2]);
}

typedef struct study {
    bandit_arms *arms;
    bandit_engine *engine;
    double x[POINTS * D], values[POINTS];
    bandit_prediction function[POINTS], expected[POINTS];
} study;

/* Results of random points with normal noise of deviation `noise`; those from `others` on have another word. */
static void measure(study *s, double (*truth)(const double *), double noise, uint32_t others)
{
    bandit_parameter parameters[D + 1];
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_error err;
    bandit_result results[POINTS];
    double rows[POINTS * (D + 1)];
    uint64_t random = 5;
    for (size_t j = 0; j < D; j++)
        parameters[j] = (bandit_parameter){
            .type = BANDIT_PARAMETER_DOUBLE, .min = 0.0, .max = 1.0, .parent = BANDIT_NO_PARENT};
    parameters[D] =
        (bandit_parameter){.type = BANDIT_PARAMETER_CATEGORICAL, .n_values = 2, .parent = BANDIT_NO_PARENT};
    for (uint32_t i = 0; i < POINTS; i++) {
        for (size_t j = 0; j < D; j++)
            s->x[i * D + j] = rows[i * (D + 1) + j] = dense_uniform(&random);
        rows[i * (D + 1) + D] = i >= others;
        s->values[i] = truth(s->x + i * D) + noise * dense_normal(&random);
        results[i] = (bandit_result){.arm = i, .repeats = 1, .reward = s->values[i]};
    }
    learner_options(&o, BANDIT_LOG_EI);
    must(bandit_arms_new_space(&s->arms, parameters, D + 1, &err), &err);
    must(bandit_arms_append(s->arms, rows, POINTS, &err), &err);
    must(bandit_engine_new(&s->engine, s->arms, &o, 0, &err), &err);
    learner_begin(s->engine, results, POINTS);
    uint32_t arms[POINTS];
    for (uint32_t i = 0; i < POINTS; i++)
        arms[i] = i;
    must(bandit_engine_predict_arms(s->engine, arms, POINTS, s->function, &err), &err);
    must(bandit_insight_pulled(s->engine, arms, POINTS, s->expected, &err), &err);
}

static void clear(study *s)
{
    bandit_engine_free(s->engine);
    bandit_arms_free(s->arms);
}

static bool is_value(const study *s, size_t i)
{
    return s->expected[i].mean == s->values[i] && s->expected[i].ucb == s->values[i];
}

static double error_of(const study *s, size_t n)
{
    double error;
    bandit_error err;
    must(bandit_quadratic_error(s->x, s->values, n, D, &error, &err), &err);
    return error;
}

/* The model takes the valley for noise. */
static void values_in_a_valley_are_believed(void **state)
{
    study s;
    (void)state;
    measure(&s, valley, 0.0, POINTS);
    double variance = error_of(&s, POINTS) * error_of(&s, POINTS);
    for (size_t i = 0; i < POINTS; i++) {
        assert_true(is_value(&s, i));
        assert_true(s.expected[i].variance == variance && variance < s.function[i].variance);
    }
    clear(&s);
}

/* With noise, predictions from many values have smaller deviations than a value. They stay; only those with larger ones do not. */
static void better_predictions_stay(void **state)
{
    study s;
    size_t stay = 0;
    (void)state;
    measure(&s, valley, 1e5, POINTS);
    double variance = error_of(&s, POINTS) * error_of(&s, POINTS);
    for (size_t i = 0; i < POINTS; i++) {
        assert_true(s.expected[i].variance <= variance);
        assert_int_equal(is_value(&s, i), s.expected[i].variance == variance);
        stay += !is_value(&s, i);
    }
    assert_true(stay >= POINTS / 2);
    clear(&s);
}

static void other_functions_keep_their_predictions(void **state)
{
    study s;
    (void)state;
    measure(&s, waves, 0.0, POINTS);
    assert_true(error_of(&s, POINTS) == INFINITY);
    for (size_t i = 0; i < POINTS; i++)
        assert_false(is_value(&s, i));
    clear(&s);
}

/* Only results with the best one's word belong to the function. */
static void other_words_keep_their_predictions(void **state)
{
    enum { OTHERS = POINTS - 8 };
    study s;
    (void)state;
    measure(&s, valley, 0.0, OTHERS);
    double variance = error_of(&s, OTHERS) * error_of(&s, OTHERS);
    for (size_t i = 0; i < POINTS; i++) {
        assert_int_equal(is_value(&s, i), i < OTHERS);
        assert_true((s.expected[i].variance == variance) == (i < OTHERS));
    }
    clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_a_valley_are_believed),
        cmocka_unit_test(better_predictions_stay),
        cmocka_unit_test(other_functions_keep_their_predictions),
        cmocka_unit_test(other_words_keep_their_predictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
