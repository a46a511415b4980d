/* The total cost of a study's results up to a given trial or imported result. */
#ifndef SERVER_DATA_RUNNING_COSTS_H
#define SERVER_DATA_RUNNING_COSTS_H

#include "server/store/store.h"

typedef struct running_cost {
    int64_t number; /* of a trial, or of an imported result */
    double sum;     /* of the costs up to it */
} running_cost;

typedef struct running_costs {
    struct running_cost_list {
        running_cost *list; /* those with a cost, by ascending number */
        size_t n, capacity;
    } trials, imported; /* late results count with their trials */
    bool failed;
} running_costs;

/* Reads the costs, including those of failed trials. STORE_NO_MEMORY, or the store's failure. Clear *out in any
 * case. */
store_status running_costs_read(running_costs *out, store *s, int64_t study);
void running_costs_clear(running_costs *costs);

/* The costs of the trials up to number `trial` and of the imported results up to number `observation`. */
double running_costs_at(const running_costs *costs, int64_t trial, int64_t observation);

#endif
