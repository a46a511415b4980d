/* The sums of the global-local rule against their definition, one arm at a time, by covariances of embedded
 * arms; how many pulls a run has room for; how often a pick's column is computed, and how many are
 * kept. */
#include "core/selection/local_ratio.h"

#include "core/base/allocate.h"
#include "tests/support/must.h"
#include "tests/support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 600, PULLED = 40, MEMBERS = 25, KEPT = 32 /* columns, at this number of arms */ };

typedef struct model {
    random_problem problem;
    bandit_covariance covariance;
    bandit_posterior posterior;
    double mean[ARMS], variance[ARMS];
    double *z, *w;        /* ARMS x m */
    double sums[2][ARMS]; /* of squares, over all picks so far */
    bandit_local_ratio ratio;
} model;

static void open_model(model *x, uint64_t seed, bandit_kernel_type kernel, double lambda)
{
    uint32_t dictionary[MEMBERS];
    bandit_arm_sum sums[PULLED];
    bandit_error err;
    memset(x, 0, sizeof *x);
    random_problem_init(&x->problem, seed, ARMS, 2, kernel, lambda, 0);
    must(bandit_covariance_init(&x->covariance, &x->problem.options.kernel, x->problem.arms, &err), &err);
    for (uint32_t i = 0; i < PULLED; i++)
        sums[i] = (bandit_arm_sum){.arm = 14 * i + 3, .count = 1 + i % 3, .sum = sin(i)};
    for (uint32_t i = 0; i < MEMBERS; i++)
        dictionary[i] = sums[i].arm;
    must(bandit_posterior_build(&x->posterior, &x->covariance, lambda, dictionary, MEMBERS, sums, PULLED,
                                &err),
         &err);
    size_t m = x->posterior.m;
    must(bandit_posterior_evaluate_all(&x->posterior, &bandit_executor_serial, x->mean, x->variance, &err),
         &err);
    double *w = bandit_alloc(m, sizeof *w);
    double *scratch = bandit_alloc(bandit_posterior_scratch(&x->posterior), sizeof *scratch);
    x->z = calloc(ARMS * m, sizeof *x->z);
    x->w = calloc(ARMS * m, sizeof *x->w);
    assert_true(w && scratch && x->z && x->w);
    for (uint32_t a = 0; a < ARMS; a++) {
        bandit_posterior_embed(&x->posterior, a, w, scratch);
        for (size_t i = 0; i < m; i++) {
            x->w[a * m + i] = w[i];
            for (size_t k = 0; k <= i; k++) /* z = L_V w */
                x->z[a * m + i] += x->posterior.L_V[k * m + i] * w[k];
        }
    }
    free(w);
    free(scratch);
}

static void close_model(model *x)
{
    bandit_local_ratio_clear(&x->ratio);
    bandit_posterior_clear(&x->posterior);
    bandit_covariance_clear(&x->covariance);
    random_problem_clear(&x->problem);
    free(x->z);
    free(x->w);
}

static void start(model *x, double bound, size_t workers)
{
    bandit_error err;
    must(bandit_local_ratio_start(&x->ratio, &x->posterior, x->variance, bound, &err), &err);
    must(bandit_local_ratio_prepare(&x->ratio, workers, &err), &err);
    memset(x->sums, 0, sizeof x->sums);
}

/* One more pull, by the definition; the ratio after it. */
static double pull(model *x, size_t pick)
{
    size_t m = x->posterior.m;
    double most = 0.0;
    for (size_t a = 0; a < ARMS; a++) {
        double ww = 0.0, zz = 0.0;
        for (size_t i = 0; i < m; i++) {
            ww += x->w[a * m + i] * x->w[pick * m + i];
            zz += x->z[a * m + i] * x->z[pick * m + i];
        }
        double k = random_problem_kernel(&x->problem, a, pick);
        double covariance = (k - zz) / x->problem.options.lambda + ww;
        x->sums[0][a] += ww * ww;
        x->sums[1][a] += covariance * covariance;
        if (x->variance[a] > x->posterior.variance_error)
            most = fmax(most, fmax(x->sums[0][a], x->sums[1][a]) / x->variance[a]);
    }
    return 1.0 + most;
}

