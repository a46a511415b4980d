/* The life of a request: its first line, its body, its handler and its end. */
#include "proto/arrays.h"
#include "proto/json_size.h"
#include "server/base/clock.h"
#include "server/base/nice.h"
#include "server/http/connection.h"
#include "server/http/route.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* tests/fuzz uses smaller pieces, since it sends less data. */
#ifndef HTTP_PIECE_SIZE
#define HTTP_PIECE_SIZE (256 * 1024)
#endif
enum { PIECE_SIZE = HTTP_PIECE_SIZE };

enum { LARGE_BODY = 64 << 10 }; /* bytes; a body from this size on takes long to decode */

/* ---- begin and end ------------------------------------------------------------------------------------- */

/* Expects more of the request. Its time limit counts from the first line, without the time that the server took. */
static void expect_more(http_connection *c)
{
    double left = c->request.started + c->working + http_patience(c, c->request.body_size) - clock_steady();
    if (c->link)
        http_link_set(c->link, HTTP_LINK_RECEIVING, left > 1e-3 ? left : 1e-3);
}

/* libmicrohttpd creates the thread, so the thread sets its own nice value, once. */
static void be_nice(void)
{
    static _Thread_local bool is_nice;
    if (!is_nice)
        nice_raise(NICER_CROWDS);
    is_nice = true;
}

void *http_begin_request(void *arg, const char *target, struct MHD_Connection *mhd)
{
    const http_door *door = arg;
    http_connection *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    if (door->crowds)
        be_nice();
    c->door = door;
    c->mhd = mhd;
    c->refusal = http_check_target(target);
    c->target = target;
    c->target_length = strlen(target);
    c->encoded_slash = http_target_has_slash(target);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    c->socket = info ? info->connect_fd : -1;
    c->request.connection = c;
    c->request.app = door->app;
    c->request.number = -1;
    c->request.started = clock_steady();
    info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    c->link = info ? info->socket_context : NULL;
    expect_more(c);
    return c;
}

static void connection_free(http_connection *c)
{
    http_request *request = &c->request;
    if (c->counted)
        http_count_out(c->door->server);
    if (c->reads)
        budget_give(request->app->reads, request->holder, 1);
    budget_give(request->app->buffered, request->holder, c->buffered);
    if (request->context_free)
        request->context_free(request->context);
    for (int i = 0; i < HTTP_QUERIES; i++)
        free(request->query[i]);
    for (size_t i = 0; i < request->n_bounds; i++) {
        free(request->bounds[i].name);
        free(request->bounds[i].value);
    }
    free(request->bounds);
    free(request->idempotency_key);
    free(request->body);
    free(request->answer.body);
    free(c->path);
    free(c);
}

void http_request_completed(void *arg, struct MHD_Connection *mhd, void **slot,
                            enum MHD_RequestTerminationCode why)
{
    const http_door *door = arg;
    (void)mhd;
    (void)why;
    http_connection *c = *slot;
    if (c && c->link)
        http_link_set(c->link, HTTP_LINK_IDLE, (double)door->app->config->idle_seconds);
    if (c)
        connection_free(c);
    *slot = NULL;
}

/* ---- the caller's budgets ------------------------------------------------------------------------------ */

static void refuse_full(http_connection *c)
{
    c->request.answer.retry_after = 1;
    http_answer_problem(
        &c->request, MHD_HTTP_TOO_MANY_REQUESTS, NULL,
        "this caller's requests and answers have used up its share of the server's memory (--max-buffered)");
}

/* Counts a long request. False: the caller has too many in progress, or too many bytes in memory, and the request has
 * been answered accordingly. */
static bool begin_read(http_connection *c)
{
    http_request *request = &c->request;
    const server_config *config = request->app->config;
    if (c->reads)
        return true;
    c->reads = budget_take_at_most(request->app->reads, request->holder, 1, config->max_reads);
    bool room = c->reads && c->buffered > 0; /* a body is already counted */
    room =
        room || (c->reads && budget_has_room(request->app->buffered, request->holder, config->max_buffered));
    if (room)
        return true;
    if (c->reads) {
        refuse_full(c);
        return false;
    }
    request->answer.retry_after = 1;
    http_answer_problem(request, MHD_HTTP_TOO_MANY_REQUESTS, NULL,
                        "this caller has %zu long requests in progress, the maximum (--max-reads)",
                        config->max_reads);
    return false;
}

uint64_t http_caller(const http_request *request)
{
    uint64_t hash = 14695981039346656037u;
    for (const char *byte = request->holder; *byte; byte++)
        hash = (hash ^ (unsigned char)*byte) * 1099511628211u;
    return hash;
}

void http_read_later(http_request *request, pool_task *task)
{
    pool_submit_for(request->app->pool, task, POOL_READING, http_caller(request));
}

/* ---- the body ------------------------------------------------------------------------------------------ */

bool http_buffer(http_connection *c, size_t n)
{
    const http_request *request = &c->request;
    bool taken = budget_take(request->app->buffered, request->holder, n, request->app->config->max_buffered);
    if (taken)
        c->buffered += n;
    return taken;
}

