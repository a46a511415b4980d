/* An executor of threads for the benchmark: the calling thread is worker 0. */
#ifndef TESTS_BENCH_POOL_H
#define TESTS_BENCH_POOL_H

#include "bandit/executor.h"

typedef struct bench_pool bench_pool;

/* `workers` threads in all, at least 1. Exits the program when a thread cannot be made. */
bench_pool *bench_pool_new(size_t workers);
bandit_executor bench_pool_executor(bench_pool *pool);
/* CPU seconds of all workers in parts so far: what could run at the same time. */
double bench_pool_parallel_seconds(bench_pool *pool);
void bench_pool_free(bench_pool *pool);

#endif
