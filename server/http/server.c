#include "server/base/libraries.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/http/connection.h"
#include "server/http/tls.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    DAEMONS_MAXIMUM = 2,
    STOP_SECONDS =
        2 /* for clients to receive their answers when the server stops; containers are killed after 10 s */
};

/* A listening socket and the threads that serve it. */
typedef struct front {
    http_door door;
    struct MHD_Daemon *daemons[DAEMONS_MAXIMUM]; /* each has a thread */
    size_t n_daemons, next;
    listener listener;
} front;

struct http_server {
    app *app;
    front everyone, crowds, owner; /* one that is not served has no daemons */
    http_links *links;
    pthread_mutex_t lock;
    pthread_cond_t none_left;
    bool closing;       /* no new request is counted */
    size_t in_progress; /* requests whose handler has been called and that are not yet completed */
};

bool http_count_in(http_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool counted = !server->closing;
    server->in_progress += counted;
    pthread_mutex_unlock(&server->lock);
    return counted;
}

void http_count_out(http_server *server)
{
    pthread_mutex_lock(&server->lock);
    if (--server->in_progress == 0)
        pthread_cond_broadcast(&server->none_left);
    pthread_mutex_unlock(&server->lock);
}

static void log_mhd(void *arg, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void log_mhd(void *arg, const char *format, va_list args)
{
    char text[256];
    (void)arg;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    log_event(LOG_DEBUG, "http", "detail", text, NULL);
}

static void connection_changed(void *arg, struct MHD_Connection *mhd, void **context,
                               enum MHD_ConnectionNotificationCode what)
{
    const http_door *door = arg;
    const union MHD_ConnectionInfo *info;
    switch (what) {
    case MHD_CONNECTION_NOTIFY_STARTED:
        info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = info ? http_links_find(door->server->links, info->connect_fd) : NULL;
        break;
    case MHD_CONNECTION_NOTIFY_CLOSED:
        if (*context)
            http_link_gone(*context);
        *context = NULL;
        break;
    }
}

/* ---- starting and stopping ----------------------------------------------------------------------------- */

/* The thread with the fewest connections. */
static struct MHD_Daemon *emptiest(front *f)
{
    struct MHD_Daemon *found = NULL;
    unsigned least = 0;
    f->next++; /* equals take turns */
    for (size_t i = 0; i < f->n_daemons; i++) {
        struct MHD_Daemon *d = f->daemons[(f->next + i) % f->n_daemons];
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        unsigned n = info ? info->num_connections : 0;
        if (!found || n < least) {
            found = d;
            least = n;
        }
    }
    return found;
}

/* libmicrohttpd gets accepted sockets. It does not accept them itself, because (0.9.75) it does not answer connections
 * beyond a limit, closes a listening socket that it does not own, and has a race between pausing and stopping. */
static bool take_connection(void *arg, int fd, const struct sockaddr *address, socklen_t size, bool crowd)
{
    front *f = arg;
    front *crowds = &f->door.server->crowds;
    struct MHD_Daemon *thread = emptiest(crowd && crowds->n_daemons > 0 ? crowds : f);
    return MHD_add_connection(thread, fd, address, size) == MHD_YES;
}

/* Makes libmicrohttpd 1.0 and later refuse requests that a proxy may interpret differently. The headers of older
 * versions have only the option's former name, which later versions still accept. */
#if MHD_VERSION >= 0x01000000
#define STRICT MHD_OPTION_CLIENT_DISCIPLINE_LVL
#else
#define STRICT MHD_OPTION_STRICT_FOR_CLIENT
#endif

/* Has the daemon's thread woken about twice a second. libmicrohttpd (0.9.75, 1.0.1) takes up to 128 events at a time. If
 * it gets exactly 128, it waits for more before it handles them, so 128 requests that arrive together would stay
 * unanswered until the next event. It ignores events whose pointer is NULL. */
static bool keep_awake(struct MHD_Daemon *daemon, const http_links *links)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event pulse = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    return info && epoll_ctl(info->epoll_fd, EPOLL_CTL_ADD, http_links_pulse(links), &pulse) == 0;
}

static bool front_start(front *f, size_t threads)
{
    http_door *door = &f->door;
    const server_config *config = f->door.app->config;
    /* For stalled streams only; sockets.c applies all other time limits. */
    unsigned longest =
        30 + (unsigned)(config->idle_seconds > config->request_seconds ? config->idle_seconds
                                                                       : config->request_seconds);
    bool tls = !f->door.owners && *config->tls_cert;
    struct MHD_OptionItem none[] = {{.option = MHD_OPTION_END}};
    struct MHD_OptionItem strict[] = {{.option = STRICT, .value = 1}, {.option = MHD_OPTION_END}};
    struct MHD_OptionItem secure[] = {
        {.option = MHD_OPTION_HTTPS_PRIORITIES, .ptr_value = (void *)(uintptr_t)http_tls_priorities},
        {.option = MHD_OPTION_HTTPS_CERT_CALLBACK, .ptr_value = (void *)(intptr_t)http_tls_retrieve},
        {.option = MHD_OPTION_END}};
    for (f->n_daemons = 0; f->n_daemons < threads;) {
        struct MHD_Daemon *daemon = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_ITC |
                MHD_USE_NO_LISTEN_SOCKET | (tls ? MHD_USE_TLS : 0),
            0, NULL, NULL, http_handle, door, MHD_OPTION_ARRAY, tls ? secure : none,
            MHD_OPTION_EXTERNAL_LOGGER, log_mhd, NULL, MHD_OPTION_URI_LOG_CALLBACK, http_begin_request, door,
            MHD_OPTION_NOTIFY_COMPLETED, http_request_completed, door, MHD_OPTION_NOTIFY_CONNECTION,
            connection_changed, door, MHD_OPTION_CONNECTION_TIMEOUT, longest, MHD_OPTION_CONNECTION_LIMIT,
            (unsigned)config->max_connections + 1024u, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)HTTP_HEAD_MEMORY, MHD_OPTION_ARRAY, http_library_checks_heads() ? strict : none,
            MHD_OPTION_END);
        if (daemon)
            f->daemons[f->n_daemons++] = daemon;
        if (!daemon || !keep_awake(daemon, door->server->links)) {
            log_event(LOG_ERROR, "http_start_failed", "reason", strerror(errno), NULL);
            return false;
        }
    }
    return true;
}

