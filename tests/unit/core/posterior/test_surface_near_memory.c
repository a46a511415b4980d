/* Every allocation fails once while points go in flight beyond those that always count, and while a grid follows: the
 * call says so, loses nothing, and goes through when it is made again. */
#include "core/posterior/surface.h"
#include "tests/support/dense_gp.h"
#include "tests/support/failing_allocations.h"
#include "tests/support/space_study.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { D = 2, OUT = BANDIT_NEAR_EXACT + 30, PLACES = 50 };

typedef struct values {
    double surface[PLACES], grid[PLACES];
} values;

/* Sets *out with the nth allocation failing, if there are so many (returned); negative: none fails. */
static bool run(const bandit_covariance *covariance, const double *rows, long nth, values *out)
{
    bandit_error err = {0};
    const bandit_posterior prior = {.covariance = covariance, .lambda = 0.01};
    bandit_surface s = {.near = true};
    bandit_grid grid = {0};
    bandit_status status;
    bool failed = false;
    until_failure = nth;
    while ((status = bandit_surface_start(&s, &prior, 1, &err)) == BANDIT_NO_MEMORY && !failed)
        failed = has_failed();
    while ((status = bandit_grid_start(&grid, &s, rows, PLACES, &err)) == BANDIT_NO_MEMORY && !failed)
        failed = has_failed();
    for (size_t i = 0; i < OUT; i++) {
        while ((status = bandit_surface_reserve(&s, 1, &err)) == BANDIT_NO_MEMORY && !failed)
            failed = has_failed();
        assert_int_equal(status, BANDIT_OK);
        bandit_surface_hallucinate(&s, rows + i * D, s.posterior->lambda);
        while ((status = bandit_grid_update(&grid, &s, &err)) == BANDIT_NO_MEMORY && !failed)
            failed = has_failed();
        assert_int_equal(status, BANDIT_OK);
    }
    until_failure = -1;
    bandit_surface_values(&s, rows, PLACES, NULL, out->surface);
    memcpy(out->grid, grid.variance, sizeof out->grid);
    bandit_surface_clear(&s);
    bandit_grid_clear(&grid);
    return failed;
}

static void allocations_fail(void **state)
{
    (void)state;
    bandit_arms *arms = space_study_cube(D);
    double rows[OUT * D], lengthscale = 0.2;
    uint64_t random = 5;
    bandit_error err = {0};
    bandit_covariance covariance;
    bandit_kernel kernel = {
        .type = BANDIT_KERNEL_MATERN, .nu = 2.5, .lengthscales = &lengthscale, .n_lengthscales = 1};
    for (size_t i = 0; i < OUT * D; i++)
        rows[i] = dense_uniform(&random);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, &err), BANDIT_OK);
    long before = live;
    values expected, found;
    run(&covariance, rows, -1, &expected);
    assert_int_equal(live, before);
    long nth = 0;
    while (run(&covariance, rows, nth, &found)) {
        assert_memory_equal(&found, &expected, sizeof found);
        assert_int_equal(live, before);
        nth++;
    }
    assert_true(nth > 15);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations_fail)};
    return cmocka_run_group_tests_name("surface_near_memory", tests, NULL, NULL);
}
