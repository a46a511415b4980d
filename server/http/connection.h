/* A connection's request, from its first line to its last byte, as libmicrohttpd's callbacks see it. Shared
 * by server.c (the sockets), request.c (a request's life and its body), headers.c (what its
 * headers say) and send.c (its answer). */
#ifndef SERVER_HTTP_CONNECTION_H
#define SERVER_HTTP_CONNECTION_H

#include "server/app.h"
#include "server/http/internal.h"
#include "server/http/sockets.h"

#include <microhttpd.h>
#include <sodium.h>

/* By which socket a connection has come. */
typedef struct http_door {
    http_server *server;
    app *app;
    const http_service *service;
    bool owners; /* only the database's owner gets here: everything is allowed */
} http_door;

/* server.c: counts a request that is suspended now or later, so that the server's end waits for it. False once
 * it waits for the last ones. */
bool http_count_in(http_server *server);
void http_count_out(http_server *server);

typedef enum http_phase {
    PHASE_BODY,     /* collecting */
    PHASE_HANDLING, /* the handler has been called */
    PHASE_ANSWERED  /* the answer is set; it is sent on the HTTP thread */
} http_phase;

/* What libmicrohttpd's callbacks keep of a request. Touched by the HTTP thread while the connection is not
 * suspended, and by whoever answers while it is. */
typedef struct http_connection {
    http_request request;
    const http_door *door;
    http_link *link; /* NULL: its socket is not known to the links */
    struct MHD_Connection *mhd;
    int socket;
    http_phase phase;
    bool counted;       /* by http_count_in */
    bool suspended;     /* until http_resume */
    bool opened;        /* the handler has been called for its headers */
    bool complete;      /* all of the request has come */
    bool too_large;     /* what comes is read and dropped */
    bool encoded_slash; /* in its path: no route matches */
    http_refusal refusal;
    size_t limit;
    size_t length; /* of the body; SIZE_MAX: as much as comes */
    size_t capacity;
    crypto_generichash_state hash; /* of the body of a request with a key */
    double working;                /* seconds of the request's time that were ours */
    double suspended_at;
    size_t piece_size; /* bytes of an upload's piece collected in body */
    bool last_piece;
    const char *method;
    char *path;
} http_connection;

/* ---- request.c ----------------------------------------------------------------------------------------- */

/* libmicrohttpd's callbacks, with the connection's http_door as their argument. The first: a request line has
 * come, its target still encoded; what is returned becomes the request's slot. */
void *http_begin_request(void *door, const char *target, struct MHD_Connection *mhd);
enum MHD_Result http_handle(void *door, struct MHD_Connection *mhd, const char *url, const char *method,
                            const char *version, const char *data, size_t *data_size, void **slot);
/* Ends the suspension, by who had the request meanwhile; it may be gone from then on. */
void http_resume(http_connection *c);
void http_request_completed(void *door, struct MHD_Connection *mhd, void **slot,
                            enum MHD_RequestTerminationCode why);

/* Answers a request whose body is larger than c->limit. */
void http_refuse_too_large(http_connection *c);

/* ---- headers.c ----------------------------------------------------------------------------------------- */

/* The headers have come: routes the request or answers it at once. */
void http_open_request(http_connection *c, const char *version);

/* Is the connection still good after a refusal? Its body, if any, must be of a known and small size. */
bool http_may_go_on(http_connection *c);

/* ---- send.c -------------------------------------------------------------------------------------------- */

/* Gives the answer that is set to libmicrohttpd. On the HTTP thread. */
enum MHD_Result http_send_answer(http_connection *c);

/* Of the request; NULL when it was not sent. */
const char *http_connection_header(const http_connection *c, const char *name);

/* Seconds for so many bytes to come or go. */
double http_patience(const http_connection *c, size_t n);

#endif
