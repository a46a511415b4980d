#include "server/app.h"
#include "server/auth.h"
#include "server/clock.h"
#include "server/http_internal.h"
#include "server/http_links.h"
#include "server/http_tls.h"
#include "server/listen.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/routes.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PIECE_SIZE = 256 * 1024,
    STREAM_BLOCK = 16 * 1024,
    DRAINED_MAXIMUM = 64 << 20,
    SKIPPED_MAXIMUM = 1 << 20,
    DAEMONS_MAXIMUM = 2,
    STOP_SECONDS = 20, /* that a client may still take for its answer when the server stops */
    BYTES_A_SECOND = 64 << 10
};

/* A socket that is served. */
typedef struct front {
    http_server *server;
    struct MHD_Daemon *daemons[DAEMONS_MAXIMUM]; /* a thread each; connections go to them in turn */
    size_t n_daemons, next;
    listener listener;
    bool owners; /* only the database's owner gets here: everything is allowed */
} front;

struct http_server {
    app *app;
    front everyone, owner; /* without daemons: not served */
    http_links *links;
    pthread_mutex_t lock;
    pthread_cond_t none_left;
    bool closing;       /* no request is begun any more */
    size_t in_progress; /* requests whose handler has been called and that are not completed */
};

typedef enum phase {
    PHASE_BODY,     /* collecting */
    PHASE_HANDLING, /* the handler has been called */
    PHASE_ANSWERED  /* the answer is set; it is sent on the HTTP thread */
} phase;

/* What libmicrohttpd's callbacks keep of a request. Touched by the HTTP thread while the connection is not
 * suspended, and by whoever answers while it is. */
typedef struct http_connection {
    http_request request;
    const front *front;
    http_link *link; /* NULL: its socket is not known to server->links */
    http_server *server;
    struct MHD_Connection *mhd;
    int socket;
    phase phase;
    bool counted;   /* in server->in_progress */
    bool suspended; /* the answer has to resume the connection */
    bool opened;    /* the handler has been called for its headers */
    bool too_large; /* what comes is read and dropped */
    http_refusal refusal;
    size_t limit;
    size_t capacity;
    crypto_generichash_state hash; /* of the body of a request with a key */
    double working;                /* seconds of the request's time that were ours */
    double suspended_at;
    size_t piece_size; /* bytes of an upload's piece collected in body */
    bool last_piece;
    const char *method;
    char *path;
} http_connection;

/* ---- answers --------------------------------------------------------------------------------------- */

static const char *header(http_connection *c, const char *name)
{
    return MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, name);
}

