/* The sparse posterior of several blocks of arms, in every version of the inner loops: all that it says
 * against a dense computation, and what it does with factors that cannot be right. */
#include "core/posterior/sparse_posterior.h"

#include "tests/support/dense_gp.h"
#include "tests/support/must.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 600, D = 3, MEMBERS = 14, BLOCK = 256 };

static const char *const versions[] = {"avx512", "avx2", "portable", "plain"};
enum { VERSIONS = sizeof versions / sizeof *versions };

static bandit_arms *make_arms(size_t n, size_t d, const double *rows)
{
    bandit_arms *arms;
    bandit_error err;
    must(bandit_arms_new(&arms, n, d, &err), &err);
    must(bandit_arms_set_rows(arms, 0, n, rows, &err), &err);
    must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, &err), &err);
    return arms;
}

/* ---- against dense matrices ---------------------------------------------------------------------------- */

/* log det of a positive definite n x n matrix, and x = a^{-1} x; by elimination. `a` is overwritten. */
static double eliminate(double *a, size_t n, double *x)
{
    double log_det = 0.0;
    for (size_t k = 0; k < n; k++) {
        log_det += log(a[k * n + k]);
        for (size_t i = k + 1; i < n; i++) {
            double factor = a[k * n + i] / a[k * n + k];
            for (size_t j = k; j < n; j++)
                a[j * n + i] -= factor * a[j * n + k];
            x[i] -= factor * x[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            x[k] -= a[j * n + k] * x[j];
        x[k] /= a[k * n + k];
    }
    return log_det;
}

typedef struct expected {
    double mean[ARMS], variance[ARMS];
    double residual_sum, effective_dimension, log_det_ratio, log_det_three, mean_norm;
} expected;

/* Every second arm is pulled, each once, twice or thrice. */
static void compute(expected *out, const double *rows, double lengthscale, double lambda,
                    const uint32_t *dictionary, const bandit_arm_sum *sums, size_t n_sums)
{
    size_t rank;
    static uint64_t counts[ARMS];
    double *k = dense_gaussian(rows, ARMS, D, lengthscale);
    double *z = dense_embedding(k, ARMS, dictionary, MEMBERS, &rank), b[MEMBERS] = {0},
           ignored[MEMBERS] = {0};
    assert_int_equal(rank, MEMBERS);
    *out = (expected){0};
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n_sums; i++) {
        counts[sums[i].arm] = sums[i].count;
        for (size_t j = 0; j < rank; j++)
            b[j] += sums[i].sum * z[sums[i].arm * rank + j];
    }
    double *v = dense_design(z, rank, ARMS, counts, lambda);
    dense_sparse_variance(k, z, rank, ARMS, v, lambda, out->variance);
    double *more = dense_alloc(rank * rank, sizeof *more);
    for (size_t i = 0; i < rank * rank; i++) {
        bool diagonal = i % (rank + 1) == 0;
        more[i] = 3.0 * (v[i] - (diagonal ? lambda : 0.0)) / lambda + (diagonal ? 1.0 : 0.0);
    }
    out->log_det_three = eliminate(more, rank, ignored);
    out->log_det_ratio = eliminate(v, rank, b) - (double)rank * log(lambda);
    for (size_t a = 0; a < ARMS; a++) {
        double norm2 = 0.0;
        for (size_t j = 0; j < rank; j++) {
            out->mean[a] += z[a * rank + j] * b[j];
            norm2 += z[a * rank + j] * z[a * rank + j];
        }
        out->residual_sum += (double)counts[a] * (1.0 - norm2) / lambda;
        out->effective_dimension += (double)counts[a] * out->variance[a];
    }
    for (size_t j = 0; j < rank; j++)
        out->mean_norm += b[j] * b[j];
    out->mean_norm = sqrt(out->mean_norm);
    free(k);
    free(z);
    free(v);
    free(more);
}

#define assert_close(a, b, to) assert_true(fabs((a) - (b)) <= (to) * (1.0 + fabs(b)))

static void all_is_as_of_dense_matrices(void **state)
{
    static double rows[ARMS * D], mean[ARMS], variance[ARMS];
    static expected e;
    static bandit_arm_sum sums[ARMS / 2 + 1];
    const double lengthscale = 0.4, lambda = 0.05, width = 1.7;
    uint64_t random = 8;
    uint32_t dictionary[MEMBERS], some[] = {599, 0, 256, 300};
    bandit_error err;
    size_t versions_run = 0;
    (void)state;
    for (size_t i = 0; i < (size_t)ARMS * D; i++)
        rows[i] = dense_uniform(&random);
    for (uint32_t i = 0; i < MEMBERS; i++)
        dictionary[i] = 41 * i + 3;
    for (uint32_t i = 0; i < ARMS / 2; i++)
        sums[i] = (bandit_arm_sum){.arm = 2 * i, .count = 1 + i % 3, .sum = dense_normal(&random)};
    sums[ARMS / 2] = (bandit_arm_sum){.arm = 1, .count = 1, .sum = NAN}; /* not told */
    compute(&e, rows, lengthscale, lambda, dictionary, sums, ARMS / 2);
    bandit_arms *arms = make_arms(ARMS, D, rows);
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    for (size_t version = 0; version < VERSIONS; version++) {
        bandit_covariance covariance;
        bandit_posterior p = {0};
        bandit_prediction at_arms[4], at_points[4];
        double points[4 * D], log_det;
        must(bandit_covariance_init(&covariance, &kernel, arms, &err), &err);
        covariance.simd = bandit_simd_named(versions[version]);
        for (int plainly = 0; covariance.simd && plainly < 2; plainly++) {
            must(bandit_posterior_build(&p, &covariance, lambda, dictionary, MEMBERS, sums, ARMS / 2, &err),
                 &err);
            assert_int_equal(p.m, MEMBERS);
            assert_true(p.one_factor == !covariance.simd->two_norms);
            if (p.one_factor) { /* 16 roundings of each entry, and of the variance that they are taken from */
                size_t n = covariance.simd->norms ? bandit_simd_packed_size(p.m) : p.m * p.m;
                double entries = cblas_dnrm2((int)n, p.R, 1) / sqrt(lambda);
                assert_true(p.variance_error >= 16.0 * DBL_EPSILON * (entries + 1.0 / lambda));
                assert_true(p.variance_error <= 1e-9);
            }
            if (plainly)
                bandit_posterior_evaluate_plainly(&p);
            assert_close(p.residual_sum, e.residual_sum, 1e-9);
            assert_close(p.effective_dimension, e.effective_dimension, 1e-9);
            assert_close(p.log_det_ratio, e.log_det_ratio, 1e-9);
            assert_close(bandit_posterior_mean_norm(&p), e.mean_norm, 1e-8);
            must(bandit_posterior_log_det(&p, 3.0, &log_det, &err), &err);
            assert_close(log_det, e.log_det_three, 1e-9);
            must(bandit_posterior_evaluate_all(&p, &bandit_executor_serial, mean, variance, &err), &err);
            for (size_t a = 0; a < ARMS; a++) {
                assert_close(mean[a], e.mean[a], 1e-8);
                assert_close(variance[a], e.variance[a], 1e-8);
                assert_true(fabs(mean[a] - e.mean[a]) <= p.mean_error + 1e-8);
            }
            must(bandit_posterior_predict(&p, width, some, NULL, 4, at_arms, &err), &err);
            for (size_t i = 0; i < 4; i++)
                memcpy(points + i * D, rows + some[i] * D, D * sizeof *points);
            must(bandit_posterior_predict(&p, width, NULL, points, 4, at_points, &err), &err);
            for (size_t i = 0; i < 4; i++) {
                double v = e.variance[some[i]];
                assert_close(at_arms[i].mean, e.mean[some[i]], 1e-8);
                assert_close(at_arms[i].variance, lambda * v, 1e-8);
                assert_close(at_arms[i].ucb, e.mean[some[i]] + width * sqrt(v), 1e-8);
                assert_close(at_points[i].mean, at_arms[i].mean, 1e-12);
                assert_close(at_points[i].variance, at_arms[i].variance, 1e-12);
                assert_close(at_points[i].ucb, at_arms[i].ucb, 1e-12);
            }
            versions_run++;
        }
        bandit_posterior_clear(&p);
        bandit_covariance_clear(&covariance);
    }
    assert_true(versions_run >= 4); /* those that run anywhere */
    bandit_arms_free(arms);
}

/* FITC by its covariance of the means, Q + diag(K − Q) + lambda diag(1 / n), with Q = z'z: all arms are pulled. */
static void what_the_members_do_not_explain_is_noise(void **state)
{
    enum { N = 40, FEW = 6 };
    const double lengthscale = 0.3, lambda = 1e-6;
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    double rows[N * D], mean[N], variance[N];
    uint32_t dictionary[FEW];
    bandit_arm_sum sums[N];
    uint64_t random = 4;
    size_t rank;
    bandit_covariance covariance;
    bandit_posterior p = {.discounts = true};
    bandit_error err;
    (void)state;
    for (size_t i = 0; i < (size_t)N * D; i++)
        rows[i] = dense_uniform(&random);
    for (uint32_t i = 0; i < FEW; i++)
        dictionary[i] = 6 * i + 1;
    for (uint32_t i = 0; i < N; i++)
        sums[i] = (bandit_arm_sum){.arm = i, .count = 1 + i % 3, .sum = dense_normal(&random)};
    bandit_arms *arms = make_arms(N, D, rows);
    must(bandit_covariance_init(&covariance, &kernel, arms, &err), &err);
    must(bandit_posterior_build(&p, &covariance, lambda, dictionary, FEW, sums, N, &err), &err);
    must(bandit_posterior_evaluate_all(&p, &bandit_executor_serial, mean, variance, &err), &err);

    double *k = dense_gaussian(rows, N, D, lengthscale);
    double *z = dense_embedding(k, N, dictionary, FEW, &rank);
    for (size_t arm = 0; arm < N; arm++) {
        double a[N * N], weights[N], q[N], expected_mean = 0.0, explained = 0.0;
        for (size_t i = 0; i < N; i++) {
            for (size_t j = 0; j < N; j++) {
                a[j * N + i] = 0.0;
                for (size_t r = 0; r < rank; r++)
                    a[j * N + i] += z[i * rank + r] * z[j * rank + r];
            }
        }
        for (size_t i = 0; i < N; i++) {
            q[i] = weights[i] = a[arm * N + i];
            a[i * N + i] = 1.0 + lambda / (double)sums[i].count;
        }
        eliminate(a, N, weights);
        for (size_t i = 0; i < N; i++) {
            expected_mean += weights[i] * sums[i].sum / (double)sums[i].count;
            explained += weights[i] * q[i];
        }
        assert_close(mean[arm], expected_mean, 1e-6);
        assert_close(lambda * variance[arm], 1.0 - explained, 1e-6);
    }
    free(k);
    free(z);
    bandit_posterior_clear(&p);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* A member that others nearly tell changes a variance by what they do not tell, over lambda. */
static void a_member_counts_by_what_lambda_makes_of_it(void **state)
{
    const double rows[] = {0.0, 1e-6}, lengthscale = 1.0; /* 1 - k^2 is 1e-12 */
    const uint32_t dictionary[] = {0, 1};
    const bandit_arm_sum sums[] = {{.arm = 0, .count = 1, .sum = 1.0}};
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    bandit_arms *arms = make_arms(2, 1, rows);
    bandit_covariance covariance;
    bandit_posterior p = {0};
    bandit_error err;
    (void)state;
    must(bandit_covariance_init(&covariance, &kernel, arms, &err), &err);
    must(bandit_posterior_build(&p, &covariance, 1.0, dictionary, 2, sums, 1, &err), &err);
    assert_int_equal(p.m, 1);
    must(bandit_posterior_build(&p, &covariance, 1e-6, dictionary, 2, sums, 1, &err), &err);
    assert_int_equal(p.m, 2);
    bandit_posterior_clear(&p);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* Without a member there is the prior, and what is pulled adds to what is left out. */
static void without_members_there_is_the_prior(void **state)
{
    static double mean[ARMS], variance[ARMS];
    const double row[] = {2.0, 0.5, -1.0};
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_LINEAR};
    const bandit_arm_sum sums[] = {{.arm = 0, .count = 3, .sum = 1.0}, {.arm = 2, .count = 1, .sum = -4.0}};
    const uint32_t zero[] = {0, 1, 2};
    (void)state;
    for (int zeros = 0; zeros < 2; zeros++) { /* none, or members that are nothing */
        const double rows[] = {0.0, 0.0, 0.0};
        bandit_arms *arms = make_arms(3, 1, zeros ? rows : row);
        bandit_covariance covariance;
        bandit_posterior p = {0};
        bandit_prediction at[3];
        bandit_error err;
        double log_det = NAN;
        must(bandit_covariance_init(&covariance, &kernel, arms, &err), &err);
        must(bandit_posterior_build(&p, &covariance, 0.5, zero, zeros ? 3 : 0, sums, 2, &err), &err);
        assert_int_equal(p.m, 0);
        double left = zeros ? 0.0 : (3.0 * 4.0 + 1.0) / 0.5;
        assert_true(p.residual_sum == left && p.effective_dimension == left && p.log_det_ratio == 0.0);
        assert_true(bandit_posterior_mean_norm(&p) == 0.0 && p.mean_error == 0.0);
        must(bandit_posterior_log_det(&p, 2.0, &log_det, &err), &err);
        assert_true(log_det == 0.0);
        must(bandit_posterior_evaluate_all(&p, &bandit_executor_serial, mean, variance, &err), &err);
        must(bandit_posterior_predict(&p, 2.0, zero, NULL, 3, at, &err), &err);
        for (size_t a = 0; a < 3; a++) {
            double k = zeros ? 0.0 : row[a] * row[a];
            assert_true(mean[a] == 0.0 && variance[a] == k / 0.5);
            assert_true(at[a].mean == 0.0 && at[a].variance == k && at[a].ucb == 2.0 * sqrt(k / 0.5));
        }
        bandit_posterior_clear(&p);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
}

/* ---- negative variances -------------------------------------------------------------------------------- */

/* A variance may be below zero by what rounding explains: 1e-8 kappa^2 / lambda, or variance_error. */
static void the_smallest_variance_has_a_limit(void **state)
{
    const double row[] = {2.0, 0.5}; /* kappa^2 = 4 */
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_LINEAR};
    bandit_arms *arms = make_arms(2, 1, row);
    bandit_covariance covariance;
    bandit_posterior p = {.covariance = &covariance, .lambda = 0.5};
    bandit_error err;
    (void)state;
    must(bandit_covariance_init(&covariance, &kernel, arms, &err), &err);
    for (int large = 0; large < 2; large++) {
        double limit = large ? 1e-3 : 8e-8;
        p.variance_error = large ? limit : 1e-9;
        must(bandit_posterior_check_smallest(&p, INFINITY, 512, 88, &err), &err);
        must(bandit_posterior_check_smallest(&p, -0.999 * limit, 512, 88, &err), &err);
        assert_int_equal(bandit_posterior_check_smallest(&p, -1.001 * limit, 512, 88, &err),
                         BANDIT_NUMERICAL);
        assert_non_null(strstr(err.message, "arms 512 to 599"));
        assert_int_equal(bandit_posterior_check_smallest(&p, NAN, 0, 1, &err), BANDIT_NUMERICAL);
    }
    p.variance_error = 1e-3;
    must(bandit_posterior_check_smallest(&p, -1e-3, 0, 1, &err), &err); /* at it is not below it */
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* Three blocks of arms far from each other, all members in one of them, whose factors are made wrong: the
 * whole call fails, and names the block. */
static void a_wrong_factor_is_noticed_in_any_block(void **state)
{
    static double rows[ARMS], mean[ARMS], variance[ARMS];
    const double lengthscale = 0.3;
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    static const char *const where[] = {"arms 0 to 255", "arms 256 to 511", "arms 512 to"};
    bandit_error err;
    (void)state;
    for (size_t a = 0; a < ARMS; a++)
        rows[a] = 1000.0 * (double)(a / BLOCK) + (double)(a % BLOCK) / 64.0;
    bandit_arms *arms = make_arms(ARMS, 1, rows);
    for (size_t k = 0; k < VERSIONS * 6; k++) {
        uint32_t block = (uint32_t)(k % 3), dictionary[2] = {block * BLOCK + 5, block * BLOCK + 80};
        bool plainly = k % 6 >= 3;
        bandit_arm_sum sums[2] = {{.arm = dictionary[0], .count = 1, .sum = 0.5},
                                  {.arm = dictionary[1], .count = 2, .sum = -0.5}};
        bandit_covariance covariance;
        bandit_posterior p = {0};
        must(bandit_covariance_init(&covariance, &kernel, arms, &err), &err);
        covariance.simd = bandit_simd_named(versions[k / 6]);
        if (covariance.simd) {
            must(bandit_posterior_build(&p, &covariance, 0.1, dictionary, 2, sums, 2, &err), &err);
            if (plainly)
                bandit_posterior_evaluate_plainly(&p);
            must(bandit_posterior_evaluate_all(&p, &bandit_executor_serial, mean, variance, &err), &err);
            double *factor = p.one_factor ? p.R : p.L;
            size_t n = p.one_factor && covariance.simd->norms ? bandit_simd_packed_size(p.m) : p.m * p.m;
            for (size_t i = 0; i < n; i++)
                factor[i] *= p.one_factor ? 10.0 : 0.1;
            assert_int_equal(bandit_posterior_evaluate_all(&p, &bandit_executor_serial, mean, variance, &err),
                             BANDIT_NUMERICAL);
            if (!strstr(err.message, where[block]))
                fail_msg("%s: %s", versions[k / 6], err.message);
        }
        bandit_posterior_clear(&p);
        bandit_covariance_clear(&covariance);
    }
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_as_of_dense_matrices),
        cmocka_unit_test(what_the_members_do_not_explain_is_noise),
        cmocka_unit_test(a_member_counts_by_what_lambda_makes_of_it),
        cmocka_unit_test(without_members_there_is_the_prior),
        cmocka_unit_test(the_smallest_variance_has_a_limit),
        cmocka_unit_test(a_wrong_factor_is_noticed_in_any_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
