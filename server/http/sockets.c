#include "server/http/sockets.h"

#include "server/base/clock.h"
#include "server/base/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

enum { LISTENING_MAXIMUM = 2, BUCKETS = 1024, TICK_MS = 500, ACCEPTED_AT_ONCE = 64 };

/* The address of a peer. Of an IPv6 address it keeps the 64-bit network, since a host may use all of it. */
typedef struct peer {
    struct peer *next; /* in its bucket */
    unsigned char address[17];
    size_t links;
} peer;

struct http_link {
    LIST_ENTRY(http_link) entry;
    http_links *links;
    int fd;
    bool plain, shut;
    bool owners; /* not counted */
    /* The HTTP threads set `due` several times in each request, without the lock. */
    _Atomic uint64_t due;
    /* The value of `due` at the last check, if the client had ended its sending and everything was read; otherwise
     * NEVER. */
    uint64_t ended;
    peer *peer; /* NULL: not counted by address */
};

/* A deadline in ms on the steady clock (0: none), and the state. */
enum { DUE_STATES = 4 };
#define NEVER UINT64_MAX

static uint64_t due(http_link_state state, double seconds)
{
    return (seconds > 0 ? (uint64_t)(1e3 * (clock_steady() + seconds)) : 0) * DUE_STATES + state;
}

static http_link_state state_of(uint64_t due)
{
    return (http_link_state)(due % DUE_STATES);
}

static bool is_late(uint64_t due, double now)
{
    uint64_t at = due / DUE_STATES;
    return at > 0 && 1e3 * now >= (double)at;
}

typedef struct listening {
    int fd;
    bool plain, owners;
    http_links_take *take;
    void *arg;
} listening;

struct http_links {
    http_links_limits limits;
    listening sockets[LISTENING_MAXIMUM];
    size_t n_sockets;
    pthread_t thread;
    int wake;  /* eventfd that wakes the thread */
    int pulse; /* see http_links_pulse */
    bool started;
    size_t refused; /* connections refused since the last log line about them; only the thread uses it */
    double refusal_logged; /* when that line was written */

    pthread_mutex_t lock; /* guards the members below and the links */
    pthread_cond_t paused;
    bool closing, accepting, ending;
    double end; /* of the steady clock: when all connections are shut; 0: not yet known */
    LIST_HEAD(, http_link) all;
    http_link **by_fd;
    size_t n_by_fd;
    size_t n;
    peer *peers[BUCKETS];
};

/* ---- peers --------------------------------------------------------------------------------------------- */

