#include "tests/bench/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    exit(1);
}

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) of a counter, on (0, 1). */
static double uniform(uint64_t counter)
{
    uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

double bench_normal(uint64_t index)
{
    const double two_pi = 6.283185307179586476925;
    return sqrt(-2.0 * log(uniform(2 * index))) * cos(two_pi * uniform(2 * index + 1));
}

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p)
        fail("problem", "no memory");
    return p;
}

static void set_row(bench_problem *p, size_t i, const double *row)
{
    bandit_error err;
    if (bandit_arms_set_rows(p->arms, i, 1, row, &err) != BANDIT_OK)
        fail("arms", err.message);
}

static void new_arms(bench_problem *p)
{
    bandit_error err;
    if (bandit_arms_new(&p->arms, p->n, p->dimension, &err) != BANDIT_OK)
        fail("arms", err.message);
    p->rewards = allocate(p->n, sizeof *p->rewards);
}

/* Scales the rewards to [0, 1] and the features as asked. */
static void finish(bench_problem *p, bandit_scaling scaling)
{
    bandit_error err;
    double smallest = INFINITY, largest = -INFINITY;

    if (bandit_arms_finish(p->arms, scaling, p->n, &err) != BANDIT_OK)
        fail("arms", err.message);
    for (size_t i = 0; i < p->n; i++) {
        smallest = fmin(smallest, p->rewards[i]);
        largest = fmax(largest, p->rewards[i]);
    }
    p->average = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        p->rewards[i] = (p->rewards[i] - smallest) / (largest - smallest);
        p->average += p->rewards[i] / (double)p->n;
    }
    p->best = 1.0;
}

bench_problem bench_problem_read(const char *path)
{
    bench_problem p = {0};
    char line[4096];
    FILE *in = fopen(path, "r");

    if (!in || !fgets(line, sizeof line, in))
        fail(path, "cannot read its header");
    for (const char *c = line; *c; c++)
        p.dimension += *c == ',';
    while (fgets(line, sizeof line, in))
        p.n++;
    new_arms(&p);

    rewind(in);
    if (!fgets(line, sizeof line, in))
        fail(path, "cannot read it again");
    double *row = allocate(p.dimension + 1, sizeof *row);
    for (size_t i = 0; i < p.n; i++) {
        if (!fgets(line, sizeof line, in))
            fail(path, "shorter than before");
        char *cell = line;
        for (size_t j = 0; j <= p.dimension; j++) {
            char *end;
            row[j] = strtod(cell, &end);
            if (end == cell || (*end != ',' && *end != '\n' && *end != '\r' && *end != '\0'))
                fail(path, line);
            cell = end + (*end != '\0');
        }
        set_row(&p, i, row);
        p.rewards[i] = row[p.dimension];
    }
    free(row);
    fclose(in);
    finish(&p, BANDIT_SCALING_STANDARDIZE);
    return p;
}

bench_problem bench_problem_synthetic(size_t n, size_t dimension)
{
    bench_problem p = {.n = n, .dimension = dimension};
    uint64_t first = (uint64_t)1 << 40; /* beyond the noise */
    double *row = allocate(dimension, sizeof *row);

    new_arms(&p);
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < dimension; j++) {
            row[j] = bench_normal(first + i * dimension + j);
            sum += sin(row[j] + (double)j) / sqrt((double)dimension);
        }
        set_row(&p, i, row);
        p.rewards[i] = sum;
    }
    free(row);
    finish(&p, BANDIT_SCALING_NONE);
    return p;
}

void bench_problem_clear(bench_problem *p)
{
    bandit_arms_free(p->arms);
    free(p->rewards);
}
