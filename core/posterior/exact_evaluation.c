/* Quantities derived from an exact posterior: the norm of its mean, the information gain, predictions at
 * arbitrary points, and posterior samples made from prior samples. */
#include "core/posterior/exact_posterior.h"

#include "core/base/allocate.h"
#include "core/posterior/exact_internal.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

/* With A = K + diag(tau) = L L' and e = L^{-1} y: alpha = L^{-T} e, and alpha' K alpha = e'e − sum tau
 * alpha^2. */
double bandit_exact_mean_norm(bandit_exact *p)
{
    size_t n = p->n_solid;
    double *alpha = p->pulled, norm2 = 0.0; /* has BANDIT_EXACT_BLOCK x columns entries, more than n */
    for (size_t i = 0; i < n; i++)
        alpha[i] = p->columns[i].e;
    for (size_t i = n; i-- > 0;) {
        const double *row = p->factor + bandit_exact_packed(i);
        alpha[i] /= row[i];
        cblas_daxpy((int)i, -alpha[i], row, 1, alpha, 1);
        norm2 += p->columns[i].e * p->columns[i].e - p->columns[i].tau * alpha[i] * alpha[i];
    }
    return norm2 > 0.0 ? sqrt(norm2) : 0.0;
}

double bandit_exact_information_gain(const bandit_exact *p)
{
    /* det(I + K_t/lambda) = prod of d^2 / tau: the mean of k pulls of an arm is one observation of variance
     * lambda / k. */
    double sum = 0.0;
    for (size_t j = 0; j < p->n_solid; j++)
        sum += log(p->columns[j].d * p->columns[j].d / p->columns[j].tau);
    return 0.5 * sum;
}

bandit_status bandit_exact_predict(const bandit_exact *p, const double *coordinates, size_t n, double *mean,
                                   double *variance, bandit_error *err)
{
    size_t d = p->covariance->dimension, columns = p->n_solid;
    bandit_points points = {0};
    uint32_t *arms = bandit_alloc(columns, sizeof *arms);
    double *k = bandit_alloc(columns * BANDIT_TILE, sizeof *k);
    double *w = bandit_alloc(columns, sizeof *w);
    double *scratch = bandit_alloc(bandit_covariance_scratch(p->covariance), sizeof *scratch);
    bandit_status status = BANDIT_OK;
    if (!arms || !k || !w || !scratch) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
        goto out;
    }
    for (size_t j = 0; j < columns; j++)
        arms[j] = p->columns[j].arm;
    status = bandit_points_set(&points, p->covariance, arms, columns, err);
    if (status != BANDIT_OK)
        goto out;

    for (size_t start = 0; start < n; start += BANDIT_TILE) {
        size_t rows = n - start < BANDIT_TILE ? n - start : BANDIT_TILE;
        double diagonal[BANDIT_TILE];
        bandit_covariance_block_at(p->covariance, coordinates + start * d, rows, &points, k, BANDIT_TILE,
                                   diagonal, scratch);
        for (size_t i = 0; i < rows; i++) {
            cblas_dcopy((int)columns, k + i, BANDIT_TILE, w, 1);
            cblas_dtpsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)columns, p->factor, w, 1);
            double mu = 0.0, used = 0.0;
            for (size_t j = 0; j < columns; j++) {
                mu += w[j] * p->columns[j].e;
                used += w[j] * w[j];
            }
            mean[start + i] = mu;
            variance[start + i] = fmax(0.0, diagonal[i] - used);
        }
    }
out:
    bandit_points_clear(&points);
    free(arms);
    free(k);
    free(w);
    free(scratch);
    return status;
}

typedef struct exact_combination {
    const bandit_exact *p;
    const double *weights; /* n_solid entries */
    double *f;             /* stride entries */
} exact_combination;

static void combine_stripe(void *arg, size_t stripe, size_t worker)
{
    (void)worker;
    const exact_combination *c = arg;
    const bandit_exact *p = c->p;
    size_t start = stripe * BANDIT_EXACT_STRIPE, rows = bandit_exact_stripe_rows(p, stripe);

    for (size_t first = 0; first < p->n_solid; first += BANDIT_EXACT_CHUNK) {
        size_t n = p->n_solid - first < BANDIT_EXACT_CHUNK ? p->n_solid - first : BANDIT_EXACT_CHUNK;
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)rows, (int)n, -1.0,
                    bandit_exact_column_at(p, first) + start, (int)p->stride, c->weights + first, 1, 1.0,
                    c->f + start, 1);
    }
}

void bandit_exact_condition(const bandit_exact *p, double *f, double *noise, const bandit_executor *executor)
{
    for (size_t j = 0; j < p->n_solid; j++)
        noise[j] = f[p->columns[j].arm] + sqrt(p->columns[j].tau) * noise[j];
    if (p->n_solid)
        cblas_dtpsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, (int)p->n_solid, p->factor, noise,
                    1);
    exact_combination c = {.p = p, .weights = noise, .f = f};
    executor->for_each(executor->context, bandit_exact_stripes(p), combine_stripe, &c);
}
