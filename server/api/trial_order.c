#include "server/api/trial_order.h"

#include "proto/arrays.h"
#include "server/data/candidate_rows.h"
#include "server/data/study_space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sort key -------------------------------------------------------------------------------------- */

/* A text with a colon is a prefix; a name follows it. */
static const struct {
    const char *text;
    trial_sort sort;
} sorts[] = {
    {"id", TRIALS_BY_ID},          {"value", TRIALS_BY_VALUE},          {"told_at", TRIALS_BY_TIME},
    {"metric:", TRIALS_BY_METRIC}, {"parameter:", TRIALS_BY_PARAMETER},
};

static bool read_sort(trial_order *out, const char *text)
{
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
        size_t n = strlen(sorts[i].text);
        bool named = sorts[i].text[n - 1] == ':';
        if (named ? strncmp(text, sorts[i].text, n) != 0 : strcmp(text, sorts[i].text) != 0)
            continue;
        out->sort = sorts[i].sort;
        out->name = named ? text + n : NULL;
        return true;
    }
    return false;
}

bool trial_order_read(trial_order *out, http_request *request)
{
    const char *sort = request->query[HTTP_QUERY_SORT];
    const char *order = request->query[HTTP_QUERY_ORDER];
    *out = (trial_order){.sort = TRIALS_BY_ID, .descending = order && strcmp(order, "desc") == 0};
    if (sort && !read_sort(out, sort))
        http_answer_problem(
            request, 422, NULL,
            "query parameter 'sort' must be 'id', 'value', 'told_at', 'metric:NAME' or 'parameter:NAME'");
    else if (order && !out->descending && strcmp(order, "asc") != 0)
        http_answer_problem(request, 422, NULL, "query parameter 'order' must be 'asc' or 'desc'");
    else
        return true;
    return false;
}

static bool find_metric(trial_order *order, const wire_study *definition)
{
    size_t i = wire_metric_named(definition, order->name);
    if (i < definition->n_metrics && &definition->metrics[i] == wire_objective(definition))
        order->sort = TRIALS_BY_VALUE;
    return i < definition->n_metrics;
}

static bool find_parameter(trial_order *order, const wire_study *definition)
{
    order->column = candidate_input(definition, order->name);
    return order->column != SIZE_MAX;
}

bool trial_order_resolve(trial_order *order, const wire_study *definition, http_request *request)
{
    if (!order->name)
        return true;
    bool metric = order->sort == TRIALS_BY_METRIC;
    if (metric ? find_metric(order, definition) : find_parameter(order, definition))
        return true;
    http_answer_problem(request, 422, NULL, "query parameter 'sort': the study has no %s '%s'",
                        metric ? "metric" : "parameter", order->name);
    return false;
}

bool trial_order_is_stored(const trial_order *order)
{
    return order->sort == TRIALS_BY_ID && !order->descending;
}

/* ---- sorting ------------------------------------------------------------------------------------------- */

typedef struct sort_key {
    double by; /* NaN: the trial has no such value */
    int64_t trial, candidate;
} sort_key;

typedef struct collection {
    const trial_source *from;
    const trial_order *order;
    sort_key *keys;
    size_t n, capacity;
    bool no_memory;
} collection;

static double key_of(const store_trial *row, const collection *c)
{
    switch (c->order->sort) {
    case TRIALS_BY_ID:
        return (double)row->trial;
    case TRIALS_BY_VALUE:
        return trial_metric_value(row, NULL, true);
    case TRIALS_BY_TIME:
        return row->told_at ? (double)row->told_at : NAN;
    case TRIALS_BY_METRIC:
        return trial_metric_value(row, c->order->name, false);
    case TRIALS_BY_PARAMETER:
        break; /* read later for all trials together */
    }
    return NAN;
}

static void collect(void *arg, const store_trial *row)
{
    collection *c = arg;
    if (!trial_ranges_have_values(c->from->ranges, row))
        return;
    if (!wire_grow(&c->keys, &c->capacity, c->n + 1, 256, sizeof *c->keys)) {
        c->no_memory = true;
        return;
    }
    c->keys[c->n++] = (sort_key){.by = key_of(row, c), .trial = row->trial, .candidate = row->candidate};
}

/* Reads the trials' points, some at a time. Leaves out trials outside the ranges. If the list is sorted by a
 * coordinate, sets the keys to it. */
static store_status take_points(collection *c, store_error *err)
{
    enum { AT_ONCE = 1024, NUMBERS = 1 << 18 };
    const trial_source *from = c->from;
    int64_t candidates[AT_ONCE];
    size_t at_once = from->width <= NUMBERS / AT_ONCE ? AT_ONCE : NUMBERS / from->width + 1;
    double *points = malloc(at_once * from->width * sizeof *points);
    store_status status = points ? STORE_OK : STORE_NO_MEMORY;
    size_t kept = 0;
    for (size_t done = 0; done < c->n && status == STORE_OK; done += at_once) {
        size_t n = c->n - done < at_once ? c->n - done : at_once;
        for (size_t i = 0; i < n; i++)
            candidates[i] = c->keys[done + i].candidate;
        status = candidate_rows_at(points, from->store, from->study, from->definition, from->width,
                                   candidates, n, err);
        for (size_t i = 0; i < n && status == STORE_OK; i++) {
            const double *point = points + i * from->width;
            sort_key key = c->keys[done + i];
            if (c->order->sort == TRIALS_BY_PARAMETER)
                key.by = point[c->order->column];
            if (trial_ranges_have_point(from->ranges, point))
                c->keys[kept++] = key;
        }
    }
    c->n = kept;
    free(points);
    return status;
}

static int compare(const void *left, const void *right)
{
    const sort_key *a = left, *b = right;
    if (isnan(a->by) != isnan(b->by))
        return isnan(a->by) ? 1 : -1;
    if (a->by < b->by || a->by > b->by)
        return a->by < b->by ? -1 : 1;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

static void sort_keys(collection *c)
{
    for (size_t i = 0; i < c->n && c->order->descending; i++)
        c->keys[i].by = -c->keys[i].by;
    if (c->n > 0)
        qsort(c->keys, c->n, sizeof *c->keys, compare);
}

store_status trial_order_ids(int64_t **ids, size_t *n, const trial_source *from, const trial_order *order,
                             size_t skip, size_t most, store_error *err)
{
    collection c = {.from = from, .order = order};
    *ids = NULL;
    *n = 0;
    store_status status =
        store_read_trials(from->store, from->study, from->filter, SIZE_MAX, collect, &c, err);
    if (status == STORE_OK && c.no_memory)
        status = STORE_NO_MEMORY;
    if (status == STORE_OK && (order->sort == TRIALS_BY_PARAMETER || from->ranges->of_points) && c.n > 0)
        status = take_points(&c, err);
    if (status == STORE_OK && c.n > skip) {
        sort_keys(&c);
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
