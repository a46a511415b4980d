/* Checks that OpenBLAS is usable by the engine: the pthread build, with one thread. */
#ifndef SERVER_BASE_BLAS_H
#define SERVER_BASE_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/* Call first in main. False: the reason, and what to install, is on standard error. */
bool blas_prepare(void);

/* The name of OpenBLAS's kernels for this processor ("Haswell", "SkylakeX"), static. Different kernels round
 * differently. */
const char *blas_kernels(void);

/* OpenBLAS's version; "" when it does not say. out has room for size bytes. */
void blas_version(char *out, size_t size);

#endif
