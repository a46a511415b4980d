#include "core/selection/uncertainty.h"

#include "core/base/allocate.h"
#include "core/base/bound_heap.h"
#include "core/base/linalg.h"
#include "core/base/pause.h"

#include <assert.h>
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The picks so far span u independent arms with K_u = L L' and V = sum n_i z_i z_i' + lambda I, z = L^{-1} k.
 * A new pick only appends a row to L. Earlier z have no component along it, so V^{-1} gets another diagonal
 * entry of 1 / lambda, followed by one rank-one update, the same as for a repeated arm.
 *
 * Variances only shrink, so that earlier ones are upper bounds: only arms whose bound is the largest are
 * recomputed. */
enum { FIRST_MEMBERS = 16 };

typedef struct sampler {
    const bandit_covariance *covariance;
    double lambda;
    size_t n, u, capacity; /* arms; members; capacity in members */
    size_t most;           /* the largest number of members possible */
    double most_bytes;
    bandit_points points; /* the members */
    uint32_t *members;
    double *L, *P; /* capacity x capacity: lower triangles of L and V^{-1} */
    double *column, *product, *scratch;
    bandit_heap heap;
    bandit_heap_entry *entries; /* n: variances, or upper bounds on them */
} sampler;

static void sampler_clear(sampler *s)
{
    bandit_points_clear(&s->points);
    free(s->members);
    free(s->L);
    free(s->P);
    free(s->column);
    free(s->product);
    free(s->scratch);
    free(s->entries);
}

/* Bytes of the arrays with capacity for this many members. */
static double bytes_of(const sampler *s, size_t capacity)
{
    const double c = (double)capacity, d = (double)s->covariance->dimension;
    const double points =
        2.5 * (d * sizeof(double) + sizeof(uint32_t)); /* they grow by half; old and new coexist */
    return c * (2.0 * (c + 1.0) * sizeof(double) + BANDIT_TILE * sizeof(double) + sizeof(uint32_t) + points) +
           (double)bandit_covariance_scratch(s->covariance) * sizeof(double);
}

static bandit_status no_room(const sampler *s, size_t members, bandit_error *err)
{
    return bandit_fail(err, BANDIT_MEMORY_LIMIT, "",
                       "\"init\" of type \"uncertainty\" would need more than the remaining %.0f MB for %zu "
                       "different first picks; use \"uniform\" or a smaller max_batch",
                       fmax(0.0, s->most_bytes) / 1e6, members);
}

static bandit_status reserve_members(sampler *s, size_t wanted, bandit_error *err)
{
    if (wanted <= s->capacity)
        return BANDIT_OK;
    size_t grown = 2 * wanted < s->most ? 2 * wanted : s->most;
    size_t scratch = bandit_covariance_scratch(s->covariance);
    double others = (double)s->n * sizeof *s->entries + bytes_of(s, s->capacity); /* old and new coexist */
    if (others + bytes_of(s, grown) > s->most_bytes)
        return no_room(s, wanted, err);
    double *L = bandit_alloc_zeroed(grown, grown * sizeof *L),
           *P = bandit_alloc_zeroed(grown, grown * sizeof *P);
    uint32_t *members = bandit_alloc(grown, sizeof *members);
    double *column = bandit_alloc(grown, sizeof *column), *product = bandit_alloc(grown, sizeof *product);
    double *work = bandit_alloc(grown * BANDIT_TILE + scratch, sizeof *work);
    if (!L || !P || !members || !column || !product || !work) {
        free(L);
        free(P);
        free(members);
        free(column);
        free(product);
        free(work);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu first picks", wanted);
    }
    for (size_t k = 0; k < s->u; k++) {
        memcpy(L + k * grown, s->L + k * s->capacity, s->u * sizeof *L);
        memcpy(P + k * grown, s->P + k * s->capacity, s->u * sizeof *P);
        members[k] = s->members[k];
    }
    free(s->L);
    free(s->P);
    free(s->members);
    free(s->column);
    free(s->product);
    free(s->scratch);
    s->L = L;
    s->P = P;
    s->members = members;
    s->column = column;
    s->product = product;
    s->scratch = work;
    s->capacity = grown;
    return BANDIT_OK;
}

/* Sets column = z of the arm, *residual = k − |z|^2 (not clamped) and product = V^{-1} z. Returns z' V^{-1}
 * z. */
static double embed(sampler *s, uint32_t arm, double *residual)
{
    int u = (int)s->u, ld = (int)s->capacity;
    bandit_covariance_diagonal(s->covariance, &arm, 1, residual);
    if (s->u == 0)
        return 0.0;
    bandit_covariance_block(s->covariance, &arm, 1, &s->points, s->scratch, BANDIT_TILE,
                            s->scratch + s->capacity * BANDIT_TILE);
    cblas_dcopy(u, s->scratch, BANDIT_TILE, s->column, 1);
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, u, s->L, ld, s->column, 1);
    *residual -= cblas_ddot(u, s->column, 1, s->column, 1);
    bandit_symmetric_times_vector(s->product, s->P, s->u, s->capacity, s->column);
    return fmax(0.0, cblas_ddot(u, s->column, 1, s->product, 1));
}

