/* The listening socket. An address is ADDR:PORT, [ADDR6]:PORT, unix:/path, or systemd for the socket that the
 * service manager passes. */
#ifndef SERVER_BASE_LISTEN_H
#define SERVER_BASE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct listener {
    int fd;
    char unix_path[108]; /* "" for TCP */
    int folder;          /* open folder that unix_path is relative to; −1: none */
} listener;

/* Opens the socket, and writes the address for clients (http://127.0.0.1:8080, unix:/path) to url. Port 0
 * picks a free port. On failure it logs the reason and returns false. */
bool listener_open(listener *out, const char *address, bool tls, char *url, size_t url_size);
/* Opens a unix socket <database>.sock to which only the owner of this process and root may connect. On
 * failure it logs the reason and returns false. */
bool listener_open_private(listener *out, const char *db);

/* Connects to that socket. −1 with errno on failure. */
int listener_connect_private(const char *db);

void listener_close(listener *l); /* also after a failed open */

/* False if the address cannot be parsed, or if it is systemd and no socket was passed. A unix socket counts
 * as loopback. */
bool listen_address_check(const char *address, bool *loopback);

#endif
