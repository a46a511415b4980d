/* A blocked product of two 160 x 160 matrices, for the benchmark's table of measured times. */
#include <string.h>
#include <time.h>

enum { N = 160 };

static double a[N * N], b[N * N], c[N * N], left[N * N], right[N * N];

static int smaller(int x, int y)
{
    return x < y ? x : y;
}

#define LOOP(index) for (int index = 0; index < n##index; index++)
#define CASE(number, first, second, third)                                                                   \
    case number:                                                                                             \
        LOOP(first)                                                                                          \
        LOOP(second)                                                                                         \
        LOOP(third)                                                                                          \
        to[i * N + j] += x[i * ldx + k] * y[k * ldy + j];                                                    \
        break;

/* One block, with its loops in the order of that number. */
static void block(int order, int ni, int nj, int nk, const double *x, int ldx, const double *y, int ldy,
                  double *to)
{
    switch (order) {
        CASE(0, i, j, k)
        CASE(1, i, k, j)
        CASE(2, j, i, k)
        CASE(3, j, k, i)
        CASE(4, k, i, j)
        CASE(5, k, j, i)
    }
}

static const double *pack(double *to, const double *from, int rows, int columns)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + i * columns, from + i * N, (size_t)columns * sizeof *to);
    return to;
}

/* CPU seconds of one product. */
double seconds_of_product(int order, int bi, int bj, int bk, int packed)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    memset(c, 0, sizeof c);
    for (int k = 0; k < N; k += bk) {
        for (int j = 0; j < N; j += bj) {
            int nk = smaller(bk, N - k), nj = smaller(bj, N - j);
            const double *y = packed ? pack(right, b + k * N + j, nk, nj) : b + k * N + j;
            for (int i = 0; i < N; i += bi) {
                int ni = smaller(bi, N - i);
                const double *x = packed ? pack(left, a + i * N + k, ni, nk) : a + i * N + k;
                block(order, ni, nj, nk, x, packed ? nk : N, y, packed ? nj : N, c + i * N + j);
            }
        }
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}
