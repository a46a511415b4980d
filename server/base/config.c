#include "server/base/config.h"

#include "proto/config_file.h"
#include "server/base/blas.h"
#include "server/base/listen.h"
#include "server/base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum option_kind {
    TEXT,
    SWITCH, /* true, false */
    COUNT,  /* a whole number */
    SIZE    /* bytes, with KiB, MiB or GiB */
} option_kind;

typedef struct option {
    const char *name;
    const char *argument; /* NULL for a switch */
    const char *fallback; /* the default, as the user would write it; NULL: found at run time */
    const char *meaning;
    option_kind kind;
    size_t offset;                   /* in server_config */
    bool (*check)(const char *text); /* for a TEXT; NULL: every text is valid */
} option;

/* ---- values -------------------------------------------------------------------------------------------- */

static bool is_address(const char *text)
{
    bool loopback;
    return strcmp(text, "systemd") == 0 || listen_address_check(text, &loopback);
}

static bool is_given(const char *text)
{
    return *text != '\0';
}

/* True if is_item accepts each comma-separated part. An empty text has no parts. */
static bool is_list(const char *text, bool (*is_item)(const char *item, size_t n))
{
    for (const char *at = text; *text; at++) {
        size_t n = strcspn(at, ",");
        if (!is_item(at, n))
            return false;
        at += n;
        if (!*at)
            break;
    }
    return true;
}

/* A host as requests name it, without a port: a name, an IPv4 address, or an IPv6 address in brackets. */
static bool is_host(const char *item, size_t n)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._";
    static const char digits[] = "0123456789abcdefABCDEF:.";
    if (n > 2 && item[0] == '[')
        return item[n - 1] == ']' && strspn(item + 1, digits) == n - 2;
    return n > 0 && strspn(item, letters) == n;
}

/* An origin as browsers send it (RFC 6454, 6.2): without a path, even without a slash at the end. */
static bool is_origin(const char *item, size_t n)
{
    const char *name = memmem(item, n, "://", 3);
    if (!name || name == item)
        return false;
    name += 3;
    size_t rest = n - (size_t)(name - item);
    return rest > 0 && !memchr(name, '/', rest) && !memchr(item, ' ', n);
}

static bool are_hosts(const char *text)
{
    return is_list(text, is_host);
}

static bool are_origins(const char *text)
{
    return strcmp(text, "*") == 0 || is_list(text, is_origin);
}

static bool is_auth(const char *text)
{
    return strcmp(text, "auto") == 0 || strcmp(text, "none") == 0 || strcmp(text, "token") == 0;
}

static bool is_log_format(const char *text)
{
    return strcmp(text, "text") == 0 || strcmp(text, "json") == 0;
}

static bool is_log_level(const char *text)
{
    log_level level;
    return log_level_parse(&level, text);
}

static bool parse_count(const char *text, size_t *out)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || errno || *end || n < 1 || n > INT32_MAX)
        return false;
    *out = (size_t)n;
    return true;
}

static bool parse_size(const char *text, size_t *out)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || errno || n < 1)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0 && n <= SIZE_MAX >> units[i].shift) {
            *out = (size_t)n << units[i].shift;
            return true;
        }
    return false;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

