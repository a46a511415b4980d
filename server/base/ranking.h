/* Which of many numbers are the largest. */
#ifndef SERVER_BASE_RANKING_H
#define SERVER_BASE_RANKING_H

#include <stddef.h>
#include <stdint.h>

/* The indices of the first `top` <= n of n keys by falling key, equal ones by index, NaN last; the caller
 * frees them. NULL: out of memory. */
uint32_t *ranking_of(const double *keys, size_t n, size_t top);

#endif
