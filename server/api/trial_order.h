/* The order of a list of trials: ?sort= and ?order=. */
#ifndef SERVER_API_TRIAL_ORDER_H
#define SERVER_API_TRIAL_ORDER_H

#include "server/http/http.h"
#include "server/store/store.h"

typedef enum trial_sort { TRIALS_BY_ID, TRIALS_BY_VALUE, TRIALS_BY_TIME } trial_sort;

typedef struct trial_order {
    trial_sort sort;
    bool descending;
} trial_order;

/* Reads the query parameters. If they are not valid, it answers and returns false. */
bool trial_order_read(trial_order *out, http_request *request);

/* The ids of the trials that match the filter, in this order: those at `skip` and after it, at most `most`. Trials
 * without a value, or that are not told, come last in either order; equal ones are in the order of their ids. Reads
 * every trial that matches. *ids: to be freed. */
store_status trial_order_ids(int64_t **ids, size_t *n, store *s, int64_t study,
                             const store_trial_filter *filter, trial_order order, size_t skip, size_t most,
                             store_error *err);

#endif
