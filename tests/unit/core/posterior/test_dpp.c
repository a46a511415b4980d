/* The k-DPP sampler against all subsets of a small set, enumerated. */
#include "core/posterior/dpp.h"

#include "bandit/rng.h"
#include "core/base/linalg.h"
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

enum { N = 9, D = 2 };

static bandit_arms *points_in_the_plane(size_t n, uint64_t seed)
{
    bandit_arms *arms = NULL;
    double *rows = malloc(n * D * sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < n * D; i++)
        rows[i] = bandit_random_uniform(seed, 0, BANDIT_PURPOSE_UNIFORM, i);
    assert_int_equal(bandit_arms_new(&arms, n, D, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, n, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, NULL), BANDIT_OK);
    free(rows);
    return arms;
}

static double gaussian(const bandit_arms *arms, size_t a, size_t b, double l)
{
    double s = 0.0;
    for (size_t j = 0; j < D; j++) {
        double e = bandit_arms_feature(arms, a, j) - bandit_arms_feature(arms, b, j);
        s += e * e;
    }
    return exp(-s / (2.0 * l * l));
}

/* Determinant by elimination: small sets, written out plainly. */
static double determinant(const bandit_arms *arms, const uint32_t *set, size_t k, double l)
{
    double a[N][N], det = 1.0;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            a[i][j] = gaussian(arms, set[i], set[j], l);
    for (size_t p = 0; p < k; p++) {
        det *= a[p][p];
        for (size_t i = p + 1; i < k; i++)
            for (size_t j = k; j-- > p;)
                a[i][j] -= a[i][p] / a[p][p] * a[p][j];
    }
    return det;
}

/* Total variation distance between the sampler and the k-DPP is no more than samples of the k-DPP itself
 * would show. */
