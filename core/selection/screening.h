/* All arms under a new posterior, most of them by bounds alone.
 *
 * A batch asks for the arms that may come to the top, a few per cent. The variances of a former batch, the
 * reference, bound those of the new one: with M = lambda I + Q (V − lambda I) Q', Q an orthonormal basis of
 * the dictionary's span, an arm's variance is phi(x)' M^{-1} phi(x) (paper's scale), so that
 *
 *   variance_new(x) <= rho variance_reference(x) for every x  when  M_reference <= rho M_new,
 *
 * an inequality between matrices of the dictionaries' sizes that a Cholesky factor proves, whatever the
 * dictionaries have in common †. Means cost one product a kernel entry: they are computed for all arms. What
 * is left out is the triangular product, m/2 times as much, for arms whose mean and bound stay below what a
 * pulled arm is likely to keep to the batch's end. That is a guess which only costs time: the selector
 * (selection.h) evaluates whatever reaches the top, and the bounds hold, so that the picks are the same.
 *
 * Where no reference pays, because the dictionary is large beside the number of arms, a variance is bounded
 * by the first rows of R, in pivot order: of k / lambda − |R k|^2, what each row subtracts. A tile of arms
 * ends with the row that leaves none of them enough to matter. Neighbours on a grid lie in a tile, and half
 * the rows, a quarter of the product, are enough for most.
 *
 * Picks by their log gain come from the few arms with the largest ones. Arms spread over the set tell what those
 * have; what does not come near that by mean and bound is left out.
 *
 * † ours, not the papers'. */
#ifndef CORE_SELECTION_SCREENING_H
#define CORE_SELECTION_SCREENING_H

#include "core/posterior/sparse_posterior.h"

typedef struct bandit_reference {
    bool kept;            /* false: there is none */
    bandit_points points; /* its dictionary's members */
    size_t m;
    double *L;        /* m x m, lower triangle: K = L L' */
    double *F;        /* m x m, lower triangle: I − lambda V^{-1} <= F F' */
    double *gram;     /* m x m, lower triangle: F'F and what the basis may be off */
    double *variance; /* one an arm, paper's scale: at most variance_error off */
    double variance_error;
    size_t rung; /* where the next comparison begins */
    size_t capacity_L, capacity_F, capacity_gram, capacity_variance, capacity_work;
    double *work; /* of keep and compare */
} bandit_reference;

/* Can arms be screened under this posterior at all? It takes one that is evaluated with one factor, a kernel
 * that is positive semi-definite by its formula, and more arms than comparing posteriors pays for. */
bool bandit_screening_pays(const bandit_posterior *posterior, size_t n_pulled);

/* And by the first rows of R, without a reference? With one factor, a version of the product that can stop
 * early, and few pulled arms, which are evaluated twice. */
bool bandit_screening_by_rows_pays(const bandit_posterior *posterior, size_t n_pulled);

/* Makes `posterior` with the variances of all arms (bandit_posterior_evaluate_all) the reference; both are
 * copied. *reference is {0} or used before. Errors: BANDIT_NO_MEMORY; there is no reference then. */
bandit_status bandit_reference_keep(bandit_reference *reference, const bandit_posterior *posterior,
                                    const double *variance, bandit_error *err);

/* *ratio: a rho > 1 for which M_reference <= rho M_new is proved, with rounding, among a few values; INFINITY
 * where none of them is. Both posteriors are of one kernel, set of arms and lambda. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_reference_compare(bandit_reference *reference, const bandit_posterior *posterior,
                                       double *ratio, bandit_error *err);

void bandit_reference_clear(bandit_reference *reference);
size_t bandit_reference_memory(const bandit_reference *reference);

typedef struct bandit_screen {
    const bandit_reference *reference; /* NULL: by the first rows of R */
    double ratio;                      /* bandit_reference_compare's; with a reference */
    bool by_gain;                      /* log gains are compared (log_gain.h), not confidence bounds: */
    double alpha;                      /* the width of the bounds */
    double shrinkage;             /* how much variances are expected to shrink inside the batch, at least 1 */
    const bandit_arm_sum *pulled; /* n_pulled >= 1 arms that are evaluated in any case */
    size_t n_pulled;
} bandit_screen;

/* Means of all arms, variances of those that matter, as exact as by bandit_posterior_evaluate_all, whose
 * arrays they are.
 *   variance    of an arm left out: minus an upper bound, below 0
 *   *done       false: too many arms matter, by a sample, and neither array is of use; true by rows
 * Errors: as for bandit_posterior_evaluate_all. */
bandit_status bandit_screening_evaluate(bandit_posterior *posterior, const bandit_screen *screen,
                                        const bandit_executor *executor, double *mean, double *variance,
                                        bool *done, bandit_error *err);

#endif
