/* Samples of the prior: covariances against the kernel's formulas. */
#include "core/posterior/prior_features.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "tests/support/repeats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = BANDIT_TILE };

static bandit_arms *uniform_arms(size_t d, double width)
{
    bandit_arms *arms = NULL;
    double rows[N * 6];
    for (size_t i = 0; i < N * d; i++)
        rows[i] = width * bandit_random_uniform(2, d, BANDIT_PURPOSE_UNIFORM, i);
    assert_int_equal(bandit_arms_new(&arms, N, d, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    return arms;
}

static double textbook(const bandit_kernel *kernel, const bandit_arms *arms, size_t a, size_t b)
{
    double s = 0.0, dot = 0.0;
    for (size_t j = 0; j < arms->dimension; j++) {
        double x = bandit_arms_feature(arms, a, j), y = bandit_arms_feature(arms, b, j);
        double l = kernel->n_lengthscales ? kernel->lengthscales[kernel->n_lengthscales == 1 ? 0 : j] : 1.0;
        s += (x - y) * (x - y) / (l * l);
        dot += x * y;
    }
    double r = sqrt(s);
    if (kernel->type == BANDIT_KERNEL_LINEAR)
        return dot;
    if (kernel->type == BANDIT_KERNEL_GAUSSIAN)
        return exp(-s / 2.0);
    if (kernel->nu == 0.5)
        return exp(-r);
    if (kernel->nu == 1.5)
        return (1.0 + sqrt(3.0) * r) * exp(-sqrt(3.0) * r);
    return (1.0 + sqrt(5.0) * r + 5.0 * s / 3.0) * exp(-sqrt(5.0) * r);
}

/* Means 0 and covariances k(x, x') within five standard errors, over independent samples. The standard
 * errors are measured: samples of random features are not quite normal. */
static void samples_have_the_kernel_as_covariance(void **state)
{
    enum { FEATURES = 64 };
    const size_t draws = repeats(20000, 2000);
    const double count = (double)draws;
    const double one[] = {0.7}, ard[] = {0.3, 1.0, 2.5};
    const struct {
        bandit_kernel kernel;
        size_t dimension;
        bandit_expansion expansion;
    } cases[] = {
        {{BANDIT_KERNEL_GAUSSIAN, 0, ard, 3, 0.0}, 3, BANDIT_EXPANSION_FOURIER},
        {{BANDIT_KERNEL_MATERN, 0.5, one, 1, 0.0}, 2, BANDIT_EXPANSION_FOURIER},
        {{BANDIT_KERNEL_MATERN, 1.5, ard, 3, 0.0}, 3, BANDIT_EXPANSION_FOURIER},
        {{BANDIT_KERNEL_MATERN, 2.5, one, 1, 0.0}, 6, BANDIT_EXPANSION_FOURIER},
        {{BANDIT_KERNEL_LINEAR, 0, NULL, 0, 0.0}, 4, BANDIT_EXPANSION_LINEAR},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        static double sum[N], square[N * N], fourth[N * N];
        bandit_arms *arms = uniform_arms(cases[c].dimension, 1.0);
        bandit_covariance covariance;
        bandit_features features;
        bandit_prior_draw draw;
        assert_int_equal(bandit_covariance_init(&covariance, &cases[c].kernel, arms, NULL), BANDIT_OK);
        assert_int_equal(bandit_features_init(&features, cases[c].expansion, &covariance, FEATURES - 1, NULL),
                         BANDIT_OK);
        assert_int_equal(features.n, cases[c].kernel.type == BANDIT_KERNEL_LINEAR ? 4 : FEATURES);
        bandit_features_clear(&features);
        assert_int_equal(bandit_features_init(&features, cases[c].expansion, &covariance, FEATURES, NULL),
                         BANDIT_OK);
        assert_int_equal(features.n,
                         cases[c].kernel.type == BANDIT_KERNEL_LINEAR ? 4 : FEATURES); /* whole pairs */
        assert_int_equal(bandit_prior_draw_init(&draw, &features, NULL), BANDIT_OK);
        memset(sum, 0, sizeof sum);
        memset(square, 0, sizeof square);
        memset(fourth, 0, sizeof fourth);
        for (uint64_t i = 0; i < draws; i++) {
            double f[N];
            bandit_features_draw(&features, 9, i / 100, i % 100, &draw);
            bandit_features_evaluate(&features, &draw, bandit_arms_tile(arms, 0), f, NULL);
            for (size_t a = 0; a < N; a++) {
                sum[a] += f[a] / count;
                for (size_t b = 0; b < N; b++) {
                    square[a * N + b] += f[a] * f[b] / count;
                    fourth[a * N + b] += f[a] * f[b] * f[a] * f[b] / count;
                }
            }
        }
        double worst = 0.0;
        for (size_t a = 0; a < N; a++) {
            assert_true(fabs(sum[a]) < 5.0 * sqrt(square[a * N + a] / count));
            for (size_t b = 0; b < N; b++) {
                double error = sqrt((fourth[a * N + b] - square[a * N + b] * square[a * N + b]) / count);
                double k = textbook(&cases[c].kernel, arms, a, b);
                worst = fmax(worst, fabs(square[a * N + b] - k) / error);
            }
        }
        print_message("[          ] case %zu: largest deviation %.2f standard errors\n", c, worst);
        assert_true(worst < 5.0);
        bandit_prior_draw_clear(&draw);
        bandit_features_clear(&features);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
}

/* sum_j psi_j(x) psi_j(x') comes as close to k as the eigenvalues left out allow. */
static void eigenfunctions_add_up_to_the_kernel(void **state)
{
    const double one[] = {0.4}, ard[] = {0.5, 0.8}, wide[] = {0.6, 0.9, 1.2};
    const struct {
        bandit_kernel kernel;
        size_t dimension, features;
        double tolerance;
    } cases[] = {
        {{BANDIT_KERNEL_GAUSSIAN, 0, one, 1, 0.0}, 1, 60, 1e-3},
        {{BANDIT_KERNEL_GAUSSIAN, 0, ard, 2, 0.0}, 2, 600, 3e-4},
        {{BANDIT_KERNEL_MATERN, 2.5, ard, 2, 0.0}, 2, 2000, 5e-4},
        {{BANDIT_KERNEL_MATERN, 1.5, one, 1, 0.0}, 1, 400, 6e-4},
        {{BANDIT_KERNEL_GAUSSIAN, 0, wide, 3, 0.0}, 3, 2500, 5e-5},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n = cases[c].features;
        bandit_arms *arms = uniform_arms(cases[c].dimension, 1.0);
        bandit_covariance covariance;
        bandit_features features;
        bandit_prior_draw draw;
        assert_int_equal(bandit_covariance_init(&covariance, &cases[c].kernel, arms, NULL), BANDIT_OK);
        assert_int_equal(bandit_features_init(&features, BANDIT_EXPANSION_EIGEN, &covariance, n, NULL),
                         BANDIT_OK);
        double *columns = bandit_alloc(n * BANDIT_TILE, sizeof *columns), sampled[N], worst = 0.0;
        double *scratch = bandit_alloc(bandit_features_scratch(&features), sizeof *scratch);
        assert_true(columns && scratch);
        const double *tile = bandit_arms_tile(arms, 0);
        bandit_features_columns(&features, tile, n, columns, scratch);
        for (size_t a = 0; a < N; a++) {
            for (size_t b = 0; b < N; b++) {
                double k = 0.0;
                for (size_t j = 0; j < n; j++)
                    k += columns[j * BANDIT_TILE + a] * columns[j * BANDIT_TILE + b];
                worst = fmax(worst, fabs(k - textbook(&cases[c].kernel, arms, a, b)));
            }
        }
        print_message("[          ] case %zu: %zu eigenfunctions, error %.1e\n", c, n, worst);
        assert_true(worst < cases[c].tolerance);
        for (size_t j = 1; j < n; j++) /* the largest eigenvalues, in order */
            assert_true(features.root[j] <= features.root[j - 1]);

        /* a sample is the columns times its weights */
        assert_int_equal(bandit_prior_draw_init(&draw, &features, NULL), BANDIT_OK);
        bandit_features_draw(&features, 1, 2, 3, &draw);
        bandit_features_evaluate(&features, &draw, tile, sampled, scratch);
        for (size_t a = 0; a < N; a++) {
            double f = 0.0;
            for (size_t j = 0; j < n; j++)
                f += draw.weight[j] * columns[j * BANDIT_TILE + a];
            assert_true(fabs(f - sampled[a]) < 1e-12 * (1.0 + fabs(f)));
        }
        free(columns);
        free(scratch);
        bandit_prior_draw_clear(&draw);
        bandit_features_clear(&features);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
}

/* The eigenfunctions chosen are those of the n largest eigenvalues: no index left out beats one taken. */
static void eigenfunctions_are_the_largest(void **state)
{
    enum { FEATURES = 50, SIDE = 30 };
    const double ard[] = {0.2, 0.7};
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 1.5, ard, 2, 0.0};
    bandit_arms *arms = uniform_arms(2, 3.0);
    bandit_covariance covariance;
    bandit_features features;
    double q[SIDE + 1][SIDE + 1], last = 0.0;
    bool taken[SIDE + 1][SIDE + 1] = {{false}};
    (void)state;
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_features_init(&features, BANDIT_EXPANSION_EIGEN, &covariance, FEATURES, NULL),
                     BANDIT_OK);
    for (size_t i = 1; i <= SIDE; i++)
        for (size_t j = 1; j <= SIDE; j++)
            q[i][j] = pow((double)i * ard[0] / features.width[0], 2.0) +
                      pow((double)j * ard[1] / features.width[1], 2.0);
    for (size_t k = 0; k < FEATURES; k++) {
        uint32_t i = features.order[2 * k], j = features.order[2 * k + 1];
        assert_true(i <= SIDE && j <= SIDE && !taken[i][j]);
        assert_true(i <= features.highest[0] && j <= features.highest[1]);
        taken[i][j] = true;
        last = fmax(last, q[i][j]);
    }
    for (size_t i = 1; i <= SIDE; i++)
        for (size_t j = 1; j <= SIDE; j++)
            assert_true(taken[i][j] || q[i][j] >= last * (1.0 - 1e-14));
    bandit_features_clear(&features);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* Half widths of a box are the larger of 1.2 times the arms' and, for the boundary's sake, so many
 * lengthscales: 3.2, 4.5 and 4.1 for the Gaussian, Matérn 3/2 and 5/2 (Riutort-Mayol et al., section 4). It
 * is about the arms. */
static void boxes_are_as_recommended(void **state)
{
    static const struct {
        bandit_kernel_type type;
        double nu, c;
    } cases[] = {{BANDIT_KERNEL_GAUSSIAN, 0, 3.2},
                 {BANDIT_KERNEL_MATERN, 0.5, 4.5},
                 {BANDIT_KERNEL_MATERN, 1.5, 4.5},
                 {BANDIT_KERNEL_MATERN, 2.5, 4.1}};
    const double ard[] = {0.01, 2.0, 0.3};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const bandit_kernel kernel = {cases[k].type, cases[k].nu, ard, 3, 0.0};
        bandit_arms *arms = uniform_arms(3, 2.0);
        bandit_covariance covariance;
        bandit_features features;
        assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
        assert_int_equal(bandit_features_init(&features, BANDIT_EXPANSION_EIGEN, &covariance, 30, NULL),
                         BANDIT_OK);
        uint32_t highest[3] = {0};
        for (size_t j = 0; j < 3; j++) {
            double low = INFINITY, high = -INFINITY;
            for (size_t a = 0; a < N; a++) {
                low = fmin(low, bandit_arms_feature(arms, a, j));
                high = fmax(high, bandit_arms_feature(arms, a, j));
            }
            double half = fmax(1.2 * (high - low) / 2.0, cases[k].c * ard[j]);
            assert_true(fabs(features.width[j] - 2.0 * half) < 1e-12 * half);
            assert_true(fabs(features.low[j] + half - (low + high) / 2.0) < 1e-12 * half);
            for (size_t i = 0; i < features.n; i++)
                highest[j] = features.order[3 * i + j] > highest[j] ? features.order[3 * i + j] : highest[j];
            assert_int_equal(features.highest[j], highest[j]);
        }
        assert_int_equal(bandit_features_scratch(&features),
                         (size_t)(highest[0] + highest[1] + highest[2]) * BANDIT_TILE);
        assert_int_equal(bandit_features_memory(&features), 30 * (3 * sizeof(uint32_t) + sizeof(double)));
        bandit_features_clear(&features);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
}

/* The cosine inside: against libm over arguments of all sizes, and finite whatever comes in. */
static void cosines_are_accurate(void **state)
{
    const double l = 1.0;
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &l, .n_lengthscales = 1};
    bandit_arms *arms = uniform_arms(1, 1.0);
    bandit_covariance covariance;
    bandit_features features;
    bandit_prior_draw draw;
    double f[N], tile[N], worst = 0.0;
    (void)state;
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_features_init(&features, BANDIT_EXPANSION_FOURIER, &covariance, 2, NULL),
                     BANDIT_OK);
    assert_int_equal(bandit_prior_draw_init(&draw, &features, NULL), BANDIT_OK);
    draw.amplitude[0] = 1.0;
    draw.frequency[0] = 1.0;
    draw.phase[0] = 0.0;
    for (size_t i = 0; i < 20000; i++) {
        for (size_t lane = 0; lane < N; lane++) {
            double u = bandit_random_uniform(4, 0, BANDIT_PURPOSE_UNIFORM, i * N + lane);
            tile[lane] = (u - 0.5) * (i % 2 ? 4.0 : 2000.0);
        }
        bandit_features_evaluate(&features, &draw, tile, f, NULL);
        for (size_t lane = 0; lane < N; lane++) {
            double exact = cos(6.283185307179586476925 * remainder(tile[lane], 1.0));
            worst = fmax(worst, fabs(f[lane] - exact));
        }
    }
    print_message("[          ] largest error %.1e\n", worst);
    assert_true(worst < 1e-15);
    const double odd[] = {0x1p51, 1e17, -3e200, INFINITY, NAN, -INFINITY, 0.5, -0.5};
    for (size_t lane = 0; lane < N; lane++)
        tile[lane] = odd[lane % 8];
    bandit_features_evaluate(&features, &draw, tile, f, NULL);
    for (size_t lane = 0; lane < N; lane++)
        assert_true(fabs(f[lane]) <= 1.0 + 1e-15);
    bandit_prior_draw_clear(&draw);
    bandit_features_clear(&features);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_the_kernel_as_covariance),
        cmocka_unit_test(eigenfunctions_add_up_to_the_kernel),
        cmocka_unit_test(eigenfunctions_are_the_largest),
        cmocka_unit_test(boxes_are_as_recommended),
        cmocka_unit_test(cosines_are_accurate),
    };
    return cmocka_run_group_tests_name("prior_features", tests, NULL, NULL);
}