#define AT(member) offsetof(server_config, member)
static const option options[] = {
    {"config", "FILE", "", "configuration file with one line `name = value` per option", TEXT, AT(config),
     NULL},
    {"listen", "ADDR:PORT", "127.0.0.1:8080",
     "address to listen on; also [::1]:8080, unix:/path, or systemd for a socket unit; port 0 picks a free port",
     TEXT, AT(listen), is_address},
    {"db", "PATH", "./banditd.db", "SQLite database file, created and migrated on start", TEXT, AT(db),
     is_given},
    {"database", "URI", "",
     "PostgreSQL database in place of --db, such as postgresql://user@host/name; a password belongs in "
     "BANDITD_DATABASE, the configuration file, PGPASSWORD or a pass file",
     TEXT, AT(database), NULL},
    {"database-patience", "N", "30",
     "seconds for which writes wait when the PostgreSQL database cannot be reached (503 beyond it)", COUNT,
     AT(database_patience), NULL},
    {"threads", "N", NULL, "number of computing threads, and of serving threads; at most 256", COUNT,
     AT(threads), NULL},
    {"allowed-host", "HOST,...", "",
     "host names that requests may use, besides the loopback names; applies to --auth none", TEXT,
     AT(allowed_hosts), are_hosts},
    {"cors-origin", "ORIGIN,...", "",
     "origins (https://host:port, or * for all) whose pages may read responses and, with --auth none, write",
     TEXT, AT(cors_origins), are_origins},
    {"auth", "none|token", "auto",
     "who may call the API: everybody, or holders of a token; auto means none on loopback and token elsewhere",
     TEXT, AT(auth), is_auth},
    {"admin-token-file", "FILE", "",
     "file that holds an additional administrator token of at least 32 characters", TEXT,
     AT(admin_token_file), NULL},
    {"tls-cert", "FILE", "",
     "PEM certificate with its chain; enables HTTPS with TLS 1.2 and 1.3; reread on SIGHUP", TEXT,
     AT(tls_cert), NULL},
    {"tls-key", "FILE", "", "PEM private key of the certificate", TEXT, AT(tls_key), NULL},
    {"insecure", NULL, "false", "allow --auth none on an address that is not a loopback address", SWITCH,
     AT(insecure), NULL},
    {"log-format", "text|json", "text", "format of the log on standard error, which has one line per event",
     TEXT, AT(log_format), is_log_format},
    {"log-level", "LEVEL", "info", "lowest level that is logged: error, warn, info or debug", TEXT,
     AT(log_level_name), is_log_level},
    {"slow-request-ms", "N", "1000",
     "log requests slower than N milliseconds as warnings (time spent in wait_seconds does not count)", COUNT,
     AT(slow_request_ms), NULL},
    {"max-body", "SIZE", "4MiB", "maximum size of a request body (413 beyond it)", SIZE, AT(max_body), NULL},
    {"max-upload", "SIZE", "2GiB",
     "maximum size of an upload of candidates, kernels, observations or studies (413 beyond it)", SIZE,
     AT(max_upload), NULL},
    {"max-connections", "N", "10000", "maximum number of open connections (503 beyond it)", COUNT,
     AT(max_connections), NULL},
    {"max-connections-per-address", "N", "5000",
     "maximum number of open connections from one address (503 beyond it)", COUNT,
     AT(max_connections_per_address), NULL},
    {"request-seconds", "N", "60",
     "time limit for receiving a request and for sending its response, plus one second per 64 KiB", COUNT,
     AT(request_seconds), NULL},
    {"idle-seconds", "N", "120", "time after which a connection without a request is closed", COUNT,
     AT(idle_seconds), NULL},
    {"max-studies", "N", "10000", "maximum number of studies (422 beyond it)", COUNT, AT(max_studies), NULL},
    {"max-values", "N", "100000000", "maximum of candidates times dimension in one study (413 beyond it)",
     COUNT, AT(max_values), NULL},
    {"max-results", "N", "1000", "maximum number of results in one tell, at most 1000 (422 beyond it)", COUNT,
     AT(max_results), NULL},
    {"max-waiting", "N", "8000", "maximum number of asks that wait at the same time (429 beyond it)", COUNT,
     AT(max_waiting), NULL},
    {"max-reads", "N", "64",
     "maximum number of long requests (pages, series, exports, explanations, predictions, uploads) that one token, or one address without tokens, has in progress (429 beyond it)",
     COUNT, AT(max_reads), NULL},
    {"max-buffered", "SIZE", "512MiB",
     "memory of request bodies and answers; one token, or one address without tokens, gets half of what others leave (429 beyond it)",
     SIZE, AT(max_buffered), NULL},
    {"evict-seconds", "N", "300",
     "time after which an idle study is removed from memory; the next request loads it", COUNT,
     AT(evict_seconds), NULL},
    {"study-memory", "SIZE", "2GiB",
     "maximum memory of one study's engine, and of its open trials beside it (beyond it, no more are planned)",
     SIZE, AT(study_memory), NULL},
    {"total-memory", "SIZE", "3GiB",
     "memory of all studies' engines and trials; beyond it, those that were used least leave memory within seconds, and a study's open trials get half of what those of the others leave",
     SIZE, AT(total_memory), NULL},
};
#undef AT
enum { N_OPTIONS = sizeof options / sizeof *options, LARGEST_FILE = 64 << 10 };

