/* Draws of dictionaries against their definition, arm by arm; how many arms that evaluates; what is offered.
 */
#include "core/selection/dictionary.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "tests/support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARMS = 150, PULLED = 40, MEMBERS = 15 };

static size_t entries; /* kernel entries in tiles: an arm that is evaluated costs one a member */
static const bandit_simd *underneath;
static bandit_simd counted;

static void count_entries(bandit_profile profile, double short_share, size_t d, const double *tile,
                          const double *points, size_t n, double *out, size_t ld)
{
    entries += n;
    underneath->entries(profile, short_share, d, tile, points, n, out, ld);
}

typedef struct model {
    random_problem problem;
    bandit_covariance covariance;
    bandit_posterior posterior;
    double mean[ARMS], rough[ARMS], exact[ARMS];
    bandit_offer offers[PULLED];
} model;

static void open_model(model *x, uint64_t seed)
{
    bandit_arm_sum sums[PULLED];
    uint32_t dictionary[MEMBERS];
    memset(x, 0, sizeof *x);
    random_problem_init(&x->problem, seed, ARMS, 2, BANDIT_KERNEL_MATERN, 0.2, 0);
    assert_int_equal(
        bandit_covariance_init(&x->covariance, &x->problem.options.kernel, x->problem.arms, NULL), BANDIT_OK);
    underneath = x->covariance.simd;
    counted = *underneath;
    counted.entries = count_entries;
    x->covariance.simd = &counted;
    for (uint32_t i = 0; i < PULLED; i++) {
        sums[i] = (bandit_arm_sum){.arm = 3 * i + 2, .count = 1 + (i * 7) % 5, .sum = sin(i)};
        x->offers[i] = (bandit_offer){sums[i].arm, (double)sums[i].count};
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        dictionary[i] = sums[2 * i].arm;
    assert_int_equal(
        bandit_posterior_build(&x->posterior, &x->covariance, 0.2, dictionary, MEMBERS, sums, PULLED, NULL),
        BANDIT_OK);
    assert_int_equal(
        bandit_posterior_evaluate_all(&x->posterior, &bandit_executor_serial, x->mean, x->rough, NULL),
        BANDIT_OK);
    double *w = bandit_alloc(x->posterior.m, sizeof *w);
    double *scratch = bandit_alloc(bandit_posterior_scratch(&x->posterior), sizeof *scratch);
    assert_true(w && scratch);
    for (uint32_t a = 0; a < ARMS; a++) {
        bandit_embedding e = bandit_posterior_embed(&x->posterior, a, w, scratch);
        x->exact[a] = e.residual + e.norm2;
    }
    free(w);
    free(scratch);
}

static void close_model(model *x)
{
    bandit_posterior_clear(&x->posterior);
    bandit_covariance_clear(&x->covariance);
    random_problem_clear(&x->problem);
}

/* By the header, from exact variances. */
static size_t by_definition(const model *x, const bandit_resampling *how, uint32_t *out)
{
    size_t n = 0, largest = 0;
    for (size_t i = 0; i < PULLED; i++) {
        const bandit_offer *o = &x->offers[i];
        double p = fmin(1.0, how->q_bar * x->exact[o->arm]);
        double chance =
            how->per_pull ? 1.0 - pow(1.0 - p, (double)o->count) : fmin(1.0, (double)o->count * p);
        if (bandit_random_uniform(how->seed, how->batch, BANDIT_PURPOSE_RESAMPLE, o->arm) < chance)
            out[n++] = o->arm;
        if (x->exact[o->arm] > x->exact[x->offers[largest].arm])
            largest = i;
    }
    if (n == 0)
        out[n++] = x->offers[largest].arm;
    return n;
}

/* Whether variances are known to the last digits, to a tenth, or not at all. */
static void draws_are_as_defined(void **state)
{
    static const double q_bars[] = {1e-6, 0.01, 0.3, 1.0, 4.0, 1e6};
    size_t alone = 0, some = 0, whole = 0, saved = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        model x;
        open_model(&x, seed);
        for (size_t k = 0; k < 6 * 2 * 3; k++) {
            uint32_t drawn[PULLED], expected[PULLED];
            double variance[ARMS];
            size_t n = 0, known = k / 12;
            for (size_t a = 0; a < ARMS; a++)
                variance[a] = known == 0   ? x.rough[a]
                              : known == 1 ? fmax(0.0, x.exact[a] + 0.1 * sin(7.0 * (double)(a + seed)))
                                           : -1.0;
            x.posterior.variance_error = known == 1 ? 0.1 : 1e-9;
            const bandit_resampling how = {.q_bar = q_bars[k % 6],
                                           .seed = seed,
                                           .per_pull = k / 6 % 2,
                                           .batch = 5 + k,
                                           .covariance = &x.covariance,
                                           .lambda = 0.2,
                                           .posterior = &x.posterior,
                                           .variance = variance};
            size_t n_expected = by_definition(&x, &how, expected);
            entries = 0;
            assert_int_equal(bandit_dictionary_resample(drawn, &n, x.offers, PULLED, &how, NULL), BANDIT_OK);
            assert_int_equal(n, n_expected);
            assert_memory_equal(drawn, expected, n * sizeof *drawn);
            /* Of variances that are known, those are computed again that decide: none where all are in; and
             * before the first that is in, what may be the largest. */
            size_t evaluated = entries / x.posterior.m;
            if (known == 2)
                assert_int_equal(evaluated, PULLED);
            else if (known == 0)
                assert_true(how.q_bar == 1e6 ? evaluated == 0 : evaluated < PULLED / 2);
            saved += PULLED - evaluated;
            alone += n == 1;
            some += n > 1 && n < PULLED;
            whole += n == PULLED;
        }
        close_model(&x);
    }
    print_message("one arm %zu times, some %zu, all %zu; %zu evaluations saved\n", alone, some, whole, saved);
    assert_true(alone > 100 && some > 200 && whole > 100 && saved > 10000);
}

