#include "server/watch/metrics.h"

#include "server/app.h"
#include "server/base/log.h"
#include "server/base/process.h"
#include "server/http/route.h"
#include "server/notify/notify.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- counters ------------------------------------------------------------------------------------------ */

enum { BOUNDS_MAXIMUM = 16 };

/* The number of values up to each bound and beyond the last one, and the sum of the values in units of 1e-9. */
typedef struct histogram {
    const double *bounds; /* ends with 0 */
    atomic_uint_fast64_t counts[BOUNDS_MAXIMUM + 1];
    atomic_uint_fast64_t sum;
} histogram;

static const double request_bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                        0.25,  0.5,    1,     2.5,  5,     10,   0};
static const double planning_bounds[] = {0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 0};
static const double commit_bounds[] = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                       0.1,    0.25,  0.5,    1,     2.5,  0};
static const double group_bounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0};

/* The requests of one route. */
typedef struct route_counts {
    atomic_uint_fast64_t answers[HTTP_STATUSES + 1]; /* the last entry: all other statuses */
    histogram seconds;
} route_counts;

struct metrics {
    const route *table;
    size_t n_routes;
    histogram update_seconds, select_seconds, commit_seconds, commit_writes;
    atomic_uint_fast64_t expired, failed_writes;
    atomic_uint_fast64_t events[STORE_EVENT_TYPES];
    atomic_int_fast64_t gauges[METRICS_GAUGES];
    route_counts routes[]; /* n_routes + 1; the last counts requests without a route */
};

static void add(histogram *h, double value)
{
    size_t i = 0;
    while (h->bounds[i] > 0 && value > h->bounds[i])
        i++;
    atomic_fetch_add_explicit(&h->counts[i], 1, memory_order_relaxed);
    if (value > 0)
        atomic_fetch_add_explicit(&h->sum, (uint_fast64_t)(value * 1e9), memory_order_relaxed);
}

