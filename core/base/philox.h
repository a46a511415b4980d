/* Philox4x32-10 (Salmon et al., SC 2011): the block function behind bandit/rng.h. */
#ifndef CORE_BASE_PHILOX_H
#define CORE_BASE_PHILOX_H

#include <stdint.h>

/* out = the 128 random bits of `counter` under `key`; out and counter may be the same. */
void bandit_philox4x32(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

#endif