/* On the thread that made the answer, once. What may be stored for a repeated request stays as it is. */
static void prepare(http_connection *c)
{
    struct http_answer *answer = &c->request.answer;
    if (!c->opened || !answer->body || answer->gzip || answer->status != MHD_HTTP_OK ||
        c->request.idempotency_key)
        return;
    if (!answer->etag[0] && c->request.route->method == HTTP_GET)
        http_tag(answer);
    if (http_accepts_gzip(header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
        http_compress(answer);
}

void http_complete(http_request *request)
{
    http_connection *c = request->connection;
    prepare(c);
    if (request->held)
        return;
    assert(c->phase != PHASE_ANSWERED);
    c->phase = PHASE_ANSWERED;
    if (c->suspended) {
        c->suspended = false;
        MHD_resume_connection(c->mhd); /* the request may be gone from here on */
    }
}

const char *http_header_value(http_request *request, const char *name)
{
    return header(request->connection, name);
}

/* Seconds for so many bytes to come or go. */
static double patience(const http_connection *c, size_t n)
{
    size_t seconds = c->request.app->config->request_seconds + n / BYTES_A_SECOND;
    return (double)seconds;
}

/* What is given must be taken in time; between the parts nobody waits for the client. */
static ssize_t read_stream(void *arg, uint64_t position, char *out, size_t n)
{
    http_connection *c = arg;
    (void)position;
    ptrdiff_t given = c->request.answer.read(&c->request, out, n);
    if (c->link)
        http_link_set(c->link, HTTP_LINK_WORKING, given > 0 ? patience(c, (size_t)given) : 0);
    return given == HTTP_STREAM_END ? MHD_CONTENT_READER_END_OF_STREAM : given;
}

void http_stream_suspend(http_request *request)
{
    MHD_suspend_connection(request->connection->mhd);
}

void http_stream_cut(http_request *request)
{
    shutdown(request->connection->socket, SHUT_RDWR);
}

void http_stream_resume(http_request *request)
{
    MHD_resume_connection(request->connection->mhd);
}

static bool has_header(const http_header *headers, const char *name)
{
    for (const http_header *h = headers; h && h->name; h++)
        if (strcasecmp(h->name, name) == 0)
            return true;
    return false;
}

/* Counts and logs the request. */
static void take_note(const http_connection *c)
{
    const http_request *request = &c->request;
    double seconds = clock_steady() - request->started;
    bool failed = request->answer.status >= MHD_HTTP_INTERNAL_SERVER_ERROR;
    bool slow = 1e3 * (seconds - request->may_wait) > (double)request->app->config->slow_request_ms;
    metrics_count_request(request->app->metrics, request->route, request->answer.status,
                          request->may_wait > 0 ? -1 : seconds);
    log_level level = failed || slow ? LOG_WARN : LOG_DEBUG;
    if (log_enabled(level))
        log_event(level,
                  failed ? "request_failed"
                  : slow ? "slow_request"
                         : "request",
                  "id", request->id, "method", c->method, "path", c->path, "status",
                  log_format("%d", request->answer.status), "token",
                  request->caller.id[0] ? request->caller.id : NULL, "ms", log_format("%.2f", 1e3 * seconds),
                  "detail", failed ? request->answer.detail : NULL, /* others may quote what was sent */
                  NULL);
}

/* The request is coming: its time runs from its first line on, without what was ours. */
static void expect_more(http_connection *c)
{
    double left = c->request.started + c->working + patience(c, c->request.body_size) - clock_steady();
    if (c->link)
        http_link_set(c->link, HTTP_LINK_RECEIVING, left > 1e-3 ? left : 1e-3);
}

/* Answers depend on what is accepted, and on who asks. */
static void add_vary(struct MHD_Response *response, const server_config *config)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
                            *config->cors_origins ? "Accept-Encoding, Origin" : "Accept-Encoding");
}

/* For pages of the origins that are allowed to see answers (Fetch standard, CORS protocol). */
static void add_cors(http_connection *c, struct MHD_Response *response)
{
    const char *origin = http_cors_origin(header(c, MHD_HTTP_HEADER_ORIGIN), c->request.app->config);
    if (!origin)
        return;
    MHD_add_response_header(response, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(response, "Access-Control-Expose-Headers",
                            "ETag, Location, Retry-After, X-Request-Id");
    if (strcmp(c->method, "OPTIONS") != 0)
        return;
    MHD_add_response_header(response, "Access-Control-Allow-Methods", c->request.answer.allow);
    MHD_add_response_header(response, "Access-Control-Allow-Headers",
                            "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
                            "Last-Event-ID, X-Request-Id");
    MHD_add_response_header(response, "Access-Control-Max-Age", "600");
}

static enum MHD_Result send_answer(http_connection *c)
{
    struct http_answer *answer = &c->request.answer;
    if (answer->status == MHD_HTTP_OK && answer->etag[0] &&
        http_etag_matches(header(c, MHD_HTTP_HEADER_IF_NONE_MATCH), answer->etag)) {
        answer->status = MHD_HTTP_NOT_MODIFIED;
        answer->content_type = NULL;
        answer->static_body = NULL;
        free(answer->body);
        answer->body = NULL;
        answer->gzip = false;
        answer->size = 0;
    }
    struct MHD_Response *response;
    /* libmicrohttpd before 1.0 ends a stream's body even where there is none. */
    bool stream = answer->read && strcmp(c->method, MHD_HTTP_METHOD_HEAD) != 0;
    if (stream)
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, c, NULL);
    else if (answer->body)
        response = MHD_create_response_from_buffer(answer->size, answer->body, MHD_RESPMEM_MUST_FREE);
    else
        response = MHD_create_response_from_buffer(answer->size, (void *)(uintptr_t)answer->static_body,
                                                   MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    answer->body = NULL; /* the response's now */
    if (answer->content_type)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type);
    MHD_add_response_header(response, "X-Request-Id", c->request.id);
    if (!has_header(answer->headers, MHD_HTTP_HEADER_CACHE_CONTROL))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (const http_header *h = answer->headers; h && h->name; h++)
        MHD_add_response_header(response, h->name, h->value);
    if (answer->gzip)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    add_vary(response, c->request.app->config);
    add_cors(c, response);
    if (answer->etag[0])
        MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, answer->etag);
    if (answer->location[0])
        MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, answer->location);
    if (answer->authenticate)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, answer->authenticate);
    if (answer->allow[0])
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, answer->allow);
    if (answer->retry_after > 0)
        MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, log_format("%d", answer->retry_after));
    if (c->link)
        http_link_set(c->link, HTTP_LINK_WORKING, stream ? 0 : patience(c, answer->size));
    enum MHD_Result result = http_queue(c->mhd, answer->status, response) ? MHD_YES : MHD_NO;
    MHD_destroy_response(response);
    take_note(c);
    return result;
}

