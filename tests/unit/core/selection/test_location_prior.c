/* The prior of where the best point lies: which numbers count, its values, and gradients against differences. */
#include "core/selection/location_prior.h"

#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { N = 5 };

/* A continuous number, one on a logarithmic scale, 101 whole numbers, 100 whole numbers, and a switch. */
static bandit_space *make_space(void)
{
    const bandit_parameter parameters[N] = {
        {.type = BANDIT_PARAMETER_DOUBLE, .min = -5.0, .max = 5.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_DOUBLE, .min = 1e-4, .max = 1.0, .log = true, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 0.0, .max = 100.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_INTEGER, .min = 1.0, .max = 100.0, .parent = BANDIT_NO_PARENT},
        {.type = BANDIT_PARAMETER_BOOLEAN, .parent = BANDIT_NO_PARENT},
    };
    bandit_space *space;
    bandit_error err = {0};
    must(bandit_space_new(&space, parameters, N, &err), &err);
    return space;
}

static void set_prior(bandit_location_prior *prior, const bandit_space *space, const double *leader)
{
    double features[N];
    bandit_error err = {0};
    bandit_space_encode(space, leader, features);
    must(bandit_location_prior_set(prior, space, features, &err), &err);
}

static double log_at(const bandit_location_prior *prior, const bandit_space *space, const double *coded)
{
    double features[N];
    bandit_space_encode(space, coded, features);
    return bandit_location_prior_log(prior, features, NULL);
}

static void numbers_of_many_values_count(void **state)
{
    const double leader[N] = {0.0, 0.01, 50.0, 1.0, 1.0}, middle[N] = {0.0, 0.01, 50.0, 1.0, 0.0},
                 corner[N] = {5.0, 1e-4, 0.0, 1.0, 0.0}, quarter[N] = {2.5, 0.01, 50.0, 100.0, 1.0};
    bandit_space *space = make_space();
    bandit_location_prior prior = {0};
    (void)state;
    assert_true(log_at(&prior, space, corner) == 0.0); /* none is set */
    set_prior(&prior, space, leader);
    assert_int_equal(prior.n, 3);
    assert_true(fabs(log_at(&prior, space, middle)) < 1e-15);
    assert_true(fabs(log_at(&prior, space, corner) + 3.0) < 1e-15);
    assert_true(fabs(log_at(&prior, space, quarter) + 0.25) < 1e-15);
    bandit_location_prior_clear(&prior);
    bandit_space_free(space);
}

static void the_search_is_free_where_the_leader_is_at_a_border(void **state)
{
    const double leader[N] = {-5.0, 0.01, 99.8, 1.0, 1.0}, inside[N] = {-4.9, 0.01, 99.0, 1.0, 1.0},
                 corner[N] = {5.0, 1.0, 0.0, 1.0, 0.0};
    bandit_space *space = make_space();
    bandit_location_prior prior = {0};
    (void)state;
    set_prior(&prior, space, leader);
    assert_int_equal(prior.n, 1);
    assert_true(fabs(log_at(&prior, space, corner) + 1.0) < 1e-15);
    set_prior(&prior, space, inside);
    assert_int_equal(prior.n, 3);
    bandit_location_prior_clear(&prior);
    assert_int_equal(bandit_location_prior_memory(&prior), 0);
    bandit_space_free(space);
}

static void the_gradient_is_added(void **state)
{
    const double leader[N] = {0.0, 0.01, 50.0, 1.0, 1.0}, step = 1e-6;
    double x[N] = {0.1, 0.8, 0.55, 0.9, 1.0}, gradient[N] = {1.0, 1.0, 1.0, 1.0, 1.0};
    bandit_space *space = make_space();
    bandit_location_prior prior = {0};
    (void)state;
    set_prior(&prior, space, leader);
    double value = bandit_location_prior_log(&prior, x, gradient);
    assert_true(value == bandit_location_prior_log(&prior, x, NULL));
    for (size_t i = 0; i < N; i++) {
        double at = x[i];
        x[i] = at + step;
        double above = bandit_location_prior_log(&prior, x, NULL);
        x[i] = at - step;
        double below = bandit_location_prior_log(&prior, x, NULL);
        x[i] = at;
        assert_true(fabs(gradient[i] - 1.0 - (above - below) / (2.0 * step)) < 1e-8);
    }
    bandit_location_prior_clear(&prior);
    bandit_space_free(space);
}

/* A corner of 40 numbers is as far as one of 20. */
static void many_numbers_weigh_as_much_as_twenty(void **state)
{
    enum { MANY = 40 };
    bandit_parameter parameters[MANY];
    double middle[MANY], corner[MANY], gradient[MANY] = {0};
    bandit_space *space;
    bandit_location_prior prior = {0};
    bandit_error err = {0};
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        parameters[i] =
            (bandit_parameter){.type = BANDIT_PARAMETER_DOUBLE, .max = 1.0, .parent = BANDIT_NO_PARENT};
        middle[i] = 0.5;
        corner[i] = 1.0;
    }
    must(bandit_space_new(&space, parameters, MANY, &err), &err);
    must(bandit_location_prior_set(&prior, space, middle, &err), &err);
    assert_true(bandit_location_prior_log(&prior, corner, gradient) == -20.0);
    assert_true(gradient[0] == -2.0);
    bandit_location_prior_clear(&prior);
    bandit_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_many_values_count),
        cmocka_unit_test(the_search_is_free_where_the_leader_is_at_a_border),
        cmocka_unit_test(the_gradient_is_added),
        cmocka_unit_test(many_numbers_weigh_as_much_as_twenty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
