/* Results with a reported standard error, by arm and by size of the error.
 *
 * A reward whose standard error is e, and that stands for k pulls, is taken as k pulls with the error e sqrt(k)
 * each. A row has the pulls of one arm whose errors lie within a factor of 2^(1/4), so that an arm has few rows
 * however many results it has. A row's error is the root mean square of its pulls' errors: the variance of
 * its mean is then exact, and at most 3.1 % above that of the mean with the best weights, (1 + r)^2 / (4 r)
 * for squares within a factor of r = sqrt(2). († ours) */
#ifndef CORE_POSTERIOR_TOLD_ERRORS_H
#define CORE_POSTERIOR_TOLD_ERRORS_H

#include "bandit/engine.h"
#include "bandit/status.h"

typedef struct bandit_error_row {
    uint32_t arm;
    int32_t level;    /* 4 log2 of the error of a pull, rounded */
    uint64_t count;   /* pulls */
    uint64_t results; /* >= 1 */
    double sum;       /* of the rewards of the pulls */
    double variance;  /* sum over the pulls of their squared errors */
    double squares;   /* of the results about the row's mean, each times its pulls */
} bandit_error_row;

typedef struct bandit_told_errors {
    bandit_error_row *rows; /* n, ascending by arm and level; owned */
    size_t n, capacity;
} bandit_told_errors;

/* *out (initialized, not `base`) becomes `base` plus the results that have an error, in the order given. Errors:
 * BANDIT_NO_MEMORY, BANDIT_INVALID_STATE (an error is not valid); *out is then unspecified but valid. */
bandit_status bandit_told_errors_add(bandit_told_errors *out, const bandit_told_errors *base,
                                     const bandit_result *results, size_t n_results, bandit_error *err);

/* Replaces the rows of the arms of `sums` (n_sums) by the rows of `results`, which are all results of these
 * arms that have an error. Errors: as above. */
bandit_status bandit_told_errors_amend(bandit_told_errors *errors, const bandit_arm_sum *sums, size_t n_sums,
                                       const bandit_result *results, size_t n_results, bandit_error *err);

/* The rows of an arm: how many, and the number of the first. */
size_t bandit_told_errors_of(const bandit_told_errors *errors, uint32_t arm, size_t *first);

/* The squared error of one pull of the result, or of a row. 0 for a result without an error. */
static inline double bandit_error_of_pull(const bandit_result *result)
{
    return result->error * result->error * result->repeats;
}
static inline double bandit_error_of_row(const bandit_error_row *row)
{
    return row->variance / (double)row->count;
}

/* Whether an engine can have written the rows: valid, and ascending. */
bool bandit_told_errors_valid(const bandit_error_row *rows, size_t n, size_t n_arms);

void bandit_told_errors_clear(bandit_told_errors *errors);

#endif
