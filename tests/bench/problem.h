/* The benchmark's bandit problems: arms, their mean rewards, noise. */
#ifndef TESTS_BENCH_PROBLEM_H
#define TESTS_BENCH_PROBLEM_H

#include "bandit/arms.h"

#include <stddef.h>
#include <stdint.h>

typedef struct bench_problem {
    bandit_arms *arms;
    size_t n, dimension;
    double *rewards; /* n: means, scaled to [0, 1] */
    double best, average;
} bench_problem;

/* A CSV with a header line, numbers only, target last; features are standardized. */
bench_problem bench_problem_read(const char *path);

/* n arms with standard normal features and a smooth target. */
bench_problem bench_problem_synthetic(size_t n, size_t dimension);

void bench_problem_clear(bench_problem *problem);

/* Standard normal number `index` of the benchmark's stream; yardstick.py draws the same. */
double bench_normal(uint64_t index);

#endif