/* The arms with rewards and those that are out, each once, with all their pulls. */
static void offers_are_rewarded_and_pending_arms(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        uint64_t counts[30] = {0}, random = 17 * seed + 3;
        bandit_arm_sum sums[30];
        bandit_pick pending[25];
        bandit_ledger ledger = {.sums = sums};
        bandit_offer *offers;
        size_t n, at = 0, n_pending = seed % 25;
        for (uint32_t a = 0; a < 30; a++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            if (seed % 5 == 0 || random >> 62 == 0)
                continue;
            sums[ledger.n++] = (bandit_arm_sum){.arm = a, .count = 1 + (random >> 60), .sum = 0.5};
            counts[a] = 1 + (random >> 60);
        }
        for (size_t i = 0; i < n_pending; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            pending[i] = (bandit_pick){.arm = (uint32_t)((random >> 33) % 30)};
            counts[pending[i].arm]++;
        }
        assert_int_equal(bandit_offers_new(&offers, &n, &ledger, pending, n_pending, NULL), BANDIT_OK);
        for (uint32_t a = 0; a < 30; a++) {
            if (counts[a] == 0)
                continue;
            assert_true(at < n);
            assert_int_equal(offers[at].arm, a);
            assert_int_equal(offers[at].count, counts[a]);
            at++;
        }
        assert_int_equal(at, n);
        free(offers);
    }
}

static void stored_dictionaries_are_ascending(void **state)
{
    static const uint32_t good[] = {0, 4, 9}, twice[] = {0, 4, 4}, falls[] = {4, 0, 9}, beyond[] = {0, 4, 10};
    uint32_t *dictionary = NULL;
    size_t capacity = 0;
    (void)state;
    bandit_checkpoint c = {.dictionary = good, .n_dictionary = 3};
    assert_int_equal(bandit_dictionary_restore(&dictionary, &capacity, &c, 10, NULL), BANDIT_OK);
    assert_true(capacity >= 3);
    assert_memory_equal(dictionary, good, sizeof good);
    const uint32_t *const bad[] = {twice, falls, beyond};
    for (size_t i = 0; i < 3; i++) {
        c.dictionary = bad[i];
        assert_int_equal(bandit_dictionary_restore(&dictionary, &capacity, &c, 10, NULL),
                         BANDIT_INVALID_STATE);
    }
    c = (bandit_checkpoint){0};
    assert_int_equal(bandit_dictionary_restore(&dictionary, &capacity, &c, 10, NULL), BANDIT_OK);
    free(dictionary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_as_defined),
        cmocka_unit_test(offers_are_rewarded_and_pending_arms),
        cmocka_unit_test(stored_dictionaries_are_ascending),
    };
    return cmocka_run_group_tests_name("dictionary", tests, NULL, NULL);
}
