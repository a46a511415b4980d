/* How often a test does again what it has done. Under memcheck a program takes thirty to three hundred times
 * as long, and what one pass reads too early, or does not free, the next ones say again. */
#ifndef TESTS_SUPPORT_REPEATS_H
#define TESTS_SUPPORT_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Mostly n; `few` with BANDIT_TEST_FEW in the environment, which tests/memcheck and some suites set
 * (tests/suites). */
static inline size_t repeats(size_t n, size_t few)
{
    return getenv("BANDIT_TEST_FEW") ? few : n;
}

/* Is more to be run than in `make test`? With BANDIT_TEST_FULL=1 in the environment. */
static inline bool in_full(void)
{
    const char *value = getenv("BANDIT_TEST_FULL");
    return value && strcmp(value, "1") == 0;
}

#endif
