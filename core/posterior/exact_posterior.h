/* The exact Gaussian-process posterior over a finite set of arms, grown one pull at a time. Variances here
 * are Bayesian (not divided by lambda).
 *
 * A pull of arm p that stands for k evaluations with mean y is one observation with noise variance
 * tau = lambda / k. Given the posterior (mu, c) before it, [CG17] App. F (19)–(21) read
 *
 *   a(x)     = c(x, x_p) / d,   d^2 = tau + c(x_p, x_p),   e = (y − mu(x_p)) / d
 *   mu'(x)   = mu(x) + a(x) e
 *   c'(x,x') = c(x,x') − a(x) a(x')
 *
 * A pull therefore adds only the column a, with one entry per arm. With J columns, computing
 *
 *   c(x, x_p) = k(x, x_p) − sum_j a_j(x) a_j(x_p)
 *
 * for all A arms costs O(A J). Together the columns are the Cholesky factor L of K + diag(tau) over the pulls
 * (its rows are the columns read at the pulled arms) and the solutions L^{-1} k(x) for every arm x. A new
 * pull adds a row to L and a column of solutions; nothing is solved again. Each squared pivot d^2 is at least
 * tau, whatever the rank of the kernel matrix.
 *
 * There are two kinds of columns. Solid columns carry rewards. Hallucinated columns follow them, change only
 * the selection variance, and are dropped when the next batch starts ([Desautels 2014]). */
#ifndef CORE_POSTERIOR_EXACT_POSTERIOR_H
#define CORE_POSTERIOR_EXACT_POSTERIOR_H

#include "bandit/executor.h"
#include "bandit/status.h"
#include "core/arms/covariance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bandit_pull {
    uint32_t arm;
    float weight;     /* as in bandit_result: the noise variance is lambda / (k weight); 0 stands for 1 */
    uint64_t repeats; /* k >= 1 */
    double reward;    /* y, the mean of the k evaluations; ignored when hallucinated */
} bandit_pull;

static inline double bandit_pull_precision(const bandit_pull *pull)
{
    double repeats = (double)pull->repeats;
    return pull->weight > 0.0F ? repeats * (double)pull->weight : repeats;
}

typedef struct bandit_exact bandit_exact;

/* Creates the prior. `covariance` is borrowed and must outlive it. The caller owns *out. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_exact_new(bandit_exact **out, const bandit_covariance *covariance, double lambda,
                               bandit_error *err);
void bandit_exact_free(bandit_exact *posterior); /* accepts NULL */

/* Bytes that the posterior (NULL: a new one over these arms) would hold after bandit_exact_reserve with these
 * arguments. Without columns: bytes before any reserve. */
size_t bandit_exact_need(const bandit_exact *held, const bandit_covariance *covariance, size_t n_solid,
                         size_t n_hallucinated, size_t workers);
size_t bandit_exact_memory(const bandit_exact *posterior);

/* Reserves memory for n_solid columns with rewards and n_hallucinated columns after them, and scratch memory
 * for an executor with this many workers. Existing columns stay, and after an error the posterior is as
 * before. Growing the posterior within this memory allocates nothing. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_exact_reserve(bandit_exact *posterior, size_t n_solid, size_t n_hallucinated,
                                   size_t workers, bandit_error *err);

/* Whether `more` columns can be hallucinated without another reserve. */
bool bandit_exact_has_room(const bandit_exact *posterior, size_t more, size_t workers);

/* Returns to the prior. */
void bandit_exact_reset(bandit_exact *posterior);

/* Appends pulls with their rewards; there must be no hallucinated columns. With `together`, pulls are
 * appended in blocks by matrix products, which is faster for building from counts and sums; otherwise one at
 * a time. The two differ in rounding. */
void bandit_exact_observe(bandit_exact *posterior, const bandit_pull *pulls, size_t n, bool together,
                          const bandit_executor *executor);

/* Appends a pull of `arm` that is in flight. Returns the arm's selection variance before it. */
double bandit_exact_hallucinate(bandit_exact *posterior, uint32_t arm, const bandit_executor *executor);
void bandit_exact_forget(bandit_exact *posterior); /* drops the hallucinated columns */

size_t bandit_exact_solid(const bandit_exact *posterior);
size_t bandit_exact_hallucinated(const bandit_exact *posterior);

/* One entry per arm, borrowed. The arrays follow every later change. */
const double *bandit_exact_mean(const bandit_exact *posterior);
const double *bandit_exact_variance(const bandit_exact *posterior);           /* given the observed rewards */
const double *bandit_exact_selection_variance(const bandit_exact *posterior); /* and hallucinated pulls */

/* The RKHS norm of the mean. Uses the scratch memory for rows. */
double bandit_exact_mean_norm(bandit_exact *posterior);

/* 1/2 log det(I + K/lambda) over all solid pulls, each counted `repeats` times. */
double bandit_exact_information_gain(const bandit_exact *posterior);

/* Mean and variance, given the solid pulls, at n points: n x dimension coordinates, scaled as the arms are.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_exact_predict(const bandit_exact *posterior, const double *coordinates, size_t n,
                                   double *mean, double *variance, bandit_error *err);

/* Length of the arrays above: the number of arms, rounded up to whole tiles. */
size_t bandit_exact_stride(const bandit_exact *posterior);

/* Turns a sample of the prior into a sample of the posterior's deviation from its mean (Matheron's rule;
 * Wilson et al. 2020). With f a sample of GP(0, k) on all arms and independent noise[j] ~ N(0, 1),
 *
 *   f(x) − k(x)' (K + diag(tau))^{-1} (f(x_pulled) + sqrt(tau) noise)  =  f(x) − sum_j a_j(x) s_j,
 *   s = L^{-1} (f(x_pulled) + sqrt(tau) noise)
 *
 * is a sample of GP(0, c), jointly over all arms. It is exact if f is. O(J^2 + A J).
 *   f      stride entries, overwritten by the result
 *   noise  one entry per solid column; overwritten */
void bandit_exact_condition(const bandit_exact *posterior, double *f, double *noise,
                            const bandit_executor *executor);

#endif
