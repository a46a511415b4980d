#include "server/base/ranking.h"

#include <math.h>
#include <stdlib.h>

/* Negative: a comes before b. */
static int order_of(const double *keys, uint32_t a, uint32_t b)
{
    int by_nan = isnan(keys[a]) - isnan(keys[b]);
    int by_key = (keys[b] > keys[a]) - (keys[a] > keys[b]);
    int by_index = (a > b) - (a < b);
    return by_nan ? by_nan : by_key ? by_key : by_index;
}

static int compare(const void *left, const void *right, void *keys)
{
    return order_of(keys, *(const uint32_t *)left, *(const uint32_t *)right);
}

/* A heap of n indices with the last in order at its root. Moves the root down to its place. */
static void sift_down(uint32_t *heap, size_t n, const double *keys)
{
    uint32_t moved = heap[0];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && order_of(keys, heap[child + 1], heap[child]) > 0)
            child++;
        if (order_of(keys, heap[child], moved) < 0)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

uint32_t *ranking_of(const double *keys, size_t n, size_t top)
{
    uint32_t *order = malloc((top ? top : 1) * sizeof *order);
    if (!order)
        return NULL;
    for (size_t i = 0; i < top; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, top, sizeof *order, compare, (void *)keys);
    if (top == 0 || top == n)
        return order;
    for (size_t i = 0, j = top - 1; i < j; i++, j--) { /* in reverse order, it is a heap */
        uint32_t first = order[i];
        order[i] = order[j];
        order[j] = first;
    }
    for (size_t i = top; i < n; i++) {
        if (order_of(keys, (uint32_t)i, order[0]) < 0) {
            order[0] = (uint32_t)i;
            sift_down(order, top, keys);
        }
    }
    qsort_r(order, top, sizeof *order, compare, (void *)keys);
    return order;
}
