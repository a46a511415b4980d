#include "core/insight/view.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"
#include "core/posterior/prior_mean.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Up to this many pulled arms are treated by their dense covariance, which is exact however small the noise
 * is. For more arms, the same figures follow from the leverages, n_i |w_i|^2 = 1 − lambda / n_i (C^-1)_ii,
 * which lose digits if the noise is tiny. */
enum { DENSE = 2000 };

typedef struct left_out {
    bandit_insight *view;
    size_t n;                /* pulled arms in the model */
    double *Z;               /* n x m, column-major: z of each arm; NULL when there are too many */
    double *residual;        /* n: variance that the dictionary leaves unexplained, Bayesian */
    double *mean, *variance; /* n: of each arm's mean reward, predicted without it, noise included */
} left_out;

/* Rows of z = L^{-1} k_D(x) for n <= BANDIT_VIEW_BLOCK arms, in block (leading dimension ld). */
static void embed(bandit_insight *v, const uint32_t *arms, size_t n, double *block, size_t ld)
{
    const bandit_posterior *p = v->posterior;
    bandit_covariance_block(&v->inner->covariance, arms, n, &p->points, block, ld, v->scratch);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)n, (int)p->m, 1.0, p->L,
                (int)p->m, block, (int)ld);
}

/* Adds the squared norms of the rows of an n x m block to out, times `sign`. */
static void add_norms(const double *block, size_t ld, size_t n, size_t m, double sign, double *out)
{
    for (size_t k = 0; k < m; k++) {
        for (size_t i = 0; i < n; i++)
            out[i] += sign * block[k * ld + i] * block[k * ld + i];
    }
}

/* From the leverages, a block of arms at a time. */
static void use_leverages(left_out *l, size_t first, size_t rows)
{
    const bandit_posterior *p = l->view->posterior;
    const bandit_arm_sum *sums = l->view->sums.sums + first;
    double *block = l->view->block, *w2 = l->view->diagonal;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows, (int)p->m, 1.0,
                p->L_V, (int)p->m, block, BANDIT_VIEW_BLOCK);
    memset(w2, 0, rows * sizeof *w2);
    add_norms(block, BANDIT_VIEW_BLOCK, rows, p->m, 1.0, w2);
    cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, (int)p->m, 1.0, block, BANDIT_VIEW_BLOCK, p->g, 1,
                0.0, l->mean + first, 1);
    for (size_t i = 0; i < rows; i++) {
        double n = bandit_precision(&sums[i]), value = sums[i].sum / (double)sums[i].count;
        double left = fmax(1.0 - n * w2[i], 1e-12);
        l->mean[first + i] = value - (value - l->mean[first + i]) / left;
        l->variance[first + i] = p->lambda / n / left + l->residual[first + i];
    }
}

/* C = Z Z' + lambda diag(1/n_i), its inverse, and from it means and variances. */
static bandit_status use_dense(left_out *l, bandit_error *err)
{
    const bandit_arm_sum *sums = l->view->sums.sums;
    size_t n = l->n, m = l->view->posterior->m;
    double *C = bandit_alloc(n, n * sizeof *C), *values = bandit_alloc(2 * n, sizeof *values);
    bandit_status status = C && values ? BANDIT_OK : bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, (int)n, (int)m, 1.0, l->Z, (int)n, 0.0, C,
                    (int)n);
        for (size_t i = 0; i < n; i++) {
            C[i * n + i] += l->view->posterior->lambda / bandit_precision(&sums[i]);
            values[i] = sums[i].sum / (double)sums[i].count;
        }
        bandit_pause();
        status = bandit_cholesky(C, n, n, "the covariance of the results", err);
    }
    if (status == BANDIT_OK)
        status = bandit_pause_status(err);
    if (status == BANDIT_OK)
        status = bandit_invert_from_cholesky(C, n, err);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++)
        l->variance[i] = 1.0 / C[i * n + i];
    if (status == BANDIT_OK)
        bandit_symmetric_times_vector(values + n, C, n, n, values);
    for (size_t i = 0; status == BANDIT_OK && i < n; i++) {
        l->mean[i] = values[i] - values[n + i] * l->variance[i];
        l->variance[i] += l->residual[i];
    }
    free(C);
    free(values);
    return status;
}

