/* Bounds on all arms' variances from a former posterior's, against each arm evaluated alone. */
#include "core/selection/screening.h"

#include "core/selection/log_gain.h"
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

enum { ARMS = 700, PULLED = 60 };

/* Two posteriors of one study: the second knows more pulls and stands on another draw of members. */
typedef struct pair {
    random_problem problem;
    bandit_covariance covariance;
    bandit_posterior before, after;
    bandit_reference reference;
    bandit_arm_sum sums[PULLED];
    size_t n_sums;
    double mean[ARMS], variance[ARMS];    /* before's */
    double exact_mean[ARMS], exact[ARMS]; /* after's, one arm at a time */
} pair;

static void build(bandit_posterior *posterior, const pair *x, uint64_t draw, double kept, size_t n_sums)
{
    uint32_t dictionary[PULLED];
    size_t n = 0;
    bandit_error err;
    for (size_t u = 0; u < n_sums; u++) {
        if (n_sums - u == 1 || random_problem_uniform(&x->problem, draw, u) < kept)
            dictionary[n++] = x->sums[u].arm;
    }
    must(bandit_posterior_build(posterior, &x->covariance, x->problem.options.lambda, dictionary, n, x->sums,
                                n_sums, &err),
         &err);
}

static void open_pair(pair *x, size_t i, double kept)
{
    static const double lambdas[] = {1e-8, 1e-4, 1e-2, 1.0, 10.0};
    static const unsigned trouble[] = {0, PROBLEM_DUPLICATES, PROBLEM_GRID, PROBLEM_CONSTANT};
    static const bandit_kernel_type kernels[] = {BANDIT_KERNEL_GAUSSIAN, BANDIT_KERNEL_MATERN,
                                                 BANDIT_KERNEL_LINEAR};
    bandit_error err;
    memset(x, 0, sizeof *x);
    random_problem_init(&x->problem, 40 + i, ARMS, 1 + i % 5, kernels[i % 3], lambdas[i / 2 % 5],
                        trouble[i / 3 % 4]);
    must(bandit_covariance_init(&x->covariance, &x->problem.options.kernel, x->problem.arms, &err), &err);
    for (uint32_t arm = (uint32_t)(i % 7); arm < ARMS && x->n_sums < PULLED; arm += ARMS / PULLED) {
        uint64_t count = 1 + (uint64_t)(6.0 * random_problem_uniform(&x->problem, 77, arm));
        x->sums[x->n_sums++] = (bandit_arm_sum){
            .arm = arm, .count = count, .sum = (double)count * random_problem_reward(&x->problem, arm, arm)};
    }
    build(&x->before, x, 1, kept, x->n_sums * 3 / 4);
    must(bandit_posterior_evaluate_all(&x->before, &bandit_executor_serial, x->mean, x->variance, &err),
         &err);
    if (x->before.one_factor)
        must(bandit_reference_keep(&x->reference, &x->before, x->variance, &err), &err);
    build(&x->after, x, 2, kept, x->n_sums);

    double *w = malloc(PULLED * sizeof *w);
    double *scratch = malloc(bandit_posterior_scratch(&x->after) * sizeof *scratch);
    assert_true(w && scratch);
    for (uint32_t a = 0; a < ARMS; a++) {
        bandit_embedding e = bandit_posterior_embed(&x->after, a, w, scratch);
        x->exact_mean[a] = e.mean;
        x->exact[a] = e.residual + e.norm2;
    }
    free(w);
    free(scratch);
}

static void close_pair(pair *x)
{
    bandit_posterior_clear(&x->before);
    bandit_posterior_clear(&x->after);
    bandit_reference_clear(&x->reference);
    bandit_covariance_clear(&x->covariance);
    random_problem_clear(&x->problem);
}

/* No arm's variance exceeds ratio times the reference's, and the ratio is not idle: where it is above the
 * first that is tried, it is at most a step, or twice the rounding, above what some direction needs. */