static void environment_name(const option *o, char name[64])
{
    size_t n = (size_t)snprintf(name, 64, "BANDITD_%s", o->name);
    for (size_t i = 0; i < n; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

static const option *find_option(const char *name, size_t n)
{
    for (int i = 0; i < N_OPTIONS; i++)
        if (strlen(options[i].name) == n && memcmp(options[i].name, name, n) == 0)
            return &options[i];
    return NULL;
}

static bool set(server_config *out, const option *o, const char *value)
{
    void *field = (char *)out + o->offset;
    switch (o->kind) {
    case TEXT:
        *(const char **)field = value;
        return !o->check || o->check(value);
    case SWITCH:
        *(bool *)field = strcmp(value, "true") == 0;
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    case COUNT:
        return parse_count(value, field);
    case SIZE:
        return parse_size(value, field);
    }
    return false;
}

/* What the option accepts, for an error message. */
static const char *form_of(const option *o)
{
    switch (o->kind) {
    case TEXT:
        return o->argument;
    case SWITCH:
        return "true or false";
    case COUNT:
        return "a whole number, at least 1";
    case SIZE:
        return "a number of bytes, or a number with KiB, MiB or GiB";
    }
    return "";
}

static bool apply(server_config *out, const option *o, const char *value, const char *from)
{
    if (set(out, o, value))
        return true;
    fprintf(stderr, "banditd: %s: '%s' is not a valid value for --%s (%s)\n", from, value, o->name,
            form_of(o));
    return false;
}

/* ---- where values come from ---------------------------------------------------------------------------- */

/* Does libpq take a password from this URI, or these settings? */
static bool has_password(const char *uri)
{
    const char *user = strstr(uri, "://");
    const char *host = user ? strchr(user + 3, '@') : NULL;
    return strstr(uri, "password=") || (host && memchr(user + 3, ':', (size_t)(host - user - 3)));
}

/* only: the one option to set; NULL sets all. */
static config_outcome read_arguments(server_config *out, int argc, char **argv, const option *only)
{
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i], *value = NULL;
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
            return CONFIG_HELP;
        size_t n = strncmp(argument, "--", 2) == 0 ? strcspn(argument + 2, "=") : 0;
        const option *found = n > 0 ? find_option(argument + 2, n) : NULL;
        if (!found) {
            fprintf(stderr, "banditd: unknown option '%s' (banditd serve --help lists the options)\n",
                    argument);
            return CONFIG_WRONG;
        }
        if (argument[2 + n] == '=')
            value = argument + 3 + n;
        else if (!found->argument)
            value = "true";
        else if (++i < argc)
            value = argv[i];
        if (!value) {
            fprintf(stderr, "banditd: --%s requires a value (%s)\n", found->name, found->argument);
            return CONFIG_WRONG;
        }
        if (found->offset == offsetof(server_config, database) && has_password(value)) {
            fputs(
                "banditd: --database has a password, which other users of this machine can read on the command line: "
                "put it into BANDITD_DATABASE, the configuration file, PGPASSWORD or a pass file\n",
                stderr);
            return CONFIG_WRONG;
        }
        if ((!only || found == only) && !apply(out, found, value, "command line"))
            return CONFIG_WRONG;
    }
    return CONFIG_RUN;
}

typedef struct file_reading {
    server_config *out;
    size_t lines[N_OPTIONS]; /* the line that set each option; 0: none */
} file_reading;

static bool apply_setting(void *arg, const char *name, const char *value, size_t line, wire_errors *errors)
{
    file_reading *r = arg;
    const option *o = find_option(name, strlen(name));
    if (!o || o->offset == offsetof(server_config, config)) {
        wire_errors_add(errors, "", "line %zu: unknown option '%s'", line, name);
    } else if (r->lines[o - options]) {
        wire_errors_add(errors, "", "line %zu: %s is already set in line %zu", line, name,
                        r->lines[o - options]);
    } else if (!set(r->out, o, value)) {
        wire_errors_add(errors, "", "line %zu: '%s' is not a valid value for %s (%s)", line, value, name,
                        form_of(o));
    } else {
        r->lines[o - options] = line;
        return true;
    }
    return false;
}

/* The whole file, followed by a NUL. Prints the reason and returns NULL on failure. */
static char *read_whole(const char *path, size_t *n)
{
    const char *problem = NULL;
    char *text = malloc(LARGEST_FILE + 2);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    *n = 0;
    while (text && fd >= 0 && got > 0 && *n <= LARGEST_FILE) {
        got = read(fd, text + *n, LARGEST_FILE + 1 - *n);
        *n += got > 0 ? (size_t)got : 0;
    }
    if (!text)
        problem = "out of memory";
    else if (fd < 0 || got < 0)
        problem = strerror(errno);
    else if (*n > LARGEST_FILE)
        problem = "the file is larger than 64 KiB";
    if (fd >= 0)
        close(fd);
    if (!problem) {
        text[*n] = '\0';
        return text;
    }
    fprintf(stderr, "banditd: --config %s: %s\n", path, problem);
    free(text);
    return NULL;
}

static bool read_file(server_config *out, const char *path)
{
    size_t n;
    file_reading reading = {.out = out};
    wire_errors errors = {0};
    out->file_text = read_whole(path, &n);
    if (!out->file_text)
        return false;
    wire_status status = wire_read_settings(out->file_text, n, apply_setting, &reading, &errors);
    if (status != WIRE_OK)
        fprintf(stderr, "banditd: %s: %s\n", path, errors.n ? errors.items[0].detail : "out of memory");
    wire_errors_clear(&errors);
    return status == WIRE_OK;
}

