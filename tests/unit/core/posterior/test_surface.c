/* The posterior as a function of the point: against dense solves, against the form that decides between arms,
 * and gradients against differences. */
#include "core/posterior/surface.h"

#include "core/posterior/prior_features.h"
#include "core/selection/acquisition.h"
#include "tests/support/dense_gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 40, D = 4, PULLED = 25 };

typedef struct fixture {
    uint64_t random;
    double rows[N * D];
    double lengthscales[D];
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_posterior posterior;
    bandit_surface surface;
    bandit_arm_sum sums[PULLED];
} fixture;

/* Arms 0 … PULLED−1 are pulled; those below n_dictionary are the dictionary. */
static void set_up_ranges(fixture *f, bandit_kernel_type type, double nu, double short_share, double lambda,
                          size_t n_dictionary, uint64_t seed)
{
    bandit_error err = {0};
    uint32_t dictionary[PULLED];
    *f = (fixture){.random = seed};
    for (size_t i = 0; i < N * D; i++)
        f->rows[i] = dense_uniform(&f->random);
    for (size_t j = 0; j < D; j++)
        f->lengthscales[j] = 0.3 + dense_uniform(&f->random);
    assert_int_equal(bandit_arms_new(&f->arms, N, D, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(f->arms, 0, N, f->rows, &err), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(f->arms, BANDIT_SCALING_NONE, N, &err), BANDIT_OK);
    bandit_kernel kernel = {.type = type,
                            .nu = nu,
                            .lengthscales = f->lengthscales,
                            .n_lengthscales = D,
                            .short_share = short_share};
    assert_int_equal(bandit_covariance_init(&f->covariance, &kernel, f->arms, &err), BANDIT_OK);
    for (uint32_t i = 0; i < PULLED; i++) {
        f->sums[i] = (bandit_arm_sum){.arm = i, .count = 1 + i % 3};
        f->sums[i].sum = (double)f->sums[i].count * dense_normal(&f->random);
        dictionary[i] = i;
    }
    assert_int_equal(bandit_posterior_build(&f->posterior, &f->covariance, lambda, dictionary, n_dictionary,
                                            f->sums, PULLED, &err),
                     BANDIT_OK);
    assert_int_equal(bandit_surface_start(&f->surface, &f->posterior, 2, &err), BANDIT_OK);
}

static void set_up(fixture *f, bandit_kernel_type type, double nu, double lambda, size_t n_dictionary,
                   uint64_t seed)
{
    set_up_ranges(f, type, nu, 0.0, lambda, n_dictionary, seed);
}

static void tear_down(fixture *f)
{
    bandit_surface_clear(&f->surface);
    bandit_posterior_clear(&f->posterior);
    bandit_covariance_clear(&f->covariance);
    bandit_arms_free(f->arms);
}

static void hallucinate(fixture *f, size_t arm)
{
    bandit_error err = {0};
    assert_int_equal(bandit_surface_reserve(&f->surface, 1, &err), BANDIT_OK);
    bandit_surface_hallucinate(&f->surface, f->rows + arm * D, f->surface.posterior->lambda);
}

/* On all pulled points, with some of them and others out, it is the exact posterior. */
static void exact_with_pulls_that_are_out(void **state)
{
    static const size_t out[] = {30, 3, 30, 37, 30, 24, 39};
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        fixture f;
        double lambda = seed % 2 ? 0.1 : 1e-4, mean[N], variance[N], expected[N], scaled[N * D];
        uint64_t counts[N] = {0};
        set_up(&f, BANDIT_KERNEL_GAUSSIAN, 0, lambda, PULLED, seed);
        for (size_t i = 0; i < N * D; i++)
            scaled[i] = f.rows[i] / f.lengthscales[i % D];
        double *k = dense_gaussian(scaled, N, D, 1.0);
        for (size_t i = 0; i < PULLED; i++)
            counts[i] = f.sums[i].count;
        for (size_t i = 0; i <= sizeof out / sizeof *out; i++) {
            dense_exact_variance(k, N, lambda, counts, expected, NULL);
            bandit_surface_values(&f.surface, f.rows, N, mean, variance);
            for (size_t a = 0; a < N; a++) {
                assert_true(fabs(variance[a] - lambda * expected[a]) < 1e-8);
                bandit_surface_look(&f.surface, f.rows + a * D);
                assert_true(fabs(variance[a] - fmax(0.0, f.surface.variance)) < 1e-10);
                assert_true(fabs(mean[a] - f.surface.mean) < 1e-9 * (1.0 + fabs(mean[a])));
            }
            if (i < sizeof out / sizeof *out) {
                hallucinate(&f, out[i]);
                counts[out[i]]++;
            }
        }
        free(k);
        tear_down(&f);
    }
}

