/* The global-local rule ([BBKB] Lemma 3): it bounds the ratio of the variances at the start of the batch to
 * those after the picks.
 *
 *   max over arms x of 1 + max( sum_s (w(x)'w_s)^2, sum_s k~(x, x_s)^2 ) / variance(x)
 *
 * The sums are over all picks s in flight. An arm with zero variance counts as 1. The first sum bounds the
 * ratio of the sparse (DTC) variances, the second that of the exact ones. Lemma 3 prints only the second, and
 * tests on random problems have arms that violate it. Each arm has two running sums; the columns of a few
 * recent picks are kept, so that repeating one of these picks needs no kernel entries.
 *
 * Consecutive picks of one arm form a run. When a run starts, one pass over the arms computes how many pulls
 * the bound allows, so that each further pull only increments a counter. The sums include a run once the next
 * one starts. The result depends only on the sequence of picks, not on how calls divide it. */
#ifndef CORE_SELECTION_LOCAL_RATIO_H
#define CORE_SELECTION_LOCAL_RATIO_H

#include "core/posterior/sparse_posterior.h"

typedef struct bandit_local_ratio {
    const bandit_posterior *posterior; /* borrowed */
    const double *variance;            /* n_arms: at the start of the batch; borrowed */
    size_t n_arms;
    double bound;                      /* the largest ratio allowed */
    double *projections, *covariances; /* n_arms: the two sums, over the runs that have ended */
    bool running;                      /* there is an open run, described by: */
    uint32_t run_arm;
    size_t run_column;
    uint64_t run_count;
    double run_room; /* number of its pulls that keep the ratio within the bound; below 1: none */
    double *columns; /* n_columns x 2 n_arms: squares of w(x)'w_s and k~(x, x_s) */
    uint32_t *column_arms;
    size_t n_columns, used_columns, next_column;
    double *work;         /* scratch for one pick */
    double *workers_work; /* scratch for `workers` workers */
    size_t workers, capacity_sums, capacity_columns, capacity_column_arms, capacity_work,
        capacity_workers_work;
} bandit_local_ratio;

/* Sets the sums to zero. *ratio is {0} or used before. bound >= 1. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_local_ratio_start(bandit_local_ratio *ratio, const bandit_posterior *posterior,
                                       const double *variance, double bound, bandit_error *err);

/* Reserves memory; must be called before picks are added by an executor with this many workers. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_local_ratio_prepare(bandit_local_ratio *ratio, size_t workers, bandit_error *err);

/* Adds `count` pulls of `arm`. Allocates nothing. */
void bandit_local_ratio_add(bandit_local_ratio *ratio, uint32_t arm, uint64_t count,
                            const bandit_executor *executor);

/* Whether the ratio exceeds the bound after all pulls so far. */
bool bandit_local_ratio_exceeded(const bandit_local_ratio *ratio);

void bandit_local_ratio_clear(bandit_local_ratio *ratio);
size_t bandit_local_ratio_memory(const bandit_local_ratio *ratio);

#endif
