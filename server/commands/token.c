#include "server/commands/token.h"

#include "proto/arrays.h"
#include "proto/tokens.h"
#include "server/base/config.h"
#include "server/base/listen.h"
#include "server/base/log.h"
#include "server/commands/database.h"
#include "server/commands/serve.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(FILE *out)
{
    fputs(
        "usage: banditd token create --role admin|editor|worker|viewer [--study ID] [--expires TIME]\n"
        "                            [--description TEXT] [--db PATH | --database URI] [--config FILE]\n"
        "       banditd token list [--db PATH | --database URI] [--config FILE]\n"
        "       banditd token revoke ID [--db PATH | --database URI] [--config FILE]\n"
        "\n"
        "create prints the token, which cannot be shown again. TIME is a number with s, m, h or d, such as 90d.\n"
        "The command works on the database, or through the socket of its owner if a server is running: PATH.sock,\n"
        "or with a PostgreSQL database one in /run/banditd or /tmp/banditd-UID, on the server's machine only.\n",
        out);
    return out == stdout ? 0 : 2;
}

typedef struct command {
    const char *verb, *id, *role, *study, *description, *db, *database, *config;
    const char *owner; /* the socket is PATH.sock */
    int64_t lifetime;  /* s; 0: never expires */
    /* The HTTP request that the command makes. */
    const char *method;
    char *path, *body;
} command;

/* ---- the command line ---------------------------------------------------------------------------------- */

static bool parse_time(const char *text, int64_t *seconds)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (*text < '0' || *text > '9' || errno || n < 1 || n > WIRE_MAX_TOKEN_LIFETIME)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0) {
            *seconds = n * units[i].seconds;
            return *seconds <= WIRE_MAX_TOKEN_LIFETIME;
        }
    return false;
}

static bool set_option(command *c, const char *name, const char *value)
{
    bool create = strcmp(c->verb, "create") == 0;
    if (strcmp(name, "--db") == 0) {
        c->db = value;
    } else if (strcmp(name, "--database") == 0) {
        c->database = value;
    } else if (strcmp(name, "--config") == 0) {
        c->config = value;
    } else if (create && strcmp(name, "--role") == 0) {
        c->role = value;
    } else if (create && strcmp(name, "--study") == 0) {
        c->study = value;
    } else if (create && strcmp(name, "--description") == 0) {
        c->description = value;
    } else if (create && strcmp(name, "--expires") == 0) {
        if (!parse_time(value, &c->lifetime)) {
            fprintf(stderr,
                    "banditd token: --expires must be a number with s, m, h or d, at most 3650d, not '%s'\n",
                    value);
            return false;
        }
    } else {
        fprintf(stderr, "banditd token: unknown option '%s'\n", name);
        return false;
    }
    return true;
}

static bool parse(command *c, int argc, char **argv)
{
    *c = (command){.verb = argv[0]};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if (c->id || strcmp(c->verb, "revoke") != 0) {
                fprintf(stderr, "banditd token: unexpected argument '%s'\n", argv[i]);
                return false;
            }
            c->id = argv[i];
        } else if (i + 1 == argc) {
            fprintf(stderr, "banditd token: %s requires a value\n", argv[i]);
            return false;
        } else {
            if (!set_option(c, argv[i], argv[i + 1]))
                return false;
            i++;
        }
    }
    if (strcmp(c->verb, "create") == 0 && !c->role) {
        fputs("banditd token create: --role is required\n", stderr);
        return false;
    }
    if (strcmp(c->verb, "revoke") == 0 && (!c->id || c->id[strspn(c->id, "0123456789abcdef")])) {
        fputs("banditd token revoke: give the id of a token, as shown by `banditd token list`\n", stderr);
        return false;
    }
    return true;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static bool make_call(command *c)
{
    if (strcmp(c->verb, "create") == 0) {
        json_t *body =
            json_pack("{s:s, s:s*, s:s*}", "role", c->role, "study", c->study, "description", c->description);
        if (body && c->lifetime)
            json_object_set_new(body, "lifetime_seconds", json_integer(c->lifetime));
        c->body = body ? json_dumps(body, JSON_COMPACT) : NULL;
        json_decref(body);
        c->method = "POST";
        c->path = strdup("/v1/tokens");
        if (!c->body)
            fputs("banditd token: the arguments are not valid UTF-8\n", stderr);
        return c->body && c->path;
    }
    bool list = strcmp(c->verb, "list") == 0;
    c->method = list ? "GET" : "DELETE";
    if (asprintf(&c->path, list ? "/v1/tokens?limit=1000" : "/v1/tokens/%s", c->id) < 0)
        c->path = NULL;
    return c->path != NULL;
}

