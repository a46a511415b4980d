#include "server/base/blas.h"

#include <cblas.h>
#include <stdio.h>
#include <string.h>

/* openblas_get_parallel() */
enum { SEQUENTIAL = 0, PTHREADS = 1 };

bool blas_prepare(void)
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

const char *blas_kernels(void)
{
    return openblas_get_corename();
}

void blas_version(char *out, size_t size)
{
    const char *config = openblas_get_config(), *number = config ? strpbrk(config, "0123456789") : NULL;
    snprintf(out, size, "%.*s", number ? (int)strspn(number, "0123456789.") : 0, number ? number : "");
}
