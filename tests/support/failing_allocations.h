/* The allocator of a program whose allocations are to fail: included by its one source, and linked with
 * --wrap for each of these functions (Makefile), so that what our objects and static libraries allocate goes
 * through here. */
#ifndef TESTS_SUPPORT_FAILING_ALLOCATIONS_H
#define TESTS_SUPPORT_FAILING_ALLOCATIONS_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

/* All threads count; the peak is exact while one thread allocates. */
static atomic_long until_failure =
    -1;                         /* allocations that still succeed before one fails; negative: all of them */
static atomic_long live;        /* blocks */
static atomic_llong live_bytes; /* in them, with what the allocator adds to fill its own sizes */
static atomic_llong peak_bytes; /* the most that they have been */

static bool fails(void)
{
    if (until_failure < 0)
        return false;
    return until_failure-- == 0;
}

/* Ends the failing. Was an allocation refused since until_failure was set? */
static inline bool has_failed(void)
{
    bool failed = until_failure < 0;
    until_failure = -1;
    return failed;
}

static void *counted(void *p)
{
    live += p != NULL;
    live_bytes += (long long)malloc_usable_size(p);
    peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
    return p;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    long long before = (long long)malloc_usable_size(p);
    void *q = fails() ? NULL : __real_realloc(p, size);
    live += p == NULL && q != NULL;
    if (q)
        live_bytes += (long long)malloc_usable_size(q) - before;
    peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
    return q;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *p)
{
    live -= p != NULL;
    live_bytes -= (long long)malloc_usable_size(p);
    __real_free(p);
}

#endif
