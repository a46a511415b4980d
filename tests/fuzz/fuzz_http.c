/* Connections to the real server in this process, with its database: the input is a dialogue (dialogue.h).
 * The server answers each whole request, never with 500, and lets go of a connection when its client does.
 * Time passes by putting its clock forward. It is given time to come to rest where something was said since
 * the last time, and not without end.
 *
 * The clients come by the socket of the database's owner, so that no token is in the way. What an input
 * leaves of studies and tokens is deleted after it, so that what it finds it finds again. */
#include "bandit/engine.h"
#include "server/base/blas.h"
#include "server/base/clock.h"
#include "server/base/config.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/commands/serve.h"
#include "server/http/http.h"
#include "tests/fuzz/dialogue.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    REST_MS = 3,
    RESTS_MAX = 256,
    TICK_MS = 55,
    PASSINGS_MAX = 16,
    PATIENCE_MS = 8000,
    CONNECTIONS_MAX = 16
};
enum { ANSWERS_MAX = 1 << 22 }; /* of one client */

static char database[128], folder[96];
static sem_t serving;

/* ---- the server's clock, in place of server/base/clock.c's; put forward alone -------------------------- */

static _Atomic int64_t wall_ahead, steady_ahead; /* ms */

int64_t __real_clock_now(void);
int64_t __wrap_clock_now(void);
int64_t __wrap_clock_now(void)
{
    return __real_clock_now() + wall_ahead;
}

double __real_clock_steady(void);
double __wrap_clock_steady(void);
double __wrap_clock_steady(void)
{
    return __real_clock_steady() + 1e-3 * (double)steady_ahead;
}

int64_t __wrap_clock_steady_ms(void);
int64_t __wrap_clock_steady_ms(void)
{
    return (int64_t)(1000 * __wrap_clock_steady());
}

int64_t __real_clock_boot_ms(void);
int64_t __wrap_clock_boot_ms(void);
int64_t __wrap_clock_boot_ms(void)
{
    return __real_clock_boot_ms() + steady_ahead;
}

static void pass(int64_t ms)
{
    wall_ahead += ms;
    steady_ahead += ms;
}

/* ---- the engine ---------------------------------------------------------------------------------------- */

/* No more picks at once than these: with sanitizers, and where each is a search, a thousand take a minute,
 * and other requests of the study wait so long. The engine has a target of its own. */
enum { PICKS_MAX = 16 };

bandit_status __real_bandit_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                          const bandit_executor *executor, bandit_pick *picks,
                                          bandit_selection *out, bandit_error *err);
bandit_status __wrap_bandit_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                          const bandit_executor *executor, bandit_pick *picks,
                                          bandit_selection *out, bandit_error *err);
bandit_status __wrap_bandit_engine_select(bandit_engine *engine, const bandit_select_limits *limits,
                                          const bandit_executor *executor, bandit_pick *picks,
                                          bandit_selection *out, bandit_error *err)
{
    bandit_select_limits few = *limits;
    if (few.max_picks > PICKS_MAX)
        few.max_picks = PICKS_MAX;
    return __real_bandit_engine_select(engine, &few, executor, picks, out, err);
}

/* ---- the server ---------------------------------------------------------------------------------------- */

static int stay(void *arg)
{
    (void)arg;
    sem_post(&serving);
    for (;;)
        pause();
    return 0;
}

static void *serve_on(void *arg)
{
    HOLDS(serve_briefly(arg, stay, NULL) == 0);
    return NULL;
}

static void remove_database(void)
{
    DIR *names = opendir(folder);
    struct dirent *entry;
    char path[512];
    while (names && (entry = readdir(names)))
        if (strncmp(entry->d_name, "db", 2) == 0) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            unlink(path);
        }
    if (names)
        closedir(names);
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static server_config config;
    static char *arguments[] = {
        "--db",           database, "--threads",     "2",  "--max-body",      "65536",
        "--max-upload",   "1MiB",   "--max-studies", "32", "--max-values",    "4096",
        "--study-memory", "16MiB",  "--max-waiting", "2",  "--evict-seconds", "1",
    };
    pthread_t thread;
    const char *temporary = getenv("TMPDIR");
    (void)argc;
    (void)argv;
    HOLDS(blas_prepare(2));
    snprintf(folder, sizeof folder, "%s/fuzz-http-XXXXXX", temporary ? temporary : "/tmp");
    HOLDS(mkdtemp(folder));
    snprintf(database, sizeof database, "%s/db", folder);
    atexit(remove_database);
    HOLDS(config_read(&config, sizeof arguments / sizeof *arguments, arguments) == CONFIG_RUN);
    log_configure(LOG_ERROR, false);
    HOLDS(sem_init(&serving, 0, 0) == 0);
    HOLDS(pthread_create(&thread, NULL, serve_on, &config) == 0);
    pthread_detach(thread);
    HOLDS(sem_wait(&serving) == 0);
    return 0;
}

/* ---- the client ---------------------------------------------------------------------------------------- */

typedef struct client {
    int fd;      /* −1: it is not there */
    bool closed; /* by the server */
    char *answers;
    size_t n, room;
} client;

static void connect_client(client *c)
{
    *c = (client){.fd = listener_connect_private(database), .room = 1 << 16};
    c->answers = malloc(c->room + 1);
    HOLDS(c->fd >= 0 && c->answers);
}

static bool is_full(client *c)
{
    if (c->n == c->room && c->room < ANSWERS_MAX) {
        c->room *= 4;
        c->answers = realloc(c->answers, c->room + 1);
        HOLDS(c->answers);
    }
    return c->n == c->room;
}

