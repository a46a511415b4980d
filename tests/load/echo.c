/* The bare HTTP library: answers every request with its own body. Prints its port.
 *
 * usage: echo THREADS */
#include <microhttpd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct received {
    char *body;
    size_t n;
} received;

static enum MHD_Result answer(void *unused, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data, size_t *n,
                              void **context)
{
    (void)unused;
    (void)url;
    (void)method;
    (void)version;
    received *r = *context;
    if (!r) {
        *context = calloc(1, sizeof *r);
        return *context ? MHD_YES : MHD_NO;
    }
    if (*n > 0) {
        char *grown = realloc(r->body, r->n + *n);
        if (!grown)
            return MHD_NO;
        r->body = grown;
        memcpy(r->body + r->n, data, *n);
        r->n += *n;
        *n = 0;
        return MHD_YES;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(r->n, r->body, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result queued = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

static void completed(void *unused, struct MHD_Connection *connection, void **context,
                      enum MHD_RequestTerminationCode code)
{
    (void)unused;
    (void)connection;
    (void)code;
    received *r = *context;
    if (r)
        free(r->body);
    free(r);
    *context = NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TCP_FASTOPEN, 0, NULL, NULL, answer, NULL,
                         MHD_OPTION_THREAD_POOL_SIZE, threads > 1 ? threads : 0u, MHD_OPTION_NOTIFY_COMPLETED,
                         completed, NULL, MHD_OPTION_END);
    if (!daemon)
        return 1;
    printf("%u\n", (unsigned)MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    pause();
    return 0;
}