/* ---- requests -------------------------------------------------------------------------------------- */

/* False once the server waits for the last ones. */
static bool count_in(http_connection *c)
{
    pthread_mutex_lock(&c->server->lock);
    c->counted = !c->server->closing;
    c->server->in_progress += c->counted;
    pthread_mutex_unlock(&c->server->lock);
    return c->counted;
}

static void connection_free(http_connection *c)
{
    http_request *request = &c->request;
    if (c->counted) {
        pthread_mutex_lock(&c->server->lock);
        if (--c->server->in_progress == 0)
            pthread_cond_broadcast(&c->server->none_left);
        pthread_mutex_unlock(&c->server->lock);
    }
    if (request->context_free)
        request->context_free(request->context);
    for (int i = 0; i < HTTP_QUERIES; i++)
        free(request->query[i]);
    free(request->idempotency_key);
    free(request->body);
    free(request->answer.body);
    free(c->path);
    free(c);
}

static void request_completed(void *arg, struct MHD_Connection *mhd, void **slot,
                              enum MHD_RequestTerminationCode why)
{
    const front *f = arg;
    (void)mhd;
    (void)why;
    http_connection *c = *slot;
    if (c && c->link)
        http_link_set(c->link, HTTP_LINK_IDLE, (double)f->server->app->config->idle_seconds);
    if (c)
        connection_free(c);
    *slot = NULL;
}

void http_request_id(struct MHD_Connection *connection, char out[HTTP_ID_SIZE])
{
    const char *sent = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Request-Id");
    size_t n = sent ? strlen(sent) : 0;
    bool usable = n > 0 && n < HTTP_ID_SIZE;
    for (size_t i = 0; usable && i < n; i++)
        usable = sent[i] > ' ' && sent[i] < 127;
    if (usable) {
        memcpy(out, sent, n + 1);
    } else {
        unsigned char bytes[8];
        randombytes_buf(bytes, sizeof bytes);
        sodium_bin2hex(out, HTTP_ID_SIZE, bytes, sizeof bytes);
    }
}

enum { KEY_MAXIMUM = 255 };

/* Keeps the Idempotency-Key of a POST, or refuses the request. */
static void set_idempotency_key(http_connection *c)
{
    const char *sent = header(c, "Idempotency-Key");
    if (!sent || strcmp(c->method, "POST") != 0)
        return;
    size_t n = strlen(sent);
    bool usable = n > 0 && n <= KEY_MAXIMUM;
    for (size_t i = 0; usable && i < n; i++)
        usable = sent[i] >= ' ' && sent[i] < 127;
    if (!usable)
        http_answer_problem(&c->request, MHD_HTTP_BAD_REQUEST, NULL,
                            "an Idempotency-Key has 1 to %d printable ASCII characters", KEY_MAXIMUM);
    else if (!(c->request.idempotency_key = strdup(sent)))
        http_answer_store_problem(&c->request, STORE_NO_MEMORY);
    else
        crypto_generichash_init(&c->hash, NULL, 0, sizeof c->request.body_hash);
}

