/* What operators watch: counters that the server's parts add to, any thread, without a lock; and their text
 * at GET /metrics, in Prometheus' format. Label values come from fixed lists (route patterns, states, event
 * types), never from requests. Whoever counts may have NULL for metrics: nobody watches. */
#ifndef SERVER_WATCH_METRICS_H
#define SERVER_WATCH_METRICS_H

#include "server/store/store.h"
#include "server/watch/event_streams.h"

struct app;
struct route;

typedef struct metrics metrics;

/* routes: what is served, closed by a path of NULL; borrowed until metrics_free. NULL: out of memory. */
metrics *metrics_new(const struct route *routes);
void metrics_free(metrics *m); /* NULL is fine */

/* http_service's `answered`. The route is one of metrics_new's. */
void metrics_count_request(struct app *a, const struct route *route, int status, double seconds);

/* A batch was planned: renewing the model, choosing. */
void metrics_count_batch(metrics *m, double update_seconds, double select_seconds);

/* An attempt's lease has run out. */
void metrics_count_expiry(metrics *m);

/* The store's observer; arg is the metrics. */
void metrics_count_commit(void *arg, const store_commit *commit);

/* Things there are now: adds n, which may be negative. */
typedef enum metrics_gauge { METRICS_LOADED_STUDIES, METRICS_ENGINE_BYTES, METRICS_GAUGES } metrics_gauge;
void metrics_add(metrics *m, metrics_gauge gauge, int64_t n);

/* All metrics, as text (the caller frees *out). Reads totals from the store. */
store_status metrics_encode(struct app *a, const events_statistics *streams, char **out, size_t *size);

#endif
