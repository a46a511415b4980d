#include "server/data/estimated_arms.h"

#include "bandit/sorted.h"
#include "proto/arrays.h"

#include <stdlib.h>

static void take_estimate(void *arg, const store_late_result *row)
{
    estimated_arms *e = arg;
    if (row->attempt != ESTIMATED_ATTEMPT)
        return;
    e->no_memory |= !wire_grow(&e->list, &e->capacity, e->n + 1, 64, sizeof *e->list);
    if (!e->no_memory)
        e->list[e->n++] = (uint32_t)row->candidate;
}

static int compare_arms(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

store_status estimated_arms_read(estimated_arms *out, store *s, int64_t study, int64_t through_seq)
{
    store_error error = {0};
    store_status status = store_read_late_results(s, study, 0, 0, through_seq, take_estimate, out, &error);
    if (out->n > 0)
        qsort(out->list, out->n, sizeof *out->list, compare_arms);
    return status == STORE_OK && out->no_memory ? STORE_NO_MEMORY : status;
}

void estimated_arms_clear(estimated_arms *e)
{
    free(e->list);
    *e = (estimated_arms){0};
}

bool estimated_arms_only(const estimated_arms *e, uint32_t arm, uint64_t count)
{
    size_t first, end;
    BANDIT_LOWER_BOUND(first, e->n, i, e->list[i] < arm);
    for (end = first; end < e->n && e->list[end] == arm;)
        end++;
    return end > first && end - first == count;
}