/* Under a small dictionary, before anything is out: what decides between arms says the same. One pull of a
 * point leaves 1 / (1/c + 1/lambda) of its variance c. */
static void sparse_as_the_form_that_decides(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        fixture f;
        double lambda = 0.01, mean[N], variance[N], after[N];
        set_up(&f, BANDIT_KERNEL_MATERN, seed % 2 ? 2.5 : 1.5, lambda, 7, seed);
        double *w = dense_alloc(f.posterior.m, sizeof *w);
        double *scratch = dense_alloc(bandit_posterior_scratch(&f.posterior), sizeof *scratch);
        bandit_surface_values(&f.surface, f.rows, N, mean, variance);
        for (uint32_t a = 0; a < N; a++) {
            bandit_embedding e = bandit_posterior_embed(&f.posterior, a, w, scratch);
            assert_true(fabs(mean[a] - e.mean) < 1e-10 * (1.0 + fabs(e.mean)));
            assert_true(fabs(variance[a] - lambda * (e.residual + e.norm2)) < 1e-10);
        }
        hallucinate(&f, 33);
        bandit_surface_values(&f.surface, f.rows, N, NULL, after);
        assert_true(fabs(after[33] - 1.0 / (1.0 / variance[33] + 1.0 / lambda)) < 1e-10);
        for (size_t a = 0; a < N; a++)
            assert_true(after[a] <= variance[a] + 1e-12);
        free(w);
        free(scratch);
        tear_down(&f);
    }
}

/* The grid says what single points say, and the same bits whenever it is brought up to date. */
static void the_grid_follows(void **state)
{
    fixture f;
    bandit_grid at_once = {0}, step_by_step = {0};
    bandit_error err = {0};
    double variance[N], mean[N];
    (void)state;
    set_up(&f, BANDIT_KERNEL_MATERN, 2.5, 0.01, 12, 3);
    assert_int_equal(bandit_grid_start(&step_by_step, &f.surface, f.rows, N, &err), BANDIT_OK);
    for (size_t arm = 5; arm < 35; arm++) {
        hallucinate(&f, arm);
        assert_int_equal(bandit_grid_update(&step_by_step, &f.surface, &err), BANDIT_OK);
        bandit_surface_values(&f.surface, f.rows, N, mean, variance);
        for (size_t a = 0; a < N; a++) {
            assert_true(fabs(variance[a] - step_by_step.variance[a]) < 1e-10);
            assert_true(fabs(mean[a] - step_by_step.mean[a]) < 1e-10 * (1.0 + fabs(mean[a])));
        }
    }
    assert_int_equal(bandit_grid_start(&at_once, &f.surface, f.rows, N, &err), BANDIT_OK);
    assert_int_equal(bandit_grid_update(&at_once, &f.surface, &err), BANDIT_OK);
    assert_memory_equal(at_once.variance, step_by_step.variance, N * sizeof(double));
    assert_memory_equal(at_once.mean, step_by_step.mean, N * sizeof(double));
    bandit_grid_clear(&at_once);
    bandit_grid_clear(&step_by_step);
    tear_down(&f);
}

/* More points than are evaluated at once, and as many as are: each as one point alone, and once more as a
 * point of the grid, whatever the arrays held before. */
