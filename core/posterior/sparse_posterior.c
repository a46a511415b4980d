#include "core/posterior/sparse_posterior.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"
#include "core/posterior/ledger.h"
#include "core/posterior/prior_mean.h"
#include "core/posterior/sparse_blocks.h"

#include <assert.h>
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Factors K_S = L L' by pivoted Cholesky and keeps the m members that are numerically independent. */
static bandit_status factor_dictionary(bandit_posterior *p, const uint32_t *dictionary, size_t n,
                                       bandit_error *err)
{
    const bandit_covariance *covariance = p->covariance;
    size_t ld = bandit_whole_tiles(n);
    double kappa2 = covariance->kappa2;
    uint32_t *pivot = bandit_alloc(n, sizeof *pivot);
    bandit_status status;

    if (!pivot || !bandit_reserve((void **)&p->L, &p->capacity_L, n * n, sizeof(double)) ||
        !bandit_reserve((void **)&p->work, &p->capacity_work, ld * n + bandit_covariance_scratch(covariance),
                        sizeof(double))) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a dictionary of %zu", n);
        goto out;
    }
    status = bandit_points_set(&p->points, covariance, dictionary, n, err);
    if (status != BANDIT_OK)
        goto out;
    bandit_covariance_block(covariance, dictionary, n, &p->points, p->work, ld, p->work + ld * n);
    for (size_t k = 0; k < n; k++)
        memcpy(p->L + k * n, p->work + k * ld, n * sizeof(double));

    /* Relative tolerance max(m eps, min(1e-10, 1e-8 lambda / kappa^2)): leaving out a member changes a
     * variance by at most tolerance * kappa^2 / lambda. */
    double relative =
        fmax((double)n * DBL_EPSILON, kappa2 > 0.0 ? fmin(1e-10, 1e-8 * p->lambda / kappa2) : 1e-10);
    bandit_pause();
    status = bandit_pivoted_cholesky(p->L, n, relative * kappa2, pivot, &p->m, err);
    if (status != BANDIT_OK)
        goto out;
    for (size_t k = 0; k < p->m; k++) {
        memmove(p->L + k * p->m, p->L + k * n, p->m * sizeof(double));
        pivot[k] = dictionary[pivot[k]];
    }
    status = bandit_points_set(&p->points, covariance, pivot, p->m, err);
out:
    free(pivot);
    return status;
}

/* Adds one block of pulled arms to V (lower triangle, in L_V), to b = sum r_i z_i and to the residual sum. */
static void accumulate_block(bandit_posterior *p, double *block, double *scratch, const bandit_arm_sum *sums,
                             size_t rows, double *b)
{
    uint32_t arms[BANDIT_BLOCK];
    double diagonal[BANDIT_BLOCK], norms[BANDIT_BLOCK], rewards[BANDIT_BLOCK], precision[BANDIT_BLOCK];
    size_t m = p->m;

    for (size_t i = 0; i < rows; i++) {
        arms[i] = sums[i].arm;
        rewards[i] = bandit_weighted_sum(&sums[i]);
        precision[i] = bandit_precision(&sums[i]);
    }
    bandit_covariance_diagonal(p->covariance, arms, rows, diagonal);
    bandit_covariance_block(p->covariance, arms, rows, &p->points, block, BANDIT_BLOCK, scratch);
    if (m > 0)
        bandit_solve_rows(p->L, m, block, rows);
    bandit_row_norms(block, m, rows, norms);
    for (size_t i = 0; i < rows; i++) {
        double residual = fmax(0.0, diagonal[i] - norms[i]);
        double share = p->discounts ? 1.0 / (1.0 + precision[i] * residual / p->lambda) : 1.0;
        precision[i] *= share;
        rewards[i] *= share;
        p->residual_sum += precision[i] * residual / p->lambda;
    }
    if (m == 0)
        return;
    cblas_dgemv(CblasColMajor, CblasTrans, (int)rows, (int)m, 1.0, block, BANDIT_BLOCK, rewards, 1, 1.0, b,
                1);
    for (size_t i = 0; i < rows; i++)
        norms[i] = sqrt(precision[i]);
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < rows; i++)
            block[k * BANDIT_BLOCK + i] *= norms[i];
    }
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)m, (int)rows, 1.0, block, BANDIT_BLOCK, 1.0,
                p->L_V, (int)m);
}

