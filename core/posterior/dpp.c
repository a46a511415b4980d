#include "core/posterior/dpp.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Exchanges update K_Z^{-1} by a rank-two formula. After this many accepted exchanges it is recomputed,
 * before rounding errors accumulate. */
enum { REFRESH = 32 };

/* The position of the next arm, or n if there is none. */
static size_t largest(const double *residual, const double *weights, size_t n, double floor)
{
    size_t best = n;
    double value = 0.0;
    for (size_t i = 0; i < n; i++) {
        double of_arm = weights ? weights[i] * residual[i] : residual[i];
        if (residual[i] > floor && of_arm > value) {
            value = of_arm;
            best = i;
        }
    }
    return best;
}

bandit_status bandit_dpp_greedy(const bandit_covariance *covariance, const uint32_t *ground, size_t n_ground,
                                const bandit_dpp_options *options, uint32_t *out, size_t *n_out,
                                bandit_error *err)
{
    size_t k = options->k < n_ground ? options->k : n_ground, ld = bandit_whole_tiles(n_ground), found = 0;
    double floor = options->tolerance * covariance->kappa2;
    bandit_points pivot = {0};
    bandit_status status = BANDIT_OK;
    double *factor = bandit_alloc(ld, k * sizeof *factor); /* columns of the pivoted Cholesky factor */
    double *residual = bandit_alloc(n_ground, sizeof *residual);
    double *row = bandit_alloc(k, sizeof *row);
    double *scratch = bandit_alloc(bandit_covariance_scratch(covariance), sizeof *scratch);

    *n_out = 0;
    if (!factor || !residual || !row || !scratch) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory to choose %zu of %zu arms", k, n_ground);
        goto out;
    }
    bandit_covariance_diagonal(covariance, ground, n_ground, residual);
    for (; found < k; found++) {
        size_t best = largest(residual, options->weights, n_ground, floor);
        if (best == n_ground)
            break;
        status = bandit_pause_status(err);
        if (status == BANDIT_OK)
            status = bandit_points_set(&pivot, covariance, &ground[best], 1, err);
        if (status != BANDIT_OK)
            goto out;
        double *column = factor + found * ld;
        bandit_covariance_block(covariance, ground, n_ground, &pivot, column, ld, scratch);
        if (found > 0) {
            cblas_dcopy((int)found, factor + best, (int)ld, row, 1);
            cblas_dgemv(CblasColMajor, CblasNoTrans, (int)n_ground, (int)found, -1.0, factor, (int)ld, row, 1,
                        1.0, column, 1);
        }
        double scale = 1.0 / sqrt(residual[best]);
        for (size_t i = 0; i < n_ground; i++) {
            column[i] *= scale;
            residual[i] = fmax(0.0, residual[i] - column[i] * column[i]);
        }
        residual[best] = 0.0;
        out[found] = ground[best];
    }
    *n_out = found;
    status = BANDIT_OK;
out:
    free(factor);
    free(residual);
    free(row);
    free(scratch);
    bandit_points_clear(&pivot);
    return status;
}

/* The state of the Markov chain. Positions 0 … m−1 of `order` are the members of the subset, the others are
 * not. */
typedef struct chain {
    const bandit_covariance *covariance;
    uint32_t *order; /* n entries */
    size_t n, m, ld;
    double *inverse; /* m x m: K_Z^{-1}, lower triangle */
    double *block;   /* ld x m: K_Z */
    double *column;  /* ld: k(Z, candidate) */
    double *product; /* m: K_Z^{-1} k(Z, candidate) */
    double *member;  /* m: the column of K_Z^{-1} of the member that may leave */
    double *scratch;
    bandit_points points;
} chain;

static bandit_status invert_members(chain *c, bandit_error *err)
{
    size_t m = c->m;
    bandit_status status = bandit_points_set(&c->points, c->covariance, c->order, m, err);
    if (status != BANDIT_OK)
        return status;
    bandit_covariance_block(c->covariance, c->order, m, &c->points, c->block, c->ld, c->scratch);
    status = bandit_cholesky(c->block, m, c->ld, "the kernel matrix of the inducing points", err);
    if (status == BANDIT_OK)
        status = bandit_invert_lower(c->block, m, c->ld, err);
    if (status != BANDIT_OK)
        return status;
    for (size_t k = 0; k < m; k++)
        memset(c->block + k * c->ld, 0, k * sizeof(double));
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, (int)m, (int)m, 1.0, c->block, (int)c->ld, 0.0,
                c->inverse, (int)m);
    return BANDIT_OK;
}

/* Decides whether member `leave` is exchanged for `candidate`. With P = K_Z^{-1}, y = P k(Z, j) and p the
 * column of P for the leaving member i: given the other members, the candidate's residual variance is
 * k_jj − y'k(Z, j) + y_i^2 / P_ii, and the member's own is 1 / P_ii. The ratio of the determinants is the
 * ratio of these two. Leaves y in c->product and p in c->member. */
