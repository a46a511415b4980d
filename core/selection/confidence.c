#include "core/selection/confidence.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double bandit_confidence_calibrated(const bandit_options *options, uint64_t pick, uint64_t stagnation)
{
    const double patience = 12.0; /* number of rewards */
    double xi = options->noise_std;
    double closer = stagnation < UINT64_MAX ? fmin(1.0, patience / (1.0 + (double)stagnation)) : 1.0;
    switch (pick % 3) {
    case 0:
        return closer * closer / (1.0 + 2.0 * xi);
    case 1:
        return 1.0;
    default:
        return fmax(1.0, fmin(1.0 + 2.0 / (1.0 + 4.0 * xi), (double)stagnation / patience));
    }
}

bandit_status bandit_log_sums_start(bandit_log_sums *sums, const bandit_posterior *first, bandit_error *err)
{
    double tripled;
    bandit_status status = bandit_posterior_log_det(first, 3.0, &tripled, err);
    if (status != BANDIT_OK)
        return status;
    sums->c1 = first->log_det_ratio + first->residual_sum;
    sums->c3 = tripled + 3.0 * first->residual_sum;
    return BANDIT_OK;
}

/* out = log det(I + c G), where `gram` is the lower triangle of the m x m matrix G. */
static bandit_status log_det_shifted(double *out, double *copy, const double *gram, double c, size_t m,
                                     bandit_error *err)
{
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k; i < m; i++)
            copy[k * m + i] = c * gram[k * m + i] + (i == k);
    }
    bandit_status status = bandit_cholesky(copy, m, m, "I + W N W'", err);
    if (status == BANDIT_OK)
        *out = bandit_log_det(copy, m, m);
    return status;
}

/* Adds the results that the engine did not choose: log det(V + dV) − log det V = log det(I + W N W') with
 * w = L_V^{-1} z. */
static bandit_status add_unchosen(bandit_log_sums *sums, const bandit_posterior *posterior,
                                  const bandit_result *results, size_t n_results, bandit_error *err)
{
    size_t m = posterior->m;
    double residuals = 0.0, log_det[2] = {0.0, 0.0};
    double *gram = bandit_alloc_zeroed(m * m, sizeof *gram);
    double *copy = bandit_alloc(m * m, sizeof *copy);
    double *w = bandit_alloc(m, sizeof *w);
    double *scratch = bandit_alloc(bandit_posterior_scratch(posterior), sizeof *scratch);
    bandit_status status = BANDIT_OK;
    if (!gram || !copy || !w || !scratch) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    for (size_t i = 0; i < n_results; i++) {
        if (results[i].chosen)
            continue;
        bandit_pause();
        bandit_embedding e = bandit_posterior_embed(posterior, results[i].arm, w, scratch);
        residuals += results[i].repeats * e.residual;
        if (m > 0)
            cblas_dsyr(CblasColMajor, CblasLower, (int)m, results[i].repeats, w, 1, gram, (int)m);
    }
    for (int i = 0; i < 2 && m > 0 && status == BANDIT_OK; i++)
        status = log_det_shifted(&log_det[i], copy, gram, i == 0 ? 1.0 : 3.0, m, err);
    if (status == BANDIT_OK) {
        sums->c1 += log_det[0] + residuals;
        sums->c3 += log_det[1] + 3.0 * residuals;
    }
out:
    free(gram);
    free(copy);
    free(w);
    free(scratch);
    return status;
}

bandit_status bandit_log_sums_add(bandit_log_sums *sums, const bandit_posterior *posterior,
                                  const bandit_result *results, size_t n_results, bandit_error *err)
{
    bandit_log_sums next = *sums;
    bool unchosen = false;
    for (size_t i = 0; i < n_results; i++) {
        if (results[i].chosen) {
            next.c1 += results[i].repeats * log1p(results[i].variance);
            next.c3 += results[i].repeats * log1p(3.0 * results[i].variance);
        }
        unchosen |= !results[i].chosen;
    }
    bandit_status status = unchosen ? add_unchosen(&next, posterior, results, n_results, err) : BANDIT_OK;
    if (status == BANDIT_OK)
        *sums = next;
    return status;
}

bandit_status bandit_log_sums_amend(bandit_log_sums *sums, const bandit_posterior *posterior,
                                    const bandit_amendment *amendments, size_t n, bandit_error *err)
{
    bandit_status status = BANDIT_OK;
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        const bandit_amendment *a = &amendments[i];
        bandit_result added = {.arm = a->arm,
                               .repeats = a->now.repeats,
                               .reward = a->now.reward,
                               .chosen = a->chosen,
                               .variance = a->variance};
        if (a->now.repeats > a->was.repeats) {
            added.repeats -= a->was.repeats;
            status = bandit_log_sums_add(sums, posterior, &added, 1, err);
        }
    }
    return status;
}