static void set_content_type(http_connection *c)
{
    const char *sent = header(c, MHD_HTTP_HEADER_CONTENT_TYPE);
    char *out = c->request.content_type;
    size_t n = 0;
    while (sent && sent[n] && sent[n] != ';' && sent[n] != ' ' && n + 1 < sizeof c->request.content_type) {
        out[n] = (char)tolower((unsigned char)sent[n]);
        n++;
    }
    out[n] = '\0';
}

static const struct {
    const char *name;
    http_query query;
} query_names[] = {
    {"limit", HTTP_QUERY_LIMIT},   {"page_token", HTTP_QUERY_PAGE_TOKEN}, {"state", HTTP_QUERY_STATE},
    {"worker", HTTP_QUERY_WORKER}, {"points", HTTP_QUERY_POINTS},         {"sort", HTTP_QUERY_SORT},
    {"format", HTTP_QUERY_FORMAT}, {"label", HTTP_QUERY_LABEL},
};

typedef struct query_reading {
    http_connection *c;
    wire_errors *errors;
} query_reading;

static enum MHD_Result read_query(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
    query_reading *reading = arg;
    http_request *request = &reading->c->request;
    (void)kind;
    for (size_t i = 0; i < sizeof query_names / sizeof *query_names; i++) {
        http_query query = query_names[i].query;
        if (strcmp(key, query_names[i].name) != 0 || !(request->route->queries & 1u << query))
            continue;
        if (request->query[query]) {
            wire_errors_add(reading->errors, "", "query parameter '%s' is given twice", key);
            return MHD_YES;
        }
        request->query[query] = strdup(value ? value : "");
        return request->query[query] ? MHD_YES : MHD_NO;
    }
    wire_errors_add(reading->errors, "", "unknown query parameter '%s'", key);
    return MHD_YES;
}

/* A body that is too large is read and dropped if it is not very large: closing the connection on a client
 * that is still sending would lose it the answer. Not if the client waits to be told to send. */
static bool is_drained(http_connection *c, unsigned long long length)
{
    return length <= DRAINED_MAXIMUM && !header(c, MHD_HTTP_HEADER_EXPECT);
}

/* Refuses what can be refused from the headers alone; true when the request may go on. */
static bool check_headers(http_connection *c)
{
    http_request *request = &c->request;
    const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (request->route->body != ROUTE_BODY_NONE) {
        if (request->route->body != ROUTE_BODY_OPTIONAL && !length &&
            !header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
            http_answer_problem(request, MHD_HTTP_LENGTH_REQUIRED, NULL,
                                "this call takes a body with a Content-Length");
            return false;
        }
        c->limit = request->route->kind == ROUTE_UPLOAD ? request->app->config->max_upload
                                                        : request->app->config->max_body;
        if (length && strtoull(length, NULL, 10) > c->limit && is_drained(c, strtoull(length, NULL, 10))) {
            c->too_large = true;
        } else if (length && strtoull(length, NULL, 10) > c->limit) {
            http_answer_problem(request, MHD_HTTP_CONTENT_TOO_LARGE, NULL,
                                "the body has %s bytes; the limit is %zu", length, c->limit);
            return false;
        }
        bool sent =
            header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) || (length && strtoull(length, NULL, 10) > 0);
        if (request->route->kind != ROUTE_UPLOAD && sent &&
            strcmp(request->content_type, "application/json") != 0) {
            http_answer_problem(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, NULL,
                                "the body has to be application/json, not %s",
                                request->content_type[0] ? request->content_type : "without a Content-Type");
            return false;
        }
    }
    wire_errors errors = {0};
    query_reading reading = {.c = c, .errors = &errors};
    MHD_get_connection_values(c->mhd, MHD_GET_ARGUMENT_KIND, read_query, &reading);
    if (errors.n > 0) {
        http_answer_problem(request, MHD_HTTP_UNPROCESSABLE_CONTENT, NULL, "%s", errors.items[0].detail);
        wire_errors_clear(&errors);
        return false;
    }
    return true;
}

