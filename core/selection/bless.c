#include "core/selection/bless.h"

#include "bandit/rng.h"
#include "core/base/allocate.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 };

/* The set J of one level: distinct arms, the number of copies of each, and the probability with which it was
 * kept. */
typedef struct level_set {
    size_t n;
    uint32_t *arms;
    double *copies, *p;
} level_set;

typedef struct bless {
    const bandit_resampling *how;
    const bandit_offer *offers;
    size_t n;
    level_set current, next;
    bandit_points points;
    double *factor; /* Cholesky factor of K_J + rho diag(p_J / copies) */
    double *block;
    size_t capacity_factor, capacity_block;
    uint32_t *candidates; /* indices of offers preselected at this level, and how many pulls of each */
    double *preselected;
} bless;

/* The smallest k with P(k or fewer of n trials) > u, found by summing from 0. exp(log_mass) is the
 * probability of no success. */
static double invert_binomial(double u, double n, double p, double log_mass)
{
    double mass = exp(log_mass), k = 0.0;
    while (u >= mass && k < n && mass > 0.0) {
        u -= mass;
        mass *= (n - k) / (k + 1.0) * p / (1.0 - p);
        k += 1.0;
    }
    return k;
}

/* A binomial number of n trials with probability p, from the random number at `index`. Large means use a
 * normal number with the same mean and variance, rounded. Otherwise the distribution is inverted from
 * whichever end is near. */
static double binomial(const bandit_resampling *how, uint64_t index, double n, double p)
{
    if (p >= 1.0 || n == 0.0)
        return n;
    if (n * p > 200.0) {
        double z = bandit_random_normal(how->seed, how->batch, BANDIT_PURPOSE_BLESS, index);
        return fmin(n, fmax(0.0, rint(n * p + sqrt(n * p * (1.0 - p)) * z)));
    }
    double u = bandit_random_uniform(how->seed, how->batch, BANDIT_PURPOSE_BLESS, index);
    const double smallest = -700.0; /* below it, exp(log_mass) would be subnormal or 0 */
    double log_mass = n * log1p(-p);
    if (log_mass < smallest) /* nearly all trials succeed, so invert the number of failures */
        return n - invert_binomial(u, n, 1.0 - p, n * log(p));
    return invert_binomial(u, n, p, log_mass);
}

static double diagonal(const bless *b, size_t offer)
{
    double k;
    bandit_covariance_diagonal(b->how->covariance, &b->offers[offer].arm, 1, &k);
    return k;
}

/* The preselection probability u = min(1, q_bar k / (k + rho)). */
static double preselection(const bless *b, size_t offer, double rho)
{
    double k = diagonal(b, offer);
    return fmin(1.0, b->how->q_bar * k / (k + rho));
}

static void keep(level_set *set, uint32_t arm, double copies, double p)
{
    set->arms[set->n] = arm;
    set->copies[set->n] = copies;
    set->p[set->n++] = p;
}

static bandit_status factor_level(bless *b, double rho, bandit_error *err)
{
    const bandit_covariance *covariance = b->how->covariance;
    const level_set *J = &b->current;
    size_t m = J->n, ld = bandit_whole_tiles(m);
    size_t scratch = bandit_covariance_scratch(covariance);
    bandit_status status = bandit_points_set(&b->points, covariance, J->arms, m, err);
    if (status != BANDIT_OK)
        return status;
    if (!bandit_reserve((void **)&b->factor, &b->capacity_factor, ld * m, sizeof(double)) ||
        !bandit_reserve((void **)&b->block, &b->capacity_block, m * BLOCK + scratch, sizeof(double)))
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for a set of %zu", m);
    bandit_covariance_block(covariance, J->arms, m, &b->points, b->factor, ld, b->block + m * BLOCK);
    for (size_t i = 0; i < m; i++)
        b->factor[i * ld + i] += rho * J->p[i] / J->copies[i];
    return bandit_cholesky(b->factor, m, ld, "K_J + rho diag(p)", err);
}

/* scores[i] = (k − k_J' (K_J + rho diag(p_J))^{-1} k_J) / rho for `rows` candidates. */
static void score_block(bless *b, const uint32_t *candidates, size_t rows, double rho, double *scores)
{
    uint32_t arms[BLOCK];
    size_t m = b->current.n, ld = bandit_whole_tiles(m);
    for (size_t i = 0; i < rows; i++)
        arms[i] = b->offers[candidates[i]].arm;
    bandit_covariance_block(b->how->covariance, arms, rows, &b->points, b->block, BLOCK,
                            b->block + m * BLOCK);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)rows, (int)m, 1.0,
                b->factor, (int)ld, b->block, BLOCK);
    for (size_t i = 0; i < rows; i++) {
        double norm2 = cblas_ddot((int)m, b->block + i, BLOCK, b->block + i, BLOCK);
        scores[i] = fmax(0.0, diagonal(b, candidates[i]) - norm2) / rho;
    }
}

