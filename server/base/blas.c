#include "server/base/blas.h"

#include <cblas.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* openblas_get_parallel() */
enum { SEQUENTIAL = 0, PTHREADS = 1 };

/* ---- buffers ------------------------------------------------------------------------------------------- */

/* Each call of OpenBLAS takes a buffer, and gives it back at its end. Buffers stay mapped for later calls. If a new one
 * cannot be mapped, OpenBLAS tries again for ever. So all buffers are mapped at the start. */

enum { BUFFER = 128 << 20 }; /* the most bytes of a buffer on any processor that Debian builds for */

/* OpenBLAS exports these, and no header declares them. */
void *blas_memory_alloc(int purpose) __attribute__((weak));
void blas_memory_free(void *buffer) __attribute__((weak));

/* The number of buffers that OpenBLAS has. With more callers it prints a warning, and with many more it ends the
 * program. */
static size_t most_callers(void)
{
    static const char name[] = "MAX_THREADS=";
    const char *config = openblas_get_config(), *found = config ? strstr(config, name) : NULL;
    long threads = found ? strtol(found + strlen(name), NULL, 10) : 0;
    return threads > 0 ? 2 * (size_t)threads : BLAS_MOST_CALLERS;
}

static bool is_room_for(size_t n, void **pieces)
{
    size_t got = 0;
    for (; got < n; got++) {
        pieces[got] = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pieces[got] == MAP_FAILED)
            break;
    }
    int cause = errno;
    for (size_t i = 0; i < got; i++)
        munmap(pieces[i], BUFFER);
    if (got < n)
        fprintf(
            stderr,
            "banditd: no room for the buffers of OpenBLAS, %zu MiB of address space for %zu threads: %s. Is the "
            "address space limited (ulimit -v, LimitAS=, vm.overcommit_memory=2)? Raise the limit, or lower "
            "--threads.\n",
            n * (BUFFER >> 20), n, strerror(cause));
    return got == n;
}

static bool map_buffers(size_t n)
{
    void **pieces = calloc(n, sizeof *pieces);
    bool fine = pieces && is_room_for(n, pieces);
    if (!pieces)
        fputs("banditd: out of memory\n", stderr);
    if (fine && blas_memory_alloc && blas_memory_free) {
        for (size_t i = 0; i < n; i++)
            pieces[i] = blas_memory_alloc(0);
        for (size_t i = 0; i < n; i++)
            blas_memory_free(pieces[i]);
    }
    free(pieces);
    return fine;
}

/* ---- the build ----------------------------------------------------------------------------------------- */

static bool has_usable_build(void)
{
    openblas_set_num_threads(1);
    int kind = openblas_get_parallel();
    if (kind != PTHREADS) {
        fprintf(
            stderr,
            "banditd: the installed OpenBLAS is the %s build, which gives wrong results or hangs when several\n"
            "threads call it. Install the pthread build and make it the default:\n"
            "    apt-get install libopenblas0-pthread\n"
            "    update-alternatives --config libopenblas.so.0-$(uname -m)-linux-gnu\n",
            kind == SEQUENTIAL ? "serial" : "OpenMP");
        return false;
    }
    if (openblas_get_num_threads() != 1) {
        fprintf(stderr, "banditd: OpenBLAS does not run with one thread; set OPENBLAS_NUM_THREADS=1\n");
        return false;
    }
    return true;
}

bool blas_prepare(size_t callers)
{
    if (!has_usable_build())
        return false;
    if (callers > most_callers()) {
        fprintf(stderr, "banditd: the installed OpenBLAS serves at most %zu threads; lower --threads\n",
                most_callers());
        return false;
    }
    return map_buffers(callers);
}

const char *blas_kernels(void)
{
    return openblas_get_corename();
}

void blas_version(char *out, size_t size)
{
    const char *config = openblas_get_config(), *number = config ? strpbrk(config, "0123456789") : NULL;
    snprintf(out, size, "%.*s", number ? (int)strspn(number, "0123456789.") : 0, number ? number : "");
}
