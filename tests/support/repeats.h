/* How often a test does again what it has done. Under memcheck a program takes thirty to three hundred times
 * as long, and what one pass reads too early, or does not free, the next ones say again. */
#ifndef TESTS_SUPPORT_REPEATS_H
#define TESTS_SUPPORT_REPEATS_H

#include <stddef.h>
#include <stdlib.h>

/* Mostly n; `few` with BANDIT_TEST_FEW in the environment, which tests/memcheck sets. */
static inline size_t repeats(size_t n, size_t few)
{
    return getenv("BANDIT_TEST_FEW") ? few : n;
}

#endif
