/* How often a test does again what it has done. Under memcheck a program takes some sixty times as long, and
 * memory that one pass does not read too early the next one does not either. */
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
