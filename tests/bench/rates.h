/* What this machine can do, measured in the run that is judged by it, and what has been used of it. */
#ifndef TESTS_BENCH_RATES_H
#define TESTS_BENCH_RATES_H

#include "bandit/arms.h"
#include "bandit/kernel.h"

#include <stddef.h>

double bench_cpu_seconds(void);  /* of the whole process */
double bench_wall_seconds(void); /* monotonic */

/* Floating point operations a CPU second of dgemm, 768 x 768, one thread: the best of several rounds. */
double bench_dgemm_rate(void);

/* CPU seconds per kernel entry, the arms against 256 of themselves: the best of several rounds. */
double bench_kernel_entry(const bandit_arms *arms, const bandit_kernel *kernel);

/* Bytes of resident memory: now, and at most since bench_memory_mark. */
size_t bench_memory_now(void);
void bench_memory_mark(void);
size_t bench_memory_peak(void);

#endif
