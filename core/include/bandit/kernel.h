/* Kernels. kappa^2 = max k(x,x) is 1 for the stationary ones. */
#ifndef BANDIT_KERNEL_H
#define BANDIT_KERNEL_H

#include "bandit/status.h"

#include <stddef.h>

typedef enum bandit_kernel_type {
    BANDIT_KERNEL_GAUSSIAN,   /* exp(-r^2 / 2), r the scaled distance */
    BANDIT_KERNEL_MATERN,     /* nu = 1/2, 3/2, 5/2 in closed form */
    BANDIT_KERNEL_LINEAR,     /* x . x' */
    BANDIT_KERNEL_PRECOMPUTED /* entries of the arms' own matrix */
} bandit_kernel_type;

typedef struct bandit_kernel {
    bandit_kernel_type type;
    double nu;                  /* Matérn: 0.5, 1.5 or 2.5 */
    const double *lengthscales; /* n_lengthscales > 0 entries, borrowed: one for all, or one per dimension */
    size_t n_lengthscales;      /* 1, the dimension, or 0 if the kernel has none */
} bandit_kernel;

#endif
