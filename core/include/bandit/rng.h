/* Counter-based random numbers: a pure function of (seed, batch, purpose, index), the same on every
 * machine and after every restart. Philox4x32-10, Salmon et al., SC 2011. */
#ifndef BANDIT_RNG_H
#define BANDIT_RNG_H

#include <stdint.h>

/* What a number is for. The values are part of the stored state's meaning: never renumber them. */
typedef enum bandit_purpose {
    BANDIT_PURPOSE_INITIAL_ARM = 1, /* the first picks; index = draw << 32 | pick */
    BANDIT_PURPOSE_RESAMPLE = 2,    /* resparsification; index = arm */
    BANDIT_PURPOSE_BLESS = 3,       /* initial dictionary from history; index = level << 32 | arm */
    BANDIT_PURPOSE_UNIFORM = 4,     /* uniform picks and exploration; index = pick */
    BANDIT_PURPOSE_POSTERIOR = 5,   /* Thompson samples */
    BANDIT_PURPOSE_EVOLUTION = 6,
    BANDIT_PURPOSE_DPP = 7,
    BANDIT_PURPOSE_FEATURES = 8,
    BANDIT_PURPOSE_SWEEP = 9,    /* low-discrepancy points of a space */
    BANDIT_PURPOSE_PERTURB = 10, /* index = pick << 32 | number */
    BANDIT_PURPOSE_METRIC = 11,  /* seeds of the metrics after the first; the batch is the metric's number */
    BANDIT_PURPOSE_INSIGHT = 12  /* points that importance and effects are averaged over */
} bandit_purpose;

/* 64 random bits. */
uint64_t bandit_random_bits(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index);

/* Uniform on [0, 1): a multiple of 2^-53. */
double bandit_random_uniform(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index);

/* Uniform on 0 … n−1, without modulo bias; n > 0. */
uint64_t bandit_random_below(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index,
                             uint64_t n);

/* Standard normal. */
double bandit_random_normal(uint64_t seed, uint64_t batch, bandit_purpose purpose, uint64_t index);

#endif
