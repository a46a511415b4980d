#include "server/serve.h"
#include "server/app.h"
#include "server/http.h"
#include "server/log.h"
#include "server/study.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/resource.h>

/* Connections that wait are many: as many files as the system allows. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Blocked in every thread, so that the main one can wait for them. */
static void block_signals(sigset_t *wanted)
{
    sigemptyset(wanted);
    sigaddset(wanted, SIGTERM);
    sigaddset(wanted, SIGINT);
    pthread_sigmask(SIG_BLOCK, wanted, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int run(const server_config *options, const sigset_t *signals)
{
    app a = {.config = options};
    store_error error = {0};
    http_server *http = NULL;
    char url[160];
    int exit_code = 1, received;
    if (store_open_sqlite(&a.store, options->db, &error) != STORE_OK) {
        log_event(LOG_ERROR, "database_failed", "db", options->db, "reason", error.message, NULL);
        return 1;
    }
    a.pool = pool_new(options->threads);
    a.registry = a.pool ? registry_new(&a) : NULL;
    http = a.registry ? http_start(&a, options->listen, url, sizeof url) : NULL;
    if (!http)
        goto stop;
    log_event(LOG_INFO, "started", "version", BANDITD_VERSION, "listen", url, "db", options->db, "threads",
              log_format("%zu", options->threads), NULL);
    printf("banditd listening on %s\n", url);
    if (fflush(stdout) != 0)
        log_event(LOG_WARN, "ready_line_failed", NULL);
    while (sigwait(signals, &received) != 0) {
    }
    log_event(LOG_INFO, "stopping", "signal", received == SIGTERM ? "SIGTERM" : "SIGINT", NULL);
    exit_code = 0;
stop:
    atomic_store(&a.stopping, true);
    if (a.registry)
        registry_stop_waiting(a.registry);
    http_stop(http);
    if (a.registry)
        registry_stop(a.registry);
    pool_free(a.pool); /* runs what is queued; requests have all been answered */
    store_close(a.store);
    registry_free(a.registry);
    if (exit_code == 0)
        log_event(LOG_INFO, "stopped", NULL);
    return exit_code;
}

int serve(int argc, char **argv)
{
    server_config options;
    sigset_t signals;
    switch (config_read(&options, argc, argv)) {
    case CONFIG_HELP:
        config_print_help();
        return 0;
    case CONFIG_WRONG:
        return 2;
    case CONFIG_RUN:
        break;
    }
    log_configure((log_level)options.log_level, options.log_json);
    if (sodium_init() < 0) {
        log_event(LOG_ERROR, "no_random_numbers", NULL);
        return 1;
    }
    raise_file_limit();
    block_signals(&signals);
    return run(&options, &signals);
}