static void ratios_hold_for_every_arm(void **state)
{
    size_t proved = 0, tried = 0;
    double largest = 0.0;
    (void)state;
    for (size_t i = 0; i < 90; i++) {
        static const double shares[] = {1.0, 0.8, 0.5};
        pair x;
        bandit_error err;
        double ratio;
        open_pair(&x, i, shares[i / 4 % 3]);
        if (x.reference.kept && x.after.one_factor) {
            tried++;
            must(bandit_reference_compare(&x.reference, &x.after, &ratio, &err), &err);
            proved += isfinite(ratio) ? 1 : 0;
            for (size_t a = 0; a < ARMS && isfinite(ratio); a++) {
                double bound = ratio * (x.variance[a] + x.before.variance_error);
                if (x.exact[a] > bound + x.after.variance_error)
                    fail_msg("problem %zu: arm %zu has variance %.15g, not at most %.15g", i, a, x.exact[a],
                             bound);
                if (x.variance[a] > 1e3 * x.before.variance_error)
                    largest = fmax(largest, x.exact[a] / x.variance[a]);
            }
        }
        close_pair(&x);
    }
    print_message("%zu of %zu comparisons proved; an arm's variance grows %.2f times at most\n", proved,
                  tried, largest);
    assert_true(tried > 60 && 2 * proved > tried);
    assert_true(largest > 1.3); /* the bounds are put to the test */
}

/* More data on the same members only takes variance away: the first rung is proved. A member that is gone
 * leaves no bound: the reference knew one direction nearly exactly, which the new posterior does not. */
static void the_ratio_follows_the_dictionary(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        pair x;
        bandit_error err;
        double same, again, gone;
        open_pair(&x, 12 * i + 1, 1.0); /* Matérn kernels, no trouble */
        x.problem.options.lambda = 0.01;
        x.sums[0].count = 100000;
        bandit_posterior_clear(&x.before);
        build(&x.before, &x, 1, 1.0, 20);
        must(bandit_posterior_evaluate_all(&x.before, &bandit_executor_serial, x.mean, x.variance, &err),
             &err);
        must(bandit_reference_keep(&x.reference, &x.before, x.variance, &err), &err);
        for (size_t u = 0; u < x.n_sums; u++)
            x.sums[u].count *= 3;
        bandit_posterior_clear(&x.after);
        build(&x.after, &x, 1, 1.0, 20);
        for (int k = 0; k < 16; k++)
            must(bandit_reference_compare(&x.reference, &x.after, &same, &err), &err);
        must(bandit_reference_compare(&x.reference, &x.after, &again, &err), &err);
        assert_true(same == again && same <= 1.05);
        const bandit_reference *r = &x.reference;
        size_t doubles = r->capacity_L + r->capacity_F + r->capacity_gram + r->capacity_variance +
                         r->capacity_work + r->points.capacity_features;
        assert_int_equal(bandit_reference_memory(r), 8 * doubles + 4 * r->points.capacity);

        bandit_posterior_clear(&x.after);
        build(&x.after, &x, 1, 0.0, 6); /* the sixth arm is its only member */
        must(bandit_reference_compare(&x.reference, &x.after, &gone, &err), &err);
        assert_true(isinf(gone));
        close_pair(&x);
    }
}

/* Two posteriors on the same single arm, k = 1, the second with fewer pulls: its variance is 1 / (n +
 * lambda), so that what is needed is known. What is answered suffices and is no more than a quarter above,
 * however far the last answer was; beyond four there is none. */
static void the_ratio_is_what_is_needed(void **state)
{
    pair x;
    bandit_error err;
    bandit_posterior few = {0};
    bandit_arm_sum sum;
    size_t proved = 0;
    (void)state;
    open_pair(&x, 1, 1.0);
    assert_true(fabs(x.covariance.kappa2 - 1.0) < 1e-15);
    const uint32_t member = x.sums[0].arm;
    sum = (bandit_arm_sum){.arm = member, .count = 1000000, .sum = 0.0};
    bandit_posterior_clear(&x.before);
    must(bandit_posterior_build(&x.before, &x.covariance, 0.5, &member, 1, &sum, 1, &err), &err);
    must(bandit_posterior_evaluate_all(&x.before, &bandit_executor_serial, x.mean, x.variance, &err), &err);
    must(bandit_reference_keep(&x.reference, &x.before, x.variance, &err), &err);
    for (size_t k = 0; k < 400; k++) {
        double wanted = k % 2 ? 1.0 + 3.2 * (double)k / 400.0 : 4.2 - 3.2 * (double)k / 400.0, ratio = 0.0;
        sum.count = (uint64_t)(1e6 / wanted);
        double needed = (1e6 + 0.5) / ((double)sum.count + 0.5);
        must(bandit_posterior_build(&few, &x.covariance, 0.5, &member, 1, &sum, 1, &err), &err);
        for (int again = 0; again < 16; again++) /* from where the last one ended, a step at a time */
            must(bandit_reference_compare(&x.reference, &few, &ratio, &err), &err);
        if (needed < 3.99) {
            assert_true(ratio >= needed && ratio <= 1.2501 * fmax(1.0, needed));
            proved++;
        } else if (needed > 4.01) {
            assert_true(isinf(ratio));
        }
    }
    assert_true(proved > 300);
    bandit_posterior_clear(&few);
    close_pair(&x);
}