/* The first reason to refuse the request unread. */
static http_refusal check_request(http_connection *c, const char *version)
{
    if (c->refusal.status)
        return c->refusal; /* of the target */
    http_refusal refusal = http_check_framing(c->mhd, version);
    if (refusal.status || c->front->owners || c->request.app->config->tokens_required)
        return refusal; /* no page in a browser has the token, or gets to the socket */
    return http_check_origin(c->mhd, c->method, c->request.app->config);
}

/* May the caller do this? Answers if not, in words that are the same whatever there is. */
static bool check_caller(http_connection *c)
{
    http_request *request = &c->request;
    if (c->front->owners || !request->app->config->tokens_required)
        request->caller = (auth_identity){.role = AUTH_ADMIN};
    else
        request->caller =
            auth_identify(request->app->auth, header(c, MHD_HTTP_HEADER_AUTHORIZATION), clock_now());
    switch (auth_decide(request->route->access, &request->caller, request->study)) {
    case AUTH_ALLOWED:
        return true;
    case AUTH_UNKNOWN_CALLER:
        request->answer.authenticate = "Bearer realm=\"banditd\"";
        http_answer_problem(request, MHD_HTTP_UNAUTHORIZED, NULL,
                            "this call needs a valid token, sent as Authorization: Bearer");
        return false;
    case AUTH_FORBIDDEN:
        break;
    }
    http_answer_problem(request, MHD_HTTP_FORBIDDEN, NULL, "this token does not allow this call");
    return false;
}

/* Headers have come: routes the request or answers it at once. */
static void open_request(http_connection *c, const char *version)
{
    http_request *request = &c->request;
    http_request_id(c->mhd, request->id);
    set_content_type(c);
    c->refusal = check_request(c, version);
    if (c->refusal.status) {
        http_answer_problem(request, c->refusal.status, NULL, "%s", c->refusal.detail);
        return;
    }
    unsigned methods = 0;
    http_method method = HTTP_METHODS;
    if (strcmp(c->method, "GET") == 0 || strcmp(c->method, "HEAD") == 0)
        method = HTTP_GET;
    else if (strcmp(c->method, "POST") == 0)
        method = HTTP_POST;
    else if (strcmp(c->method, "PUT") == 0)
        method = HTTP_PUT;
    else if (strcmp(c->method, "PATCH") == 0)
        method = HTTP_PATCH;
    else if (strcmp(c->method, "DELETE") == 0)
        method = HTTP_DELETE;
    request->route = route_find(c->path, method, request, &methods);
    if (strcmp(c->path, "*") == 0 && strcmp(c->method, "OPTIONS") == 0)
        methods = (1u << HTTP_METHODS) - 1; /* what the server as a whole takes (RFC 9112, 3.2.4) */
    if (atomic_load(&request->app->stopping)) {
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "the server is stopping");
    } else if (!request->route && !methods) {
        http_answer_problem(request, MHD_HTTP_NOT_FOUND, NULL, "there is nothing at %s", c->path);
    } else if (!request->route) {
        route_allow(methods, request->answer.allow);
        if (strcmp(c->method, "OPTIONS") == 0)
            http_answer_empty(request, MHD_HTTP_NO_CONTENT);
        else
            http_answer_problem(request, MHD_HTTP_METHOD_NOT_ALLOWED, NULL, "%s takes %s", c->path,
                                request->answer.allow);
    } else if (check_caller(c) && check_headers(c)) {
        set_idempotency_key(c);
    }
}

