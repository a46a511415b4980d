/* Points in flight of which only the nearest count: against a surface for which all count, and against itself. */
#include "core/posterior/surface.h"

#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { N = 420, D = 3, PULLED = 20, PLACES = 60 };

typedef struct fixture {
    uint64_t random;
    double rows[N * D];
    double lengthscale;
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_posterior posterior;
    bandit_surface all, near;
} fixture;

static void set_up(fixture *f, bandit_kernel_type type, double nu, double lambda, uint64_t seed)
{
    bandit_error err = {0};
    uint32_t dictionary[PULLED];
    bandit_arm_sum sums[PULLED];
    *f = (fixture){.random = seed, .lengthscale = 0.4};
    for (size_t i = 0; i < N * D; i++)
        f->rows[i] = dense_uniform(&f->random);
    assert_int_equal(bandit_arms_new(&f->arms, N, D, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(f->arms, 0, N, f->rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(f->arms, BANDIT_SCALING_NONE, N, &err), BANDIT_OK);
    bandit_kernel kernel = {.type = type, .nu = nu, .lengthscales = &f->lengthscale, .n_lengthscales = 1};
    assert_int_equal(bandit_covariance_init(&f->covariance, &kernel, f->arms, &err), BANDIT_OK);
    for (uint32_t i = 0; i < PULLED; i++) {
        sums[i] = (bandit_arm_sum){.arm = i, .count = 1, .sum = dense_normal(&f->random)};
        dictionary[i] = i;
    }
    assert_int_equal(
        bandit_posterior_build(&f->posterior, &f->covariance, lambda, dictionary, PULLED, sums, PULLED, &err),
        BANDIT_OK);
    f->near.near = true;
    assert_int_equal(bandit_surface_start(&f->all, &f->posterior, 2, &err), BANDIT_OK);
    assert_int_equal(bandit_surface_start(&f->near, &f->posterior, 2, &err), BANDIT_OK);
}

static void tear_down(fixture *f)
{
    bandit_surface_clear(&f->all);
    bandit_surface_clear(&f->near);
    bandit_posterior_clear(&f->posterior);
    bandit_covariance_clear(&f->covariance);
    bandit_arms_free(f->arms);
}

static void hallucinate(bandit_surface *s, const fixture *f, size_t from, size_t to)
{
    bandit_error err = {0};
    for (size_t i = from; i < to; i++) {
        assert_int_equal(bandit_surface_reserve(s, 1, &err), BANDIT_OK);
        bandit_surface_hallucinate(s, f->rows + i * D, s->posterior->lambda);
    }
}

static const struct {
    bandit_kernel_type type;
    double nu, lambda;
} cases[] = {{BANDIT_KERNEL_GAUSSIAN, 0, 0.01},
             {BANDIT_KERNEL_MATERN, 2.5, 1e-4},
             {BANDIT_KERNEL_MATERN, 0.5, 0.1},
             {BANDIT_KERNEL_LINEAR, 0, 0.1}};
enum { CASES = sizeof cases / sizeof *cases };

/* With as many beyond the first hundred as count, it is the posterior given all of them. */
static void a_few_are_all(void **state)
{
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        fixture f;
        double near[N], all[N], mean[N];
        set_up(&f, cases[k].type, cases[k].nu, cases[k].lambda, 1 + k);
        size_t out = PULLED + BANDIT_NEAR_EXACT + BANDIT_NEAR_POINTS;
        hallucinate(&f.all, &f, PULLED, out);
        hallucinate(&f.near, &f, PULLED, out);
        bandit_surface_values(&f.all, f.rows, N, NULL, all);
        bandit_surface_values(&f.near, f.rows, N, mean, near);
        for (size_t i = 0; i < N; i++) {
            assert_true(fabs(near[i] - all[i]) < 1e-8);
            bandit_surface_look(&f.near, f.rows + i * D);
            assert_true(fabs(near[i] - fmax(0.0, f.near.variance)) < 1e-10);
            assert_true(fabs(mean[i] - f.near.mean) < 1e-9 * (1.0 + fabs(mean[i])));
        }
        tear_down(&f);
    }
}

/* With more of them a variance is at least that given all, at most that given the first hundred, and next to a point
 * in flight it is small. */
static void variances_are_between(void **state)
{
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        fixture f;
        double near[N], all[N], first[N];
        set_up(&f, cases[k].type, cases[k].nu, cases[k].lambda, 11 + k);
        hallucinate(&f.near, &f, PULLED, PULLED + BANDIT_NEAR_EXACT);
        bandit_surface_values(&f.near, f.rows, N, NULL, first);
        hallucinate(&f.near, &f, PULLED + BANDIT_NEAR_EXACT, N);
        hallucinate(&f.all, &f, PULLED, N);
        bandit_surface_values(&f.all, f.rows, N, NULL, all);
        bandit_surface_values(&f.near, f.rows, N, NULL, near);
        for (size_t i = 0; i < N; i++) {
            assert_true(near[i] >= all[i] - 1e-8 && near[i] <= first[i] + 1e-12);
            if (i >= PULLED + BANDIT_NEAR_EXACT)
                assert_true(near[i] <= 1.0 / (1.0 / first[i] + 1.0 / cases[k].lambda) + 1e-8);
        }
        tear_down(&f);
    }
}

