#include "server/acceptor.h"

#include "server/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct acceptor {
    int fd, stop; /* an event */
    acceptor_take *take;
    void *arg;
    pthread_t thread;
};

/* Out of files or memory: waiting helps, trying again at once does not. */
static void pause_briefly(void)
{
    struct timespec tenth = {.tv_nsec = 100000000};
    log_event(LOG_WARN, "accept_failed", "reason", strerror(errno), NULL);
    nanosleep(&tenth, NULL);
}

static void *run(void *arg)
{
    acceptor *a = arg;
    struct pollfd events[2] = {{.fd = a->fd, .events = POLLIN}, {.fd = a->stop, .events = POLLIN}};
    for (;;) {
        if (poll(events, 2, -1) < 0)
            continue; /* EINTR */
        if (events[1].revents)
            return NULL;
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        int fd = accept4(a->fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            a->take(a->arg, fd, (struct sockaddr *)&address, size);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            pause_briefly();
    }
}

acceptor *acceptor_start(int fd, acceptor_take *take, void *arg)
{
    acceptor *a = malloc(sizeof *a);
    if (!a)
        return NULL;
    *a = (acceptor){.fd = fd, .take = take, .arg = arg, .stop = eventfd(0, EFD_CLOEXEC)};
    int failure = a->stop < 0 ? errno : pthread_create(&a->thread, NULL, run, a);
    if (failure == 0)
        return a;
    if (a->stop >= 0)
        close(a->stop);
    free(a);
    errno = failure;
    return NULL;
}

void acceptor_stop(acceptor *a)
{
    uint64_t one = 1;
    if (!a)
        return;
    while (write(a->stop, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(a->thread, NULL);
    close(a->stop);
    free(a);
}
