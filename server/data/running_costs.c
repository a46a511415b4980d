#include "server/data/running_costs.h"

#include "proto/arrays.h"

#include <stdlib.h>

static void add(running_costs *costs, struct running_cost_list *to, int64_t number, double cost)
{
    if (cost <= 0.0)
        return;
    costs->failed |= !wire_grow(&to->list, &to->capacity, to->n + 1, 64, sizeof *to->list);
    if (!costs->failed)
        to->list[to->n++] = (running_cost){.number = number, .sum = cost};
}

static void take_trial(void *arg, const store_trial *row)
{
    running_costs *costs = arg;
    add(costs, &costs->trials, row->trial, row->cost);
}

static void take_late(void *arg, const store_late_result *row)
{
    running_costs *costs = arg;
    add(costs, &costs->trials, row->trial, row->cost);
}

static void take_imported(void *arg, const store_imported *row)
{
    running_costs *costs = arg;
    add(costs, &costs->imported, row->observation, row->cost);
}

static int compare(const void *a, const void *b)
{
    const running_cost *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static void sum_up(struct running_cost_list *of)
{
    if (of->n > 0)
        qsort(of->list, of->n, sizeof *of->list, compare);
    for (size_t i = 1; i < of->n; i++)
        of->list[i].sum += of->list[i - 1].sum;
}

store_status running_costs_read(running_costs *out, store *s, int64_t study)
{
    store_error error = {0};
    store_trial_filter all = {0};
    *out = (running_costs){0};
    store_status status = store_read_trials(s, study, &all, SIZE_MAX, take_trial, out, &error);
    if (status == STORE_OK)
        status = store_read_late_results(s, study, 0, 0, INT64_MAX, take_late, out, &error);
    if (status == STORE_OK)
        status = store_read_observations(s, study, 0, INT64_MAX, take_imported, out, &error);
    sum_up(&out->trials);
    sum_up(&out->imported);
    return status == STORE_OK && out->failed ? STORE_NO_MEMORY : status;
}

void running_costs_clear(running_costs *costs)
{
    free(costs->trials.list);
    free(costs->imported.list);
    *costs = (running_costs){0};
}

static double sum_at(const struct running_cost_list *of, int64_t number)
{
    size_t after;
    BANDIT_LOWER_BOUND(after, of->n, k, of->list[k].number <= number);
    return after > 0 ? of->list[after - 1].sum : 0.0;
}

double running_costs_at(const running_costs *costs, int64_t trial, int64_t observation)
{
    return sum_at(&costs->trials, trial) + sum_at(&costs->imported, observation);
}