static void many_points_as_single_ones(void **state)
{
    enum { MANY = 600 };
    static const size_t numbers[] = {MANY, 256, 257, 512, 1};
    static double x[MANY * D], mean[MANY], variance[MANY], only[MANY], combined[MANY];
    fixture f;
    bandit_grid grid = {0};
    bandit_error err = {0};
    double c[PULLED], gradient[D];
    (void)state;
    set_up(&f, BANDIT_KERNEL_MATERN, 2.5, 0.02, 12, 13);
    for (size_t j = 0; j < PULLED; j++)
        c[j] = dense_normal(&f.random);
    for (size_t j = 0; j < (size_t)MANY * D; j++)
        x[j] = 1.5 * dense_uniform(&f.random);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        size_t n = numbers[k];
        assert_int_equal(bandit_surface_start(&f.surface, &f.posterior, 2, &err), BANDIT_OK);
        assert_int_equal(bandit_grid_start(&grid, &f.surface, x, n, &err), BANDIT_OK);
        for (int out = 0; out < 2; out++) {
            for (size_t i = 0; i < n; i++)
                mean[i] = variance[i] = only[i] = combined[i] = NAN;
            bandit_surface_values(&f.surface, x, n, mean, variance);
            bandit_surface_values(&f.surface, x, n, only, NULL);
            assert_memory_equal(only, mean, n * sizeof *mean);
            bandit_surface_values(&f.surface, x, n, NULL, only);
            assert_memory_equal(only, variance, n * sizeof *variance);
            bandit_surface_combine(&f.surface, c, x, n, combined);
            for (size_t i = 0; i < n; i++) {
                bandit_surface_look(&f.surface, x + i * D);
                assert_true(fabs(mean[i] - f.surface.mean) < 1e-10 * (1.0 + fabs(mean[i])));
                assert_true(fabs(variance[i] - fmax(0.0, f.surface.variance)) < 1e-10);
                assert_true(fabs(grid.mean[i] - mean[i]) < 1e-10 * (1.0 + fabs(mean[i])));
                assert_true(fabs(grid.variance[i] - variance[i]) < 1e-10);
                double sum = bandit_surface_combine_slopes(&f.surface, c, x + i * D, gradient);
                assert_true(fabs(combined[i] - sum) < 1e-10 * (1.0 + fabs(sum)));
            }
            hallucinate(&f, 30);
            hallucinate(&f, 35);
            assert_int_equal(bandit_grid_update(&grid, &f.surface, &err), BANDIT_OK);
        }
    }
    bandit_grid_clear(&grid);
    tear_down(&f);
}

/* A surface that is started again, or grows, takes memory only where it has too little. */
static void room_is_used_again(void **state)
{
    fixture f;
    bandit_error err = {0};
    (void)state;
    set_up(&f, BANDIT_KERNEL_GAUSSIAN, 0, 0.1, 12, 19);
    size_t m = f.posterior.m, room = f.surface.room, bytes = bandit_surface_memory(&f.surface);
    const double *R = f.surface.R, *k = f.surface.k, *scratch = f.surface.scratch;
    assert_true(room >= m + 2);
    for (size_t wanted = 0; wanted <= 2; wanted++) {
        assert_int_equal(bandit_surface_start(&f.surface, &f.posterior, wanted, &err), BANDIT_OK);
        assert_int_equal(bandit_surface_reserve(&f.surface, wanted, &err), BANDIT_OK);
        assert_true(f.surface.R == R && f.surface.k == k && f.surface.scratch == scratch);
        assert_int_equal(f.surface.room, room - 2 + wanted);
        assert_int_equal(bandit_surface_memory(&f.surface), bytes);
    }
    assert_int_equal(bandit_surface_reserve(&f.surface, room - m, &err), BANDIT_OK); /* all there is */
    assert_true(f.surface.R == R);
    assert_int_equal(bandit_surface_reserve(&f.surface, room - m + 1, &err), BANDIT_OK);
    assert_true(f.surface.room > room && bandit_surface_memory(&f.surface) > bytes);
    tear_down(&f);
}

