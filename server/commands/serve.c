#include "server/commands/serve.h"
#include "server/api/notify_settings.h"
#include "server/api/routes.h"
#include "server/app.h"
#include "server/base/blas.h"
#include "server/base/clock.h"
#include "server/base/libraries.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/base/process.h"
#include "server/base/supervisor.h"
#include "server/commands/database.h"
#include "server/data/definition_cache.h"
#include "server/data/series_cache.h"
#include "server/http/auth.h"
#include "server/http/http.h"
#include "server/notify/notify.h"
#include "server/study/registry.h"
#include "server/watch/event_streams.h"
#include "server/watch/metrics.h"

#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Many connections may wait at the same time, so allow as many open files as the system permits. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Blocks the signals in every thread, so that the main thread can wait for them. */
static void block_signals(sigset_t *wanted)
{
    sigemptyset(wanted);
    sigaddset(wanted, SIGTERM);
    sigaddset(wanted, SIGINT);
    sigaddset(wanted, SIGHUP);
    pthread_sigmask(SIG_BLOCK, wanted, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit on file sizes fails like one to a full disk */
}

/* The store has already removed the study's tokens. */
static void forget_study(app *a, int64_t number, const char *id)
{
    auth_remove_study(a->auth, id);
    notify_forget(a->notify, number);
}

static const http_service service = {.routes = api_routes, .answered = metrics_count_request};

typedef struct running {
    app app;
    http_server *http;
} running;

static void stop(running *r)
{
    atomic_store(&r->app.stopping, true);
    if (r->app.computing)
        computing_stop(r->app.computing); /* unfinished plans are made again at the next start */
    if (r->app.registry)
        registry_stop_waiting(r->app.registry);
    if (r->app.events)
        events_stop(r->app.events);
    http_stop(r->http);
    if (r->app.registry)
        registry_stop(r->app.registry);
    pool_free(r->app.pool); /* finishes queued tasks and jobs; all requests have been answered */
    store_close(r->app.store);
    notify_free(r->app.notify); /* the store's writer thread posts no more */
    events_free(r->app.events);
    registry_free(r->app.registry);
    computing_free(r->app.computing); /* after the studies, whose accounts it has */
    metrics_free(r->app.metrics);
    auth_close(r->app.auth);
    budget_free(r->app.places);
    budget_free(r->app.streams);
    budget_free(r->app.reads);
    budget_free(r->app.buffered);
    definition_cache_free(r->app.definitions);
    series_cache_free(r->app.series);
}

/* ---- stopping in time ------------------------------------------------------------------------------------- */

/* A call of LAPACK cannot be interrupted, nor can an access to a disk that hangs. Their outcome is not needed: none of
 * it was acknowledged, and the next start is like one after a kill. */
enum { STOPPED_WITHIN_MS = 3500 };

static atomic_bool ended;

/* Only one thread may end the process. */
static void end_once(void)
{
    while (atomic_exchange(&ended, true))
        pause();
}

static void *end_in_time(void *arg)
{
    struct timespec left = {.tv_sec = STOPPED_WITHIN_MS / 1000,
                            .tv_nsec = STOPPED_WITHIN_MS % 1000 * 1000000L};
    (void)arg;
    while (nanosleep(&left, &left) != 0)
        continue;
    end_once();
    log_event(LOG_WARN, "not_waited_for", "reason", "a computation or the disk takes too long to stop", NULL);
    log_event(LOG_INFO, "stopped", NULL);
    log_stop();
    _exit(0);
}

/* Makes sure that the process ends within STOPPED_WITHIN_MS from now. */
static void limit_stop(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_in_time, NULL) == 0)
        pthread_detach(thread);
    else
        log_event(LOG_WARN, "stop_not_limited", NULL);
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

static bool open_budgets_and_caches(app *a)
{
    a->places = budget_new();
    a->streams = budget_new();
    a->reads = budget_new();
    a->buffered = budget_new();
    a->definitions = definition_cache_new(DEFINITION_CACHE_SHORTEST, DEFINITION_CACHE_BYTES);
    a->series = series_cache_new(SERIES_CACHE_BYTES);
    return a->definitions && a->series && a->places && a->streams && a->reads && a->buffered;
}

/* The name of the first part that could not be created. */
static const char *missing_part(const running *r)
{
    const app *a = &r->app;
    return !a->metrics    ? "the metrics"
           : !a->auth     ? "the tokens"
           : !a->pool     ? "the threads"
           : !a->notify   ? "the notifications"
           : !a->events   ? "the event streams"
           : !a->registry ? "the studies"
                          : "the HTTP server";
}

/* NULL: out of memory. A list of receivers that cannot be read is logged. */
static notify *start_notify(app *a)
{
    store_error error = {0};
    a->notify = notify_new(a->config->notify_private);
    if (a->notify && notify_settings_load(a, &error) != STORE_OK)
        log_event(LOG_ERROR, "nobody_is_notified", "reason", error.message, NULL);
    return a->notify;
}

