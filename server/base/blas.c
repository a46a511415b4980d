#include "server/base/blas.h"

#include <cblas.h>
#include <stdio.h>

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
