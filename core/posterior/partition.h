/* A partitioned Gaussian process: an independent exact posterior on each cell of a cover, given the rewards
 * of the arms in that cell ([JBG20] section 3). Only cells with new rewards are recomputed. Such a cell is
 * built from the counts and sums of its arms, so that to the bit the whole partition depends only on the
 * ledger.
 *
 * Variances are Bayesian, as in exact_posterior.h. Callers use the engine's arm numbers; each cell numbers
 * its members itself. */
#ifndef CORE_POSTERIOR_PARTITION_H
#define CORE_POSTERIOR_PARTITION_H

#include "bandit/engine.h"
#include "core/arms/cover.h"
#include "core/posterior/exact_posterior.h"
#include "core/posterior/ledger.h"

typedef struct bandit_region {
    bandit_cell cell;
    uint64_t pulls;           /* N: pulls whose rewards were observed */
    bandit_arms *arms;        /* the members, as a separate set of arms */
    bandit_covariance kernel; /* covariance on these arms */
    bandit_exact *posterior;
    double information_gain; /* gamma: 1/2 log det(I + K/lambda) of the pulls in the cell */
    double pulled_variance;  /* sum_i n_i sigma^2(x_i) */
    double width;            /* beta; set by the caller */
    bool fresh;              /* created by the change in progress */
} bandit_region;

typedef struct bandit_partition {
    bandit_cover cover;
    const bandit_kernel *kernel; /* borrowed */
    double lambda;
    bandit_region **regions; /* n, ordered by level and corner; NULL before the first change */
    size_t n;
    bool outdated; /* the ledger changed other than by new results, so the next change rebuilds all regions */
} bandit_partition;

/* The partition that a change leads to. It shares the untouched regions until it is committed. {0} is
 * empty. */
typedef struct bandit_partition_change {
    bandit_region **regions;
    size_t n, capacity;
    double bytes;      /* memory of its regions */
    double most_bytes; /* limit on `bytes` */
} bandit_partition_change;

/* Sets cover and kernel; there are no regions yet. */
void bandit_partition_init(bandit_partition *out, const bandit_arms *arms, const bandit_kernel *kernel,
                           double lambda, uint32_t initial);
/* Frees all regions. */
void bandit_partition_clear(bandit_partition *partition);

/* Prepares the partition for `ledger`, which includes `results`, those that have arrived since the current
 * partition was built. Cells that contain an arm of these results are split until none must be split any
 * more, and rebuilt. Memory for the pending picks is reserved. *change must be {0}; pass it to commit or
 * abandon whatever the status is. Errors: BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT beyond most_bytes. */
bandit_status bandit_partition_prepare(const bandit_partition *partition, bandit_partition_change *change,
                                       const bandit_ledger *ledger, const bandit_result *results,
                                       size_t n_results, const bandit_pick *pending, size_t n_pending,
                                       double most_bytes, const bandit_executor *executor, bandit_error *err);
/* Makes the change current and drops the hallucinated pulls of the regions that it keeps. Cannot fail. */
void bandit_partition_commit(bandit_partition *partition, bandit_partition_change *change);
void bandit_partition_abandon(bandit_partition_change *change);

/* Reserves memory for one more hallucinated pull of `arm`. Errors: BANDIT_NO_MEMORY; BANDIT_MEMORY_LIMIT,
 * with nothing changed, when the partition would need more than most_bytes. */
bandit_status bandit_partition_reserve(bandit_partition *partition, uint32_t arm, double most_bytes,
                                       const bandit_executor *executor, bandit_error *err);
/* Hallucinates a pull of `arm` in every cell that contains it. The memory must have been reserved. */
void bandit_partition_hallucinate(bandit_partition *partition, uint32_t arm, const bandit_executor *executor);

/* An arm's upper bound at the start of the batch: the largest mean + width * standard deviation among the
 * cells that contain it, with the mean and the variance of that cell. */
bandit_prediction bandit_partition_bound(const bandit_partition *partition, uint32_t arm);

/* The same for `n` points with coordinates scaled as the arms are. Where no cell contains a point, it is the
 * bound of the prior with `prior_width`. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_partition_bound_at(const bandit_partition *partition, const double *coordinates,
                                        size_t n, double prior_width, bandit_prediction *out,
                                        bandit_error *err);

/* argmax, over all cells and their arms, of mean + width * standard deviation given the hallucinated pulls;
 * ties go to the lowest arm. `withheld` is ascending. Returns false when all arms are withheld. */
bool bandit_partition_best(const bandit_partition *partition, const uint32_t *withheld, size_t n_withheld,
                           uint32_t *arm);

/* Bytes held. */
size_t bandit_partition_memory(const bandit_partition *partition);

#endif
