/* Random studies for property tests: arms with ties, duplicates, constant features and arms at distance
 * 1e-9, a kernel, options, and rewards. */
#ifndef TESTS_SUPPORT_RANDOM_PROBLEM_H
#define TESTS_SUPPORT_RANDOM_PROBLEM_H

#include "bandit/engine.h"

typedef struct random_problem {
    uint64_t seed;
    size_t n, d;
    double *rows; /* n x d raw features; NULL for a precomputed kernel */
    double *lengthscales;
    bandit_arms *arms;
    bandit_options options;
} random_problem;

/* Kinds of trouble, or-ed together. */
enum {
    PROBLEM_DUPLICATES = 1, /* a third of the arms repeat others, some exactly, some moved by 1e-9 */
    PROBLEM_CONSTANT = 2,   /* one feature is constant */
    PROBLEM_GRID = 4,       /* features on a coarse grid: many equal distances */
    PROBLEM_PRECOMPUTED = 8
};

void random_problem_init(random_problem *problem, uint64_t seed, size_t n, size_t d, bandit_kernel_type type,
                         double lambda, unsigned trouble);
void random_problem_clear(random_problem *problem);

/* A number in [0, 1) that depends on the problem's seed and the two indices. */
double random_problem_uniform(const random_problem *problem, uint64_t a, uint64_t b);

/* Reward of pull number t of an arm: smooth in the features, with noise. */
double random_problem_reward(const random_problem *problem, uint32_t arm, uint64_t t);

/* k(a, b) by the textbook formula. */
double random_problem_kernel(const random_problem *problem, size_t a, size_t b);

#endif
