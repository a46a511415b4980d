/* Memory for numerical arrays, aligned and growing. */
#ifndef CORE_BASE_ALLOCATE_H
#define CORE_BASE_ALLOCATE_H

#include <stdbool.h>
#include <stddef.h>

#define BANDIT_ALIGNMENT 64 /* a cache line and an AVX-512 register; it also keeps BLAS on one code path */

/* The number of pieces of `size` that n elements fill, counting an incomplete last piece. */
static inline size_t bandit_pieces(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

/* n rounded up to a multiple of `size`. */
static inline size_t bandit_whole(size_t n, size_t size)
{
    return bandit_pieces(n, size) * size;
}

/* n rounded up, so that an array after n doubles is aligned as well. */
static inline size_t bandit_aligned_doubles(size_t n)
{
    return bandit_whole(n, BANDIT_ALIGNMENT / sizeof(double));
}

/* Allocates n elements of `size` bytes, uninitialized, aligned to BANDIT_ALIGNMENT. n = 0 is valid and does
 * not return NULL. Returns NULL when out of memory or when n * size overflows. The caller frees it with
 * free(). */
void *bandit_alloc(size_t n, size_t size);

/* The same, set to zero. */
void *bandit_alloc_zeroed(size_t n, size_t size);

/* Grows *array to at least n elements and updates *capacity. The contents are lost when it grows. Returns
 * false when out of memory; *array and *capacity are then as before. */
bool bandit_reserve(void **array, size_t *capacity, size_t n, size_t size);

/* The same, but the first `used` elements are kept, and it grows by at least a quarter. */
bool bandit_reserve_keep(void **array, size_t *capacity, size_t used, size_t n, size_t size);

/* The capacity after bandit_reserve, and after bandit_reserve_keep. */
size_t bandit_capacity(size_t capacity, size_t n);
size_t bandit_capacity_kept(size_t capacity, size_t n);

#endif
