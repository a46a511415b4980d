/* The storage of an exact posterior, shared by exact_posterior.c (memory, growth) and exact_evaluation.c
 * (predictions and samples). */
#ifndef CORE_POSTERIOR_EXACT_INTERNAL_H
#define CORE_POSTERIOR_EXACT_INTERNAL_H

#include "core/base/allocate.h"
#include "core/posterior/exact_posterior.h"

/* Columns are allocated a chunk at a time. A block is the largest number of pulls that are appended together;
 * it divides a chunk, so that each block lies within one chunk. A stripe is the range of arms that one part
 * of a parallel job works on; its size is fixed, so that sums do not depend on the executor. */
enum { BANDIT_EXACT_CHUNK = 64, BANDIT_EXACT_BLOCK = 32, BANDIT_EXACT_STRIPE = 2048 };

/* The observation of an arm that a column stands for. */
typedef struct bandit_exact_column {
    uint32_t arm;
    double tau; /* noise variance of the observation: lambda / repeats */
    double d;   /* pivot */
    double e;   /* (y − mu) / d; 0 for a hallucinated pull */
} bandit_exact_column;

struct bandit_exact {
    const bandit_covariance *covariance;
    double lambda;
    size_t n;      /* arms */
    size_t stride; /* n rounded up to whole tiles; rows of every array over the arms */

    double **chunks; /* n_chunks, each stride x BANDIT_EXACT_CHUNK, column-major */
    size_t n_chunks, capacity_chunks;
    bandit_exact_column *columns; /* n_columns entries */
    size_t capacity_columns;
    size_t n_solid, n_columns; /* the solid columns come first */
    double *factor;            /* L of the solid columns, packed by rows */
    size_t capacity_factor;

    double *mean;      /* stride entries */
    double *variance;  /* stride entries, given the solid columns */
    double *selection; /* stride entries, given all columns */

    /* Scratch memory. */
    double *pulled; /* BANDIT_EXACT_BLOCK x capacity_columns, row-major: columns at a block's arms */
    size_t capacity_pulled;
    double *workspace; /* workers * bandit_covariance_scratch */
    size_t capacity_workspace;
    bandit_points points;
};

/* Column j, of `stride` entries. */
static inline double *bandit_exact_column_at(const bandit_exact *p, size_t j)
{
    return p->chunks[j / BANDIT_EXACT_CHUNK] + j % BANDIT_EXACT_CHUNK * p->stride;
}

/* The number of stripes, and the number of rows in one of them. */
static inline size_t bandit_exact_stripes(const bandit_exact *p)
{
    return bandit_pieces(p->stride, BANDIT_EXACT_STRIPE);
}

static inline size_t bandit_exact_stripe_rows(const bandit_exact *p, size_t stripe)
{
    size_t left = p->stride - stripe * BANDIT_EXACT_STRIPE;
    return left < BANDIT_EXACT_STRIPE ? left : BANDIT_EXACT_STRIPE;
}

/* Number of entries in the first n rows of a packed lower triangle. */
static inline size_t bandit_exact_packed(size_t n)
{
    return n * (n + 1) / 2;
}

#endif