static void distance_from_the_exact_distribution(void **state)
{
    enum { K = 3, SETS = 1 << N };
    const size_t draws = repeats(20000, 10000);
    const double l = 0.3;
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &l, .n_lengthscales = 1};
    static double probability[SETS], frequency[SETS];
    bandit_arms *arms = points_in_the_plane(N, 5);
    bandit_covariance covariance;
    uint32_t ground[N], out[K];
    double total = 0.0, expected = 0.0, distance = 0.0, start = 0.0;
    size_t subsets = 0;
    (void)state;
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    for (uint32_t i = 0; i < N; i++)
        ground[i] = i;
    memset(frequency, 0, sizeof frequency);
    for (unsigned mask = 0; mask < SETS; mask++) {
        uint32_t set[N];
        size_t k = 0;
        for (uint32_t i = 0; i < N; i++) {
            if (mask >> i & 1)
                set[k++] = i;
        }
        probability[mask] = k == K ? determinant(arms, set, K, l) : 0.0;
        total += probability[mask];
    }
    for (uint64_t draw = 0; draw < draws; draw++) {
        bandit_dpp_options options = {.k = K, .steps = 200, .tolerance = 1e-10, .seed = 1, .batch = draw};
        size_t n = 0;
        unsigned mask = 0;
        assert_int_equal(bandit_dpp_sample(&covariance, ground, N, &options, out, &n, NULL), BANDIT_OK);
        assert_int_equal(n, K);
        for (size_t i = 0; i < K; i++) {
            assert_true(i == 0 || out[i] > out[i - 1]);
            mask |= 1u << out[i];
        }
        frequency[mask] += 1.0 / (double)draws;
    }
    for (unsigned mask = 0; mask < SETS; mask++) {
        double p = probability[mask] / total;
        if (p == 0.0)
            continue;
        subsets++;
        distance += 0.5 * fabs(frequency[mask] - p);
        expected += 0.5 * sqrt(2.0 / 3.141592653589793 * p * (1.0 - p) / (double)draws); /* mean |normal| */
        start = fmax(start, p);
    }
    print_message("[          ] %zu subsets: total variation %.4f, exact samples would show %.4f\n", subsets,
                  distance, expected);
    assert_int_equal(subsets, 84);
    assert_true(distance < 1.5 * expected);
    assert_true(1.0 - start > 20.0 * distance); /* the greedy start alone would be far off */
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* Exchanges update an inverse; what they leave behind must be what the same chain computed afresh gives. */
static void long_chains_keep_their_accuracy(void **state)
{
    enum { MANY = 300, K = 40, STEPS = 3000 };
    const double l = 0.25;
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &l, .n_lengthscales = 1};
    const bandit_dpp_options options = {.k = K, .steps = STEPS, .tolerance = 1e-10, .seed = 3, .batch = 7};
    bandit_arms *arms = points_in_the_plane(MANY, 11);
    bandit_covariance covariance;
    uint32_t ground[MANY], out[K], greedy[K], order[MANY];
    size_t n = 0, n_greedy = 0, accepted = 0;
    static double k_z[K * K], trial[K * K];
    (void)state;
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    for (uint32_t i = 0; i < MANY; i++)
        ground[i] = i;
    assert_int_equal(bandit_dpp_sample(&covariance, ground, MANY, &options, out, &n, NULL), BANDIT_OK);
    assert_int_equal(bandit_dpp_greedy(&covariance, ground, MANY, &options, greedy, &n_greedy, NULL),
                     BANDIT_OK);
    assert_true(n == n_greedy && n > 20);

    /* the same chain, each ratio from two Cholesky factors */
    size_t next = n;
    memcpy(order, greedy, n * sizeof *order);
    for (uint32_t i = 0; i < MANY; i++) {
        bool member = false;
        for (size_t j = 0; j < n; j++)
            member |= greedy[j] == i;
        if (!member)
            order[next++] = i;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            k_z[j * n + i] = gaussian(arms, order[i], order[j], l);
    memcpy(trial, k_z, sizeof trial);
    assert_int_equal(bandit_cholesky(trial, n, n, "K_Z", NULL), BANDIT_OK);
    double log_det = bandit_log_det(trial, n, n);
    for (uint64_t step = 0; step < STEPS; step++) {
        size_t leave = bandit_random_below(3, 7, BANDIT_PURPOSE_DPP, 3 * step, n);
        size_t enter = n + bandit_random_below(3, 7, BANDIT_PURPOSE_DPP, 3 * step + 1, MANY - n);
        double uniform = bandit_random_uniform(3, 7, BANDIT_PURPOSE_DPP, 3 * step + 2);
        uint32_t member = order[leave];
        order[leave] = order[enter];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                trial[j * n + i] = gaussian(arms, order[i], order[j], l);
        double proposed = -INFINITY;
        if (bandit_cholesky(trial, n, n, "K_Z", NULL) == BANDIT_OK)
            proposed = bandit_log_det(trial, n, n);
        if (uniform < exp(proposed - log_det)) {
            order[enter] = member;
            log_det = proposed;
            accepted++;
        } else {
            order[leave] = member;
        }
    }
    print_message("[          ] %zu members, %zu exchanges\n", n, accepted);
    assert_true(accepted > 100);
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t j = 0; j < n; j++)
            found |= out[j] == order[i];
        assert_true(found);
    }
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* Each greedy pick has the largest residual variance given those before it, computed from determinants. */
static void greedy_takes_the_largest_residual(void **state)
{
    enum { K = 6 };
    const double l = 0.4;
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &l, .n_lengthscales = 1};
    const bandit_dpp_options options = {.k = K, .tolerance = 1e-12};
    bandit_arms *arms = points_in_the_plane(N, 21);
    bandit_covariance covariance;
    const uint32_t ground[N] = {4, 2, 8, 0, 6, 1, 7, 5, 3};
    uint32_t out[K];
    size_t n = 0;
    (void)state;
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_dpp_greedy(&covariance, ground, N, &options, out, &n, NULL), BANDIT_OK);
    assert_int_equal(n, K);
    assert_int_equal(out[0], 4); /* all have variance 1: the first of the ground set */
    for (size_t i = 1; i < K; i++) {
        uint32_t set[K];
        memcpy(set, out, i * sizeof *set);
        set[i] = out[i];
        double taken = determinant(arms, set, i + 1, l);
        for (uint32_t other = 0; other < N; other++) {
            set[i] = other;
            assert_true(determinant(arms, set, i + 1, l) <= taken * (1.0 + 1e-9));
        }
    }
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* Heavy arms come first, but none that the others determine. */
static void greedy_takes_heavy_arms_first(void **state)
{
    enum { K = 5 };
    const double l = 0.4;
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &l, .n_lengthscales = 1};
    const double rows[] = {0.1, 0.1, 0.9, 0.2, 0.3, 0.8, 0.3, 0.8, 0.6, 0.5, 0.7, 0.9};
    const uint32_t ground[] = {0, 1, 2, 3, 4, 5}; /* 2 and 3 are the same point */
    const double weights[] = {1.0, 1.0, 1e100, 1e100, 1e100, 1.0};
    const bandit_dpp_options options = {.k = K, .tolerance = 1e-10, .weights = weights};
    bandit_arms *arms;
    bandit_covariance covariance;
    uint32_t out[K];
    size_t n = 0;
    (void)state;
    assert_int_equal(bandit_arms_new(&arms, 6, 2, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, 6, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 6, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_dpp_greedy(&covariance, ground, 6, &options, out, &n, NULL), BANDIT_OK);
    assert_int_equal(n, K);
    assert_int_equal(out[0], 2);
    assert_int_equal(out[1], 4);
    for (size_t i = 2; i < K; i++)
        assert_true(out[i] != 3);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* No step leaves the greedy set; one exchanges one member at most, and sometimes does. */
static void a_step_exchanges_one_member(void **state)
{
    enum { POINTS = 40, MEMBERS = 6 };
    bandit_arms *arms;
    bandit_covariance covariance;
    double rows[POINTS];
    uint32_t ground[POINTS], greedy[MEMBERS], out[MEMBERS];
    const double l = 0.1;
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_MATERN, .nu = 1.5, .lengthscales = &l, .n_lengthscales = 1};
    size_t n, exchanged = 0;
    (void)state;
    for (uint32_t i = 0; i < POINTS; i++) {
        rows[i] = fmod(0.618 * (double)(i + 1), 1.0);
        ground[i] = i;
    }
    assert_int_equal(bandit_arms_new(&arms, POINTS, 1, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, POINTS, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, POINTS, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    bandit_dpp_options options = {.k = MEMBERS, .tolerance = 1e-10, .seed = 5};
    assert_int_equal(bandit_dpp_sample(&covariance, ground, POINTS, &options, greedy, &n, NULL), BANDIT_OK);
    assert_int_equal(n, MEMBERS);
    for (uint64_t batch = 0; batch < 100; batch++) {
        size_t others = 0;
        options.batch = batch;
        options.steps = 0;
        assert_int_equal(bandit_dpp_sample(&covariance, ground, POINTS, &options, out, &n, NULL), BANDIT_OK);
        assert_memory_equal(out, greedy, sizeof out);
        options.steps = 1;
        assert_int_equal(bandit_dpp_sample(&covariance, ground, POINTS, &options, out, &n, NULL), BANDIT_OK);
        assert_int_equal(n, MEMBERS);
        for (size_t i = 0; i < MEMBERS; i++) {
            bool known = false;
            for (size_t k = 0; k < MEMBERS; k++)
                known |= greedy[k] == out[i];
            others += !known;
            assert_true(i == 0 || out[i - 1] < out[i]);
        }
        assert_true(others <= 1);
        exchanged += others;
    }
    assert_true(exchanged > 5 && exchanged < 95);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

static void sets_of_low_rank_are_smaller(void **state)
{
    const double rows[] = {1, 0, 2, 0, 3, 0, 0, 1, 1, 1}; /* rank 2 under the linear kernel */
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_LINEAR};
    const bandit_dpp_options options = {.k = 4, .steps = 50, .tolerance = 1e-10, .seed = 1};
    const uint32_t ground[] = {0, 1, 2, 3, 4};
    bandit_arms *arms = NULL;
    bandit_covariance covariance;
    uint32_t out[4];
    size_t n = 0;
    (void)state;
    assert_int_equal(bandit_arms_new(&arms, 5, 2, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_set_rows(arms, 0, 5, rows, NULL), BANDIT_OK);
    assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 5, NULL), BANDIT_OK);
    assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
    assert_int_equal(bandit_dpp_sample(&covariance, ground, 5, &options, out, &n, NULL), BANDIT_OK);
    assert_int_equal(n, 2);
    assert_false(out[0] <= 2 && out[1] <= 2); /* three multiples of one vector: never two of them */
    assert_int_equal(bandit_dpp_sample(&covariance, ground, 1, &options, out, &n, NULL), BANDIT_OK);
    assert_int_equal(n, 1);
    assert_int_equal(out[0], 0);
    bandit_covariance_clear(&covariance);
    bandit_arms_free(arms);
}

/* The tolerance is relative to the largest variance: of three arms of one length the third is near the first,
 * with a share of its variance left. Two of them by greed, and both in one sample, where that share is more.
 */
static void residuals_are_relative(void **state)
{
    enum { DRAWS = 400 };
    static const double lengths[] = {0.1, 1.0, 10.0};
    const bandit_kernel kernel = {.type = BANDIT_KERNEL_LINEAR};
    const uint32_t ground[] = {0, 1, 2};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        const double length = lengths[i / 2], left = 0.2, near = length * sqrt(1.0 - left);
        const double rows[] = {length, 0, 0, 0, length, 0, near, 0, length * sqrt(left)};
        const uint32_t alike[] = {0, 2};
        bandit_arms *arms = NULL;
        bandit_covariance covariance;
        uint32_t out[2];
        size_t n = 0, both = 0;
        bool more = i % 2;
        bandit_dpp_options options = {.k = 2, .steps = 30, .tolerance = more ? 0.8 * left : 1.25 * left};
        assert_int_equal(bandit_arms_new(&arms, 3, 3, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_set_rows(arms, 0, 3, rows, NULL), BANDIT_OK);
        assert_int_equal(bandit_arms_finish(arms, BANDIT_SCALING_NONE, 3, NULL), BANDIT_OK);
        assert_int_equal(bandit_covariance_init(&covariance, &kernel, arms, NULL), BANDIT_OK);
        assert_int_equal(bandit_dpp_greedy(&covariance, alike, 2, &options, out, &n, NULL), BANDIT_OK);
        assert_int_equal(n, more ? 2 : 1);
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            options.seed = draw;
            assert_int_equal(bandit_dpp_sample(&covariance, ground, 3, &options, out, &n, NULL), BANDIT_OK);
            assert_int_equal(n, 2);
            both += out[0] == 0 && out[1] == 2;
        }
        /* with probability 0.2 / 2.2, which is 36 times of 400 */
        assert_in_range(both, more ? 15 : 0, more ? 60 : 0);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_from_the_exact_distribution),
        cmocka_unit_test(long_chains_keep_their_accuracy),
        cmocka_unit_test(greedy_takes_the_largest_residual),
        cmocka_unit_test(greedy_takes_heavy_arms_first),
        cmocka_unit_test(a_step_exchanges_one_member),
        cmocka_unit_test(sets_of_low_rank_are_smaller),
        cmocka_unit_test(residuals_are_relative),
    };
    return cmocka_run_group_tests_name("dpp", tests, NULL, NULL);
}
