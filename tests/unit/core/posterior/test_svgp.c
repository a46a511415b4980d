/* Samples of the sparse variational posterior, and its bound, against [VPA21]'s formulas written out with
 * inverses of K_ZZ and B, and against the exact posterior with one row per pull. */
#include "core/posterior/svgp.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "core/posterior/dpp.h"
#include "core/selection/confidence.h"
#include "tests/support/repeats.h"
#include "tests/support/skip.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { N = 32, PULLED = 14, MAX = 64 };

static const double tau = 0.1;

typedef struct problem {
    bandit_arms *arms;
    bandit_kernel kernel;
    bandit_covariance covariance;
    bandit_arm_sum sums[PULLED];
    size_t t;
    size_t row_arm[MAX]; /* one a pull */
    double reward[MAX];
    double sum_squares;
} problem;

static double kernel_at(const problem *p, size_t a, size_t b)
{
    double s = 0.0, dot = 0.0;
    for (size_t j = 0; j < p->arms->dimension; j++) {
        double x = bandit_arms_feature(p->arms, a, j), y = bandit_arms_feature(p->arms, b, j);
        s += p->kernel.n_lengthscales ? pow((x - y) / p->kernel.lengthscales[0], 2.0) : 0.0;
        dot += x * y;
    }
    if (p->kernel.type == BANDIT_KERNEL_LINEAR)
        return dot;
    if (p->kernel.type == BANDIT_KERNEL_GAUSSIAN)
        return exp(-s / 2.0);
    return (1.0 + sqrt(5.0 * s) + 5.0 * s / 3.0) * exp(-sqrt(5.0 * s));
}

static void setup(problem *p, const bandit_kernel *kernel, size_t n, size_t d)
{
    double *rows = malloc(n * d * sizeof *rows);
    assert_non_null(rows);
    *p = (problem){.kernel = *kernel};
    for (size_t i = 0; i < n * d; i++)
        rows[i] = bandit_random_uniform(12, d, BANDIT_PURPOSE_UNIFORM, i);
    assert_int_equal(bandit_arms_new(&p->arms, n, d, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(p->arms, 0, n, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(p->arms, BANDIT_SCALING_NONE, n, NULL), BANDIT_OK);
    free(rows);
    assert_int_equal(bandit_covariance_init(&p->covariance, &p->kernel, p->arms, NULL), BANDIT_OK);
    for (size_t i = 0; i < PULLED; i++) {
        p->sums[i] = (bandit_arm_sum){.arm = (uint32_t)(2 * i + i % 2), .count = 1 + i % 3};
        for (size_t c = 0; c < p->sums[i].count; c++, p->t++) {
            double y = sin(3.0 * (double)i) + 0.3 * cos(7.0 * (double)p->t);
            p->row_arm[p->t] = p->sums[i].arm;
            p->reward[p->t] = y;
            p->sums[i].sum += y;
            p->sum_squares += y * y;
        }
    }
    assert_true(p->t <= MAX);
}

static void teardown(problem *p)
{
    bandit_covariance_clear(&p->covariance);
    bandit_arms_free(p->arms);
}

/* x = A^{-1} B for the symmetric n x n A and n x k B, by elimination; returns log det A. */
static double solve(size_t n, size_t k, double a[][MAX], double b[][MAX])
{
    double log_det = 0.0;
    for (size_t p = 0; p < n; p++) {
        log_det += log(a[p][p]);
        for (size_t i = 0; i < n; i++) {
            if (i == p)
                continue;
            double f = a[i][p] / a[p][p];
            for (size_t j = p; j < n; j++)
                a[i][j] -= f * a[p][j];
            for (size_t j = 0; j < k; j++)
                b[i][j] -= f * b[p][j];
        }
    }
    for (size_t p = 0; p < n; p++)
        for (size_t j = 0; j < k; j++)
            b[p][j] /= a[p][p];
    return log_det;
}

/* Titsias' posterior at the arms: A = K_ZZ^{-1} k_Z(x) and C = B^{-1} k_Z(x) give
 * mu = k_Z' B^{-1} b / tau and cov = k − k_Z' K_ZZ^{-1} k_Z' + k_Z' B^{-1} k_Z. */
static void reference(const problem *p, const uint32_t *z, size_t m, double *mean, double *cov)
{
    static double k_zz[MAX][MAX], big[MAX][MAX], a[MAX][MAX], c[MAX][MAX], k_zx[MAX][MAX];
    double b[MAX] = {0.0};
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            k_zz[i][j] = big[i][j] = kernel_at(p, z[i], z[j]);
            for (size_t s = 0; s < p->t; s++)
                big[i][j] += kernel_at(p, z[i], p->row_arm[s]) * kernel_at(p, z[j], p->row_arm[s]) / tau;
        }
        for (size_t s = 0; s < p->t; s++)
            b[i] += kernel_at(p, z[i], p->row_arm[s]) * p->reward[s];
        for (size_t x = 0; x < N; x++)
            a[i][x] = c[i][x] = k_zx[i][x] = kernel_at(p, z[i], x);
    }
    solve(m, N, k_zz, a);
    solve(m, N, big, c);
    for (size_t x = 0; x < N; x++) {
        mean[x] = 0.0;
        for (size_t i = 0; i < m; i++)
            mean[x] += c[i][x] * b[i] / tau;
        for (size_t y = 0; y < N; y++) {
            cov[x * N + y] = kernel_at(p, x, y);
            for (size_t i = 0; i < m; i++)
                cov[x * N + y] += k_zx[i][x] * (c[i][y] - a[i][y]);
        }
    }
}

