/* Accepted connections: which of them belong to a crowd of one address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <unistd.h>

enum { CONNECTIONS = HTTP_CROWD + 3 };

/* The sockets that were taken, in order. */
typedef struct taken {
    http_links *links;
    int fd[CONNECTIONS];
    bool crowd[CONNECTIONS];
    size_t n;
    sem_t one_more;
} taken;

static bool take(void *arg, int fd, const struct sockaddr *address, socklen_t size, bool crowd)
{
    taken *t = arg;
    (void)address;
    (void)size;
    t->fd[t->n] = fd;
    t->crowd[t->n++] = crowd;
    sem_post(&t->one_more);
    return true;
}

static void let_go(taken *t, size_t i)
{
    http_link_gone(http_links_find(t->links, t->fd[i]));
    close(t->fd[i]);
}

static int listen_here(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(bind(fd, (struct sockaddr *)address, size), 0);
    assert_int_equal(listen(fd, CONNECTIONS), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)address, &size), 0);
    return fd;
}

static int connect_from(const char *source, const struct sockaddr_in *address)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(inet_pton(AF_INET, source, &from.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)address, sizeof *address), 0);
    return fd;
}

static void an_address_with_many_connections_is_a_crowd(void **state)
{
    const http_links_limits limits = {.total = 2000, .per_address = 1000, .request_seconds = 60};
    static taken t;
    struct sockaddr_in address;
    int clients[CONNECTIONS], listening = listen_here(&address);
    (void)state;
    sem_init(&t.one_more, 0, 0);
    t.links = http_links_new(&limits);
    assert_non_null(t.links);
    http_links_add(t.links, listening, true, false, take, &t);
    assert_true(http_links_start(t.links));
    for (int i = 0; i < CONNECTIONS; i++) {
        bool others = i == CONNECTIONS - 2, after = i == CONNECTIONS - 1;
        if (after) { /* the crowd has gone */
            let_go(&t, 0);
            let_go(&t, 1);
        }
        clients[i] = connect_from(others ? "127.0.0.3" : "127.0.0.2", &address);
        sem_wait(&t.one_more);
        assert_int_equal(t.crowd[i], i == HTTP_CROWD);
    }
    http_links_stop_accepting(t.links);
    for (size_t i = 2; i < CONNECTIONS; i++)
        let_go(&t, i);
    http_links_end(t.links, 0);
    http_links_free(t.links);
    for (int i = 0; i < CONNECTIONS; i++)
        close(clients[i]);
    close(listening);
    sem_destroy(&t.one_more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_address_with_many_connections_is_a_crowd)};
    return cmocka_run_group_tests_name("sockets", tests, NULL, NULL);
}
