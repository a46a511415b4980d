/* A request from its first line to its last byte, as libmicrohttpd's callbacks see it. Shared by server.c (sockets),
 * request.c (the life of a request, and its body), headers.c (its headers) and send.c (its answer). */
#ifndef SERVER_HTTP_CONNECTION_H
#define SERVER_HTTP_CONNECTION_H

#include "server/app.h"
#include "server/http/internal.h"
#include "server/http/sockets.h"

#include <microhttpd.h>
#include <sodium.h>

/* The socket that accepted a connection. */
typedef struct http_door {
    http_server *server;
    app *app;
    const http_service *service;
    bool crowds; /* its thread has a raised nice value: see server.c */
    bool owners; /* only the owner of the database can connect: everything is allowed */
} http_door;

/* server.c: counts a request that may be suspended, so that http_stop waits for it. False once http_stop is
 * waiting. */
bool http_count_in(http_server *server);
void http_count_out(http_server *server);

typedef enum http_phase {
    PHASE_BODY,     /* collecting */
    PHASE_HANDLING, /* the handler has been called */
    PHASE_ANSWERED  /* the answer is set; the HTTP thread sends it */
} http_phase;

/* The state of a request. It belongs to the HTTP thread; while the connection is suspended, to the thread that
 * answers. */
typedef struct http_connection {
    http_request request;
    const http_door *door;
    http_link *link; /* NULL: the socket is not known to sockets.c */
    struct MHD_Connection *mhd;
    int socket;
    http_phase phase;
    bool counted;       /* by http_count_in */
    bool reads;         /* it is counted in its caller's budget of reads */
    size_t buffered;    /* bytes that are counted in its caller's budget of memory */
    bool suspended;     /* until http_resume */
    bool deferred;      /* http_defer has been called */
    bool opened;        /* the handler has been called with its headers */
    bool complete;      /* the whole request has been received */
    bool too_large;     /* the rest of the body is read and discarded */
    bool too_many;      /* likewise: the caller's share of memory is full */
    bool encoded_slash; /* in its path: no route matches */
    http_refusal refusal;
    size_t limit;
    size_t length; /* of the body; SIZE_MAX: unknown */
    size_t capacity;
    crypto_generichash_state hash; /* of the body of a request with a key */
    double working;                /* seconds for which the request waited for the server */
    double suspended_at;
    size_t piece_size; /* bytes of an upload's piece collected in body */
    bool last_piece;
    const char *method;
    char *path;
    const char *target; /* as received, in libmicrohttpd's memory: compared, not read */
    size_t target_length;
} http_connection;

/* ---- request.c ----------------------------------------------------------------------------------------- */

/* Callbacks of libmicrohttpd, with the connection's http_door as their argument. The first is called when a
 * request line has been received, with its encoded target; its result becomes the slot of the request. */
void *http_begin_request(void *door, const char *target, struct MHD_Connection *mhd);
enum MHD_Result http_handle(void *door, struct MHD_Connection *mhd, const char *url, const char *method,
                            const char *version, const char *data, size_t *data_size, void **slot);
/* Ends the suspension. Only the thread that the request belongs to may call it. From then on the request may be
 * freed. */
void http_resume(http_connection *c);
void http_request_completed(void *door, struct MHD_Connection *mhd, void **slot,
                            enum MHD_RequestTerminationCode why);

/* Counts n more bytes for its caller until the request is freed. False: its share is full. */
bool http_buffer(http_connection *c, size_t n);

/* Answers a request whose body is larger than c->limit. */
void http_refuse_too_large(http_connection *c);

/* ---- headers.c ----------------------------------------------------------------------------------------- */

/* Called with the headers: routes the request, or answers it at once. */
void http_open_request(http_connection *c, const char *version);

/* Can the connection be used after a refusal? The request's body, if any, must have a known and small
 * size. */
bool http_may_go_on(http_connection *c);

/* ---- send.c -------------------------------------------------------------------------------------------- */

/* Passes c's answer to libmicrohttpd. Call it on the HTTP thread. */
enum MHD_Result http_send_answer(http_connection *c);

/* A header of the request; NULL if it was not sent. */
const char *http_connection_header(const http_connection *c, const char *name);

/* The number of seconds that receiving or sending n bytes may take. */
double http_patience(const http_connection *c, size_t n);

#endif