/* Over 10^5 draws: mean mu and covariance alpha^2 times the variational posterior's, each within five
 * standard errors (measured). */
static void samples_have_the_variational_mean_and_covariance(void **state)
{
    static const double l = 0.4;
    const uint32_t inducing[] = {2, 9, 14, 21, 26};
    const size_t m = sizeof inducing / sizeof *inducing;
    const struct {
        bandit_kernel kernel;
        bandit_expansion expansion;
        size_t features;
    } cases[] = {
        {{BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0}, BANDIT_EXPANSION_FOURIER, 16},
        {{BANDIT_KERNEL_GAUSSIAN, 0, &l, 1, 0.0}, BANDIT_EXPANSION_EIGEN, 100},
        {{BANDIT_KERNEL_LINEAR, 0, NULL, 0, 0.0}, BANDIT_EXPANSION_LINEAR, 2},
    };
    const double alpha = 1.7;
    const size_t draws = repeats(100000, 5000);
    const double count = (double)draws;
    (void)state;
    for (size_t which = 0; which < sizeof cases / sizeof *cases; which++) {
        static double sum[N], square[N * N], fourth[N * N], mean[N], cov[N * N];
        problem p;
        bandit_posterior posterior = {0};
        bandit_features features;
        bandit_svgp_sampler sampler = {0};
        size_t members = cases[which].kernel.type == BANDIT_KERNEL_LINEAR ? 2 : m;
        setup(&p, &cases[which].kernel, N, 2);
        reference(&p, inducing, members, mean, cov);
        assert_int_equal(
            bandit_posterior_build(&posterior, &p.covariance, tau, inducing, members, p.sums, PULLED, NULL),
            BANDIT_OK);
        assert_int_equal(posterior.m, members);
        assert_int_equal(bandit_features_init(&features, cases[which].expansion, &p.covariance,
                                              cases[which].features, NULL),
                         BANDIT_OK);
        assert_int_equal(
            bandit_svgp_sampler_prepare(&sampler, &posterior, &features, &bandit_executor_serial, NULL),
            BANDIT_OK);
        memset(sum, 0, sizeof sum);
        memset(square, 0, sizeof square);
        memset(fourth, 0, sizeof fourth);
        for (uint64_t i = 0; i < draws; i++) {
            double f[N];
            bandit_svgp_draw(&sampler, alpha, 3, i / 7, i % 7);
            for (size_t tile = 0; tile < N / BANDIT_TILE; tile++)
                bandit_svgp_evaluate(&sampler, tile, f + tile * BANDIT_TILE, sampler.scratch);
            for (size_t a = 0; a < N; a++) {
                f[a] -= mean[a];
                sum[a] += f[a] / count;
                for (size_t b = 0; b <= a; b++) {
                    double product = f[a] * f[b];
                    square[a * N + b] += product / count;
                    fourth[a * N + b] += product * product / count;
                }
            }
        }
        double worst_mean = 0.0, worst = 0.0, range = 0.0;
        for (size_t a = 0; a < N; a++) {
            worst_mean = fmax(worst_mean, fabs(sum[a]) / sqrt(square[a * N + a] / count));
            range = fmax(range, fabs(cov[a * N + a] - kernel_at(&p, a, a)));
            for (size_t b = 0; b <= a; b++) {
                double s = square[a * N + b], error = sqrt((fourth[a * N + b] - s * s) / count);
                worst = fmax(worst, fabs(s - alpha * alpha * cov[a * N + b]) / error);
            }
        }
        print_message("[          ] case %zu: means within %.2f, covariances within %.2f standard errors\n",
                      which, worst_mean, worst);
        assert_true(worst_mean < 5.0 && worst < 5.0);
        assert_true(range > 0.05); /* the posterior is not the prior: the data do something */
        bandit_svgp_sampler_clear(&sampler);
        bandit_features_clear(&features);
        bandit_posterior_clear(&posterior);
        teardown(&p);
    }
}

