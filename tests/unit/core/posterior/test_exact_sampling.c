/* Thompson samples: their mean and covariance over many draws, entry by entry, against the posterior's from a
 * dense inverse, within confidence intervals that a wrong draw leaves at once; and the factor that
 * draws are made with. */
#include "core/posterior/exact_posterior.h"
#include "core/posterior/prior_sampler.h"

#include "bandit/rng.h"
#include "tests/support/repeats.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { D = 2, SEED = 21, WATCHED = 9, UNIQUE = 5 };

/* What is pulled, how often; WATCHED arms are compared: the pulled ones and others. */
static const bandit_pull pulls[UNIQUE] = {{.arm = 0, .repeats = 1, .reward = 0.3},
                                          {.arm = 3, .repeats = 20, .reward = -0.2},
                                          {.arm = 4, .repeats = 2, .reward = 0.9},
                                          {.arm = 7, .repeats = 1, .reward = 0.1},
                                          {.arm = 11, .repeats = 5, .reward = 0.5}};
static const uint32_t watched[WATCHED] = {0, 1, 2, 3, 4, 5, 7, 8, 11};

typedef struct setting {
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_exact *posterior;
    bandit_prior_sampler *sampler;
    double exact[WATCHED][WATCHED]; /* posterior covariance */
} setting;

static const double lambda = 0.05;

/* k − K (K_u + lambda diag(1/n))^{-1} K' for the watched arms, from the library's kernel entries alone. */
static void posterior_covariance(setting *s)
{
    double m[UNIQUE * UNIQUE], k[16 * (WATCHED + UNIQUE)], scratch[BANDIT_TILE * D];
    uint32_t columns[WATCHED + UNIQUE];
    bandit_points points = {0};
    for (size_t i = 0; i < WATCHED; i++)
        columns[i] = watched[i];
    for (size_t i = 0; i < UNIQUE; i++)
        columns[WATCHED + i] = pulls[i].arm;
    assert_int_equal(bandit_points_set(&points, &s->covariance, columns, WATCHED + UNIQUE, NULL), BANDIT_OK);

    double x[UNIQUE][WATCHED]; /* K_u,watched, then solved */
    bandit_covariance_block(&s->covariance, columns + WATCHED, UNIQUE, &points, k, 16, scratch);
    for (size_t i = 0; i < UNIQUE; i++) {
        for (size_t j = 0; j < WATCHED; j++)
            x[i][j] = k[j * 16 + i];
        for (size_t j = 0; j < UNIQUE; j++)
            m[i * UNIQUE + j] = k[(WATCHED + j) * 16 + i];
        m[i * UNIQUE + i] += lambda / (double)pulls[i].repeats;
    }
    double kx[UNIQUE][WATCHED];
    memcpy(kx, x, sizeof x);
    assert_int_equal(LAPACKE_dposv(LAPACK_ROW_MAJOR, 'L', UNIQUE, WATCHED, m, UNIQUE, &x[0][0], WATCHED), 0);
    bandit_covariance_block(&s->covariance, watched, WATCHED, &points, k, 16, scratch);
    for (size_t i = 0; i < WATCHED; i++) {
        for (size_t j = 0; j < WATCHED; j++) {
            s->exact[i][j] = k[j * 16 + i];
            for (size_t u = 0; u < UNIQUE; u++)
                s->exact[i][j] -= kx[u][i] * x[u][j];
        }
    }
    bandit_points_clear(&points);
}

