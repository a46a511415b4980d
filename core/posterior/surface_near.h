/* Points in flight of which only the nearest count: those of a surface (surface.h) beyond the first
 * BANDIT_NEAR_EXACT, if surface.near is set. A pick then costs the same whether a hundred points are in
 * flight or a thousand († ours).
 *
 * Let c(x,x') be the covariance under the dictionary and the first points in flight, c = k(x,x') − y(x)'y(x') with
 * y = R k, and P the at most BANDIT_NEAR_POINTS later points nearest to x in the kernel's distance. Then
 *
 *   variance  c(x,x) − c_P(x)' (C_PP + lambda I)^{-1} c_P(x)
 *
 * This is the variance of the process given the observations of P alone, which is never less than given all
 * of them. The points left out are far away, and their covariance with x, given so many others, is small.
 * (Local conditioning, as in Vecchia 1988 and Datta et al. 2016.)
 *
 * Defined in surface_near.c, and used only there and in surface.c. */
#ifndef CORE_POSTERIOR_SURFACE_NEAR_H
#define CORE_POSTERIOR_SURFACE_NEAR_H

#include "core/arms/covariance.h"

enum { BANDIT_NEAR_EXACT = 100, BANDIT_NEAR_POINTS = 16 };

/* The points nearest to a place, nearest first; of equally near ones the first. */
typedef struct bandit_neighbors {
    uint32_t n;
    uint32_t list[BANDIT_NEAR_POINTS];
    double distance[BANDIT_NEAR_POINTS]; /* squared */
    double c[BANDIT_NEAR_POINTS];        /* covariances with the place */
} bandit_neighbors;

typedef struct bandit_near {
    size_t n, room;
    size_t base, stride; /* entries of y; from one row of it to the next */
    double *points;      /* n x dimension: coordinates times the kernel's factors */
    double *y;           /* n x stride */
    size_t capacity_points, capacity_y;
    /* For the place last looked at. */
    bandit_neighbors at;
    double slope[BANDIT_NEAR_POINTS], beta[BANDIT_NEAR_POINTS]; /* dk/ds; (C + lambda I)^{-1} c */
    /* The factor of C + lambda I for the neighbors that it was last computed for. */
    uint32_t factored, list[BANDIT_NEAR_POINTS];
    double L[BANDIT_NEAR_POINTS * BANDIT_NEAR_POINTS];
    uint64_t kernel_values; /* how often k was evaluated */
} bandit_near;

/* Forgets all points. */
void bandit_near_reset(bandit_near *near);
void bandit_near_clear(bandit_near *near);
size_t bandit_near_memory(const bandit_near *near);

/* Reserves memory for `more` points, whose y have `base` entries each, the same number for all points. False:
 * out of memory. */
bool bandit_near_reserve(bandit_near *near, size_t base, size_t dimension, size_t more);
void bandit_near_add(bandit_near *near, const bandit_covariance *covariance, const double *u,
                     const double *y);

/* Adds a point to a place's neighbors if it is near enough. Returns whether it is. */
bool bandit_neighbors_offer(bandit_neighbors *at, uint32_t point, double distance, double c);
/* By how much these neighbors reduce the variance of a place. */
double bandit_near_reduction(bandit_near *near, const bandit_covariance *covariance, double lambda,
                             const bandit_neighbors *at);

/* Looks at the place u (scaled) with this y. Returns by how much the variance is reduced. */
double bandit_near_look(bandit_near *near, const bandit_covariance *covariance, double lambda,
                        const double *u, const double *y);
/* For the place last looked at: y −= sum_j beta_j y_j; and gradient += weight sum_j beta_j ∇k(x, x_j). */
void bandit_near_subtract(const bandit_near *near, double *y);
void bandit_near_add_slope(const bandit_near *near, const bandit_covariance *covariance, const double *u,
                           double weight, double *gradient);

/* A stationary kernel as a function of the squared distance s of scaled points, and its derivative dk/ds. */
double bandit_near_profile(const bandit_covariance *covariance, double s, double *slope);

/* The kernel at two scaled points, and its derivative by the squared distance. */
double bandit_near_kernel(const bandit_covariance *covariance, const double *u, const double *z,
                          double *slope);

#endif
