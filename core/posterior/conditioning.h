/* A sparse posterior, conditioned on pulls whose rewards are out: what the model will know when they are in.
 *
 * The process of the sparse posterior has the covariance (paper's scale: Bayesian / lambda)
 *
 *   c(x, x') = (k(x, x') − z(x)'z(x')) / lambda + w(x)'w(x')
 *
 * with the part that the dictionary leaves out in it (sparse_posterior.h). A pull of noise variance 1 (lambda
 * in Bayesian units) is one more row of a Cholesky factor, here without its roots. For the rows j, of which
 * each stands for n_j pulls of the arm x_j in succession,
 *
 *   c_j(x) = c(x, x_j) − sum_{i<j} c_i(x) c_i(x_j) / d_i,    d_j = 1 / n_j + c_j(x_j)
 *   variance after them = c(x, x) − sum_j c_j(x)^2 / d_j
 *
 * So a variance never grows, the mean does not move, and a pull costs m^2 for itself and m for each arm that is
 * looked at again. [BBKB]'s hallucination (hallucination.h) shrinks |w|^2 alone: there two arms of which the
 * dictionary knows nothing stay worth a pull each, however near they are to each other.
 *
 * Two ways to the same variance: of one arm, without cancellation, a function of the arm and the pulls alone,
 * to the bit; of many at once by matrix products, with a bound on how far they may be off. */
#ifndef CORE_POSTERIOR_CONDITIONING_H
#define CORE_POSTERIOR_CONDITIONING_H

#include "core/posterior/sparse_posterior.h"

/* Rows at most; pulls beyond them are not conditioned on. Variances are then upper bounds. */
enum { BANDIT_CONDITIONING_MOST = 1024 };

/* Arms that bandit_conditioning_gains takes at once, at most. */
enum { BANDIT_CONDITIONING_BLOCK = 256 };

typedef struct bandit_conditioning {
    const bandit_posterior *posterior; /* borrowed */
    size_t m, stride;                  /* of the posterior; a vector of m entries with its padding */
    size_t n, room, ld;                /* rows; rows that there is room for; and their padding */
    bandit_points points;              /* n: the arms of the rows */
    double *vectors;                   /* room x 2 stride: z and w of each row's arm */
    double *products; /* room x stride: c(x, x_j) = k(x, x_j) / lambda − products' k_S(x) */
    double *shares;   /* room x ld: row j has c_i(x_j) / d_i, i < j */
    double *divisor;  /* room: d_j */
    double *error;    /* room: what c(x, x_j) by `products` may be off, at most */
    double gain;      /* c_j(x_j) of the last row */
    uint64_t count;   /* and its pulls */
    uint64_t most;    /* the largest n_j */
    double *work;
    size_t capacity_vectors, capacity_products, capacity_shares, capacity_divisor, capacity_error,
        capacity_work;
} bandit_conditioning;

/* An arm that is looked at; the caller's. */
typedef struct bandit_conditioned {
    double *z, *w;   /* m entries each, aligned */
    double *c;       /* `room` entries, aligned: c_j(x), of the rows before `n` */
    double mean;     /* reward units */
    double variance; /* before the first row, paper's scale */
    double closed;   /* after the rows before n_closed: those that no further pull changes */
    size_t n, n_closed;
} bandit_conditioned;

/* No pulls. *conditioning is {0} or used before; room for `room` <= BANDIT_CONDITIONING_MOST rows. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_conditioning_start(bandit_conditioning *conditioning, const bandit_posterior *posterior,
                                        size_t room, bandit_error *err);
/* Makes room for `room` <= BANDIT_CONDITIONING_MOST rows; those that are there are kept. The caller's arms need longer arrays
 * then. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_conditioning_reserve(bandit_conditioning *conditioning, size_t room, bandit_error *err);
void bandit_conditioning_clear(bandit_conditioning *conditioning);
size_t bandit_conditioning_memory(const bandit_conditioning *conditioning);

/* Fills *arm's z, w, mean and variance; no rows yet. O(m^2). */
void bandit_conditioning_embed(bandit_conditioning *conditioning, uint32_t index, bandit_conditioned *arm);

/* The variance of the arm after all pulls so far, paper's scale, never negative. O(m) for each row that is new
 * to it. Does not grow from one call to the next, to the bit. */
double bandit_conditioning_variance(bandit_conditioning *conditioning, uint32_t index,
                                    bandit_conditioned *arm);

/* One more pull of the arm, which has been embedded. Room must be there unless the last row is of this arm.
 * Allocates nothing. */
void bandit_conditioning_add(bandit_conditioning *conditioning, uint32_t index, bandit_conditioned *arm);

/* For n <= BANDIT_CONDITIONING_BLOCK arms: what the pulls have taken off their variances at least,
 * sum_j c_j(x)^2 / d_j less the rounding. Uses memory of the conditioning. */
void bandit_conditioning_gains(bandit_conditioning *conditioning, const uint32_t *arms, size_t n,
                               double *gains);

#endif