/* One level: preselects pulls, scores them under J, and keeps some as the next J. */
static bandit_status descend(bless *b, uint64_t level, double rho, bandit_error *err)
{
    const bandit_resampling *how = b->how;
    size_t n_candidates = 0;
    for (size_t i = 0; i < b->n; i++) {
        double c = binomial(how, (2 * level) << 32 | b->offers[i].arm, ceil(b->offers[i].count),
                            preselection(b, i, rho));
        if (c > 0.0) {
            b->candidates[n_candidates] = (uint32_t)i;
            b->preselected[n_candidates++] = c;
        }
    }
    if (n_candidates == 0) { /* J must not become empty: keep it for the next level */
        return BANDIT_OK;
    }
    bandit_status status = factor_level(b, rho, err);
    if (status != BANDIT_OK)
        return status;

    double best = -1.0, best_p = 1.0;
    uint32_t best_arm = 0;
    b->next.n = 0;
    for (size_t first = 0; first < n_candidates; first += BLOCK) {
        size_t rows = n_candidates - first < BLOCK ? n_candidates - first : BLOCK;
        double scores[BLOCK];
        status = bandit_pause_status(err);
        if (status != BANDIT_OK)
            return status;
        score_block(b, b->candidates + first, rows, rho, scores);
        for (size_t i = 0; i < rows; i++) {
            const bandit_offer *offer = &b->offers[b->candidates[first + i]];
            double u = preselection(b, b->candidates[first + i], rho);
            double p = fmin(how->q_bar * scores[i], u);
            double c =
                p > 0.0 ? binomial(how, (2 * level + 1) << 32 | offer->arm, b->preselected[first + i], p / u)
                        : 0.0;
            if (c > 0.0)
                keep(&b->next, offer->arm, c, p);
            if (scores[i] > best) {
                best = scores[i];
                best_arm = offer->arm;
                best_p = p > 0.0 ? p : u;
            }
        }
    }
    if (b->next.n == 0)
        keep(&b->next, best_arm, 1.0, best_p);
    level_set swap = b->current;
    b->current = b->next;
    b->next = swap;
    return BANDIT_OK;
}

static bool set_alloc(level_set *set, size_t n)
{
    set->arms = bandit_alloc(n, sizeof *set->arms);
    set->copies = bandit_alloc(n, sizeof *set->copies);
    set->p = bandit_alloc(n, sizeof *set->p);
    return set->arms && set->copies && set->p;
}

static void set_free(level_set *set)
{
    free(set->arms);
    free(set->copies);
    free(set->p);
}

bandit_status bandit_dictionary_bless(uint32_t *dictionary, size_t *size, const bandit_offer *offers,
                                      size_t n, const bandit_resampling *how, bandit_error *err)
{
    assert(n > 0);
    bless b = {.how = how, .offers = offers, .n = n};
    bandit_status status = BANDIT_OK;
    double t = 0.0;
    bool memory = set_alloc(&b.current, n);
    memory = set_alloc(&b.next, n) && memory;
    b.candidates = bandit_alloc(n, sizeof *b.candidates);
    b.preselected = bandit_alloc(n, sizeof *b.preselected);
    if (!memory || !b.candidates || !b.preselected) {
        status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for the history of %zu candidates", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        t += offers[i].count;

    double top = fmax(how->lambda, t * how->covariance->kappa2);
    for (size_t i = 0; i < n; i++) {
        double u = preselection(&b, i, top), c = binomial(how, offers[i].arm, ceil(offers[i].count), u);
        if (c > 0.0)
            keep(&b.current, offers[i].arm, c, u);
    }
    if (b.current.n == 0)
        keep(&b.current, offers[0].arm, 1.0, fmax(preselection(&b, 0, top), 1e-300));
    size_t levels = (size_t)fmax(1.0, ceil(log(t)));
    for (size_t level = 1; level <= levels && status == BANDIT_OK; level++) {
        double rho = top * pow(how->lambda / top, (double)level / (double)levels);
        status = descend(&b, level, level == levels ? how->lambda : rho, err);
    }
    if (status == BANDIT_OK) {
        memcpy(dictionary, b.current.arms,
               b.current.n * sizeof *dictionary); /* ascending, because the offers are */
        *size = b.current.n;
    }
out:
    set_free(&b.current);
    set_free(&b.next);
    bandit_points_clear(&b.points);
    free(b.factor);
    free(b.block);
    free(b.candidates);
    free(b.preselected);
    return status;
}
