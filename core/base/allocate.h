/* Aligned arrays for the numerical parts. */
#ifndef CORE_BASE_ALLOCATE_H
#define CORE_BASE_ALLOCATE_H

#include <stdbool.h>
#include <stddef.h>

#define BANDIT_ALIGNMENT 64 /* a cache line and an AVX-512 register; also keeps BLAS on one code path */

/* How many pieces of `size` n elements are, the last one perhaps not whole. */
static inline size_t bandit_pieces(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

/* n in whole pieces of `size`. */
static inline size_t bandit_whole(size_t n, size_t size)
{
    return bandit_pieces(n, size) * size;
}

/* n doubles and what it takes for an array behind them to be aligned too. */
static inline size_t bandit_aligned_doubles(size_t n)
{
    return bandit_whole(n, BANDIT_ALIGNMENT / sizeof(double));
}

/* n elements of `size` bytes, uninitialized, aligned to BANDIT_ALIGNMENT; never NULL for n = 0. NULL when
 * memory is out or n * size does not fit. The caller owns it: free(). */
void *bandit_alloc(size_t n, size_t size);

/* The same, zeroed. */
void *bandit_alloc_zeroed(size_t n, size_t size);

/* Makes *array hold at least n elements; what it held is lost when it grows. *capacity follows.
 * false when memory is out: then *array and *capacity are as before. */
bool bandit_reserve(void **array, size_t *capacity, size_t n, size_t size);

/* The same, but the first `used` elements are kept; it grows by a quarter at least. */
bool bandit_reserve_keep(void **array, size_t *capacity, size_t used, size_t n, size_t size);

/* What the capacity becomes by bandit_reserve, by bandit_reserve_keep. */
size_t bandit_capacity(size_t capacity, size_t n);
size_t bandit_capacity_kept(size_t capacity, size_t n);

#endif
