/* A posterior over the whole space: means, variances and their gradients at any point, conditioned on the
 * points in flight. Variances are Bayesian.
 *
 * Let D be the dictionary's members followed by the points in flight, and k = k_D(x). Then
 *
 *   mean      weights' k         weights = L^{-T} L_V^{-T} g on the members, 0 beyond ([BBKB] eq. 1)
 *   variance  k(x,x) − |R k|^2   R'R = L^{-T} (I − lambda V^{-1}) L^{-1} on the members
 *                                ([BBKB] eq. 3, times lambda)
 *
 * A point x_j in flight conditions the process of covariance c(x,x') = k(x,x') − (R k)'(R k') on one more
 * observation with noise variance lambda: R gets the row [−R'R k(x_j), 1] / sqrt(lambda + c(x_j,x_j)), and D
 * gets the point. This also reduces the residual, the part of a variance that the dictionary does not
 * explain. On a finite set of arms the residual is left as it is ([BBKB] Alg. 1, l. 9). In a continuous
 * space, where every point has neighbours, the pick after x_j would then be x_j again wherever the dictionary
 * has no member. [BBKB] Lemma 1 bounds the ratio of variances for this process as well as for theirs († ours,
 * not the paper's). */
#ifndef CORE_POSTERIOR_SURFACE_H
#define CORE_POSTERIOR_SURFACE_H

#include "core/posterior/sparse_posterior.h"
#include "core/posterior/surface_near.h"

typedef struct bandit_surface {
    /* Set before the start: of the points in flight beyond the first BANDIT_NEAR_EXACT, only the nearest
     * count (surface_near.h). */
    bool near;
    const bandit_posterior *posterior; /* borrowed */
    size_t m;                          /* members of the dictionary */
    size_t n;                          /* members, and the points in flight that always count */
    bandit_near beyond;                /* the others in flight */
    size_t room;                       /* points that the arrays below have room for */
    bandit_points points;              /* n: coordinates times the kernel's factors; no arms */
    double *R;                         /* lower triangle, row-major, with rows of `room` entries */
    double *weights;                   /* m */
    double *k, *slope, *y, *q;         /* room entries each, for the point last looked at */
    double *u, *scratch;               /* u: dimension; scratch: for a block of points */
    double *work;                      /* scratch of bandit_surface_start */
    const double *at;                  /* the point last looked at; borrowed */
    double mean, variance;             /* at that point; before clamping at 0 */
    size_t capacity_R, capacity_weights, capacity_vectors, capacity_scratch, capacity_work;
} bandit_surface;

/* Starts without points in flight, with memory for `room` of them. *surface is {0} or used before.
 * `posterior` may be a prior ({.covariance, .lambda}). Errors: BANDIT_NO_MEMORY, BANDIT_NUMERICAL. */
bandit_status bandit_surface_start(bandit_surface *surface, const bandit_posterior *posterior, size_t room,
                                   bandit_error *err);
void bandit_surface_clear(bandit_surface *surface);
size_t bandit_surface_memory(const bandit_surface *surface);

/* Reserves memory for `more` points in flight beyond the present ones. Errors: BANDIT_NO_MEMORY. */
bandit_status bandit_surface_reserve(bandit_surface *surface, size_t more, bandit_error *err);

/* Adds a point in flight, given by coordinates scaled as the arms are; its memory must have been reserved. `noise`: the
 * noise variance of its measurement, usually lambda; points beyond BANDIT_NEAR_EXACT always have lambda. Returns the
 * variance at the point before that. */
double bandit_surface_hallucinate(bandit_surface *surface, const double *coordinates, double noise);

/* Mean and variance of n points, given by n x dimension coordinates, row-major. Either output may be NULL. */
void bandit_surface_values(bandit_surface *surface, const double *coordinates, size_t n, double *mean,
                           double *variance);

/* Looks at one point: sets surface->mean and ->variance. */
void bandit_surface_look(bandit_surface *surface, const double *coordinates);
/* gradient (dimension entries) = a ∇mean + b ∇variance at the point last looked at, whose coordinates must
 * still be valid. */
void bandit_surface_slope(bandit_surface *surface, double a, double b, double *gradient);

/* Sums of kernels with other weights, c of m entries: out[i] = sum_j c_j k(x_i, D_j) at n points, and the
 * same sum with its gradient at one point. */
void bandit_surface_combine(bandit_surface *surface, const double *c, const double *coordinates, size_t n,
                            double *out);
double bandit_surface_combine_slopes(bandit_surface *surface, const double *c, const double *coordinates,
                                     double *gradient);

/* Means and variances on a fixed set of many points, updated as points are added in flight: an update costs
 * O(n) per grid point for each new point in flight, where evaluating again would cost O(n^2). */
typedef struct bandit_grid {
    size_t n, ld;
    size_t applied;              /* rows of R that are included */
    size_t room;                 /* capacity, in columns */
    double *columns;             /* ld x room: kernel columns */
    size_t applied_near;         /* points of `beyond` that are included */
    bandit_neighbors *neighbors; /* n, of each point of the grid */
    double *base_variance;       /* n: the variance without `beyond` */
    bool *changed;               /* n: scratch */
    size_t capacity_neighbors, capacity_base, capacity_changed;
    double *mean, *variance, *a; /* n entries each */
    double *coordinates;         /* n x dimension: a copy */
    size_t capacity_columns, capacity_values, capacity_coordinates;
} bandit_grid;

/* Starts with the surface without its points in flight. *grid is {0} or used before. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_grid_start(bandit_grid *grid, bandit_surface *surface, const double *coordinates,
                                size_t n, bandit_error *err);
/* Conditions on all points that are in flight now. The bits do not depend on when it is called. Errors:
 * BANDIT_NO_MEMORY. */
bandit_status bandit_grid_update(bandit_grid *grid, bandit_surface *surface, bandit_error *err);
void bandit_grid_clear(bandit_grid *grid);
size_t bandit_grid_memory(const bandit_grid *grid);

#endif
