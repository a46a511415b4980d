/* Checks that OpenBLAS is usable by the engine: the pthread build, with one thread per caller, and with memory for
 * all callers. */
#ifndef SERVER_BASE_BLAS_H
#define SERVER_BASE_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/* Every Debian build of OpenBLAS serves this many callers at one time. */
enum { BLAS_MOST_CALLERS = 256 };

/* Call before the first use. callers: how many threads may use it at one time. False: the reason, and what to do,
 * is on standard error. */
bool blas_prepare(size_t callers);

/* The name of OpenBLAS's kernels for this processor ("Haswell", "SkylakeX"), static. Different kernels round
 * differently. */
const char *blas_kernels(void);

/* OpenBLAS's version; "" if it does not report one. out has room for size bytes. */
void blas_version(char *out, size_t size);

#endif
