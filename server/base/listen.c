#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/base/supervisor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
} socket_address;

/* Accepts only numeric addresses, because a name may resolve to another address between check and use.
 * "localhost" is 127.0.0.1. */
static bool parse(const char *text, socket_address *out, socklen_t *size)
{
    memset(out, 0, sizeof *out);
    if (strncmp(text, "unix:", 5) == 0) {
        size_t n = strlen(text + 5);
        if (n == 0 || n >= sizeof out->local.sun_path)
            return false;
        out->local.sun_family = AF_UNIX;
        memcpy(out->local.sun_path, text + 5, n + 1);
        *size = sizeof out->local;
        return true;
    }
    const char *colon = strrchr(text, ':');
    char host[64], *end;
    if (!colon || colon == text || (size_t)(colon - text) >= sizeof host || colon[1] < '0' || colon[1] > '9')
        return false;
    errno = 0;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (errno || *end || port > 65535)
        return false;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    size_t n = strlen(host);
    if (host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof out->v6;
        return inet_pton(AF_INET6, host + 1, &out->v6.sin6_addr) == 1;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    *size = sizeof out->v4;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &out->v4.sin_addr) == 1;
}

static bool is_passed(const char *address)
{
    return strcmp(address, "systemd") == 0;
}

/* The address of a socket that is already listening. */
static bool address_of(int fd, socket_address *out)
{
    socklen_t size = sizeof *out;
    memset(out, 0, sizeof *out);
    return fd >= 0 && getsockname(fd, &out->any, &size) == 0 && size <= sizeof *out;
}

bool listen_address_check(const char *address, bool *loopback)
{
    socket_address parsed;
    socklen_t size;
    if (is_passed(address) ? !address_of(supervisor_socket(), &parsed) : !parse(address, &parsed, &size))
        return false;
    switch (parsed.any.sa_family) {
    case AF_INET:
        *loopback = ntohl(parsed.v4.sin_addr.s_addr) >> 24 == 127;
        break;
    case AF_INET6:
        *loopback = IN6_IS_ADDR_LOOPBACK(&parsed.v6.sin6_addr);
        break;
    default:
        *loopback = true;
    }
    return true;
}

static void write_url(const socket_address *bound, bool tls, char *url, size_t size)
{
    const char *scheme = tls ? "https" : "http";
    char host[64];
    switch (bound->any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &bound->v4.sin_addr, host, sizeof host);
        snprintf(url, size, "%s://%s:%u", scheme, host, (unsigned)ntohs(bound->v4.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &bound->v6.sin6_addr, host, sizeof host);
        snprintf(url, size, "%s://[%s]:%u", scheme, host, (unsigned)ntohs(bound->v6.sin6_port));
        break;
    default:
        snprintf(url, size, "unix:%s", bound->local.sun_path);
    }
}

/* Removes the socket file of a server that was killed, that is a file on which no connection is accepted. */
static void remove_stale(const socket_address *address, socklen_t size)
{
    struct stat info;
    if (stat(address->local.sun_path, &info) != 0 || !S_ISSOCK(info.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, &address->any, size) != 0 && errno == ECONNREFUSED)
        unlink(address->local.sun_path);
    if (fd >= 0)
        close(fd);
}

/* Takes the passed socket. The service manager keeps the socket open and owns its file. */
static bool take_passed(listener *out, bool tls, char *url, size_t url_size)
{
    socket_address bound;
    int fd = supervisor_socket();
    if (!address_of(fd, &bound)) {
        log_event(LOG_ERROR, "listen_failed", "address", "systemd", "reason",
                  "the service manager did not pass exactly one listening socket", NULL);
        return false;
    }
    out->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (out->fd < 0 || fcntl(out->fd, F_SETFL, O_NONBLOCK) != 0) {
        log_event(LOG_ERROR, "listen_failed", "address", "systemd", "reason", strerror(errno), NULL);
        listener_close(out);
        return false;
    }
    write_url(&bound, tls, url, url_size);
    return true;
}

bool listener_open(listener *out, const char *address, bool tls, char *url, size_t url_size)
{
    socket_address wanted;
    socklen_t size;
    int one = 1;
    *out = (listener){.fd = -1, .folder = -1};
    if (is_passed(address))
        return take_passed(out, tls, url, url_size);
    if (!parse(address, &wanted, &size)) {
        log_event(LOG_ERROR, "listen_failed", "address", address, "reason",
                  "must be ADDR:PORT, [ADDR6]:PORT, unix:/path or systemd", NULL);
        return false;
    }
    bool local = wanted.any.sa_family == AF_UNIX;
    if (local)
        remove_stale(&wanted, size);
    out->fd = socket(wanted.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out->fd < 0)
        goto failed;
    if (!local)
        setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (wanted.any.sa_family == AF_INET6)
        setsockopt(out->fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(out->fd, &wanted.any, size) != 0)
        goto failed;
    if (local)
        memcpy(out->unix_path, wanted.local.sun_path, sizeof wanted.local.sun_path);
    if (listen(out->fd, 1024) != 0 || getsockname(out->fd, &wanted.any, &size) != 0)
        goto failed;
    write_url(&wanted, tls, url, url_size);
    return true;
failed:
    log_event(LOG_ERROR, "listen_failed", "address", address, "reason", strerror(errno), NULL);
    listener_close(out);
    return false;
}

/* The address of the socket, relative to its open folder, because an address has room for 107 bytes, and the folder's
 * name may be longer. On success *folder is open. */
static bool private_address(const char *db, socket_address *out, int *folder)
{
    char path[PATH_MAX];
    *folder = -1;
    if (!realpath(db, path))
        return false;
    char *name = strrchr(path, '/') + 1;
    char base[NAME_MAX + 1];
    snprintf(base, sizeof base, "%s", name);
    *name = '\0';
    *folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*folder < 0)
        return false;
    *out = (socket_address){.local.sun_family = AF_UNIX};
    int n =
        snprintf(out->local.sun_path, sizeof out->local.sun_path, "/proc/self/fd/%d/%s.sock", *folder, base);
    if (n > 0 && (size_t)n < sizeof out->local.sun_path)
        return true;
    close(*folder);
    *folder = -1;
    errno = ENAMETOOLONG;
    return false;
}

bool listener_open_private(listener *out, const char *db)
{
    socket_address address;
    *out = (listener){.fd = -1, .folder = -1};
    if (!private_address(db, &address, &out->folder))
        goto failed;
    remove_stale(&address, sizeof address.local);
    out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* A socket file gets the mode that the socket has at bind, so other users can never connect. */
    if (out->fd < 0 || fchmod(out->fd, S_IRUSR | S_IWUSR) != 0 ||
        bind(out->fd, &address.any, sizeof address.local) != 0)
        goto failed;
    memcpy(out->unix_path, address.local.sun_path, sizeof out->unix_path);
    if (listen(out->fd, 16) == 0)
        return true;
failed:
    log_event(LOG_WARN, "owner_socket_failed", "db", db, "reason", strerror(errno), NULL);
    listener_close(out);
    return false;
}

int listener_connect_private(const char *db)
{
    socket_address address;
    int folder;
    if (!private_address(db, &address, &folder))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, &address.any, sizeof address.local) != 0) {
        int why = errno;
        close(fd);
        fd = -1;
        errno = why;
    }
    close(folder);
    return fd;
}

void listener_close(listener *l)
{
    if (l->fd >= 0)
        close(l->fd);
    if (l->unix_path[0])
        unlink(l->unix_path);
    if (l->folder >= 0)
        close(l->folder);
    *l = (listener){.fd = -1, .folder = -1};
}