/* Effective dimension: sum n_i |w_i|^2 = tr(L_V^{-1} (V − lambda I) L_V^{-T}) = m − lambda |L_V^{-1}|_F^2. */
static bandit_status effective_dimension(bandit_posterior *p, double *inverse, bandit_error *err)
{
    size_t m = p->m;
    double trace = 0.0;
    for (size_t k = 0; k < m; k++)
        memcpy(inverse + k * m + k, p->L_V + k * m + k, (m - k) * sizeof(double));
    bandit_status status = bandit_invert_lower(inverse, m, m, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t k = 0; k < m; k++)
        trace += cblas_ddot((int)(m - k), inverse + k * m + k, 1, inverse + k * m + k, 1);
    p->effective_dimension = p->residual_sum + fmax(0.0, (double)m - p->lambda * trace);
    return BANDIT_OK;
}

/* Error bounds of the two-norm form. Rounding in z = L^{-1} k is amplified by at most |L^{-1}|, which
 * pivoting keeps near 1 / min L_ii. The factor 16 covers the growth of the error in the inner products; a
 * test compares with the evaluation of one arm at a time. */
void bandit_posterior_evaluate_plainly(bandit_posterior *p)
{
    double smallest = INFINITY, kappa2 = p->covariance->kappa2;
    for (size_t k = 0; k < p->m; k++)
        smallest = fmin(smallest, p->L[k * p->m + k]);
    double relative = p->m == 0 ? DBL_EPSILON : 16.0 * DBL_EPSILON * sqrt((double)p->m * kappa2) / smallest;
    p->variance_error = relative * kappa2 / p->lambda;
    p->mean_error = p->m == 0 ? 0.0 : relative * cblas_dnrm2((int)p->m, p->g, 1) * sqrt(kappa2 / p->lambda);
    p->one_factor = false;
}

/* Computes R and the weights. `inverse` holds L_V^{-1} (lower triangle); `a` and `b` are m x m scratch.
 *
 * The single-norm form suffers from cancellation. The shift changes a variance by up to shift kappa^2, and R
 * k has an error of eps |R|_F |k|, times 16 for the growth in the inner products. If this error is not small
 * compared with the variances that matter, the posterior keeps the two-norm form. */
static bandit_status factor_once(bandit_posterior *p, const double *inverse, double *a, double *b,
                                 bandit_error *err)
{
    const double acceptable = 1e-5;
    if (p->covariance->simd->two_norms)
        return BANDIT_OK;
    int m = (int)p->m;
    size_t n = p->m;
    double kappa2 = p->covariance->kappa2, shift = 1e-14 / p->lambda;

    /* a = (I − lambda V^{-1}) / lambda, V^{-1} = L_V^{-T} L_V^{-1} */
    memcpy(a, inverse, n * n * sizeof *a);
    lapack_int info = LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', m, a, m);
    assert(info == 0);
    (void)info;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = k; i < n; i++)
            a[k * n + i] = (i == k ? 1.0 / p->lambda : 0.0) - a[k * n + i];
    }
    int tries = 0;
    while (!bandit_reversed_cholesky(b, a, n, shift)) {
        shift *= 10.0;
        if (++tries == 4)
            return BANDIT_OK; /* keep the two-norm form */
    }
    /* a = L^{-1}; weights = L^{-T} L_V^{-T} g; b = C L^{-1} */
    for (size_t k = 0; k < n; k++) {
        memset(a + k * n, 0, n * sizeof *a);
        memcpy(a + k * n + k, p->L + k * n + k, (n - k) * sizeof *a);
        memset(b + k * n, 0, k * sizeof *b);
    }
    bandit_pause();
    bandit_status status = bandit_invert_lower(a, n, n, err);
    if (status != BANDIT_OK)
        return status;
    bandit_pause();
    cblas_dcopy(m, p->g, 1, p->weights, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L_V, m, p->weights, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L, m, p->weights, 1);
    cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, m, m, 1.0, a, m, b, m);

    double rounding = 16.0 * DBL_EPSILON, norm = cblas_dnrm2(m * m, b, 1);
    double error = shift * kappa2 + rounding * sqrt(kappa2 / p->lambda) * kappa2 * norm;
    if (!(error <= acceptable))
        return BANDIT_OK;
    p->variance_error = error + rounding * kappa2 / p->lambda;
    p->mean_error = rounding * kappa2 * cblas_dnrm2(m, p->weights, 1);
    if (p->covariance->prior)
        p->mean_error += rounding * bandit_prior_mean_bound(p->covariance->prior);
    p->one_factor = true;
    if (p->covariance->simd->norms)
        bandit_simd_pack(p->R, b, n);
    else
        memcpy(p->R, b, n * n * sizeof *b);
    return BANDIT_OK;
}