/* Parts in a scrambled order on changing workers. */
static void scrambled(void *context, size_t n, bandit_task *task, void *arg)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        task(arg, n - 1 - i, i % 3);
}

/* Means are those of all arms evaluated; a variance is that, or a bound of an arm that cannot matter. */
static void screened_arms_do_not_matter(void **state)
{
    static const char *const names[] = {"avx512", "avx2", "portable"};
    const bandit_executor executor = {.for_each = scrambled, .workers = 3};
    size_t left_out = 0, evaluated = 0;
    (void)state;
    for (size_t i = 0; i < 90; i++) {
        const bandit_simd *version = bandit_simd_named(names[i % 3]);
        pair x;
        bandit_error err;
        double all_mean[ARMS], all[ARMS], mean[ARMS], variance[ARMS], mean_2[ARMS], variance_2[ARMS];
        bool done = false, done_2 = false;
        if (!version)
            continue;
        open_pair(&x, i, i % 2 ? 1.0 : 0.7);
        x.covariance.simd = version;
        build(&x.after, &x, 2, i % 2 ? 1.0 : 0.7, x.n_sums);
        bandit_screen screen = {.reference = &x.reference,
                                .alpha = 0.3 * sqrt(x.problem.options.lambda),
                                .shrinkage = 1.4,
                                .pulled = x.sums,
                                .n_pulled = x.n_sums};
        if (x.reference.kept && x.after.one_factor) {
            must(bandit_reference_compare(&x.reference, &x.after, &screen.ratio, &err), &err);
            if (isfinite(screen.ratio)) {
                must(bandit_posterior_evaluate_all(&x.after, &executor, all_mean, all, &err), &err);
                must(bandit_screening_evaluate(&x.after, &screen, &bandit_executor_serial, mean, variance,
                                               &done, &err),
                     &err);
                must(bandit_screening_evaluate(&x.after, &screen, &executor, mean_2, variance_2, &done_2,
                                               &err),
                     &err);
                assert_int_equal(done, done_2);
            }
        }
        double best = -INFINITY;
        for (size_t u = 0; done && u < x.n_sums; u++) {
            size_t a = x.sums[u].arm;
            best = fmax(best, all_mean[a] + screen.alpha * sqrt(all[a] / screen.shrinkage));
            assert_true(variance[a] >= 0.0);
        }
        for (size_t a = 0; done && a < ARMS; a++) {
            assert_memory_equal(&mean[a], &mean_2[a], sizeof(double));
            assert_memory_equal(&variance[a], &variance_2[a], sizeof(double));
            assert_true(fabs(mean[a] - all_mean[a]) <= 2.0 * x.after.mean_error);
            if (variance[a] >= 0.0) {
                evaluated++;
                assert_true(fabs(variance[a] - all[a]) <= 2.0 * x.after.variance_error);
            } else {
                left_out++;
                assert_true(-variance[a] + x.after.variance_error >= x.exact[a]);
                assert_true(x.exact_mean[a] + screen.alpha * sqrt(x.exact[a]) <
                            best + 4.0 * x.after.mean_error + screen.alpha * sqrt(x.after.variance_error));
            }
        }
        close_pair(&x);
    }
    print_message("%zu arms left out, %zu evaluated\n", left_out, evaluated);
    assert_true(left_out > 5000 && evaluated > 1000);
}

/* By the first rows of R: what is evaluated has the bits that it has among all arms, and the bound of what is
 * not holds, however early its tile ended. */