/* log N(y; 0, K + tau I) with one row a pull; with `z` given, K is Q = K_XZ K_ZZ^{-1} K_ZX, less theta/2tau.
 */
static double direct_evidence(const problem *p, const uint32_t *z, size_t m)
{
    static double k_zz[MAX][MAX], a[MAX][MAX], q[MAX][MAX], y[MAX][MAX];
    double theta = 0.0, fit = 0.0;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++)
            k_zz[i][j] = kernel_at(p, z[i], z[j]);
        for (size_t s = 0; s < p->t; s++)
            a[i][s] = kernel_at(p, z[i], p->row_arm[s]);
    }
    solve(m, p->t, k_zz, a);
    for (size_t s = 0; s < p->t; s++) {
        for (size_t r = 0; r < p->t; r++) {
            q[s][r] = m == 0 ? kernel_at(p, p->row_arm[s], p->row_arm[r]) : 0.0;
            for (size_t i = 0; i < m; i++)
                q[s][r] += kernel_at(p, z[i], p->row_arm[s]) * a[i][r];
        }
        theta += kernel_at(p, p->row_arm[s], p->row_arm[s]) - q[s][s];
        q[s][s] += tau;
        y[s][0] = p->reward[s];
    }
    double log_det = solve(p->t, 1, q, y);
    for (size_t s = 0; s < p->t; s++)
        fit += p->reward[s] * y[s][0];
    return -0.5 * (fit + log_det + (double)p->t * log(2.0 * 3.14159265358979323846) + theta / tau);
}

static void the_bound_is_titsias_bound(void **state)
{
    static const double l = 0.5;
    const bandit_kernel kernels[] = {{BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0},
                                     {BANDIT_KERNEL_GAUSSIAN, 0, &l, 1, 0.0}};
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (size_t m = 1; m <= 7; m += 2) {
            const uint32_t inducing[] = {2, 9, 14, 21, 26, 0, 30};
            problem p;
            bandit_posterior posterior = {0};
            setup(&p, &kernels[k], N, 2);
            assert_int_equal(
                bandit_posterior_build(&posterior, &p.covariance, tau, inducing, m, p.sums, PULLED, NULL),
                BANDIT_OK);
            double bound = bandit_svgp_bound(&posterior, p.t, p.sum_squares);
            double direct = direct_evidence(&p, inducing, m);
            assert_true(fabs(bound - direct) < 1e-8 * fabs(direct));
            bandit_posterior_clear(&posterior);
            teardown(&p);
        }
    }
}

/* KL(q || exact posterior) = exact log evidence − bound: positive, falling as the greedy set grows, none left
 * when every pulled arm is an inducing point. */
