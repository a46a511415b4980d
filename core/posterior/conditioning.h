/* A sparse posterior, conditioned on picks in flight: the variances that the model will have when their
 * rewards are observed.
 *
 * The process of the sparse posterior has the covariance (paper's scale: Bayesian / lambda)
 *
 *   c(x, x') = (k(x, x') − z(x)'z(x')) / lambda + w(x)'w(x')
 *
 * including the part that the dictionary does not explain (sparse_posterior.h). A pull with noise variance 1
 * (lambda in Bayesian units) adds a row to a Cholesky factor, stored here without square roots. For the rows
 * j, each of which stands for n_j consecutive pulls of the arm x_j,
 *
 *   c_j(x) = c(x, x_j) − sum_{i<j} c_i(x) c_i(x_j) / d_i,    d_j = 1 / n_j + c_j(x_j)
 *   variance after them = c(x, x) − sum_j c_j(x)^2 / d_j
 *
 * A variance therefore never grows, and the mean does not move. A pull costs m^2 for itself, and m for each
 * arm that is evaluated again. [BBKB]'s hallucination (hallucination.h) only shrinks |w|^2. With it, two arms
 * that the dictionary does not explain both stay worth a pull, however near they are to each other.
 *
 * There are two ways to compute the variance. For one arm, without cancellation; to the bit, the result
 * depends only on the arm and the pulls. For many arms at once, by matrix products, with a bound on the
 * error. */
#ifndef CORE_POSTERIOR_CONDITIONING_H
#define CORE_POSTERIOR_CONDITIONING_H

#include "core/posterior/sparse_posterior.h"

/* The largest number of rows. Pulls beyond them are not conditioned on, and variances are then upper
 * bounds. */
enum { BANDIT_CONDITIONING_MOST = 1024 };

/* The largest number of arms that bandit_conditioning_gains takes at once. */
enum { BANDIT_CONDITIONING_BLOCK = 256 };

typedef struct bandit_conditioning {
    const bandit_posterior *posterior; /* borrowed */
    size_t m, stride;                  /* of the posterior; length of a padded vector of m entries */
    size_t n, room, ld;                /* rows; capacity in rows; the same with padding */
    bandit_points points;              /* n: the arms of the rows */
    double *vectors;                   /* room x 2 stride: z and w of each row's arm */
    double *products; /* room x stride: c(x, x_j) = k(x, x_j) / lambda − products' k_S(x) */
    double *shares;   /* room x ld: row j has c_i(x_j) / d_i, i < j */
    double *divisor;  /* room: d_j */
    double *error;    /* room: bound on the error of c(x, x_j) by `products` */
    double gain;      /* c_j(x_j) of the last row */
    uint64_t count;   /* number of pulls of the last row */
    uint64_t most;    /* the largest n_j */
    double *work;
    size_t capacity_vectors, capacity_products, capacity_shares, capacity_divisor, capacity_error,
        capacity_work;
} bandit_conditioning;

/* An arm that is being evaluated; owned by the caller. */
typedef struct bandit_conditioned {
    double *z, *w;   /* m entries each, aligned */
    double *c;       /* `room` entries, aligned: c_j(x) for the first `n` rows */
    double mean;     /* in units of the reward */
    double variance; /* before the first row, paper's scale */
    double closed;   /* variance after the first n_closed rows, which no further pull changes */
    size_t n, n_closed;
} bandit_conditioned;

/* Starts without pulls. *conditioning is {0} or used before; memory for `room` <= BANDIT_CONDITIONING_MOST
 * rows. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_conditioning_start(bandit_conditioning *conditioning, const bandit_posterior *posterior,
                                        size_t room, bandit_error *err);
/* Reserves memory for `room` <= BANDIT_CONDITIONING_MOST rows; the present ones are kept. The arrays of the
 * caller's arms must then be longer. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_conditioning_reserve(bandit_conditioning *conditioning, size_t room, bandit_error *err);
void bandit_conditioning_clear(bandit_conditioning *conditioning);
size_t bandit_conditioning_memory(const bandit_conditioning *conditioning);

/* Sets z, w, mean and variance of *arm, without any rows. O(m^2). */
void bandit_conditioning_embed(bandit_conditioning *conditioning, uint32_t index, bandit_conditioned *arm);

/* The variance of the arm after all pulls so far, paper's scale, never negative. O(m) for each row that is
 * new to the arm. To the bit, it does not grow from one call to the next. */
double bandit_conditioning_variance(bandit_conditioning *conditioning, uint32_t index,
                                    bandit_conditioned *arm);

/* Adds one pull of the arm, which must have been embedded. Its memory must have been reserved, unless the
 * last row is of this arm. Allocates nothing. */
void bandit_conditioning_add(bandit_conditioning *conditioning, uint32_t index, bandit_conditioned *arm);

/* For n <= BANDIT_CONDITIONING_BLOCK arms, lower bounds on the reduction of their variances by the pulls:
 * sum_j c_j(x)^2 / d_j less the rounding error. Uses the scratch memory. */
void bandit_conditioning_gains(bandit_conditioning *conditioning, const uint32_t *arms, size_t n,
                               double *gains);

#endif