double bandit_confidence_alpha(const bandit_options *options, const bandit_log_sums *sums)
{
    double xi = options->noise_std, C = options->ratio_bound, F = options->norm_bound;
    double log_delta = -log(options->delta), root_lambda = sqrt(options->lambda);
    switch (options->confidence) {
    case BANDIT_CONFIDENCE_PRACTICAL:
        return root_lambda * F + xi * sqrt(C * sums->c1 + log_delta);
    case BANDIT_CONFIDENCE_THEORY:
        return C * (2.0 * xi * sqrt(sums->c3 + log_delta) + (1.0 + sqrt(2.0)) * root_lambda * F);
    case BANDIT_CONFIDENCE_FIXED:
        return options->beta;
    case BANDIT_CONFIDENCE_CALIBRATED:
        return root_lambda;
    }
    return options->beta;
}

double bandit_confidence_bkb(const bandit_options *options, double kappa2, uint64_t observations,
                             double effective_dimension)
{
    const double eps = 0.5, a = (1.0 + eps) / (1.0 - eps);
    double xi = options->noise_std, F = options->norm_bound, t = (double)observations;
    double log_delta = -log(options->delta), root_lambda = sqrt(options->lambda);
    switch (options->confidence) {
    case BANDIT_CONFIDENCE_PRACTICAL:
        return root_lambda * F + xi * sqrt(log(t) * effective_dimension + log_delta);
    case BANDIT_CONFIDENCE_THEORY:
        return 2.0 * xi * sqrt(a * fmax(0.0, log(kappa2 * t)) * effective_dimension + log_delta) +
               (1.0 + 1.0 / sqrt(1.0 - eps)) * root_lambda * F;
    case BANDIT_CONFIDENCE_FIXED:
        return options->beta;
    case BANDIT_CONFIDENCE_CALIBRATED:
        return root_lambda;
    }
    return options->beta;
}

double bandit_confidence_q_bar(const bandit_options *options, uint64_t observations)
{
    if (!options->q_bar_theory)
        return options->q_bar;
    bool single = options->algorithm == BANDIT_BKB;
    double t = (double)(single && options->horizon > observations ? options->horizon : observations);
    return 72.0 * (single ? 1.0 : options->ratio_bound) * log(4.0 * fmax(1.0, t) / options->delta);
}

/* Upper bounds on gamma up to constants (Srinivas et al. 2010, Thm. 5); 0 for t = 1. */
static double gamma_bound(const bandit_options *o, size_t dimension, double t)
{
    double d = (double)dimension, exponent;
    switch (o->kernel.type) {
    case BANDIT_KERNEL_GAUSSIAN:
        return pow(log(t), d + 1.0);
    case BANDIT_KERNEL_MATERN:
        exponent = d * (d + 1.0) / (2.0 * o->kernel.nu + d * (d + 1.0));
        return pow(t, exponent) * log(t);
    case BANDIT_KERNEL_LINEAR:
        return d * log(t);
    case BANDIT_KERNEL_PRECOMPUTED: /* rejected by bandit_options_check */
        break;
    }
    return NAN;
}

double bandit_confidence_gamma(const bandit_options *o, size_t dimension, uint64_t observations,
                               double information_gain)
{
    switch (o->gamma) {
    case BANDIT_GAMMA_EXACT:
        return information_gain;
    case BANDIT_GAMMA_BOUND:
        return o->gamma_scale * gamma_bound(o, dimension, (double)observations + 1.0);
    case BANDIT_GAMMA_FIXED:
        return o->gamma_value;
    }
    return NAN;
}

double bandit_confidence_improved(const bandit_options *o, double gamma, double numerator)
{
    return o->norm_bound + o->noise_std * sqrt(2.0 * (gamma + 1.0 + log(numerator / o->delta)));
}

double bandit_confidence_gp_ucb(const bandit_options *o, double gamma, uint64_t observations)
{
    double l = log(((double)observations + 1.0) / o->delta);
    return sqrt(2.0 * o->norm_bound * o->norm_bound + 300.0 * gamma * l * l * l);
}

double bandit_confidence_sparse_sample(const bandit_options *o, uint64_t observations)
{
    double t = (double)observations + 1.0;
    return (1.0 + o->norm_bound + o->noise_std * sqrt(4.0 * log(t) / o->lambda)) / o->scale;
}
