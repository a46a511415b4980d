/* From how many rewarded arms on a fit is sparse, and from how many on it takes every n-th: against
 * bandit_fit called by hand. */
#include "core/learning/hyperparameters.h"

#include "bandit/fit.h"
#include "core/base/allocate.h"
#include "tests/support/must.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1300 };

static double reward_of(size_t i)
{
    return 3.0 * sin(0.01 * (double)i) + 0.5 * cos(11.0 * (double)i);
}

/* The same by hand: a row every `step` arms, so many inducing points and evaluations at most. */
static bandit_hyperparameters by_hand(const bandit_fitted *l, const bandit_fitted *prior, size_t n,
                                      size_t step, size_t inducing, size_t evaluations)
{
    size_t rows = 0;
    double *gram, *mean = calloc(n, sizeof *mean), *count = calloc(n, sizeof *count);
    size_t *arm = calloc(n, sizeof *arm);
    assert_true(mean && count && arm);
    for (size_t i = 0; i < n; i += step) {
        arm[rows] = i;
        mean[rows] = (bandit_fitted_fold(l, reward_of(i)) - l->offset) / l->scale;
        count[rows++] = 1.0;
    }
    gram = bandit_alloc(rows, rows * sizeof *gram);
    assert_non_null(gram);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < rows; k++)
            gram[i * rows + k] = (double)arm[i] / MOST * (double)arm[k] / MOST;
    const bandit_fit_data data = {.kernel = BANDIT_KERNEL_LINEAR,
                                  .n = rows,
                                  .gram = gram,
                                  .count = count,
                                  .mean = mean,
                                  .learn_signal = true,
                                  .learn_noise = true,
                                  .has_mean = true};
    const bandit_fit_limits limits = {.max_inducing = inducing, .max_evaluations = evaluations};
    bandit_hyperparameters h = {.signal = prior->signal, .noise = prior->noise, .mean = prior->mean};
    bandit_error err;
    must(bandit_fit(&data, &limits, &h, &h, NULL, NULL, NULL, &bandit_executor_serial, &err), &err);
    free(gram);
    free(mean);
    free(count);
    free(arm);
    return h;
}

static void fits_of_many_arms_are_sparse(void **state)
{
    static const struct {
        size_t n, step, inducing, evaluations;
    } cases[] = {
        {140, 1, 256, 60}, {256, 1, 256, 60}, {257, 1, 128, 25}, {1000, 1, 128, 25}, {1001, 2, 128, 25}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t n = cases[k].n;
        bandit_arms *arms;
        bandit_fit_settings how;
        bandit_fitted prior, learned;
        bandit_error err;
        bandit_options o = BANDIT_OPTIONS_INIT;
        bandit_arm_sum *sums = calloc(n, sizeof *sums);
        bandit_ledger ledger = {.sums = sums, .n = n, .observations = n};
        assert_non_null(sums);
        o.kernel = (bandit_kernel){.type = BANDIT_KERNEL_LINEAR};
        o.standardize_rewards = o.learn_noise = true;
        must(bandit_arms_new(&arms, n, 1, &err), &err);
        for (uint32_t i = 0; i < n; i++) {
            const double x = (double)i / MOST;
            must(bandit_arms_set_rows(arms, i, 1, &x, &err), &err);
            sums[i] = (bandit_arm_sum){.arm = i, .count = 1, .sum = reward_of(i)};
        }
        must(bandit_arms_finish(arms, BANDIT_SCALING_NONE, n, &err), &err);
        must(bandit_fit_settings_init(&how, &o, arms, &err), &err);
        must(bandit_fitted_prior(&prior, &how, &err), &err);
        must(bandit_refit(&learned, &prior, &how, &ledger, NULL, &(bandit_repeated){0},
                          &bandit_executor_serial, &err),
             &err);
        assert_int_equal(learned.n_aside, 0);
        bandit_hyperparameters h =
            by_hand(&learned, &prior, n, cases[k].step, cases[k].inducing, cases[k].evaluations);
        if (!(fabs(learned.signal / h.signal - 1.0) < 1e-9 && fabs(learned.noise / h.noise - 1.0) < 1e-9 &&
              fabs(learned.mean - h.mean) < 1e-9))
            fail_msg("%zu arms: signal %.12g, %.12g by hand; noise %.12g, %.12g", n, learned.signal, h.signal,
                     learned.noise, h.noise);
        bandit_fitted_clear(&learned);
        bandit_fitted_clear(&prior);
        bandit_fit_settings_clear(&how);
        bandit_arms_free(arms);
        free(sums);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fits_of_many_arms_are_sparse)};
    return cmocka_run_group_tests_name("learning from many", tests, NULL, NULL);
}
