/* The order of a list of trials: ?sort= and ?order=. */
#ifndef SERVER_API_TRIAL_ORDER_H
#define SERVER_API_TRIAL_ORDER_H

#include "proto/wire.h"
#include "server/api/trial_ranges.h"
#include "server/http/http.h"
#include "server/store/store.h"

typedef enum trial_sort {
    TRIALS_BY_ID,
    TRIALS_BY_VALUE,
    TRIALS_BY_TIME,
    TRIALS_BY_METRIC,   /* a recorded metric */
    TRIALS_BY_PARAMETER /* or a feature */
} trial_sort;

typedef struct trial_order {
    trial_sort sort;
    bool descending;
    const char *name; /* of the metric or parameter, as given; borrowed from the request */
    size_t column;    /* of the parameter in a point */
} trial_order;

/* Reads the query parameters. If they are not valid, it answers and returns false. */
bool trial_order_read(trial_order *out, http_request *request);

/* Finds the metric or parameter in the study's definition. If there is none, it answers and returns false. */
bool trial_order_resolve(trial_order *order, const wire_study *definition, http_request *request);

/* Ascending ids, the order in which the store has trials? */
bool trial_order_is_stored(const trial_order *order);

/* Which trials are sorted. */
typedef struct trial_source {
    store *store;
    int64_t study;
    const wire_study *definition;
    size_t width; /* numbers per point; 0: the domain is a kernel matrix */
    const store_trial_filter *filter;
    const trial_ranges *ranges;
} trial_source;

/* Lists the ids of the source's trials that are in its ranges, in this order, from position `skip` on, at most `most`.
 * Trials without the value that they are sorted by come last in either direction; equal ones are in the order of their
 * ids. Reads every trial of the source. The caller frees *ids. */
store_status trial_order_ids(int64_t **ids, size_t *n, const trial_source *from, const trial_order *order,
                             size_t skip, size_t most, store_error *err);

#endif