/* Without a member there is the prior; a pull that is out leaves of it what one observation does. */
static void the_prior_is_a_surface(void **state)
{
    fixture f;
    bandit_surface s = {0};
    bandit_error err = {0};
    double mean[N], variance[N], nothing = 0.0, none[N];
    (void)state;
    set_up(&f, BANDIT_KERNEL_GAUSSIAN, 0, 0.25, 3, 17);
    const bandit_posterior prior = {.covariance = &f.covariance, .lambda = 0.25};
    assert_int_equal(bandit_surface_start(&s, &prior, 1, &err), BANDIT_OK);
    for (int out = 0; out < 2; out++) {
        for (size_t i = 0; i < N; i++)
            mean[i] = variance[i] = none[i] = NAN;
        bandit_surface_values(&s, f.rows, N, mean, variance);
        bandit_surface_combine(&s, &nothing, f.rows, N, none);
        for (size_t a = 0; a < N; a++) {
            double r2 = 0.0;
            for (size_t j = 0; j < D; j++)
                r2 += pow((f.rows[a * D + j] - f.rows[j]) / f.lengthscales[j], 2.0);
            assert_true(mean[a] == 0.0 && none[a] == 0.0);
            assert_true(fabs(variance[a] - (out ? 1.0 - exp(-r2) / 1.25 : 1.0)) < 1e-14);
        }
        if (!out)
            assert_true(fabs(bandit_surface_hallucinate(&s, f.rows, s.posterior->lambda) - 1.0) < 1e-15);
    }
    bandit_surface_clear(&s);
    tear_down(&f);
}

static double acquired(fixture *f, const bandit_acquisition *a, const double *x)
{
    bandit_surface_look(&f->surface, x);
    return bandit_acquisition_value(a, f->surface.mean, fmax(0.0, f->surface.variance));
}

/* Every kernel, every acquisition, at random points, with pulls out: central differences. */
static void gradients(void **state)
{
    const struct {
        bandit_kernel_type type;
        double nu, short_share;
    } kernels[] = {{BANDIT_KERNEL_GAUSSIAN, 0, 0.0}, {BANDIT_KERNEL_GAUSSIAN, 0, 0.2},
                   {BANDIT_KERNEL_MATERN, 0.5, 0.0}, {BANDIT_KERNEL_MATERN, 1.5, 0.0},
                   {BANDIT_KERNEL_MATERN, 2.5, 0.0}, {BANDIT_KERNEL_MATERN, 2.5, 0.3},
                   {BANDIT_KERNEL_LINEAR, 0, 0.0}};
    const bandit_acquisition acquisitions[] = {{BANDIT_ACQUIRE_UCB, 2.5, 1e-14, 0.0, 0.0},
                                               {BANDIT_ACQUIRE_IMPROVEMENT, 0.4, 1e-14, 0.0, 0.0},
                                               {BANDIT_ACQUIRE_IMPROVEMENT, 30.0, 1e-14, 0.3, 2.0},
                                               {BANDIT_ACQUIRE_PROBABILITY, 0.4, 1e-14, 0.0, 0.0},
                                               {BANDIT_ACQUIRE_MEAN, 0, 1e-14, 0.0, 0.0},
                                               {BANDIT_ACQUIRE_VARIANCE, 0, 1e-14, 0.0, 0.0}};
    const double h = 1e-6;
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        fixture f;
        set_up_ranges(&f, kernels[k].type, kernels[k].nu, kernels[k].short_share, 0.05, 15, 11 + k);
        hallucinate(&f, 30);
        hallucinate(&f, 31);
        for (size_t a = 0; a < sizeof acquisitions / sizeof *acquisitions; a++) {
            for (int p = 0; p < 5; p++) {
                double x[D], gradient[D], by_mean, by_variance, largest = 0.0;
                for (size_t j = 0; j < D; j++)
                    x[j] = dense_uniform(&f.random);
                bandit_surface_look(&f.surface, x);
                double value = bandit_acquisition_slopes(&acquisitions[a], f.surface.mean, f.surface.variance,
                                                         &by_mean, &by_variance);
                bandit_surface_slope(&f.surface, by_mean, by_variance, gradient);
                assert_true(fabs(value - acquired(&f, &acquisitions[a], x)) < 1e-9 * (1.0 + fabs(value)));
                for (size_t j = 0; j < D; j++)
                    largest = fmax(largest, fabs(gradient[j]));
                for (size_t j = 0; j < D; j++) {
                    double there = x[j];
                    x[j] = there + h;
                    double above = acquired(&f, &acquisitions[a], x);
                    x[j] = there - h;
                    double below = acquired(&f, &acquisitions[a], x);
                    x[j] = there;
                    double difference = (above - below) / (2.0 * h);
                    if (fabs(difference - gradient[j]) > 1e-5 * (largest + 1e-2 + fabs(value)))
                        fail_msg("kernel %zu, acquisition %zu: %.9g against %.9g", k, a, gradient[j],
                                 difference);
                }
            }
        }
        tear_down(&f);
    }
}

