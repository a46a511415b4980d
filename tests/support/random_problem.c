#include "tests/support/random_problem.h"

#include "core/arms/arms_storage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* splitmix64: the tests' own numbers, not the engine's. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

double random_problem_uniform(const random_problem *problem, uint64_t a, uint64_t b)
{
    return (double)(mix(mix(mix(problem->seed) ^ a) ^ b) >> 11) * 0x1p-53;
}

static void must(bandit_status status, const bandit_error *err)
{
    if (status != BANDIT_OK) {
        fprintf(stderr, "random_problem: %s: %s\n", bandit_status_text(status), err->message);
        abort();
    }
}

static void fill_rows(random_problem *p, unsigned trouble)
{
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < p->d; j++) {
            double x = random_problem_uniform(p, i, j);
            if (trouble & PROBLEM_GRID)
                x = floor(x * 4.0) / 4.0;
            if ((trouble & PROBLEM_CONSTANT) && j == 0)
                x = 3.25;
            p->rows[i * p->d + j] = x;
        }
    }
    if (!(trouble & PROBLEM_DUPLICATES))
        return;
    for (size_t i = p->n / 3 * 2; i < p->n; i++) {
        size_t of = (size_t)(random_problem_uniform(p, i, 1000) * (double)(p->n / 3 * 2));
        for (size_t j = 0; j < p->d; j++)
            p->rows[i * p->d + j] = p->rows[of * p->d + j];
        if (i % 3 == 0)
            p->rows[i * p->d] += 1e-9;
    }
}

void random_problem_init(random_problem *p, uint64_t seed, size_t n, size_t d, bandit_kernel_type type,
                         double lambda, unsigned trouble)
{
    static const double nus[] = {0.5, 1.5, 2.5};
    bandit_error err;
    *p = (random_problem){.seed = seed, .n = n, .d = d, .options = BANDIT_OPTIONS_INIT};
    p->rows = malloc(n * d * sizeof *p->rows);
    p->lengthscales = malloc(d * sizeof *p->lengthscales);
    if (!p->rows || !p->lengthscales)
        abort();
    fill_rows(p, trouble);

    bool ard = seed % 2 == 1;
    for (size_t j = 0; j < d; j++)
        p->lengthscales[j] = (0.3 + 2.0 * random_problem_uniform(p, 5000, ard ? j : 0));
    p->options.kernel = (bandit_kernel){.type = type, .nu = nus[seed % 3], .lengthscales = p->lengthscales};
    p->options.kernel.n_lengthscales = type == BANDIT_KERNEL_LINEAR ? 0 : ard ? d : 1;
    p->options.lambda = lambda;
    p->options.noise_std = 0.1;
    p->options.seed = seed;
    must(bandit_arms_new(&p->arms, n, d, &err), &err);
    must(bandit_arms_set_rows(p->arms, 0, n, p->rows, &err), &err);
    must(bandit_arms_finish(p->arms, seed % 4 ? BANDIT_SCALING_STANDARDIZE : BANDIT_SCALING_NONE, n, &err),
         &err);
    if (!(trouble & PROBLEM_PRECOMPUTED))
        return;

    double *matrix = malloc(n * n * sizeof *matrix);
    bandit_arms *precomputed = NULL;
    if (!matrix)
        abort();
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            matrix[i * n + j] = random_problem_kernel(p, i, j);
    }
    must(bandit_arms_new_precomputed(&precomputed, n, &err), &err);
    must(bandit_arms_set_rows(precomputed, 0, n, matrix, &err), &err);
    must(bandit_arms_finish(precomputed, BANDIT_SCALING_NONE, n, &err), &err);
    free(matrix);
    bandit_arms_free(p->arms);
    p->arms = precomputed;
    p->options.kernel = (bandit_kernel){.type = BANDIT_KERNEL_PRECOMPUTED};
}

void random_problem_clear(random_problem *p)
{
    bandit_arms_free(p->arms);
    free(p->rows);
    free(p->lengthscales);
}

double random_problem_reward(const random_problem *p, uint32_t arm, uint64_t t)
{
    double f = 0.0;
    for (size_t j = 0; j < p->d; j++)
        f += sin(3.0 * p->rows[arm * p->d + j] + (double)j) / (double)p->d;
    return f + 0.2 * (random_problem_uniform(p, 7000, t) - 0.5);
}

double random_problem_kernel(const random_problem *p, size_t a, size_t b)
{
    const bandit_kernel *kernel = &p->options.kernel;
    if (kernel->type == BANDIT_KERNEL_PRECOMPUTED)
        return p->arms->matrix[a * p->n + b];
    double r2 = 0.0, dot = 0.0;
    for (size_t j = 0; j < p->d; j++) {
        double x = bandit_arms_feature(p->arms, a, j), y = bandit_arms_feature(p->arms, b, j);
        double l = kernel->n_lengthscales ? kernel->lengthscales[kernel->n_lengthscales == 1 ? 0 : j] : 1.0;
        r2 += (x - y) * (x - y) / (l * l);
        dot += x * y;
    }
    double r = sqrt(r2);
    if (kernel->type == BANDIT_KERNEL_LINEAR)
        return dot;
    if (kernel->type == BANDIT_KERNEL_GAUSSIAN)
        return exp(-r2 / 2.0);
    if (kernel->nu == 0.5)
        return exp(-r);
    if (kernel->nu == 1.5)
        return (1.0 + sqrt(3.0) * r) * exp(-sqrt(3.0) * r);
    return (1.0 + sqrt(5.0) * r + 5.0 * r2 / 3.0) * exp(-sqrt(5.0) * r);
}
