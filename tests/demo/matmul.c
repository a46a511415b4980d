/* The program that the demonstration tunes: a blocked matrix product, C = A B, of 512 x 512 doubles.
 *
 *   matmul ORDER BI BJ BK PACKED     ORDER: ijk, ikj, jik, jki, kij or kji; PACKED: 0 or 1
 *
 * Multiplies blocks of BI x BK and BK x BJ with the loops in the given order. With PACKED, it first copies
 * them into a scratch buffer, so that they are contiguous in the cache. Prints the speed in GFLOP/s of CPU
 * time. Fails if the blocks do not fit into the scratch buffer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 512, SCRATCH_BYTES = 640 * 1024, REPEATS = 2 };

static double a[N * N], b[N * N], c[N * N];
static double scratch[SCRATCH_BYTES / sizeof(double)];

typedef void product(int ni, int nj, int nk, const double *restrict a, int lda, const double *restrict b,
                     int ldb, double *restrict c);

#define LOOP(index) for (int index = 0; index < n##index; index++)
#define PRODUCT(first, second, third)                                                                        \
    static void product_##first##second##third(int ni, int nj, int nk, const double *restrict a, int lda,    \
                                               const double *restrict b, int ldb, double *restrict c)        \
    {                                                                                                        \
        LOOP(first)                                                                                          \
        LOOP(second)                                                                                         \
        LOOP(third)                                                                                          \
        c[i * N + j] += a[i * lda + k] * b[k * ldb + j];                                                     \
    }
PRODUCT(i, j, k)
PRODUCT(i, k, j)
PRODUCT(j, i, k)
PRODUCT(j, k, i)
PRODUCT(k, i, j)
PRODUCT(k, j, i)

static const struct {
    const char *name;
    product *run;
} orders[] = {{"ijk", product_ijk}, {"ikj", product_ikj}, {"jik", product_jik},
              {"jki", product_jki}, {"kij", product_kij}, {"kji", product_kji}};

static double *pack(double *to, const double *from, int rows, int columns)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + i * columns, from + i * N, (size_t)columns * sizeof *to);
    return to;
}

static int smaller(int x, int y)
{
    return x < y ? x : y;
}

static void multiply(product *run, int bi, int bj, int bk, int packed)
{
    memset(c, 0, sizeof c);
    for (int k = 0; k < N; k += bk) {
        int nk = smaller(bk, N - k);
        for (int j = 0; j < N; j += bj) {
            int nj = smaller(bj, N - j);
            const double *block_b = &b[k * N + j];
            if (packed)
                block_b = pack(scratch, block_b, nk, nj);
            for (int i = 0; i < N; i += bi) {
                int ni = smaller(bi, N - i);
                const double *block_a = &a[i * N + k];
                if (packed)
                    block_a = pack(scratch + nk * nj, block_a, ni, nk);
                run(ni, nj, nk, block_a, packed ? nk : N, block_b, packed ? nj : N, &c[i * N + j]);
            }
        }
    }
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Entries of A are i + k, and of B k − j, so each entry of C is a sum that is easy to check. */
static int is_right(void)
{
    for (int i = 0; i < N; i += 37) {
        for (int j = 0; j < N; j += 41) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += (double)(i + k) * (double)(k - j);
            if (c[i * N + j] != sum)
                return 0;
        }
    }
    return 1;
}

int main(int argc, char **argv)
{
    product *run = NULL;
    for (size_t o = 0; argc == 6 && o < sizeof orders / sizeof *orders; o++)
        if (strcmp(argv[1], orders[o].name) == 0)
            run = orders[o].run;
    if (!run) {
        fprintf(stderr, "usage: matmul ORDER BI BJ BK PACKED\n");
        return 2;
    }
    int bi = atoi(argv[2]), bj = atoi(argv[3]), bk = atoi(argv[4]), packed = atoi(argv[5]);
    if (bi < 1 || bj < 1 || bk < 1 || bi > N || bj > N || bk > N) {
        fprintf(stderr, "BI, BJ and BK must be from 1 to %d\n", N);
        return 2;
    }
    size_t needed = (size_t)(bi + bj) * (size_t)bk * sizeof(double);
    if (packed && needed > sizeof scratch) {
        fprintf(stderr, "the blocks need %zu KiB, the scratch buffer has %zu\n", needed / 1024,
                sizeof scratch / 1024);
        return 1;
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            a[i * N + j] = i + j;
            b[i * N + j] = i - j;
        }
    }
    double best = INFINITY; /* seconds; slow products are not repeated */
    for (int repeat = 0; repeat < REPEATS && !(repeat > 0 && best > 0.5); repeat++) {
        double begun = cpu_seconds();
        multiply(run, bi, bj, bk, packed);
        best = fmin(best, cpu_seconds() - begun);
    }
    if (!is_right()) {
        fprintf(stderr, "the product is wrong\n");
        return 1;
    }
    printf("%.4f\n", 2e-9 * N * N * N / best);
    return 0;
}