static bool send_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = write(fd, text, n);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Everything that the server sends until it closes the connection; NULL: out of memory. */
static char *receive_all(int fd)
{
    size_t n = 0, capacity = 0;
    char *text = NULL;
    for (ssize_t got = 1; got != 0;) {
        if (!wire_grow(&text, &capacity, n + 2, 4096, 1)) {
            free(text);
            return NULL;
        }
        got = read(fd, text + n, capacity - n - 1);
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    text[n] = '\0';
    return text;
}

/* Makes the request over the owner's socket. Returns the body of the response, owned by the caller, and its
 * HTTP status; prints the reason and returns NULL on failure. */
static char *call(const command *c, int *status)
{
    char *request = NULL, *answer = NULL, *body = NULL;
    int fd = listener_connect_private(c->owner);
    size_t n_body = c->body ? strlen(c->body) : 0;
    if (fd < 0) {
        fprintf(stderr, "banditd token: a server is using %s, but cannot be reached at %s.sock: %s\n", c->db,
                c->owner, strerror(errno));
        return NULL;
    }
    int n = asprintf(
        &request,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        c->method, c->path, n_body, c->body ? c->body : "");
    if (n > 0 && send_all(fd, request, (size_t)n))
        answer = receive_all(fd);
    if (answer && sscanf(answer, "HTTP/1.1 %d", status) == 1 && strstr(answer, "\r\n\r\n"))
        body = strdup(strstr(answer, "\r\n\r\n") + 4);
    if (!body)
        fprintf(stderr, "banditd token: no response from %s.sock\n", c->owner);
    if (n > 0)
        free(request);
    free(answer);
    close(fd);
    return body;
}

/* ---- the response -------------------------------------------------------------------------------------- */

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "-";
}

/* Prints a pointer to one member as the name of that member. */
static void print_error(const json_t *error)
{
    const char *pointer = member(error, "pointer");
    fprintf(stderr, "banditd token: %s: %s\n", pointer + (*pointer == '/'), member(error, "detail"));
}

static void print_problem(const json_t *problem)
{
    const json_t *errors = json_object_get(problem, "errors");
    size_t i;
    json_t *error;
    if (json_array_size(errors) == 0)
        fprintf(stderr, "banditd token: %s\n", member(problem, "detail"));
    json_array_foreach(errors, i, error) print_error(error);
}

static void print_row(const char *id, const char *role, const char *study, const char *created,
                      const char *expires, const char *description)
{
    printf("%-16s  %-6s  %-20s  %-24s  %-24s  %s\n", id, role, study, created, expires, description);
}

static void print_list(const json_t *answer)
{
    size_t i;
    json_t *token;
    json_array_foreach(json_object_get(answer, "items"), i, token)
        print_row(member(token, "id"), member(token, "role"), member(token, "study"),
                  member(token, "created_at"), member(token, "expires_at"), member(token, "description"));
}

/* Prints the new token; false, with the reason in errno, if it did not reach standard output. */
static bool print_token(const json_t *answer)
{
    return printf("%s\n", member(answer, "token")) > 0 && fflush(stdout) == 0;
}

/* Revokes a token that could not be printed: nobody can use it. */
static void take_back(command *c, const json_t *answer, const char *reason)
{
    const char *id = member(answer, "id");
    int status = 0;
    fprintf(stderr, "banditd token: standard output: %s: the new token could not be written\n", reason);
    free(c->path);
    free(c->body);
    c->method = "DELETE";
    c->body = NULL;
    if (asprintf(&c->path, "/v1/tokens/%s", id) < 0)
        c->path = NULL;
    free(c->path ? call(c, &status) : NULL);
    if (status == 204)
        fprintf(stderr, "banditd token: it was revoked (%s)\n", id);
    else
        fprintf(stderr, "banditd token: revoke it: banditd token revoke %s\n", id);
}

