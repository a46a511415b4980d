#include "bandit/rng.h"

#include "core/base/philox.h"

#include <assert.h>
#include <math.h>

void bandit_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    enum { ROUNDS = 10 };
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u; /* Weyl sequence of the golden ratio */
        k1 += 0xBB67AE85u; /* Weyl sequence of sqrt(3) − 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The two 64-bit words of one block. key = seed; counter = index (low half), attempt << 56 ^ batch << 8 |
 * purpose (high half). Batches below 2^48 do not overlap the bits of `attempt`. */
static void random_block(uint64_t words[2], uint64_t seed, uint64_t batch, bandit_purpose purpose,
                         uint64_t index, uint64_t attempt)
{
    uint64_t high = (attempt << 56) ^ (batch << 8) ^ (uint64_t)purpose;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)high,
                                 (uint32_t)(high >> 32)};
    uint32_t out[4];

    bandit_philox4x32(out, counter, key);
    words[0] = (uint64_t)out[1] << 32 | out[0];
    words[1] = (uint64_t)out[3] << 32 | out[2];
}

/* The top 53 bits as a multiple of 2^-53 in [0, 1). */
static double to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t bandit_random_bits(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index)
{
    uint64_t words[2];
    random_block(words, seed, batch, purpose, index, 0);
    return words[0];
}

double bandit_random_uniform(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index)
{
    return to_unit(bandit_random_bits(seed, batch, purpose, index));
}

uint64_t bandit_random_below(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index,
                             uint64_t n)
{
    assert(n > 0);
    /* 2^64 is not a multiple of n, so the lowest 2^64 mod n words are rejected and drawn again; otherwise
     * some results would be more likely than others. A word is rejected with probability below 1/2, so the
     * bias after 512 words is below 2^-512. */
    uint64_t refused = (0 - n) % n, words[2] = {0, 0}, word = 0;
    for (uint64_t attempt = 0; attempt < 512; attempt++) {
        if (attempt % 2 == 0)
            random_block(words, seed, batch, purpose, index, attempt / 2);
        word = words[attempt % 2];
        if (word >= refused)
            break;
    }
    return word % n;
}

double bandit_random_normal(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index)
{
    const double two_pi = 6.283185307179586476925;
    uint64_t words[2];
    random_block(words, seed, batch, purpose, index, 0);
    /* Box–Muller; 1 − u is in (0, 1]. */
    return sqrt(-2.0 * log(1.0 - to_unit(words[0]))) * cos(two_pi * to_unit(words[1]));
}