static bool accepts(chain *c, size_t leave, uint32_t candidate, double floor, double uniform,
                    double *residual, bandit_status *status, bandit_error *err)
{
    int m = (int)c->m;
    double diagonal;
    *status = bandit_points_set(&c->points, c->covariance, &candidate, 1, err);
    if (*status != BANDIT_OK)
        return false;
    bandit_covariance_diagonal(c->covariance, &candidate, 1, &diagonal);
    bandit_covariance_block(c->covariance, c->order, c->m, &c->points, c->column, c->ld, c->scratch);
    bandit_symmetric_times_vector(c->product, c->inverse, c->m, c->m, c->column);
    cblas_dcopy((int)leave, c->inverse + leave, m, c->member, 1);
    cblas_dcopy(m - (int)leave, c->inverse + leave * c->m + leave, 1, c->member + leave, 1);
    double own = c->member[leave], y = c->product[leave];
    *residual = diagonal - cblas_ddot(m, c->product, 1, c->column, 1) + y * y / own;
    return *residual > floor && uniform < *residual * own;
}

/* Updates P = K_Z^{-1}. Without the leaving member it is P − p p' / P_ii. The new member, with residual
 * variance s, adds b b' / s, where b = y − p y_i / P_ii at the other members and −1 at its own place. */
static void exchange(chain *c, size_t leave, double residual)
{
    int m = (int)c->m;
    double own = c->member[leave], y = c->product[leave];
    cblas_daxpy(m, -y / own, c->member, 1, c->product, 1);
    c->product[leave] = -1.0;
    cblas_dsyr(CblasColMajor, CblasLower, m, -1.0 / own, c->member, 1, c->inverse, m);
    /* Row and column `leave` are now zero except for rounding. */
    for (size_t k = 0; k < leave; k++)
        c->inverse[k * c->m + leave] = 0.0;
    memset(c->inverse + leave * c->m + leave, 0, (c->m - leave) * sizeof(double));
    cblas_dsyr(CblasColMajor, CblasLower, m, 1.0 / residual, c->product, 1, c->inverse, m);
}

static bandit_status run_chain(chain *c, const bandit_dpp_options *options, bandit_error *err)
{
    double floor = options->tolerance * c->covariance->kappa2;
    size_t accepted = 0;
    bandit_status status = invert_members(c, err);
    for (uint64_t step = 0; step < options->steps && status == BANDIT_OK && !bandit_pause(); step++) {
        uint64_t seed = options->seed, batch = options->batch;
        size_t leave = bandit_random_below(seed, batch, BANDIT_PURPOSE_DPP, 3 * step, c->m);
        size_t enter = c->m + bandit_random_below(seed, batch, BANDIT_PURPOSE_DPP, 3 * step + 1, c->n - c->m);
        double uniform = bandit_random_uniform(seed, batch, BANDIT_PURPOSE_DPP, 3 * step + 2), residual;
        if (!accepts(c, leave, c->order[enter], floor, uniform, &residual, &status, err))
            continue;
        uint32_t candidate = c->order[enter];
        c->order[enter] = c->order[leave];
        c->order[leave] = candidate;
        if (++accepted % REFRESH == 0)
            status = invert_members(c, err);
        else
            exchange(c, leave, residual);
    }
    return status;
}

/* Sets `order` to the members, followed by the other arms in the order of the ground set. */
static bandit_status members_first(chain *c, const uint32_t *ground, const uint32_t *members,
                                   bandit_error *err)
{
    uint32_t *sorted = bandit_alloc(c->m, sizeof *sorted);
    if (!sorted)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    memcpy(sorted, members, c->m * sizeof *sorted);
    bandit_sort_arms(sorted, c->m);
    memcpy(c->order, members, c->m * sizeof *sorted);
    size_t next = c->m;
    for (size_t i = 0; i < c->n; i++) {
        if (!bandit_is_among(sorted, c->m, ground[i]))
            c->order[next++] = ground[i];
    }
    assert(next == c->n);
    free(sorted);
    return BANDIT_OK;
}

bandit_status bandit_dpp_sample(const bandit_covariance *covariance, const uint32_t *ground, size_t n_ground,
                                const bandit_dpp_options *options, uint32_t *out, size_t *n_out,
                                bandit_error *err)
{
    bandit_status status = bandit_dpp_greedy(covariance, ground, n_ground, options, out, n_out, err);
    size_t m = *n_out;
    if (status != BANDIT_OK || m == 0)
        return status;
    chain c = {.covariance = covariance, .n = n_ground, .m = m, .ld = bandit_whole_tiles(m)};
    if (m == n_ground || options->steps == 0)
        goto out;

    c.order = bandit_alloc(n_ground, sizeof *c.order);
    c.inverse = bandit_alloc(m, m * sizeof(double));
    c.block = bandit_alloc(c.ld, m * sizeof(double));
    c.column = bandit_alloc(c.ld, sizeof(double));
    c.product = bandit_alloc(m, sizeof(double));
    c.member = bandit_alloc(m, sizeof(double));
    c.scratch = bandit_alloc(bandit_covariance_scratch(covariance), sizeof(double));
    if (!c.order || !c.inverse || !c.block || !c.column || !c.product || !c.member || !c.scratch) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu inducing points", m);
        goto out;
    }
    status = members_first(&c, ground, out, err);
    if (status == BANDIT_OK)
        status = run_chain(&c, options, err);
    if (status == BANDIT_OK)
        memcpy(out, c.order, m * sizeof *out);
out:
    free(c.order);
    free(c.inverse);
    free(c.block);
    free(c.column);
    free(c.product);
    free(c.member);
    free(c.scratch);
    bandit_points_clear(&c.points);
    if (status == BANDIT_OK)
        bandit_sort_arms(out, m);
    return status;
}
