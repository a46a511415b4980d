#include "tests/support/dense_reference.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *zeros(size_t n)
{
    double *p = calloc(n ? n : 1, sizeof *p);
    if (!p)
        abort();
    return p;
}

/* out (n x m, row-major) = rows of K times K_S^{+1/2}; eigenvalues below 1e-13 of the largest are dropped.
 * Returns whether some are so small that this is a matter of taste. */
static bool embed(const random_problem *problem, const uint32_t *dictionary, size_t m, double *out)
{
    double *K = zeros(m * m), *values = zeros(m), *root = zeros(m * m), *columns = zeros(problem->n * m);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++)
            K[i * m + j] = random_problem_kernel(problem, dictionary[i], dictionary[j]);
    }
    int info = LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', (int)m, K, (int)m, values);
    assert(info == 0);
    (void)info;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) {
            for (size_t e = 0; e < m; e++) {
                if (values[e] > 1e-13 * values[m - 1])
                    root[i * m + j] += K[i * m + e] * K[j * m + e] / sqrt(values[e]);
            }
        }
    }
    for (size_t i = 0; i < problem->n; i++) {
        for (size_t j = 0; j < m; j++)
            columns[i * m + j] = random_problem_kernel(problem, i, dictionary[j]);
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)problem->n, (int)m, (int)m, 1.0, columns,
                (int)m, root, (int)m, 0.0, out, (int)m);
    bool ambiguous = false;
    for (size_t e = 0; e < m; e++)
        ambiguous |= values[e] > 1e-14 * values[m - 1] && values[e] < 1e-10 * values[m - 1];
    free(K);
    free(values);
    free(root);
    free(columns);
    return ambiguous;
}

/* X <- A^{-1} X for symmetric positive definite A (not changed), X n x columns row-major. */
static void solve(const double *A, size_t n, double *X, size_t columns)
{
    double *copy = zeros(n * n);
    memcpy(copy, A, n * n * sizeof *A);
    int info = LAPACKE_dposv(LAPACK_ROW_MAJOR, 'U', (int)n, (int)columns, copy, (int)n, X, (int)columns);
    assert(info == 0);
    (void)info;
    free(copy);
}

static void refresh_variances(dense_posterior *p)
{
    double *X = zeros(p->m * p->n);
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < p->m; j++)
            X[j * p->n + i] = p->Z[i * p->m + j];
    }
    solve(p->V, p->m, X, p->n);
    for (size_t i = 0; i < p->n; i++) {
        p->variance[i] = p->residual[i];
        for (size_t j = 0; j < p->m; j++)
            p->variance[i] += p->Z[i * p->m + j] * X[j * p->n + i];
    }
    free(X);
}

void dense_posterior_init(dense_posterior *p, const random_problem *problem, const uint32_t *dictionary,
                          size_t m, const bandit_arm_sum *sums, size_t n_sums)
{
    size_t n = problem->n;
    *p = (dense_posterior){.n = n, .m = m, .lambda = problem->options.lambda};
    p->Z = zeros(n * m);
    p->V = zeros(m * m);
    p->mean = zeros(n);
    p->variance = zeros(n);
    p->residual = zeros(n);
    p->ambiguous = embed(problem, dictionary, m, p->Z);

    double *weights = zeros(m);
    for (size_t j = 0; j < m; j++)
        p->V[j * m + j] = p->lambda;
    for (size_t s = 0; s < n_sums; s++) {
        const double *z = p->Z + sums[s].arm * m;
        cblas_dger(CblasRowMajor, (int)m, (int)m, (double)sums[s].count, z, 1, z, 1, p->V, (int)m);
        cblas_daxpy((int)m, sums[s].sum, z, 1, weights, 1);
    }
    solve(p->V, m, weights, 1);
    for (size_t i = 0; i < n; i++) {
        const double *z = p->Z + i * m;
        p->mean[i] = cblas_ddot((int)m, z, 1, weights, 1);
        p->residual[i] =
            fmax(0.0, random_problem_kernel(problem, i, i) - cblas_ddot((int)m, z, 1, z, 1)) / p->lambda;
    }
    free(weights);
    refresh_variances(p);
}

void dense_posterior_hallucinate(dense_posterior *p, uint32_t arm)
{
    const double *z = p->Z + arm * p->m;
    cblas_dger(CblasRowMajor, (int)p->m, (int)p->m, 1.0, z, 1, z, 1, p->V, (int)p->m);
    refresh_variances(p);
}

void dense_posterior_clear(dense_posterior *p)
{
    free(p->Z);
    free(p->V);
    free(p->mean);
    free(p->variance);
    free(p->residual);
}

void dense_exact(const random_problem *problem, const bandit_arm_sum *sums, size_t n_sums, double *mean,
                 double *variance)
{
    size_t n = problem->n, u = n_sums;
    double lambda = problem->options.lambda;
    double *A = zeros(u * u), *X = zeros(u * (n + 1));
    for (size_t i = 0; i < u; i++) {
        for (size_t j = 0; j < u; j++)
            A[i * u + j] = random_problem_kernel(problem, sums[i].arm, sums[j].arm);
        A[i * u + i] += lambda / (double)sums[i].count;
        for (size_t a = 0; a < n; a++)
            X[i * (n + 1) + a] = random_problem_kernel(problem, sums[i].arm, a);
        X[i * (n + 1) + n] = sums[i].sum / (double)sums[i].count;
    }
    solve(A, u, X, n + 1);
    for (size_t a = 0; a < n; a++) {
        mean[a] = 0.0;
        variance[a] = random_problem_kernel(problem, a, a);
        for (size_t i = 0; i < u; i++) {
            double k = random_problem_kernel(problem, sums[i].arm, a);
            mean[a] += k * X[i * (n + 1) + n];
            variance[a] -= k * X[i * (n + 1) + a];
        }
        variance[a] /= lambda;
    }
    free(A);
    free(X);
}

double dense_log_det(const random_problem *problem, const bandit_arm_sum *sums, size_t n_sums)
{
    size_t u = n_sums;
    double *A = zeros(u * u), sum = 0.0;
    for (size_t i = 0; i < u; i++) {
        for (size_t j = 0; j < u; j++)
            A[i * u + j] = sqrt((double)sums[i].count * (double)sums[j].count) *
                               random_problem_kernel(problem, sums[i].arm, sums[j].arm) /
                               problem->options.lambda +
                           (i == j);
    }
    int info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (int)u, A, (int)u);
    assert(info == 0);
    (void)info;
    for (size_t i = 0; i < u; i++)
        sum += 2.0 * log(A[i * u + i]);
    free(A);
    return sum;
}
