/* Evaluates all arms under a new posterior, most of them only by bounds.
 *
 * A batch needs only those arms that may reach the top of the heap, a few per cent. The variances of an
 * earlier batch, times a factor, bound the new ones (reference.h). Means cost one product per kernel entry
 * and are computed for all arms. Variances need a triangular product, which costs m/2 times as much.
 * Screening omits it for arms whose mean and bound stay below the value that some pulled arm is likely to
 * keep until the end of the batch. A wrong guess of that value only costs time: the selector (selection.h)
 * evaluates any arm that reaches the top of the heap, and the bounds hold, so that the picks are the same.
 *
 * A reference does not pay when the dictionary is large compared with the number of arms. A variance is then
 * bounded by the first rows of R, in pivot order: each row subtracts a term from k / lambda − |R k|^2. The
 * rows of a tile end as soon as none of its arms can matter any more. Neighbours on a grid share a tile, and
 * for most tiles half of the rows, a quarter of the product, are enough.
 *
 * Picks by log gain come from the few arms with the largest gains. A sample spread over all arms shows how
 * large these are; arms whose mean and bound do not allow a gain near that are left out. */
#ifndef CORE_SELECTION_SCREENING_H
#define CORE_SELECTION_SCREENING_H

#include "core/selection/reference.h"

/* Whether screening against a reference pays under this posterior. It requires the single-norm form
 * (one_factor), a kernel that is positive semi-definite by its formula, and enough arms to be worth comparing
 * posteriors. */
bool bandit_screening_pays(const bandit_posterior *posterior, size_t n_pulled);

/* Whether screening by the first rows of R, without a reference, pays. It requires the single-norm form, a
 * version of the product that can stop early, and few pulled arms, because these are evaluated twice. */
bool bandit_screening_by_rows_pays(const bandit_posterior *posterior, size_t n_pulled);

typedef struct bandit_screen {
    const bandit_reference *reference; /* NULL: screen by the first rows of R */
    double ratio;                      /* from bandit_reference_compare; used only with a reference */
    bool by_gain;                      /* compare log gains (log_gain.h), not confidence bounds */
    double alpha;                      /* the width of the bounds */
    double shrinkage;                  /* expected factor by which variances shrink within the batch, >= 1 */
    const bandit_arm_sum *pulled;      /* n_pulled >= 1 arms that are always evaluated */
    size_t n_pulled;
} bandit_screen;

/* Computes the means of all arms, and the variances of those that matter, as accurately as
 * bandit_posterior_evaluate_all.
 *   mean, variance  as for that function; the variance of an arm left out is minus an upper bound, below 0
 *   *done           false: a sample shows that too many arms matter, and both arrays are unusable; always
 *                   true when screening by rows
 * Errors: as for bandit_posterior_evaluate_all. */
bandit_status bandit_screening_evaluate(bandit_posterior *posterior, const bandit_screen *screen,
                                        const bandit_executor *executor, double *mean, double *variance,
                                        bool *done, bandit_error *err);

/* Computes the variances that are only bounded, below 0, among those of n arms, as accurately as that function. With
 * none of them it does nothing; otherwise the posterior must have the single-norm form.
 *   variance  of all arms
 *   scratch   bandit_screening_scratch doubles, aligned */
void bandit_screening_sharpen(const bandit_posterior *posterior, const uint32_t *arms, size_t n,
                              double *variance, double *scratch);
size_t bandit_screening_scratch(const bandit_posterior *posterior);

#endif
