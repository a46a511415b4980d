#include "server/base/supervisor.h"

#include "server/base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_SOCKET 3 /* SD_LISTEN_FDS_START */

/* The number in the environment variable, or 0. */
static unsigned long long number_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    if (!text || text[0] < '0' || text[0] > '9')
        return 0;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    return errno || *end ? 0 : value;
}

static bool is_meant_for_us(const char *variable)
{
    return number_of(variable) == (unsigned long long)getpid();
}

int supervisor_socket(void)
{
    int listens;
    socklen_t size = sizeof listens;
    if (!is_meant_for_us("LISTEN_PID") || number_of("LISTEN_FDS") != 1)
        return -1;
    if (getsockopt(FIRST_SOCKET, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
        return -1;
    return FIRST_SOCKET;
}

static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, path, strlen(path) + 1);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* a name in the abstract namespace */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, size) < 0)
        log_event(LOG_WARN, "notify_failed", "reason", strerror(errno), NULL);
    close(fd);
}

void supervisor_ready(const char *url)
{
    char text[256];
    snprintf(text, sizeof text, "READY=1\nSTATUS=serving on %s", url);
    notify(text);
}

void supervisor_stopping(void)
{
    notify("STOPPING=1");
}

typedef struct watchdog {
    pool_task task;
    atomic_bool waiting; /* in the pool */
} watchdog;

static void feed(pool_task *task)
{
    watchdog *w = (watchdog *)(void *)((char *)task - offsetof(watchdog, task));
    notify("WATCHDOG=1");
    atomic_store(&w->waiting, false);
}

int supervisor_wait(const sigset_t *signals, pool *p)
{
    static watchdog fed = {.task = {.run = feed}}; /* may still be in the pool when we return */
    unsigned long long microseconds = number_of("WATCHDOG_USEC");
    if (getenv("WATCHDOG_PID") && !is_meant_for_us("WATCHDOG_PID"))
        microseconds = 0;
    microseconds /= 3;
    struct timespec interval = {.tv_sec = (time_t)(microseconds / 1000000),
                                .tv_nsec = (long)(microseconds % 1000000) * 1000};
    for (;;) {
        int received = microseconds > 0 ? sigtimedwait(signals, NULL, &interval) : sigwaitinfo(signals, NULL);
        if (received > 0)
            return received;
        if (microseconds > 0 && errno == EAGAIN && !atomic_exchange(&fed.waiting, true))
            pool_submit(p, &fed.task, POOL_SHORT);
    }
}
