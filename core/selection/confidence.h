/* The confidence width alpha ([BBKB] Thm. 2 and the authors' published code) and the log-sums it is made of:
 * Lambda_c = sum over the pulls s of log(1 + c sigma^2_fb(s)(x_s)), each term with the variance of its own
 * batch's start, for c = 1 and 3. */
#ifndef CORE_SELECTION_CONFIDENCE_H
#define CORE_SELECTION_CONFIDENCE_H

#include "bandit/engine.h"
#include "core/posterior/sparse_posterior.h"

typedef struct bandit_log_sums {
    double c1, c3;
} bandit_log_sums;

/* The start, when the first rewards have made the first model: log det V − m log lambda + sum_i n_i
 * (k(x_i,x_i) − |z_i|^2) / lambda under the first dictionary, with 3(V − lambda I) and 3(k − |z|^2) for c3:
 * never below log det(I + c K / lambda), and equal to it for a perfect dictionary. Ours, not the papers'. */
bandit_status bandit_log_sums_start(bandit_log_sums *sums, const bandit_posterior *first, bandit_error *err);

/* Adds results to the sums. Pulls of the engine add log(1 + c variance) each; others (history, users' own)
 * add log det(V + dV) − log det V + sum n_i (k − |z|^2) / lambda under `posterior`, the one in force while
 * they came in. Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL; *sums is then as before. */
bandit_status bandit_log_sums_add(bandit_log_sums *sums, const bandit_posterior *posterior,
                                  const bandit_result *results, size_t n_results, bandit_error *err);

/* Adds what amendments (bandit_engine_amend) have that was not there; what they take back stays in the sums.
 * Errors: as above; some may be added. */
bandit_status bandit_log_sums_amend(bandit_log_sums *sums, const bandit_posterior *posterior,
                                    const bandit_amendment *amendments, size_t n, bandit_error *err);

/* alpha of the batch that starts with these sums:
 *   theory      C beta, beta = 2 xi sqrt(Lambda_3 + log(1/delta)) + (1 + sqrt 2) sqrt(lambda) F
 *   practical   sqrt(lambda) F + xi sqrt(C Lambda_1 + log(1/delta))
 *   calibrated  sqrt(lambda): one Bayesian standard deviation, before bandit_confidence_calibrated (ours)
 *   fixed       as given */
double bandit_confidence_alpha(const bandit_options *options, const bandit_log_sums *sums);

/* alpha of BKB ([BKB] Alg. 1), from the effective dimension d = sum n_i sigma^2(x_i) under the dictionary in
 * force and t observations; eps = 1/2, a = (1 + eps)/(1 − eps):
 *   theory     2 xi sqrt(a log(kappa^2 t) d + log(1/delta)) + (1 + 1/sqrt(1 − eps)) sqrt(lambda) F, the
 *              logarithm clamped at 0 (ours)
 *   practical  sqrt(lambda) F + xi sqrt(log(t) d + log(1/delta))
 *   calibrated, fixed  as above */
double bandit_confidence_bkb(const bandit_options *options, double kappa2, uint64_t observations,
                             double effective_dimension);

/* q_bar in force: as given, or 72 C log(4t/delta) ([BBKB] Thm. 2), t >= 1 the observations; for BKB
 * 6 a log(4T/delta)/eps^2 = 72 log(4T/delta), T the horizon, or t where that is larger or none is given. */
double bandit_confidence_q_bar(const bandit_options *options, uint64_t observations);

/* The calibrated width of a pick in a space, or of a batch of candidates, in Bayesian standard deviations of
 * a prior of variance 1: three in turn, chosen by benchmark (ours). One; less where there is noise, near the
 * largest mean: what a lucky draw made look good comes down; and more, up to three, the longer ago the best
 * reward was first met: with one, a region of which nothing is known is never worth a pick once the best is a
 * standard deviation above the mean. As the wide one widens the narrow one shrinks, to the largest mean
 * itself: an optimum that was met is followed to its last digits. stagnation: rewards since then, UINT64_MAX
 * where that is not known. */
double bandit_confidence_calibrated(const bandit_options *options, uint64_t pick, uint64_t stagnation);

/* gamma_{t-1} as options.gamma says, t = observations + 1; information_gain is what "exact" answers. Bounds
 * up to constants are those of Srinivas et al. 2010, Thm. 5. */
double bandit_confidence_gamma(const bandit_options *options, size_t dimension, uint64_t observations,
                               double information_gain);

/* A factor before the Bayesian standard deviation that follows from gamma_{t-1} and t − 1, the observations. */
typedef double bandit_gain_width(const bandit_options *options, double gamma, uint64_t observations);

/* Factors before the Bayesian standard deviation. B + R sqrt(2 (gamma_{t-1} + 1 + log(numerator / delta))):
 * [CG17] Alg. 1 with 1, Alg. 2 with 2. */
double bandit_confidence_improved(const bandit_options *options, double gamma, double numerator);
/* sqrt(2 B^2 + 300 gamma_{t-1} ln^3(t/delta)): Srinivas et al. 2010, as [CG17] section 3 restates it. */
double bandit_confidence_gp_ucb(const bandit_options *options, double gamma, uint64_t observations);
/* alpha_t = (1 + a (B + R sqrt(2 log(t^2) / tau) + c)) / scale, t the step that the batch begins, a = 1 and
 * c = 0: [VPA21] eq. 10. */
double bandit_confidence_sparse_sample(const bandit_options *options, uint64_t observations);

#endif