static void count(atomic_uint_fast64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

metrics *metrics_new(const route *routes)
{
    size_t n = 0;
    while (routes[n].path)
        n++;
    metrics *m = calloc(1, sizeof *m + (n + 1) * sizeof m->routes[0]);
    if (!m)
        return NULL;
    m->table = routes;
    m->n_routes = n;
    m->update_seconds.bounds = m->select_seconds.bounds = planning_bounds;
    m->commit_seconds.bounds = commit_bounds;
    m->commit_writes.bounds = group_bounds;
    for (size_t i = 0; i <= n; i++)
        m->routes[i].seconds.bounds = request_bounds;
    return m;
}

void metrics_free(metrics *m)
{
    free(m);
}

void metrics_count_request(app *a, const route *r, int status, double seconds)
{
    metrics *m = a->metrics;
    route_counts *counts = &m->routes[r ? (size_t)(r - m->table) : m->n_routes];
    size_t i = 0;
    while (i < HTTP_STATUSES && http_statuses[i] != status)
        i++;
    count(&counts->answers[i]);
    if (seconds >= 0)
        add(&counts->seconds, seconds);
}

void metrics_count_batch(metrics *m, double update_seconds, double select_seconds)
{
    if (!m)
        return;
    add(&m->update_seconds, update_seconds);
    add(&m->select_seconds, select_seconds);
}

void metrics_count_expiry(metrics *m)
{
    if (m)
        count(&m->expired);
}

void metrics_count_commit(void *arg, const store_commit *commit)
{
    metrics *m = arg;
    atomic_fetch_add_explicit(&m->failed_writes, commit->failed, memory_order_relaxed);
    if (commit->writes == 0)
        return;
    add(&m->commit_seconds, commit->seconds);
    add(&m->commit_writes, (double)commit->writes);
    for (int i = 0; i < STORE_EVENT_TYPES; i++)
        atomic_fetch_add_explicit(&m->events[i], commit->events[i], memory_order_relaxed);
}

void metrics_add(metrics *m, metrics_gauge gauge, int64_t n)
{
    if (m)
        atomic_fetch_add_explicit(&m->gauges[gauge], n, memory_order_relaxed);
}

/* ---- as text ------------------------------------------------------------------------------------------- */

static void begin(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(FILE *out, const char *name, const char *type, double value, const char *help)
{
    begin(out, name, type, help);
    fprintf(out, "%s %.17g\n", name, value);
}

static uint64_t load(atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* labels: "", or pairs that each end with a comma. */
static void put_histogram(FILE *out, const char *name, const char *labels, histogram *h)
{
    uint64_t n = 0;
    int width = (int)strlen(labels) - 1;
    size_t i = 0;
    for (; h->bounds[i] > 0; i++) {
        n += load(&h->counts[i]);
        fprintf(out, "%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, labels, h->bounds[i], n);
    }
    n += load(&h->counts[i]);
    fprintf(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, n);
    const char *open = *labels ? "{" : "", *close = *labels ? "}" : "";
    fprintf(out, "%s_sum%s%.*s%s %.9f\n", name, open, width > 0 ? width : 0, labels, close,
            (double)load(&h->sum) / 1e9);
    fprintf(out, "%s_count%s%.*s%s %" PRIu64 "\n", name, open, width > 0 ? width : 0, labels, close, n);
}

static bool was_asked(route_counts *counts)
{
    for (size_t i = 0; i <= HTTP_STATUSES; i++)
        if (load(&counts->answers[i]) > 0)
            return true;
    return false;
}

/* method="…",route="…", */
static const char *route_labels(const metrics *m, size_t i, char text[160])
{
    if (i == m->n_routes)
        snprintf(text, 160, "method=\"other\",route=\"other\",");
    else
        snprintf(text, 160, "method=\"%s\",route=\"%s\",", http_method_name(m->table[i].method),
                 m->table[i].path);
    return text;
}

static void put_requests(FILE *out, metrics *m)
{
    char labels[160];
    begin(out, "banditd_http_requests_total", "counter",
          "Responses by method, route and status; routes without requests are left out.");
    for (size_t i = 0; i <= m->n_routes; i++)
        for (size_t k = 0; k <= HTTP_STATUSES; k++) {
            uint64_t n = load(&m->routes[i].answers[k]);
            if (n == 0)
                continue;
            fprintf(out, "banditd_http_requests_total{%s", route_labels(m, i, labels));
            if (k < HTTP_STATUSES)
                fprintf(out, "status=\"%d\"} %" PRIu64 "\n", http_statuses[k], n);
            else
                fprintf(out, "status=\"other\"} %" PRIu64 "\n", n);
        }
    begin(out, "banditd_http_request_seconds", "histogram",
          "Time from a complete request to its response; asks with wait_seconds are left out.");
    for (size_t i = 0; i <= m->n_routes; i++)
        if (was_asked(&m->routes[i]))
            put_histogram(out, "banditd_http_request_seconds", route_labels(m, i, labels),
                          &m->routes[i].seconds);
}

static void put_totals(FILE *out, const store_totals *totals)
{
    begin(out, "banditd_studies", "gauge", "Studies by state.");
    for (int state = 0; state < STUDY_STATES; state++)
        fprintf(out, "banditd_studies{state=\"%s\"} %" PRId64 "\n", study_state_name((study_state)state),
                totals->studies[state]);
    begin(out, "banditd_trials", "gauge", "Trials of all studies by state.");
    for (int state = 0; state < TRIAL_STATES; state++)
        fprintf(out, "banditd_trials{state=\"%s\"} %" PRId64 "\n", trial_state_name((trial_state)state),
                totals->trials[state]);
}

static void put_work(FILE *out, app *a)
{
    metrics *m = a->metrics;
    begin(out, "banditd_events_total", "counter",
          "Events added to the logs of studies since the start of the server, by type.");
    for (int type = 0; type < STORE_EVENT_TYPES; type++)
        fprintf(out, "banditd_events_total{type=\"%s\"} %" PRIu64 "\n",
                store_event_name((store_event_type)type), load(&m->events[type]));
    put_one(out, "banditd_leases_expired_total", "counter", (double)load(&m->expired),
            "Attempts whose lease expired.");
    put_one(out, "banditd_waiting_asks", "gauge", (double)atomic_load(&a->waiting),
            "Asks that wait for a trial.");
    begin(out, "banditd_batch_planning_seconds", "histogram",
          "Time to plan a batch, by phase: updating the model, selecting the trials.");
    put_histogram(out, "banditd_batch_planning_seconds", "phase=\"update\",", &m->update_seconds);
    put_histogram(out, "banditd_batch_planning_seconds", "phase=\"select\",", &m->select_seconds);
    put_one(out, "banditd_loaded_studies", "gauge", (double)atomic_load(&m->gauges[METRICS_LOADED_STUDIES]),
            "Studies in memory.");
    put_one(out, "banditd_engine_memory_bytes", "gauge",
            (double)atomic_load(&m->gauges[METRICS_ENGINE_BYTES]),
            "Memory of the engines of all studies, including their candidates.");
    put_one(out, "banditd_trial_memory_bytes", "gauge", (double)atomic_load(&m->gauges[METRICS_TRIAL_BYTES]),
            "Memory of the trials that are open, or whose results no model includes yet.");
}

static double database_bytes(const app *a)
{
    struct stat file;
    return !*a->config->database && stat(a->config->db, &file) == 0 ? (double)file.st_size : 0;
}

/* Writes the metrics of a database on a server; all are 0 for a file. */
static void put_database(FILE *out, const store_statistics *s)
{
    put_one(out, "banditd_database_reconnects_total", "counter", (double)s->reconnects,
            "Connections to the PostgreSQL database that were opened after one was lost.");
    begin(out, "banditd_database_ambiguous_commits_total", "counter",
          "Commits whose answer was lost, by outcome.");
    fprintf(out, "banditd_database_ambiguous_commits_total{outcome=\"happened\"} %" PRIu64 "\n",
            s->ambiguous_happened);
    fprintf(out, "banditd_database_ambiguous_commits_total{outcome=\"lost\"} %" PRIu64 "\n",
            s->ambiguous_lost);
    put_one(out, "banditd_database_history_lost_total", "counter", (double)s->history_lost,
            "How often the PostgreSQL database had lost commits that it had confirmed.");
    put_one(out, "banditd_database_unreachable_seconds", "gauge", s->unreachable_seconds,
            "For how long writes have waited for the PostgreSQL database; 0: it can be reached.");
}

static void put_store(FILE *out, app *a)
{
    store_statistics statistics;
    computing_statistics c;
    metrics *m = a->metrics;
    computing_read_statistics(a->computing, &c);
    store_read_statistics(a->store, &statistics);
    begin(out, "banditd_commit_seconds", "histogram", "Duration of a transaction, including its sync.");
    put_histogram(out, "banditd_commit_seconds", "", &m->commit_seconds);
    begin(out, "banditd_commit_writes", "histogram", "Number of writes committed in one transaction.");
    put_histogram(out, "banditd_commit_writes", "", &m->commit_writes);
    put_one(out, "banditd_failed_writes_total", "counter", (double)load(&m->failed_writes),
            "Writes that failed to reach the disk.");
    put_one(out, "banditd_wal_bytes", "gauge", (double)statistics.wal_bytes, "Size of the write-ahead log.");
    put_one(out, "banditd_database_bytes", "gauge", database_bytes(a), "Size of the database file.");
    put_database(out, &statistics);
    begin(out, "banditd_queue_length", "gauge",
          "Queued work: tasks of the pool, computations that wait for their turn, writes of the writer.");
    fprintf(out, "banditd_queue_length{queue=\"pool\"} %zu\n", pool_queued(a->pool));
    fprintf(out, "banditd_queue_length{queue=\"computing\"} %zu\n", c.waiting);
    fprintf(out, "banditd_queue_length{queue=\"writer\"} %" PRIu64 "\n", statistics.queued_writes);
    put_one(out, "banditd_pool_threads", "gauge", (double)c.permits, "Threads that may compute at once.");
    put_one(out, "banditd_computing_threads", "gauge", (double)c.threads,
            "Threads that compute, or whose computation may be suspended.");
    put_one(out, "banditd_computing_step_seconds_max", "gauge", c.longest_step,
            "Longest processor time so far in which a computation could not be interrupted.");
}

static void put_streams(FILE *out, const events_statistics *streams)
{
    put_one(out, "banditd_event_streams", "gauge", (double)streams->listeners, "Open event streams.");
    put_one(out, "banditd_event_streams_dropped_total", "counter", (double)streams->dropped,
            "Event streams that were ended because the client was too slow.");
}

static void put_notify(FILE *out, notify *n)
{
    notify_statistics s;
    notify_read_statistics(n, &s);
    put_one(out, "banditd_notifications_sent_total", "counter", (double)s.sent,
            "Notifications that a receiver has accepted.");
    put_one(out, "banditd_notifications_failed_total", "counter", (double)s.failed,
            "Notifications that were given up after the last try.");
    put_one(out, "banditd_notifications_dropped_total", "counter", (double)s.dropped,
            "Notifications that were dropped because a receiver's queue was full.");
    put_one(out, "banditd_notifications_queued", "gauge", (double)s.queued,
            "Notifications that are to be sent.");
}

static void put_log(FILE *out)
{
    put_one(out, "banditd_log_lines_dropped_total", "counter", (double)log_lines_dropped(),
            "Lines of the log that were dropped because nobody read it.");
}

static void put_process(FILE *out)
{
    process_statistics p;
    process_read_statistics(&p);
    put_one(out, "process_cpu_seconds_total", "counter", p.cpu_seconds, "Total user and system CPU time.");
    put_one(out, "process_resident_memory_bytes", "gauge", p.resident_bytes, "Resident memory.");
    put_one(out, "banditd_machine_memory_bytes", "gauge", p.machine_bytes,
            "Memory of the machine, or the limit of the control group if it is lower.");
    put_one(out, "process_open_fds", "gauge", p.open_files, "Open file descriptors.");
    put_one(out, "process_max_fds", "gauge", p.max_files, "Maximum number of open file descriptors.");
    put_one(out, "process_start_time_seconds", "gauge", p.started_at,
            "Start time of the process, in seconds since 1970.");
}

store_status metrics_encode(app *a, const events_statistics *streams, char **out, size_t *size)
{
    store_totals totals;
    store_error error = {0};
    *out = NULL;
    store_status status = store_read_totals(a->store, &totals, &error);
    if (status != STORE_OK)
        return status;
    FILE *text = open_memstream(out, size);
    if (!text)
        return STORE_NO_MEMORY;
    begin(text, "banditd_build_info", "gauge", "Always 1; the version is a label.");
    fputs("banditd_build_info{version=\"" BANDITD_VERSION "\"} 1\n", text);
    put_requests(text, a->metrics);
    put_totals(text, &totals);
    put_work(text, a);
    put_store(text, a);
    put_streams(text, streams);
    put_notify(text, a->notify);
    put_log(text);
    put_process(text);
    bool complete = !ferror(text);
    if (fclose(text) == 0 && complete)
        return STORE_OK;
    free(*out);
    *out = NULL;
    return STORE_NO_MEMORY;
}