static bool collect(http_connection *c, const char *data, size_t n)
{
    http_request *request = &c->request;
    if (n > c->limit - request->body_size) {
        c->too_large = true;
        return true;
    }
    if (request->body_size + n + 1 > c->capacity) {
        size_t capacity = c->capacity ? c->capacity : 1024;
        while (capacity < request->body_size + n + 1)
            capacity *= 2;
        char *body = realloc(request->body, capacity);
        if (!body)
            return false;
        request->body = body;
        c->capacity = capacity;
    }
    memcpy(request->body + request->body_size, data, n);
    if (request->idempotency_key)
        crypto_generichash_update(&c->hash, (const unsigned char *)data, n);
    request->body_size += n;
    request->body[request->body_size] = '\0';
    expect_more(c);
    return true;
}

static void run_handler(pool_task *task)
{
    http_request *request = (http_request *)((char *)task - offsetof(http_request, task));
    request->route->handler(request);
}

static void run_piece(pool_task *task)
{
    http_request *request = (http_request *)((char *)task - offsetof(http_request, task));
    http_connection *c = request->connection;
    size_t n = c->piece_size;
    c->piece_size = 0;
    request->route->piece(request, request->body, n);
}

/* False when the server is stopping: libmicrohttpd must not be stopped with a suspended connection. */
static bool suspend(http_connection *c)
{
    if (!c->counted && !count_in(c))
        return false;
    c->suspended = true;
    c->suspended_at = clock_steady();
    if (c->link)
        http_link_set(c->link, HTTP_LINK_WORKING, 0);
    MHD_suspend_connection(c->mhd);
    return true;
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
        request->task.run = run_handler;
        pool_submit(request->app->pool, &request->task, POOL_SHORT);
        return;
    }
    c->suspended = false;
    c->working += clock_steady() - c->suspended_at;
    expect_more(c);
    MHD_resume_connection(c->mhd);
}

/* Part of an upload's body: full pieces go to the pool. */
static enum MHD_Result upload_data(http_connection *c, const char *data, size_t *n)
{
    http_request *request = &c->request;
    if (*n > c->limit - request->body_size) {
        http_answer_problem(request, MHD_HTTP_CONTENT_TOO_LARGE, NULL,
                            "the body is larger than the limit of %zu bytes", c->limit);
        *n = 0;
        return MHD_YES;
    }
    if (!request->body && !(request->body = malloc(PIECE_SIZE)))
        return MHD_NO;
    size_t take = PIECE_SIZE - c->piece_size < *n ? PIECE_SIZE - c->piece_size : *n;
    memcpy(request->body + c->piece_size, data, take);
    if (request->idempotency_key)
        crypto_generichash_update(&c->hash, (const unsigned char *)data, take);
    c->piece_size += take;
    request->body_size += take;
    expect_more(c);
    *n -= take;
    if (c->piece_size == PIECE_SIZE) {
        if (!suspend(c))
            return MHD_NO;
        request->task.run = run_piece;
        pool_submit(request->app->pool, &request->task, POOL_SHORT);
    }
    return MHD_YES;
}

/* The whole body has come. */
static enum MHD_Result start_handler(http_connection *c)
{
    http_request *request = &c->request;
    if (c->too_large) {
        http_answer_problem(request, MHD_HTTP_CONTENT_TOO_LARGE, NULL,
                            "the body is larger than the limit of %zu bytes", c->limit);
        return send_answer(c);
    }
    c->phase = PHASE_HANDLING;
    request->started = clock_steady(); /* how long the client took to send it is not our doing */
    if (request->idempotency_key)
        crypto_generichash_final(&c->hash, request->body_hash, sizeof request->body_hash);
    if (request->route->kind != ROUTE_IMMEDIATE && !suspend(c)) {
        http_answer_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "the server is stopping");
        return send_answer(c);
    }
    switch (request->route->kind) {
    case ROUTE_IMMEDIATE:
        request->route->handler(request);
        return send_answer(c);
    case ROUTE_POOL:
        request->task.run = run_handler;
        pool_submit(request->app->pool, &request->task, POOL_SHORT);
        return MHD_YES;
    case ROUTE_UPLOAD:
        c->last_piece = true;
        request->task.run = c->piece_size > 0 ? run_piece : run_handler;
        pool_submit(request->app->pool, &request->task, POOL_SHORT);
        return MHD_YES;
    }
    return MHD_NO;
}

