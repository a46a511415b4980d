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
    /* The share, in [0, 1), of a second part with shorter lengthscales, of a stationary kernel k(r): then it is
     * (1 - short_share) k(r) + short_share k(r / BANDIT_SHORT_RANGE). 0: none. Ours (core/learning/two_ranges.c). */
    double short_share;
} bandit_kernel;

/* The lengthscales of the second part, relative to those of the first. */
#define BANDIT_SHORT_RANGE 0.22

/* Squared distances in the lengthscales of the second part are so many times those in the lengthscales of the first. */
#define BANDIT_SHORT_RANGE_SQUARES (1.0 / (BANDIT_SHORT_RANGE * BANDIT_SHORT_RANGE))

#endif
