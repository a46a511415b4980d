/* The sockets under the HTTP front: accepted here, counted against the limits, and shut when their time is
 * over. One thread accepts and looks at the time. Knows nothing of HTTP but how to say that it is too much or
 * too late. */
#ifndef SERVER_HTTP_SOCKETS_H
#define SERVER_HTTP_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct http_links http_links;

/* A socket. */
typedef struct http_link http_link;

typedef struct http_links_limits {
    size_t total, per_address; /* connections at once */
    double request_seconds;    /* for a first request's head to come */
} http_links_limits;

/* NULL without memory. */
http_links *http_links_new(const http_links_limits *limits);

/* Whom an accepted socket is given to; it owns it from then on, whatever it returns (false: it is closed). */
typedef bool http_links_take(void *arg, int fd, const struct sockaddr *address, socklen_t size);

/* Accepts from a listening socket, at most two of them; before http_links_start. plain: HTTP may be written
 * to its connections as it is. */
void http_links_add(http_links *l, int listening, bool plain, http_links_take *take, void *arg);
bool http_links_start(http_links *l);

/* No more are accepted when this returns. */
void http_links_stop_accepting(http_links *l);

/* Whatever they are at, all that are left are shut so many seconds from now. */
void http_links_end(http_links *l, double seconds);

/* After the last http_link_gone. NULL is fine. */
void http_links_free(http_links *l);

/* A problem as an answer that needs no request, and after which the connection is closed. -> its length */
size_t http_links_answer(char *out, size_t size, int status, const char *title, const char *detail,
                         const char *id);

/* ---- from the HTTP threads ----------------------------------------------------------------------------- */

/* That of a socket which has been taken, until it is gone. */
http_link *http_links_find(http_links *l, int fd);

/* The socket is about to be closed. */
void http_link_gone(http_link *link);

/* What the connection is at, and how many seconds from now that may take (0: as long as it wants). When they
 * have passed it is shut; one that was sending a request is told so with 408. */
typedef enum http_link_state { HTTP_LINK_IDLE, HTTP_LINK_RECEIVING, HTTP_LINK_WORKING } http_link_state;
void http_link_set(http_link *link, http_link_state state, double seconds);

#endif