/* The request line has come, its target still encoded. What is returned becomes the request's slot. */
static void *begin_request(void *arg, const char *target, struct MHD_Connection *mhd)
{
    const front *f = arg;
    http_server *server = f->server;
    http_connection *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->front = f;
    c->server = server;
    c->mhd = mhd;
    c->refusal = http_check_target(target);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    c->socket = info ? info->connect_fd : -1;
    c->request.connection = c;
    c->request.app = server->app;
    c->request.number = -1;
    c->request.started = clock_steady();
    info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    c->link = info ? info->socket_context : NULL;
    expect_more(c);
    return c;
}

/* Is the connection still good after a refusal? Its body, if any, must be of a known and small size. */
static bool may_go_on(http_connection *c)
{
    const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return !c->refusal.status && !header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) &&
           !header(c, MHD_HTTP_HEADER_EXPECT) && (!length || strtoull(length, NULL, 10) <= SKIPPED_MAXIMUM);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
                              const char *version, const char *data, size_t *data_size, void **slot)
{
    http_connection *c = *slot;
    (void)arg;
    (void)mhd;
    if (!c)
        return MHD_NO; /* there was no memory for it */
    if (!c->opened) {
        c->opened = true;
        c->method = method;
        const char *path = http_target_path(mhd, url, &c->refusal);
        c->path = strdup(path ? path : url);
        if (!c->path)
            return MHD_NO;
        open_request(c, version);
        /* Answering now, before the body is read, closes the connection after the answer. */
        if (c->phase == PHASE_ANSWERED && !may_go_on(c))
            return send_answer(c);
        return MHD_YES;
    }
    if (c->phase == PHASE_ANSWERED && *data_size == 0)
        return send_answer(c);
    if (*data_size > 0) {
        if (c->phase == PHASE_BODY && !c->too_large && c->request.route->body != ROUTE_BODY_NONE) {
            if (c->request.route->kind == ROUTE_UPLOAD)
                return upload_data(c, data, data_size);
            if (!collect(c, data, *data_size))
                return MHD_NO;
        }
        *data_size = 0; /* what nobody wants is read and dropped */
        return MHD_YES;
    }
    return start_handler(c);
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
    const front *f = arg;
    const union MHD_ConnectionInfo *info;
    switch (what) {
    case MHD_CONNECTION_NOTIFY_STARTED:
        info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        *context = info ? http_links_find(f->server->links, info->connect_fd) : NULL;
        break;
    case MHD_CONNECTION_NOTIFY_CLOSED:
        if (*context)
            http_link_gone(*context);
        *context = NULL;
        break;
    }
}

/* ---- starting and stopping --------------------------------------------------------------------------- */

/* libmicrohttpd is given sockets that are accepted already: it has no limit that it answers, shuts a
 * listening socket that is another's, and its pause in accepting races with its end (0.9.75). */
static bool take_connection(void *arg, int fd, const struct sockaddr *address, socklen_t size)
{
    front *f = arg;
    return MHD_add_connection(f->daemons[f->next++ % f->n_daemons], fd, address, size) == MHD_YES;
}