static void divergence_falls_as_m_grows(void **state)
{
    static const double l = 0.3;
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0};
    uint32_t pulled[PULLED], z[PULLED];
    double last = INFINITY, first = 0.0;
    problem p;
    (void)state;
    setup(&p, &kernel, N, 2);
    for (size_t i = 0; i < PULLED; i++)
        pulled[i] = p.sums[i].arm;
    double evidence = direct_evidence(&p, NULL, 0);
    for (size_t m = 1; m <= PULLED; m++) {
        bandit_dpp_options options = {.k = m, .tolerance = 1e-12};
        bandit_posterior posterior = {0};
        size_t found = 0;
        assert_int_equal(bandit_dpp_greedy(&p.covariance, pulled, PULLED, &options, z, &found, NULL),
                         BANDIT_OK);
        assert_int_equal(found, m);
        assert_int_equal(bandit_posterior_build(&posterior, &p.covariance, tau, z, m, p.sums, PULLED, NULL),
                         BANDIT_OK);
        double divergence = evidence - bandit_svgp_bound(&posterior, p.t, p.sum_squares);
        assert_true(divergence < last && divergence > -1e-9);
        first = m == 1 ? divergence : first;
        last = divergence;
        bandit_posterior_clear(&posterior);
    }
    print_message("[          ] KL %.2f with one inducing point, %.1e with all\n", first, last);
    assert_true(first > 1.0 && last < 1e-8);
    teardown(&p);
}

/* The mean is a combination of the dictionary's kernel functions: its squared norm is m' K^{-1} m, m its
 * values there. */
static void norm_of_the_mean(void **state)
{
    static const double l = 0.5;
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0};
    const uint32_t inducing[] = {2, 9, 14, 21, 26, 0, 30, 5};
    enum { M = sizeof inducing / sizeof *inducing };
    static double k[MAX][MAX], solved[MAX][MAX];
    problem p;
    bandit_posterior posterior = {0};
    bandit_prediction means[M];
    (void)state;
    setup(&p, &kernel, N, 3);
    assert_int_equal(
        bandit_posterior_build(&posterior, &p.covariance, tau, inducing, M, p.sums, PULLED, NULL), BANDIT_OK);
    assert_int_equal(bandit_posterior_predict(&posterior, 0.0, inducing, NULL, M, means, NULL), BANDIT_OK);
    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < M; j++)
            k[i][j] = kernel_at(&p, inducing[i], inducing[j]);
        solved[i][0] = means[i].mean;
    }
    solve(M, 1, k, solved);
    double norm2 = 0.0;
    for (size_t i = 0; i < M; i++)
        norm2 += means[i].mean * solved[i][0];
    assert_true(norm2 > 0.1);
    assert_true(fabs(bandit_posterior_mean_norm(&posterior) - sqrt(norm2)) < 1e-9 * sqrt(norm2));
    bandit_posterior_clear(&posterior);
    teardown(&p);
}

/* What is told beside the engine's picks counts as if it had been there from the start: Lambda_1 of the first
 * half, and then of the second, is that of both, under one dictionary. */
static void log_sums_of_two_halves_add_up(void **state)
{
    static const double l = 0.5;
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0};
    const uint32_t dictionary[] = {2, 9, 14, 21, 26, 0, 30, 5};
    enum { M = sizeof dictionary / sizeof *dictionary, HALF = PULLED / 2 };
    problem p;
    bandit_posterior first = {0}, both = {0};
    bandit_log_sums sums, whole;
    bandit_result results[PULLED - HALF];
    (void)state;
    setup(&p, &kernel, N, 3);
    assert_int_equal(bandit_posterior_build(&first, &p.covariance, tau, dictionary, M, p.sums, HALF, NULL),
                     BANDIT_OK);
    assert_int_equal(bandit_posterior_build(&both, &p.covariance, tau, dictionary, M, p.sums, PULLED, NULL),
                     BANDIT_OK);
    for (size_t i = HALF; i < PULLED; i++)
        results[i - HALF] = (bandit_result){.arm = p.sums[i].arm, .repeats = (uint32_t)p.sums[i].count};
    assert_int_equal(bandit_log_sums_start(&sums, &first, NULL), BANDIT_OK);
    assert_int_equal(bandit_log_sums_start(&whole, &both, NULL), BANDIT_OK);
    assert_true(whole.c1 > sums.c1 + 1.0);
    assert_int_equal(bandit_log_sums_add(&sums, &first, results, PULLED - HALF, NULL), BANDIT_OK);
    assert_true(fabs(sums.c1 - whole.c1) < 1e-9 * whole.c1);
    assert_true(sums.c3 > sums.c1);
    bandit_posterior_clear(&first);
    bandit_posterior_clear(&both);
    teardown(&p);
}