static void screened_by_rows(void **state)
{
    static const char *const names[] = {"avx512", "avx2"};
    const bandit_executor executor = {.for_each = scrambled, .workers = 3};
    size_t left_out = 0, evaluated = 0, idle = 0, versions = 0;
    (void)state;
    for (size_t i = 0; i < 90; i++) {
        const bandit_simd *version = bandit_simd_named(names[i % 2]);
        pair x;
        bandit_error err;
        double all_mean[ARMS], all[ARMS], mean[ARMS], variance[ARMS], best = -INFINITY;
        bool done;
        if (!version)
            continue;
        versions++;
        open_pair(&x, i, 1.0);
        x.covariance.simd = version;
        bandit_posterior_clear(&x.after);
        build(&x.after, &x, 2, 1.0, x.n_sums);
        bandit_screen screen = {.alpha = 0.3 * sqrt(x.problem.options.lambda),
                                .shrinkage = 1.4,
                                .pulled = x.sums,
                                .n_pulled = x.n_sums};
        if (!bandit_screening_by_rows_pays(&x.after, 1)) {
            close_pair(&x);
            continue;
        }
        must(bandit_posterior_evaluate_all(&x.after, &executor, all_mean, all, &err), &err);
        must(bandit_screening_evaluate(&x.after, &screen, &executor, mean, variance, &done, &err), &err);
        assert_true(done);
        assert_memory_equal(mean, all_mean, sizeof mean);
        for (size_t u = 0; u < x.n_sums; u++) {
            size_t a = x.sums[u].arm;
            best = fmax(best, mean[a] + screen.alpha * sqrt(all[a] / screen.shrinkage));
            assert_true(variance[a] >= 0.0);
        }
        for (size_t a = 0; a < ARMS; a++) {
            if (!signbit(variance[a])) {
                evaluated++;
                assert_memory_equal(&variance[a], &all[a], sizeof(double));
            } else {
                left_out++;
                idle += -variance[a] > all[a];
                assert_true(-variance[a] >= all[a]);
                assert_true(-variance[a] + x.after.variance_error >= x.exact[a]);
                assert_true(mean[a] + screen.alpha * sqrt(-variance[a]) <= best + 1e-12 * (1.0 + fabs(best)));
            }
        }
        close_pair(&x);
    }
    print_message("%zu arms left out, %zu of them before the last row; %zu evaluated\n", left_out, idle,
                  evaluated);
    assert_true(versions == 0 || (left_out > 5000 && idle > 5000 && evaluated > 1000));
}

/* By the log gain, with a reference and by rows: what is evaluated has the bits that it has among all arms, and the
 * bounds of what is not hold. The arm with the largest gain is mostly among those evaluated. */
static void screened_by_gain(void **state)
{
    const bandit_executor executor = {.for_each = scrambled, .workers = 3};
    size_t left_out = 0, evaluated = 0, screens = 0, found = 0;
    (void)state;
    for (size_t i = 0; i < 60; i++) {
        pair x;
        bandit_error err;
        double all_mean[ARMS], all[ARMS], mean[ARMS], variance[ARMS], incumbent = -INFINITY, best = -INFINITY;
        bool done = false, by_rows = i % 2;
        size_t top = 0;
        open_pair(&x, i, 1.0);
        bandit_posterior_clear(&x.after);
        build(&x.after, &x, 2, 1.0, x.n_sums);
        bandit_screen screen = {.by_gain = true, .pulled = x.sums, .n_pulled = x.n_sums};
        if (by_rows ? bandit_screening_by_rows_pays(&x.after, 1) : x.reference.kept && x.after.one_factor) {
            screen.reference = by_rows ? NULL : &x.reference;
            if (!by_rows)
                must(bandit_reference_compare(&x.reference, &x.after, &screen.ratio, &err), &err);
            must(bandit_posterior_evaluate_all(&x.after, &executor, all_mean, all, &err), &err);
            if (isfinite(screen.ratio))
                must(bandit_screening_evaluate(&x.after, &screen, &executor, mean, variance, &done, &err),
                     &err);
        }
        for (size_t u = 0; done && u < x.n_sums; u++) {
            incumbent = fmax(incumbent, all_mean[x.sums[u].arm]);
            assert_true(!signbit(variance[x.sums[u].arm]));
        }
        for (size_t a = 0; done && a < ARMS; a++) {
            double gain = bandit_log_gain(all_mean[a] - incumbent, all[a], x.after.lambda, 1e-12);
            top = gain > best ? a : top;
            best = fmax(best, gain);
            assert_memory_equal(&mean[a], &all_mean[a], sizeof(double));
            left_out += signbit(variance[a]) != 0;
            if (signbit(variance[a]))
                assert_true(-variance[a] + x.after.variance_error >= all[a]);
            else
                assert_memory_equal(&variance[a], &all[a], sizeof(double));
        }
        evaluated += done && !signbit(variance[top]);
        found += done;
        screens += done;
        close_pair(&x);
    }
    print_message("%zu arms left out of %zu; the best evaluated in %zu\n", left_out, screens * ARMS,
                  evaluated);
    assert_true(screens > 10 && left_out > screens * ARMS / 5);
    assert_true(evaluated >= found - found / 10);
}

