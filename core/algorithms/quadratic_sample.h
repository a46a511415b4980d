/* The results in an open space that a quadratic function (core/learning/quadratic.h) is fitted to. Its variables are the numbers that
 * are active at the best result: doubles, and integers with at least four values. Results count that agree with the best
 * one in all other parameters. */
#ifndef CORE_ALGORITHMS_QUADRATIC_SAMPLE_H
#define CORE_ALGORITHMS_QUADRATIC_SAMPLE_H

#include "bandit/status.h"
#include "core/arms/parameter_space.h"
#include "core/posterior/ledger.h"

typedef struct bandit_quadratic_sample {
    size_t n, k;        /* results, variables */
    uint32_t *arms;     /* n */
    size_t *parameters; /* k: the places of the variables in the space */
    double *x, *values; /* n x k features in [0, 1], row-major; n mean rewards */
    double *leader;     /* one entry per parameter, coded: the best result */
    double *coded;      /* likewise: scratch */
} bandit_quadratic_sample;

/* Of the `n` arms in `counted`, and their rewards, with which there may also be those of other arms. Sets *sample, which must
 * be cleared in any case. Errors: BANDIT_NO_MEMORY, BANDIT_CANCELLED. */
bandit_status bandit_quadratic_sample_take(bandit_quadratic_sample *sample, const bandit_arms *arms,
                                           const bandit_arm_sum *counted, size_t n,
                                           const bandit_arm_sum *rewards, size_t n_rewards,
                                           bandit_error *err);

void bandit_quadratic_sample_clear(bandit_quadratic_sample *sample);

#endif
