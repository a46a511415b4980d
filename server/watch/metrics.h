/* Metrics: counters that the parts of the server add to, from any thread and without a lock, and their text
 * for GET /metrics in the Prometheus format. Label values come from fixed lists (route patterns, states,
 * event types), never from requests. In functions that take `metrics *m`, NULL counts nothing. */
#ifndef SERVER_WATCH_METRICS_H
#define SERVER_WATCH_METRICS_H

#include "server/store/store.h"
#include "server/watch/event_streams.h"

struct app;
struct route;

typedef struct metrics metrics;

/* routes: the served routes, closed by a path of NULL; borrowed until metrics_free. NULL: out of memory. */
metrics *metrics_new(const struct route *routes);
void metrics_free(metrics *m); /* NULL is fine */

/* The `answered` callback of http_service. The route is one of those given to metrics_new, or NULL. */
void metrics_count_request(struct app *a, const struct route *route, int status, double seconds);

/* A batch was planned: seconds for updating the model and for selecting the trials. */
void metrics_count_batch(metrics *m, double update_seconds, double select_seconds);

/* The lease of an attempt has expired. */
void metrics_count_expiry(metrics *m);

/* The store's observer; arg is the metrics. */
void metrics_count_commit(void *arg, const store_commit *commit);

/* Current amounts: adds n, which may be negative. */
typedef enum metrics_gauge {
    METRICS_LOADED_STUDIES,
    METRICS_ENGINE_BYTES,
    METRICS_TRIAL_BYTES,
    METRICS_GAUGES
} metrics_gauge;
void metrics_add(metrics *m, metrics_gauge gauge, int64_t n);

/* All metrics, as text (the caller frees *out). Reads totals from the store. */
store_status metrics_encode(struct app *a, const events_statistics *streams, char **out, size_t *size);

#endif
