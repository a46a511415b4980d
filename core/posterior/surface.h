/* A posterior as a function of the point, wherever it is: means, variances and their gradients, after the
 * pulls that are out. Bayesian scale.
 *
 * With D the dictionary's members followed by the points that are out, and k = k_D(x),
 *
 *   mean      weights' k                 weights = L^{-T} L_V^{-T} g on the members, 0 beyond ([BBKB] eq. 1)
 *   variance  k(x,x) − |R k|^2           R'R = L^{-T} (I − lambda V^{-1}) L^{-1} on the members ([BBKB] eq.
 * 3, times lambda)
 *
 * A pull of x_j whose reward is out conditions the process of covariance c(x,x') = k(x,x') − (R k)'(R k') on
 * one more observation of noise lambda: R gets the row [−R'R k(x_j), 1] / sqrt(lambda + c(x_j,x_j)) and D the
 * point. So what a dictionary leaves out of a variance (the residual) shrinks as well: on a finite set it
 * stays ([BBKB] Alg. 1, l. 9), but where there is an arm next to every arm, the pick after x_j would
 * otherwise be x_j again wherever the dictionary has no member. [BBKB] Lemma 1 bounds the ratio of variances
 * for this process as well as for theirs †. */
#ifndef CORE_POSTERIOR_SURFACE_H
#define CORE_POSTERIOR_SURFACE_H

#include "core/posterior/sparse_posterior.h"

typedef struct bandit_surface {
    const bandit_posterior *posterior; /* borrowed */
    size_t m;                          /* members */
    size_t n;                          /* and points that are out */
    size_t room;                       /* that the arrays below take */
    bandit_points points;              /* n: coordinates times the kernel's factors; no arms */
    double *R;                         /* lower triangle, rows of `room` entries */
    double *weights;                   /* m */
    double *k, *slope, *y, *q;         /* room each: of the point last looked at */
    double *u, *scratch;               /* dimension; a block */
    double *work;                      /* of start */
    double mean, variance;             /* of the point last looked at; before clamping at 0 */
    size_t capacity_R, capacity_weights, capacity_vectors, capacity_scratch, capacity_work;
} bandit_surface;

/* Nothing is out. *surface is {0} or used before; room for `room` points that are out. `posterior` may be a
 * prior ({.covariance, .lambda}). Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_surface_start(bandit_surface *surface, const bandit_posterior *posterior, size_t room,
                                   bandit_error *err);
void bandit_surface_clear(bandit_surface *surface);
size_t bandit_surface_memory(const bandit_surface *surface);

/* Makes room for `more` points that are out beyond those that are. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_surface_reserve(bandit_surface *surface, size_t more, bandit_error *err);

/* One more pull is out, at these coordinates (scaled as the arms are); room is there. Returns the variance
 * before it. */
double bandit_surface_hallucinate(bandit_surface *surface, const double *coordinates);

/* mean and variance of n points, n x dimension coordinates, row-major; either may be NULL. */
void bandit_surface_values(bandit_surface *surface, const double *coordinates, size_t n, double *mean,
                           double *variance);

/* One point; sets surface->mean and ->variance. */
void bandit_surface_look(bandit_surface *surface, const double *coordinates);
/* gradient (dimension entries) = a ∇mean + b ∇variance at the point last looked at. */
void bandit_surface_slope(bandit_surface *surface, double a, double b, double *gradient);

/* Sums of kernels with other weights, c of m entries: out[i] = sum_j c_j k(x_i, D_j) at n points, and the
 * same with its gradient at one. */
void bandit_surface_combine(bandit_surface *surface, const double *c, const double *coordinates, size_t n,
                            double *out);
double bandit_surface_combine_slopes(bandit_surface *surface, const double *c, const double *coordinates,
                                     double *gradient);

/* Means and variances of many points that stay, brought up to date as points go out: O(n) a point for each
 * that is out instead of O(n^2). */
typedef struct bandit_grid {
    size_t n, ld;
    size_t applied;              /* rows of R taken in */
    size_t room;                 /* columns */
    double *columns;             /* ld x room: kernel columns */
    double *mean, *variance, *a; /* n */
    double *coordinates;         /* n x dimension: a copy */
    size_t capacity_columns, capacity_values, capacity_coordinates;
} bandit_grid;

/* Under the surface without what is out. *grid is {0} or used before. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_grid_start(bandit_grid *grid, bandit_surface *surface, const double *coordinates,
                                size_t n, bandit_error *err);
/* Takes in what is out now. The bits do not depend on when it is called. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_grid_update(bandit_grid *grid, bandit_surface *surface, bandit_error *err);
void bandit_grid_clear(bandit_grid *grid);
size_t bandit_grid_memory(const bandit_grid *grid);

#endif
