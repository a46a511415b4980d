#include "server/api/trial_order.h"

#include "proto/arrays.h"

#include <stdlib.h>
#include <string.h>

bool trial_order_read(trial_order *out, http_request *request)
{
    static const char *const names[] = {
        [TRIALS_BY_ID] = "id", [TRIALS_BY_VALUE] = "value", [TRIALS_BY_TIME] = "told_at"};
    const char *sort = request->query[HTTP_QUERY_SORT];
    const char *order = request->query[HTTP_QUERY_ORDER];
    bool known = !sort;
    *out = (trial_order){.sort = TRIALS_BY_ID, .descending = order && strcmp(order, "desc") == 0};
    for (size_t i = 0; sort && i < sizeof names / sizeof *names; i++)
        if (strcmp(sort, names[i]) == 0) {
            out->sort = (trial_sort)i;
            known = true;
        }
    if (!known)
        http_answer_problem(request, 422, NULL, "query parameter 'sort' must be 'id', 'value' or 'told_at'");
    else if (order && !out->descending && strcmp(order, "asc") != 0)
        http_answer_problem(request, 422, NULL, "query parameter 'order' must be 'asc' or 'desc'");
    else
        return true;
    return false;
}

typedef struct sort_key {
    bool last; /* it has nothing to be sorted by */
    double by; /* negative if the order is descending */
    int64_t trial;
} sort_key;

typedef struct collection {
    trial_order order;
    sort_key *keys;
    size_t n, capacity;
    bool no_memory;
} collection;

static sort_key key_of(const store_trial *row, trial_order order)
{
    double by = 0;
    bool last = false;
    switch (order.sort) {
    case TRIALS_BY_ID:
        by = (double)row->trial;
        break;
    case TRIALS_BY_VALUE:
        last = !row->has_value;
        by = row->has_value ? row->value : 0;
        break;
    case TRIALS_BY_TIME:
        last = row->told_at == 0;
        by = (double)row->told_at;
        break;
    }
    return (sort_key){.last = last, .by = order.descending ? -by : by, .trial = row->trial};
}

static void collect(void *arg, const store_trial *row)
{
    collection *c = arg;
    if (!wire_grow(&c->keys, &c->capacity, c->n + 1, 256, sizeof *c->keys)) {
        c->no_memory = true;
        return;
    }
    c->keys[c->n++] = key_of(row, c->order);
}

static int compare(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;
    if (a->last != b->last)
        return a->last ? 1 : -1;
    if (a->by < b->by || a->by > b->by)
        return a->by < b->by ? -1 : 1;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

store_status trial_order_ids(int64_t **ids, size_t *n, store *s, int64_t study,
                             const store_trial_filter *filter, trial_order order, size_t skip, size_t most,
                             store_error *err)
{
    collection c = {.order = order};
    *ids = NULL;
    *n = 0;
    store_status status = store_read_trials(s, study, filter, SIZE_MAX, collect, &c, err);
    if (status == STORE_OK && c.no_memory)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK && c.n > skip) {
        qsort(c.keys, c.n, sizeof *c.keys, compare);
        *n = c.n - skip < most ? c.n - skip : most;
        *ids = malloc(*n * sizeof **ids);
        if (!*ids)
            status = STORE_NO_MEMORY;
        for (size_t i = 0; *ids && i < *n; i++)
            (*ids)[i] = c.keys[skip + i].trial;
    }
    free(c.keys);
    return status;
}