/* Draws of the prior and sums of kernels: what a sampled function is made of. */
static void gradients_of_samples(void **state)
{
    const double h = 1e-6;
    (void)state;
    for (int linear = 0; linear < 2; linear++) {
        fixture f;
        bandit_features features;
        bandit_prior_draw draw;
        bandit_error err = {0};
        double c[PULLED], x[D], by_prior[D], by_kernel[D], tile[D * BANDIT_TILE], values[BANDIT_TILE];
        set_up(&f, linear ? BANDIT_KERNEL_LINEAR : BANDIT_KERNEL_MATERN, 1.5, 0.05, 3, 5);
        assert_int_equal(bandit_features_init(&features,
                                              linear ? BANDIT_EXPANSION_LINEAR : BANDIT_EXPANSION_FOURIER,
                                              &f.covariance, 64, &err),
                         BANDIT_OK);
        assert_int_equal(bandit_prior_draw_init(&draw, &features, &err), BANDIT_OK);
        bandit_features_draw(&features, 1, 2, 3, &draw);
        for (size_t j = 0; j < PULLED; j++)
            c[j] = dense_normal(&f.random);
        for (size_t j = 0; j < D; j++)
            x[j] = dense_uniform(&f.random);
        for (size_t j = 0; j < D; j++)
            by_prior[j] = by_kernel[j] = NAN; /* what was there does not matter */
        double prior = bandit_features_slopes(&features, &draw, x, by_prior);
        double kernel = bandit_surface_combine_slopes(&f.surface, c, x, by_kernel), block;
        bandit_surface_combine(&f.surface, c, x, 1, &block);
        for (size_t j = 0; j < D * BANDIT_TILE; j++)
            tile[j] = x[j / BANDIT_TILE];
        double *scratch = dense_alloc(bandit_features_scratch(&features) + 1, sizeof *scratch);
        bandit_features_evaluate(&features, &draw, tile, values, scratch);
        assert_true(fabs(values[0] - prior) < 1e-8);
        assert_true(fabs(block - kernel) < 1e-10);
        for (size_t j = 0; j < D; j++) {
            double unused[D], there = x[j];
            x[j] = there + h;
            double prior_above = bandit_features_slopes(&features, &draw, x, unused);
            double kernel_above = bandit_surface_combine_slopes(&f.surface, c, x, unused);
            x[j] = there - h;
            double prior_below = bandit_features_slopes(&features, &draw, x, unused);
            double kernel_below = bandit_surface_combine_slopes(&f.surface, c, x, unused);
            x[j] = there;
            assert_true(fabs((prior_above - prior_below) / (2.0 * h) - by_prior[j]) < 1e-6);
            assert_true(fabs((kernel_above - kernel_below) / (2.0 * h) - by_kernel[j]) < 1e-6);
        }
        free(scratch);
        bandit_prior_draw_clear(&draw);
        bandit_features_clear(&features);
        tear_down(&f);
    }
}