/* Predicts every arm of the model, each without its own rewards. */
static bandit_status leave_out(left_out *l, bandit_error *err)
{
    bandit_insight *v = l->view;
    size_t m = v->posterior->m;
    uint32_t *arms = bandit_alloc(l->n, sizeof *arms);
    if (!arms)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    for (size_t i = 0; i < l->n; i++)
        arms[i] = v->sums.sums[i].arm;
    bandit_covariance_diagonal(&v->inner->covariance, arms, l->n, l->residual);
    for (size_t first = 0; first < l->n && !bandit_pause(); first += BANDIT_VIEW_BLOCK) {
        size_t rows = l->n - first < BANDIT_VIEW_BLOCK ? l->n - first : BANDIT_VIEW_BLOCK;
        embed(v, arms + first, rows, v->block, BANDIT_VIEW_BLOCK);
        add_norms(v->block, BANDIT_VIEW_BLOCK, rows, m, -1.0, l->residual + first);
        for (size_t i = 0; i < rows; i++)
            l->residual[first + i] = fmax(0.0, l->residual[first + i]);
        for (size_t k = 0; l->Z && k < m; k++)
            memcpy(l->Z + k * l->n + first, v->block + k * BANDIT_VIEW_BLOCK, rows * sizeof(double));
        if (!l->Z)
            use_leverages(l, first, rows);
    }
    free(arms);
    bandit_status status = bandit_pause_status(err);
    return status == BANDIT_OK && l->Z ? use_dense(l, err) : status;
}

/* The mean of rewards that the model leaves out, in its units. */
static double in_model_units(const bandit_insight *v, double value)
{
    const bandit_fitted *f = v->refits ? &v->refits->fitted : NULL;
    return f ? (bandit_fitted_fold(f, value) - bandit_fitted_shift(f)) / bandit_fitted_unit(f) : value;
}

/* The model's prediction for an arm whose rewards it leaves out. */
static bandit_status predict_plainly(bandit_insight *v, const bandit_arm_sum *sum, double *mean,
                                     double *variance, bandit_error *err)
{
    bandit_prediction p;
    bandit_status status = bandit_posterior_predict(v->posterior, 0.0, &sum->arm, NULL, 1, &p, err);
    if (status != BANDIT_OK)
        return status;
    *mean = p.mean;
    *variance = p.variance + v->posterior->lambda / bandit_precision(sum);
    return BANDIT_OK;
}

static bandit_status describe(const left_out *l, bandit_left_out *out, bandit_error *err)
{
    bandit_insight *v = l->view;
    const bandit_prior_mean *prior = v->inner->covariance.prior;
    bandit_status status = BANDIT_OK;
    for (size_t i = 0, at = 0; status == BANDIT_OK && i < v->told.n_sums; i++) {
        const bandit_arm_sum *sum = &v->told.sums[i];
        bool known = at < l->n && v->sums.sums[at].arm == sum->arm;
        bandit_left_out *o = &out[i];
        double mean = 0.0, variance = 1.0, value = 0.0;
        *o = (bandit_left_out){.arm = sum->arm, .count = sum->count, .value = sum->sum / (double)sum->count};
        if (known) {
            const bandit_arm_sum *seen = &v->sums.sums[at];
            mean = l->mean[at];
            variance = l->variance[at];
            value = seen->sum / (double)seen->count;
            if (prior) {
                mean += bandit_prior_mean_of(prior, sum->arm);
                value += bandit_prior_mean_of(prior, sum->arm);
            }
            o->set_aside = seen->count < sum->count && sum->count < UINT32_MAX;
            at++;
        } else {
            status = predict_plainly(v, sum, &mean, &variance, err);
            value = in_model_units(v, o->value);
            o->set_aside = true;
        }
        bandit_prediction p = {.mean = mean, .variance = variance, .ucb = mean};
        bandit_insight_in_reward_units(v, &p, 1);
        o->mean = p.mean;
        o->std = sqrt(p.variance);
        o->z = (value - mean) / sqrt(variance);
    }
    return status;
}

uint64_t bandit_insight_set_aside(const bandit_engine *engine, uint32_t arm)
{
    if (engine->table != &bandit_refitting_table)
        return 0;
    const bandit_fitted *l = &((const bandit_refitting_engine *)(const void *)engine)->fitted;
    const bandit_arm_sum *aside = bandit_sum_of(l->aside, l->n_aside, arm);
    return aside ? aside->count : 0;
}

bandit_status bandit_insight_leave_one_out(bandit_insight *v, bandit_left_out **out, size_t *n,
                                           bandit_error *err)
{
    left_out l = {.view = v, .n = v->sums.n_sums};
    bool dense = l.n <= DENSE;
    *n = v->told.n_sums;
    *out = bandit_alloc(*n, sizeof **out);
    l.residual = bandit_alloc(3 * l.n, sizeof *l.residual);
    l.Z = dense ? bandit_alloc(l.n * v->posterior->m, sizeof *l.Z) : NULL;
    bandit_status status = BANDIT_OK;
    if (!*out || !l.residual || (dense && !l.Z))
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    if (status == BANDIT_OK) {
        l.mean = l.residual + l.n;
        l.variance = l.mean + l.n;
        status = leave_out(&l, err);
    }
    if (status == BANDIT_OK)
        status = describe(&l, *out, err);
    free(l.residual);
    free(l.Z);
    if (status != BANDIT_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}