/* Counts the passes over all arms: two where a column is computed, one where a run begins with a kept one. */
static size_t passes;

static void count_passes(void *context, size_t n, bandit_task *task, void *arg)
{
    (void)context;
    passes++;
    for (size_t i = 0; i < n; i++)
        task(arg, n - 1 - i, i % 2);
}

static const bandit_executor counted = {.for_each = count_passes, .workers = 2};

/* For bounds just below and just above the ratio after every pull of a sequence with runs and returns. */
static void the_bound_is_exceeded_when_the_ratio_is(void **state)
{
    static const bandit_kernel_type kernels[] = {BANDIT_KERNEL_GAUSSIAN, BANDIT_KERNEL_MATERN,
                                                 BANDIT_KERNEL_LINEAR};
    static const uint32_t picks[] = {5, 5, 5, 300, 599, 5, 5, 0, 17, 17, 17, 17, 300, 300};
    enum { PICKS = sizeof picks / sizeof *picks };
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        model x;
        double ratios[PICKS];
        open_model(&x, 20 + i, kernels[i % 3], i < 3 ? 0.05 : 2.0);
        start(&x, 2.0, 1);
        for (size_t p = 0; p < PICKS; p++)
            ratios[p] = pull(&x, picks[p]);
        for (size_t p = 0; p < PICKS; p++) {
            for (int above = 0; above < 2; above++) {
                double bound = 1.0 + (ratios[p] - 1.0) * (above ? 1.0 + 1e-6 : 1.0 - 1e-6);
                start(&x, bound, 2);
                assert_false(bandit_local_ratio_exceeded(&x.ratio));
                for (size_t q = 0; q <= p; q++) {
                    bandit_local_ratio_add(&x.ratio, picks[q], 1, &counted);
                    if (bandit_local_ratio_exceeded(&x.ratio) != (ratios[q] > bound))
                        fail_msg("kernel %zu, pick %zu of %zu: ratio %.9g, bound %.9g", i, q, p, ratios[q],
                                 bound);
                }
            }
        }
        close_model(&x);
    }
}

/* Pulls added at once are pulls added one by one, also across the sums of other runs. */
static void repeats_count_as_often_as_they_are(void **state)
{
    (void)state;
    model x;
    open_model(&x, 31, BANDIT_KERNEL_GAUSSIAN, 0.5);
    start(&x, 1.0, 1);
    double ratio = 1.0;
    for (size_t i = 0; i < 40; i++)
        ratio = pull(&x, 77);
    for (size_t i = 0; i < 3; i++)
        ratio = pull(&x, 78);
    for (int above = 0; above < 2; above++) {
        start(&x, 1.0 + (ratio - 1.0) * (above ? 1.0 + 1e-6 : 1.0 - 1e-6), 1);
        bandit_local_ratio_add(&x.ratio, 77, 39, &bandit_executor_serial);
        bandit_local_ratio_add(&x.ratio, 77, 1, &bandit_executor_serial);
        bandit_local_ratio_add(&x.ratio, 78, 2, &bandit_executor_serial);
        assert_false(bandit_local_ratio_exceeded(&x.ratio));
        bandit_local_ratio_add(&x.ratio, 78, 1, &bandit_executor_serial);
        assert_int_equal(bandit_local_ratio_exceeded(&x.ratio), !above);
    }
    close_model(&x);
}

/* A pick whose column is kept costs one pass over the arms, a repeat none; what is kept are the columns of
 * the latest picks, and that of the run never makes room for another's. */
