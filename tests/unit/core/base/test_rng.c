/* Philox against the known answers published with Random123 (kat_vectors), and the distributions on top. */
#include "bandit/rng.h"

#include "core/base/philox.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void known_answers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], expected[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];
        bandit_philox4x32(out, cases[i].counter, cases[i].key);
        assert_memory_equal(out, cases[i].expected, sizeof out);
    }
}

/* The keying is part of the stored state's meaning: key = seed, counter = index, batch << 8 | purpose. */
static void keying(void **state)
{
    (void)state;
    uint64_t seed = 0x0123456789abcdefu, batch = 0x123456u, index = 0xfedcba9876543210u;
    uint64_t high = batch << 8 | 2u;
    uint32_t key[2] = {0x89abcdefu, 0x01234567u}, out[4];
    uint32_t counter[4] = {0x76543210u, 0xfedcba98u, (uint32_t)high, (uint32_t)(high >> 32)};
    bandit_philox4x32(out, counter, key);
    assert_true(bandit_random_bits(seed, batch, BANDIT_PURPOSE_RESAMPLE, index) ==
                ((uint64_t)out[1] << 32 | out[0]));
}

static void uniform_is_in_range_and_even(void **state)
{
    enum { N = 100000, BINS = 20 };
    size_t bins[BINS] = {0};
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double u = bandit_random_uniform(7, 3, BANDIT_PURPOSE_UNIFORM, i);
        assert_true(u >= 0.0 && u < 1.0);
        bins[(size_t)(u * BINS)]++;
    }
    double chi2 = 0.0;
    for (size_t b = 0; b < BINS; b++) {
        double e = (double)bins[b] - (double)N / BINS;
        chi2 += e * e / ((double)N / BINS);
    }
    assert_true(chi2 < 43.8); /* 99.9 % point with 19 degrees of freedom */
}

static void below_covers_all_values(void **state)
{
    enum { N = 60000 };
    size_t counts[6] = {0};
    (void)state;
    for (uint64_t i = 0; i < N; i++)
        counts[bandit_random_below(1, 0, BANDIT_PURPOSE_UNIFORM, i, 6)]++;
    for (size_t v = 0; v < 6; v++)
        assert_true(fabs((double)counts[v] - N / 6.0) < 5.0 * sqrt(N / 6.0));
    assert_true(bandit_random_below(1, 0, BANDIT_PURPOSE_UNIFORM, 5, 1) == 0);
    /* 2^63 + 1 refuses nearly half of the words: the second attempts are reached. */
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(bandit_random_below(2, 0, BANDIT_PURPOSE_UNIFORM, i, (1ull << 63) + 1) <= 1ull << 63);
}

/* Word by word: block k of an index has k in the top bits; a word below 2^64 mod n is not used. */
static void below_draws_again_from_the_next_words(void **state)
{
    static const uint64_t ns[] = {3, (1ull << 63) + 1, (1ull << 62) * 3 - 1, 0xfffffffffffffff1u, 1ull << 63};
    size_t furthest = 0;
    (void)state;
    for (size_t k = 0; k < sizeof ns / sizeof *ns; k++) {
        uint64_t n = ns[k], rest = (UINT64_MAX % n + 1) % n;
        for (uint64_t index = 0; index < 400; index++) {
            const uint32_t key[2] = {21, 0};
            uint64_t word = 0;
            size_t attempt = 0;
            do {
                uint64_t high = (uint64_t)(attempt / 2) << 56 | 5u << 8 | BANDIT_PURPOSE_DPP;
                const uint32_t counter[4] = {(uint32_t)index, 0, (uint32_t)high, (uint32_t)(high >> 32)};
                uint32_t out[4];
                bandit_philox4x32(out, counter, key);
                word = attempt % 2 ? (uint64_t)out[3] << 32 | out[2] : (uint64_t)out[1] << 32 | out[0];
            } while (word < rest && ++attempt);
            furthest = attempt > furthest ? attempt : furthest;
            assert_true(bandit_random_below(21, 5, BANDIT_PURPOSE_DPP, index, n) == word % n);
        }
    }
    assert_true(furthest > 4);
}

static void normal_moments(void **state)
{
    enum { N = 100000 };
    double m1 = 0, m2 = 0, m4 = 0;
    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double z = bandit_random_normal(11, 1, BANDIT_PURPOSE_POSTERIOR, i);
        m1 += z / N;
        m2 += z * z / N;
        m4 += z * z * z * z / N;
    }
    assert_true(fabs(m1) < 0.015);
    assert_true(fabs(m2 - 1.0) < 0.02);
    assert_true(fabs(m4 - 3.0) < 0.15);
}

static void keys_are_separate(void **state)
{
    (void)state;
    uint64_t base = bandit_random_bits(1, 1, BANDIT_PURPOSE_RESAMPLE, 1);
    assert_true(base == bandit_random_bits(1, 1, BANDIT_PURPOSE_RESAMPLE, 1));
    assert_true(base != bandit_random_bits(2, 1, BANDIT_PURPOSE_RESAMPLE, 1));
    assert_true(base != bandit_random_bits(1, 2, BANDIT_PURPOSE_RESAMPLE, 1));
    assert_true(base != bandit_random_bits(1, 1, BANDIT_PURPOSE_BLESS, 1));
    assert_true(base != bandit_random_bits(1, 1, BANDIT_PURPOSE_RESAMPLE, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(keying),
        cmocka_unit_test(uniform_is_in_range_and_even),
        cmocka_unit_test(below_covers_all_values),
        cmocka_unit_test(below_draws_again_from_the_next_words),
        cmocka_unit_test(normal_moments),
        cmocka_unit_test(keys_are_separate),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
