#include "tests/bench/rates.h"

#include "core/arms/covariance.h"

#include <cblas.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_cpu_seconds(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_wall_seconds(void)
{
    return seconds(CLOCK_MONOTONIC);
}

static void *allocate(size_t doubles)
{
    double *p = aligned_alloc(64, (doubles * sizeof *p + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "rates: no memory\n");
        exit(1);
    }
    for (size_t i = 0; i < doubles; i++)
        p[i] = (double)(i % 97) / 97.0;
    return p;
}

double bench_dgemm_rate(void)
{
    enum { N = 768, ROUNDS = 12 };
    double *a = allocate(N * N), *b = allocate(N * N), *c = allocate(N * N), best = INFINITY;

    for (int i = 0; i < ROUNDS; i++) {
        double start = bench_cpu_seconds();
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1.0, a, N, b, N, 0.0, c, N);
        best = fmin(best, bench_cpu_seconds() - start);
    }
    free(a);
    free(b);
    free(c);
    return 2.0 * N * N * N / best;
}

double bench_kernel_entry(const bandit_arms *arms, const bandit_kernel *kernel)
{
    enum { COLUMNS = 256, TILES = 64, ROUNDS = 40 };
    bandit_covariance covariance;
    bandit_points points = {0};
    bandit_error err;
    uint32_t columns[COLUMNS];
    size_t n = bandit_arms_count(arms), tiles = n / BANDIT_TILE < TILES ? n / BANDIT_TILE : TILES;
    double best = INFINITY;

    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = (uint32_t)(i * (n / COLUMNS));
    if (n < COLUMNS || bandit_covariance_init(&covariance, kernel, arms, &err) != BANDIT_OK ||
        bandit_points_set(&points, &covariance, columns, COLUMNS, &err) != BANDIT_OK) {
        fprintf(stderr, "rates: no kernel entries to measure\n");
        exit(1);
    }
    double *block = allocate(COLUMNS * BANDIT_TILE),
           *scratch = allocate(bandit_covariance_scratch(&covariance));
    for (int i = 0; i < ROUNDS; i++) {
        double start = bench_cpu_seconds();
        for (size_t t = 0; t < tiles; t++)
            bandit_covariance_tile(&covariance, t, &points, 0, COLUMNS, block, BANDIT_TILE, scratch);
        best = fmin(best, bench_cpu_seconds() - start);
    }
    free(block);
    free(scratch);
    bandit_points_clear(&points);
    bandit_covariance_clear(&covariance);
    return best / (double)(tiles * BANDIT_TILE * COLUMNS);
}

static size_t status_kilobytes(const char *field)
{
    char line[256];
    size_t kilobytes = 0;
    FILE *in = fopen("/proc/self/status", "r");

    while (in && fgets(line, sizeof line, in)) {
        if (strncmp(line, field, strlen(field)) == 0)
            kilobytes = strtoul(line + strlen(field) + 1, NULL, 10);
    }
    if (in)
        fclose(in);
    return kilobytes * 1024;
}

size_t bench_memory_now(void)
{
    return status_kilobytes("VmRSS");
}

void bench_memory_mark(void)
{
    malloc_trim(0); /* freed memory that is still resident would hide the first of what comes */
    FILE *out = fopen("/proc/self/clear_refs", "w"); /* 5: the high-water mark starts again from here */
    if (!out || fputs("5", out) < 0 || fclose(out) != 0)
        fprintf(stderr, "rates: the memory's high-water mark includes what came before\n");
}

size_t bench_memory_peak(void)
{
    return status_kilobytes("VmHWM");
}
