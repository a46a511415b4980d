/* OpenBLAS as the engine needs it: the pthread build, one thread. */
#ifndef SERVER_BASE_BLAS_H
#define SERVER_BASE_BLAS_H

#include <stdbool.h>

/* First thing in main. False: said why, and what to install, on standard error. */
bool blas_prepare(void);

/* The name of the kernels that it has for this processor ("Haswell", "SkylakeX"); static. Others round
 * otherwise. */
const char *blas_kernels(void);

#endif