static bool collect(http_connection *c, const char *data, size_t n)
{
    http_request *request = &c->request;
    if (n > c->limit - request->body_size) {
        c->too_large = true;
        return true;
    }
    size_t capacity = c->capacity;
    if (!wire_grow(&request->body, &c->capacity, request->body_size + n + 1, 1024, 1))
        return false;
    if (!http_buffer(c, c->capacity - capacity)) {
        free(request->body);
        request->body = NULL;
        budget_give(request->app->buffered, request->holder, c->buffered);
        c->buffered = 0;
        c->too_many = true;
        return true;
    }
    memcpy(request->body + request->body_size, data, n);
    if (request->idempotency_key)
        crypto_generichash_update(&c->hash, (const unsigned char *)data, n);
    request->body_size += n;
    request->body[request->body_size] = '\0';
    expect_more(c);
    return true;
}

/* Counts the memory of the decoded body, which may be a hundred times the size of the body. */
static bool counts_tree(http_request *request)
{
    if (!request->body || request->body_size <= LARGE_BODY || request->route->kind == ROUTE_UPLOAD)
        return true;
    size_t tree = wire_tree_bytes(request->body, request->body_size);
    return tree <= request->body_size || http_buffer(request->connection, tree - request->body_size);
}

static void run_handler(pool_task *task)
{
    http_request *request = (http_request *)((char *)task - offsetof(http_request, task));
    if (!counts_tree(request))
        refuse_full(request->connection);
    else if (request->route->kind == ROUTE_READ && atomic_load(&request->app->stopping))
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "the server is shutting down");
    else
        request->route->handler(request);
}

/* Has the handler called on the kind of thread that the route requires. */
static void post(http_connection *c, void (*run)(pool_task *task))
{
    http_request *request = &c->request;
    bool short_task = request->route->kind == ROUTE_POOL && request->body_size <= LARGE_BODY;
    request->task.run = run;
    pool_submit_for(request->app->pool, &request->task, short_task ? POOL_SHORT : POOL_READING,
                    http_caller(request));
}

static void run_piece(pool_task *task)
{
    http_request *request = (http_request *)((char *)task - offsetof(http_request, task));
    http_connection *c = request->connection;
    size_t n = c->piece_size;
    c->piece_size = 0;
    request->route->piece(request, request->body, n);
}

/* libmicrohttpd suspends a connection only between its calls of http_handle. If a call has suspended the connection,
 * the next chunk that was already read is still passed to another call. That call must not touch a request that
 * another thread has. When the other thread is done, the connection must have been resumed, or its resumption would
 * undo a suspension by that call. */
enum { SUSPENSIONS = 64 };
static pthread_mutex_t suspensions[SUSPENSIONS] = /* shared by the connections, which they outlive */
    {[0 ... SUSPENSIONS - 1] = PTHREAD_MUTEX_INITIALIZER};

/* There are several locks, because the thread that resumes is often stopped at once in favour of the HTTP thread, which
 * should not have to wait for the lock of that thread. */
static pthread_mutex_t *suspension_of(const http_connection *c)
{
    return &suspensions[((uintptr_t)c / sizeof *c) % SUSPENSIONS];
}

void http_resume(http_connection *c)
{
    pthread_mutex_t *suspension = suspension_of(c);
    pthread_mutex_lock(suspension);
    c->suspended = false;
    MHD_resume_connection(c->mhd);
    pthread_mutex_unlock(suspension);
}

static bool is_suspended(const http_connection *c)
{
    pthread_mutex_lock(suspension_of(c));
    bool suspended = c->suspended;
    pthread_mutex_unlock(suspension_of(c));
    return suspended;
}

/* False if the server is stopping: libmicrohttpd must not be stopped with a suspended connection. */
static bool suspend(http_connection *c)
{
    if (!c->counted && !(c->counted = http_count_in(c->door->server)))
        return false;
    c->suspended = true;
    c->suspended_at = clock_steady();
    if (c->link)
        http_link_set(c->link, HTTP_LINK_WORKING, 0);
    MHD_suspend_connection(c->mhd);
    return true;
}

static bool suspend_or_refuse(http_connection *c)
{
    if (suspend(c))
        return true;
    http_answer_problem(&c->request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "the server is shutting down");
    return false;
}

bool http_defer(http_request *request)
{
    http_connection *c = request->connection;
    return c->deferred = suspend_or_refuse(c);
}

