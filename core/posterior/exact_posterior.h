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
 * so the column a, one entry an arm, is all that a pull adds, and with J columns held
 *
 *   c(x, x_p) = k(x, x_p) − sum_j a_j(x) a_j(x_p)
 *
 * costs O(A J) for all arms at once. This is the Cholesky factor L of K + diag(tau) over the pulls, growing
 * by a row (its rows are the columns read at the pulled arms), together with the solved columns L^{-1} k(x)
 * of every arm: nothing is solved again. No pivot is below tau, whatever the kernel matrix's rank.
 *
 * Columns come in two kinds: solid ones carry rewards; hallucinated ones stand behind them, change the
 * selection variance only and are forgotten at the next batch ([Desautels 2014]). */
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
    uint64_t repeats; /* k >= 1 */
    double reward;    /* y, the mean of k; ignored when hallucinated */
} bandit_pull;

typedef struct bandit_exact bandit_exact;

/* The prior. `covariance` is borrowed and must outlive it. The caller owns *out. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_exact_new(bandit_exact **out, const bandit_covariance *covariance, double lambda,
                               bandit_error *err);
void bandit_exact_free(bandit_exact *posterior); /* NULL is fine */

/* Bytes that the posterior (NULL: a new one over these arms) would hold with so much reserved; with no
 * columns, with nothing reserved. */
size_t bandit_exact_need(const bandit_exact *held, const bandit_covariance *covariance, size_t n_solid,
                         size_t n_hallucinated, size_t workers);
size_t bandit_exact_memory(const bandit_exact *posterior);

/* Makes room for n_solid columns with rewards and n_hallucinated behind them, for an executor with so many
 * workers; what is held stays. The functions below never allocate. On an error nothing has changed.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_exact_reserve(bandit_exact *posterior, size_t n_solid, size_t n_hallucinated,
                                   size_t workers, bandit_error *err);

/* Whether `more` columns can be hallucinated without another reserve. */
bool bandit_exact_has_room(const bandit_exact *posterior, size_t more, size_t workers);

/* Back to the prior. */
void bandit_exact_reset(bandit_exact *posterior);

/* Appends pulls with their rewards; nothing may be hallucinated. `together` takes them in blocks (matrix
 * products, for building from counts and sums), otherwise one at a time; the bits depend on which. */
void bandit_exact_observe(bandit_exact *posterior, const bandit_pull *pulls, size_t n, bool together,
                          const bandit_executor *executor);

/* Appends a pull of `arm` whose reward is out. Returns its selection variance before it. */
double bandit_exact_hallucinate(bandit_exact *posterior, uint32_t arm, const bandit_executor *executor);
void bandit_exact_forget(bandit_exact *posterior); /* drops what is hallucinated */

size_t bandit_exact_solid(const bandit_exact *posterior);
size_t bandit_exact_hallucinated(const bandit_exact *posterior);

/* One entry an arm, borrowed; they follow every change. */
const double *bandit_exact_mean(const bandit_exact *posterior);
const double *bandit_exact_variance(const bandit_exact *posterior); /* given the rewards that are in */
const double *bandit_exact_selection_variance(const bandit_exact *posterior); /* and all hallucinated */

/* The norm of the mean in the kernel's space; uses the memory of rows. */
double bandit_exact_mean_norm(bandit_exact *posterior);

/* 1/2 log det(I + K/lambda) over all solid pulls, each counted `repeats` times. */
double bandit_exact_information_gain(const bandit_exact *posterior);

/* Mean and variance, given the solid pulls, at n points of n x dimension coordinates scaled as the arms are.
 * Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_exact_predict(const bandit_exact *posterior, const double *coordinates, size_t n,
                                   double *mean, double *variance, bandit_error *err);

/* Length of an array over the arms: their number rounded up to whole tiles. */
size_t bandit_exact_stride(const bandit_exact *posterior);

/* Turns a draw of the prior into a draw of the posterior's deviation from its mean (Matheron's rule; Wilson
 * et al. 2020): with f a draw of GP(0, k) on all arms and noise[j] ~ N(0, 1), independent,
 *
 *   f(x) − k(x)' (K + diag(tau))^{-1} (f(x_pulled) + sqrt(tau) noise)  =  f(x) − sum_j a_j(x) s_j,
 *   s = L^{-1} (f(x_pulled) + sqrt(tau) noise)
 *
 * is a draw of GP(0, c), jointly over all arms: exactly so when f is. O(J^2 + A J).
 *   f      stride entries, in place
 *   noise  solid columns' many; overwritten */
void bandit_exact_condition(const bandit_exact *posterior, double *f, double *noise,
                            const bandit_executor *executor);

#endif
