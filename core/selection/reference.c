#include "core/selection/reference.h"

#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of rho that are tried, in this order. */
static const double rungs[] = {1.05, 1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 2.0, 2.25, 2.5, 2.8, 3.2, 4.0};
enum { RUNGS = sizeof rungs / sizeof *rungs };

/* An upper bound, as a variance, on the error of basis vector i. Kernel entries have an error of eps kappa^2.
 * The basis Q = Phi L^{-T} of the members' span is therefore orthonormal up to an error of eps
 * kappa^2 / (L_ii L_jj) between its vectors i and j, times the growth in sums of m terms. */
static double basis_error(const bandit_posterior *p, size_t i)
{
    double pivot = p->L[i * p->m + i];
    return 32.0 * (double)p->m * DBL_EPSILON * p->covariance->kappa2 / (pivot * pivot);
}

/* out = I − lambda V^{-1}, lower triangle. */
static bandit_status shrinkage_of(const bandit_posterior *p, double *out, bandit_error *err)
{
    size_t m = p->m;
    memcpy(out, p->L_V, m * m * sizeof *out);
    bandit_status status = bandit_invert_lower(out, m, m, err);
    if (status != BANDIT_OK)
        return status;
    LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)m, out, (lapack_int)m);
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k; i < m; i++)
            out[k * m + i] = (i == k ? 1.0 : 0.0) - p->lambda * out[k * m + i];
    }
    return BANDIT_OK;
}

bandit_status bandit_reference_keep(bandit_reference *r, const bandit_posterior *p, const double *variance,
                                    bandit_error *err)
{
    size_t m = p->m, n = p->covariance->arms->n;
    r->kept = false;
    if (!bandit_reserve((void **)&r->L, &r->capacity_L, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->F, &r->capacity_F, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->gram, &r->capacity_gram, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->work, &r->capacity_work, m * m, sizeof(double)) ||
        !bandit_reserve((void **)&r->variance, &r->capacity_variance, n, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to compare posteriors of %zu arms", n);
    bandit_status status = bandit_points_set(&r->points, p->covariance, p->points.arms, m, err);
    if (status == BANDIT_OK)
        status = shrinkage_of(p, r->work, err);
    if (status != BANDIT_OK)
        return status;
    /* The shift covers rounding in V^{-1}. A larger F F' is safe: it only makes the inequality harder to
     * prove. */
    for (double shift = 1e-12; shift < 1e-8 && !r->kept; shift *= 10.0) {
        memcpy(r->F, r->work, m * m * sizeof(double));
        for (size_t k = 0; k < m; k++)
            r->F[k * m + k] += shift;
        bandit_error ignored; /* without a factor, posteriors are not compared */
        r->kept = bandit_cholesky(r->F, m, m, "I - lambda / V", &ignored) == BANDIT_OK;
    }
    memcpy(r->L, p->L, m * m * sizeof(double));
    memcpy(r->gram, r->F, m * m * sizeof(double));
    for (size_t i = 0; i < m; i++)
        cblas_dscal((int)i + 1, sqrt(1.0 + basis_error(p, i)), r->gram + i, (int)m);
    LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', (lapack_int)m, r->gram, (lapack_int)m);
    bandit_pause();
    memcpy(r->variance, variance, n * sizeof(double));
    bandit_pause();
    r->m = m;
    r->variance_error = p->variance_error;
    r->rung = RUNGS / 2;
    return BANDIT_OK;
}

typedef struct comparison {
    const bandit_reference *reference;
    size_t m;          /* size of the new posterior */
    const double *B;   /* m x m: I − lambda V^{-1} of the new posterior, lower triangle */
    const double *H;   /* m x the reference's m: Q' Q_r F */
    const double *T;   /* square of the reference's m: F'F − H'H and its rounding, lower triangle */
    double *N, *Y, *X; /* scratch with the sizes of B, H and T */
} comparison;

/* Whether M_r <= rho M is proved. That is rho M_r^{-1} − M^{-1} >= 0, or, times lambda,
 *
 *   rho Q_r B_r Q_r' <= (rho − 1) I + Q B Q' = N,  B = I − lambda V^{-1}.
 *
 * For B_r <= F F' it holds when rho F' Q_r' N^{-1} Q_r F <= I, where
 *
 *   N^{-1} = (I − Q Q') / (rho − 1) + Q ((rho − 1) I + B)^{-1} Q'.
 *
 * All matrices that are inverted have eigenvalues of at least rho − 1. Directions that either posterior knows
 * exactly satisfy this form with little margin. Rounding is therefore bounded separately for each direction
 * (basis_error), not by one worst case for all. */
static bool proves(const comparison *c, double rho)
{
    size_t m = c->m, n = c->reference->m;
    double room = 64.0 * DBL_EPSILON * (double)(m + n) * rho / (rho - 1.0);
    bandit_error ignored;
    memcpy(c->N, c->B, m * m * sizeof(double));
    for (size_t k = 0; k < m; k++)
        c->N[k * m + k] += rho - 1.0;
    if (bandit_cholesky(c->N, m, m, "N", &ignored) != BANDIT_OK)
        return false;
    memcpy(c->Y, c->H, m * n * sizeof(double));
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, c->N,
                (int)m, c->Y, (int)m);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = k; i < n; i++)
            c->X[k * n + i] = (i == k ? 1.0 - room : 0.0) - rho / (rho - 1.0) * c->T[k * n + i];
    }
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)n, (int)m, -rho, c->Y, (int)m, 1.0, c->X, (int)n);
    return bandit_cholesky(c->X, n, n, "X", &ignored) == BANDIT_OK;
}