/* Replaces the path by that of the list's next page; false if there is none. */
static bool turn_page(command *c, const json_t *answer)
{
    const json_t *next = json_object_get(answer, "next_page_token");
    if (!next)
        return false;
    free(c->path);
    if (asprintf(&c->path, "/v1/tokens?limit=1000&page_token=%s", json_string_value(next)) < 0)
        c->path = NULL;
    return c->path != NULL;
}

/* Makes one request, or for `list` one request per page. Returns the program's exit code. */
static int run(void *arg)
{
    command *c = arg;
    int status;
    bool more, printed = true;
    if (strcmp(c->verb, "list") == 0)
        print_row("id", "role", "study", "created", "expires", "description");
    do {
        status = 0;
        char *text = call(c, &status);
        json_t *answer = text ? json_loads(text, 0, NULL) : NULL;
        free(text);
        if (status >= 400)
            print_problem(answer);
        else if (status == 201 && !(printed = print_token(answer)))
            take_back(c, answer, strerror(errno));
        else if (status == 200)
            print_list(answer);
        more = status == 200 && turn_page(c, answer);
        json_decref(answer);
    } while (more);
    return status >= 200 && status < 300 && printed ? 0 : 1;
}

/* For a command that runs in a server of this process. The name of its socket is known only after its start. */
typedef struct brief {
    command *c;
    const server_config *options;
} brief;

static int run_briefly(void *arg)
{
    const brief *b = arg;
    b->c->owner = b->options->owner;
    return run(b->c);
}

/* list and revoke make no database, since one at a wrong path would look like one without tokens. */
static bool find_database(const command *c, const server_config *options)
{
    int64_t version = 1;
    if (strcmp(c->verb, "create") == 0 || *options->database)
        return true;
    if (access(options->db, F_OK) != 0) {
        fprintf(stderr, "banditd token: %s: %s\n", options->db, strerror(errno));
        return false;
    }
    if (store_read_version(options->db, &version, NULL) == STORE_OK && version == 0)
        fprintf(stderr, "banditd token: %s is empty\n", options->db);
    return version != 0;
}

static int run_with(command *c, server_config *options)
{
    int result = 1;
    store_error error = {0};
    brief b = {.c = c, .options = options};
    log_configure(LOG_ERROR, false);
    signal(SIGPIPE, SIG_IGN); /* a token that a closed pipe did not take is revoked */
    options->threads = 1;
    if (!find_database(c, options))
        return 1;
    if (database_find_owner(options, &error) != STORE_OK) {
        fprintf(stderr, "banditd token: %s\n", error.message);
        return 1;
    }
    c->db = database_name(options);
    c->owner = options->owner;
    if (make_call(c)) {
        int fd = listener_connect_private(c->owner);
        if (fd >= 0)
            close(fd);
        result = fd >= 0 ? run(c) : serve_briefly(options, run_briefly, &b);
    }
    free(c->path);
    free(c->body);
    return result < 0 ? 1 : result;
}

int token_command(int argc, char **argv)
{
    static const char *const verbs[] = {"create", "list", "revoke"};
    server_config options;
    command c;
    bool known = false;
    for (size_t i = 0; argc > 0 && i < sizeof verbs / sizeof *verbs; i++)
        known |= strcmp(argv[0], verbs[i]) == 0;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return usage(stdout);
    if (!known)
        return usage(stderr);
    if (!parse(&c, argc, argv))
        return 2;
    char config_option[] = "--config", db_option[] = "--db", database_option[] = "--database";
    char *arguments[6];
    int n = 0, result = 2;
    if (c.config) {
        arguments[n++] = config_option;
        arguments[n++] = (char *)(uintptr_t)c.config;
    }
    if (c.db) {
        arguments[n++] = db_option;
        arguments[n++] = (char *)(uintptr_t)c.db;
    }
    if (c.database) {
        arguments[n++] = database_option;
        arguments[n++] = (char *)(uintptr_t)c.database;
    }
    if (config_read(&options, n, arguments) == CONFIG_RUN)
        result = run_with(&c, &options);
    config_clear(&options);
    return result;
}