/* False for unix sockets, which are not counted by address. */
static bool read_address(const struct sockaddr *address, unsigned char out[17])
{
    memset(out, 0, 17);
    if (address->sa_family == AF_INET) {
        out[0] = 4;
        memcpy(out + 1, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address->sa_family == AF_INET6) {
        out[0] = 6;
        memcpy(out + 1, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 8);
    }
    return out[0] != 0;
}

static peer **find_peer(http_links *l, const unsigned char address[17])
{
    size_t hash = 14695981039346656037u;
    for (int i = 0; i < 17; i++)
        hash = (hash ^ address[i]) * 1099511628211u;
    peer **link = &l->peers[hash % BUCKETS];
    while (*link && memcmp((*link)->address, address, 17) != 0)
        link = &(*link)->next;
    return link;
}

static void leave_peer(http_links *l, peer *p)
{
    if (!p || --p->links > 0)
        return;
    peer **link = find_peer(l, p->address);
    *link = p->next;
    free(p);
}

/* ---- links --------------------------------------------------------------------------------------------- */

static const char *fd_has_room(http_links *l, int fd)
{
    size_t wanted = (size_t)fd + 1;
    if (wanted <= l->n_by_fd)
        return NULL;
    wanted += wanted / 2;
    http_link **by_fd = realloc(l->by_fd, wanted * sizeof *by_fd);
    if (!by_fd)
        return "out of memory";
    memset(by_fd + l->n_by_fd, 0, (wanted - l->n_by_fd) * sizeof *by_fd);
    l->by_fd = by_fd;
    l->n_by_fd = wanted;
    return NULL;
}

/* Call it with the lock held. Returns the reason if there is no room, otherwise NULL. */
static const char *count_in(http_links *l, http_link *link, const struct sockaddr *address)
{
    unsigned char key[17];
    if (!link->owners && l->n >= l->limits.total)
        return "too many connections (--max-connections)";
    const char *problem = fd_has_room(l, link->fd);
    if (problem || !read_address(address, key))
        return problem;
    peer **place = find_peer(l, key);
    if (!*place) {
        *place = calloc(1, sizeof **place);
        if (!*place)
            return "out of memory";
        memcpy((*place)->address, key, sizeof key);
    }
    if ((*place)->links >= l->limits.per_address)
        return "too many connections from this address (--max-connections-per-address)";
    link->peer = *place;
    link->peer->links++;
    return NULL;
}

/* Call it with the lock held. */
static void forget(http_link *link)
{
    http_links *l = link->links;
    LIST_REMOVE(link, entry);
    l->by_fd[link->fd] = NULL;
    l->n -= !link->owners;
    leave_peer(l, link->peer);
    free(link);
}

size_t http_links_answer(char *out, size_t size, int status, const char *title, const char *detail,
                         const char *id)
{
    char body[512];
    int n = snprintf(body, sizeof body,
                     "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\"}", title,
                     status, detail);
    n = snprintf(out, size,
                 "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\n"
                 "%sX-Request-Id: %s\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                 "Connection: close\r\n\r\n%s",
                 status, title, n, status == 503 ? "Retry-After: 1\r\n" : "", id, body);
    return (size_t)n < size ? (size_t)n : size - 1;
}

/* Sends a problem without waiting for the client to receive it. */
static void tell(int fd, int status, const char *title, const char *detail)
{
    char answer[1024], id[17];
    unsigned char bytes[8];
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(id, sizeof id, bytes, sizeof bytes);
    size_t n = http_links_answer(answer, sizeof answer, status, title, detail, id);
    if (send(fd, answer, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_event(LOG_DEBUG, "http", "detail", strerror(errno), NULL);
}

/* A client can be refused thousands of times per second, so one line per second gives the number. */
static void log_refusal(http_links *l, const char *reason)
{
    double now = clock_steady();
    l->refused++;
    if (now - l->refusal_logged < 1)
        return;
    log_event(LOG_WARN, "connection_refused", "reason", reason, "times", log_format("%zu", l->refused), NULL);
    l->refused = 0;
    l->refusal_logged = now;
}

static void admit(http_links *l, const listening *from, int fd, const struct sockaddr *address,
                  socklen_t size)
{
    http_link *link = calloc(1, sizeof *link);
    const char *problem = link ? NULL : "out of memory";
    bool crowd = false;
    if (link) {
        *link = (http_link){.links = l,
                            .fd = fd,
                            .plain = from->plain,
                            .owners = from->owners,
                            .due = due(HTTP_LINK_IDLE, l->limits.request_seconds),
                            .ended = NEVER};
        pthread_mutex_lock(&l->lock);
        if ((size_t)fd < l->n_by_fd && l->by_fd[fd])
            forget(l->by_fd[fd]); /* the old socket was closed without notice: its number is in use again */
        problem = count_in(l, link, address);
        if (!problem) {
            LIST_INSERT_HEAD(&l->all, link, entry);
            l->by_fd[fd] = link;
            l->n += !link->owners;
            crowd = link->peer && link->peer->links > HTTP_CROWD;
        }
        pthread_mutex_unlock(&l->lock);
    }
    if (problem) {
        log_refusal(l, problem);
        if (from->plain)
            tell(fd, 503, "Service Unavailable", problem);
        close(fd);
        free(link);
    } else if (!from->take(from->arg, fd, address, size, crowd) && http_links_find(l, fd) == link) {
        http_link_gone(link); /* not reported by connection_changed */
    }
}

http_link *http_links_find(http_links *l, int fd)
{
    pthread_mutex_lock(&l->lock);
    http_link *link = fd >= 0 && (size_t)fd < l->n_by_fd ? l->by_fd[fd] : NULL;
    pthread_mutex_unlock(&l->lock);
    return link;
}

void http_link_address(const http_link *link, char *out, size_t size)
{
    *out = '\0';
    if (link->peer) /* the peer lives as long as the link */
        sodium_bin2hex(out, size, link->peer->address, sizeof link->peer->address);
}

void http_link_gone(http_link *link)
{
    http_links *l = link->links;
    pthread_mutex_lock(&l->lock);
    forget(link);
    pthread_mutex_unlock(&l->lock);
}

void http_link_set(http_link *link, http_link_state state, double seconds)
{
    atomic_store(&link->due, due(state, seconds));
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

/* Had the client ended its sending at two checks in a row? libmicrohttpd may overlook an end that arrives with the last
 * bytes. Waiting for the second check gives it time to notice the end, and to begin the requests before it. */
static bool has_ended(http_link *link, uint64_t now_due)
{
    char byte;
    uint64_t before = link->ended;
    bool ended =
        state_of(now_due) != HTTP_LINK_WORKING && recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    link->ended = ended ? now_due : NEVER;
    return ended && before == now_due;
}

static void shut_late(http_links *l)
{
    double now = clock_steady();
    pthread_mutex_lock(&l->lock);
    for (http_link *link = LIST_FIRST(&l->all); link; link = LIST_NEXT(link, entry)) {
        uint64_t now_due = atomic_load(&link->due);
        bool late = is_late(now_due, now) || (l->end > 0 && now >= l->end);
        if (link->shut || (!late && !has_ended(link, now_due)))
            continue;
        if (late && link->plain && state_of(now_due) == HTTP_LINK_RECEIVING)
            tell(link->fd, 408, "Request Timeout",
                 "the request was not received in time (--request-seconds)");
        shutdown(link->fd, SHUT_RDWR); /* the HTTP thread sees its end and closes it */
        link->shut = true;
    }
    pthread_mutex_unlock(&l->lock);
}

/* True: the next attempt should wait, because a resource is exhausted. */
static bool accept_some(http_links *l, const listening *from)
{
    for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
        struct sockaddr_storage address = {0};
        socklen_t size = sizeof address;
        int fd = accept4(from->fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            admit(l, from, fd, (struct sockaddr *)&address, size);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            return true;
        else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINVAL)
            return false;
    }
    return false;
}

/* Adds 1 to an eventfd. Each signal is an event, even if nobody has read the earlier ones. */
static void signal_to(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof one) < 0)
        log_event(LOG_DEBUG, "http", "detail", strerror(errno), NULL);
}

static void *run(void *arg)
{
    http_links *l = arg;
    double last_look = clock_steady();
    for (;;) {
        struct pollfd polled[1 + LISTENING_MAXIMUM] = {{.fd = l->wake, .events = POLLIN}};
        pthread_mutex_lock(&l->lock);
        bool accepting = !l->closing, ending = l->ending;
        l->accepting = accepting;
        pthread_cond_broadcast(&l->paused);
        pthread_mutex_unlock(&l->lock);
        if (ending)
            return NULL;
        nfds_t n = 1;
        for (size_t i = 0; accepting && i < l->n_sockets; i++)
            polled[n++] = (struct pollfd){.fd = l->sockets[i].fd, .events = POLLIN};
        int ready = poll(polled, n, TICK_MS);
        uint64_t counted;
        if (ready > 0 && polled[0].revents && read(l->wake, &counted, sizeof counted) < 0)
            log_event(LOG_DEBUG, "http", "detail", strerror(errno), NULL);
        bool exhausted = false;
        for (nfds_t i = 1; ready > 0 && i < n; i++)
            if (polled[i].revents)
                exhausted |= accept_some(l, &l->sockets[i - 1]);
        if (exhausted) {
            log_event(LOG_WARN, "out_of_files", "hint",
                      "raise the limit on open files: ulimit -n, or LimitNOFILE= of the unit", NULL);
            poll(NULL, 0, TICK_MS);
        }
        if (clock_steady() - last_look >= 1e-3 * TICK_MS) {
            shut_late(l);
            signal_to(l->pulse);
            last_look = clock_steady();
        }
    }
}

http_links *http_links_new(const http_links_limits *limits)
{
    http_links *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->limits = *limits;
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->pulse = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->paused, NULL);
    LIST_INIT(&l->all);
    if (l->wake >= 0 && l->pulse >= 0)
        return l;
    http_links_free(l);
    return NULL;
}

