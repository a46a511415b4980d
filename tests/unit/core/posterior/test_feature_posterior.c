/* The posterior on inducing features against Gaussian process regression with the kernel that the features
 * make, by elimination with one row a pull; its samples by their moments. */
#include "core/posterior/feature_posterior.h"

#include "bandit/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 37, PULLED = 20, DRAWS = 40000, MOST = 220 };

static const double lambda = 0.15;

typedef struct problem {
    bandit_arms *arms;
    bandit_kernel kernel;
    bandit_covariance covariance;
    bandit_features features;
    bandit_arm_sum sums[PULLED];
    double psi[N][MOST];
} problem;

static void setup(problem *p, const bandit_kernel *kernel, bandit_expansion expansion, size_t d,
                  size_t n_features)
{
    double rows[N * 3], tile[3 * BANDIT_TILE], columns[MOST * BANDIT_TILE];
    *p = (problem){.kernel = *kernel};
    for (size_t i = 0; i < N * d; i++)
        rows[i] = bandit_random_uniform(21, d, BANDIT_PURPOSE_UNIFORM, i);
    assert_int_equal(bandit_arms_new(&p->arms, N, d, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(p->arms, 0, N, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&p->covariance, &p->kernel, p->arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_features_init(&p->features, expansion, &p->covariance, n_features, NULL),
                     BANDIT_OK);
    for (size_t i = 0; i < PULLED; i++)
        p->sums[i] = (bandit_arm_sum){.arm = (uint32_t)(i * N / PULLED),
                                      .count = 1 + i % 4,
                                      .sum = (double)(1 + i % 4) * sin(2.0 * (double)i)};
    double *scratch = malloc(bandit_features_scratch(&p->features) * sizeof *scratch);
    assert_non_null(scratch);
    for (size_t arm = 0; arm < N; arm++) {
        memset(tile, 0, sizeof tile);
        for (size_t k = 0; k < d; k++)
            tile[k * BANDIT_TILE] = bandit_arms_feature(p->arms, arm, k);
        bandit_features_columns(&p->features, tile, p->features.n, columns, scratch);
        for (size_t j = 0; j < p->features.n; j++)
            p->psi[arm][j] = columns[j * BANDIT_TILE];
    }
    free(scratch);
}

static void teardown(problem *p)
{
    bandit_features_clear(&p->features);
    bandit_covariance_clear(&p->covariance);
    bandit_arms_free(p->arms);
}

/* Of the first m features. */
static double kernel_of(const problem *p, size_t m, size_t a, size_t b)
{
    double sum = 0.0;
    for (size_t j = 0; j < m; j++)
        sum += p->psi[a][j] * p->psi[b][j];
    return sum;
}

/* Mean and covariance's diagonal under the kernel of the first m features: q (Q + lambda / n)^{-1} (y, q').
 */
static void regress(const problem *p, size_t m, size_t x, double *mean, double *variance)
{
    double a[PULLED][PULLED + 2];
    for (size_t i = 0; i < PULLED; i++) {
        for (size_t j = 0; j < PULLED; j++)
            a[i][j] = kernel_of(p, m, p->sums[i].arm, p->sums[j].arm);
        a[i][i] += lambda / (double)p->sums[i].count;
        a[i][PULLED] = p->sums[i].sum / (double)p->sums[i].count;
        a[i][PULLED + 1] = kernel_of(p, m, p->sums[i].arm, x);
    }
    for (size_t k = 0; k < PULLED; k++) {
        for (size_t i = 0; i < PULLED; i++) {
            double f = i == k ? 0.0 : a[i][k] / a[k][k];
            for (size_t j = k; j < PULLED + 2; j++)
                a[i][j] -= f * a[k][j];
        }
    }
    *mean = 0.0;
    *variance = kernel_of(p, m, x, x);
    for (size_t i = 0; i < PULLED; i++) {
        double q = kernel_of(p, m, p->sums[i].arm, x);
        *mean += q * a[i][PULLED] / a[i][i];
        *variance -= q * a[i][PULLED + 1] / a[i][i];
    }
}

static void check_against_regression(const bandit_kernel *kernel, bandit_expansion expansion, size_t d,
                                     size_t n_features, size_t m)
{
    problem p;
    bandit_feature_posterior posterior = {0};
    bandit_prediction predicted[N];
    uint32_t all[N];
    double effective = 0.0;
    setup(&p, kernel, expansion, d, n_features);
    m = m < p.features.n ? m : p.features.n;
    assert_int_equal(bandit_feature_posterior_build(&posterior, &p.features, m, lambda, p.sums, PULLED, NULL),
                     BANDIT_OK);
    for (uint32_t x = 0; x < N; x++)
        all[x] = x;
    assert_int_equal(bandit_feature_posterior_predict(&posterior, 2.0, all, NULL, N, predicted, NULL),
                     BANDIT_OK);
    for (uint32_t x = 0; x < N; x++) {
        double mean, variance, self = kernel_of(&p, m, x, x);
        regress(&p, m, x, &mean, &variance);
        double whole = variance + (expansion == BANDIT_EXPANSION_LINEAR ? 0.0 : fmax(0.0, 1.0 - self));
        assert_true(fabs(predicted[x].mean - mean) < 1e-9);
        assert_true(fabs(predicted[x].variance - whole) < 1e-9);
        assert_true(fabs(predicted[x].ucb - mean - 2.0 * sqrt(whole / lambda)) < 1e-8);
        bandit_embedding e = bandit_feature_posterior_embed(&posterior, x);
        assert_true(fabs(e.mean - mean) < 1e-9 && fabs(lambda * (e.residual + e.norm2) - whole) < 1e-9);
        for (size_t i = 0; i < PULLED; i++)
            effective += p.sums[i].arm == x ? (double)p.sums[i].count * whole / lambda : 0.0;
    }
    assert_true(fabs(posterior.effective_dimension - effective) < 1e-8);
    /* The mean is sum_i alpha_i q(x_i, .) with alpha_i = n_i (y_i - mean(x_i)) / lambda: its norm. */
    double norm2 = 0.0;
    for (size_t i = 0; i < PULLED; i++) {
        double mean, variance, count = (double)p.sums[i].count;
        regress(&p, m, p.sums[i].arm, &mean, &variance);
        norm2 += (p.sums[i].sum - count * mean) / lambda * mean;
    }
    assert_true(fabs(bandit_feature_posterior_mean_norm(&posterior) - sqrt(norm2)) < 1e-7);
    bandit_feature_posterior_clear(&posterior);
    teardown(&p);
}

static void predictions_are_those_of_regression(void **state)
{
    static const double l = 0.3;
    const bandit_kernel gaussian = {BANDIT_KERNEL_GAUSSIAN, 0, &l, 1, 0.0},
                        matern = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0},
                        linear = {BANDIT_KERNEL_LINEAR, 0, NULL, 0, 0.0};
    (void)state;
    check_against_regression(&gaussian, BANDIT_EXPANSION_EIGEN, 1, 60, 9);
    check_against_regression(&matern, BANDIT_EXPANSION_EIGEN, 2, 150, 40);
    check_against_regression(&matern, BANDIT_EXPANSION_EIGEN, 3, 200, 200);
    check_against_regression(&linear, BANDIT_EXPANSION_LINEAR, 3, 3, 3);
}

/* Mean mu, variance alpha^2 (the first m features' posterior, the others' prior), within five standard
 * errors. */
static void samples_have_mean_and_variance(void **state)
{
    enum { M = 30, INDUCING = 11 };
    static const double l = 0.3, alpha = 1.7;
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0};
    const size_t at[] = {0, 5, 18, 36};
    double sum[4] = {0}, squares[4] = {0};
    problem p;
    bandit_feature_posterior posterior = {0};
    bandit_prior_draw draw = {0};
    (void)state;
    setup(&p, &kernel, BANDIT_EXPANSION_EIGEN, 1, M);
    assert_int_equal(
        bandit_feature_posterior_build(&posterior, &p.features, INDUCING, lambda, p.sums, PULLED, NULL),
        BANDIT_OK);
    assert_int_equal(bandit_prior_draw_init(&draw, &p.features, NULL), BANDIT_OK);
    for (uint64_t s = 0; s < DRAWS; s++) {
        bandit_feature_posterior_draw(&posterior, alpha, 8, 3, s, &draw);
        for (size_t i = 0; i < 4; i++) {
            double f = 0.0;
            for (size_t j = 0; j < M; j++)
                f += draw.weight[j] * p.psi[at[i]][j];
            sum[i] += f;
            squares[i] += f * f;
        }
    }
    for (size_t i = 0; i < 4; i++) {
        double mean, variance;
        regress(&p, INDUCING, at[i], &mean, &variance);
        variance += kernel_of(&p, M, at[i], at[i]) - kernel_of(&p, INDUCING, at[i], at[i]);
        variance *= alpha * alpha;
        double drawn_mean = sum[i] / DRAWS, drawn_variance = squares[i] / DRAWS - drawn_mean * drawn_mean;
        assert_true(fabs(drawn_mean - mean) < 5.0 * sqrt(variance / DRAWS));
        assert_true(fabs(drawn_variance - variance) < 5.0 * variance * sqrt(2.0 / DRAWS));
    }
    bandit_prior_draw_clear(&draw);
    bandit_feature_posterior_clear(&posterior);
    teardown(&p);
}

