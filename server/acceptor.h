/* Accepts the connections of a socket that is not ours to close: a service manager's. libmicrohttpd shuts the
 * sockets it listens on down when it stops, for everybody who has them; so it is given connections instead.
 */
#ifndef SERVER_ACCEPTOR_H
#define SERVER_ACCEPTOR_H

#include <sys/socket.h>

typedef struct acceptor acceptor;

/* Gets every new connection, on the acceptor's thread; it is the receiver's to close. */
typedef void acceptor_take(void *arg, int fd, const struct sockaddr *address, socklen_t size);

/* `fd` listens, does not block, is borrowed. NULL and errno when there is no thread for it. */
acceptor *acceptor_start(int fd, acceptor_take *take, void *arg);
void acceptor_stop(acceptor *a); /* NULL is fine */

#endif
