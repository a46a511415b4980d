/* The confidence width alpha ([BBKB] Thm. 2 and the authors' published code) and the log-sums that it is
 * computed from: Lambda_c = sum over the pulls s of log(1 + c sigma^2_fb(s)(x_s)) for c = 1 and 3. Each term
 * uses the variance at the start of the pull's own batch. */
#ifndef CORE_SELECTION_CONFIDENCE_H
#define CORE_SELECTION_CONFIDENCE_H

#include "bandit/engine.h"
#include "core/posterior/sparse_posterior.h"

typedef struct bandit_log_sums {
    double c1, c3;
} bandit_log_sums;

/* The initial sums, under the first model after the first rewards: log det V − m log lambda + sum_i n_i
 * (k(x_i,x_i) − |z_i|^2) / lambda under the first dictionary, with 3(V − lambda I) and 3(k − |z|^2) for c3.
 * They are never below log det(I + c K / lambda), and equal to it if the dictionary is exact. This is ours,
 * not the papers'. */
bandit_status bandit_log_sums_start(bandit_log_sums *sums, const bandit_posterior *first, bandit_error *err);

/* Adds results to the sums. A pull that the engine chose adds log(1 + c variance). The others (imported
 * observations, points that users chose) add log det(V + dV) − log det V + sum n_i (k − |z|^2) / lambda under
 * `posterior`, which must be the posterior that was current when they arrived. Errors: BANDIT_NO_MEMORY,
 * BANDIT_NUMERICAL; *sums is then as before. */
bandit_status bandit_log_sums_add(bandit_log_sums *sums, const bandit_posterior *posterior,
                                  const bandit_result *results, size_t n_results, bandit_error *err);

/* Adds the pulls that amendments (bandit_engine_amend) introduce. Pulls that they remove stay in the sums.
 * Errors: as above; some of the amendments may then have been added. */
bandit_status bandit_log_sums_amend(bandit_log_sums *sums, const bandit_posterior *posterior,
                                    const bandit_amendment *amendments, size_t n, bandit_error *err);

/* alpha of the batch that starts with these sums:
 *   theory      C beta, beta = 2 xi sqrt(Lambda_3 + log(1/delta)) + (1 + sqrt 2) sqrt(lambda) F
 *   practical   sqrt(lambda) F + xi sqrt(C Lambda_1 + log(1/delta))
 *   calibrated  sqrt(lambda): one Bayesian standard deviation, to be multiplied by
 *               bandit_confidence_calibrated (ours)
 *   fixed       as given
 * Here xi is noise_std, F norm_bound and C ratio_bound of the options. */
double bandit_confidence_alpha(const bandit_options *options, const bandit_log_sums *sums);

/* alpha of BKB ([BKB] Alg. 1), from the effective dimension d = sum n_i sigma^2(x_i) under the current
 * dictionary and t observations; eps = 1/2, a = (1 + eps)/(1 − eps):
 *   theory     2 xi sqrt(a log(kappa^2 t) d + log(1/delta)) + (1 + 1/sqrt(1 − eps)) sqrt(lambda) F, the
 *              logarithm clamped at 0 (ours)
 *   practical  sqrt(lambda) F + xi sqrt(log(t) d + log(1/delta))
 *   calibrated, fixed  as above */
double bandit_confidence_bkb(const bandit_options *options, double kappa2, uint64_t observations,
                             double effective_dimension);

/* The current q_bar: as given, or 72 C log(4t/delta) ([BBKB] Thm. 2) for t >= 1 observations. For BKB it is 6
 * a log(4T/delta)/eps^2 = 72 log(4T/delta), where T is the horizon, or t if that is larger or no horizon is
 * given. */
double bandit_confidence_q_bar(const bandit_options *options, uint64_t observations);

/* The calibrated width of a pick in a space, or of a batch of candidates, in standard deviations of a prior
 * with variance 1. Picks take three widths in turn, chosen by benchmark (ours):
 *   narrow  less than one if there is noise. It picks near the largest mean, so that an arm that only looks
 *           good because of noise is evaluated again, and falls back.
 *   one     the plain upper confidence bound.
 *   wide    more than one, up to three, the longer the best reward has stood. With width one, a region
 *           without data is never picked once the best is a standard deviation above the mean.
 * As the wide one grows the narrow one shrinks towards the largest mean itself, so that an optimum that was
 * found is refined to its last digits. stagnation: rewards since the best one was first observed; UINT64_MAX
 * if unknown. */
double bandit_confidence_calibrated(const bandit_options *options, uint64_t pick, uint64_t stagnation);

/* gamma_{t-1} as options.gamma prescribes, t = observations + 1. information_gain is returned for "exact".
 * The bounds, up to constants, are those of Srinivas et al. 2010, Thm. 5. */
double bandit_confidence_gamma(const bandit_options *options, size_t dimension, uint64_t observations,
                               double information_gain);

/* A factor of the Bayesian standard deviation, from gamma_{t-1} and the t − 1 observations. */
typedef double bandit_gain_width(const bandit_options *options, double gamma, uint64_t observations);

/* Factors of the Bayesian standard deviation. B + R sqrt(2 (gamma_{t-1} + 1 + log(numerator / delta))):
 * [CG17] Alg. 1 with numerator 1, Alg. 2 with 2. */
double bandit_confidence_improved(const bandit_options *options, double gamma, double numerator);
/* sqrt(2 B^2 + 300 gamma_{t-1} ln^3(t/delta)): Srinivas et al. 2010, as [CG17] section 3 restates it. */
double bandit_confidence_gp_ucb(const bandit_options *options, double gamma, uint64_t observations);
/* alpha_t = (1 + a (B + R sqrt(2 log(t^2) / tau) + c)) / scale, where t is the first step of the batch, a = 1
 * and c = 0: [VPA21] eq. 10. */
double bandit_confidence_sparse_sample(const bandit_options *options, uint64_t observations);

#endif
