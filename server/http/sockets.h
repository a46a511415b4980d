/* The connections' sockets: accepted here, counted against the limits, and shut when their time limit has
 * passed. One thread does both. It knows no HTTP except the answers 503 and 408. */
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
    double request_seconds;    /* to receive the head of the first request */
} http_links_limits;

/* NULL without memory. */
http_links *http_links_new(const http_links_limits *limits);

/* Takes an accepted socket and owns it from then on, even if it returns false: then it has closed the socket. crowd:
 * the client's address has more than HTTP_CROWD connections. */
enum { HTTP_CROWD = 256 };
typedef bool http_links_take(void *arg, int fd, const struct sockaddr *address, socklen_t size, bool crowd);

/* Adds a listening socket, at most two; call it before http_links_start. plain: its connections are not encrypted.
 * owners: its connections are not counted, so that the owner can connect when others use all connections. */
void http_links_add(http_links *l, int listening, bool plain, bool owners, http_links_take *take, void *arg);
bool http_links_start(http_links *l);

/* An eventfd that is written to about twice a second, from http_links_start to http_links_free. Nobody reads it, so wait
 * for it edge-triggered. */
int http_links_pulse(const http_links *l);

/* Once this has returned, no more connections are accepted. */
void http_links_stop_accepting(http_links *l);

/* Shuts all remaining connections after this number of seconds. */
void http_links_end(http_links *l, double seconds);

/* Call it after the last http_link_gone. NULL is fine. */
void http_links_free(http_links *l);

/* Writes a problem as a complete response that closes the connection. Returns its length. */
size_t http_links_answer(char *out, size_t size, int status, const char *title, const char *detail,
                         const char *id);

/* ---- from the HTTP threads ----------------------------------------------------------------------------- */

/* The link of a taken socket, until http_link_gone. */
http_link *http_links_find(http_links *l, int fd);

/* The address that the connection is counted for, as text; "": none, on a unix socket. */
void http_link_address(const http_link *link, char *out, size_t size);

/* The socket is about to be closed. */
void http_link_gone(http_link *link);

/* Sets the state of the connection, and for how many seconds the state may last (0: without limit). A connection that
 * exceeds this time is shut; one that was sending a request gets 408. */
typedef enum http_link_state { HTTP_LINK_IDLE, HTTP_LINK_RECEIVING, HTTP_LINK_WORKING } http_link_state;
void http_link_set(http_link *link, http_link_state state, double seconds);

#endif