bandit_status bandit_posterior_build(bandit_posterior *p, const bandit_covariance *covariance, double lambda,
                                     const uint32_t *dictionary, size_t n_dictionary,
                                     const bandit_arm_sum *sums, size_t n_sums, bandit_error *err)
{
    p->covariance = covariance;
    p->lambda = lambda;
    p->residual_sum = p->log_det_ratio = p->effective_dimension = 0.0;
    bandit_status status = factor_dictionary(p, dictionary, n_dictionary, err);
    if (status != BANDIT_OK)
        return status;

    size_t m = p->m, scratch = bandit_covariance_scratch(covariance);
    if (!bandit_reserve((void **)&p->L_V, &p->capacity_L_V, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&p->g, &p->capacity_g, m, sizeof(double)) ||
        !bandit_reserve((void **)&p->work, &p->capacity_work, max_size(m * BANDIT_BLOCK, 3 * m * m) + scratch,
                        sizeof(double)) ||
        !bandit_reserve((void **)&p->weights, &p->capacity_weights, m, sizeof(double)) ||
        !bandit_reserve((void **)&p->R, &p->capacity_R, max_size(bandit_simd_packed_size(m), m * m),
                        sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a dictionary of %zu", m);
    if (m > 0) { /* with m = 0 (all arms of the dictionary are zero) there is nothing to store */
        memset(p->L_V, 0, m * m * sizeof(double));
        memset(p->g, 0, m * sizeof(double));
    }
    for (size_t first = 0; first < n_sums; first += BANDIT_BLOCK) {
        size_t rows = n_sums - first < BANDIT_BLOCK ? n_sums - first : BANDIT_BLOCK;
        status = bandit_pause_status(err);
        if (status != BANDIT_OK)
            return status;
        accumulate_block(p, p->work, p->work + m * BANDIT_BLOCK, sums + first, rows, p->g);
    }
    if (m == 0) {
        p->effective_dimension = p->residual_sum;
        bandit_posterior_evaluate_plainly(p);
        return BANDIT_OK;
    }
    bandit_pause();
    for (size_t k = 0; k < m; k++)
        p->L_V[k * m + k] += lambda;
    status = bandit_cholesky(p->L_V, m, m, "V", err);
    if (status != BANDIT_OK)
        return status;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, p->L_V, (int)m, p->g, 1);
    p->log_det_ratio = bandit_log_det(p->L_V, m, m) - (double)m * log(lambda);
    bandit_posterior_evaluate_plainly(p);
    bandit_pause();
    status = effective_dimension(p, p->work, err);
    bandit_pause();
    return status == BANDIT_OK ? factor_once(p, p->work, p->work + m * m, p->work + 2 * m * m, err) : status;
}

void bandit_posterior_clear(bandit_posterior *p)
{
    bandit_points_clear(&p->points);
    free(p->L);
    free(p->L_V);
    free(p->g);
    free(p->R);
    free(p->weights);
    free(p->work);
    *p = (bandit_posterior){0};
}

double bandit_posterior_mean_norm(const bandit_posterior *posterior)
{
    size_t m = posterior->m;
    double *x = posterior->work; /* build reserved at least m entries */
    if (m == 0)
        return 0.0;
    memcpy(x, posterior->g, m * sizeof *x);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, (int)m, posterior->L_V, (int)m, x, 1);
    return cblas_dnrm2((int)m, x, 1);
}

void bandit_posterior_member_weights(const bandit_posterior *p, double *out)
{
    int m = (int)p->m;
    cblas_dcopy(m, p->g, 1, out, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L_V, m, out, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, m, p->L, m, out, 1);
}

bandit_status bandit_posterior_log_det(const bandit_posterior *p, double c, double *out, bandit_error *err)
{
    size_t m = p->m;
    *out = 0.0;
    if (m == 0)
        return BANDIT_OK;
    double *a = bandit_alloc(m, m * sizeof *a);
    if (!a)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    /* c V / lambda + (1 − c) I has the eigenvalues of c L_V' L_V / lambda + (1 − c) I. */
    memcpy(a, p->L_V, m * m * sizeof *a);
    lapack_int info = LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)m, a, (lapack_int)m);
    assert(info == 0);
    (void)info;
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k; i < m; i++)
            a[k * m + i] *= c / p->lambda;
        a[k * m + k] += 1.0 - c;
    }
    bandit_status status = bandit_cholesky(a, m, m, "I + c (V - lambda I) / lambda", err);
    if (status == BANDIT_OK)
        *out = bandit_log_det(a, m, m);
    free(a);
    return status;
}

