/* The global-local rule ([BBKB] Lemma 3): how far the frozen variances may be from those after the picks.
 *
 *   max over arms x of 1 + max( sum_s (w(x)'w_s)^2, sum_s k~(x, x_s)^2 ) / variance(x)
 *
 * over all picks s that are out; an arm of no variance counts as 1. The first sum bounds the ratio of the
 * sparse (DTC) variances, the second that of the exact ones; Lemma 3 prints the second alone, which random
 * problems violate arm by arm. Two running sums an arm; columns of a few recent picks are kept, so that an
 * arm that comes again does not touch the kernel.
 *
 * Repeats of one arm are a run: when it begins, one pass over the arms tells how many pulls the bound has
 * room for, so that each further one only counts. The sums take a run in when the next begins. What is
 * answered is a function of the sequence of picks alone, however calls cut it. */
#ifndef CORE_SELECTION_LOCAL_RATIO_H
#define CORE_SELECTION_LOCAL_RATIO_H

#include "core/posterior/sparse_posterior.h"

typedef struct bandit_local_ratio {
    const bandit_posterior *posterior; /* borrowed */
    const double *variance;            /* n_arms: of the batch's start; borrowed */
    size_t n_arms;
    double bound;                      /* what the ratio is held against */
    double *projections, *covariances; /* n_arms: the two sums, over the runs that have ended */
    bool running;                      /* the run that has not: */
    uint32_t run_arm;
    size_t run_column;
    uint64_t run_count;
    double run_room; /* pulls of it that keep the ratio within the bound; below 1: none does */
    double *columns; /* n_columns x 2 n_arms: squares of w(x)'w_s and k~(x, x_s) */
    uint32_t *column_arms;
    size_t n_columns, used_columns, next_column;
    double *work;         /* of one pick */
    double *workers_work; /* of `workers` workers */
    size_t workers, capacity_sums, capacity_columns, capacity_column_arms, capacity_work,
        capacity_workers_work;
} bandit_local_ratio;

/* Begins the sums at zero. *ratio is {0} or used before. bound >= 1. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_local_ratio_start(bandit_local_ratio *ratio, const bandit_posterior *posterior,
                                       const double *variance, double bound, bandit_error *err);

/* Before picks are added by an executor of so many workers. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_local_ratio_prepare(bandit_local_ratio *ratio, size_t workers, bandit_error *err);

/* `count` more pulls of `arm`. Allocates nothing. */
void bandit_local_ratio_add(bandit_local_ratio *ratio, uint32_t arm, uint64_t count,
                            const bandit_executor *executor);

/* Is the ratio above the bound, after all pulls so far? */
bool bandit_local_ratio_exceeded(const bandit_local_ratio *ratio);

void bandit_local_ratio_clear(bandit_local_ratio *ratio);
size_t bandit_local_ratio_memory(const bandit_local_ratio *ratio);

#endif