static void open_setting(setting *s, const bandit_kernel *kernel, size_t n)
{
    double *x = malloc(n * D * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n * D; i++)
        x[i] = bandit_random_uniform(SEED, 0, BANDIT_PURPOSE_UNIFORM, i);
    x[D] = 2.5; /* arm 1 is far from all others, which say nothing of it */
    assert_int_equal(bandit_arms_new(&s->arms, n, D, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(s->arms, 0, n, x, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(s->arms, BANDIT_SCALING_NONE, n, NULL), BANDIT_OK);
    free(x);
    assert_int_equal(bandit_covariance_init(&s->covariance, kernel, s->arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_exact_new(&s->posterior, &s->covariance, lambda, NULL), BANDIT_OK);
    assert_int_equal(bandit_exact_reserve(s->posterior, UNIQUE, 0, 1, NULL), BANDIT_OK);
    bandit_exact_observe(s->posterior, pulls, UNIQUE, false, &bandit_executor_serial);
    assert_int_equal(bandit_prior_sampler_new(&s->sampler, &s->covariance, NULL), BANDIT_OK);
    posterior_covariance(s);
}

static void close_setting(setting *s)
{
    bandit_prior_sampler_free(s->sampler);
    bandit_exact_free(s->posterior);
    bandit_covariance_clear(&s->covariance);
    bandit_arms_free(s->arms);
}

/* Every entry of the mean (which is 0) and covariance of n draws within 4.5 standard errors; each error is
 * estimated from the draws themselves, so that a law that is not normal is judged fairly. 54 entries: chance
 * alone would fail 1 run in 2700, and the seed is fixed. */
static void check_draws(setting *s, size_t n)
{
    double sum[WATCHED] = {0.0}, products[WATCHED][WATCHED] = {{0.0}}, squares[WATCHED][WATCHED] = {{0.0}};
    double *f = aligned_alloc(64, bandit_exact_stride(s->posterior) * sizeof *f), noise[UNIQUE];
    assert_non_null(f);
    for (size_t draw = 0; draw < n; draw++) {
        bandit_prior_sampler_draw(s->sampler, SEED, 1, draw, &bandit_executor_serial, f);
        for (size_t j = 0; j < UNIQUE; j++)
            noise[j] = bandit_random_normal(SEED, 2, BANDIT_PURPOSE_POSTERIOR, draw * UNIQUE + j);
        bandit_exact_condition(s->posterior, f, noise, &bandit_executor_serial);
        for (size_t i = 0; i < WATCHED; i++) {
            sum[i] += f[watched[i]];
            for (size_t j = 0; j <= i; j++) {
                double product = f[watched[i]] * f[watched[j]];
                products[i][j] += product;
                squares[i][j] += product * product;
            }
        }
    }
    free(f);
    for (size_t i = 0; i < WATCHED; i++) {
        double count = (double)n;
        assert_true(fabs(sum[i] / count) < 4.5 * sqrt(s->exact[i][i] / count));
        for (size_t j = 0; j <= i; j++) {
            double mean = products[i][j] / count;
            double error = sqrt((squares[i][j] / count - mean * mean) / count);
            if (!(fabs(mean - s->exact[i][j]) < 4.5 * error))
                fail_msg("covariance (%zu, %zu): %g from %zu draws, %g +- %g", i, j, mean, n, s->exact[i][j],
                         error);
        }
    }
}

static const double lengthscale = 0.5;

static void a_dense_factor_draws_the_posterior(void **state)
{
    (void)state;
    static const double nus[] = {0.5, 2.5};
    for (size_t i = 0; i < 3; i++) {
        setting s;
        bandit_kernel kernel = {.type = i < 2 ? BANDIT_KERNEL_MATERN : BANDIT_KERNEL_GAUSSIAN,
                                .nu = i < 2 ? nus[i] : 0.0,
                                .lengthscales = &lengthscale,
                                .n_lengthscales = 1};
        open_setting(&s, &kernel, 30);
        assert_int_equal(bandit_prior_sampler_way(s.sampler), BANDIT_PRIOR_FACTOR);
        check_draws(&s, repeats(100000, 5000));
        close_setting(&s);
    }
}

static void linear_functions_draw_the_posterior(void **state)
{
    (void)state;
    setting s;
    open_setting(&s, &(bandit_kernel){.type = BANDIT_KERNEL_LINEAR}, 30);
    assert_int_equal(bandit_prior_sampler_way(s.sampler), BANDIT_PRIOR_LINEAR);
    check_draws(&s, repeats(100000, 5000));
    close_setting(&s);
}

/* More arms than a dense factor is made for. */
static void a_low_rank_factor_draws_the_posterior(void **state)
{
    (void)state;
    setting s;
    bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    open_setting(&s, &kernel, BANDIT_PRIOR_EXACT_ARMS + 100);
    assert_int_equal(bandit_prior_sampler_way(s.sampler), BANDIT_PRIOR_FACTOR);
    check_draws(&s, repeats(3000, 300));
    close_setting(&s);
}

static void random_features_draw_the_posteriors_moments(void **state)
{
    (void)state;
    setting s;
    bandit_kernel kernel = {
        .type = BANDIT_KERNEL_MATERN, .nu = 1.5, .lengthscales = &lengthscale, .n_lengthscales = 1};
    open_setting(&s, &kernel, BANDIT_PRIOR_EXACT_ARMS + 1);
    assert_int_equal(bandit_prior_sampler_way(s.sampler), BANDIT_PRIOR_RANDOM_FEATURES);
    check_draws(&s, repeats(300, 40));
    close_setting(&s);
}

/* A draw is a factor times normal numbers that are known, so that some draws tell the factor: F F' is the
 * kernel matrix but for 1e-10, by as few columns as that takes. */
static void draws_tell_their_factor(void **state)
{
    enum { MOST = 40, MANY = BANDIT_PRIOR_EXACT_ARMS + 75 };
    static const struct {
        bandit_kernel_type type;
        size_t n;
    } cases[] = {{BANDIT_KERNEL_MATERN, 30}, {BANDIT_KERNEL_GAUSSIAN, 30}, {BANDIT_KERNEL_GAUSSIAN, MANY}};
    static double x[MANY], f[(MOST + 1) * (MANY + BANDIT_TILE)], rows[MOST * MANY];
    (void)state;
    for (size_t a = 0; a < MANY; a++)
        x[a] = bandit_random_uniform(SEED, 7, BANDIT_PURPOSE_UNIFORM, a);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t n = cases[k].n, stride = MANY + BANDIT_TILE, rank = 0;
        const bandit_kernel kernel = {
            .type = cases[k].type, .nu = 0.5, .lengthscales = &lengthscale, .n_lengthscales = 1};
        bandit_arms *arms;
        bandit_covariance covariance;
        bandit_prior_sampler *sampler;
        assert_int_equal(bandit_arms_new(&arms, n, 1, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, n, x, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, NULL), BANDIT_OK);
        assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
        assert_int_equal(bandit_prior_sampler_new(&sampler, &covariance, NULL), BANDIT_OK);
        for (size_t draw = 0; draw <= MOST; draw++)
            bandit_prior_sampler_draw(sampler, SEED, 5, draw, &bandit_executor_serial, f + draw * stride);
        /* The rank is the least from which all further draws follow. */
        for (double worst = INFINITY; worst > 1e-9;) {
            double g[MOST * MOST];
            lapack_int pivots[MOST];
            assert_true(++rank <= MOST);
            for (size_t draw = 0; draw < rank; draw++) {
                for (size_t i = 0; i < rank; i++)
                    g[i * rank + draw] =
                        bandit_random_normal(SEED, 5, BANDIT_PURPOSE_POSTERIOR, ((uint64_t)draw << 40) + i);
                for (size_t a = 0; a < n; a++)
                    rows[a * rank + draw] = f[draw * stride + a];
            }
            assert_int_equal(LAPACKE_dgesv(LAPACK_COL_MAJOR, (lapack_int)rank, (lapack_int)n, g,
                                           (lapack_int)rank, pivots, rows, (lapack_int)rank),
                             0);
            worst = 0.0;
            for (size_t draw = rank; draw <= MOST; draw++) {
                for (size_t a = 0; a < n; a += 1 + n / 50) {
                    double sum = 0.0;
                    for (size_t i = 0; i < rank; i++)
                        sum += rows[a * rank + i] * bandit_random_normal(SEED, 5, BANDIT_PURPOSE_POSTERIOR,
                                                                         ((uint64_t)draw << 40) + i);
                    worst = fmax(worst, fabs(sum - f[draw * stride + a]));
                }
            }
        }
        double last = 0.0;
        for (size_t a = 0; a < n; a++) {
            last = fmax(last, rows[a * rank + rank - 1] * rows[a * rank + rank - 1]);
            for (size_t b = a % 7; b < n; b += b % 2 ? n / 10 : n / 15) {
                double r = fabs(x[a] - x[b]) / lengthscale, sum = 0.0;
                for (size_t i = 0; i < rank; i++)
                    sum += rows[a * rank + i] * rows[b * rank + i];
                double exact = cases[k].type == BANDIT_KERNEL_MATERN ? exp(-r) : exp(-0.5 * r * r);
                assert_true(fabs(sum - exact) < 1.1e-10);
            }
        }
        assert_true(last > (n > BANDIT_PRIOR_EXACT_ARMS ? 1e-10 : 1e-16));
        assert_true(cases[k].type == BANDIT_KERNEL_MATERN ? rank == n : rank < 25);
        bandit_prior_sampler_free(sampler);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
}

/* So that ties are ties, and go to the lowest index. */
static void equal_arms_have_equal_draws(void **state)
{
    (void)state;
    enum { N = 40 };
    double x[N];
    for (size_t a = 0; a < N; a++)
        x[a] = (double)(a % (N / 2)); /* every arm twice */
    bandit_arms *arms;
    bandit_covariance covariance;
    bandit_prior_sampler *sampler;
    bandit_kernel kernel = {
        .type = BANDIT_KERNEL_MATERN, .nu = 2.5, .lengthscales = &lengthscale, .n_lengthscales = 1};
    assert_int_equal(bandit_arms_new(&arms, N, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, N, x, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, N, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_prior_sampler_new(&sampler, &covariance, NULL), BANDIT_OK);
    for (uint64_t draw = 0; draw < 50; draw++) {
        double f[48];
        bandit_prior_sampler_draw(sampler, SEED, 0, draw, &bandit_executor_serial, f);
        for (size_t a = 0; a < N / 2; a++)
            assert_memory_equal(&f[a], &f[a + N / 2], sizeof *f);
    }
    bandit_prior_sampler_free(sampler);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_factor_draws_the_posterior),
        cmocka_unit_test(linear_functions_draw_the_posterior),
        cmocka_unit_test(a_low_rank_factor_draws_the_posterior),
        cmocka_unit_test(random_features_draw_the_posteriors_moments),
        cmocka_unit_test(draws_tell_their_factor),
        cmocka_unit_test(equal_arms_have_equal_draws),
    };
    openblas_set_num_threads(1); /* bits depend on it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
