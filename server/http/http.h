/* HTTP on libmicrohttpd: connections, bodies, suspended requests and answers. Nothing else in the server
 * knows the library.
 *
 * A request is routed when its headers have come, its body is collected (or, for uploads, handed on in
 * pieces), and its handler is called once. A handler that is not immediate may answer at any later time from
 * any thread: the connection is suspended meanwhile and holds no thread. */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include "proto/wire.h"
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

/* Query parameters that any route may declare. */
typedef enum http_query {
    HTTP_QUERY_LIMIT,
    HTTP_QUERY_PAGE_TOKEN,
    HTTP_QUERY_STATE,
    HTTP_QUERY_WORKER,
    HTTP_QUERY_POINTS,
    HTTP_QUERY_SORT,
    HTTP_QUERY_FORMAT,
    HTTP_QUERY_LABEL,
    HTTP_QUERIES
} http_query;

enum { HTTP_ID_SIZE = 72 };

typedef struct http_request http_request;

/* A header of an answer; lists of them are static and closed by a name of NULL. */
typedef struct http_header {
    const char *name, *value;
} http_header;

struct http_request {
    struct app *app;
    const struct route *route;
    char study[64];                   /* {study} of the path, "" */
    int64_t number;                   /* {number} of the path, −1 */
    const struct embedded_file *file; /* {file} of the path, NULL */
    char token[AUTH_ID_SIZE];         /* {token} of the path, "" */
    auth_identity caller;
    char *query[HTTP_QUERIES];
    char content_type[64]; /* lower case, without parameters; "" */
    char *body;            /* NUL-terminated; NULL for uploads and without one */
    size_t body_size;
    char id[HTTP_ID_SIZE];       /* X-Request-Id */
    char *idempotency_key;       /* NULL: none was sent */
    unsigned char body_hash[32]; /* with a key: BLAKE2b of the whole body, also of an upload */
    double started;              /* clock_steady: when it was there, in full unless it is refused earlier */
    double may_wait;             /* seconds: so long its client wishes to be held, if need be */

    pool_task task; /* for the handler's own use: the request is its task's owner */
    void *context;  /* likewise */
    void (*context_free)(void *context);

    struct http_answer {
        int status;
        char *body; /* owned; NULL: none */
        const char *static_body;
        ptrdiff_t (*read)(struct http_request *request, char *out, size_t n); /* NULL: not a stream */
        size_t size;
        const char *content_type;
        char location[96];          /* "": no such header */
        int retry_after;            /* seconds; 0: no such header */
        char detail[160];           /* of a problem, for the log */
        char allow[64];             /* "": no such header */
        const char *authenticate;   /* WWW-Authenticate; NULL: no such header */
        bool gzip;                  /* so is the body */
        char etag[40];              /* quoted; "": no such header. A client that has it already gets 304 */
        const http_header *headers; /* more of them; NULL: none. One may take the place of no-store */
    } answer;

    /* When set, an answer is kept until http_release: it waits for the commit that makes it true. */
    bool held;
    struct http_request *next; /* for the handler's own lists */

    struct http_connection *connection; /* connection.h */
};

/* Sets the answer and sends it; exactly once per request, any thread. The request may be gone when these
 * return. */
void http_answer_json(http_request *request, int status, wire_writer *body); /* takes the writer's text */
void http_answer_static(http_request *request, int status, const char *content_type, const char *body,
                        size_t size);
void http_answer_empty(http_request *request, int status);
void http_answer_problem(http_request *request, int status, const wire_errors *errors, const char *detail,
                         ...) __attribute__((format(printf, 4, 5)));
/* The problem that a decoder's or the store's status stands for; whatever has been stored by then. */
void http_answer_undecodable(http_request *request, wire_status status, const wire_errors *errors);
void http_answer_store_problem(http_request *request, store_status status);

/* A streamed answer. `read` is called on the HTTP thread whenever the client can take some of it: it copies
 * up to n bytes and returns how many, or HTTP_STREAM_END. When there are none now it suspends the stream and
 * returns 0: the next call comes after http_stream_resume (any thread, once), which must not be called before
 * http_stream_suspend has returned. The request lives until the stream has ended or the client is gone, and
 * not while the stream is suspended does it end. */
#define HTTP_STREAM_END ((ptrdiff_t)-1)
typedef ptrdiff_t http_read(http_request *request, char *out, size_t n);
void http_answer_stream(http_request *request, const char *content_type, http_read *read);
void http_stream_suspend(http_request *request);
void http_stream_resume(http_request *request);
void http_stream_cut(http_request *request); /* closes the connection under a stream that is not suspended */

/* A header of the request, before it is answered; NULL when it was not sent. */
const char *http_header_value(http_request *request, const char *name);

/* Sends the answer that the caller has put into request->answer. */
void http_answer_again(http_request *request);

/* Sends a held answer; or, when its write has failed, a problem in its place. */
void http_release(http_request *request);
void http_release_failed(http_request *request, store_status status);

/* Has the client of this suspended request closed its side of the connection? libmicrohttpd does not look
 * while a connection is suspended, so what waits for longer, an ask or a stream, looks every
 * HTTP_CLIENT_CHECK_MS. A client that only shuts down its sending side counts as gone. */
enum { HTTP_CLIENT_CHECK_MS = 2000 };
bool http_client_is_gone(const http_request *request);

/* An upload's route: pieces of the body, one at a time. The connection is suspended until
 * http_upload_continue (any thread), so that memory stays bounded. After the last piece the route's handler
 * is called. Answering instead of continuing ends the upload. */
void http_upload_continue(http_request *request);

/* The statuses that requests are counted by, ascending. */
enum { HTTP_STATUSES = 22 };
extern const int http_statuses[HTTP_STATUSES];

/* What the server serves, and whom it tells of it. Borrowed until http_stop. */
typedef struct http_service {
    const struct route *routes; /* closed by a path of NULL */
    /* An answer has been made ready; NULL: no one counts. route NULL: the request matched none. seconds < 0:
     * the client wished to be held, so the time says nothing about the server. */
    void (*answered)(struct app *app, const struct route *route, int status, double seconds);
} http_service;

/* Starts serving on the address (NULL: nowhere) and, for the database's owner alone, on a unix socket beside
 * the database. Logs and returns NULL when it cannot; without the second one only when
 * there is no address. */
http_server *http_start(struct app *app, const http_service *service, const char *listen_address, char *url,
                        size_t url_size);

/* Reads the certificate again; keeps the old one when the files are not good. */
void http_reload(http_server *server);

/* Stops accepting, waits until every request in progress has been answered, closes. */
void http_stop(http_server *server);

#endif
