/* A posterior of an earlier batch, kept because its variances bound those of a later one.
 *
 * With M = lambda I + Q (V − lambda I) Q', where Q is an orthonormal basis of the dictionary's span, an arm's
 * variance is phi(x)' M^{-1} phi(x) (paper's scale), so that
 *
 *   variance_new(x) <= rho variance_reference(x) for every x  when  M_reference <= rho M_new.
 *
 * This is an inequality between matrices of the dictionaries' sizes, which a Cholesky factorization proves,
 * whatever the two dictionaries have in common †.
 *
 * † ours, not the papers'. */
#ifndef CORE_SELECTION_REFERENCE_H
#define CORE_SELECTION_REFERENCE_H

#include "core/posterior/sparse_posterior.h"

typedef struct bandit_reference {
    bool kept;            /* false: there is no reference */
    bandit_points points; /* the members of its dictionary */
    size_t m;
    double *L;        /* m x m, lower triangle: K = L L' */
    double *F;        /* m x m, lower triangle: I − lambda V^{-1} <= F F' */
    double *gram;     /* m x m, lower triangle: F'F plus the error of the basis */
    double *variance; /* one per arm, paper's scale, with an error of at most variance_error */
    double variance_error;
    size_t rung; /* rung at which the next comparison starts */
    size_t capacity_L, capacity_F, capacity_gram, capacity_variance, capacity_work;
    double *work; /* scratch of keep and compare */
} bandit_reference;

/* Makes `posterior` with the variances of all arms (bandit_posterior_evaluate_all) the reference; both are
 * copied. *reference is {0} or used before. Errors: BANDIT_NO_MEMORY; there is then no reference. */
bandit_status bandit_reference_keep(bandit_reference *reference, const bandit_posterior *posterior,
                                    const double *variance, bandit_error *err);

/* Sets *ratio to a rho > 1, one of a few values, for which M_reference <= rho M_new is proved with rounding
 * taken into account, or to INFINITY if none is proved. Both posteriors have the same kernel, arms and
 * lambda. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_reference_compare(bandit_reference *reference, const bandit_posterior *posterior,
                                       double *ratio, bandit_error *err);

void bandit_reference_clear(bandit_reference *reference);
size_t bandit_reference_memory(const bandit_reference *reference);

#endif
