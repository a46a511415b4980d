/* Load on an HTTP server: workers on kept-alive connections, each asking for a trial and telling its value,
 * as fast as the answers come. One thread, epoll.
 *
 * usage: load HOST PORT WORKERS STUDIES SECONDS [echo]
 *
 * Worker w works on study s<w mod STUDIES> by the name w<w>. With `echo` the server answers with the bodies
 * that it is sent: the same bodies go out, and nothing is read from the answers. Prints one JSON object:
 * requests a second and latencies in milliseconds. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 65536, KINDS = 2 };

typedef struct worker {
    int fd, number, study;
    int kind; /* of the request on its way: 0 an ask, 1 a tell */
    long long trial;
    double sent;
    char request[2048];
    size_t n_request, written;
    char answer[BUFFER];
    size_t n_answer;
} worker;

typedef struct samples {
    double *list; /* seconds */
    size_t n, capacity;
} samples;

static samples latencies[KINDS];
static unsigned long long empty, refused;
static bool echo;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void note(int kind, double seconds)
{
    samples *s = &latencies[kind];
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 65536;
        s->list = realloc(s->list, s->capacity * sizeof *s->list);
        if (!s->list)
            fail("realloc");
    }
    s->list[s->n++] = seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const samples *s, double q)
{
    return s->n ? 1e3 * s->list[(size_t)(q * (double)(s->n - 1))] : 0.0;
}

/* ---- one worker ---------------------------------------------------------------------------------------- */

static void prepare(worker *w)
{
    char body[512];
    int n = w->kind == 0
                ? snprintf(body, sizeof body, "{\"worker\": \"w%d\", \"wait_seconds\": 10}", w->number)
                : snprintf(body, sizeof body, "{\"results\": [{\"trial\": %lld, \"value\": %.6f}]}", w->trial,
                           (double)(w->trial % 1000) / 1000.0);
    w->n_request = (size_t)snprintf(w->request, sizeof w->request,
                                    "POST /v1/studies/s%d/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                    "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                                    w->study, w->kind == 0 ? "ask" : "tell", n, body);
    w->written = 0;
    w->n_answer = 0;
    w->sent = now();
}

/* What is left of the request; false when the connection is lost. */
static bool send_rest(worker *w)
{
    while (w->written < w->n_request) {
        ssize_t n = write(w->fd, w->request + w->written, w->n_request - w->written);
        if (n < 0)
            return errno == EAGAIN;
        w->written += (size_t)n;
    }
    return true;
}

/* The body of a complete answer; NULL: more is to come. */
static const char *complete(worker *w, int *status)
{
    w->answer[w->n_answer] = '\0';
    const char *end = strstr(w->answer, "\r\n\r\n");
    const char *length = end ? strcasestr(w->answer, "\r\nContent-Length:") : NULL;
    if (!length || length > end)
        return NULL;
    size_t size = strtoul(length + 17, NULL, 10);
    if (w->n_answer < (size_t)(end + 4 - w->answer) + size)
        return NULL;
    *status = atoi(w->answer + 9);
    return end + 4;
}

static void take(worker *w, int status, const char *body)
{
    note(w->kind, now() - w->sent);
    refused += status != 200;
    if (w->kind == 0) {
        const char *id = strstr(body, "{\"trials\":[{\"id\":");
        if (id)
            w->trial = atoll(id + 17);
        else if (echo)
            w->trial++;
        else
            empty++;
        if (id || echo)
            w->kind = 1;
    } else {
        w->kind = 0;
    }
    prepare(w);
}

static bool serve(worker *w)
{
    for (;;) {
        ssize_t n = read(w->fd, w->answer + w->n_answer, sizeof w->answer - 1 - w->n_answer);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return false;
        if (n < 0)
            return true;
        w->n_answer += (size_t)n;
        int status;
        const char *body = complete(w, &status);
        if (body) {
            take(w, status, body);
            if (!send_rest(w))
                return false;
        }
    }
}

static void open_worker(worker *w, const struct sockaddr_in *address, int poll)
{
    int on = 1;
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0 || connect(w->fd, (const struct sockaddr *)address, sizeof *address))
        fail("connect");
    setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(w->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, w->fd, &event))
        fail("epoll_ctl");
    prepare(w);
    if (!send_rest(w))
        fail("write");
}

static void print(const char *name, samples *s, double seconds)
{
    qsort(s->list, s->n, sizeof *s->list, compare);
    printf("\"%s\": {\"per_second\": %.1f, \"p50\": %.3f, \"p99\": %.3f, \"p999\": %.3f, \"max\": %.3f}, ",
           name, (double)s->n / seconds, quantile(s, 0.5), quantile(s, 0.99), quantile(s, 0.999),
           quantile(s, 1.0));
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: load HOST PORT WORKERS STUDIES SECONDS [echo]\n");
        return 2;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &address.sin_addr);
    int n = atoi(argv[3]), studies = atoi(argv[4]);
    double seconds = atof(argv[5]);
    echo = argc > 6;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    worker *workers = calloc((size_t)n, sizeof *workers);
    if (poll < 0 || !workers)
        fail("start");
    double start = now(), end = start + seconds;
    for (int i = 0; i < n; i++) {
        workers[i].number = i;
        workers[i].study = i % studies;
        open_worker(&workers[i], &address, poll);
    }
    while (now() < end) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, 100);
        for (int i = 0; i < ready; i++) {
            if (!serve(events[i].data.ptr)) {
                fprintf(stderr, "a connection was lost\n");
                return 1;
            }
        }
    }
    seconds = now() - start;
    printf("{");
    print("ask", &latencies[0], seconds);
    print("tell", &latencies[1], seconds);
    printf("\"per_second\": %.1f, \"empty\": %llu, \"refused\": %llu}\n",
           (double)(latencies[0].n + latencies[1].n) / seconds, empty, refused);
    return 0;
}
