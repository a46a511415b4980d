/* A connection to the real server in this process, with its database: the input is what the client sends,
 * any number of requests. A byte 0xFF in it lets the server come to rest before the client goes on, where
 * something was said since the last one, and not without end. The server answers each whole request, never
 * with 500, and lets go of the connection when the client does.
 *
 * The connection comes by the socket of the database's owner, so that no token is in the way. Studies stay
 * from one input to the next, and are deleted from time to time. */
#include "server/config.h"
#include "server/listen.h"
#include "server/log.h"
#include "server/serve.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REST_MS = 3, RESTS_MAX = 256, PATIENCE_MS = 8000, ANSWERS_MAX = 1 << 22, INPUTS_A_CLEANING = 64 };

static char database[128], folder[96];
static sem_t serving;

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
        "--study-memory", "16MiB",  "--max-waiting", "8",  "--evict-seconds", "1",
    };
    pthread_t thread;
    const char *temporary = getenv("TMPDIR");
    (void)argc;
    (void)argv;
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
    int fd;
    bool closed; /* by the server */
    char *answers;
    size_t n;
} client;

/* Reads what comes until nothing has come for so long, or the server closes. libFuzzer's clock interrupts. */
static void listen_for(client *c, int rest_ms)
{
    struct pollfd readable = {.fd = c->fd, .events = POLLIN};
    while (!c->closed && c->n < ANSWERS_MAX) {
        int ready = poll(&readable, 1, rest_ms);
        if (ready == 0)
            return;
        ssize_t n = ready > 0 ? recv(c->fd, c->answers + c->n, ANSWERS_MAX - c->n, 0) : -1;
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

/* The whole dialogue; the answers, NUL-terminated, are the caller's. */
static client converse(const char *text, size_t size)
{
    client c = {.fd = listener_connect_private(database), .answers = malloc(ANSWERS_MAX + 1)};
    HOLDS(c.fd >= 0 && c.answers);
    int rests = 0;
    for (size_t at = 0; at < size;) {
        const char *pause_at = memchr(text + at, 0xFF, size - at);
        size_t n = pause_at ? (size_t)(pause_at - text) - at : size - at;
        say(&c, text + at, n);
        at += n + 1;
        if (pause_at && n > 0 && rests++ < RESTS_MAX)
            listen_for(&c, REST_MS);
    }
    listen_for(&c, REST_MS);
    shutdown(c.fd, SHUT_WR);
    listen_for(&c, PATIENCE_MS);
    HOLDS(c.closed || c.n == ANSWERS_MAX);
    close(c.fd);
    c.answers[c.n] = '\0';
    return c;
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

static void clean(void)
{
    static const char list[] =
        "GET /v1/studies?limit=64 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    client studies = converse(list, sizeof list - 1);
    for (const char *id = studies.answers; (id = strstr(id, "{\"id\":\"")) != NULL;) {
        char request[256];
        id += 7;
        int n = snprintf(request, sizeof request,
                         "DELETE /v1/studies/%.*s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                         (int)strcspn(id, "\""), id);
        free(converse(request, (size_t)n).answers);
    }
    free(studies.answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned inputs;
    if (++inputs % INPUTS_A_CLEANING == 0)
        clean();
    client c = converse((const char *)data, size);
    check_answers(&c, size >= 4 && memmem(data, size, "HEAD", 4));
    free(c.answers);
    return 0;
}
