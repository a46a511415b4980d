#include "bandit/insight.h"

#include "core/base/allocate.h"

#include <math.h>
#include <stdlib.h>

typedef struct ranked {
    double value;
    size_t at;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* ranks[i]: the rank of values[i], with the mean rank for equal values. `order` has n entries. */
static void find_ranks(const double *values, size_t n, ranked *order, double *ranks)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (ranked){.value = values[i], .at = i};
    qsort(order, n, sizeof *order, compare);
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && order[next].value <= order[first].value; next++)
            continue;
        for (size_t k = first; k < next; k++)
            ranks[order[k].at] = 0.5 * (double)(first + next - 1);
    }
}

bandit_status bandit_rank_correlation(const double *a, const double *b, size_t n, double *out,
                                      bandit_error *err)
{
    double *ranks = bandit_alloc(2 * n, sizeof *ranks), mean = 0.5 * ((double)n - 1.0);
    ranked *order = bandit_alloc(n, sizeof *order);
    double both = 0.0, first = 0.0, second = 0.0;
    *out = (double)NAN;
    if (!ranks || !order) {
        free(ranks);
        free(order);
        return bandit_fail(err, BANDIT_NO_MEMORY, "", "out of memory");
    }
    if (n > 1) {
        find_ranks(a, n, order, ranks);
        find_ranks(b, n, order, ranks + n);
    }
    for (size_t i = 0; n > 1 && i < n; i++) {
        double x = ranks[i] - mean, y = ranks[n + i] - mean;
        both += x * y;
        first += x * x;
        second += y * y;
    }
    if (first > 0.0 && second > 0.0)
        *out = both / sqrt(first * second);
    free(ranks);
    free(order);
    return BANDIT_OK;
}