bool http_client_is_gone(const http_request *request)
{
    struct pollfd polled = {.fd = request->connection->socket, .events = POLLRDHUP};
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

void http_upload_continue(http_request *request)
{
    http_connection *c = request->connection;
    if (c->last_piece) {
        post(c, run_handler);
        return;
    }
    c->working += clock_steady() - c->suspended_at;
    expect_more(c);
    http_resume(c);
}

void http_refuse_too_large(http_connection *c)
{
    bool upload = c->request.route->kind == ROUTE_UPLOAD;
    http_answer_problem(&c->request, MHD_HTTP_CONTENT_TOO_LARGE, NULL,
                        "the request body is larger than the limit of %zu bytes (%s)", c->limit,
                        upload ? "--max-upload" : "--max-body");
}

/* Takes a part of an upload's body. A full piece goes to the pool, unless the body is complete: see
 * start_handler. */
static enum MHD_Result upload_data(http_connection *c, const char *data, size_t *n)
{
    http_request *request = &c->request;
    if (*n > c->limit - request->body_size) {
        http_refuse_too_large(c);
        *n = 0;
        return MHD_YES;
    }
    if (!request->body && !http_buffer(c, PIECE_SIZE + HTTP_HEAD_MEMORY)) {
        refuse_full(c);
        *n = 0;
        return MHD_YES;
    }
    if (!request->body && !(request->body = malloc(PIECE_SIZE + HTTP_HEAD_MEMORY)))
        return MHD_NO;
    size_t room = PIECE_SIZE + HTTP_HEAD_MEMORY - c->piece_size; /* a chunk may exceed the piece */
    size_t take = room < *n ? room : *n;
    memcpy(request->body + c->piece_size, data, take);
    if (request->idempotency_key)
        crypto_generichash_update(&c->hash, (const unsigned char *)data, take);
    c->piece_size += take;
    request->body_size += take;
    expect_more(c);
    *n -= take;
    if (c->piece_size >= PIECE_SIZE && request->body_size < c->length) {
        if (!begin_read(c))
            return MHD_YES;
        if (!suspend(c))
            return MHD_NO;
        post(c, run_piece);
    }
    return MHD_YES;
}

/* The whole body has been received. */
static enum MHD_Result start_handler(http_connection *c)
{
    http_request *request = &c->request;
    if (c->too_large || c->too_many) {
        if (c->too_large)
            http_refuse_too_large(c);
        else
            refuse_full(c);
        return http_send_answer(c);
    }
    /* A resumed connection that was still reading is read again; if its client has ended its sending,
     * libmicrohttpd closes the connection without the answer. After this call it no longer reads, and calls again. */
    if (request->route->kind != ROUTE_IMMEDIATE && !c->complete) {
        c->complete = true;
        return MHD_YES;
    }
    c->phase = PHASE_HANDLING;
    request->started = clock_steady(); /* the time that the client took to send it does not count */
    if (request->idempotency_key)
        crypto_generichash_final(&c->hash, request->body_hash, sizeof request->body_hash);
    bool long_one = request->route->kind == ROUTE_READ || request->route->kind == ROUTE_UPLOAD;
    if (long_one && !begin_read(c))
        return http_send_answer(c);
    bool by_another_thread =
        request->route->kind != ROUTE_IMMEDIATE && request->route->kind != ROUTE_DEFERRED;
    if (by_another_thread && !suspend_or_refuse(c))
        return http_send_answer(c);
    switch (request->route->kind) {
    case ROUTE_IMMEDIATE:
    case ROUTE_DEFERRED:
        request->route->handler(request);
        return c->deferred ? MHD_YES : http_send_answer(c);
    case ROUTE_POOL:
    case ROUTE_READ:
        post(c, run_handler);
        return MHD_YES;
    case ROUTE_UPLOAD:
        c->last_piece = true;
        post(c, c->piece_size > 0 ? run_piece : run_handler);
        return MHD_YES;
    }
    return MHD_NO;
}

enum MHD_Result http_handle(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
                            const char *version, const char *data, size_t *data_size, void **slot)
{
    http_connection *c = *slot;
    (void)arg;
    (void)mhd;
    if (!c)
        return MHD_NO; /* out of memory in http_begin_request */
    if (!c->opened) {
        c->opened = true;
        c->method = method;
        const char *path = http_target_path(mhd, url, &c->refusal);
        c->path = strdup(path ? path : url);
        if (!c->path)
            return MHD_NO;
        if (!c->refusal.status)
            c->refusal = http_check_line(method, c->target, c->target_length, version);
        http_open_request(c, version);
        /* Answering now, before the body is read, closes the connection after the answer. */
        if (c->phase == PHASE_ANSWERED && !http_may_go_on(c))
            return http_send_answer(c);
        return MHD_YES;
    }
    if (*data_size > 0 && is_suspended(c))
        return MHD_YES; /* libmicrohttpd passes it again */
    if (c->phase == PHASE_ANSWERED && *data_size == 0)
        return http_send_answer(c);
    if (*data_size > 0) {
        if (c->phase == PHASE_BODY && !c->too_large && !c->too_many &&
            c->request.route->body != ROUTE_BODY_NONE) {
            if (c->request.route->kind == ROUTE_UPLOAD)
                return upload_data(c, data, data_size);
            if (!collect(c, data, *data_size))
                return MHD_NO;
        }
        *data_size = 0; /* the rest is discarded */
        return MHD_YES;
    }
    return start_handler(c);
}
