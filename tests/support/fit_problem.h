/* Small problems of learning hyper-parameters, with a row a reward, and dense algebra on them. */
#ifndef TESTS_SUPPORT_FIT_PROBLEM_H
#define TESTS_SUPPORT_FIT_PROBLEM_H

#include "bandit/fit.h"

#include <stdint.h>

enum { FIT_PROBLEM_POINTS = 64, FIT_PROBLEM_ROWS = 256, FIT_PROBLEM_DIMENSION = 4 };

typedef struct fit_problem {
    bandit_fit_data data;
    double points[FIT_PROBLEM_POINTS * FIT_PROBLEM_DIMENSION], gram[FIT_PROBLEM_POINTS * FIT_PROBLEM_POINTS],
        count[FIT_PROBLEM_POINTS], mean[FIT_PROBLEM_POINTS];
    double extent[FIT_PROBLEM_DIMENSION];
    size_t group[FIT_PROBLEM_DIMENSION];
    size_t n_rows; /* single rewards */
    size_t row_of[FIT_PROBLEM_ROWS];
    double reward[FIT_PROBLEM_ROWS];
} fit_problem;

/* n points at random in the unit cube of d dimensions, smooth rewards with noise, one to three a point; *p
 * stays where it is, `data` points into it. */
void fit_problem_init(fit_problem *p, uint64_t seed, bandit_kernel_type kernel, double nu, size_t n,
                      size_t d);

/* A kernel without lengthscales, by its matrix. */
void fit_problem_make_linear(fit_problem *p);

/* k(a, b) without s^2 by the textbook formulas. */
double fit_problem_kernel(const fit_problem *p, const double *theta, size_t a, size_t b);

/* Cholesky in place of n x n, row-major lower; x = L^{-1} x. */
void dense_factorize(double *a, size_t n);
void dense_substitute(const double *l, size_t n, double *x);

/* |a - b|, relative to 1 + |b|. */
double relative_to_size(double a, double b);

#endif