static bool read_environment(server_config *out, const option *only)
{
    for (int i = 0; i < N_OPTIONS; i++) {
        char name[64];
        environment_name(&options[i], name);
        const char *value = getenv(name);
        if (value && (!only || only == &options[i]) && !apply(out, &options[i], value, name))
            return false;
    }
    return true;
}

static bool is_known_variable(const char *name, size_t n)
{
    static const char *const clients[] = {"BANDITD_URL", "BANDITD_TOKEN", "BANDITD_CACERT"};
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        if (strlen(clients[i]) == n && memcmp(clients[i], name, n) == 0)
            return true;
    for (int i = 0; i < N_OPTIONS; i++) {
        char own[64];
        environment_name(&options[i], own);
        if (strlen(own) == n && memcmp(own, name, n) == 0)
            return true;
    }
    return false;
}

void config_warn_of_unknown(void)
{
    for (char **variable = environ; variable && *variable; variable++) {
        size_t n = strcspn(*variable, "=");
        if (strncmp(*variable, "BANDITD_", 8) == 0 && !is_known_variable(*variable, n))
            log_event(LOG_WARN, "unknown_variable", "name",
                      log_format("%.*s", n > 100 ? 100 : (int)n, *variable), "hint",
                      "no option has this variable: banditd serve --help lists them", NULL);
    }
}

static bool set_defaults(server_config *out)
{
    *out = (server_config){0};
    for (int i = 0; i < N_OPTIONS; i++)
        if (options[i].fallback && !apply(out, &options[i], options[i].fallback, "default"))
            return false;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    out->threads = cores < 1 ? 1 : cores > BLAS_MOST_CALLERS ? BLAS_MOST_CALLERS : (size_t)cores;
    return true;
}

/* Checks that depend on more than one value, and the values that follow from others. */
static bool conclude(server_config *out)
{
    bool loopback = true;
    log_level level = LOG_INFO;
    log_level_parse(&level, out->log_level_name);
    out->log_level = (int)level;
    out->log_json = strcmp(out->log_format, "json") == 0;
    out->owner = out->db;
    listen_address_check(out->listen, &loopback);
    out->tokens_required = strcmp(out->auth, "auto") == 0 ? !loopback : strcmp(out->auth, "token") == 0;
    bool many = out->threads > BLAS_MOST_CALLERS;
    if (many || out->max_results > WIRE_MAX_TRIALS) {
        fprintf(stderr, "banditd: --%s\n",
                many ? "threads must be at most 256" : "max-results must be at most 1000");
        return false;
    }
    if ((*out->tls_cert == '\0') != (*out->tls_key == '\0')) {
        fputs("banditd: --tls-cert and --tls-key must be given together\n", stderr);
        return false;
    }
    if (!loopback && !out->tokens_required && !out->insecure) {
        fprintf(
            stderr,
            "banditd: --listen %s is not a loopback address, so with --auth none anybody who can reach it can\n"
            "change every study. Use --auth token, or add --insecure if this is what you want.\n",
            out->listen);
        return false;
    }
    return true;
}

config_outcome config_read(server_config *out, int argc, char **argv)
{
    const option *file = find_option("config", strlen("config"));
    if (!set_defaults(out) || !read_environment(out, file))
        return CONFIG_WRONG;
    config_outcome outcome = read_arguments(out, argc, argv, file);
    if (outcome != CONFIG_RUN)
        return outcome;
    if ((*out->config && !read_file(out, out->config)) || !read_environment(out, NULL))
        return CONFIG_WRONG;
    outcome = read_arguments(out, argc, argv, NULL);
    return outcome == CONFIG_RUN && !conclude(out) ? CONFIG_WRONG : outcome;
}

void config_clear(server_config *config)
{
    free(config->file_text);
    config->file_text = NULL;
}

void config_print_help(void)
{
    puts(
        "usage: banditd serve [options]\n\nPrecedence: command line, environment, configuration file, default.\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        const option *o = &options[i];
        char name[64], form[64];
        environment_name(o, name);
        snprintf(form, sizeof form, "--%s %s", o->name, o->argument ? o->argument : "");
        if (strlen(form) > 24)
            printf("  %s\n  %-24s %s\n", form, "", o->meaning);
        else
            printf("  %-24s %s\n", form, o->meaning);
        printf("  %-24s (%s; default %s)\n", "", name,
               !o->fallback   ? "one per core"
               : *o->fallback ? o->fallback
                              : "none");
    }
}
