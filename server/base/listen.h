/* The listening socket: ADDR:PORT, [ADDR6]:PORT, unix:/path, or systemd: the one that the service manager
 * passes. */
#ifndef SERVER_BASE_LISTEN_H
#define SERVER_BASE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct listener {
    int fd;
    char unix_path[108]; /* "" for TCP */
    int folder;          /* unix_path is in it; −1: in none */
} listener;

/* Opens it and writes what clients connect to (http://127.0.0.1:8080, unix:/path) to url; logs and returns
 * false when it cannot. Port 0 picks a free one. */
bool listener_open(listener *out, const char *address, bool tls, char *url, size_t url_size);
/* A unix socket <database>.sock that only the owner of this process (and root) may connect to. Logs and
 * returns false when it cannot. */
bool listener_open_private(listener *out, const char *db);

/* A connection to it; −1 and errno when there is none. */
int listener_connect_private(const char *db);

void listener_close(listener *l); /* also one that failed to open */

/* False when the address cannot be parsed, or no socket has been passed. A unix socket counts as loopback. */
bool listen_address_check(const char *address, bool *loopback);

#endif
