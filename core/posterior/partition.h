/* A partitioned Gaussian process: an independent exact posterior on each cell of a cover, given the rewards
 * of the arms in it ([JBG20] section 3). Only cells with new rewards are computed again; a renewed cell is
 * built from its arms' counts and sums, so that the whole is a function of the ledger, to the bit.
 *
 * Variances are Bayesian, as in exact_posterior.h. Arms are the engine's; a cell numbers its own. */
#ifndef CORE_POSTERIOR_PARTITION_H
#define CORE_POSTERIOR_PARTITION_H

#include "bandit/engine.h"
#include "core/arms/cover.h"
#include "core/posterior/exact_posterior.h"
#include "core/posterior/ledger.h"

typedef struct bandit_region {
    bandit_cell cell;
    uint64_t pulls;           /* N: with their rewards in */
    bandit_arms *arms;        /* the members, as a set of their own */
    bandit_covariance kernel; /* on them */
    bandit_exact *posterior;
    double information_gain; /* gamma: 1/2 log det(I + K/lambda) of the pulls in the cell */
    double pulled_variance;  /* sum_i n_i sigma^2(x_i) */
    double width;            /* beta, the caller's to set */
    bool fresh;              /* made by the change under way */
} bandit_region;

typedef struct bandit_partition {
    bandit_cover cover;
    const bandit_kernel *kernel; /* borrowed */
    double lambda;
    bandit_region **regions; /* n, ordered by level and corner; none before the first change */
    size_t n;
    bool outdated; /* the next change builds all regions anew: the ledger has changed in other ways than by
                      results that came in */
} bandit_partition;

/* The partition that a change leads to; shares the untouched regions until it is committed. {0} is none. */
typedef struct bandit_partition_change {
    bandit_region **regions;
    size_t n, capacity;
    double bytes;      /* held by its regions */
    double most_bytes; /* allowed */
} bandit_partition_change;

/* Binds cover and kernel; no regions yet. */
void bandit_partition_init(bandit_partition *out, const bandit_arms *arms, const bandit_kernel *kernel,
                           double lambda, uint32_t initial);
/* No regions again. */
void bandit_partition_clear(bandit_partition *partition);

/* Prepares the partition for `ledger`, which holds the results that have come in since the one in force was
 * made: cells that contain one of their arms are split until none qualifies, and rebuilt. Rooms for the
 * pending picks are reserved. *change is {0}; pass it to commit or abandon whatever is returned.
 * Errors: BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT beyond most_bytes. */
bandit_status bandit_partition_prepare(const bandit_partition *partition, bandit_partition_change *change,
                                       const bandit_ledger *ledger, const bandit_result *results,
                                       size_t n_results, const bandit_pick *pending, size_t n_pending,
                                       double most_bytes, const bandit_executor *executor, bandit_error *err);
/* Puts the change in force; what the former regions had hallucinated is forgotten. Cannot fail. */
void bandit_partition_commit(bandit_partition *partition, bandit_partition_change *change);
void bandit_partition_abandon(bandit_partition_change *change);

/* Makes room for one more hallucinated pull of `arm`. Errors: BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT, before
 * anything has changed, when the partition would hold more than most_bytes. */
bandit_status bandit_partition_reserve(bandit_partition *partition, uint32_t arm, double most_bytes,
                                       const bandit_executor *executor, bandit_error *err);
/* Hallucinates a pull of `arm` in every cell that contains it; the room is reserved. */
void bandit_partition_hallucinate(bandit_partition *partition, uint32_t arm, const bandit_executor *executor);

/* An arm's bound at the batch's start: the largest mean + width * standard deviation among the cells that
 * contain it, with that cell's mean and variance. */
bandit_prediction bandit_partition_bound(const bandit_partition *partition, uint32_t arm);

/* The same for `n` points of coordinates scaled as the arms are; where no cell contains the point, the prior
 * with `prior_width`. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_partition_bound_at(const bandit_partition *partition, const double *coordinates,
                                        size_t n, double prior_width, bandit_prediction *out,
                                        bandit_error *err);

/* argmax over cells and their arms of mean + width * selection's standard deviation, ties to the lowest arm;
 * false when all arms are withheld (ascending). */
bool bandit_partition_best(const bandit_partition *partition, const uint32_t *withheld, size_t n_withheld,
                           uint32_t *arm);

/* Bytes held. */
size_t bandit_partition_memory(const bandit_partition *partition);

#endif