/* The first rung, from *start on, that is proved. *start becomes the rung at which the next comparison
 * starts. */
static size_t climb(const comparison *c, size_t *start)
{
    size_t rung = *start;
    if (proves(c, rungs[rung])) {
        *start = rung > 0 ? rung - 1 : 0;
        return rung;
    }
    do
        rung++;
    while (rung < RUNGS && !proves(c, rungs[rung]));
    *start = rung < RUNGS ? rung : RUNGS - 1;
    return rung;
}

bandit_status bandit_reference_compare(bandit_reference *r, const bandit_posterior *p, double *ratio,
                                       bandit_error *err)
{
    size_t m = p->m, n = r->m, ld = bandit_whole_tiles(m);
    size_t size = 2 * m * m + m * n + 2 * n * n + ld * n + bandit_covariance_scratch(p->covariance);
    *ratio = INFINITY;
    if (!bandit_reserve((void **)&r->work, &r->capacity_work, size, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to compare dictionaries of %zu and %zu", m,
                           n);
    double *B = r->work, *H = B + m * m, *T = H + m * n, *N = T + n * n, *X = N + m * m, *Y = X + n * n;

    /* H = L^{-1} K(S, S_r) L_r^{-T} F. The kernel block has a leading dimension of whole tiles. */
    bandit_covariance_block(p->covariance, p->points.arms, m, &r->points, Y, ld, Y + ld * n);
    for (size_t k = 0; k < n; k++)
        memcpy(H + k * m, Y + k * ld, m * sizeof(double));
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, p->L,
                (int)m, H, (int)m);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)m, (int)n, 1.0, r->L,
                (int)n, H, (int)m);
    cblas_dtrmm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (int)m, (int)n, 1.0, r->F,
                (int)n, H, (int)m);
    memcpy(T, r->gram, n * n * sizeof(double));
    memcpy(Y, H, m * n * sizeof(double));
    for (size_t i = 0; i < m; i++)
        cblas_dscal((int)n, sqrt(fmax(0.0, 1.0 - basis_error(p, i))), Y + i, (int)m);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)n, (int)m, -1.0, Y, (int)m, 1.0, T, (int)n);
    bandit_status status = shrinkage_of(p, B, err);
    if (status != BANDIT_OK)
        return status;

    const comparison c = {r, m, B, H, T, N, Y, X};
    size_t rung = climb(&c, &r->rung);
    if (rung < RUNGS)
        *ratio = rungs[rung];
    return BANDIT_OK;
}

void bandit_reference_clear(bandit_reference *r)
{
    bandit_points_clear(&r->points);
    free(r->L);
    free(r->F);
    free(r->gram);
    free(r->variance);
    free(r->work);
    *r = (bandit_reference){0};
}

size_t bandit_reference_memory(const bandit_reference *r)
{
    size_t doubles = r->capacity_L + r->capacity_F + r->capacity_gram + r->capacity_variance +
                     r->capacity_work + r->points.capacity_features;
    return doubles * sizeof(double) + r->points.capacity * sizeof(uint32_t);
}
