/* Which of many arms a fit uses, and what it learns of a search that has come close to the optimum. */
#include "core/learning/sample.h"

#include "bandit/space.h"
#include "tests/support/dense_gp.h"
#include "tests/support/must.h"
#include "tests/support/space_study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 1001, NEWEST = 128, BEST = 8 };

static void taken(bool all_exact, size_t n, const bandit_arm_sum *sums, bool *takes)
{
    const bandit_fit_settings settings = {.all_exact = all_exact};
    const bandit_ledger ledger = {.sums = (bandit_arm_sum *)sums, .n = n, .observations = n};
    bandit_sample s = {.settings = &settings};
    bandit_error err;
    must(bandit_sample_choose_arms(&s, &ledger, &err), &err);
    memcpy(takes, s.takes, n * sizeof *takes);
    free(s.takes);
}

static size_t count(const bool *takes, size_t n)
{
    size_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += takes[i];
    return sum;
}

static void few_arms_are_all_taken(void **state)
{
    bandit_arm_sum sums[BANDIT_SAMPLE_EXACT] = {{0}};
    bool takes[BANDIT_SAMPLE_EXACT];
    (void)state;
    for (size_t i = 0; i < BANDIT_SAMPLE_EXACT; i++)
        sums[i] = (bandit_arm_sum){.arm = (uint32_t)i, .count = 1};
    for (int all_exact = 0; all_exact < 2; all_exact++) {
        taken(all_exact, BANDIT_SAMPLE_EXACT, sums, takes);
        assert_int_equal(count(takes, BANDIT_SAMPLE_EXACT), BANDIT_SAMPLE_EXACT);
    }
}

/* The best arms are among the old ones. */
static void of_many_the_newest_and_the_best_are_taken(void **state)
{
    bandit_arm_sum sums[MANY];
    bool takes[MANY];
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        sums[i] = (bandit_arm_sum){.arm = (uint32_t)i, .count = 2, .sum = -fabs((double)i - 333.0)};
    for (size_t n = BANDIT_SAMPLE_EXACT + 1; n <= MANY; n += 93) {
        taken(true, n, sums, takes);
        size_t all = count(takes, n);
        assert_true(all <= BANDIT_SAMPLE_EXACT + BEST && (all == n || all >= BANDIT_SAMPLE_EXACT));
        assert_int_equal(count(takes + n - NEWEST, NEWEST), NEWEST);
        for (size_t i = 330; i <= 336 && i < n; i++)
            assert_true(takes[i]);
        size_t half = (n - NEWEST) / 2; /* the others are spread evenly */
        assert_in_range(count(takes, half), NEWEST / 2 - 1, NEWEST / 2 + BEST + 1);
    }
    taken(false, MANY, sums, takes);
    for (size_t i = 0; i < MANY; i++)
        assert_true(takes[i] == (i % 2 == 0));
}

/* ---- a search ------------------------------------------------------------------------------------------- */

enum { SEARCH = 300, D = 5 };

/* Points of a search that comes closer and closer to the optimum of a smooth function without noise, and looks elsewhere
 * with every other pick. */
static void search(bandit_arms *arms, bandit_arm_sum *sums)
{
    uint64_t random = 5;
    bandit_error err;
    for (uint32_t i = 0; i < SEARCH; i++) {
        double at[D], reward = 0.0, width = i % 2 ? 1.0 : pow(10.0, -3.0 * (double)i / SEARCH);
        for (size_t j = 0; j < D; j++) {
            at[j] = 0.4 + width * (dense_uniform(&random) - 0.4);
            reward -= (double)(1 + 9 * j) * (at[j] - 0.4) * (at[j] - 0.4) + 0.2 * sin(12.0 * at[j]);
        }
        must(bandit_arms_append(arms, at, 1, &err), &err);
        sums[i] = (bandit_arm_sum){.arm = i, .count = 1, .sum = reward};
    }
}

static bandit_fitted fit(const bandit_arms *arms, const bandit_ledger *ledger, size_t revision)
{
    bandit_options o = BANDIT_OPTIONS_INIT;
    bandit_fit_settings how;
    bandit_fitted prior, learned;
    bandit_error err;
    o.algorithm = BANDIT_LOG_EI;
    o.learn_lengthscale = o.learn_noise = o.standardize_rewards = o.warp_rewards = true;
    o.revision = revision;
    must(bandit_fit_settings_init(&how, &o, arms, &err), &err);
    must(bandit_fitted_prior(&prior, &how, &err), &err);
    must(bandit_refit(&learned, &prior, &how, ledger, NULL, &(bandit_repeated){0}, &bandit_executor_serial,
                      &err),
         &err);
    bandit_fitted_clear(&prior);
    bandit_fit_settings_clear(&how);
    return learned;
}

static void a_search_without_noise_has_none(void **state)
{
    bandit_arms *arms = space_study_cube(D);
    bandit_arm_sum sums[SEARCH];
    const bandit_ledger ledger = {.sums = sums, .n = SEARCH, .observations = SEARCH};
    (void)state;
    search(arms, sums);
    bandit_fitted before = fit(arms, &ledger, 4), now = fit(arms, &ledger, 5);
    assert_true(now.noise / now.signal < 1e-7);
    assert_true(before.noise / before.signal > 100.0 * now.noise / now.signal);
    bandit_fitted_clear(&before);
    bandit_fitted_clear(&now);
    bandit_arms_free(arms);
}

/* A wrong value among the oldest results would lead the search for ever. */
static void a_wrong_value_is_found_among_many(void **state)
{
    enum { WRONG = 71 };
    bandit_arms *arms = space_study_cube(D);
    bandit_arm_sum sums[SEARCH];
    const bandit_ledger ledger = {.sums = sums, .n = SEARCH, .observations = SEARCH};
    (void)state;
    search(arms, sums);
    sums[WRONG].sum = 300.0;
    bandit_fitted now = fit(arms, &ledger, 5);
    assert_non_null(bandit_sum_of(now.aside, now.n_aside, WRONG));
    assert_true(now.n_aside < 10);
    bandit_fitted_clear(&now);
    bandit_arms_free(arms);
}

static void each_reward_is_once_among_the_newest(void **state)
{
    const bandit_fit_settings settings = {.all_exact = true};
    (void)state;
    for (uint64_t t = 256; t < 5000; t += 77) {
        const bandit_fitted learned = {.fitted_on = t, .warped = true};
        assert_false(bandit_refit_is_due(&settings, &learned, t + NEWEST - 1));
        assert_true(bandit_refit_is_due(&settings, &learned, t + NEWEST));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_arms_are_all_taken),
                                       cmocka_unit_test(of_many_the_newest_and_the_best_are_taken),
                                       cmocka_unit_test(a_search_without_noise_has_none),
                                       cmocka_unit_test(a_wrong_value_is_found_among_many),
                                       cmocka_unit_test(each_reward_is_once_among_the_newest)};
    return cmocka_run_group_tests_name("arms of a fit", tests, NULL, NULL);
}
