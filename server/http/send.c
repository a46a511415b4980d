/* Sends the answer of a request. */
#include "proto/entity_tag.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/http/connection.h"
#include "server/http/route.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { STREAM_BLOCK = 16 * 1024, BYTES_A_SECOND = 64 << 10 };

const char *http_connection_header(const http_connection *c, const char *name)
{
    return MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, name);
}

/* Ends a JSON answer with a newline, so that it is a line in a terminal and in a file. The newline replaces the NUL
 * that ends every body. Static answers already have it. */
static void end_line(struct http_answer *answer)
{
    bool json = answer->content_type && strstr(answer->content_type, "json");
    if (json && answer->body && answer->size > 0 && !answer->gzip && answer->body[answer->size - 1] != '\n')
        answer->body[answer->size++] = '\n';
}

/* Tags and compresses the body, once, on the thread that made the answer. Answers that may be stored for a
 * repeated request stay unchanged. */
static void prepare(http_connection *c)
{
    struct http_answer *answer = &c->request.answer;
    end_line(answer);
    if (!c->opened || !(answer->body || answer->static_body) || answer->gzip ||
        answer->status != MHD_HTTP_OK || c->request.idempotency_key)
        return;
    if (!answer->etag[0] && answer->body && c->request.route->method == HTTP_GET)
        http_tag(answer);
    if (http_accepts_gzip(http_connection_header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
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
    if (c->suspended)
        http_resume(c);
}

const char *http_header_value(http_request *request, const char *name)
{
    return http_connection_header(request->connection, name);
}

double http_patience(const http_connection *c, size_t n)
{
    size_t seconds = c->request.app->config->request_seconds + n / BYTES_A_SECOND;
    return (double)seconds;
}

/* The client must receive each part in time; there is no time limit between parts. */
static ssize_t read_stream(void *arg, uint64_t position, char *out, size_t n)
{
    http_connection *c = arg;
    (void)position;
    ptrdiff_t given = c->request.answer.read(&c->request, out, n);
    if (c->link)
        http_link_set(c->link, HTTP_LINK_WORKING, given > 0 ? http_patience(c, (size_t)given) : 0);
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
    if (c->door->service->answered)
        c->door->service->answered(request->app, request->route, request->answer.status,
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
                  "detail", failed ? request->answer.detail : NULL, /* other details may quote the request */
                  NULL);
}

/* Answers depend on Accept-Encoding, and with --cors-origin on Origin. */
static void add_vary(struct MHD_Response *response, const server_config *config)
{
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
                            *config->cors_origins ? "Accept-Encoding, Origin" : "Accept-Encoding");
}

/* Adds headers for pages of the origins that may read answers (Fetch standard, CORS protocol). */
static void add_cors(http_connection *c, struct MHD_Response *response)
{
    const char *origin =
        http_cors_origin(http_connection_header(c, MHD_HTTP_HEADER_ORIGIN), c->request.app->config);
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

/* A client that already has the answer gets 304 and no body. */
static void leave_out_what_the_client_has(const http_connection *c, struct http_answer *answer)
{
    if (answer->status != MHD_HTTP_OK || !answer->etag[0] ||
        !wire_etag_matches(http_connection_header(c, MHD_HTTP_HEADER_IF_NONE_MATCH), answer->etag))
        return;
    answer->status = MHD_HTTP_NOT_MODIFIED;
    answer->content_type = NULL;
    answer->static_body = NULL;
    free(answer->body);
    answer->body = NULL;
    answer->gzip = false;
    answer->size = 0;
}

/* A response with the answer's body, which it then owns, and no headers; NULL if there is no memory.
 * stream: the body is read piece by piece; false for HEAD. */
static struct MHD_Response *response_with_body(http_connection *c, struct http_answer *answer, bool stream)
{
    struct MHD_Response *response;
    if (answer->read)
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, c, NULL);
    else if (answer->body)
        response = MHD_create_response_from_buffer(answer->size, answer->body, MHD_RESPMEM_MUST_FREE);
    else
        response = MHD_create_response_from_buffer(answer->size, (void *)(uintptr_t)answer->static_body,
                                                   MHD_RESPMEM_PERSISTENT);
    if (!response)
        return NULL;
    /* libmicrohttpd before 1.0 sends the end of a stream's chunks even for HEAD, which has no body. Without chunks, the
     * answer has neither that nor a Content-Length, and the connection ends with it. */
    if (answer->read && !stream)
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    if (answer->body) {
        c->buffered += answer->size;
        budget_charge(c->request.app->buffered, c->request.holder, answer->size);
    }
    answer->body = NULL;
    return response;
}

static void add_headers(http_connection *c, const struct http_answer *answer, struct MHD_Response *response)
{
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
    /* libmicrohttpd 0.9.75 accepts chunks with malformed line ends. A proxy in front may see different chunks, and
     * therefore a different request after them. So the connection ends with this answer. */
    if (c->opened && http_connection_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

enum MHD_Result http_send_answer(http_connection *c)
{
    struct http_answer *answer = &c->request.answer;
    leave_out_what_the_client_has(c, answer);
    bool stream = answer->read && strcmp(c->method, MHD_HTTP_METHOD_HEAD) != 0;
    struct MHD_Response *response = response_with_body(c, answer, stream);
    if (!response)
        return MHD_NO;
    add_headers(c, answer, response);
    if (c->link)
        http_link_set(c->link, HTTP_LINK_WORKING, stream ? 0 : http_patience(c, answer->size));
    enum MHD_Result result = http_queue(c->mhd, answer->status, response) ? MHD_YES : MHD_NO;
    MHD_destroy_response(response);
    take_note(c);
    return result;
}