void http_links_add(http_links *l, int fd, bool plain, bool owners, http_links_take *take, void *arg)
{
    l->sockets[l->n_sockets++] =
        (listening){.fd = fd, .plain = plain, .owners = owners, .take = take, .arg = arg};
}

int http_links_pulse(const http_links *l)
{
    return l->pulse;
}

bool http_links_start(http_links *l)
{
    l->accepting = true;
    l->started = pthread_create(&l->thread, NULL, run, l) == 0;
    return l->started;
}

void http_links_stop_accepting(http_links *l)
{
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    signal_to(l->wake);
    while (l->started && l->accepting)
        pthread_cond_wait(&l->paused, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void http_links_end(http_links *l, double seconds)
{
    pthread_mutex_lock(&l->lock);
    l->end = clock_steady() + seconds;
    pthread_mutex_unlock(&l->lock);
}

void http_links_free(http_links *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->ending = true;
    pthread_mutex_unlock(&l->lock);
    if (l->started) {
        signal_to(l->wake);
        pthread_join(l->thread, NULL);
    }
    while (!LIST_EMPTY(&l->all)) /* closed without notice, because memory ran out */
        forget(LIST_FIRST(&l->all));
    if (l->wake >= 0)
        close(l->wake);
    if (l->pulse >= 0)
        close(l->pulse);
    free(l->by_fd);
    pthread_cond_destroy(&l->paused);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
