/* How an exact posterior is stored: what exact_posterior.c (memory, growth) and exact_evaluation.c
 * (predictions and samples) share. */
#ifndef CORE_POSTERIOR_EXACT_INTERNAL_H
#define CORE_POSTERIOR_EXACT_INTERNAL_H

#include "core/base/allocate.h"
#include "core/posterior/exact_posterior.h"

/* Chunk: columns that are allocated together. Block: pulls that are taken together at most; it divides a
 * chunk, so that a block is in one chunk. Stripe: arms of one part of a job, fixed, so that sums do not
 * depend on the executor. */
enum { BANDIT_EXACT_CHUNK = 64, BANDIT_EXACT_BLOCK = 32, BANDIT_EXACT_STRIPE = 2048 };

/* What a column was made of: an observation of an arm. */
typedef struct bandit_exact_column {
    uint32_t arm;
    double tau; /* noise variance of the observation: lambda / repeats */
    double d;   /* pivot */
    double e;   /* (y − mu) / d; 0 when hallucinated */
} bandit_exact_column;

struct bandit_exact {
    const bandit_covariance *covariance;
    double lambda;
    size_t n;      /* arms */
    size_t stride; /* n rounded up to whole tiles; rows of every array over the arms */

    double **chunks; /* n_chunks, each stride x BANDIT_EXACT_CHUNK, column-major */
    size_t n_chunks, capacity_chunks;
    bandit_exact_column *columns; /* n_columns */
    size_t capacity_columns;
    size_t n_solid, n_columns; /* solid ones first */
    double *factor;            /* L of the solid columns, packed by rows */
    size_t capacity_factor;

    double *mean;      /* stride */
    double *variance;  /* stride: given the solid columns */
    double *selection; /* stride: given all columns */

    /* scratch */
    double *pulled; /* BANDIT_EXACT_BLOCK x capacity_columns, row-major: columns at a block's arms */
    size_t capacity_pulled;
    double *workspace; /* workers * bandit_covariance_scratch */
    size_t capacity_workspace;
    bandit_points points;
};

/* Column j: stride entries. */
static inline double *bandit_exact_column_at(const bandit_exact *p, size_t j)
{
    return p->chunks[j / BANDIT_EXACT_CHUNK] + j % BANDIT_EXACT_CHUNK * p->stride;
}

/* Stripes of all arms, and the rows of one. */
static inline size_t bandit_exact_stripes(const bandit_exact *p)
{
    return bandit_pieces(p->stride, BANDIT_EXACT_STRIPE);
}

static inline size_t bandit_exact_stripe_rows(const bandit_exact *p, size_t stripe)
{
    size_t left = p->stride - stripe * BANDIT_EXACT_STRIPE;
    return left < BANDIT_EXACT_STRIPE ? left : BANDIT_EXACT_STRIPE;
}

/* Entries of the first n rows of a packed lower triangle. */
static inline size_t bandit_exact_packed(size_t n)
{
    return n * (n + 1) / 2;
}

#endif