static bool front_open(front *f, size_t threads)
{
    bool plain = f->door.owners || !*f->door.app->config->tls_cert;
    if (!front_start(f, threads))
        return false;
    http_links_add(f->door.server->links, f->listener.fd, plain, f->door.owners, take_connection, f);
    return true;
}

/* A thread answers all requests that have arrived before it looks for new ones. Crowds, that is many connections of one
 * address, have a separate thread with a raised nice value, so that the requests of others do not wait for theirs. */
static bool open_to_everyone(http_server *server, const server_config *config)
{
    bool several = config->threads > 1;
    return (!several || front_start(&server->crowds, 1)) &&
           front_open(&server->everyone, several ? DAEMONS_MAXIMUM : 1);
}

static void front_stop(front *f)
{
    for (size_t i = 0; i < f->n_daemons; i++)
        MHD_stop_daemon(f->daemons[i]);
    listener_close(&f->listener);
}

/* Are there file descriptors left for connections? A server without any would seem to hang. */
static bool has_files_left(void)
{
    enum { WANTED = 4 };
    int files[WANTED], n = 0;
    while (n < WANTED && (files[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
        n++;
    bool enough = n == WANTED;
    if (!enough)
        log_event(LOG_ERROR, "http_start_failed", "reason", strerror(errno), "hint",
                  "raise the limit on open files: ulimit -n, or LimitNOFILE= of the unit", NULL);
    while (n > 0)
        close(files[--n]);
    return enough;
}

/* The number of connections that the limit on open files permits. Some files are reserved for the database. */
static size_t most_connections(const server_config *config)
{
    enum { OTHER_FILES = 128 };
    struct rlimit limit;
    size_t most = config->max_connections;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most + OTHER_FILES)
        most = limit.rlim_cur > 2 * OTHER_FILES ? limit.rlim_cur - OTHER_FILES : OTHER_FILES;
    return most;
}

http_server *http_start(app *a, const http_service *service, const char *listen_address, char *url,
                        size_t url_size)
{
    http_links_limits limits = {.total = most_connections(a->config),
                                .per_address = a->config->max_connections_per_address,
                                .request_seconds = (double)a->config->request_seconds};
    http_server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    server->app = a;
    server->everyone = (front){.door = {.server = server, .app = a, .service = service},
                               .listener = {.fd = -1, .folder = -1}};
    server->crowds = (front){.door = {.server = server, .app = a, .service = service, .crowds = true},
                             .listener = {.fd = -1, .folder = -1}};
    server->owner = (front){.door = {.server = server, .app = a, .service = service, .owners = true},
                            .listener = {.fd = -1, .folder = -1}};
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->none_left, NULL);
    server->links = http_links_new(&limits);
    bool started = server->links != NULL;
    if (started && listen_address)
        started = listener_open(&server->everyone.listener, listen_address, *a->config->tls_cert != '\0', url,
                                url_size) &&
                  (!*a->config->tls_cert || http_tls_load(a->config->tls_cert, a->config->tls_key));
    if (started && listener_open_private(&server->owner.listener, a->config->owner))
        started = front_open(&server->owner, 1);
    else if (!listen_address)
        started = false;
    if (started && listen_address)
        started = open_to_everyone(server, a->config);
    if (started && has_files_left() && http_links_start(server->links))
        return server;
    http_stop(server);
    return NULL;
}

void http_check_libraries(void)
{
    libraries_check("libmicrohttpd", MHD_get_version());
    libraries_check("GnuTLS", http_tls_version());
}

void http_reload(http_server *server)
{
    const server_config *config = server->app->config;
    log_event(LOG_INFO, "reloading", NULL);
    if (*config->tls_cert)
        http_tls_load(config->tls_cert, config->tls_key);
    auth_reload(server->app->auth, config);
}

void http_stop(http_server *server)
{
    if (!server)
        return;
    if (server->links)
        http_links_stop_accepting(server->links);
    listener_close(&server->everyone.listener); /* new connections are refused at once */
    if (server->links)
        http_links_end(server->links, STOP_SECONDS); /* ends clients that receive their answer too slowly */
    pthread_mutex_lock(&server->lock);
    server->closing = true;
    while (server->in_progress > 0)
        pthread_cond_wait(&server->none_left, &server->lock);
    pthread_mutex_unlock(&server->lock);
    front_stop(&server->everyone);
    front_stop(&server->crowds);
    front_stop(&server->owner);
    http_links_free(server->links);
    http_tls_clear();
    pthread_cond_destroy(&server->none_left);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