/* Seconds of one sample and its argmax, the best of several. */
static double seconds_per_sample(size_t n)
{
    static const double l = 0.5;
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0};
    const uint32_t inducing[] = {2, 9, 14, 21, 26, 0, 30, 5};
    problem p;
    bandit_posterior posterior = {0};
    bandit_features features;
    bandit_svgp_sampler sampler = {0};
    double best = INFINITY;
    setup(&p, &kernel, n, 3);
    assert_int_equal(
        bandit_posterior_build(&posterior, &p.covariance, tau, inducing, 8, p.sums, PULLED, NULL), BANDIT_OK);
    assert_int_equal(bandit_features_init(&features, BANDIT_EXPANSION_FOURIER, &p.covariance, 256, NULL),
                     BANDIT_OK);
    assert_int_equal(
        bandit_svgp_sampler_prepare(&sampler, &posterior, &features, &bandit_executor_serial, NULL),
        BANDIT_OK);
    for (uint64_t i = 0; i < 7; i++) {
        uint32_t arm;
        clock_t start = clock();
        bandit_svgp_draw(&sampler, 1.0, 1, 0, i);
        assert_true(bandit_svgp_argmax(&sampler, &bandit_executor_serial, NULL, 0, &arm));
        best = fmin(best, (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    bandit_svgp_sampler_clear(&sampler);
    bandit_features_clear(&features);
    bandit_posterior_clear(&posterior);
    teardown(&p);
    return best;
}

/* A busy machine takes from the caches, and larger problems lose more. */
static void cost_of_a_sample_is_linear_in_the_arms(void **state)
{
    const size_t sizes[] = {16000, 32000, 64000, 128000};
    double x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
    (void)state;
    if (!in_full())
        skip_because("it takes time, for a quiet machine: set BANDIT_TEST_FULL=1");
    for (size_t i = 0; i < 4; i++) {
        double seconds = seconds_per_sample(sizes[i]);
        print_message("[          ] N = %zu: %.2f ms a sample\n", sizes[i], 1e3 * seconds);
        x += log((double)sizes[i]) / 4.0;
        y += log(seconds) / 4.0;
        xx += pow(log((double)sizes[i]), 2.0) / 4.0;
        xy += log((double)sizes[i]) * log(seconds) / 4.0;
    }
    double exponent = (xy - x * y) / (xx - x * x);
    print_message("[          ] exponent %.3f\n", exponent);
    assert_true(exponent > 0.75 && exponent < 1.25);
}

/* The argmax is the largest of the values, withheld arms and padding aside. */
static void argmax_skips_what_is_withheld(void **state)
{
    enum { MANY = 1003 };
    static const double l = 0.3;
    const bandit_kernel kernel = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0};
    const uint32_t inducing[] = {2, 9, 14};
    static double values[MANY + BANDIT_TILE];
    static uint32_t withheld[MANY];
    size_t n_withheld = 0;
    problem p;
    bandit_posterior posterior = {0};
    bandit_features features;
    bandit_svgp_sampler sampler = {0};
    (void)state;
    setup(&p, &kernel, MANY, 2);
    assert_int_equal(
        bandit_posterior_build(&posterior, &p.covariance, tau, inducing, 3, p.sums, PULLED, NULL), BANDIT_OK);
    assert_int_equal(bandit_features_init(&features, BANDIT_EXPANSION_FOURIER, &p.covariance, 64, NULL),
                     BANDIT_OK);
    assert_int_equal(
        bandit_svgp_sampler_prepare(&sampler, &posterior, &features, &bandit_executor_serial, NULL),
        BANDIT_OK);
    bandit_svgp_draw(&sampler, 1.0, 1, 2, 3);
    for (size_t tile = 0; tile * BANDIT_TILE < MANY; tile++)
        bandit_svgp_evaluate(&sampler, tile, values + tile * BANDIT_TILE, sampler.scratch);
    while (n_withheld < MANY) {
        uint32_t arm, best = UINT32_MAX;
        for (uint32_t a = 0, next = 0; a < MANY; a++) {
            if (next < n_withheld && withheld[next] == a)
                next++;
            else if (best == UINT32_MAX || values[a] > values[best])
                best = a;
        }
        assert_true(bandit_svgp_argmax(&sampler, &bandit_executor_serial, withheld, n_withheld, &arm));
        assert_int_equal(arm, best);
        /* withhold the best, and two out of three at the end to be done soon */
        size_t at = n_withheld++;
        for (; at > 0 && withheld[at - 1] > best; at--)
            withheld[at] = withheld[at - 1];
        withheld[at] = best;
        if (n_withheld == 300) {
            for (n_withheld = 0; n_withheld < MANY - 4; n_withheld++)
                withheld[n_withheld] = (uint32_t)n_withheld;
        }
    }
    uint32_t none;
    assert_false(bandit_svgp_argmax(&sampler, &bandit_executor_serial, withheld, n_withheld, &none));
    bandit_svgp_sampler_clear(&sampler);
    bandit_features_clear(&features);
    bandit_posterior_clear(&posterior);
    teardown(&p);
}

/* [VPA21] section 5.4. */
static void schedules(void **state)
{
    const double l = 1.0;
    const bandit_kernel matern = {BANDIT_KERNEL_MATERN, 2.5, &l, 1, 0.0},
                        rough = {BANDIT_KERNEL_MATERN, 0.5, &l, 1, 0.0},
                        middling = {BANDIT_KERNEL_MATERN, 1.5, &l, 1, 0.0},
                        gaussian = {BANDIT_KERNEL_GAUSSIAN, 0, &l, 1, 0.0},
                        linear = {.type = BANDIT_KERNEL_LINEAR};
    (void)state;
    assert_int_equal(bandit_svgp_inducing_for(&matern, BANDIT_POSTERIOR_FEATURES, 1, 10000), 7); /* T^{1/5} */
    assert_int_equal(bandit_svgp_inducing_for(&matern, BANDIT_POSTERIOR_SVGP, 1, 10000), 10);    /* T^{1/4} */
    assert_int_equal(bandit_svgp_inducing_for(&matern, BANDIT_POSTERIOR_SVGP, 2, 10000),
                     465); /* T^{2/3} = 464.2 */
    assert_int_equal(bandit_svgp_inducing_for(&rough, BANDIT_POSTERIOR_SVGP, 2, 10000), BANDIT_MAX_INDUCING);
    assert_int_equal(bandit_svgp_inducing_for(&middling, BANDIT_POSTERIOR_SVGP, 2, 13), 169); /* T^2 */
    assert_int_equal(bandit_svgp_inducing_for(&middling, BANDIT_POSTERIOR_SVGP, 3, 13), BANDIT_MAX_INDUCING);
    assert_int_equal(bandit_svgp_features_for(&matern, 1, 10000), 252); /* T^{3/5} = 251.2 */
    assert_int_equal(bandit_svgp_inducing_for(&gaussian, BANDIT_POSTERIOR_SVGP, 2, 10000),
                     10); /* ln T = 9.2 */
    assert_int_equal(bandit_svgp_features_for(&gaussian, 3, 10000), 782);
    assert_int_equal(bandit_svgp_inducing_for(&linear, BANDIT_POSTERIOR_SVGP, 7, 10000), 7);
    assert_int_equal(bandit_svgp_features_for(&linear, 7, 10000), 7);
    assert_int_equal(bandit_svgp_inducing_for(&gaussian, BANDIT_POSTERIOR_SVGP, 2, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_the_variational_mean_and_covariance),
        cmocka_unit_test(the_bound_is_titsias_bound),
        cmocka_unit_test(divergence_falls_as_m_grows),
        cmocka_unit_test(norm_of_the_mean),
        cmocka_unit_test(log_sums_of_two_halves_add_up),
        cmocka_unit_test(argmax_skips_what_is_withheld),
        cmocka_unit_test(cost_of_a_sample_is_linear_in_the_arms),
        cmocka_unit_test(schedules),
    };
    return cmocka_run_group_tests_name("svgp", tests, NULL, NULL);
}