size_t bandit_posterior_scratch(const bandit_posterior *p)
{
    return p->m * BANDIT_TILE + bandit_covariance_scratch(p->covariance);
}

/* w: the kernel column, overwritten by w(x). z: receives z(x); may be NULL. */
static bandit_embedding embed_column(const bandit_posterior *p, double diagonal, double *z, double *w)
{
    int m = (int)p->m;
    bandit_embedding out = {.residual = diagonal / p->lambda};
    if (m == 0)
        return out;
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, p->L, m, w, 1);
    out.residual = fmax(0.0, (diagonal - cblas_ddot(m, w, 1, w, 1)) / p->lambda);
    if (z)
        cblas_dcopy(m, w, 1, z, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, m, p->L_V, m, w, 1);
    out.norm2 = cblas_ddot(m, w, 1, w, 1);
    out.mean = cblas_ddot(m, w, 1, p->g, 1);
    return out;
}

static bandit_embedding with_prior_of(const bandit_posterior *p, uint32_t arm, bandit_embedding e)
{
    if (p->covariance->prior)
        e.mean += bandit_prior_mean_of(p->covariance->prior, arm);
    return e;
}

bandit_embedding bandit_posterior_embed(const bandit_posterior *p, uint32_t arm, double *w, double *scratch)
{
    double diagonal;
    bandit_covariance_diagonal(p->covariance, &arm, 1, &diagonal);
    bandit_covariance_block(p->covariance, &arm, 1, &p->points, scratch, BANDIT_TILE,
                            scratch + p->m * BANDIT_TILE);
    cblas_dcopy((int)p->m, scratch, BANDIT_TILE, w, 1);
    return with_prior_of(p, arm, embed_column(p, diagonal, NULL, w));
}

bandit_embedding bandit_posterior_embed_both(const bandit_posterior *p, uint32_t arm, double *z, double *w,
                                             double *scratch)
{
    double diagonal;
    bandit_covariance_diagonal(p->covariance, &arm, 1, &diagonal);
    bandit_covariance_of_points(p->covariance, &p->points, arm, scratch, scratch + bandit_whole_tiles(p->m));
    memcpy(w, scratch, p->m * sizeof *w);
    return with_prior_of(p, arm, embed_column(p, diagonal, z, w));
}

bandit_embedding bandit_posterior_embed_at(const bandit_posterior *p, const double *coordinates, double *w,
                                           double *scratch)
{
    double diagonal;
    bandit_covariance_block_at(p->covariance, coordinates, 1, &p->points, scratch, BANDIT_TILE, &diagonal,
                               scratch + p->m * BANDIT_TILE);
    cblas_dcopy((int)p->m, scratch, BANDIT_TILE, w, 1);
    bandit_embedding out = embed_column(p, diagonal, NULL, w);
    if (p->covariance->prior)
        out.mean += bandit_prior_mean_at(p->covariance->prior, coordinates);
    return out;
}

bandit_status bandit_posterior_predict(const bandit_posterior *p, double width, const uint32_t *arms,
                                       const double *coordinates, size_t n, bandit_prediction *out,
                                       bandit_error *err)
{
    size_t d = p->covariance->dimension;
    double *w = bandit_alloc(p->m, sizeof *w);
    double *scratch = bandit_alloc(bandit_posterior_scratch(p), sizeof *scratch);
    if (!w || !scratch) {
        free(w);
        free(scratch);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    for (size_t i = 0; i < n && !bandit_pause(); i++) {
        bandit_embedding e = arms ? bandit_posterior_embed(p, arms[i], w, scratch)
                                  : bandit_posterior_embed_at(p, coordinates + i * d, w, scratch);
        out[i] = bandit_embedding_prediction(e, p->lambda, width);
    }
    free(w);
    free(scratch);
    return BANDIT_OK;
}

size_t bandit_posterior_memory(const bandit_posterior *p)
{
    size_t doubles = p->capacity_L + p->capacity_L_V + p->capacity_g + p->capacity_R + p->capacity_weights +
                     p->capacity_work + p->points.capacity_features;
    return doubles * sizeof(double) + p->points.capacity * sizeof(uint32_t);
}
