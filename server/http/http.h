/* HTTP on libmicrohttpd: connections, bodies, suspended requests and responses. Only this folder uses the
 * library.
 *
 * A request is routed when its headers have been received. Its body is collected or, for an upload, passed on
 * in pieces. Then its handler is called once. A handler that is not immediate may answer later, from any
 * thread; until then the connection is suspended and occupies no thread. */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include "proto/wire.h"
#include "server/base/budget.h"
#include "server/base/pool.h"
#include "server/http/auth.h"
#include "server/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;
struct embedded_file;
struct route;
typedef struct http_server http_server;

/* Query parameters that routes may declare. */
typedef enum http_query {
    HTTP_QUERY_LIMIT,
    HTTP_QUERY_PAGE_TOKEN,
    HTTP_QUERY_STATE,
    HTTP_QUERY_WORKER,
    HTTP_QUERY_POINTS,
    HTTP_QUERY_EPSILON,
    HTTP_QUERY_SORT,
    HTTP_QUERY_ORDER,
    HTTP_QUERY_FORMAT,
    HTTP_QUERY_LABEL,
    HTTP_QUERY_METRIC,
    HTTP_QUERY_PARAMETER,
    HTTP_QUERY_WITH,
    HTTP_QUERY_RETIRED,
    HTTP_QUERY_PULLS,
    HTTP_QUERY_KEY,
    HTTP_QUERY_IGNORE,
    HTTP_QUERY_ID,
    HTTP_QUERY_TRIALS,
    HTTP_QUERY_BROKEN,
    HTTP_QUERIES,
    HTTP_QUERY_BOUNDS = HTTP_QUERIES /* any number of min:NAME and max:NAME */
} http_query;

const char *http_query_name(http_query query);

/* ?min:NAME= or ?max:NAME= */
typedef struct http_bound {
    bool upper;
    char *name, *value; /* as given, owned */
} http_bound;

enum { HTTP_ID_SIZE = 72 };

typedef struct http_request http_request;

/* A header of a response. Lists of headers are static and end with a name of NULL. */
typedef struct http_header {
    const char *name, *value;
} http_header;

struct http_request {
    struct app *app;
    const struct route *route;
    char study[64];                   /* {study} of the path; "": none */
    int64_t number;                   /* {number} of the path; −1: none */
    const struct embedded_file *file; /* {file} of the path; NULL: none */
    char token[AUTH_ID_SIZE];         /* {token} of the path; "": none */
    auth_identity caller;
    char holder
        [BUDGET_HOLDER_SIZE]; /* counted for this holder: a token or an address; "": the owner, not counted */
    char *query[HTTP_QUERIES];
    http_bound *bounds; /* as given, in no order; names may be repeated */
    size_t n_bounds, bounds_capacity;
    char content_type[64]; /* lower case, without parameters; "" */
    char *body;            /* NUL-terminated; NULL for an upload or without a body */
    size_t body_size;
    char id[HTTP_ID_SIZE];       /* X-Request-Id */
    char *idempotency_key;       /* NULL: none was sent */
    unsigned char body_hash[32]; /* BLAKE2b of the whole body, also of an upload; set only with a key */
    double started;              /* clock_steady: when it was completely received, or refused */
    double may_wait;             /* seconds for which the client agreed to wait (wait_seconds) */

    pool_task task; /* for use by the handler: the request owns its task */
    void *context;  /* for use by the handler */
    void (*context_free)(void *context);

    struct http_answer {
        int status;
        char *body; /* owned, with a NUL after its `size` bytes; NULL: none */
        const char *static_body;
        ptrdiff_t (*read)(struct http_request *request, char *out, size_t n); /* NULL: not a stream */
        size_t size;
        const char *content_type;
        char location[96];        /* "": no such header */
        int retry_after;          /* seconds; 0: no such header */
        char detail[160];         /* the detail of a problem, for the log */
        char allow[64];           /* "": no such header */
        const char *authenticate; /* WWW-Authenticate; NULL: no such header */
        bool gzip;                /* the body is compressed */
        char etag[40]; /* quoted; "": no such header. A client that sends it in If-None-Match gets 304 */
        const http_header *headers; /* additional headers; NULL: none. Cache-Control replaces no-store */
    } answer;

    /* If set, the answer is kept until http_release, that is, until the commit that it depends on. */
    bool held;
    struct http_request *next; /* for lists of the handler */

    struct http_connection *connection; /* connection.h */
};