static double variance_of(sampler *s, uint32_t arm)
{
    double residual, norm2 = embed(s, arm, &residual);
    return fmax(0.0, residual) / s->lambda + norm2;
}

/* Adds one pull of `arm`. An arm that depends on the members to working precision does not become a member,
 * because it would add nothing. */
static bandit_status add_pull(sampler *s, uint32_t arm, bandit_error *err)
{
    double residual;
    embed(s, arm, &residual);
    double floor = s->covariance->kappa2 * fmax((double)(s->u + 1) * DBL_EPSILON, 1e-14);
    if (residual > floor) {
        size_t u = s->u;
        bandit_status status = reserve_members(s, u + 1, err);
        if (status != BANDIT_OK)
            return status;
        embed(s, arm, &residual); /* repeated, because the arrays may have moved */
        for (size_t k = 0; k < u; k++) {
            s->L[k * s->capacity + u] = s->column[k];
            s->P[k * s->capacity + u] = 0.0;
        }
        s->L[u * s->capacity + u] = sqrt(residual);
        s->P[u * s->capacity + u] = 1.0 / s->lambda;
        s->members[u] = arm;
        s->u++;
        status = bandit_points_set(&s->points, s->covariance, s->members, s->u, err);
        if (status != BANDIT_OK)
            return status;
    }
    double norm2 = embed(s, arm, &residual);
    if (s->u > 0)
        cblas_dsyr(CblasColMajor, CblasLower, (int)s->u, -1.0 / (1.0 + norm2), s->product, 1, s->P,
                   (int)s->capacity);
    return BANDIT_OK;
}

/* Returns the arm with the largest variance, and sets *largest to it. Bounds within rounding of the best so
 * far are recomputed, so that ties are decided by exact values and not by outdated ones. */
static uint32_t most_uncertain(sampler *s, double *largest)
{
    const double slack = 1e-10;
    uint32_t best = 0;
    *largest = -1.0;
    while (s->heap.size > 0 && s->entries[0].bound >= *largest && !bandit_pause()) {
        bandit_heap_entry *entry = bandit_heap_pop(&s->heap);
        double value = variance_of(s, entry->arm);
        if (value > *largest || (value == *largest && entry->arm < best)) {
            *largest = value;
            best = entry->arm;
        }
        entry->bound = value * (1.0 + slack);
    }
    bandit_heap_push_popped(&s->heap);
    return best;
}

/* Builds the heap of all arms by their prior variances, and reserves memory for the first members. Errors:
 * BANDIT_NO_MEMORY, BANDIT_MEMORY_LIMIT. */
static bandit_status open_sampler(sampler *s, bandit_error *err)
{
    if ((double)s->n * sizeof *s->entries > s->most_bytes)
        return no_room(s, 1, err);
    s->entries = bandit_alloc(s->n, sizeof *s->entries);
    if (!s->entries)
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for the first picks");
    bandit_status status = reserve_members(s, s->most < FIRST_MEMBERS ? s->most : FIRST_MEMBERS, err);
    if (status != BANDIT_OK)
        return status;
    for (uint32_t a = 0; a < s->n; a++) {
        bandit_covariance_diagonal(s->covariance, &a, 1, &s->entries[a].bound);
        s->entries[a].bound /= s->lambda;
        s->entries[a].arm = a;
    }
    bandit_heap_init(&s->heap, s->entries, s->n);
    return BANDIT_OK;
}

bandit_status bandit_uncertainty_picks(uint32_t **picks, size_t *n_picks, const bandit_covariance *covariance,
                                       double lambda, double parallelism, size_t max_picks, double most_bytes,
                                       bandit_error *err)
{
    enum { FIRST_ROOM = 64 };
    assert(max_picks > 0);
    size_t n = 0, capacity = 0, n_arms = covariance->arms->n;
    sampler s = {.covariance = covariance,
                 .lambda = lambda,
                 .n = n_arms,
                 .most = max_picks < n_arms ? max_picks : n_arms,
                 .most_bytes =
                     most_bytes - 8.0 * (double)(max_picks + FIRST_ROOM)}; /* less the picks' memory */
    uint32_t *out = NULL;
    *picks = NULL;
    *n_picks = 0;
    bandit_status status = open_sampler(&s, err);
    while (status == BANDIT_OK && n < max_picks) {
        double largest;
        uint32_t arm = most_uncertain(&s, &largest);
        size_t room = n < FIRST_ROOM ? FIRST_ROOM : n + 1;
        if (n > 0 && largest < 1.0 / parallelism)
            break;
        if (bandit_reserve_keep((void **)&out, &capacity, n, room, sizeof *out)) {
            out[n++] = arm;
            status = add_pull(&s, arm, err);
            status = status == BANDIT_OK ? bandit_pause_status(err) : status;
        } else {
            status = bandit_fail(err, BANDIT_NO_MEMORY, "", "no memory for %zu first picks", n + 1);
        }
    }
    sampler_clear(&s);
    if (status != BANDIT_OK) {
        free(out);
        return status;
    }
    *picks = out;
    *n_picks = n;
    return BANDIT_OK;
}