/* address NULL: serves only on the database owner's socket. */
static bool start(running *r, server_config *options, const char *address, char *url, size_t url_size)
{
    *r = (running){.app = {.config = options, .study_deleted = forget_study}};
    store_error error = {0};
    if (database_open(&r->app.store, options, &error) != STORE_OK) {
        log_event(LOG_ERROR, "database_failed", "db", database_name(options), "reason", error.message, NULL);
        return false;
    }
    if (!open_budgets_and_caches(&r->app)) {
        log_event(LOG_ERROR, "out_of_memory", NULL);
        stop(r);
        return false;
    }
    r->app.metrics = metrics_new(api_routes);
    if (r->app.metrics)
        store_observe(r->app.store, metrics_count_commit, r->app.metrics);
    if (r->app.metrics && auth_open(&r->app.auth, options, r->app.store))
        r->app.pool = pool_new(options->threads);
    r->app.computing = r->app.pool ? computing_new(options->threads, r->app.pool) : NULL;
    r->app.notify = r->app.computing ? start_notify(&r->app) : NULL;
    r->app.events = r->app.notify ? events_new(&r->app) : NULL;
    r->app.started_at = clock_boot_ms();
    r->app.registry = r->app.events ? registry_new(&r->app) : NULL;
    if (r->app.registry && registry_wake_pending(r->app.registry, &error) != STORE_OK)
        log_event(LOG_ERROR, "leases_not_watched", "reason", error.message, NULL);
    r->http = r->app.registry ? http_start(&r->app, &service, address, url, url_size) : NULL;
    if (!r->http) {
        bool is_named = r->app.metrics && !r->app.auth; /* auth_open has logged the reason */
        bool may_be_named = r->app.registry;            /* http_start has, such as a port in use */
        log_event(LOG_ERROR, "start_failed", "part", missing_part(r), "hint",
                  is_named       ? "the line before this one gives the reason"
                  : may_be_named ? "see the reason in the line before this one; if there is none, check the "
                                   "limits on memory, threads and open files"
                                 : "check the limits on memory, threads and open files",
                  NULL);
        stop(r);
    }
    return r->http != NULL;
}

static bool is_near(const char *address)
{
    bool loopback = false;
    return listen_address_check(address, &loopback) && loopback;
}

static void check_libraries(void)
{
    char blas[32];
    blas_version(blas, sizeof blas);
    libraries_check("OpenBLAS", *blas ? blas : NULL);
    libraries_check("SQLite", store_sqlite_version());
    http_check_libraries();
}

static void check_memory(const server_config *options)
{
    const double mebibyte = 1048576.0;
    process_statistics statistics;
    process_read_statistics(&statistics);
    double limits = (double)options->total_memory + (double)options->max_buffered;
    if (limits > statistics.machine_bytes)
        log_event(LOG_WARN, "memory_limits_too_high", "limits", log_format("%.0fMiB", limits / mebibyte),
                  "memory", log_format("%.0fMiB", statistics.machine_bytes / mebibyte), "hint",
                  "the system may kill the server; lower --total-memory or --max-buffered", NULL);
}

static void say_started(const running *r, const char *url)
{
    const server_config *options = r->app.config;
    log_event(LOG_INFO, "started", "version", BANDITD_VERSION, "listen", url, "db", database_name(options),
              "threads", log_format("%zu", options->threads), "auth",
              options->tokens_required ? "token" : "none", NULL);
    config_warn_of_unknown();
    check_memory(options);
    if (options->tokens_required && auth_tokens(r->app.auth) == 0)
        log_event(LOG_WARN, "no_tokens", "hint",
                  "create the first token with: banditd token create --role admin", NULL);
    if (options->tokens_required && !*options->tls_cert && !is_near(options->listen))
        log_event(LOG_WARN, "no_tls", "hint",
                  "tokens are sent unencrypted; set --tls-cert, or use a proxy with TLS", NULL);
    printf("banditd listening on %s\n", url);
    if (fflush(stdout) != 0)
        log_event(LOG_WARN, "ready_line_failed", NULL);
}

/* Serves until a signal arrives; returns the exit code. */
static int run(server_config *options)
{
    running r;
    sigset_t signals;
    char url[160];
    log_configure((log_level)options->log_level, options->log_json);
    if (!blas_prepare(options->threads))
        return 1;
    if (sodium_init() < 0) {
        log_event(LOG_ERROR, "no_random_numbers", NULL);
        return 1;
    }
    check_libraries();
    raise_file_limit();
    block_signals(&signals);
    if (!log_start())
        log_event(LOG_WARN, "no_log_thread", NULL);
    if (!start(&r, options, options->listen, url, sizeof url)) {
        log_stop();
        return 1;
    }
    say_started(&r, url);
    supervisor_ready(url);
    int received;
    while ((received = supervisor_wait(&signals, r.app.pool)) == SIGHUP)
        http_reload(r.http);
    supervisor_stopping();
    log_event(LOG_INFO, "stopping", "signal", received == SIGTERM ? "SIGTERM" : "SIGINT", NULL);
    limit_stop();
    stop(&r);
    end_once();
    log_event(LOG_INFO, "stopped", NULL);
    log_stop();
    return 0;
}

int serve(int argc, char **argv)
{
    server_config options;
    bool loopback;
    int exit_code = 2;
    switch (config_read(&options, argc, argv)) {
    case CONFIG_HELP:
        config_print_help();
        exit_code = 0;
        break;
    case CONFIG_WRONG:
        break;
    case CONFIG_RUN:
        if (listen_address_check(options.listen, &loopback))
            exit_code = run(&options);
        else /* checked here, since banditd token reads the same options and needs no socket */
            fputs(
                "banditd: --listen systemd: the service manager did not pass exactly one listening socket\n",
                stderr);
        break;
    }
    config_clear(&options);
    return exit_code;
}

int serve_briefly(server_config *options, int (*use)(void *arg), void *arg)
{
    running r;
    char url[1];
    signal(SIGPIPE, SIG_IGN);
    if (sodium_init() < 0 || !start(&r, options, NULL, url, sizeof url))
        return -1;
    int result = use(arg);
    stop(&r);
    return result;
}
