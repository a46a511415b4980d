/* Preloaded into a server: the BANDITD_FAIL_ALLOCATION-th allocation of the process (from 1) fails, whoever
 * asks for it. At the end their number is written to the file BANDITD_COUNT_ALLOCATIONS, if it is named. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long allocations, failing = -1;

static int fails(void)
{
    if (atomic_fetch_add(&allocations, 1) + 1 != atomic_load(&failing))
        return 0;
    errno = ENOMEM;
    return 1;
}

/* The allocator that comes next: the C library's or AddressSanitizer's. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

void *malloc(size_t size)
{
    static void *(*_Atomic next)(size_t);
    if (!next)
        next = NEXT(malloc);
    return fails() ? NULL : next(size);
}

void *calloc(size_t n, size_t size)
{
    static void *(*_Atomic next)(size_t, size_t);
    if (!next)
        next = NEXT(calloc);
    return fails() ? NULL : next(n, size);
}

void *realloc(void *p, size_t size)
{
    static void *(*_Atomic next)(void *, size_t);
    if (!next)
        next = NEXT(realloc);
    return fails() ? NULL : next(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    static void *(*_Atomic next)(size_t, size_t);
    if (!next)
        next = NEXT(aligned_alloc);
    return fails() ? NULL : next(alignment, size);
}

/* What comes before this, the dynamic linker's and other libraries' constructors, is counted and does not
 * fail. */
__attribute__((constructor)) static void begin(void)
{
    const char *nth = getenv("BANDITD_FAIL_ALLOCATION");
    if (nth)
        atomic_store(&failing, atomic_load(&allocations) + atol(nth));
    atomic_store(&allocations, nth ? atomic_load(&allocations) : 0);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("BANDITD_COUNT_ALLOCATIONS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", atomic_load(&allocations));
        fclose(file);
    }
}
