#include "core/base/allocate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *bandit_alloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX - BANDIT_ALIGNMENT)
        return NULL;
    /* aligned_alloc requires a multiple of the alignment */
    bytes = bandit_whole(bytes, BANDIT_ALIGNMENT);
    return aligned_alloc(BANDIT_ALIGNMENT, bytes ? bytes : BANDIT_ALIGNMENT);
}

void *bandit_alloc_zeroed(size_t n, size_t size)
{
    void *memory = bandit_alloc(n, size);
    if (memory)
        memset(memory, 0, n * size);
    return memory;
}

size_t bandit_capacity(size_t capacity, size_t n)
{
    size_t grown = capacity + capacity / 2; /* grow by at least half, because batches differ little in size */
    return n <= capacity ? capacity : grown < n ? n : grown;
}

size_t bandit_capacity_kept(size_t capacity, size_t n)
{
    size_t grown = capacity + capacity / 4;
    return n <= capacity ? capacity : grown < n ? n : grown;
}

bool bandit_reserve(void **array, size_t *capacity, size_t n, size_t size)
{
    if (n <= *capacity)
        return true;
    size_t grown = bandit_capacity(*capacity, n);
    void *fresh = bandit_alloc(grown, size);
    if (!fresh)
        return false;
    free(*array);
    *array = fresh;
    *capacity = grown;
    return true;
}

bool bandit_reserve_keep(void **array, size_t *capacity, size_t used, size_t n, size_t size)
{
    if (n <= *capacity)
        return true;
    size_t grown = bandit_capacity_kept(*capacity, n);
    void *fresh = bandit_alloc(grown, size);
    if (!fresh)
        return false;
    if (used > 0)
        memcpy(fresh, *array, used * size);
    free(*array);
    *array = fresh;
    *capacity = grown;
    return true;
}