/* Of rewards that are all zero nothing but zero is expected anywhere, to the last bit. */
static void nothing_comes_of_nothing(void **state)
{
    fixture f;
    bandit_error err = {0};
    double mean[N];
    uint32_t dictionary[PULLED];
    (void)state;
    set_up(&f, BANDIT_KERNEL_MATERN, 2.5, 0.05, 12, 7);
    bandit_posterior_clear(&f.posterior);
    for (uint32_t i = 0; i < PULLED; i++) {
        f.sums[i].sum = 0.0;
        dictionary[i] = i;
    }
    assert_int_equal(
        bandit_posterior_build(&f.posterior, &f.covariance, 0.05, dictionary, 12, f.sums, PULLED, &err),
        BANDIT_OK);
    assert_int_equal(bandit_surface_start(&f.surface, &f.posterior, 0, &err), BANDIT_OK);
    bandit_surface_values(&f.surface, f.rows, N, mean, NULL);
    for (size_t a = 0; a < N; a++)
        assert_true(mean[a] == 0.0);
    tear_down(&f);
}

/* One kernel of weight 1 has its own slope: under the linear one, the member itself. */
static void a_single_kernel_has_its_slope(void **state)
{
    fixture f;
    (void)state;
    set_up(&f, BANDIT_KERNEL_LINEAR, 0, 0.05, 3, 9);
    size_t m = f.posterior.m;
    assert_true(m > 1);
    for (size_t i = 0; i < m; i++) {
        double c[PULLED] = {0}, gradient[D], value = 0.0;
        const double *member = f.rows + f.posterior.points.arms[i] * D, *x = f.rows + (N - 1) * D;
        c[i] = 1.0;
        double sum = bandit_surface_combine_slopes(&f.surface, c, x, gradient);
        for (size_t j = 0; j < D; j++) {
            value += member[j] * x[j];
            assert_true(gradient[j] == member[j]);
        }
        assert_true(fabs(sum - value) < 1e-12);
    }
    tear_down(&f);
}

/* How much memory there is does not show in the figures, although some kernels of BLAS round by where rows begin: a
 * batch after a larger one, and points in flight that came one by one. */
static void earlier_room_changes_nothing(void **state)
{
    fixture f, g;
    bandit_error err = {0};
    (void)state;
    for (size_t more = 1; more < 40; more += 3) {
        set_up(&f, BANDIT_KERNEL_MATERN, 2.5, 1e-3, PULLED, 11);
        set_up(&g, BANDIT_KERNEL_MATERN, 2.5, 1e-3, PULLED, 11);
        assert_int_equal(bandit_surface_reserve(&g.surface, more, &err), BANDIT_OK);
        assert_int_equal(bandit_surface_start(&g.surface, &g.posterior, 2, &err), BANDIT_OK);
        assert_int_equal(f.surface.room, g.surface.room);
        for (size_t arm = PULLED; arm < N; arm++) {
            hallucinate(&f, arm);
            hallucinate(&g, arm);
            bandit_surface_look(&f.surface, f.rows);
            bandit_surface_look(&g.surface, g.rows);
            assert_true(f.surface.mean == g.surface.mean && f.surface.variance == g.surface.variance);
        }
        assert_int_equal(f.surface.room, g.surface.room);
        tear_down(&f);
        tear_down(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_with_pulls_that_are_out),
        cmocka_unit_test(sparse_as_the_form_that_decides),
        cmocka_unit_test(the_grid_follows),
        cmocka_unit_test(many_points_as_single_ones),
        cmocka_unit_test(room_is_used_again),
        cmocka_unit_test(earlier_room_changes_nothing),
        cmocka_unit_test(the_prior_is_a_surface),
        cmocka_unit_test(gradients),
        cmocka_unit_test(gradients_of_samples),
        cmocka_unit_test(nothing_comes_of_nothing),
        cmocka_unit_test(a_single_kernel_has_its_slope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