/* Two equal coordinates and a lambda that is lost beside them: V is singular to working precision, which is
 * said, and with a sound lambda the same posterior is built. */
static void a_singular_design_is_a_breakdown(void **state)
{
    const bandit_kernel linear = {.type = BANDIT_KERNEL_LINEAR};
    const double rows[] = {1, 1};
    const bandit_arm_sum sum = {.arm = 0, .count = 1, .sum = 1.0};
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_features features;
    bandit_feature_posterior p = {0};
    bandit_error err = {0};
    (void)state;
    assert_int_equal(bandit_arms_new(&arms, 1, 2, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, 1, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &linear, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_features_init(&features, BANDIT_EXPANSION_LINEAR, &covariance, 2, NULL),
                     BANDIT_OK);
    assert_int_equal(bandit_feature_posterior_build(&p, &features, 2, 1e-300, &sum, 1, &err),
                     BANDIT_NUMERICAL);
    assert_int_equal(err.status, BANDIT_NUMERICAL);
    assert_int_equal(bandit_feature_posterior_build(&p, &features, 2, 1.0, &sum, 1, &err), BANDIT_OK);
    bandit_feature_posterior_clear(&p);
    bandit_features_clear(&features);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_are_those_of_regression),
        cmocka_unit_test(samples_have_mean_and_variance),
        cmocka_unit_test(a_singular_design_is_a_breakdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
