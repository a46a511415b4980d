/* Posteriors computed the long way round, for tests: dense matrices, an eigendecomposition instead of
 * pivoted Cholesky, every quantity from its definition, nothing lazy. */
#ifndef TESTS_SUPPORT_DENSE_REFERENCE_H
#define TESTS_SUPPORT_DENSE_REFERENCE_H

#include "tests/support/random_problem.h"

typedef struct dense_posterior {
    size_t n, m;
    double lambda;
    bool ambiguous; /* K_S has eigenvalues that one factorization keeps and another drops: 1e-14 … 1e-10 */
    double *Z;      /* n x m, row-major: z(x) = K_S^{+1/2} k_S(x) */
    double *V;      /* m x m: sum n_i z_i z_i' + lambda I, and what is hallucinated */
    double *mean;   /* n */
    double *variance; /* n: under V as it is now, paper's scale */
    double *residual; /* n: (k − |z|^2)/lambda */
} dense_posterior;

/* The sparse posterior of [BBKB] eq. 1–3 on a dictionary, of all arms of the problem. */
void dense_posterior_init(dense_posterior *posterior, const random_problem *problem,
                          const uint32_t *dictionary, size_t m, const bandit_arm_sum *sums, size_t n_sums);

/* V += z z' of an arm, and all variances again by solving with the new V. The mean stays. */
void dense_posterior_hallucinate(dense_posterior *posterior, uint32_t arm);

void dense_posterior_clear(dense_posterior *posterior);

/* The exact posterior at all arms: mean, and variance / lambda, from (K_u + lambda diag(1/n))^{-1}. Each of n
 * entries. */
void dense_exact(const random_problem *problem, const bandit_arm_sum *sums, size_t n_sums, double *mean,
                 double *variance);

/* log det(I + K_t / lambda) of the pulls, with multiplicity. */
double dense_log_det(const random_problem *problem, const bandit_arm_sum *sums, size_t n_sums);

#endif