/* Where nearly all arms may be the best, none is left out. */
static void wide_bounds_are_not_screened(void **state)
{
    pair x;
    bandit_error err;
    double mean[ARMS], variance[ARMS];
    bool done = true;
    (void)state;
    open_pair(&x, 15, 1.0);
    assert_true(x.reference.kept && x.after.one_factor);
    bandit_screen screen = {.reference = &x.reference,
                            .ratio = 4.0,
                            .alpha = 1e3,
                            .shrinkage = 4.0,
                            .pulled = x.sums,
                            .n_pulled = x.n_sums};
    must(bandit_screening_evaluate(&x.after, &screen, &bandit_executor_serial, mean, variance, &done, &err),
         &err);
    assert_false(done);
    close_pair(&x);
}

static bool count_pause(void *context)
{
    ++*(size_t *)context;
    return false;
}

/* Those of the arms that are only bounded get the variance that they have among all arms; the others stay. There is a
 * checkpoint for each tile. */
static void bounds_are_sharpened(void **state)
{
    enum { ASKED = 200 };
    (void)state;
    pair x;
    bandit_error err;
    double mean[ARMS], all[ARMS], variance[ARMS];
    uint32_t arms[ASKED];
    size_t pauses = 0, loose = 0;
    open_pair(&x, 15, 1.0);
    assert_true(x.after.one_factor);
    must(bandit_posterior_evaluate_all(&x.after, &bandit_executor_serial, mean, all, &err), &err);
    for (size_t a = 0; a < ARMS; a++)
        variance[a] = a % 3 == 0 ? 7.0 : -2.0 * all[a] - 1.0;
    for (size_t i = 0; i < ASKED; i++) {
        arms[i] = (uint32_t)(2 * i);
        loose += arms[i] % 3 != 0;
    }
    double *scratch =
        aligned_alloc(64, bandit_aligned_doubles(bandit_screening_scratch(&x.after)) * sizeof(double));
    assert_non_null(scratch);
    bandit_on_pause(count_pause, &pauses);
    bandit_screening_sharpen(&x.after, arms, ASKED, variance, scratch);
    bandit_on_pause(NULL, NULL);
    free(scratch);
    assert_int_equal(pauses, (loose + BANDIT_TILE - 1) / BANDIT_TILE);
    for (size_t a = 0; a < ARMS; a++) {
        if (a % 3 == 0)
            assert_true(variance[a] == 7.0);
        else if (a % 2 == 0 && a < (size_t)2 * ASKED)
            assert_true(fabs(variance[a] - all[a]) <= 2.0 * x.after.variance_error);
        else
            assert_true(variance[a] == -2.0 * all[a] - 1.0);
    }
    close_pair(&x);
}

static void who_is_screened(void **state)
{
    pair x;
    (void)state;
    open_pair(&x, 12, 0.0); /* one member */
    assert_true(x.after.one_factor && x.after.m <= ARMS / 128);
    assert_true(bandit_screening_pays(&x.after, ARMS / 8));
    assert_false(bandit_screening_pays(&x.after, ARMS / 8 + 1));
    bandit_posterior_evaluate_plainly(&x.after);
    assert_false(bandit_screening_pays(&x.after, 1));
    bandit_posterior_clear(&x.after);
    build(&x.after, &x, 2, 1.0, x.n_sums);
    assert_int_equal(bandit_screening_pays(&x.after, 1), x.after.one_factor && x.after.m <= ARMS / 128);
    bool stops = x.after.one_factor && x.covariance.simd->norms_until;
    assert_int_equal(bandit_screening_by_rows_pays(&x.after, ARMS / 8), stops);
    assert_false(bandit_screening_by_rows_pays(&x.after, ARMS / 8 + 1));
    bandit_posterior_evaluate_plainly(&x.after);
    assert_false(bandit_screening_by_rows_pays(&x.after, 1));
    close_pair(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_hold_for_every_arm),
        cmocka_unit_test(the_ratio_follows_the_dictionary),
        cmocka_unit_test(the_ratio_is_what_is_needed),
        cmocka_unit_test(screened_arms_do_not_matter),
        cmocka_unit_test(screened_by_rows),
        cmocka_unit_test(screened_by_gain),
        cmocka_unit_test(wide_bounds_are_not_screened),
        cmocka_unit_test(bounds_are_sharpened),
        cmocka_unit_test(who_is_screened),
    };
    return cmocka_run_group_tests_name("screening", tests, NULL, NULL);
}