static void columns_are_computed_once(void **state)
{
    (void)state;
    model x;
    open_model(&x, 9, BANDIT_KERNEL_MATERN, 0.1);
    start(&x, 1e9, 2);
    passes = 0;
    for (uint32_t arm = 0; arm < KEPT; arm++) {
        bandit_local_ratio_add(&x.ratio, arm, 1, &counted);
        assert_int_equal(passes, 2 * (arm + 1));
        bandit_local_ratio_add(&x.ratio, arm, 1, &counted);
        assert_int_equal(passes, 2 * (arm + 1));
    }
    passes = 0;
    for (uint32_t arm = 0; arm < KEPT; arm++) {
        bandit_local_ratio_add(&x.ratio, arm, 1, &counted);
        assert_int_equal(passes, arm + 1);
    }
    /* The first is running when the ring comes round to it: the second goes, then the third. */
    bandit_local_ratio_add(&x.ratio, 0, 1, &counted);
    static const struct {
        uint32_t arm;
        size_t cost;
    } next[] = {{100, 2}, {0, 1},  {101, 2}, {3, 1}, {0, 1}, {100, 1},
                {101, 1}, {31, 1}, {1, 2},   {2, 2}, {0, 1}};
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        passes = 0;
        bandit_local_ratio_add(&x.ratio, next[i].arm, 1, &counted);
        if (passes != next[i].cost)
            fail_msg("pick %zu, of arm %u: %zu passes", i, next[i].arm, passes);
    }
    close_model(&x);
}

/* A variance that is no more than its error has no ratio; one just above it has. */
static void variances_within_rounding_count_as_one(void **state)
{
    (void)state;
    model x;
    open_model(&x, 12, BANDIT_KERNEL_GAUSSIAN, 0.1);
    for (size_t a = 0; a < ARMS; a++)
        x.variance[a] = a % 2 ? x.posterior.variance_error : 0.0;
    for (size_t last = 0; last < 2; last++) {
        if (last) /* in the last block */
            x.variance[ARMS - 1] = nextafter(x.posterior.variance_error, INFINITY);
        start(&x, 1.0, 1);
        for (uint32_t i = 1; i < 4; i++) {
            bandit_local_ratio_add(&x.ratio, ARMS - i, 2, &bandit_executor_serial);
            assert_int_equal(bandit_local_ratio_exceeded(&x.ratio), last);
        }
    }
    close_model(&x);
}

/* Columns are kept in 32 MiB: as many of the 32 as fit there, and two in any case. */
static void fewer_columns_of_more_arms_are_kept(void **state)
{
    static const size_t sizes[] = {1, 65536, 65537, 200001, 1048576, 1048577, 1500000};
    const double lengthscale = 1.0;
    const bandit_kernel kernel = {
        .type = BANDIT_KERNEL_GAUSSIAN, .lengthscales = &lengthscale, .n_lengthscales = 1};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const size_t n = sizes[i], mebibyte = 1 << 20;
        const uint32_t member = 0;
        double *rows = calloc(n, sizeof *rows);
        bandit_arms *arms;
        bandit_covariance covariance;
        bandit_posterior posterior = {0};
        bandit_local_ratio ratio = {0};
        bandit_error err;
        assert_non_null(rows);
        must(bandit_arms_new(&arms, n, 1, &err), &err);
        must(bandit_arms_set_rows(arms, 0, n, rows, &err), &err);
        must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, &err), &err);
        must(bandit_covariance_init(&covariance, &kernel, arms, &err), &err);
        must(bandit_posterior_build(&posterior, &covariance, 1.0, &member, 1, NULL, 0, &err), &err);
        must(bandit_local_ratio_start(&ratio, &posterior, rows, 2.0, &err), &err);
        size_t kept = ratio.n_columns, bytes = 2 * n * sizeof(double); /* of one */
        assert_true(kept >= 2 && kept <= KEPT);
        assert_true(kept == 2 || kept * bytes <= 32 * mebibyte);
        assert_true(kept == KEPT || (kept + 1) * bytes > 32 * mebibyte);
        assert_true(bandit_local_ratio_memory(&ratio) >= (kept + 1) * bytes);
        assert_true((double)bandit_local_ratio_memory(&ratio) < 1.2 * (double)((kept + 1) * bytes) + 4096.0);
        bandit_local_ratio_clear(&ratio);
        bandit_posterior_clear(&posterior);
        bandit_covariance_clear(&covariance);
        bandit_arms_free(arms);
        free(rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_is_exceeded_when_the_ratio_is),
        cmocka_unit_test(repeats_count_as_often_as_they_are),
        cmocka_unit_test(columns_are_computed_once),
        cmocka_unit_test(variances_within_rounding_count_as_one),
        cmocka_unit_test(fewer_columns_of_more_arms_are_kept),
    };
    return cmocka_run_group_tests_name("local ratio", tests, NULL, NULL);
}
