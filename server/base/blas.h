/* Checks that OpenBLAS is usable by the engine: the pthread build, with one thread. */
#ifndef SERVER_BASE_BLAS_H
#define SERVER_BASE_BLAS_H

#include <stdbool.h>

/* Call first in main. False: the reason, and what to install, is on standard error. */
bool blas_prepare(void);

/* The name of OpenBLAS's kernels for this processor ("Haswell", "SkylakeX"), static. Different kernels round
 * differently. */
const char *blas_kernels(void);

#endif