static void gradients(void **state)
{
    const double h = 1e-6;
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        fixture f;
        set_up(&f, cases[k].type, cases[k].nu, cases[k].lambda, 21 + k);
        hallucinate(&f.near, &f, PULLED, 300);
        for (int p = 0; p < PLACES; p++) {
            double x[D], gradient[D], at[2];
            for (size_t j = 0; j < D; j++)
                x[j] = dense_uniform(&f.random);
            bandit_surface_look(&f.near, x);
            bandit_surface_slope(&f.near, 0.5, 2.0, gradient);
            for (size_t j = 0; j < D; j++) {
                double there = x[j];
                for (int side = 0; side < 2; side++) {
                    x[j] = there + (side ? h : -h);
                    bandit_surface_look(&f.near, x);
                    at[side] = 0.5 * f.near.mean + 2.0 * f.near.variance;
                }
                x[j] = there;
                assert_true(fabs((at[1] - at[0]) / (2.0 * h) - gradient[j]) <
                            1e-5 * (1.0 + fabs(gradient[j])));
            }
        }
        tear_down(&f);
    }
}

/* The grid says what single points say, and the same bits whenever it is brought up to date. */
static void the_grid_follows(void **state)
{
    bandit_error err = {0};
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        fixture f;
        bandit_grid at_once = {0}, step_by_step = {0};
        double variance[N];
        set_up(&f, cases[k].type, cases[k].nu, cases[k].lambda, 31 + k);
        assert_int_equal(bandit_grid_start(&step_by_step, &f.near, f.rows, N, &err), BANDIT_OK);
        for (size_t i = PULLED; i < 320; i += 20) {
            hallucinate(&f.near, &f, i, i + 20);
            assert_int_equal(bandit_grid_update(&step_by_step, &f.near, &err), BANDIT_OK);
            bandit_surface_values(&f.near, f.rows, N, NULL, variance);
            for (size_t a = 0; a < N; a++)
                assert_true(fabs(variance[a] - step_by_step.variance[a]) < 1e-9);
        }
        assert_int_equal(bandit_grid_start(&at_once, &f.near, f.rows, N, &err), BANDIT_OK);
        assert_int_equal(bandit_grid_update(&at_once, &f.near, &err), BANDIT_OK);
        assert_memory_equal(at_once.variance, step_by_step.variance, N * sizeof(double));
        /* and once more, as if nothing had been there */
        assert_int_equal(bandit_surface_start(&f.near, &f.posterior, 2, &err), BANDIT_OK);
        bandit_surface_values(&f.near, f.rows, N, NULL, variance);
        assert_int_equal(bandit_grid_start(&at_once, &f.near, f.rows, N, &err), BANDIT_OK);
        assert_int_equal(bandit_grid_update(&at_once, &f.near, &err), BANDIT_OK);
        for (size_t a = 0; a < N; a++)
            assert_true(fabs(variance[a] - at_once.variance[a]) < 1e-10);
        bandit_grid_clear(&at_once);
        bandit_grid_clear(&step_by_step);
        tear_down(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_are_all),
        cmocka_unit_test(variances_are_between),
        cmocka_unit_test(gradients),
        cmocka_unit_test(the_grid_follows),
    };
    return cmocka_run_group_tests_name("surface_near", tests, NULL, NULL);
}
