#include "server/base/config_options.h"

#include "server/base/listen.h"
#include "server/base/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A host in the form of requests, without a port: a name, an IPv4 address, or an IPv6 address in brackets. */
static bool is_host(const char *item, size_t n)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._";
    static const char digits[] = "0123456789abcdefABCDEF:.";
    if (n > 2 && item[0] == '[')
        return item[n - 1] == ']' && strspn(item + 1, digits) == n - 2;
    return n > 0 && strspn(item, letters) == n;
}

/* An origin in the form that browsers send (RFC 6454, 6.2): without a path, and without a slash at the end. */
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

static bool is_on_or_off(const char *text)
{
    return strcmp(text, "on") == 0 || strcmp(text, "off") == 0;
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
const config_option config_options[] = {
    {"config", "FILE", "", "configuration file with one line `name = value` per option", CONFIG_TEXT,
     AT(config), NULL},
    {"listen", "ADDR:PORT", "127.0.0.1:8080",
     "address to listen on; also [::1]:8080, unix:/path, or systemd for a socket unit; port 0 picks a free port",
     CONFIG_TEXT, AT(listen), is_address},
    {"db", "PATH", "./banditd.db", "SQLite database file, created and migrated on start", CONFIG_TEXT, AT(db),
     is_given},
    {"database", "URI", "",
     "PostgreSQL database in place of --db, such as postgresql://user@host/name; a password belongs in "
     "BANDITD_DATABASE, the configuration file, PGPASSWORD or a pass file",
     CONFIG_TEXT, AT(database), NULL},
    {"database-patience", "N", "30",
     "seconds that a write waits while the PostgreSQL database cannot be reached (then 503)", CONFIG_COUNT,
     AT(database_patience), NULL},
    {"log-checksums", "on|off", "on",
     "whether each entry of a study's log is stored with a checksum, which banditd check compares",
     CONFIG_TEXT, AT(log_checksums_word), is_on_or_off},
    {"threads", "N", NULL, "number of computing threads, and of serving threads; at most 256", CONFIG_COUNT,
     AT(threads), NULL},
    {"allowed-host", "HOST,...", "",
     "host names that requests may use, besides the loopback names; applies to --auth none", CONFIG_TEXT,
     AT(allowed_hosts), are_hosts},
    {"cors-origin", "ORIGIN,...", "",
     "origins (https://host:port, or * for all) whose pages may read responses and, with --auth none, write",
     CONFIG_TEXT, AT(cors_origins), are_origins},
    {"auth", "none|token", "auto",
     "who may call the API: everybody, or holders of a token; auto means none on loopback and token elsewhere",
     CONFIG_TEXT, AT(auth), is_auth},
    {"admin-token-file", "FILE", "",
     "file that holds an additional administrator token of at least 32 characters; reread on SIGHUP",
     CONFIG_TEXT, AT(admin_token_file), NULL},
    {"tls-cert", "FILE", "",
     "PEM certificate with its chain; enables HTTPS with TLS 1.2 and 1.3; reread on SIGHUP", CONFIG_TEXT,
     AT(tls_cert), NULL},
    {"tls-key", "FILE", "", "PEM private key of the certificate", CONFIG_TEXT, AT(tls_key), NULL},
    {"insecure", NULL, "false", "allow --auth none on an address that is not a loopback address",
     CONFIG_SWITCH, AT(insecure), NULL},
    {"notify-private", NULL, "false",
     "allow receivers of notifications (/v1/notify) on loopback and private addresses", CONFIG_SWITCH,
     AT(notify_private), NULL},
    {"log-format", "text|json", "text", "format of the log on standard error, which has one line per event",
     CONFIG_TEXT, AT(log_format), is_log_format},
    {"log-level", "LEVEL", "info", "lowest level that is logged: error, warn, info or debug", CONFIG_TEXT,
     AT(log_level_name), is_log_level},
    {"slow-request-ms", "N", "1000",
     "log requests slower than N milliseconds as warnings (time spent in wait_seconds does not count)",
     CONFIG_COUNT, AT(slow_request_ms), NULL},
    {"max-body", "SIZE", "4MiB", "maximum size of a request body (413 beyond it)", CONFIG_SIZE, AT(max_body),
     NULL},
    {"max-upload", "SIZE", "2GiB",
     "maximum size of an upload of candidates, kernels, observations or studies (413 beyond it)", CONFIG_SIZE,
     AT(max_upload), NULL},
    {"max-connections", "N", "10000", "maximum number of open connections (503 beyond it)", CONFIG_COUNT,
     AT(max_connections), NULL},
    {"max-connections-per-address", "N", "5000",
     "maximum number of open connections from one address (503 beyond it)", CONFIG_COUNT,
     AT(max_connections_per_address), NULL},
    {"request-seconds", "N", "60",
     "time limit for receiving a request and for sending its response, plus one second per 64 KiB",
     CONFIG_COUNT, AT(request_seconds), NULL},
    {"idle-seconds", "N", "120", "time after which a connection without a request is closed", CONFIG_COUNT,
     AT(idle_seconds), NULL},
    {"max-studies", "N", "10000", "maximum number of studies (422 beyond it)", CONFIG_COUNT, AT(max_studies),
     NULL},
    {"max-values", "N", "100000000",
     "maximum number of values in one study: candidates times dimension (413 beyond it)", CONFIG_COUNT,
     AT(max_values), NULL},
    {"max-results", "N", "1000", "maximum number of results in one tell, at most 1000 (422 beyond it)",
     CONFIG_COUNT, AT(max_results), NULL},
    {"max-waiting", "N", "8000", "maximum number of asks that wait at the same time (429 beyond it)",
     CONFIG_COUNT, AT(max_waiting), NULL},
    {"max-reads", "N", "64",
     "maximum number of long requests (pages, series, exports, explanations, predictions, uploads) that one token, or one address without tokens, has in progress (429 beyond it)",
     CONFIG_COUNT, AT(max_reads), NULL},
    {"max-buffered", "SIZE", "512MiB",
     "maximum memory for request bodies and answers (429 beyond it); one token, or one address without tokens, may use half of the memory that others leave free",
     CONFIG_SIZE, AT(max_buffered), NULL},
    {"evict-seconds", "N", "300",
     "time after which an idle study is removed from memory; the next request loads it", CONFIG_COUNT,
     AT(evict_seconds), NULL},
    {"study-memory", "SIZE", "2GiB",
     "maximum memory of one study's engine, and as much again for its open trials; beyond it, no more trials are planned",
     CONFIG_SIZE, AT(study_memory), NULL},
    {"total-memory", "SIZE", "3GiB",
     "memory for the engines and trials of all studies; beyond it, the studies that were used least are removed from memory within seconds. The open trials of one study may use half of the memory that the open trials of the others leave free",
     CONFIG_SIZE, AT(total_memory), NULL},
};
#undef AT
const size_t n_config_options = sizeof config_options / sizeof *config_options;
_Static_assert(sizeof config_options / sizeof *config_options <= CONFIG_MOST_OPTIONS, "raise the maximum");

void config_option_variable(const config_option *o, char name[64])
{
    size_t n = (size_t)snprintf(name, 64, "BANDITD_%s", o->name);
    for (size_t i = 0; i < n; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

const config_option *config_option_named(const char *name, size_t n)
{
    for (size_t i = 0; i < n_config_options; i++)
        if (strlen(config_options[i].name) == n && memcmp(config_options[i].name, name, n) == 0)
            return &config_options[i];
    return NULL;
}

bool config_option_set(server_config *out, const config_option *o, const char *value)
{
    void *field = (char *)out + o->offset;
    switch (o->kind) {
    case CONFIG_TEXT:
        *(const char **)field = value;
        return !o->check || o->check(value);
    case CONFIG_SWITCH:
        *(bool *)field = strcmp(value, "true") == 0;
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    case CONFIG_COUNT:
        return parse_count(value, field);
    case CONFIG_SIZE:
        return parse_size(value, field);
    }
    return false;
}

const char *config_option_form(const config_option *o)
{
    switch (o->kind) {
    case CONFIG_TEXT:
        return o->argument;
    case CONFIG_SWITCH:
        return "true or false";
    case CONFIG_COUNT:
        return "a whole number, at least 1";
    case CONFIG_SIZE:
        return "a number of bytes, or a number with KiB, MiB or GiB";
    }
    return "";
}