/* Reads what comes until nothing has come for so long, or the server closes. libFuzzer's clock interrupts. */
static void listen_for(client *c, int rest_ms)
{
    struct pollfd readable = {.fd = c->fd, .events = POLLIN};
    while (!c->closed && !is_full(c)) {
        int ready = poll(&readable, 1, rest_ms);
        if (ready == 0)
            return;
        ssize_t n = ready > 0 ? recv(c->fd, c->answers + c->n, c->room - c->n, 0) : -1;
        c->closed = n == 0 || (n < 0 && errno != EINTR);
        c->n += n > 0 ? (size_t)n : 0;
    }
}

static void say(client *c, const char *text, size_t n)
{
    while (n > 0 && !c->closed) {
        ssize_t sent = send(c->fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return;
        if (sent < 0)
            listen_for(c, REST_MS);
        text += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
}

static void go(client *c)
{
    close(c->fd);
    free(c->answers);
    *c = (client){.fd = -1};
}

/* Ends its sending, and listens until the server lets go, in its time: what waits for the client looks at it
 * so often. The answers are NUL-terminated then. */
static void take_leave(client *c)
{
    listen_for(c, REST_MS);
    shutdown(c->fd, SHUT_WR);
    listen_for(c, TICK_MS);
    if (!c->closed)
        pass(HTTP_CLIENT_CHECK_MS);
    listen_for(c, PATIENCE_MS - HTTP_CLIENT_CHECK_MS);
    HOLDS(c->closed || c->n == ANSWERS_MAX);
    c->answers[c->n] = '\0';
}

/* Walks over the answers as far as their lengths are known, and no further than one that closes:
 * libmicrohttpd writes the head of its own page about a bad Content-Length twice. has_head: some of them may
 * be without the body that they speak of. */
static void check_answers(const client *c, bool has_head)
{
    const char *at = c->answers;
    while (*at) {
        int status = 0;
        HOLDS(sscanf(at, "HTTP/1.%*1[01] %3d ", &status) == 1);
        HOLDS(status >= 100 && status < 600 && status != 500);
        const char *body = strstr(at, "\r\n\r\n");
        if (!body)
            return;
        body += 4;
        if (status == 100) {
            at = body;
            continue;
        }
        const char *closing = strstr(at, "\r\nConnection: close");
        if (closing && closing < body)
            return;
        const char *length = strstr(at, "\r\nContent-Length: ");
        if (has_head || !length || length > body)
            return;
        size_t n = strtoul(length + 18, NULL, 10);
        if (n > (size_t)(c->answers + c->n - body))
            return;
        at = body + n;
    }
}

static void part(client *c, bool has_head)
{
    take_leave(c);
    check_answers(c, has_head);
    go(c);
}

/* -> how many bytes say how long */
static size_t let_pass(const uint8_t *text, size_t size, int *passings)
{
    size_t n = 1;
    int64_t ms = 4000;
    for (; n < size && n < DIALOGUE_PASSING_MAX && text[n] == DIALOGUE_PASSING; n++)
        ms *= 16;
    if ((*passings)++ < PASSINGS_MAX) {
        pass(ms);
        poll(NULL, 0, TICK_MS);
    }
    return n;
}

/* The whole dialogue. A client that the server has let go of comes again. */
static void converse(const uint8_t *text, size_t size)
{
    client clients[DIALOGUE_CLIENTS] = {{.fd = -1}, {.fd = -1}, {.fd = -1}};
    bool has_head = size >= 4 && memmem(text, size, "HEAD", 4);
    int connections = 0, rests = 0, passings = 0, speaking = 0;
    for (size_t at = 0; at < size;) {
        client *c = &clients[speaking];
        size_t n = 0;
        while (at + n < size && text[at + n] < DIALOGUE_GOING)
            n++;
        if (n > 0 && c->fd >= 0 && c->closed)
            part(c, has_head);
        if (n > 0 && c->fd < 0 && connections++ < CONNECTIONS_MAX)
            connect_client(c);
        if (n > 0 && c->fd >= 0)
            say(c, (const char *)text + at, n);
        at += n;
        if (at == size)
            break;
        size_t unsaid = 1;
        if (text[at] == DIALOGUE_REST && n > 0 && c->fd >= 0 && rests++ < RESTS_MAX)
            listen_for(c, REST_MS);
        else if (text[at] == DIALOGUE_GOING && c->fd >= 0)
            go(c);
        else if (text[at] == DIALOGUE_OTHER)
            speaking = (speaking + 1) % DIALOGUE_CLIENTS;
        else if (text[at] == DIALOGUE_PASSING)
            unsaid = let_pass(text + at, size - at, &passings);
        at += unsaid;
    }
    for (client *c = clients; c < clients + DIALOGUE_CLIENTS; c++)
        if (c->fd >= 0)
            part(c, has_head);
}

/* A request on a connection of its own; the client is to go. */
static client request(const char *method, const char *path, const char *query)
{
    client c;
    char text[256];
    int n = snprintf(text, sizeof text, "%s %s%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                     method, path, query);
    HOLDS(n < (int)sizeof text);
    connect_client(&c);
    say(&c, text, (size_t)n);
    take_leave(&c);
    return c;
}

/* Deletes all of a collection's members. */
static void delete_all(const char *collection)
{
    client members = request("GET", collection, "?limit=1000");
    for (const char *id = members.answers; (id = strstr(id, "{\"id\":\"")) != NULL;) {
        char path[128];
        id += 7;
        snprintf(path, sizeof path, "%s/%.*s", collection, (int)strcspn(id, "\""), id);
        client deletion = request("DELETE", path, "");
        go(&deletion);
    }
    go(&members);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    converse(data, size);
    delete_all("/v1/studies");
    delete_all("/v1/tokens");
    wall_ahead = 0;
    return 0;
}
