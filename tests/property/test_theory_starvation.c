/* No variance starvation ([BKB] fig. 1): with rewards on one half of an interval only, however many, the
 * posterior stays uncertain on the other half. Sparse approximations that drop k - |z|^2 claim certainty
 * there; the test computes that claim as well, to show that it would be told apart. */
#include "bandit/engine.h"

#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define LENGTHSCALE 0.08
#define LAMBDA      0.01

enum { GRID = 300 };

static double truth(double x)
{
    return sin(9.0 * x) + 0.5 * cos(23.0 * x);
}

static void starvation(void **state)
{
    size_t pulls = *(const size_t *)*state;
    double points[GRID], lengthscale = LENGTHSCALE, exact[GRID];
    uint64_t counts[GRID] = {0}, noise = 3;
    uint32_t all[GRID];
    bandit_prediction sparse[GRID];
    bandit_options options = BANDIT_OPTIONS_INIT;
    bandit_result *results = dense_alloc(pulls + 1, sizeof *results);
    bandit_engine *engine;
    bandit_arms *arms;
    bandit_error err;

    for (size_t i = 0; i < GRID; i++) {
        points[i] = (double)i / (GRID - 1);
        all[i] = (uint32_t)i;
    }
    assert_int_equal(bandit_arms_new(&arms, GRID, 1, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, GRID, points, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, GRID, &err), BANDIT_OK);
    options.kernel =
        (bandit_kernel){.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    options.lambda = LAMBDA;
    options.q_bar = 6.0;
    options.seed = 5;
    assert_int_equal(bandit_engine_new(&engine, arms, &options, 0, &err), BANDIT_OK);

    for (size_t i = 0; i <= pulls; i++) { /* one more, for a dictionary that is resampled */
        uint32_t arm = (uint32_t)(dense_uniform(&noise) * (GRID / 2));
        results[i] = (bandit_result){
            .arm = arm, .repeats = 1, .reward = truth(points[arm]) + 0.1 * dense_normal(&noise)};
        counts[arm]++;
    }
    assert_int_equal(
        bandit_engine_begin_batch(engine, results, pulls, NULL, 0, &bandit_executor_serial, &err), BANDIT_OK);
    assert_int_equal(
        bandit_engine_begin_batch(engine, results + pulls, 1, NULL, 0, &bandit_executor_serial, &err),
        BANDIT_OK);
    assert_int_equal(bandit_engine_predict_arms(engine, all, GRID, sparse, &err), BANDIT_OK);

    double *k = dense_gaussian(points, GRID, 1, LENGTHSCALE), certain = 0.0;
    dense_exact_variance(k, GRID, LAMBDA, counts, exact, NULL);
    bandit_description d;
    bandit_engine_describe(engine, &d);
    size_t rank, outside = 0;
    double *z = dense_embedding(k, GRID, d.dictionary, d.n_dictionary, &rank);
    for (size_t x = 0; x < GRID; x++) {
        double variance = sparse[x].variance;
        assert_true(variance >= LAMBDA * exact[x] / 3.0);
        assert_true(variance <= LAMBDA * exact[x] * 3.0);
        outside += fabs(sparse[x].mean - truth(points[x])) > 3.0 * sqrt(variance);
        if (points[x] > 0.5 + 3.0 * LENGTHSCALE) {
            assert_true(variance > 0.95); /* the prior's is 1 */
            double norm2 = 0.0;
            for (size_t e = 0; e < rank; e++)
                norm2 += z[x * rank + e] * z[x * rank + e];
            certain = fmax(certain, 1.0 - norm2);
        }
    }
    assert_true(certain > 0.95); /* without the residual the variance there would be below 0.05 */
    assert_true(outside <= GRID / 50);
    bandit_engine_free(engine);
    bandit_arms_free(arms);
    free(results);
    free(k);
    free(z);
}

int main(void)
{
    static size_t pulls[] = {6, 63, 215};
    const struct CMUnitTest tests[] = {
        {.name = "after 6 rewards", .test_func = starvation, .initial_state = &pulls[0]},
        {.name = "after 63 rewards", .test_func = starvation, .initial_state = &pulls[1]},
        {.name = "after 215 rewards", .test_func = starvation, .initial_state = &pulls[2]},
    };
    return cmocka_run_group_tests_name("starvation", tests, NULL, NULL);
}