static bool front_start(front *f, size_t threads)
{
    const server_config *config = f->server->app->config;
    /* Of a stalled stream; all other times are ours (http_links.h). */
    unsigned longest =
        30 + (unsigned)(config->idle_seconds > config->request_seconds ? config->idle_seconds
                                                                       : config->request_seconds);
    bool tls = !f->owners && *config->tls_cert;
    struct MHD_OptionItem none[] = {{.option = MHD_OPTION_END}};
    struct MHD_OptionItem secure[] = {
        {.option = MHD_OPTION_HTTPS_PRIORITIES, .ptr_value = (void *)(uintptr_t)http_tls_priorities},
        {.option = MHD_OPTION_HTTPS_CERT_CALLBACK, .ptr_value = (void *)(intptr_t)http_tls_retrieve},
        {.option = MHD_OPTION_END}};
    for (f->n_daemons = 0; f->n_daemons < threads; f->n_daemons++) {
        f->daemons[f->n_daemons] = MHD_start_daemon(
            MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_ITC |
                MHD_USE_NO_LISTEN_SOCKET | (tls ? MHD_USE_TLS : 0),
            0, NULL, NULL, handle, f, MHD_OPTION_ARRAY, tls ? secure : none, MHD_OPTION_EXTERNAL_LOGGER,
            log_mhd, NULL, MHD_OPTION_URI_LOG_CALLBACK, begin_request, f, MHD_OPTION_NOTIFY_COMPLETED,
            request_completed, f, MHD_OPTION_NOTIFY_CONNECTION, connection_changed, f,
            MHD_OPTION_CONNECTION_TIMEOUT, longest, MHD_OPTION_CONNECTION_LIMIT,
            (unsigned)config->max_connections + 1024u, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
            (size_t)HTTP_HEAD_MEMORY, MHD_OPTION_END);
        if (!f->daemons[f->n_daemons]) {
            log_event(LOG_ERROR, "http_start_failed", "reason", strerror(errno), NULL);
            return false;
        }
    }
    http_links_add(f->server->links, f->listener.fd, !tls, take_connection, f);
    return true;
}

static void front_stop(front *f)
{
    for (size_t i = 0; i < f->n_daemons; i++)
        MHD_stop_daemon(f->daemons[i]);
    listener_close(&f->listener);
}

/* Not more than there may be files, with some left for the database. */
static size_t most_connections(const server_config *config)
{
    enum { OTHER_FILES = 128 };
    struct rlimit limit;
    size_t most = config->max_connections;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most + OTHER_FILES)
        most = limit.rlim_cur > 2 * OTHER_FILES ? limit.rlim_cur - OTHER_FILES : OTHER_FILES;
    return most;
}

http_server *http_start(app *a, const char *listen_address, char *url, size_t url_size)
{
    http_links_limits limits = {.total = most_connections(a->config),
                                .per_address = a->config->max_connections_per_address,
                                .request_seconds = (double)a->config->request_seconds};
    http_server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    server->app = a;
    server->everyone = (front){.server = server, .listener = {.fd = -1, .folder = -1}};
    server->owner = (front){.server = server, .listener = {.fd = -1, .folder = -1}, .owners = true};
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->none_left, NULL);
    server->links = http_links_new(&limits);
    bool started = server->links != NULL;
    if (started && listen_address)
        started = listener_open(&server->everyone.listener, listen_address, *a->config->tls_cert != '\0', url,
                                url_size) &&
                  (!*a->config->tls_cert || http_tls_load(a->config->tls_cert, a->config->tls_key));
    if (started && listener_open_private(&server->owner.listener, a->config->db))
        started = front_start(&server->owner, 1);
    else if (!listen_address)
        started = false;
    if (started && listen_address)
        started = front_start(&server->everyone, a->config->threads > 1 ? DAEMONS_MAXIMUM : 1);
    if (started && http_links_start(server->links))
        return server;
    http_stop(server);
    return NULL;
}

void http_reload(http_server *server)
{
    const server_config *config = server->app->config;
    log_event(LOG_INFO, "reloading", NULL);
    if (*config->tls_cert)
        http_tls_load(config->tls_cert, config->tls_key);
}

void http_stop(http_server *server)
{
    if (!server)
        return;
    if (server->links)
        http_links_stop_accepting(server->links);
    listener_close(&server->everyone.listener); /* who comes now is refused, and need not wait */
    if (server->links)
        http_links_end(server->links, STOP_SECONDS); /* who takes an answer too slowly */
    pthread_mutex_lock(&server->lock);
    server->closing = true;
    while (server->in_progress > 0)
        pthread_cond_wait(&server->none_left, &server->lock);
    pthread_mutex_unlock(&server->lock);
    front_stop(&server->everyone);
    front_stop(&server->owner);
    http_links_free(server->links);
    http_tls_clear();
    pthread_cond_destroy(&server->none_left);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