/* These set the answer and send it: call one of them exactly once per request, from any thread. The request
 * may be freed before they return. */
void http_answer_json(http_request *request, int status, wire_writer *body); /* takes the writer's text */
void http_answer_static(http_request *request, int status, const char *content_type, const char *body,
                        size_t size);
void http_answer_empty(http_request *request, int status);
void http_answer_problem(http_request *request, int status, const wire_errors *errors, const char *detail,
                         ...) __attribute__((format(printf, 4, 5)));
/* Answers with the problem for this status of a decoder or of the store. */
void http_answer_undecodable(http_request *request, wire_status status, const wire_errors *errors);
void http_answer_store_problem(http_request *request, store_status status);

/* A streamed answer. `read` is called on the HTTP thread whenever the client can receive more: it copies up
 * to n bytes and returns their number, or HTTP_STREAM_END. If there is nothing to send, it suspends the
 * stream and returns 0; the next call follows http_stream_resume (any thread, once), which must not be called
 * before http_stream_suspend has returned. The request lives until the stream has ended or the client is
 * gone; it is never freed while the stream is suspended. */
#define HTTP_STREAM_END ((ptrdiff_t)-1)
typedef ptrdiff_t http_read(http_request *request, char *out, size_t n);
void http_answer_stream(http_request *request, const char *content_type, http_read *read);
void http_stream_suspend(http_request *request);
void http_stream_resume(http_request *request);
void http_stream_cut(http_request *request); /* closes the connection of a stream that is not suspended */

/* Called by the handler of a ROUTE_DEFERRED route before it gives the request to another thread. False: the server is
 * stopping, and the request has been answered. */
bool http_defer(http_request *request);

/* A number for the caller of the request, for queues that are fair between callers. */
uint64_t http_caller(const http_request *request);

/* Gives the task to the reading threads, in its caller's turn. */
void http_read_later(http_request *request, pool_task *task);

/* A header of the request, before it is answered; NULL if it was not sent. */
const char *http_header_value(http_request *request, const char *name);

/* Does the client already have the body with this tag, plain or compressed (If-None-Match)? Then answer.etag is the tag
 * that it sent, and the answer is 304. Call it before making a body that is costly. */
bool http_client_has(http_request *request, const char *etag);

/* Sends the answer that the caller has stored in request->answer. */
void http_answer_again(http_request *request);

/* Sends a held answer, or a problem instead of it if its write has failed. */
void http_release(http_request *request);
void http_release_failed(http_request *request, store_status status);

/* Has the client of this suspended request closed its side of the connection? libmicrohttpd does not read
 * from a suspended connection, so asks and streams, which may wait long, check every HTTP_CLIENT_CHECK_MS. A
 * client that only shuts down its sending side counts as gone. */
enum { HTTP_CLIENT_CHECK_MS = 2000 };
bool http_client_is_gone(const http_request *request);

/* The route of an upload gets the body in pieces, one at a time. The connection is suspended until
 * http_upload_continue (any thread), which bounds the memory. After the last piece the route's handler is
 * called. A handler that answers instead of calling http_upload_continue ends the upload. */
void http_upload_continue(http_request *request);

/* Requests are counted by these statuses, ascending. */
enum { HTTP_STATUSES = 22 };
extern const int http_statuses[HTTP_STATUSES];

/* What the server serves, and the callback that counts responses. Borrowed until http_stop. */
typedef struct http_service {
    const struct route *routes; /* ends with a path of NULL */
    /* Called for each response; may be NULL. route NULL: the request matched none. seconds < 0: the client
     * agreed to wait, so the time says nothing about the server. */
    void (*answered)(struct app *app, const struct route *route, int status, double seconds);
} http_service;

/* Starts serving on the address (NULL: none) and, for the owner of the database alone, on a unix socket next
 * to the database. Returns NULL, having logged the reason, if the address fails, or if the unix socket fails
 * and there is no address. */
http_server *http_start(struct app *app, const http_service *service, const char *listen_address, char *url,
                        size_t url_size);

/* Checks the versions of libmicrohttpd and of the other libraries that serve (libraries_check). */
void http_check_libraries(void);

/* Reads the certificate and the administrator token of the file again. What cannot be used is logged, and the old one
 * stays. */
void http_reload(http_server *server);

/* Stops accepting connections, waits until every request in progress has been answered, and closes. */
void http_stop(http_server *server);

#endif
